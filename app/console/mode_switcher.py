"""The current mode, the way back to earlier ones, and places in other modes."""

from __future__ import annotations

from typing import Any, Protocol

from textual.screen import Screen

from clawperator.app.console.bridge import FOCUSED_TICK_SECONDS, TICK_SECONDS, Bridge
from clawperator.app.console.navigation import Destination
from clawperator.app.console.screens.base import ConsoleScreen

_KEPT = 20
HOME = "inspect"


class _ModesApp(Protocol):
    @property
    def current_mode(self) -> str: ...
    @property
    def screen(self) -> Screen[Any]: ...
    @property
    def mode_screen(self) -> ConsoleScreen | None: ...
    def switch_mode(self, mode: str) -> object: ...


class ModeSwitcher:
    """``fixed_tick``: the bridge's pace does not depend on the mode (tests)."""

    def __init__(self, app: _ModesApp, bridge: Bridge, *, fixed_tick: bool) -> None:
        self._app = app
        self._bridge = bridge
        self._fixed_tick = fixed_tick
        self._visited: list[str] = []

    def open(self, mode: str, *, leave_dialog: bool = False) -> None:
        """Switch to ``mode``, unless a dialog is open that cannot be left."""
        if mode != self._app.current_mode and (leave_dialog or isinstance(self._app.screen, ConsoleScreen)):
            self._visited = [*self._visited[1 - _KEPT :], self._app.current_mode]
            self._switch(mode)

    def back(self) -> bool:
        """Switch to the previous mode, at last to Inspect; return whether there was one."""
        mode = self._visited.pop() if self._visited else HOME
        if mode == self._app.current_mode:
            return False
        self._switch(mode)
        return True

    def go_to(self, place: Destination) -> None:
        """Switch to the mode of ``place`` and show it there."""
        self.open(place.MODE, leave_dialog=place.LEAVES_DIALOG)
        mode = self._app.mode_screen
        if mode is not None and self._app.current_mode == place.MODE:
            mode.call_after_refresh(mode.arrive, place)  # its widgets may not exist yet

    def _switch(self, mode: str) -> None:
        self._app.switch_mode(mode)
        if not self._fixed_tick:
            self._bridge.tick = FOCUSED_TICK_SECONDS if mode == "stream" else TICK_SECONDS
