"""The last run of the draft: stages, steps on a time axis, outcome."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from clawperator.widgets.format.lines import Line, Row, column, wrapped
from clawperator.widgets.format.outcome_block import NextKey, outcome_slots
from clawperator.widgets.format.slot import BLANK, Sheet, Slot, fixed
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.format.waterfall import milliseconds, step_row, total_row
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.run_stages import RunStage, retry_countdown, stages
from clawperator.widgets.models.status import Status
from clawperator.widgets.models.timeline import timeline
from clawperator.widgets.slot_pane import SlotPane
from clawperator.widgets.text.times import WallClock, duration

_NAME_CELLS = 10


class RunTimeline(SlotPane):
    """One execution, redrawn at each ``show`` and ``tick``."""

    EMPTY = "No run yet.\n\nPress R to run the draft."

    def __init__(self, *, id: str, clock: WallClock) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.clock = clock
        self.execution: ExecutionState | None = None
        self._next_keys: Sequence[NextKey] = ()
        self._words = ""
        self._drawn: object = None

    def show(self, execution: ExecutionState | None, next_keys: Sequence[NextKey] = (), words: str = "") -> None:
        """``next_keys`` stand below the outcome; ``words`` replace it for a rejected run."""
        state = (execution.number, execution.version) if execution is not None else None
        if (state, next_keys, words) != self._drawn:
            self.execution, self._next_keys, self._words = execution, next_keys, words
            self._drawn = state, next_keys, words
            self.rearrange()

    def tick(self) -> None:
        if self.execution is not None and not self.execution.over:
            self.rearrange()

    def slots(self, width: int) -> Iterable[Slot]:
        execution = self.execution
        return self._slots_of(execution, self.sheet(width, self.clock)) if execution is not None else ()

    def _slots_of(self, execution: ExecutionState, sheet: Sheet) -> Iterator[Slot]:
        if execution.over:
            yield from (
                self._rejected(execution, sheet) if self._words else outcome_slots(execution, sheet, self._next_keys)
            )
            yield BLANK
        now = self.clock.now()
        line_of = timeline(execution, now)
        yield Slot(partial(total_row, line_of, over=execution.over, symbols=sheet.symbols))
        for stage in stages(execution, now):
            yield fixed(stage_row(stage, sheet.width, sheet.symbols))
            if stage.name == "steps":
                for step in line_of.steps:
                    yield Slot(partial(step_row, step, line_of, symbols=sheet.symbols), ("step", step.number))
        if not execution.over:
            yield BLANK
            yield from outcome_slots(execution, sheet)
            if (left := retry_countdown(execution, now)) > 0:
                yield fixed(Row(Line(sheet.width).add(f"   Next retry in {duration(left)}.", "warn")))

    def _rejected(self, execution: ExecutionState, sheet: Sheet) -> Iterator[Slot]:
        lead = f" {sheet.symbols.sign(Status.WAITING)} "
        yield from map(fixed, wrapped(self._words, sheet.width, "warn", lead=lead, lead_role=Status.WAITING.role))
        yield fixed(Row(Line(sheet.width).add("   ").device(execution.code, "muted")))
        line = Line(sheet.width).add("   ")
        for key, label in self._next_keys:
            line.add(key, "key").add(f" {label}   ", "muted")
        yield fixed(Row(line))


def stage_row(stage: RunStage, width: int, symbols: Symbols) -> Row:
    """`` ✓ lock       emulator-5554                                   1.2 ms``"""
    status = stage.status
    line = Line(width).add(f" {symbols.sign(status)} ", status.role)
    line.add(column(stage.name, _NAME_CELLS), "strong").add(" ").device(stage.words, "muted")
    took = "" if math.isnan(stage.seconds) else milliseconds(stage.seconds * 1000)
    return Row(line, Line().add(f"{took} ", "muted"))
