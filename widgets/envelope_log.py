"""The stream: executions, envelopes, the Operator log or the device log.

At the end it follows; moving up stops that, and new rows never move the cursor's row.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING

from textual.message import Message
from textual.timer import Timer

from clawperator.engine.filters.grammar import parse_filter
from clawperator.widgets import keys
from clawperator.widgets.following_pane import FollowingPane
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.stream import (
    RowLook,
    execution_row,
    live_row,
    log_row,
    mark_row,
    others_row,
)
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.execution import ExecutionState, Item, Mark
from clawperator.widgets.models.executions import ExecutionLog
from clawperator.widgets.models.item_rows import StreamView
from clawperator.widgets.models.line_ring import LineRing
from clawperator.widgets.models.stream_filter import ages
from clawperator.widgets.models.stream_model import Counts, StreamModel

if TYPE_CHECKING:
    from clawperator.engine.logcat.entry import LogEntry

_SLICE_SECONDS = 0.008
_REST_SECONDS = 0.004
"""A search runs this long per slice, and leaves the event loop free for this long."""

_AGES_SECONDS = 5.0
_SIDEWAYS_CELLS = 20
_FURTHEST = 20_000


class EnvelopeLog(FollowingPane):
    """Mode 2's list, and the stream of mode 1; ``show`` binds it to a log and a ring, ``news`` reports their changes."""

    BINDINGS = keys.binding_list("stream")

    EMPTY = "No messages from the Operator yet."

    class Changed(Message):
        """View, filter, following, pause or search progress changed."""

    @dataclass(eq=False)
    class TreeWanted(Message):
        """Enter on a tree of an execution: ``key`` is its ``TreeMark.key``."""

        key: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.model = StreamModel(lambda: self.clock.now())  # noqa: PLW0108  # the app, and its clock, come later
        self._left_at = 0
        self._skip = 0
        self._searching: Timer | None = None
        self._sought: int | None = None
        self._held: Hashable = None
        """The anchor of the cursor's row: a log line's row moves up when the ring drops lines."""

    def show(self, log: ExecutionLog, lines: LineRing) -> None:
        """Draw from this log and ring."""
        self.model.bind(log, lines)
        self._start_over()

    # -- content

    def news(self) -> None:
        """Take changes unless paused. The caller updates what stands around the pane."""
        if self.model.news():
            self._renewed(self.model.update)

    def _renewed(self, change: Callable[[], object]) -> None:
        """Change the rows and keep the place: the end while following, else the cursor's row."""
        anchor, offset = self._held, self.cursor - self.top
        change()
        self.content_changed(keep_strips=True)
        if self.following:
            self._to_end()
        elif anchor is not None:
            place = self.model.place(anchor)
            place = self.cursor if place is None else place
            self.set_reactive(LinePane.top, max(0, min(place - offset, self.last_top)))
            self.set_reactive(LinePane.cursor, max(0, min(place, self.row_count() - 1)))
        self._hold()

    def watch_cursor(self, old: int, new: int) -> None:
        super().watch_cursor(old, new)
        self._hold()

    def _hold(self) -> None:
        self._held = self.model.anchor(self.cursor)

    def row_count(self) -> int:
        return len(self.model.shown)

    def row(self, index: int, width: int) -> Row:
        model = self.model
        clock = self.clock._replace(now=lambda: model.paused_at) if model.paused_at else self.clock
        look = RowLook(width, clock, self.symbols)
        if not model.view.of_lines:
            return self._item_row(index, look)
        entry = model.entry(index)
        if entry is None:  # dropped by the ring while paused
            return Row(Line(width).add(" this line left the buffer while paused", "faint"))
        return log_row(entry, look, skip=self._skip)

    def _item_row(self, index: int, look: RowLook) -> Row:
        items = self.model.items
        row = items.rows[index]
        if row.line is not None:
            return live_row(row.line, look.width, look.clock, self.symbols)
        if row.others:
            return others_row(row.others, look)
        if isinstance(row.item, Mark):
            return mark_row(row.item, look)
        opened = row.item.number in items.opened if self.model.view is StreamView.EXECUTIONS else None
        wide = look.wide and self.screen.has_class("-wide")
        return execution_row(row.item, look._replace(all_columns=wide), opened=opened)

    def row_key(self, index: int) -> Hashable:
        model = self.model
        if model.view.of_lines:
            return model.view, model.lines.numbers[index], self._skip
        row = model.items.rows[index]
        opened = row.item.number in model.items.opened
        running = isinstance(row.item, ExecutionState) and not row.item.over and not model.paused_at
        age = int(self.clock.now() * 10) if running and row.top else 0
        return model.view, row.anchor, row.item.version, opened, age

    def marks(self) -> Iterable[tuple[int, str]]:
        return self.model.marks()

    def tick(self) -> None:
        """Update ages and age filters; called every second."""
        model = self.model
        if model.paused_at:
            return
        search = model.lines.search
        if ages(model.where):
            if not model.view.of_lines:
                self._renewed(model.update)
            elif search is not None and search.done and self.clock.now() - search.now >= _AGES_SECONDS:
                self._start_over()
        if model.running:
            self.content_changed(keep_strips=True)

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
        self._left_at = self.model.last
        self.post_message(self.Changed())

    @property
    def counts(self) -> Counts:
        return self.model.counts(None if self.following else self._left_at)

    @property
    def item(self) -> Item | LogEntry | None:
        """Return the item under the cursor: execution, mark, or log line."""
        return self.model.item(self.cursor)

    @property
    def execution(self) -> ExecutionState | None:
        """Return the execution of the cursor's row."""
        item = self.item
        return item if isinstance(item, ExecutionState) else None

    def text_of_row(self) -> str:
        """Return the cursor's row as plain text, of a log line the raw text."""
        if self.model.view.of_lines:
            entry = self.model.entry(self.cursor)
            return entry.message if entry is not None else ""
        return self.row(self.cursor, 200).left.plain.strip() if self.row_count() else ""

    # -- view, filter, pause

    def search(self, text: str) -> None:
        """Set the filter."""
        self.model.filter = parse_filter(text)
        self._start_over()

    def clear(self) -> None:
        """Clear the filter."""
        if self.model.filter.text or self.model.only:
            self.model.only = ""
            self.search("")

    def _start_over(self) -> None:
        """Apply another view or filter and keep the place in time."""
        self._sought = None if self.following or not self.model.view.of_lines else self.model.line_near(self.cursor)
        self._strips.clear()
        self.model.apply()
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
        if not self.model.view.of_lines:
            return
        more = False

        def work() -> None:
            nonlocal more
            until = perf_counter() + _SLICE_SECONDS
            while (more := self.model.lines.work()) and perf_counter() < until:
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
        """Put the cursor on the row nearest to a log line, in the middle of the pane."""
        place = self.model.place_near(number)
        self.top = max(0, min(place - self.view_height // 2, self.last_top))
        LinePane.move_to(self, place)

    def set_view(self, view: StreamView) -> None:
        """Show another view at the same place in time."""
        self._show_view(view, None if self.following else self.model.line_near(self.cursor))

    def _show_view(self, view: StreamView, line: int | None) -> None:
        self.model.view, self._held = view, None
        self._start_over()
        if line is not None:
            self._sought = line if view.of_lines else None
            self._go_to_line(line)

    # -- keys

    def action_choose(self) -> None:
        row = None if self.model.view.of_lines or not self.row_count() else self.model.items.rows[self.cursor]
        if row is not None and row.line is not None and row.line.tree:
            self.post_message(self.TreeWanted(row.line.tree))
        elif row is not None and row.others and isinstance(row.item, ExecutionState):
            self._set_following(False)
            self._show_view(StreamView.LOG, row.item.log.first)
        else:
            super().action_choose()

    def action_unfold(self) -> None:
        execution = self.execution
        self._set_open(execution is not None and execution.number not in self.model.items.opened)

    def action_sideways(self, step: int) -> None:
        """Scroll long lines; expand or collapse an execution."""
        if self.model.view.of_lines:
            self._skip = max(0, min(_FURTHEST, self._skip + step * _SIDEWAYS_CELLS))
            self.refresh()
        else:
            self._set_open(step > 0)

    def _set_open(self, opened: bool) -> None:
        execution, items = self.execution, self.model.items
        if execution is None or self.model.view is not StreamView.EXECUTIONS:
            return
        (items.opened.add if opened else items.opened.discard)(execution.number)
        self.model.update()
        self.content_changed(keep_strips=True)
        place = items.place_of(execution) or 0
        self.move_to(place)
        if opened:
            self.reveal(min(place + len(execution.lines), place + max(0, self.view_height - 1)))
        self._set_following(self.cursor == self.row_count() - 1)
        self.post_message(self.Changed())

    def action_follow(self) -> None:
        """Toggle following; a paused view resumes."""
        self._set_following(bool(self.model.paused_at) or not self.following)
        if self.following:
            self.model.resume()
            self.news()
            self._to_end()
            self.refresh()
        self.post_message(self.Changed())

    def action_pause(self) -> None:
        if self.model.paused_at:
            self.model.resume()
            self.news()
        else:
            self.model.pause()
        self.post_message(self.Changed())

    def action_view(self) -> None:
        self.set_view(self.model.view.next)

    def action_only(self) -> None:
        """Show only the command of this row, or all again."""
        self.model.only = "" if self.model.only else self.model.command(self.cursor)
        self._start_over()

    def action_problem(self, step: int) -> None:
        if not self.model.view.of_lines:
            self.to_problem(step)
        elif (place := self.model.problem_line(self.cursor, step)) is not None:
            self.move_to(place)

    def to_execution(self, command_id: str, number: int = 0) -> bool:
        """Put the cursor on this run of a command, else on the newest one; return whether it has a row in this view."""
        log = self.model.log
        found = (item for item in log.executions if (item.command_id, item.number) == (command_id, number))
        execution = None if self.model.view.of_lines else next(found, None) or log.find(command_id)
        place = None if execution is None else self.model.items.place_of(execution)
        if place is not None:
            self.move_to(place)
        return place is not None
