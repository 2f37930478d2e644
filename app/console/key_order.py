"""Keys one after the other: the next one sets out when the one before has come all the way up from where it was sent.

Each widget has a queue of its own. Without this a key that was sent to a deep pane arrives, on its way up, after a later one
that was sent to the dialog which the first of them opened; and one that was sent to a dialog that just closes is lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

from textual import events
from textual.app import App
from textual.dom import DOMNode

MAX_WAITING = 4096
"""Keys that are kept while one is on its way: more than a hand types, less than a pasted file."""

LOST_SECONDS = 0.5
"""A widget that is taken away may take the news with it that a key has passed; then the next one does not wait for ever."""


class KeysInOrder:
    """Between the terminal and ``app``: ``send`` does what the app itself does with a key."""

    def __init__(self, app: App[int], send: Callable[[events.Event], Awaitable[None]]) -> None:
        self._app = app
        self._send = send
        self._waiting: deque[events.Key] = deque()
        self._under_way = 0
        self._given_up = 0
        self._sent = 0

    @property
    def under_way(self) -> bool:
        """Whether a key has not come through yet."""
        return bool(self._under_way)

    async def take(self, key: events.Key) -> None:
        """Send ``key``, now or when those before it are through."""
        if not self._under_way:
            await self._go(key)
        elif len(self._waiting) < MAX_WAITING:
            self._waiting.append(key)
            if self._given_up != self._under_way:
                self._given_up = self._under_way
                self._app.set_timer(LOST_SECONDS, partial(self._through, self._under_way))

    async def _go(self, key: events.Key) -> None:
        self._sent += 1
        self._under_way = self._sent
        node: DOMNode = self._app.focused or self._app.screen
        await self._send(key)
        self._follow(node, self._under_way)

    def _follow(self, node: DOMNode, number: int) -> None:
        """Behind the key in the queue of each widget that it comes through, and last in the app's."""
        if node is self._app or node.parent is None:
            self._app.call_later(self._through, number)
        elif not node.call_later(self._follow, node.parent, number):
            self._follow(node.parent, number)

    async def _through(self, number: int) -> None:
        if number == self._under_way:
            self._under_way = 0
            if self._waiting and self._app.screen_stack:
                await self._go(self._waiting.popleft())
