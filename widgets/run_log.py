"""The live lines of a past run; the line of the current event has the cursor."""

from __future__ import annotations

from collections.abc import Hashable

from clawperator.widgets.format.lines import Row
from clawperator.widgets.format.stream import live_row
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.execution import ExecutionState


class RunLogPane(LinePane):
    """The lines of a run; ``mark`` selects the line of the event (-1: none)."""

    EMPTY = "No lines were recorded."

    run: ExecutionState | None = None
    current = -1

    def show(self, run: ExecutionState | None) -> None:
        self.run, self.current = run, -1
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
        return len(self.run.lines) if self.run is not None else 0

    def row_key(self, index: int) -> Hashable:
        return index, index == self.current

    def row(self, index: int, width: int) -> Row:
        assert self.run is not None
        lead = f" {self.symbols.closed if index == self.current else ' '} "
        return live_row(self.run.lines[index], width, self.clock, self.symbols, lead=lead, since=self.run.started)
