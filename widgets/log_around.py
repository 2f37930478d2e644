"""The log around the stream's cursor: its own lines, and twenty before and after."""

from __future__ import annotations

from collections.abc import Hashable

from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.stream import RowLook, When, log_row
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.execution import NO_LINES, LineSpan
from clawperator.widgets.models.line_ring import LineRing

AROUND = 20
"""Lines before the first and after the last."""


class LogAround(LinePane):
    """The lines of a span; the others are faint."""

    EMPTY = "No log lines for this row."

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self._ring = LineRing(1)
        self._span = NO_LINES
        self._shown = range(0)

    def show(self, ring: LineRing, span: LineSpan) -> None:
        """Show the kept lines around ``span``; the same span keeps the place."""
        shown = range(0)
        if span and span.last >= ring.first:
            shown = range(max(ring.first, span.first - AROUND), min(ring.end, span.last + AROUND + 1))
        if (ring, span, shown) == (self._ring, self._span, self._shown):
            return
        other = span.first != self._span.first
        self._ring, self._span, self._shown = ring, span, shown
        self.content_changed(keep_strips=True)
        if other and shown:
            self.move_to(max(0, span.first - shown.start))
            self.top = max(0, min(span.first - shown.start - self.view_height // 3, self.last_top))

    def row_count(self) -> int:
        return len(self._shown)

    def row(self, index: int, width: int) -> Row:
        number = self._shown[index]
        if number < self._ring.first:
            return Row(Line(width).add(" this line is no longer in the buffer", "faint"))
        entry = self._ring[number]
        row = log_row(entry, When(entry.time), RowLook(width, self.clock, self.symbols))
        return row if self._span.first <= number <= self._span.last else row._replace(tone="faint")

    def row_key(self, index: int) -> Hashable:
        number = self._shown[index]
        return number, self._span.first <= number <= self._span.last
