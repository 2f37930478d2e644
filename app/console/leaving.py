"""Leave a mode or the console; what still runs is named before it is cancelled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from clawperator.app.console.mode_switcher import ModeSwitcher
from clawperator.app.console.screens.menu import ask
from clawperator.widgets.format.jobs import job_words
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.format.skill_output import run_words

if TYPE_CHECKING:
    from clawperator.app.console.devices.console import DevicesConsole
    from clawperator.app.console.skills.controller import SkillsController

    class _EndingConsole(DevicesConsole, Protocol):
        @property
        def skills(self) -> SkillsController: ...
        def exit(self, result: int) -> None: ...


class Leaving:
    """The keys that end something: the visit of a mode, or the console."""

    def __init__(self, console: _EndingConsole, modes: ModeSwitcher) -> None:
        self._console = console
        self._modes = modes

    def action_leave_mode(self) -> None:
        """Go back to the previous mode; in the first one, ask whether to quit."""
        if not self._modes.back():
            self._ask()

    def action_quit(self) -> None:
        """Quit; ask first while a job runs."""
        from clawperator.app.console.screens.dialogs import ConfirmDialog

        console = self._console
        working = console.emulators.busy or console.operator_setup.busy or console.skills.busy
        if working and not isinstance(console.screen, ConfirmDialog):
            self._ask()
        else:
            console.exit(0)

    def _ask(self) -> None:
        from clawperator.app.console.screens.dialogs import ConfirmDialog

        ask(
            self._console,
            ConfirmDialog("Leave the console?", self.words() or "Nothing on the device is stopped."),
            lambda _: self._console.exit(0),
        )

    def words(self) -> str:
        """Return what leaving the console cancels; empty where it cancels nothing."""
        console = self._console
        jobs = (console.emulators.job, console.operator_setup.job, console.skills.syncing)
        ends = [job_words(job) for job in jobs if job is not None and job.running]
        if console.skills.busy and console.skills.run is not None:
            ends.append(f"the skill {run_words(console.skills.run)}")
        return f"This cancels {sentence(' and '.join(ends))}." if ends else ""
