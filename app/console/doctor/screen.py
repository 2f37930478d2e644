"""Mode 6: all checks, one of them in full with its fix, and the output of fixes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from textual.app import ComposeResult
from textual.containers import Container

from clawperator.app.console.console import Console
from clawperator.app.console.copyable import Copyable
from clawperator.app.console.doctor.fix_dialog import FixDialog, Proposal
from clawperator.app.console.empty_states import NEEDS_SETUP
from clawperator.app.console.navigation import Destination, FixPlace
from clawperator.app.console.screens.forms import QuestionDialog
from clawperator.app.console.screens.menu import ask
from clawperator.app.console.screens.two_pane import TwoPaneScreen
from clawperator.app.console.session import Facet
from clawperator.engine.text.suggestions import command_line
from clawperator.widgets import keys
from clawperator.widgets.doctor_panel import DoctorPanel
from clawperator.widgets.fix_log import FixLog
from clawperator.widgets.format.checks import check_detail, fix_text, shell_text, short_name, tally_line
from clawperator.widgets.format.lines import Line, Row, sentence
from clawperator.widgets.info_line import InfoLine
from clawperator.widgets.models.doctor_report import Check, id_of, status_of
from clawperator.widgets.models.status import Status
from clawperator.widgets.pane import Pane
from clawperator.widgets.row_panes import WrappedText
from clawperator.widgets.text.times import age, duration

if TYPE_CHECKING:
    from clawperator.app.console.doctor.controller import DoctorController
    from clawperator.engine.doctor.fix import PlannedFix


class DoctorConsole(Console, Protocol):
    """A console that runs checks and fixes."""

    @property
    def doctor(self) -> DoctorController: ...
    def run_doctor(self) -> None: ...


class DoctorScreen(TwoPaneScreen):
    """The checklist, one check, and the fix log."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("checks")]
    COPY_SHOWN: ClassVar[tuple[str, ...]] = ("id", "line", "command")
    PLACES: ClassVar[dict[str, str]] = {"doctor": "#list", "node": "#detail", "fixes": "#log"}

    _busy = False

    def compose_body(self) -> ComposeResult:
        with Container(id="panes"):
            yield Pane("checks", DoctorPanel(id="list"), id="list-pane")
            with Container(id="doctor-side"):
                yield Pane("detail", WrappedText(id="detail", empty="Select a check."), id="detail-pane")
                yield Pane("fix log", FixLog(id="log"), id="log-pane")
        yield InfoLine(id="summary")

    @property
    def console(self) -> DoctorConsole:
        return cast("DoctorConsole", self.app)

    @property
    def panel(self) -> DoctorPanel:
        return self.query_one("#list", DoctorPanel)

    @property
    def doctor(self) -> DoctorController:
        return self.console.doctor

    # -- drawing

    def draw(self, changed: Facet) -> None:
        if changed & Facet.DOCTOR:
            self.panel.show(self.session.report)
            self.query_one("#log", FixLog).show(self.session.fixes)
            self.query_one("#panes").set_class(bool(self.session.fixes), "-fixes")
            self.query_one("#list-pane", Pane).badge("full run" if self.session.report.full else "")
            self.show_detail()
            self.show_place()
            self._note_work()
        if changed & (Facet.DOCTOR | Facet.DEVICES):
            self._draw_summary()

    def _note_work(self) -> None:
        """Show the key that stops only while there is something to stop."""
        if self.session.doctor_busy != self._busy:
            self._busy = self.session.doctor_busy
            self.refresh_bindings()

    def draw_ages(self) -> None:
        self._draw_summary()
        self.query_one("#log", FixLog).tick()

    def show_place(self) -> None:
        """Show ``3 of 12``, without headings."""
        panel = self.panel
        count = sum(not row.quiet for row in panel.rows)
        place = sum(not row.quiet for row in panel.rows[: panel.cursor + 1])
        self.query_one("#list-pane", Pane).note(Line().add(f"{place} of {count}" if count else ""))

    def show_detail(self) -> None:
        check, detail = self.panel.check, self.query_one("#detail", WrappedText)
        if check is None:
            detail.show_text(lambda _width: ())
            return
        runnable = [plan.step for plan in self.doctor.plan([check])]
        critical, symbols = id_of(check) in self.session.report.critical, self.console.symbols
        detail.show_text(
            lambda width: check_detail(check, width, symbols, critical=critical, runnable=runnable), id_of(check)
        )

    def _draw_summary(self) -> None:
        report, symbols = self.session.report, self.console.symbols
        summary = self.query_one("#summary", InfoLine)
        status, words = self._verdict()
        line = Line(summary.width).add(f" {symbols.sign(status)} ", status.role)
        words = words.partition(":")[0] if self.narrow else words  # the header has the reason
        line.device(words, "stale" if self.session.report_is_old else "strong").add("   ").extend(
            tally_line(report, symbols, whole=True)
        )
        facts: list[tuple[str, str]] = [("watching", "run")] if self.session.doctor_watches else []
        if self.session.report_is_old:
            facts.append(("old", "stale"))
        if report.ended and not report.running:
            when = age(self.session.clock.now() - report.ended)
            whom = f" for {sentence(report.device_id)}" if report.device_id and not self.narrow else ""
            facts.append((f"{when if when == 'now' else f'{when} ago'}{whom}", "muted"))
        right = Line()
        for index, (text, role) in enumerate(facts):
            right.add(f" {symbols.dot} " if index else "", "faint").add(text, role)
        summary.show(Row(line, right.add(" ") if facts else right))

    def _verdict(self) -> tuple[Status, str]:
        report, clock = self.session.report, self.session.clock
        fixes = [fix for fix in self.session.fixes if not fix.over]
        if fixes:
            fix = fixes[0]
            since = f" {duration(clock.now() - fix.began)}" if fix.began else ""
            more = f", {len(fixes) - 1} more" if len(fixes) > 1 else ""
            return Status.RUNNING, f"fixing {short_name(fix.check_id)}{since}{more}"
        if report.running:
            rows = len(report.rows())
            return Status.RUNNING, f"checking {rows - len(report.pending) + 1} of {rows}" if rows else "checking…"
        if report.stopped:
            return Status.WARN, "stopped"
        if report.problem:
            return Status.FAILED, "failed"
        status = report.status()
        return status, report.verdict().summary if report.checks else "not run yet"

    # -- places

    def arrive(self, place: Destination) -> None:
        report = self.session.findings.get(self.session.device_id)  # that of the verdict: the checks may run again
        if isinstance(place, FixPlace) and report is not None and (check_id := report.verdict().check_id):
            self.panel.to_value(check_id)
            self.show_detail()
            self._fix(report.find(check_id))

    def open_drawer(self, pane: Pane | None) -> None:
        super().open_drawer(pane)
        self.query_one("#panes").set_class(pane is not None and pane.id == "log-pane", "-log")

    def close_drawers(self) -> bool:
        panes = self.query_one("#panes")
        if panes.has_class("-log"):
            panes.remove_class("-log")
            panes.add_class("-detail")  # the base class closes it
        return super().close_drawers()

    def go_to(self, selector: str) -> None:
        if selector == "#log" and not self.session.fixes:
            self.console.say(Status.IDLE, "No fix has run yet. Press F on a check to see its commands")
        else:
            super().go_to(selector)

    # -- keys

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide the key that stops while nothing runs."""
        if action == "stop_checks":
            return self.session.doctor_busy
        return super().check_action(action, parameters)

    def action_run_doctor(self) -> None:
        self.console.run_doctor()

    def action_problem(self, step: int) -> None:
        """Move the list, and the detail with it, from any pane."""
        self.panel.to_problem(step)
        self.show_detail()

    def action_check_again(self) -> None:
        check = self.panel.check
        if check is None:
            self.console.run_doctor()
        else:
            self._begun(self.doctor.run(only=id_of(check)))

    def action_watch(self) -> None:
        on = not self.session.doctor_watches
        self.doctor.watch(on)
        words = (
            "Watching: the checks run again when a device connects, disconnects or changes"
            if on
            else "No longer watching"
        )
        self.console.say(Status.OK if on else Status.IDLE, words)

    def action_stop_checks(self) -> None:
        self.doctor.stop()

    def action_full_run(self) -> None:
        device = sentence(self.session.device_id) or "the device"
        words = (
            f"Besides the checks, a full run builds the Operator app in this folder, installs and starts it on {device}, "
            "and opens the Settings app there."
        )
        ask(self.console, QuestionDialog("full run", words, "run"), lambda _: self._begun(self.doctor.run(full=True)))

    def _begun(self, begun: bool) -> None:
        if not begun:
            self.console.say(Status.WAITING, self.doctor.busy_words)

    # -- fixes

    def action_fix(self) -> None:
        """Propose the fix of the check under the cursor; else all fixes that checks offer, or the Operator setup."""
        self._fix(self.panel.check)

    def _fix(self, check: Check | None) -> None:
        report = self.session.report
        own = self.doctor.plan([check]) if check is not None and _needs_fix(check) else ()
        plans = own or self.doctor.plan(report.checks)
        obstacle = report.find(report.verdict().check_id)
        if check is None or not _needs_fix(check):
            check = obstacle or check
        if self.doctor.fixing:
            self._begun(False)
        elif plans:
            name = sentence(str(check.get("summary") or id_of(check)))[:80] if own and check is not None else ""
            self._propose(f"fix: {name}" if name else "fix all that can be fixed", plans)
        elif check is not None and check.get("code") in NEEDS_SETUP:
            self.run_worker(self.app.run_action("app.operator_setup"), exit_on_error=True)
        else:
            self.console.say(Status.IDLE, self._nothing_to_fix(check))

    def _propose(self, what: str, plans: Sequence[PlannedFix]) -> None:
        device = self.session.report.device_id or self.session.device_id
        shown = Proposal(what, device, plans, self.session.locks)
        ask(self.console, FixDialog(shown), lambda _: self._begun(self.doctor.fix(plans)))

    def _nothing_to_fix(self, check: Check | None) -> str:
        report = self.session.report
        if check is not None and _needs_fix(check):
            if shell_text(check):
                return f"Run in a shell: {sentence(shell_text(check).splitlines()[0])}. y c copies it, v checks again"
            if fix_text(check):
                return f"This requires manual steps: {sentence(fix_text(check).splitlines()[0]).rstrip('.')}. y l copies them, v checks again"
            return "No fix is known for this. y j copies the finding"
        if report.running:
            return "Nothing to fix so far: the checks are running"
        if not report.checks:
            return "No checks have run yet. r runs them"
        if all(status_of(row) is Status.OK for row in report.checks):
            return "All checks pass: there is nothing to fix"
        return "The remaining problems require manual steps. ] goes to the first"

    # -- copying

    def copyable(self) -> dict[str, Copyable]:
        things = super().copyable()
        check = self.panel.check
        if check is None:
            return things
        things["id"] = Copyable("the check's id", id_of(check))
        things["json"] = Copyable("the check", json.dumps(dict(check), indent=2, ensure_ascii=False, default=str))
        if commands := shell_text(check):
            things["command"] = Copyable("the commands", commands)
        else:
            things["command"] = Copyable("the command", command_line("doctor", self.session.device_id))
        if steps := fix_text(check):
            things["line"] = Copyable("the steps", steps)
        else:
            words = str(check.get("summary") or id_of(check))
            things["line"] = Copyable("the finding", words)
        return things


def _needs_fix(check: Check) -> bool:
    return status_of(check) in (Status.FAILED, Status.WARN)
