"""One past run in full."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clawperator.widgets.execution_detail import DetailTab, ExecutionDetail
from clawperator.widgets.format.json_lines import json_slots
from clawperator.widgets.format.raw_lines import raw_slots
from clawperator.widgets.format.runs import late_words
from clawperator.widgets.format.slot import BLANK, Sheet, Slot, folded
from clawperator.widgets.models.outline import is_failure, opened_envelope
from clawperator.widgets.models.run_replay import execution_of

if TYPE_CHECKING:
    from clawperator.engine.history.records import RunRecord
    from clawperator.widgets.models.execution import ExecutionState


class RunDetail(ExecutionDetail):
    """An execution's detail with a selectable step and a late result."""

    EMPTY = "No run selected."

    record: RunRecord | None = None

    def show_run(self, record: RunRecord | None) -> ExecutionState | None:
        """Show a recorded run, and return it as an execution; the same one keeps its place."""
        self.record = record
        run = execution_of(record) if record is not None else None
        self.show(run)
        return run

    def to_step(self, number: int) -> None:
        """Put the cursor on step ``number`` (from 1) of the steps tab."""
        index = self._index(lambda slot: slot.place == ("step", number))
        if self.tab is DetailTab.STEPS and index is not None:
            self.move_to(index)

    def _of_tab(self, execution: ExecutionState, sheet: Sheet) -> Iterator[Slot]:
        late = self.record.late if self.record is not None else None
        if self.record is None or late is None or self.tab not in (DetailTab.STEPS, DetailTab.ENVELOPE, DetailTab.RAW):
            yield from super()._of_tab(execution, sheet)
            return
        yield from folded(late_words(self.record.summary, late), sheet.width, "warn")
        yield BLANK
        if self.tab is DetailTab.ENVELOPE:
            yield from json_slots(
                late.envelope,
                sheet,
                topic="envelope",
                by_itself=opened_envelope,
                role_of=lambda path, value: "fail" if is_failure(path, value) else "",
            )
        elif self.tab is DetailTab.RAW:
            yield from raw_slots("".join(late.raw), sheet)
        else:
            yield from super()._of_tab(execution, sheet)
