"""The live lines of a past run; the line of the current event has the cursor."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

from clawperator.widgets.format.lines import Row
from clawperator.widgets.format.moments import line_row
from clawperator.widgets.line_pane import LinePane

if TYPE_CHECKING:
    from clawperator.engine.history.records import RunRecord


class RunLogPane(LinePane):
    """The lines of a run; ``mark`` selects the line of the event (-1: none)."""

    EMPTY = "No lines were recorded."

    record: RunRecord | None = None
    current = -1

    def show(self, record: RunRecord | None) -> None:
        self.record, self.current = record, -1
        self.set_reactive(LinePane.cursor, 0)
        self.set_reactive(LinePane.top, 0)
        self.content_changed()

    def mark(self, line: int) -> None:
        if line == self.current:
            return
        before, self.current = self.current, line
        self.move_to(max(0, line))
        self.refresh_row(before)
        self.refresh_row(line)

    def row_count(self) -> int:
        return len(self.record.lines) if self.record is not None else 0

    def row_key(self, index: int) -> Hashable:
        return index, index == self.current

    def row(self, index: int, width: int) -> Row:
        assert self.record is not None
        began = self.record.summary.started_at
        return line_row(
            self.record.lines[index],
            began,
            width,
            current=index == self.current,
            clock=self.clock,
            symbols=self.symbols,
        )
