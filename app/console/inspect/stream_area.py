"""The stream in mode 1: a pane, and on small screens one line with the newest execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on

from clawperator.widgets.envelope_log import EnvelopeLog
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.stream import RowLook, execution_row
from clawperator.widgets.info_line import InfoLine
from clawperator.widgets.models.status import Status
from clawperator.widgets.pane import Pane

if TYPE_CHECKING:
    from clawperator.app.console.session import Session


class StreamArea(Pane):
    """The stream, with its counts at the edge."""

    def __init__(self) -> None:
        self.stream = EnvelopeLog(id="stream")
        super().__init__("stream", self.stream, id="stream-pane")

    def draw(self) -> None:
        """Show what arrived."""
        self.stream.news()
        self._draw_note()

    def draw_ages(self) -> None:
        self.stream.tick()
        self._draw_note()

    @on(EnvelopeLog.Changed)
    def _draw_note(self) -> None:
        """Show ``executions · 12 of 40 · FOLLOW``."""
        stream, model, dot, counts = self.stream, self.stream.model, self.symbols.dot, self.stream.counts
        line = Line().add(f"{model.view.value} {dot} {counts.shown:,} shown")
        if counts.total > counts.shown and not model.paused_at:
            line.add(f", {counts.total - counts.shown:,} hidden")
        if model.paused_at:
            line.add(f" {dot} PAUSED, {counts.behind:,} behind")
        else:
            line.add(f" {dot} FOLLOW" if stream.following else f" {dot} SCROLLED, G follows")
        self.note(line)


class StreamStrip(InfoLine):
    """The newest execution in one line."""

    def draw(self, session: Session) -> None:
        current = session.log.current
        if current is None:
            sign = self.symbols.sign(Status.IDLE)
            self.show(Row(Line(self.width).add(f" {sign} ", "idle").add("no execution yet", "faint")))
        else:
            look = RowLook(self.width, session.clock, self.symbols)
            self.show(execution_row(current, look))
