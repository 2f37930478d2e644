"""The events of a finished run on a bar of its steps, with a playhead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import events
from textual.message import Message
from textual.strip import Strip

from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.moments import bar_line, columns, moment_row, ticks_line
from clawperator.widgets.line_widget import LineWidget
from clawperator.widgets.models.run_replay import Moment, moments

if TYPE_CHECKING:
    from clawperator.widgets.models.execution import ExecutionState


class Scrubber(LineWidget):
    """The timeline of a run; posts ``Moved`` when the playhead moves."""

    DEFAULT_CSS = """
    Scrubber {
        height: 3;
        width: 1fr;
    }
    """

    @dataclass(eq=False)
    class Moved(Message):
        """The playhead is on another event or run (``None``: no run)."""

        moment: Moment | None

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.run: ExecutionState | None = None
        self.moments: Sequence[Moment] = ()
        self.current = 0

    @property
    def moment(self) -> Moment | None:
        """Return the event at the playhead."""
        return self.moments[self.current] if self.moments else None

    def show(self, run: ExecutionState | None) -> None:
        """Show a run from its end; the same run keeps the event."""
        same = run is not None and self.run is not None and (run.key, run.started) == (self.run.key, self.run.started)
        keeps = same and self.current < len(self.moments) - 1
        self.run = run
        self.moments = moments(run) if run is not None else ()
        last = max(0, len(self.moments) - 1)
        self.current = min(self.current, last) if keeps else last
        self.refresh()
        self.post_message(self.Moved(self.moment))

    def step(self, count: int) -> bool:
        """Move by ``count`` events; return whether the playhead moved."""
        return self.to(self.current + count)

    def to(self, index: int) -> bool:
        """Move to event ``index``, clamped; return whether the playhead moved."""
        index = max(0, min(index, len(self.moments) - 1))
        if index == self.current or not self.moments:
            return False
        self.current = index
        self.refresh()
        self.post_message(self.Moved(self.moment))
        return True

    def to_line(self, line: int) -> bool:
        """Move to the first event at or after line ``line`` of the run."""
        return self.to(
            next((index for index, moment in enumerate(self.moments) if moment.line >= line), len(self.moments))
        )

    # -- drawing

    @property
    def _room(self) -> int:
        return max(0, self.content_size.width - 2)

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        if self.run is None or not self.moments:
            return self.paint(Row(Line(width).add("" if y else " No run selected.", "muted")), width)
        if y == 0:
            bar = bar_line(self.run, self.moments, self.current, self._room, self.symbols)
            return self.paint(Row(Line(width).add(" ").extend(bar)), width)
        if y == 1:
            ticks = ticks_line(self.moments, self.current, self._room, self.symbols)
            return self.paint(Row(Line(width).add(" ").extend(ticks)), width)
        return self.paint(moment_row(self.run, self.moments, self.current, width, self.symbols), width)

    def on_click(self, event: events.Click) -> None:
        """Move to the nearest event; further clicks on the same place go through several."""
        offset = event.get_content_offset(self)
        if offset is None or offset.y > 1 or not self.moments:
            return
        event.stop()
        places = columns(self.moments, self._room)
        nearest = min(abs(place - (offset.x - 1)) for place in places)
        there = [index for index, place in enumerate(places) if abs(place - (offset.x - 1)) == nearest]
        self.to(next((index for index in there if index > self.current), there[0]))
