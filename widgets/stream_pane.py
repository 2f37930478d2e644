"""The stream's content and position: four views of one ring, filter, pause, place in time.

Keys are in ``envelope_log.py``. At the end it follows; moving up stops that, and new rows never move the cursor's row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable
from time import perf_counter
from typing import TYPE_CHECKING

from textual.message import Message
from textual.timer import Timer

from clawperator.engine.filters.grammar import NO_FILTER, Filter, parse_filter
from clawperator.widgets.following_pane import FollowingPane
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.stream import (
    RowLook,
    TimeFormat,
    When,
    execution_row,
    live_row,
    log_row,
    mark_row,
    others_row,
)
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.execution import ExecutionState, Item, Mark
from clawperator.widgets.models.executions import ExecutionLog
from clawperator.widgets.models.item_rows import Counts, ItemRows, StreamRow, StreamView
from clawperator.widgets.models.line_ring import LineRing
from clawperator.widgets.models.line_search import LineRows
from clawperator.widgets.models.status import Status
from clawperator.widgets.models.stream_filter import ages, culprit, with_command

if TYPE_CHECKING:
    from clawperator.engine.logcat.entry import LogEntry

_SLICE_SECONDS = 0.008
_REST_SECONDS = 0.004
"""A search runs this long per slice, and leaves the event loop free for this long."""

_AGES_SECONDS = 5.0


class StreamPane(FollowingPane):
    """The stream; ``show`` binds it to a log and a ring, ``news`` reports their changes."""

    EMPTY = "No messages from the Operator yet."

    class Changed(Message):
        """View, filter, following, pause or search progress changed."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.view = StreamView.EXECUTIONS
        self.filter: Filter = NO_FILTER
        self.only = ""
        """The only command shown, by ``=``."""
        self.paused_at = 0.0
        self.times = TimeFormat.CLOCK
        self.bookmarks: set[tuple[bool, int]] = set()
        """Numbers of lines (true) or items (false)."""
        self._log = ExecutionLog()
        self._ring = LineRing(1)
        self._items = ItemRows(self._log, self._ring)
        self._lines = LineRows(self._ring, NO_FILTER, now=0.0)
        self._taken: Hashable = None
        self._left_at = 0
        self._skip = 0
        self._start = math.nan
        self._searching: Timer | None = None
        self._sought: int | None = None
        self._held: int | None = None
        """Number of the line under the cursor: rows move up when the ring drops lines."""

    def show(self, log: ExecutionLog, lines: LineRing) -> None:
        """Draw from this log and ring."""
        self._log, self._ring = log, lines
        self._items = ItemRows(log, lines)
        self._start_over()

    # -- content

    @property
    def rows(self) -> list[StreamRow]:
        """Return the rows of the execution views."""
        return self._items.rows

    @property
    def where(self) -> Filter:
        """Return the filter, with the only command where set."""
        return with_command(self.filter, self.only) if self.only else self.filter

    def news(self) -> None:
        """Take changes unless paused. The caller updates what stands around the pane."""
        if self.paused_at:
            return
        taken = (self.view, self._ring.end if self.view.of_lines else self._log.generation)
        if taken == self._taken:
            return
        self._taken = taken
        self._renewed(self._lines.update if self.view.of_lines else self._collect)

    def _collect(self) -> None:
        self._items.collect(self.clock.now())

    def _renewed(self, change: Callable[[], object]) -> None:
        """Change the rows and keep the place: the end while following, else the cursor's row."""
        anchor, offset = self._anchor(), self.cursor - self.top
        change()
        self.content_changed(keep_strips=True)
        if self.following:
            self._to_end()
        elif anchor is not None:
            place = self._place(anchor)
            place = self.cursor if place is None else place
            self.set_reactive(LinePane.top, max(0, min(place - offset, self.last_top)))
            self.set_reactive(LinePane.cursor, max(0, min(place, self.row_count() - 1)))
        self._hold()

    def watch_cursor(self, old: int, new: int) -> None:
        super().watch_cursor(old, new)
        self._hold()

    def _hold(self) -> None:
        here = self.view.of_lines and self.cursor < self.row_count()
        self._held = self._lines.numbers[self.cursor] if here else None

    def _anchor(self) -> Hashable:
        """Return a key of the cursor's row."""
        if self.view.of_lines:
            return self._held
        return self.rows[self.cursor].anchor if self.cursor < self.row_count() else None

    def _place(self, anchor: Hashable) -> int | None:
        if isinstance(anchor, int):
            return self._lines.place(anchor)
        return self._items.place(anchor)

    def row_count(self) -> int:
        return len(self._lines) if self.view.of_lines else len(self._items)

    def row(self, index: int, width: int) -> Row:
        clock = self.clock._replace(now=lambda: self.paused_at) if self.paused_at else self.clock
        look = RowLook(width, clock, self.symbols, bool(self.bookmarks) and self._bookmark(index) in self.bookmarks)
        return self._line_row(index, look) if self.view.of_lines else self._item_row(index, look)

    def _line_row(self, index: int, look: RowLook) -> Row:
        try:
            entry = self._ring[self._lines.numbers[index]]
        except IndexError:  # dropped by the ring while paused
            return Row(Line(look.width).add(" this line left the buffer while paused", "faint"))
        return log_row(entry, self._when(index, entry.time), look, skip=self._skip)

    def _item_row(self, index: int, look: RowLook) -> Row:
        row = self.rows[index]
        when = self._when(index, row.at)
        if row.line is not None:
            return live_row(row.line, look.width, look.clock, self.symbols, when=when)
        if row.others:
            return others_row(row.others, look)
        if isinstance(row.item, Mark):
            return mark_row(row.item, when, look)
        opened = row.item.number in self._items.opened if self.view is StreamView.EXECUTIONS else None
        wide = look.wide and self.screen.has_class("-wide")
        return execution_row(row.item, when, look._replace(all_columns=wide), opened=opened)

    def _when(self, index: int, at: float) -> When:
        if self.times is TimeFormat.CLOCK:
            return When(at)
        if self.times is TimeFormat.DELTA:
            return When(at, self._at(index - 1) if index else at, self.times)
        row = None if self.view.of_lines else self.rows[index]
        started = (
            row.item.started
            if row is not None and not row.top and isinstance(row.item, ExecutionState)
            else self._start
        )
        return When(at, started, self.times)

    def _at(self, index: int) -> float:
        """Return the time of a row; ``nan`` when unknown."""
        if not 0 <= index < self.row_count():
            return math.nan
        if not self.view.of_lines:
            return self.rows[index].at
        try:
            return self._ring[self._lines.numbers[index]].time
        except IndexError:
            return math.nan

    def row_key(self, index: int) -> Hashable:
        marked = bool(self.bookmarks) and self._bookmark(index) in self.bookmarks
        if self.view.of_lines:
            return self.view, self._lines.numbers[index], self.times, self._skip, marked
        row = self.rows[index]
        opened = row.item.number in self._items.opened
        running = isinstance(row.item, ExecutionState) and not row.item.over and not self.paused_at
        age = int(self.clock.now() * 10) if running and row.top else 0
        return self.view, row.anchor, row.item.version, self.times, opened, marked, age

    def _bookmark(self, index: int) -> tuple[bool, int]:
        """Return the bookmark of this row; live lines belong to their execution."""
        if self.view.of_lines:
            return True, self._lines.numbers[index]
        return False, self.rows[index].item.number if self.rows[index].top else -1

    def marks(self) -> Iterable[tuple[int, str]]:
        if self.view.of_lines:
            yield from ((place, "match") for place in self._marked_lines())
            return
        for index, row in enumerate(self.rows):
            if self._bookmark(index) in self.bookmarks:
                yield index, "match"
            elif row.needs_attention:
                failed = isinstance(row.item, ExecutionState) and row.item.status is Status.FAILED
                yield index, "fail" if failed else "warn"

    def _marked_lines(self) -> list[int]:
        numbers = self._lines.numbers
        marked = sorted(number for of_line, number in self.bookmarks if of_line)
        places = ((self._lines.place(number), number) for number in marked)
        return [place for place, number in places if place < len(numbers) and numbers[place] == number]

    def tick(self) -> None:
        """Update ages and age filters; called every second."""
        if self.paused_at:
            return
        if ages(self.where):
            self._renew_ages()
        if not self.view.of_lines and any(
            isinstance(row.item, ExecutionState) and not row.item.over for row in self.rows
        ):
            self.content_changed(keep_strips=True)

    def _renew_ages(self) -> None:
        search = self._lines.search
        if not self.view.of_lines:
            self._renewed(self._collect)
        elif search is not None and search.done and self.clock.now() - search.now >= _AGES_SECONDS:
            self._start_over()

    # -- position

    def on_resize(self) -> None:
        if self.following:
            self.top = self.last_top

    def _to_end(self) -> None:
        self.set_reactive(LinePane.top, self.last_top)
        if self.cursor != self.row_count() - 1:
            self.cursor = max(0, self.row_count() - 1)

    def move_to(self, index: int) -> None:
        self._sought = None
        super().move_to(index)

    def _following_changed(self) -> None:
        self._left_at = self._ring.end if self.view.of_lines else self._log.last_number
        self.post_message(self.Changed())

    @property
    def counts(self) -> Counts:
        if self.view.of_lines:
            lines = self._lines
            fresh = 0 if self.following else len(lines) - lines.place(self._left_at)
            return Counts(len(lines), lines.total, fresh, lines.behind)
        items = self._items
        fresh = 0 if self.following else items.fresh(self._left_at)
        return Counts(items.shown, len(self._log.items), fresh, items.behind)

    @property
    def searched(self) -> float:
        """Return the searched share of the ring, from 0 to 1."""
        search = self._lines.search if self.view.of_lines else None
        return 1.0 if search is None else search.share

    @property
    def culprit(self) -> str:
        """Return the first term that alone hides everything, as typed; empty if there is none or it is not known yet."""
        if self.view.of_lines:
            return self._lines.culprit
        return culprit(self.where, self._log.items, self.clock.now())

    @property
    def execution(self) -> ExecutionState | None:
        """Return the execution of the cursor's row."""
        item = self.rows[self.cursor].item if not self.view.of_lines and self.rows else None
        return item if isinstance(item, ExecutionState) else None

    @property
    def item(self) -> Item | LogEntry | None:
        """Return the item under the cursor: execution, mark, or log line."""
        if self.view.of_lines:
            return self.entry
        return self.rows[self.cursor].item if self.rows else None

    @property
    def entry(self) -> LogEntry | None:
        """Return the log line under the cursor; ``None`` when it has left the ring."""
        number = self.line_number
        return None if number is None else self._ring[number]

    @property
    def line_number(self) -> int | None:
        """Return the number of the log line under the cursor, while it is in the ring."""
        if not self.view.of_lines or self.cursor >= self.row_count():
            return None
        number = self._lines.numbers[self.cursor]
        return number if number >= self._ring.first else None

    @property
    def numbers(self) -> list[int]:
        return list(self._lines.numbers) if self.view.of_lines else []

    def text_of_row(self) -> str:
        """Return the cursor's row as plain text, of a log line the raw text."""
        if not self.row_count():
            return ""
        if self.view.of_lines:
            return self.entry.message if self.entry is not None else ""
        return self.row(self.cursor, 200).left.plain.strip()

    # -- view, filter, pause

    def search(self, text: str) -> Filter:
        """Set the filter."""
        self.filter = parse_filter(text)
        self._start_over()
        return self.filter

    def clear(self) -> bool:
        """Clear the filter; return whether there was one."""
        had = bool(self.filter.text or self.only)
        self.only = ""
        if had:
            self.search("")
        return had

    def _start_over(self) -> None:
        """Apply another view or filter and keep the place in time."""
        self._sought = None if self.following or not self.view.of_lines else self._line_here()
        self._strips.clear()
        self._taken, self.paused_at = None, 0.0
        self._items.resume()
        self._items.sift(self.where)
        operator = self.view is StreamView.OPERATOR
        self._lines = LineRows(self._ring, self.where, operator=operator, now=self.clock.now())
        self._search_on()
        self.news()
        self.set_reactive(LinePane.cursor, max(0, min(self.cursor, self.row_count() - 1)))
        self.reveal(self.cursor)
        self.refresh()
        self.post_message(self.Changed())

    def _search_on(self) -> None:
        """Search for one slice; a timer continues."""
        if self._searching is not None:
            self._searching.stop()
            self._searching = None
        if not self.view.of_lines:
            return
        more = False

        def work() -> None:
            nonlocal more
            until = perf_counter() + _SLICE_SECONDS
            while (more := self._lines.work()) and perf_counter() < until:
                pass

        self._renewed(work)
        if self._sought is not None:
            self._go_to_line(self._sought)
        if more:
            self._searching = self.set_timer(_REST_SECONDS, self._search_on)
        else:
            self._sought = None
        self.post_message(self.Changed())

    def _go_to_line(self, number: int) -> None:
        """Put the cursor on a line, or on the next one shown, in the middle of the pane."""
        place = min(self._lines.place(number), max(0, self.row_count() - 1))
        self.top = max(0, min(place - self.view_height // 2, self.last_top))
        LinePane.move_to(self, place)

    def set_view(self, view: StreamView) -> None:
        """Show another view at the same place in time."""
        self._show_view(view, None if self.following else self._line_here())

    def _line_here(self) -> int:
        """Return the number of the log line nearest to the cursor's row."""
        if self.cursor >= self.row_count():
            return self._ring.end
        return self._lines.numbers[self.cursor] if self.view.of_lines else self.rows[self.cursor].item.at_line

    def _show_view(self, view: StreamView, line: int | None) -> None:
        self.view = view
        self._items.envelopes = view is StreamView.ENVELOPES
        self._start_over()
        if line is not None and view.of_lines:
            self._sought = line
            self._go_to_line(line)
        elif line is not None:
            place = self._items.place_at_line(line)
            self.top = max(0, min(place - self.view_height // 2, self.last_top))
            LinePane.move_to(self, place)

    def _go_on(self) -> None:
        if self.paused_at:
            self.paused_at, self._taken = 0.0, None
            self._lines.resume()
            self._items.resume()
            self.news()
