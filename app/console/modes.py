"""The modes of the console. A mode is imported when it is opened first: the first frame needs only the one it shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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


def _stream() -> type[ConsoleScreen]:
    from clawperator.app.console.stream.screen import StreamScreen

    return StreamScreen


def _run() -> type[ConsoleScreen]:
    from clawperator.app.console.run.screen import RunScreen

    return RunScreen


def _history() -> type[ConsoleScreen]:
    from clawperator.app.console.history.screen import HistoryScreen

    return HistoryScreen


def _skills() -> type[ConsoleScreen]:
    from clawperator.app.console.skills.screen import SkillsScreen

    return SkillsScreen


def _doctor() -> type[ConsoleScreen]:
    from clawperator.app.console.doctor.screen import DoctorScreen

    return DoctorScreen


def _devices() -> type[ConsoleScreen]:
    from clawperator.app.console.devices.screen import DevicesScreen

    return DevicesScreen


def _opened(loader: Callable[[], type[ConsoleScreen]]) -> ConsoleScreen:
    return loader()()


_LOADERS: Mapping[str, Callable[[], type[ConsoleScreen]]] = {
    "stream": _stream,
    "run": _run,
    "history": _history,
    "skills": _skills,
    "doctor": _doctor,
    "devices": _devices,
}
MODES: dict[str, Callable[[], ConsoleScreen]] = {
    "inspect": InspectScreen,
    **{name: partial(_opened, loader) for name, loader in _LOADERS.items()},
}


def load() -> None:
    """Import all modes, in a worker thread after the first frame: no first visit has to wait for it."""
    for loader in _LOADERS.values():
        loader()
