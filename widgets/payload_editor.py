"""The editor of an execution's JSON: a JSON area with completions from the contract and the screen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual import events
from textual.document._edit import Edit
from textual.strip import Strip

from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row, column
from clawperator.widgets.format.roles import CURSOR, RoleStyle
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.json_area import JsonArea, laid_over
from clawperator.widgets.text.json_place import JsonPlace, place_at
from clawperator.widgets.text.safe import cells
from clawperator.widgets.text.schema_words import SchemaCompletion, Seen, nothing_seen, words_at

ROWS = 8
_WIDEST = 76
_LABEL_CELLS = 30
_KIND_CELLS = 26
_LEAST_MEANING = 12


class Completions:
    """The completions, the selected one, and the position of the list. Empty while closed."""

    def __init__(self) -> None:
        self.words: Sequence[SchemaCompletion] = ()
        self.place: JsonPlace | None = None
        self.cursor = 0
        self.top = 0

    def __bool__(self) -> bool:
        return bool(self.words)

    def open(self, place: JsonPlace, words: Sequence[SchemaCompletion]) -> None:
        """Offer ``words``; the selected word stays selected if it is still offered."""
        label = self.words[self.cursor].label if self.words and self.place is not None else ""
        keep = self.place is not None and self.place.span.start == place.span.start and self.cursor
        self.words, self.place = words, place
        places = (index for index, word in enumerate(words) if word.label == label)
        self.cursor = next(places, 0) if keep else 0
        self._reveal()

    def close(self) -> bool:
        """Close the list; return whether it was open."""
        was_open = bool(self.words)
        self.words, self.place, self.cursor, self.top = (), None, 0, 0
        return was_open

    def move(self, rows: int) -> None:
        self.cursor = (self.cursor + rows) % len(self.words)
        self._reveal()

    def _reveal(self) -> None:
        self.top = max(0, min(self.top, self.cursor, len(self.words) - ROWS), self.cursor - ROWS + 1)

    @property
    def word(self) -> SchemaCompletion:
        return self.words[self.cursor]

    @property
    def height(self) -> int:
        return min(ROWS, len(self.words))

    def width(self, room: int) -> int:
        return min(_WIDEST, room)

    def row(self, y: int, width: int, symbols: Symbols) -> Row:
        """Return line ``y`` of the list: name, type, meaning; on the last one the count of hidden ones."""
        index = self.top + y
        word = self.words[index]
        line = Line(width).add(symbols.cursor if index == self.cursor else symbols.guide, "accent")
        label = min(_LABEL_CELLS, max(len(each.label) for each in self.words), width - 4)
        line.add(" ").add(column(word.label, label), "key" if index == self.cursor else "text").add("  ")
        kind = min(_KIND_CELLS, max(len(each.kind) for each in self.words), max(0, width - line.cells - 2))
        if kind > 0:
            line.add(column(word.kind, kind), "muted").add("  ")
        if width - line.cells >= _LEAST_MEANING:
            line.device(word.meaning, "muted")
        hidden = len(self.words) - self.top - ROWS
        return Row(line, Line().add(f"{hidden} more ", "faint") if hidden > 0 and y == ROWS - 1 else None)


_LONGEST_COMPLETED = 200_000
"""Characters; parsing at each key must be fast."""
_OF_THE_LIST = frozenset({"enter", "tab", "escape", "up", "down"})
_LIST = RoleStyle(background="bar-background")


class PayloadEditor(JsonArea, inherit_bindings=False):
    """``seen`` gives values on screen to complete."""

    BINDINGS = keys.binding_list("editor")

    def __init__(
        self,
        changed: Callable[[str], object],
        *,
        leave: Callable[[], object],
        onward: Callable[[int], object],
        seen: Seen = nothing_seen,
        id: str,  # noqa: A002  # Textual's own name
    ) -> None:
        super().__init__(changed, leave=leave, onward=onward, id=id)
        self.completions = Completions()
        self._seen = seen
        self._due = False
        """Whether the text changed since the last completions."""

    # -- completions

    def after_change(self) -> None:
        """Paint the typed text first; completions follow with the next frame."""
        if (self.typing or self.completions) and not self._due:
            self._due = True
            self.call_after_refresh(self._offer_due)

    def _offer_due(self) -> None:
        if self._due:
            self._due = False
            self._offer()

    def action_complete(self) -> None:
        """Offer completions although nothing was typed yet."""
        if not self._offer(asked=True):
            self.completions.close()
        self.refresh()

    def _offer(self, *, asked: bool = False) -> bool:
        """Open, update or close the list; return whether it is open."""
        self.refresh()
        if len(self.document.text) > _LONGEST_COMPLETED or not self.selection.is_empty:
            self.completions.close()
            return False
        place, document = place_at(self.text, self.index_of(self.cursor_location))
        words = words_at(place, document, self._seen) if asked or not place.lone else []
        whole = len(words) == 1 and words[0].label == place.typed
        if not words or (whole and not asked):
            self.completions.close()
            return False
        self.completions.open(place, words)
        return True

    def on_key(self, event: events.Key) -> None:
        """Let the open list handle the key first; in a burst it opens for the key that needs it."""
        if event.key in _OF_THE_LIST:
            self._offer_due()
        if self.screen.focused is self and self._list_key(event.key):
            event.stop()
            event.prevent_default()

    def _list_key(self, key: str) -> bool:
        """Handle a key of the open list; return whether it was handled."""
        if not self.completions:
            return False
        match key:
            case "down" | "up":
                self.completions.move(1 if key == "down" else -1)
                self.refresh()
            case "enter" | "tab":
                self._accept()
            case "escape":
                self._close_list()
            case "left" | "right" | "home" | "end" | "pageup" | "pagedown":
                self._close_list()
                return False
            case _:
                return False
        return True

    def _close_list(self) -> bool:
        self.refresh()
        return self.completions.close()

    def _accept(self) -> None:
        """Insert the selected completion, and offer completions for its first empty place."""
        word, place = self.completions.word, self.completions.place
        assert place is not None
        self.completions.close()
        start, lead = place.span.start, ""
        if place.comma_before >= 0:
            lead = f",{self.text[place.comma_before : start]}"
            start = place.comma_before
        indent = self.indent_at(self.location_of(place.span.start)[0])
        put, head = (part.replace("\n", f"\n{indent}") for part in (word.text, word.text[: word.cursor]))
        self.typing = False
        self.edit(Edit(lead + put, self.location_of(start), self.location_of(place.span.end), False))
        self.move_cursor(self.location_of(start + len(lead) + len(head)))
        if word.cursor < len(word.text.rstrip(",")):
            self._offer(asked=True)

    # -- painting and mouse

    def render_line(self, y: int) -> Strip:
        strip = super().render_line(y)
        return self._under_list(strip, y) if self.completions else strip

    def _under_list(self, strip: Strip, y: int) -> Strip:
        left, top, width = self._list_box()
        place = y - top
        if not 0 <= place < self.completions.height:
            return strip
        chosen = self.completions.top + place == self.completions.cursor
        over = self.overlay_style(CURSOR if chosen else _LIST)
        return laid_over(strip, left, self.paint(self.completions.row(place, width, self.symbols), width, over=over))

    def _list_box(self) -> tuple[int, int, int]:
        """Return left, top and width of the list: below the cursor if it fits, else above."""
        room = self.scrollable_content_region.size
        place = self.completions.place
        start = self.location_of(place.span.start) if place is not None else (0, 0)
        width = self.completions.width(room.width)
        left = self.gutter_width + cells(self.document.get_line(start[0])[: start[1]]) - self.scroll_offset.x
        cursor = self.cursor_location[0] - self.scroll_offset.y
        below = cursor + 1
        fits = below + self.completions.height <= room.height or cursor < self.completions.height
        return max(0, min(left, room.width - width)), below if fits else cursor - self.completions.height, width

    def on_blur(self) -> None:
        self._close_list()

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Insert a clicked completion; elsewhere close the list."""
        if not self.completions:
            return
        left, top, width = self._list_box()
        spot = event.get_content_offset(self)
        if spot is not None and left <= spot.x < left + width and 0 <= spot.y - top < self.completions.height:
            event.stop()
            event.prevent_default()
            self.completions.cursor = self.completions.top + spot.y - top
            self._accept()
        else:
            self._close_list()
