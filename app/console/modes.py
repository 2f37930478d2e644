"""The modes of the console, each loaded when it is first gone to: the first frame needs only the one that it shows."""

from __future__ import annotations

from collections.abc import Callable

from clawperator.app.console.screens.base import ConsoleScreen
from clawperator.app.console.screens.inspect import InspectScreen


def _stream() -> ConsoleScreen:
    from clawperator.app.console.screens.stream import StreamScreen

    return StreamScreen()


def _run() -> ConsoleScreen:
    from clawperator.app.console.screens.run import RunScreen

    return RunScreen()


def _history() -> ConsoleScreen:
    from clawperator.app.console.screens.history import HistoryScreen

    return HistoryScreen()


def _skills() -> ConsoleScreen:
    from clawperator.app.console.screens.skills import SkillsScreen

    return SkillsScreen()


def _doctor() -> ConsoleScreen:
    from clawperator.app.console.screens.doctor import DoctorScreen

    return DoctorScreen()


def _devices() -> ConsoleScreen:
    from clawperator.app.console.screens.devices import DevicesScreen

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
    from clawperator.app.console.screens import devices, doctor, history, run, skills, stream  # noqa: F401  # kept by Python
