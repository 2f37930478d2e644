"""Follow mode of the console: it keeps the tree of at most one device fresh.

Trees arrive as events; ``owns`` tells which of them follow mode requested, ``painted`` lets it request the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from clawperator.app.console.console_engine import ConsoleEngine, FollowRun
from clawperator.widgets.format.lines import Line

if TYPE_CHECKING:
    from clawperator.engine.follow.follower import FollowState

_WIDTH = 80
_NAME_ROOM = 24


class FollowController:
    """``spawn`` starts a task; ``on_state`` gets the device and the state, ``None`` when it is switched off."""

    def __init__(
        self,
        engine: ConsoleEngine,
        spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        on_state: Callable[[str, FollowState | None], object],
    ) -> None:
        self._engine = engine
        self._spawn = spawn
        self._on_state = on_state
        self._follow: FollowRun | None = None
        self._task: asyncio.Task[None] | None = None
        self._painted = 0
        self.device_id = ""

    def start(self, device_id: str) -> None:
        """Follow ``device_id`` instead of the previous device."""
        if device_id == self.device_id:
            return
        self.stop()
        follow = self._engine.follow(device_id, lambda state: self._heard(follow, state))
        self._follow, self.device_id, self._painted = follow, device_id, 0
        self._task = self._spawn(follow.run())
        self._on_state(device_id, follow.state)

    def stop(self) -> None:
        """Switch it off; a current snapshot still completes."""
        if self._task is None:
            return
        self._task.cancel()
        device_id, self.device_id, self._task = self.device_id, "", None
        self._on_state(device_id, None)

    def painted(self, serial: int) -> None:
        """Note that the screen shows tree ``serial``; repeated calls are ignored."""
        if self._follow is not None and serial != self._painted:
            self._painted = serial
            self._follow.painted()

    def owns(self, command_id: str) -> bool:
        """Return whether follow mode requested the tree of that command."""
        return self._follow is not None and self._follow.owns(command_id)

    def _heard(self, follow: FollowRun, state: FollowState) -> None:
        """Ignore the state of a follow that was switched off."""
        if self._task is not None and follow is self._follow:
            self._on_state(self.device_id, state)


def follow_words(device_id: str, state: FollowState | None) -> Line:
    """Return ``follow busy: cmd-123`` and the like; empty when it is off."""
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
