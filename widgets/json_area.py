"""The editor of an execution's JSON: Textual's TextArea with coloured tokens and its first problem underlined.

Only escape, tab, enter and ctrl keys are commands; tab moves the focus.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import TextArea

from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.roles import ROLES
from clawperator.widgets.line_widget import LineWidget
from clawperator.widgets.text.json_text import TextMark, editable, formatted, roles
from clawperator.widgets.text.safe import cells

REST_SECONDS = 0.15
"""The text is parsed this long after the last key."""
_INDENT = 2
_LONGEST_COLOURED = 2_000
_LEAST_WORDS = 16


class JsonArea(LineWidget, TextArea, can_focus=True, inherit_bindings=False):
    """``changed`` is called with the text ``REST_SECONDS`` after the last change, or at once by ``settle``.

    ``leave`` handles escape, ``onward`` tab (1) and shift+tab (-1): directly, so that the next key of a burst reaches the
    right pane.
    """

    BINDINGS = keys.binding_list("editor")
    COMPONENT_CLASSES: ClassVar[set[str]] = TextArea.COMPONENT_CLASSES
    DEFAULT_CSS = """
    JsonArea {
        width: 1fr;
        height: 1fr;
        overflow: auto auto;
        scrollbar-size: 1 1;
        scrollbar-color: $frame;
        scrollbar-color-hover: $text-quiet;
        scrollbar-color-active: $frame-focus;
        scrollbar-background: $background;
        scrollbar-background-hover: $background;
        scrollbar-background-active: $background;
        scrollbar-corner-color: $background;
        pointer: text;

        & > .text-area--cursor { text-style: reverse; }
        & > .text-area--gutter { color: $text-faint; }
        & > .text-area--cursor-gutter { color: $text-quiet; background: $cursor-blurred-background; }
        & > .text-area--cursor-line { background: $cursor-blurred-background; }
        & > .text-area--selection { text-style: reverse; }
        & > .text-area--matching-bracket { text-style: bold underline; }
    }
    """

    @dataclass(eq=False)
    class CopyWanted(Message):
        """Copy the selected text."""

        text: str

    class CursorMoved(Message):
        """The cursor moved."""

    def __init__(
        self,
        changed: Callable[[str], object],
        *,
        leave: Callable[[], object],
        onward: Callable[[int], object],
        id: str,  # noqa: A002  # Textual's own name
    ) -> None:
        super().__init__(id=id)
        self.set_reactive(TextArea.soft_wrap, False)
        self.set_reactive(TextArea.show_line_numbers, True)
        self.set_reactive(TextArea.cursor_blink, False)
        self.set_reactive(TextArea.indent_width, _INDENT)
        self._changed = changed
        self._leave = leave
        self._onward = onward
        self._mark: TextMark | None = None
        self._mark_row = -1
        self._rest: Timer | None = None
        self._loading = False

    # -- content

    def show(self, text: str) -> None:
        """Replace the text and keep the cursor as near as possible; the same text changes nothing."""
        text = editable(text)
        if text != self.text:
            self._loading = True
            location = self.cursor_location
            self.load_text(text)
            self.mark(None)
            self.move_cursor(location)
            self._loading = False

    @property
    def restless(self) -> bool:
        """Return whether ``changed`` is still due."""
        return self._rest is not None

    def settle(self) -> None:
        """Call ``changed`` now if it is due."""
        if self._rest is not None:
            self._rest.stop()
            self._rest = None
            self._changed(self.text)

    def mark(self, mark: TextMark | None) -> None:
        """Underline this span until the text changes; of one over several lines the first line."""
        if mark != self._mark:
            self._mark = mark
            self._mark_row = self.location_of(mark.start)[0] if mark is not None else -1
            self._line_cache.clear()
            self.refresh()

    # -- places

    def index_of(self, location: tuple[int, int]) -> int:
        row, column = location
        return sum(len(line) + 1 for line in self.document.lines[:row]) + column

    def location_of(self, offset: int) -> tuple[int, int]:
        starts = [0, *accumulate(len(line) + 1 for line in self.document.lines)]
        row = min(bisect_right(starts, offset), self.document.line_count) - 1
        return row, min(offset - starts[row], len(self.document.get_line(row)))

    def to_index(self, offset: int) -> None:
        self.move_cursor(self.location_of(offset), center=True)

    # -- editing

    def update_suggestion(self) -> None:
        """Textual's hook after every change, undo and redo included."""
        if self._loading or not self.is_attached:
            return
        self.mark(None)
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(REST_SECONDS, self.settle)

    def on_key(self, event: events.Key) -> None:
        """Handle commands before TextArea; ignore keys of a burst that arrive after the focus left."""
        if self.screen.focused is not self:
            event.prevent_default()
            return
        match event.key:
            case "escape":
                self.action_leave()
            case "tab" | "shift+tab":
                self._onward(1 if event.key == "tab" else -1)
            case "enter":
                self.action_newline()
            case _:
                return
        event.stop()
        event.prevent_default()

    def _line_indent(self) -> str:
        """Return the blanks before the cursor's line, up to the cursor."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        return line[: len(line) - len(line.lstrip(" "))][:column]

    def action_newline(self) -> None:
        """Break the line, with the same indentation."""
        self.replace(f"\n{self._line_indent()}", *self.selection, maintain_selection_offset=False)

    def on_paste(self, event: events.Paste) -> None:
        """As TextArea, with the text made readable."""
        event.text = formatted(event.text, self._line_indent())

    def action_leave(self) -> None:
        self._leave()

    def action_copy(self) -> None:
        if self.selected_text:
            self.post_message(self.CopyWanted(self.selected_text))

    def action_cut(self) -> None:
        if self.selected_text:
            self.action_copy()
            self.delete(*self.selection)

    # -- painting

    def get_line(self, line_index: int) -> Text:
        text = super().get_line(line_index)
        if len(text.plain) <= _LONGEST_COLOURED:
            for start, end, role in roles(text.plain):
                text.stylize(self.overlay_style(ROLES[role]), start, end)
        if (mark := self._mark) is not None and line_index == self._mark_row:
            start = self.location_of(mark.start)[1]
            end = start + max(1, mark.end - mark.start)
            text.stylize(self.overlay_style(ROLES[mark.role]) + Style(underline=True), start, end)
        return text

    def render_line(self, y: int) -> Strip:
        strip, row = super().render_line(y), y + self.scroll_offset.y
        return self._with_words(strip, row, self._mark) if self._mark is not None and row == self._mark_row else strip

    def _with_words(self, strip: Strip, row: int, mark: TextMark) -> Strip:
        """Add a sign beside the line number and, where there is room, the message."""
        sign = ("x" if mark.role == "fail" else "!") if self.symbols.ascii else "✗" if mark.role == "fail" else "!"
        gutter = self.gutter_width
        strip = laid_over(strip, gutter - 2, Strip([Segment(sign, self.role_style(mark.role))], 1))
        x = gutter + cells(self.document.get_line(row)) + 2 - self.scroll_offset.x
        room = self.scrollable_content_region.width - x
        if x <= gutter or room < _LEAST_WORDS:
            return strip
        line = Line(room - 1).device(mark.words, mark.role)
        return laid_over(strip, x, self.paint(Row(line), line.cells))

    # -- events

    def watch_selection(self) -> None:
        if self.is_attached:
            self.post_message(self.CursorMoved())

    def on_blur(self) -> None:
        self.settle()


def laid_over(strip: Strip, x: int, over: Strip) -> Strip:
    """Return ``strip`` with ``over`` from cell ``x`` on."""
    x = max(0, x)
    parts = [strip.crop(0, x), over]
    if strip.cell_length > x + over.cell_length:
        parts.append(strip.crop(x + over.cell_length, strip.cell_length))
    return Strip.join(parts)
