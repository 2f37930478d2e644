"""The completion list of an editor, drawn over its lines, so that opening it needs no layout."""

from __future__ import annotations

from collections.abc import Sequence

from clawperator.widgets.format.lines import Line, Row, column
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.text.json_place import JsonPlace
from clawperator.widgets.text.schema_words import SchemaCompletion

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
