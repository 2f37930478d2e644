"""A text area for JSON: colours, automatic pairs and indentation, underlined problems.

Textual's TextArea with its own drawing. Only escape, tab, enter and ctrl keys are commands; tab moves the focus.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.cache import LRUCache
from textual.document._document import EditResult
from textual.document._edit import Edit
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import TextArea

from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.roles import ROLES
from clawperator.widgets.json_typing import INDENT, JsonTyping
from clawperator.widgets.text.json_text import TextMark, editable, moved, roles
from clawperator.widgets.text.safe import cells

REST_SECONDS = 0.15
"""The text is parsed this long after the last key."""
_LONGEST_COLOURED = 2_000
_LEAST_WORDS = 16


class JsonArea(JsonTyping, inherit_bindings=False):
    """A JSON editor.

    ``changed`` is called with the text ``REST_SECONDS`` after the last change, or at once by ``settle``. ``leave``
    handles escape, ``onward`` tab (1) and shift+tab (-1): directly, so that the next key of a burst reaches the right
    pane.
    """

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
        self.set_reactive(TextArea.indent_width, len(INDENT))
        self._changed = changed
        self._leave = leave
        self._onward = onward
        self._marks: Sequence[TextMark] = ()
        self._marks_by_row: dict[int, list[tuple[int, int, TextMark]]] = {}
        self._plain_lines: LRUCache[Hashable, Strip] = LRUCache(1024)
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
            self.mark(())
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

    def mark(self, marks: Sequence[TextMark]) -> None:
        """Underline these spans."""
        if marks != self._marks:
            self._marks = marks
            self._place_marks()

    def _place_marks(self) -> None:
        """Group the marks by line; of a multi-line one only the first line is underlined."""
        self._marks_by_row = {}
        starts = [0, *accumulate(len(line) + 1 for line in self.document.lines)]
        for mark in self._marks:
            row = min(bisect_right(starts, mark.start), len(starts) - 1) - 1
            start = mark.start - starts[row]
            end = max(start + 1, start + mark.end - mark.start)
            self._marks_by_row.setdefault(row, []).append((start, end, mark))
        self._line_cache.clear()
        self.refresh()

    def to_index(self, offset: int) -> None:
        self.move_cursor(self.location_of(offset), center=True)

    # -- editing

    def edit(self, edit: Edit) -> EditResult:
        """Shift the marks after an edit; undo and redo do not come through here."""
        start, end = self.index_of(edit.top), self.index_of(edit.bottom)
        result = super().edit(edit)
        grown = len(edit.text) - (end - start)
        if self._marks:
            self._marks = [moved(mark, start, end, grown) for mark in self._marks]
            self._place_marks()
        return result

    def update_suggestion(self) -> None:
        """Textual's hook after every change, undo and redo included."""
        if self._loading or not self.is_attached:
            return
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(REST_SECONDS, self.settle)
        self.after_change()

    def on_key(self, event: events.Key) -> None:
        """Handle commands before TextArea; ignore keys of a burst that arrive after the focus left."""
        self.typing = event.is_printable
        if self.screen.focused is not self:
            event.prevent_default()
        elif self._command(event.key) or self.paired(event.character or ""):
            event.stop()
            event.prevent_default()

    def _command(self, key: str) -> bool:
        match key:
            case "escape":
                self.action_leave()
            case "tab" | "shift+tab":
                self._onward(1 if key == "tab" else -1)
            case "enter":
                self.action_newline()
            case _:
                return False
        return True

    def action_leave(self) -> None:
        self._leave()

    def action_copy(self) -> None:
        if self.selected_text:
            self.post_message(self.CopyWanted(self.selected_text))

    def action_cut(self) -> None:
        if self.selected_text:
            self.action_copy()
            self.put("")

    # -- painting

    def get_line(self, line_index: int) -> Text:
        text = super().get_line(line_index)
        if len(text.plain) <= _LONGEST_COLOURED:
            for start, end, role in roles(text.plain):
                text.stylize(self._ink(role), start, end)
        for start, end, mark in self._marks_by_row.get(line_index, ()):
            text.stylize(self._ink(mark.role) + Style(underline=True), start, end)
        return text

    def _ink(self, role: str) -> Style:
        return self.overlay_style(ROLES[role])

    def render_line(self, y: int) -> Strip:
        """Cache lines without cursor, selection and bracket: TextArea would draw all of them after each key."""
        row = y + self.scroll_offset.y
        if row >= self.document.line_count or row == self.cursor_location[0] or not self._is_plain(row):
            return self._drawn(y, row)
        words = tuple(mark for *_, mark in self._marks_by_row.get(row, ()))
        size = (self.size, self.virtual_size.width, self.scroll_offset.x, self.gutter_width)
        key = (row, self.document.get_line(row), words, size)
        strip = self._plain_lines.get(key)
        if strip is None:
            strip = self._plain_lines[key] = self._drawn(y, row)
        return strip

    def _is_plain(self, row: int) -> bool:
        bracket = self.matching_bracket_location
        return self.selection.is_empty and (bracket is None or bracket[0] != row)

    def _drawn(self, y: int, row: int) -> Strip:
        strip = super().render_line(y)
        marks = self._marks_by_row.get(row)
        return self._with_words(strip, row, marks[0][2]) if marks else strip

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._plain_lines.clear()

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
