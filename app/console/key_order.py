"""Deliver keys in order: the next one is sent when the previous one has bubbled up.

Each widget has a queue of its own. Without this a key that bubbles up from a deep pane arrives after a later one that
was sent to the dialog which an earlier key opened, and a key sent to a closing dialog is lost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial

from textual import events
from textual.app import App
from textual.dom import DOMNode

MAX_WAITING = 4096
"""Queue limit: more than a person types, less than a pasted file."""

LOST_SECONDS = 0.5
"""A removed widget may lose the notification that a key has passed; after this time the next key is sent."""

LEAVING_KEYS = ("q", "ctrl+q")


class KeyQueue:
    """Stands between the terminal and ``app``: ``send`` does what the app itself does with a key."""

    def __init__(self, app: App[int], send: Callable[[events.Event], Awaitable[None]]) -> None:
        self._app = app
        self._send = send
        self._waiting: deque[events.Key] = deque()
        self._under_way = 0
        self._given_up = 0
        self._sent = 0
        self._held = False

    @property
    def under_way(self) -> bool:
        """Whether a key is being delivered."""
        return bool(self._under_way)

    @property
    def blind(self) -> bool:
        """Whether the terminal is too small: it shows only how large it must be, and what leaving cancels."""
        screen = self._app.screen
        return screen.has_class("-tiny") or screen.has_class("-low")

    def refuse(self, event: events.Event) -> bool:
        """Return whether nothing is shown that ``event`` could be meant for; only the keys that leave do something then."""
        blind = self.blind
        if blind and isinstance(event, events.Key) and event.key in LEAVING_KEYS:
            self._app.exit(0)
        return blind

    def hold(self) -> None:
        """Keep keys until ``release``."""
        self._held = True

    async def release(self) -> None:
        """Send the keys that were kept, in their order."""
        self._held = False
        if self._waiting and not self._under_way:
            await self._go(self._waiting.popleft())

    async def take(self, key: events.Key) -> None:
        """Send ``key``, now or after the previous ones."""
        if not self._under_way and not self._held:
            await self._go(key)
        elif len(self._waiting) < MAX_WAITING:
            self._waiting.append(key)
            if self._under_way and self._given_up != self._under_way:
                self._given_up = self._under_way
                self._app.set_timer(LOST_SECONDS, partial(self._through, self._under_way))

    async def _go(self, key: events.Key) -> None:
        self._sent += 1
        self._under_way = self._sent
        node: DOMNode = self._app.focused or self._app.screen
        if not self.blind:  # it may have waited
            await self._send(key)
        self._follow(node, self._under_way)

    def _follow(self, node: DOMNode, number: int) -> None:
        """Follow the key through the queue of each widget up to the app's."""
        if node is self._app or node.parent is None:
            self._app.call_later(self._through, number)
        elif not node.call_later(self._follow, node.parent, number):
            self._follow(node.parent, number)

    async def _through(self, number: int) -> None:
        if number == self._under_way:
            self._under_way = 0
            if self._waiting and self._app.screen_stack:
                await self._go(self._waiting.popleft())
