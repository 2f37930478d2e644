"""Switch between the Operator app and the stock backend, after a confirmation."""

from __future__ import annotations

from typing import Protocol

from clawperator.app.console.console import Console
from clawperator.app.console.doctor.controller import DoctorController
from clawperator.app.console.screens import menu
from clawperator.app.console.session import Facet
from clawperator.engine.errors import EngineError
from clawperator.widgets.models.status import Status

_QUESTIONS = {
    "stock": (
        "Use the stock backend?",
        "It needs no app on the device.\nA tree takes one to three seconds.\nAccessibility services stop meanwhile.",
    ),
    "operator": (
        "Use the Operator app again?",
        "It must be installed on the device,\nand its accessibility service switched on.",
    ),
}
_DONE = {
    "stock": "The stock backend is used. Accessibility services stop while it reads",
    "operator": "The Operator app is used",
}


class BackendConsole(Console, Protocol):
    @property
    def doctor(self) -> DoctorController: ...
    def take_snapshot(self) -> bool: ...


def ask(console: BackendConsole) -> None:
    """Offer the other backend; if it is confirmed, use it, check the device for it and read the screen by it."""
    session = console.session
    if session.offline:
        console.say(Status.IDLE, "Saved dumps are shown without a backend. D returns to a device")
        return
    other = "operator" if session.backend == "stock" else "stock"

    def answered(_yes: bool) -> None:
        try:
            console.engine.use_backend(other)
        except EngineError as exc:
            console.say(Status.FAILED, exc.message, exc.code.value)
            return
        session.backend, session.tree_problem = other, ""
        console.say(Status.OK, _DONE[other])
        console.show(Facet.EVERYTHING)
        if session.device_id:
            console.take_snapshot()
            console.doctor.rerun()

    from clawperator.app.console.screens.dialogs import ConfirmDialog

    menu.ask(console, ConfirmDialog(*_QUESTIONS[other]), answered)
