"""The doctor's checks as a list, and one check in full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.message import Message

from clawperator.widgets import keys
from clawperator.widgets.format.checks import check_row, problem_rows
from clawperator.widgets.format.slot import Slot, heading, ready
from clawperator.widgets.models.doctor_report import Check, DoctorReport, id_of, status_of
from clawperator.widgets.models.status import Status
from clawperator.widgets.row_panes import RowList

_NEEDS_ATTENTION = (Status.FAILED, Status.WARN)


def _mark(check: Check) -> str:
    """Return the role of the check's mark in the scrollbar."""
    status = status_of(check)
    return status.role if status in _NEEDS_ATTENTION else ""


class DoctorPanel(RowList):
    """All checks, critical ones first; with ``summary`` only the problems, failed ones first."""

    BINDINGS = keys.binding_list("doctor")

    EMPTY = "Not run yet.\nPress r to run the checks."

    class RunWanted(Message):
        """Run the checks again."""

    def __init__(self, *, id: str | None = None, summary: bool = False) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.report = DoctorReport.EMPTY
        self._summary = summary

    def show(self, report: DoctorReport) -> None:
        if report is self.report:
            return
        self.report = report
        self.empty_text = "No problems." if self._summary and report.checks else self.EMPTY
        if self._summary:
            self.show_folded(self._summary_rows)
        else:
            self.show_rows(self._rows())

    @property
    def check(self) -> Check | None:
        """Return the check under the cursor, with or without a result."""
        return next((check for check in self.report.rows() if check.get("id") == self.value), None)

    def _rows(self) -> Iterator[Slot]:
        for group, checks in self.report.grouped():
            yield heading(group)
            yield from map(self._check_row, checks)
        yield from self._end_row()

    def _summary_rows(self, width: int) -> Iterator[Slot]:
        for check in self.report.summary:
            for index, row in enumerate(problem_rows(check, width, self.symbols)):
                yield ready(row) if index else ready(row, id_of(check), quiet=False)._replace(role=_mark(check))
        if self.report.running:
            check = {"status": "running", "summary": "checking…"}
            yield Slot(lambda width: check_row(check, width, self.symbols), quiet=True)
        else:
            yield from self._end_row()

    def _check_row(self, check: Check) -> Slot:
        return Slot(lambda width: check_row(check, width, self.symbols), place=id_of(check), role=_mark(check))

    def _end_row(self) -> Iterable[Slot]:
        """Yield why the run broke off."""
        if self.report.problem:
            check = {"status": "fail", "summary": self.report.problem}
            yield Slot(lambda width: check_row(check, width, self.symbols), role="fail", quiet=True)

    def action_run_doctor(self) -> None:
        self.post_message(self.RunWanted())

    def action_problem(self, step: int) -> None:
        self.to_problem(step)
