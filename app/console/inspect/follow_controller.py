"""Follow mode as the console has it: at most one device's tree is kept fresh, and the words for how that goes.

The bridge holds one ``Following``. Trees come by as all trees do, as events; ``owns`` tells which of them were asked for
here, ``painted`` is the screen's word that the next one may come.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from clawperator.engine.follow.follower import FollowState
from clawperator.widgets.format.lines import Line

_WIDTH = 80
_NAME_ROOM = 24


class Followed(Protocol):
    """``engine.observe.follow.Follow``."""

    state: FollowState

    async def run(self) -> None: ...
    def painted(self) -> None: ...
    def owns(self, command_id: str) -> bool: ...


class CanFollow(Protocol):
    """The part of the engine that follow mode uses."""

    def follow(self, device_id: str, tell: Callable[[FollowState], object]) -> Followed: ...


class Following:
    """``spawn`` starts a task; ``tell`` hears the device and how following it goes, ``None`` when it has been switched off."""

    def __init__(
        self,
        engine: CanFollow,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        tell: Callable[[str, FollowState | None], object],
    ) -> None:
        self._engine = engine
        self._spawn = spawn
        self._tell = tell
        self._follow: Followed | None = None
        self._task: asyncio.Task[None] | None = None
        self._painted = 0
        self.device_id = ""

    def start(self, device_id: str) -> None:
        """Follow ``device_id``, and no longer the device before it."""
        if device_id == self.device_id:
            return
        self.stop()
        follow = self._engine.follow(device_id, lambda state: self._heard(follow, state))
        self._follow, self.device_id, self._painted = follow, device_id, 0
        self._task = self._spawn(follow.run())
        self._tell(device_id, follow.state)

    def stop(self) -> None:
        """Switch it off. A look that is under way still ends, and its tree comes by as any other."""
        if self._task is None:
            return
        self._task.cancel()
        device_id, self.device_id, self._task = self.device_id, "", None
        self._tell(device_id, None)

    def painted(self, serial: int) -> None:
        """The screen shows tree number ``serial``. Say it as often as it is painted: only the first time counts."""
        if self._follow is not None and serial != self._painted:
            self._painted = serial
            self._follow.painted()

    def owns(self, command_id: str) -> bool:
        """Whether the tree of that command was asked for by follow mode here."""
        return self._follow is not None and self._follow.owns(command_id)

    def _heard(self, follow: Followed, state: FollowState) -> None:
        """What a follow says that ends, one look after it was switched off, is no news."""
        if self._task is not None and follow is self._follow:
            self._tell(self.device_id, state)


def follow_words(device_id: str, state: FollowState | None) -> Line:
    """``follow busy: cmd-123`` and the like, for the header and the tree's info line; nothing when it is off."""
    line = Line(_WIDTH)
    if state is None:
        return line
    match state.phase:
        case "reading":
            return line.add("follow: on", "run")
        case "resting":
            return line.add(f"follow: resting {state.wait:.0f} s", "muted")
        case "busy" if state.command_id:
            return line.add("follow busy: ", "warn").device(state.command_id, "warn", room=_NAME_ROOM)
        case "busy":
            return line.add("follow busy: another execution", "warn")
        case "away":
            return line.add("follow: ", "warn").device(device_id, "warn", room=_NAME_ROOM).add(" is away", "warn")
    code = state.error.code.value if state.error is not None else "UNKNOWN"
    return line.add(f"follow: failing ({code})", "fail")
