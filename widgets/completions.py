"""The list of completions in an editor of JSON: what it offers, where it is, and what a chosen one writes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.geometry import Region, Size

from clawperator.widgets.format.lines import Line, Row, column
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.text.json_place import JsonPlace, place_at
from clawperator.widgets.text.json_typing import indent_of
from clawperator.widgets.text.schema_words import SchemaCompletion, Seen, words_at

ROWS = 8
_WIDEST = 76
_LABEL_CELLS = 30
_KIND_CELLS = 26
_LEAST_MEANING = 12


class Accepted(NamedTuple):
    """What replaces the text from ``start`` to ``end``; ``cursor`` is an offset in it, ``unfinished`` for more there."""

    start: int
    end: int
    text: str
    cursor: int
    unfinished: bool


class Completions:
    """The completions, the selected one, and the position of the list. Empty while closed.

    ``seen`` gives values on screen.
    """

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self.words: Sequence[SchemaCompletion] = ()
        self.place: JsonPlace | None = None
        self.cursor = 0
        self.top = 0

    def __bool__(self) -> bool:
        return bool(self.words)

    def offer(self, text: str, at: int, *, asked: bool) -> None:
        """Open, update or close the list for the cursor at an offset; ``asked`` although nothing was typed yet."""
        place, document = place_at(text, at)
        words = words_at(place, document, self._seen) if asked or not place.lone else []
        whole = len(words) == 1 and words[0].label == place.typed
        if not words or (whole and not asked):
            self.close()
        else:
            self._open(place, words)

    def _open(self, place: JsonPlace, words: Sequence[SchemaCompletion]) -> None:
        """Offer ``words``; the selected word stays selected if it is still offered."""
        label = self.words[self.cursor].label if self.words and self.place is not None else ""
        keep = self.place is not None and self.place.span.start == place.span.start and self.cursor
        self.words, self.place = words, place
        places = (index for index, word in enumerate(words) if word.label == label)
        self.cursor = next(places, 0) if keep else 0
        self._reveal()

    def close(self) -> None:
        self.words, self.place, self.cursor, self.top = (), None, 0, 0

    def move(self, rows: int) -> None:
        self.cursor = (self.cursor + rows) % len(self.words)
        self._reveal()

    def _reveal(self) -> None:
        self.top = max(0, min(self.top, self.cursor, len(self.words) - ROWS), self.cursor - ROWS + 1)

    @property
    def word(self) -> SchemaCompletion:
        return self.words[self.cursor]

    def accept(self, text: str) -> Accepted:
        """Return the edit of the selected completion, and close the list."""
        word, place = self.word, self.place
        assert place is not None
        self.close()
        start, lead = place.span.start, ""
        if place.comma_before >= 0:
            lead = f",{text[place.comma_before : start]}"
            start = place.comma_before
        indent = indent_of(text[text.rfind("\n", 0, place.span.start) + 1 :])
        put, head = (part.replace("\n", f"\n{indent}") for part in (word.text, word.text[: word.cursor]))
        unfinished = word.cursor < len(word.text.rstrip(","))
        return Accepted(start, place.span.end, lead + put, len(lead) + len(head), unfinished)

    def box(self, x: int, y: int, room: Size) -> Region:
        """Return where the list is: at ``x`` if it fits, below line ``y`` if it fits, else above."""
        width, height = min(_WIDEST, room.width), min(ROWS, len(self.words))
        below = y + 1 + height <= room.height or y < height
        return Region(max(0, min(x, room.width - width)), y + 1 if below else y - height, width, height)

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
