"""The steps of the draft as a list; the screen handles its keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clawperator.widgets import keys
from clawperator.widgets.format.draft import StepView, step_row
from clawperator.widgets.format.slot import Slot
from clawperator.widgets.row_panes import RowList


class DraftSteps(RowList):
    """One row per step; its value is the step's index."""

    BINDINGS = keys.binding_list("steps")
    EMPTY = "No steps yet.\n\ni adds one by form, e edits JSON.\nIn Inspect, i adds a step for a node, I records what you do."

    def show(self, views: Sequence[StepView]) -> None:
        self.show_rows(
            Slot(self._draw(index, view), place=index, role="fail" if view.problem else "")
            for index, view in enumerate(views)
        )

    def _draw(self, index: int, view: StepView) -> Any:
        return lambda width: step_row(index + 1, view, width, self.symbols)
