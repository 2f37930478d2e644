"""The modes of the console. A mode is imported when it is opened first: the first frame needs only the one it shows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from clawperator.app.console.inspect.screen import InspectScreen
from clawperator.app.console.screens.base import ConsoleScreen

TABS = (
    ("1", "Inspect"),
    ("2", "Stream"),
    ("3", "Run"),
    ("4", "History"),
    ("5", "Skills"),
    ("6", "Doctor"),
    ("7", "Devices"),
)
"""Key and name."""


def _screen(mode: str) -> type[ConsoleScreen]:
    """Import the screen of a mode."""
    match mode:
        case "stream":
            from clawperator.app.console.stream.screen import StreamScreen

            return StreamScreen
        case "run":
            from clawperator.app.console.run.screen import RunScreen

            return RunScreen
        case "history":
            from clawperator.app.console.history.screen import HistoryScreen

            return HistoryScreen
        case "skills":
            from clawperator.app.console.skills.screen import SkillsScreen

            return SkillsScreen
        case "doctor":
            from clawperator.app.console.doctor.screen import DoctorScreen

            return DoctorScreen
        case "devices":
            from clawperator.app.console.devices.screen import DevicesScreen

            return DevicesScreen
    return InspectScreen


def _opened(mode: str) -> ConsoleScreen:
    return _screen(mode)()


MODES: dict[str, Callable[[], ConsoleScreen]] = {name.lower(): partial(_opened, name.lower()) for _, name in TABS}


def load() -> None:
    """Import all modes, in a worker thread after the first frame: no first visit has to wait for it."""
    for mode in MODES:
        _screen(mode)
