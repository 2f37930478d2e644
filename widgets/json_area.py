"""The editor of an execution's JSON: colours, pairs, indentation, completions, and underlined problems.

Textual's TextArea with its own drawing. Only escape, tab, enter and ctrl keys are commands; tab moves the focus.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual import events
from textual.cache import LRUCache
from textual.document._document import EditResult
from textual.document._edit import Edit
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.timer import Timer
from textual.widgets import TextArea

from clawperator.widgets import keys
from clawperator.widgets.completions import Completions
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.roles import CURSOR, ROLES, RoleStyle
from clawperator.widgets.line_widget import LineWidget
from clawperator.widgets.text.json_text import TextMark, by_line, editable, moved, roles
from clawperator.widgets.text.json_typing import INDENT, STEP_OVER, Typed, indent_of, newline, paired, pasted, unpaired
from clawperator.widgets.text.safe import cells
from clawperator.widgets.text.schema_words import Seen, nothing_seen

REST_SECONDS = 0.15
"""The text is parsed this long after the last key."""
_LONGEST_COLOURED = 2_000
_LONGEST_COMPLETED = 200_000
"""Characters; parsing at each key must be fast."""
_LEAST_WORDS = 16
_OF_THE_LIST = frozenset({"enter", "tab", "escape", "up", "down"})
_LIST = RoleStyle(background="bar-background")


class JsonArea(LineWidget, TextArea, can_focus=True, inherit_bindings=False):
    """An editor with completions from the contract and, by ``seen``, the screen.

    ``changed`` is called with the text ``REST_SECONDS`` after the last change, or at once by ``settle``. ``leave``
    handles escape, ``onward`` tab (1) and shift+tab (-1): directly, so that the next key of a burst reaches the right
    pane.
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
        seen: Seen = nothing_seen,
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
        self.completions = Completions(seen)
        self._typing = False
        """Whether the last change was typed, not pasted or inserted."""
        self._offer_due = False
        """Whether the text changed by typing since the last completions."""
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
        self._marks_by_row = by_line(self._marks, self.document.lines)
        self._line_cache.clear()
        self.refresh()

    # -- places

    def index_of(self, location: tuple[int, int]) -> int:
        row, column = location
        return sum(len(line) + 1 for line in self.document.lines[:row]) + column

    def location_of(self, offset: int) -> tuple[int, int]:
        for row, line in enumerate(self.document.lines):
            if offset <= len(line):
                return row, offset
            offset -= len(line) + 1
        return self.document.end

    def to_index(self, offset: int) -> None:
        self.move_cursor(self.location_of(offset), center=True)

    @property
    def _here(self) -> tuple[str, int]:
        """Return the cursor's line and its column."""
        row, column = self.cursor_location
        return self.document.get_line(row), column

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
        self._offer_soon()

    def on_key(self, event: events.Key) -> None:
        """Handle commands before TextArea; ignore keys of a burst that arrive after the focus left.

        The open list handles a key first; in a burst it opens for the key that needs it.
        """
        self._typing = event.is_printable
        if event.key in _OF_THE_LIST:
            self._offer_if_due()
        if self.screen.focused is not self:
            event.prevent_default()
        elif self._command(event.key) or self._paired(event.character or ""):
            event.stop()
            event.prevent_default()

    def _command(self, key: str) -> bool:
        match key:
            case "down" | "up" if self.completions:
                self.completions.move(1 if key == "down" else -1)
                self.refresh()
            case "enter" | "tab" if self.completions:
                self._accept()
            case "escape" if self.completions:
                self._close_list()
            case "left" | "right" | "home" | "end" | "pageup" | "pagedown" if self.completions:
                self._close_list()
                return False
            case "escape":
                self.action_leave()
            case "tab" | "shift+tab":
                self._onward(1 if key == "tab" else -1)
            case "enter":
                self.action_newline()
            case _:
                return False
        return True

    def _paired(self, character: str) -> bool:
        """Pair a bracket or quote, or step over an existing closing one; return whether the key was handled."""
        typed = paired(character, *self._here, self.selected_text)
        if typed is STEP_OVER:
            row, column = self.cursor_location
            self.move_cursor((row, column + 1))
        elif typed is not None:
            self._type(typed)
        return typed is not None

    def _type(self, typed: Typed) -> None:
        """Replace the selection, with the characters around it."""
        start, end = map(self.index_of, sorted(self.selection))
        self._put(typed.text, start - typed.left, end + typed.right, typed.cursor)

    def _put(self, text: str, start: int, end: int, cursor: int | None) -> None:
        """Replace the text between two offsets; the cursor is set at an offset in it, else at its end."""
        self.edit(Edit(text, self.location_of(start), self.location_of(end), False))
        if cursor is not None:
            self.move_cursor(self.location_of(start + cursor))
            self._offer_soon()

    def action_newline(self) -> None:
        self._type(newline(*self._here))

    def action_delete_left(self) -> None:
        """Delete both characters of an empty pair."""
        typed = unpaired(*self._here) if self.selection.is_empty else None
        if typed is not None:
            self._type(typed)
        else:
            super().action_delete_left()

    def on_paste(self, event: events.Paste) -> None:
        """As TextArea, with the text made readable."""
        self._typing = False
        event.text = pasted(event.text, indent_of(self._here[0]))

    def action_leave(self) -> None:
        self._leave()

    def action_copy(self) -> None:
        if self.selected_text:
            self.post_message(self.CopyWanted(self.selected_text))

    def action_cut(self) -> None:
        if self.selected_text:
            self.action_copy()
            self._type(Typed(""))

    # -- completions

    def _offer_soon(self) -> None:
        """Paint the typed text first; completions follow with the next frame."""
        if (self._typing or self.completions) and not self._offer_due:
            self._offer_due = True
            self.call_after_refresh(self._offer_if_due)

    def _offer_if_due(self) -> None:
        if self._offer_due:
            self._offer_due = False
            self._offer(asked=False)

    def _offer(self, *, asked: bool) -> None:
        """Open, update or close the list."""
        self.refresh()
        if len(self.text) > _LONGEST_COMPLETED or not self.selection.is_empty:
            self.completions.close()
        else:
            self.completions.offer(self.text, self.index_of(self.cursor_location), asked=asked)

    def action_complete(self) -> None:
        """Offer completions although nothing was typed yet."""
        self._offer(asked=True)

    def _accept(self) -> None:
        """Insert the selected completion, and offer completions for its first empty place."""
        done = self.completions.accept(self.text)
        self._typing = False
        self._put(done.text, done.start, done.end, done.cursor)
        if done.unfinished:
            self._offer(asked=True)

    def _close_list(self) -> None:
        self.refresh()
        self.completions.close()

    def _list_box(self) -> Region:
        """Return the place of the list; empty while it is closed."""
        place = self.completions.place
        if place is None:
            return Region()
        row, column = self.location_of(place.span.start)
        left = self.gutter_width + cells(self.document.get_line(row)[:column]) - self.scroll_offset.x
        y = self.cursor_location[0] - self.scroll_offset.y
        return self.completions.box(left, y, self.scrollable_content_region.size)

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
        strip, box = self._text_line(y), self._list_box()
        if not box.y <= y < box.bottom:
            return strip
        place = y - box.y
        chosen = self.completions.top + place == self.completions.cursor
        over = self.overlay_style(CURSOR if chosen else _LIST)
        row = self.completions.row(place, box.width, self.symbols)
        return laid_over(strip, box.x, self.paint(row, box.width, over=over))

    def _text_line(self, y: int) -> Strip:
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
        self._close_list()
        self.settle()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Insert a clicked completion; elsewhere close the list."""
        if not self.completions:
            return
        box, spot = self._list_box(), event.get_content_offset(self)
        if spot is not None and box.contains_point(spot):
            event.stop()
            event.prevent_default()
            self.completions.cursor = self.completions.top + spot.y - box.y
            self._accept()
        else:
            self._close_list()


def laid_over(strip: Strip, x: int, over: Strip) -> Strip:
    """Return ``strip`` with ``over`` from cell ``x`` on."""
    x = max(0, x)
    parts = [strip.crop(0, x), over]
    if strip.cell_length > x + over.cell_length:
        parts.append(strip.crop(x + over.cell_length, strip.cell_length))
    return Strip.join(parts)
