"""Follow mode for clients: one per device while at least one client subscribes.

The next snapshot starts when a client has fetched the last one, so that no connection is flooded with trees.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from clawperator.app.serve.event_frames import StreamEvent, following
from clawperator.engine.follow.follower import FollowState

if TYPE_CHECKING:
    from clawperator.engine.facade import Engine
    from clawperator.engine.follow.follower import Follow


class _Followed:
    """One device that is followed, and for how many."""

    def __init__(self, follow: Follow) -> None:
        self.follow = follow
        self.task = asyncio.create_task(follow.run(), name=f"following {follow.device_id}")
        self.listeners = 0


class Followers:
    """``on_state`` hears how each of them goes."""

    def __init__(self, engine: Engine, on_state: Callable[[StreamEvent], object]) -> None:
        self._engine = engine
        self._on_state = on_state
        self._followed: dict[str, _Followed] = {}
        self._ending: set[asyncio.Task[None]] = set()

    @contextmanager
    def following(self, device_id: str) -> Iterator[None]:
        """Follow the device while the block runs, and publish its current state first."""
        found = self._followed.get(device_id)
        if found is None:
            found = self._followed[device_id] = _Followed(self._engine.follow(device_id, self._teller(device_id)))
        found.listeners += 1
        self._on_state(following(device_id, found.follow.state))
        try:
            yield
        finally:
            found.listeners -= 1
            if not found.listeners:
                del self._followed[device_id]
                self._end(found.task)

    def _teller(self, device_id: str) -> Callable[[FollowState], object]:
        return lambda state: self._on_state(following(device_id, state))

    def _end(self, task: asyncio.Task[None]) -> None:
        """Cancel the task; a running snapshot still finishes."""
        task.cancel()
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def state(self, device_id: str) -> FollowState:
        """Return the state of follow mode on a device; ``reading`` if it has not begun."""
        found = self._followed.get(device_id)
        return FollowState("reading") if found is None else found.follow.state

    def fetched(self, device_id: str) -> None:
        """Note that a client has fetched the newest tree."""
        if (found := self._followed.get(device_id)) is not None:
            found.follow.painted()

    def tasks(self) -> list[asyncio.Task[None]]:
        """Return the running tasks."""
        return [*(found.task for found in self._followed.values()), *self._ending]
