"""Base of every list, tree and log: rows of one line each, painted when visible.

It scrolls by itself (``top`` is the first visible row) instead of growing a virtual size, which would lay out the whole
screen: a log with ten new rows a second must cost ten painted rows. Strips are cached until content, width or theme
change.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.cache import LRUCache
from textual.geometry import Offset, Region, Size
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.roles import CURSOR, CURSOR_BLURRED
from clawperator.widgets.line_widget import LineWidget
from clawperator.widgets.text.safe import cells, wrap

SETTLE_SECONDS = 0.06
"""Dependent panes follow a cursor this long after its last move: holding ``j`` must not repaint five panes."""

_STRIPS_KEPT = 160
"""Painted rows that are kept: what is visible, and a page more. With what Textual keeps of each, a row costs some kilobytes."""
_WHEEL_ROWS = 3
_RIGHT_BUTTON = 3


class LinePane(LineWidget, can_focus=True):
    """A scrolling list of rows with a cursor.

    Subclasses implement ``row_count``, ``row`` and, where single rows change, ``row_key``, and call
    ``content_changed``. The pane posts ``RowChosen`` for enter or double click and ``CursorMoved`` for every move.
    """

    DEFAULT_CSS = """
    LinePane {
        height: 1fr;
        width: 1fr;
    }
    """

    BINDINGS = keys.binding_list("pane")

    cursor: reactive[int] = reactive(0, repaint=False, init=False)
    top: reactive[int] = reactive(0, repaint=False, init=False)

    EMPTY = "Nothing to show."
    SHOWS_CURSOR = True
    HEAD_ROWS: ClassVar[int] = 0
    """Fixed rows at the top."""

    @dataclass(eq=False)
    class CursorMoved(Message):
        """The cursor of ``pane`` moved."""

        pane: LinePane
        index: int

        @property
        def control(self) -> LinePane:
            return self.pane

    @dataclass(eq=False)
    class Failed(Message):
        """A row of ``pane`` could not be drawn; ``error`` is a bug."""

        pane: LinePane
        error: Exception

    class MenuWanted(Message):
        """A right click: open the menu of the row under the cursor."""

    @dataclass(eq=False)
    class RowChosen(Message):
        """Enter or a double click on row ``index`` of ``pane``."""

        pane: LinePane
        index: int

        @property
        def control(self) -> LinePane:
            return self.pane

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id, classes=classes)
        self._strips: LRUCache[Hashable, Strip] = LRUCache(_STRIPS_KEPT)
        self._empty_text = self.EMPTY
        self._laid_out: int | str = 0
        """The number of rows that the height is for; for an empty pane, its text."""
        self._bar_marks: tuple[int, int, dict[int, str]] | None = None

    # -- for subclasses

    def row_count(self) -> int:
        return 0

    def row(self, index: int, width: int) -> Row:
        raise NotImplementedError

    def row_key(self, index: int) -> Hashable:
        """Return a key of the row's drawing: rows with an equal key are painted once."""
        return index

    def marks(self) -> Iterable[tuple[int, str]]:
        """Return rows with a scrollbar mark and its role; of several on one line the first counts. Called after
        ``content_changed`` or ``marks_changed``, not for each line.
        """
        return ()

    @property
    def empty_text(self) -> str:
        """What an empty pane says; ``EMPTY`` at first. A change is painted."""
        return self._empty_text

    @empty_text.setter
    def empty_text(self, words: str) -> None:
        if words != self._empty_text:
            self._empty_text = words
            if not self.row_count():
                self.content_changed()

    def empty_words(self) -> str:
        """Return the text of an empty pane."""
        return self.empty_text

    def empty_rows(self, width: int) -> list[Row]:
        """Return the rows of an empty pane: its text, folded and centred."""
        texts = [text for line in self.empty_words().splitlines() for text in wrap(line, max(10, width - 2))]
        return [Row(Line(width).add(" " * max(1, (width - cells(text)) // 2)).add(text, "muted")) for text in texts]

    def head(self, y: int, width: int) -> Row:
        """Return one of the ``HEAD_ROWS``."""
        raise NotImplementedError

    def empty_clicked(self, row: int) -> None:
        """Handle a click on a row of the text of an empty pane."""

    def head_clicked(self, x: int) -> None:
        """Handle a click into the head."""

    # -- geometry

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002  # Textual's three
        """Return the rows' height for ``height: auto``; ``max-height`` limits it."""
        return self.HEAD_ROWS + (self.row_count() or len(self.empty_rows(width)))

    @property
    def view_height(self) -> int:
        """Return the number of lines below the head."""
        return max(0, self.content_size.height - self.HEAD_ROWS)

    @property
    def body_width(self) -> int:
        """Return the cells of a row, without the scrollbar."""
        return max(0, self.content_size.width - (1 if self.overflows else 0))

    @property
    def overflows(self) -> bool:
        return self.row_count() > self.view_height

    @property
    def last_top(self) -> int:
        return max(0, self.row_count() - self.view_height)

    # -- painting

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()

    def content_changed(self, *, keep_strips: bool = False) -> None:
        """Repaint and keep the cursor within the rows. ``keep_strips``: ``row_key`` tells old rows from new."""
        if not keep_strips:
            self._strips.clear()
        self._bar_marks = None
        count = self.row_count()
        self.set_reactive(LinePane.cursor, max(0, min(self.cursor, count - 1)))
        self.set_reactive(LinePane.top, max(0, min(self.top, self.last_top)))
        content = count or self.empty_words()
        changed, self._laid_out = content != self._laid_out, content
        self.refresh(layout=changed and self.styles.is_auto_height)

    def render_line(self, y: int) -> Strip:
        width, height = self.content_size.width, self.view_height
        if y < self.HEAD_ROWS:
            return self.paint(self.head(y, width), width)
        y -= self.HEAD_ROWS
        count = self.row_count()
        if not count:
            return self.paint(self._empty_row(y, width), width)
        index = self.top + y
        bar = count > height
        strip = self._safe_row(index, width - bar) if index < count else Strip.blank(width - bar, self.base_style)
        return Strip.join((strip, self._scrollbar(y, height, count))) if bar else strip

    def _empty_row(self, y: int, width: int) -> Row:
        rows = self.empty_rows(width)
        first = self._first_empty_row(len(rows))
        return rows[y - first] if first <= y < first + len(rows) else Row(Line(width))

    def _first_empty_row(self, count: int) -> int:
        return max(0, (self.view_height - count) // 3)

    def _safe_row(self, index: int, width: int) -> Strip:
        """Return a row; one that cannot be drawn shows an error instead of ending the console."""
        try:
            return self._row_strip(index, width)
        except Exception as error:  # noqa: BLE001 -- reported to the owner of the pane
            self.app.post_message(self.Failed(self, error))  # posted from here it would not pass the screen
            return self.paint(Row(Line(width).add(" this row could not be drawn – press ! for details", "fail")), width)

    def _row_strip(self, index: int, width: int) -> Strip:
        over = self._cursor_style() if index == self.cursor and self.SHOWS_CURSOR else None
        key = (self.row_key(index), width, over is not None, self.looks_focused, self.symbols.ascii)
        strip = self._strips.get(key)
        if strip is None:
            strip = self.paint(self.row(index, width), width, over=over)
            if over is not None and width:
                strip = self._with_cursor_sign(strip, over)
            self._strips[key] = strip
        return strip

    @property
    def looks_focused(self) -> bool:
        """Return whether the cursor is drawn as focused."""
        return self.has_focus

    def _cursor_style(self) -> Style:
        return self.overlay_style(CURSOR if self.looks_focused else CURSOR_BLURRED)

    def _with_cursor_sign(self, strip: Strip, over: Style) -> Strip:
        """Begin the cursor row with a bar, so that it is visible without colour."""
        if not self.looks_focused:
            return strip
        sign = Segment(self.symbols.cursor, self.role_style("accent") + over)
        return Strip.join((Strip([sign], 1), strip.crop(1, strip.cell_length)))

    def _scrollbar(self, y: int, height: int, count: int) -> Strip:
        start = self.top * height // count
        length = max(1, height * height // count)
        role = self._marks_by_line(height, count).get(y, "")
        thumb = start <= y < start + length
        sign = self.symbols.thumb if thumb or role else self.symbols.track
        return Strip([Segment(sign, self.role_style(role or ("muted" if thumb else "guide")))], 1)

    def _marks_by_line(self, height: int, count: int) -> dict[int, str]:
        """Return ``marks`` by scrollbar line, cached while content and size stay."""
        if self._bar_marks is None or self._bar_marks[:2] != (height, count):
            lines: dict[int, str] = {}
            for row, role in self.marks():
                lines.setdefault(row * height // count, role)
            self._bar_marks = height, count, lines
        return self._bar_marks[2]

    def marks_changed(self) -> None:
        """Repaint after a change of the marks only."""
        self._strips.clear()
        self._bar_marks = None
        self.refresh()

    def refresh_row(self, index: int) -> None:
        """Repaint one row if it is visible."""
        y = index - self.top
        if 0 <= y < self.view_height:
            self.refresh(Region(0, y + self.HEAD_ROWS, self.content_size.width, 1))

    # -- moving

    def watch_cursor(self, old: int, new: int) -> None:
        self.refresh_row(old)
        self.refresh_row(new)
        self.reveal(new)
        self._place_terminal_cursor()
        self.post_message(self.CursorMoved(self, new))

    def watch_top(self, old: int, new: int) -> None:
        if old != new:
            self.refresh()

    def reveal(self, index: int) -> None:
        """Scroll as little as needed to show row ``index``."""
        height = max(1, self.view_height)
        if index < self.top:
            self.top = index
        elif index >= self.top + height:
            self.top = index - height + 1

    def move_to(self, index: int) -> None:
        """Put the cursor on row ``index``, clamped."""
        self.cursor = max(0, min(index, self.row_count() - 1))

    def to_problem(self, step: int) -> None:
        """Move to the next (1) or the previous (-1) row with a mark on the scrollbar; wraps around."""
        places = [index for index, _ in self.marks()]
        if places:
            ahead = [place for place in places if (place - self.cursor) * step > 0]
            self.move_to((ahead or places)[0 if step > 0 else -1])

    def scroll_rows(self, rows: int) -> None:
        self.top = max(0, min(self.top + rows, self.last_top))

    def _place_terminal_cursor(self) -> None:
        """Move the terminal's cursor to the row, for screen readers and input methods."""
        if self.has_focus:
            self.app.cursor_position = self.content_region.offset + Offset(0, self.HEAD_ROWS + self.cursor - self.top)

    def action_move(self, rows: int) -> None:
        self.move_to(self.cursor + rows)

    def action_page(self, pages: float) -> None:
        self.move_to(self.cursor + round(pages * max(1, self.view_height - 1)))

    def action_top(self) -> None:
        self.move_to(0)

    def action_bottom(self) -> None:
        self.move_to(self.row_count() - 1)

    def action_choose(self) -> None:
        if self.row_count():
            self.post_message(self.RowChosen(self, self.cursor))

    # -- events

    def on_focus(self) -> None:
        self.refresh_row(self.cursor)
        self._place_terminal_cursor()

    def on_blur(self) -> None:
        self.refresh_row(self.cursor)

    def on_resize(self) -> None:
        """Scroll again: the new size is painted already."""
        self.top = max(0, min(self.top, self.last_top))
        self.reveal(self.cursor)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        event.stop()
        y = offset.y - self.HEAD_ROWS
        if y < 0:
            self.head_clicked(offset.x)
            return
        if self.overflows and offset.x == self.content_size.width - 1:
            self.top = min(self.last_top, y * self.row_count() // max(1, self.view_height))
            return
        index = self.top + y
        if index >= self.row_count():
            if not self.row_count():
                self.empty_clicked(y - self._first_empty_row(len(self.empty_rows(self.content_size.width))))
            return
        if event.button == _RIGHT_BUTTON:
            self.move_to(index)
            self.post_message(self.MenuWanted())
        else:
            self.clicked(index, offset.x, twice=event.chain > 1)

    def clicked(self, index: int, _x: int, *, twice: bool) -> None:
        """Select row ``index``; a double click opens it."""
        self.move_to(index)
        if twice:
            self.action_choose()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(_WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-_WHEEL_ROWS)
