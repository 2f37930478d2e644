"""One past run in full, with its steps gone through."""

from __future__ import annotations

from clawperator.widgets.execution_detail import ExecutionDetail, Tab


class PastDetail(ExecutionDetail):
    """The detail of an execution whose cursor can be led to a step."""

    EMPTY = "No run is chosen."

    def to_step(self, number: int) -> None:
        """The cursor on step ``number`` (from 1), where the steps are what is shown."""
        index = self._index(lambda slot: slot.place == ("step", number))
        if self.tab is Tab.STEPS and index is not None:
            self.move_to(index)
