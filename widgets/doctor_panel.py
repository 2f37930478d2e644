"""The doctor's checks as a list, and one check in full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from textual.message import Message

from clawperator.widgets import keys
from clawperator.widgets.format.checks import check_detail, check_row, problem_rows
from clawperator.widgets.format.lines import Row
from clawperator.widgets.models.doctor_report import Check, DoctorReport, id_of, status_of
from clawperator.widgets.models.status import Status
from clawperator.widgets.row_list import ListRow, RowList, heading, ready
from clawperator.widgets.wrapped_text import WrappedText

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

    def _rows(self) -> Iterator[ListRow]:
        for group, checks in self.report.grouped():
            yield heading(group)
            yield from map(self._check_row, checks)
        yield from self._end_row()

    def _summary_rows(self, width: int) -> Iterator[ListRow]:
        for check in self.report.summary:
            for index, row in enumerate(problem_rows(check, width, self.symbols)):
                yield ready(row) if index else ready(row, id_of(check), quiet=False)._replace(role=_mark(check))
        if self.report.running:
            check = {"status": "running", "summary": "checking…"}
            yield ListRow(lambda width: check_row(check, width, self.symbols), quiet=True)
        else:
            yield from self._end_row()

    def _check_row(self, check: Check) -> ListRow:
        return ListRow(lambda width: check_row(check, width, self.symbols), value=id_of(check), role=_mark(check))

    def _end_row(self) -> Iterable[ListRow]:
        """Yield why the run broke off."""
        if self.report.problem:
            check = {"status": "fail", "summary": self.report.problem}
            yield ListRow(lambda width: check_row(check, width, self.symbols), role="fail", quiet=True)

    def action_run_doctor(self) -> None:
        self.post_message(self.RunWanted())

    def action_problem(self, step: int) -> None:
        self.to_problem(step)


class CheckDetail(WrappedText):
    """One check in full: meaning, fix, guidance, evidence."""

    EMPTY = "Select a check."

    _check: Check | None = None
    _runnable: frozenset[str] = frozenset()
    _critical = False

    def show(self, check: Check | None, *, critical: bool = False, runnable: Iterable[str] = ()) -> None:
        """``runnable`` are the steps of ``check`` that the console can run."""
        steps = frozenset(runnable)
        if (check, critical, steps) == (self._check, self._critical, self._runnable):
            return
        same = check is not None and self._check is not None and id_of(check) == id_of(self._check)
        self._check, self._critical, self._runnable = check, critical, steps
        self.fold(from_top=not same)

    def folded(self, width: int) -> Iterable[Row]:
        if self._check is None or width < 10:
            return ()
        return check_detail(self._check, width, self.symbols, critical=self._critical, runnable=self._runnable)
