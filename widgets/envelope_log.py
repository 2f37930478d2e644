"""The stream: executions as they happen, the envelopes alone, the Operator's own log, or the whole device log.

One pane over one ring; switching the view keeps what was collected. At the end it follows; moving up stops that at once.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from enum import Enum
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.message import Message

from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.status import Status
from clawperator.widgets.format.stream import execution_row, live_row, log_row, mark_row
from clawperator.widgets.format.times import Clock
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.executions import Execution, ExecutionLog, Item, LiveLine, Mark
from clawperator.widgets.models.ring import Ring
from clawperator.widgets.models.stream_filter import NO_FILTER, StreamFilter, parse_filter

if TYPE_CHECKING:
    from textual.binding import BindingType

    from clawperator.engine.logcat.entries import LogEntry


class StreamView(Enum):
    """What the rows are; ``t`` goes round."""

    EXECUTIONS = "executions"
    ENVELOPES = "envelopes"
    OPERATOR = "Operator log"
    LOG = "device log"

    @property
    def next(self) -> StreamView:
        views = tuple(StreamView)
        return views[(views.index(self) + 1) % len(views)]

    @property
    def of_lines(self) -> bool:
        return self in (StreamView.OPERATOR, StreamView.LOG)


class StreamRow(NamedTuple):
    """A row of the execution views: an item, or one live line of it."""

    item: Item
    line: LiveLine | None = None


class Counts(NamedTuple):
    """What the pane shows and what it does not."""

    shown: int
    total: int
    behind: int


class Frozen(NamedTuple):
    """Where a paused view stands: the number of its first line, how many rows it has, and where the source ended."""

    first: int
    rows: int
    end: int


class EnvelopeLog(LinePane):
    """``show`` binds it to a log and a ring; ``news`` says that they changed."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings("stream")]

    EMPTY = "Nothing from the Operator yet."

    class Changed(Message):
        """View, filter, follow or pause changed."""

    def __init__(self, *, id: str | None = None, clock: Clock | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.clock = clock or Clock()
        self.view = StreamView.EXECUTIONS
        self.filter: StreamFilter = NO_FILTER
        self.following = True
        self.paused_at = 0.0
        self.rows: list[StreamRow] = []
        self.lines: list[int] = []
        self._log = ExecutionLog()
        self._ring: Ring[LogEntry] = Ring(1)
        self._operator: Ring[LogEntry] = Ring(1)
        self._open: set[int] = set()
        self._seen = 0
        self._taken: Hashable = None
        self._frozen = Frozen(0, 0, 0)

    def show(self, log: ExecutionLog, lines: Ring[LogEntry], operator: Ring[LogEntry]) -> None:
        """Draw from these from now on. ``lines`` is everything, ``operator`` the Operator's own part of it."""
        self._log, self._ring, self._operator = log, lines, operator
        self._start_over()

    # -- content

    def news(self) -> None:
        """Something came in: take it, unless the view is paused."""
        if self.paused_at:
            self.post_message(self.Changed())
            return
        taken = (self.view, self._source.end if self.view.of_lines else self._log.generation)
        if taken == self._taken:
            return
        self._taken = taken
        row, count = self._anchor(), self.row_count()
        if self.view.of_lines:
            self._collect_lines()
        else:
            self._collect_items()
        self.content_changed(keep_strips=self.view.of_lines)
        if self.following:
            self._to_end()
        elif row is not None:
            self._hold(row)
        if self.row_count() != count:
            self.post_message(self.Changed())

    @property
    def _source(self) -> Ring[LogEntry]:
        return self._operator if self.view is StreamView.OPERATOR else self._ring

    def _collect_items(self) -> None:
        rows: list[StreamRow] = []
        for item in self._log.items:
            if not self._shows(item):
                continue
            rows.append(StreamRow(item))
            if isinstance(item, Execution) and item.number in self._open and self.view is StreamView.EXECUTIONS:
                rows.extend(StreamRow(item, line) for line in item.lines)
        self.rows = rows

    def _shows(self, item: Item) -> bool:
        if self.view is StreamView.ENVELOPES:
            has_envelope = bool(item.raw) if isinstance(item, Execution) else item.kind == "malformed"
            if not has_envelope:
                return False
        return self.filter.keeps(item) if self.filter else True

    def _collect_lines(self) -> None:
        """Without a filter the ring itself is the list; with one, the numbers of the lines that pass."""
        source = self._source
        if not self.filter:
            return
        keeps = self.filter.keeps_entry
        self.lines.extend(number for number, entry in source.numbered(self._seen) if keeps(entry))
        self._seen = source.end
        if self.lines and self.lines[0] < source.first:
            self.lines = [number for number in self.lines if number >= source.first]

    def row_count(self) -> int:
        if not self.view.of_lines:
            return len(self.rows)
        if self.filter:
            return len(self.lines)
        return self._frozen.rows if self.paused_at else len(self._source)

    def _number(self, index: int) -> int:
        if self.filter:
            return self.lines[index]
        return index + (self._frozen.first if self.paused_at else self._source.first)

    def row(self, index: int, width: int) -> Row:
        if self.view.of_lines:
            return self._line_row(index, width)
        item, line = self.rows[index]
        if line is not None:
            return live_row(line, width, self.clock, self.symbols)
        if isinstance(item, Mark):
            return mark_row(item, width, self.clock, self.symbols)
        opened = item.number in self._open if self.view is StreamView.EXECUTIONS else None
        return execution_row(item, width, self.clock, self.symbols, opened=opened)

    def _line_row(self, index: int, width: int) -> Row:
        try:
            return log_row(self._source[self._number(index)], width, self.clock)
        except IndexError:  # paused while the ring went on and dropped it
            return Row(_gone(width))

    def row_key(self, index: int) -> Hashable:
        return (self.view, self._number(index)) if self.view.of_lines else index

    def marks(self) -> Iterable[tuple[int, str]]:
        if self.view.of_lines:
            return ()
        return (
            (index, "fail" if isinstance(row.item, Execution) and row.item.status is Status.FAILED else "warn")
            for index, row in enumerate(self.rows)
            if _needs_attention(row)
        )

    def tick(self) -> None:
        """A second has passed: running executions show their age."""
        if not self.paused_at and any(isinstance(row.item, Execution) and not row.item.over for row in self.rows):
            self.content_changed()

    # -- position

    def _anchor(self) -> Hashable:
        """What the cursor is on, told so that it is found again."""
        if not self.row_count() or self.following:
            return None
        if self.view.of_lines:
            return self._number(self.cursor) if self.cursor < self.row_count() else None
        row = self.rows[self.cursor]
        return row.item.number, id(row.line) if row.line is not None else 0

    def _hold(self, anchor: Hashable) -> None:
        """New rows never move the cursor's row."""
        offset = self.cursor - self.top
        if self.view.of_lines:
            place = self._place_of_line(anchor)
        else:
            place = next(
                (
                    i
                    for i, row in enumerate(self.rows)
                    if (row.item.number, id(row.line) if row.line is not None else 0) == anchor
                ),
                self.cursor,
            )
        self.set_reactive(LinePane.top, max(0, min(place - offset, self.last_top)))
        self.set_reactive(LinePane.cursor, max(0, min(place, self.row_count() - 1)))

    def _place_of_line(self, number: Hashable) -> int:
        assert isinstance(number, int)
        if not self.filter:
            return max(0, number - self._source.first)
        return next((index for index, kept in enumerate(self.lines) if kept >= number), self.cursor)

    def on_resize(self) -> None:
        super().on_resize()
        if self.following:
            self.top = self.last_top

    def _to_end(self) -> None:
        self.set_reactive(LinePane.top, self.last_top)
        if self.cursor != self.row_count() - 1:
            self.cursor = max(0, self.row_count() - 1)

    def move_to(self, index: int) -> None:
        """Moving up stops following; reaching the end resumes it."""
        super().move_to(index)
        self._set_following(self.row_count() > 0 and self.cursor == self.row_count() - 1)

    def scroll_rows(self, rows: int) -> None:
        super().scroll_rows(rows)
        if rows < 0:
            self._set_following(False)

    def _set_following(self, following: bool) -> None:
        if following != self.following:
            self.following = following
            self.post_message(self.Changed())

    @property
    def counts(self) -> Counts:
        total = len(self._source) if self.view.of_lines else len(self._log.items)
        shown = self.row_count() if self.view.of_lines else sum(1 for row in self.rows if row.line is None)
        behind = self._end - self._frozen.end if self.paused_at else 0
        return Counts(shown, total, behind)

    @property
    def _end(self) -> int:
        """How much ever came in."""
        return self._source.end if self.view.of_lines else self._log.forgotten + len(self._log.items)

    @property
    def execution(self) -> Execution | None:
        """The execution that the cursor is on or in."""
        if self.view.of_lines or not self.rows:
            return None
        item = self.rows[self.cursor].item
        return item if isinstance(item, Execution) else None

    @property
    def item(self) -> Item | LogEntry | None:
        """What the cursor is on: an execution, a mark, or a log line."""
        if self.view.of_lines:
            return self.entry
        return self.rows[self.cursor].item if self.rows else None

    @property
    def entry(self) -> LogEntry | None:
        """The log line under the cursor; ``None`` when it has left the ring."""
        try:
            return self._source[self._number(self.cursor)] if self.row_count() else None
        except IndexError:
            return None

    def text_of_row(self) -> str:
        """The cursor's row as plain text, the raw line where it is one."""
        if not self.row_count():
            return ""
        if self.view.of_lines:
            return self.entry.message if self.entry is not None else ""
        return self.row(self.cursor, 200).left.plain.strip()

    # -- actions

    def action_unfold(self) -> None:
        self._set_open(not self._is_open())

    def action_fold(self) -> None:
        self._set_open(False)

    def _is_open(self) -> bool:
        return self.execution is not None and self.execution.number in self._open

    def _set_open(self, opened: bool) -> None:
        execution = self.execution
        if execution is None or self.view is not StreamView.EXECUTIONS:
            return
        (self._open.add if opened else self._open.discard)(execution.number)
        self._collect_items()
        self.content_changed()
        place = next(index for index, row in enumerate(self.rows) if row.item is execution)
        super().move_to(place)
        if opened:
            self.reveal(min(place + len(execution.lines), place + max(0, self.view_height - 1)))
        self.following = self.cursor == self.row_count() - 1
        self.post_message(self.Changed())

    def action_follow(self) -> None:
        self.following = not self.following
        if self.following:
            self.paused_at = 0.0
            self.news()
            self._to_end()
            self.refresh()
        self.post_message(self.Changed())

    def action_pause(self) -> None:
        if self.paused_at:
            self.paused_at = 0.0
            self.news()
        else:
            self._frozen = Frozen(self._source.first, self.row_count(), self._end)
            self.paused_at = self.clock.now()
        self.post_message(self.Changed())

    def action_view(self) -> None:
        self.set_view(self.view.next)

    def set_view(self, view: StreamView) -> None:
        self.view = view
        self.paused_at = 0.0
        self._start_over()

    def search(self, text: str) -> StreamFilter:
        """Filter as typed."""
        self.filter = parse_filter(text)
        self._start_over()
        return self.filter

    def _start_over(self) -> None:
        self._strips.clear()
        self.lines, self._seen, self._taken = [], 0, None
        self.news()
        if not self.following:
            self.set_reactive(LinePane.cursor, max(0, min(self.cursor, self.row_count() - 1)))
            self.reveal(self.cursor)
        self.refresh()
        self.post_message(self.Changed())

    def action_problem(self, step: int) -> None:
        places: Sequence[int] = [index for index, _ in self.marks()]
        if not places:
            return
        if step > 0:
            self.move_to(next((place for place in places if place > self.cursor), places[0]))
        else:
            self.move_to(next((place for place in reversed(places) if place < self.cursor), places[-1]))

    def clear(self) -> bool:
        """Drop the filter; whether there was one."""
        if not self.filter.text:
            return False
        self.search("")
        return True


def _needs_attention(row: StreamRow) -> bool:
    if row.line is not None:
        return False
    if isinstance(row.item, Mark):
        return True
    return row.item.status in (Status.FAILED, Status.WARN) or bool(row.item.duplicates) or row.item.late


def _gone(width: int) -> Line:
    return Line(width).add(" this line left the buffer while the view was paused", "faint")
