"""The doctor's checks as a list, and one check in full."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.message import Message

from clawperator.widgets import keys
from clawperator.widgets.folded import FoldedText
from clawperator.widgets.format.checks import Check, check_detail, check_row, group_of, status_of
from clawperator.widgets.format.lines import Row
from clawperator.widgets.format.status import Status
from clawperator.widgets.row_list import ListRow, RowList, heading

if TYPE_CHECKING:
    from textual.binding import BindingType


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorReport:
    """One run of the doctor: its checks so far, whether it still runs, and when it ended (0: not yet)."""

    EMPTY: ClassVar[DoctorReport]

    checks: tuple[Check, ...] = ()
    running: bool = False
    ended: float = 0.0
    device_id: str = ""
    problem: str = ""

    def worst(self) -> Status:
        """The state of the whole: failed, warn or ok; running and idle while there is nothing to say."""
        found = {status_of(check) for check in self.checks}
        for status in (Status.FAILED, Status.WARN):
            if status in found:
                return status
        if self.running:
            return Status.RUNNING
        return Status.OK if self.checks else Status.IDLE


DoctorReport.EMPTY = DoctorReport()


class DoctorPanel(RowList):
    """All checks, grouped by what they look at. ``problems_only`` makes the short summary of mode 1."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings("doctor")]

    EMPTY = "Not run yet.\nr runs the checks."

    class RunWanted(Message):
        """The checks are to be run again."""

    def __init__(self, *, id: str | None = None, summary: bool = False) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.report = DoctorReport.EMPTY
        self._summary = summary

    def show(self, report: DoctorReport) -> None:
        if report is self.report:
            return
        self.report = report
        self.show_rows(self._summary_rows() if self._summary else self._rows())

    @property
    def check(self) -> Check | None:
        """The check under the cursor."""
        return next((check for check in self.report.checks if check.get("id") == self.value), None)

    def _rows(self) -> Iterator[ListRow]:
        group = ""
        for check in self.report.checks:
            if group_of(check) != group:
                group = group_of(check)
                yield heading(group)
            yield self._check_row(check)
        yield from self._running_row()

    def _summary_rows(self) -> Iterator[ListRow]:
        """What does not pass comes first; then the rest in order."""
        checks: Sequence[Check] = self.report.checks
        yield from (self._check_row(check) for check in checks if status_of(check) is not Status.OK)
        yield from (self._check_row(check) for check in checks if status_of(check) is Status.OK)
        yield from self._running_row()

    def _check_row(self, check: Check) -> ListRow:
        status = status_of(check)
        role = status.role if status in (Status.FAILED, Status.WARN) else ""
        return ListRow(lambda width: check_row(check, width, self.symbols), value=check.get("id"), role=role)

    def _running_row(self) -> Iterable[ListRow]:
        if self.report.running:
            check = {"status": "running", "summary": "checking…"}
            yield ListRow(lambda width: check_row(check, width, self.symbols), quiet=True)
        elif self.report.problem:
            check = {"status": "fail", "summary": self.report.problem}
            yield ListRow(lambda width: check_row(check, width, self.symbols), role="fail", quiet=True)

    def action_run_doctor(self) -> None:
        self.post_message(self.RunWanted())

    def action_problem(self, step: int) -> None:
        self.to_problem(step)


class CheckDetail(FoldedText):
    """One check in full: detail, guidance, what to do, evidence."""

    EMPTY = "Choose a check."

    _check: Check | None = None

    def show(self, check: Check | None) -> None:
        if check is not self._check:
            self._check = check
            self.fold(from_top=True)

    def folded(self, width: int) -> Iterable[Row]:
        return () if self._check is None else check_detail(self._check, width, self.symbols)
