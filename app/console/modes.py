"""The modes of the console, each loaded when it is first gone to: the first frame needs only the one that it shows."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from clawperator.app.console.inspect.screen import InspectScreen
from clawperator.app.console.screens.base import ConsoleScreen


def _stream() -> ConsoleScreen:
    from clawperator.app.console.stream.screen import StreamScreen

    return StreamScreen()


def _run() -> ConsoleScreen:
    from clawperator.app.console.run.screen import RunScreen

    return RunScreen()


def _history() -> ConsoleScreen:
    from clawperator.app.console.history.screen import HistoryScreen

    return HistoryScreen()


def _skills() -> ConsoleScreen:
    from clawperator.app.console.skills.screen import SkillsScreen

    return SkillsScreen()


def _doctor() -> ConsoleScreen:
    from clawperator.app.console.doctor.screen import DoctorScreen

    return DoctorScreen()


def _devices() -> ConsoleScreen:
    from clawperator.app.console.devices.screen import DevicesScreen

    return DevicesScreen()


MODES: dict[str, Callable[[], ConsoleScreen]] = {
    "inspect": InspectScreen,
    "stream": _stream,
    "run": _run,
    "history": _history,
    "skills": _skills,
    "doctor": _doctor,
    "devices": _devices,
}


def load() -> None:
    """Load them all: in a worker thread once the first frame is painted, so that no first visit has to wait for it."""
    for mode in MODES:
        import_module(f"clawperator.app.console.{mode}.screen")
