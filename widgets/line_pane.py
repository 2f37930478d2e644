"""The base of every list, tree and log in the console: rows of one line each, painted when they are looked at.

It scrolls by itself (``top`` is the first row on screen) instead of growing a virtual size, because a changed virtual size
lays out the whole screen again: a log that gains ten rows a second must cost ten painted rows, not ten layouts. Only a
changed row is painted; strips are cached until the content, the width or the theme changes.
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
"""Panes that depend on a cursor follow this long after its last move: holding ``j`` must not repaint five panes."""

_WHEEL_ROWS = 3
_RIGHT_BUTTON = 3


class LinePane(LineWidget, can_focus=True):
    """A scrolling list of rows with a cursor.

    Subclasses give ``row_count``, ``row`` and, where rows change one at a time, ``row_key``. After a change of content they
    call ``content_changed``. The pane posts ``RowChosen`` for enter or double click and ``CursorMoved`` for every move.
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

    EMPTY = "Nothing here yet."
    SHOWS_CURSOR = True
    HEAD_ROWS: ClassVar[int] = 0
    """Rows at the top that stay when the others scroll."""

    @dataclass(eq=False)
    class CursorMoved(Message):
        """The cursor of ``pane`` is on another row now."""

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
        """A click with the right button: the row, which has the cursor now, wants its menu."""

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
        self._strips: LRUCache[Hashable, Strip] = LRUCache(1024)
        self.empty_text = self.EMPTY
        self._laid_out = 0
        self._bar_marks: tuple[int, int, dict[int, str]] | None = None

    # -- what subclasses say

    def row_count(self) -> int:
        return 0

    def row(self, index: int, width: int) -> Row:
        raise NotImplementedError

    def row_key(self, index: int) -> Hashable:
        """What identifies the look of a row: rows with an equal key are painted once."""
        return index

    def marks(self) -> Iterable[tuple[int, str]]:
        """Rows worth a mark on the scrollbar, with the role of the mark; of several on one line the first counts.

        Asked after ``content_changed`` or ``marks_changed``, not for each line.
        """
        return ()

    def empty_words(self) -> str:
        """What stands in the pane while there are no rows."""
        return self.empty_text

    def head(self, y: int, width: int) -> Row:
        """One of the ``HEAD_ROWS``."""
        raise NotImplementedError

    def head_clicked(self, x: int) -> None:
        """A click into the head."""

    # -- geometry

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002  # Textual's three
        """Where the styles say ``height: auto``: as high as the rows; ``max-height`` bounds it."""
        return self.HEAD_ROWS + (self.row_count() or len(self._empty_lines(width)))

    @property
    def view_height(self) -> int:
        """Lines for rows: all below the head."""
        return max(0, self.content_size.height - self.HEAD_ROWS)

    @property
    def body_width(self) -> int:
        """Cells for a row: all but the scrollbar's column."""
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
        """Paint again; the cursor is kept within the rows. ``keep_strips`` when ``row_key`` tells old rows from new."""
        if not keep_strips:
            self._strips.clear()
        self._bar_marks = None
        count = self.row_count()
        self.set_reactive(LinePane.cursor, max(0, min(self.cursor, count - 1)))
        self.set_reactive(LinePane.top, max(0, min(self.top, self.last_top)))
        grew, self._laid_out = count != self._laid_out, count
        self.refresh(layout=grew and self.styles.is_auto_height)

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
        lines = self._empty_lines(width)
        first = max(0, (self.view_height - len(lines)) // 3)
        text = lines[y - first] if first <= y < first + len(lines) else ""
        line = Line(width).add(" " * max(1, (width - cells(text)) // 2))
        return Row(line.add(text, "muted"))

    def _empty_lines(self, width: int) -> list[str]:
        """The words of an empty pane, folded where they are too long for it."""
        return [text for line in self.empty_words().splitlines() for text in wrap(line, max(20, width - 2))]

    def _safe_row(self, index: int, width: int) -> Strip:
        """A row that cannot be drawn must not take the console down with it: it says so, and everybody else goes on."""
        try:
            return self._row_strip(index, width)
        except Exception as error:  # noqa: BLE001 -- whatever it is, it is told to whoever holds the pane
            self.app.post_message(self.Failed(self, error))  # from here it would stop at the screen that paints us
            return self.paint(Row(Line(width).add(" this row could not be drawn – ! says more", "fail")), width)

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
        """Whether the cursor is drawn as that of the pane which has the keys."""
        return self.has_focus

    def _cursor_style(self) -> Style:
        return self.overlay_style(CURSOR if self.looks_focused else CURSOR_BLURRED)

    def _with_cursor_sign(self, strip: Strip, over: Style) -> Strip:
        """The cursor row starts with a bar, so that it is found without colour too."""
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
        """``marks`` by line of the scrollbar, kept for as long as content and size stay."""
        if self._bar_marks is None or self._bar_marks[:2] != (height, count):
            lines: dict[int, str] = {}
            for row, role in self.marks():
                lines.setdefault(row * height // count, role)
            self._bar_marks = height, count, lines
        return self._bar_marks[2]

    def marks_changed(self) -> None:
        """Other rows are worth a mark now; the rows themselves are the same ones."""
        self._strips.clear()
        self._bar_marks = None
        self.refresh()

    def refresh_row(self, index: int) -> None:
        """Paint one row again, if it is on screen."""
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
        """Scroll as little as needed to have row ``index`` on screen."""
        height = max(1, self.view_height)
        if index < self.top:
            self.top = index
        elif index >= self.top + height:
            self.top = index - height + 1

    def move_to(self, index: int) -> None:
        """Put the cursor on row ``index`` (kept within the rows)."""
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
        """The terminal's own cursor follows the row, for screen readers and input methods."""
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
        """The new size was painted already: whatever moves by it has to be painted again."""
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
            return
        if event.button == _RIGHT_BUTTON:
            self.move_to(index)
            self.post_message(self.MenuWanted())
        else:
            self.clicked(index, offset.x, twice=event.chain > 1)

    def clicked(self, index: int, _x: int, *, twice: bool) -> None:
        """A click on row ``index``: select it; a second one chooses it."""
        self.move_to(index)
        if twice:
            self.action_choose()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self.scroll_rows(_WHEEL_ROWS)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self.scroll_rows(-_WHEEL_ROWS)
