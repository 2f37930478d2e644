"""The last run of the draft, in full."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clawperator.widgets.execution_detail import ExecutionDetail
from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.format.outcome_block import NextKey, keys_row
from clawperator.widgets.format.slot import Sheet, Slot, fixed
from clawperator.widgets.format.tree_slots import TreePlace
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.status import Status


class LastRun(ExecutionDetail):
    """An execution's detail; enter chooses the run, except on a tree."""

    EMPTY = "No run yet.\n\nPress R to run the draft."

    _keys: Sequence[NextKey] = ()
    _words = ""

    def show_run(self, execution: ExecutionState | None, next_keys: Sequence[NextKey] = (), words: str = "") -> None:
        """``next_keys`` stand below the outcome; ``words`` replace it for a rejected run."""
        changed = (next_keys, words) != (self._keys, self._words)
        self._keys, self._words = next_keys, words
        self.show(execution)
        if changed:
            self.rearrange()

    def _next_keys(self, execution: ExecutionState) -> list[NextKey]:  # noqa: ARG002  # the keys of the mode
        return [*self._keys]

    def _execution(self, execution: ExecutionState, sheet: Sheet) -> Iterator[Slot]:
        if not self._words:
            yield from super()._execution(execution, sheet)
            return
        lead = f" {sheet.symbols.sign(Status.WAITING)} "
        yield from map(fixed, wrapped(self._words, sheet.width, "warn", lead=lead, lead_role=Status.WAITING.role))
        yield fixed(Row(Line(sheet.width).add("   ").device(execution.code, "muted")))
        yield fixed(keys_row(self._keys, sheet.width))

    def clicked(self, index: int, x: int, *, twice: bool) -> None:
        self.move_to(index)
        if twice:
            self.action_choose()
        elif x < self.FOLD_CELLS:
            self.action_fold()

    def action_choose(self) -> None:
        if self.slot is not None and isinstance(self.slot.place, TreePlace):
            super().action_choose()
        else:
            LinePane.action_choose(self)
