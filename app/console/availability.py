"""Why an action is unavailable now."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from clawperator.app.console.console import Console
from clawperator.app.console.execution.dispatcher import first_acting
from clawperator.app.console.inspect import explain
from clawperator.app.console.screens.base import ConsoleScreen
from clawperator.widgets import keys
from clawperator.widgets.models.status import Status


class _ModesConsole(Console, Protocol):
    @property
    def mode_screen(self) -> ConsoleScreen | None: ...


class Availability:
    """``unavailable`` maps actions that the engine does not offer to the reason."""

    def __init__(self, console: _ModesConsole, unavailable: Mapping[str, str]) -> None:
        self._console = console
        self._unavailable = unavailable

    def why_not(self, action: str) -> str:
        """Return the reason in one sentence; empty when ``action`` is available. Its parameters do not matter."""
        name = action.partition("(")[0].rpartition(".")[2]
        if name == explain.ACTION:
            return self._explanation().reason
        if name in self._unavailable:
            return self._unavailable[name]
        if self._console.session.read_only and name in keys.ACTING:
            mode = self._console.mode_screen
            payload = mode.would_send(name) if mode is not None else None
            if payload is None:
                return "Read-only: this console was started with --read-only. Nothing is sent to the device"
            if acting := first_acting(payload):
                return f"Read-only: {acting} would act, and this console was started with --read-only"
        return ""

    def _explanation(self) -> explain.Explanation:
        """Return what can be explained of the execution that has the focus."""
        mode = self._console.mode_screen
        return explain.explained(self._console.session, mode.focused if mode is not None else None)

    def action_explain_failure(self) -> None:
        """Show why the failed step that has the focus found no node."""
        explanation = self._explanation()
        if explanation.reason:
            self._console.say(Status.IDLE, explanation.reason)
        else:
            self._console.run_worker(explain.show(self._console, explanation), group="explain", exclusive=True)
