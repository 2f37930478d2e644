"""JSON text with the span of every value and key, valid or not. Pure.

Editors mostly see incomplete JSON, so nothing here raises: errors are ``JsonFault`` values with their span. Text
without faults is accepted by ``strict_json.parse_json``.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

from clawperator.widgets.text.json_reader import JsonFault, JsonReader, Path, Span, tokens

_QUOTED = re.compile(r"'([^']*)'")
_LONGEST_INDEX = 9


def roles(line: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and role of the tokens of a line, for colouring."""
    found = list(tokens(line))
    for index, (kind, start, end) in enumerate(found):
        if kind == "string":
            is_key = index + 1 < len(found) and found[index + 1].kind == ":"
            yield start, end, "node-id" if is_key else "node-text"
        elif kind == "word":
            yield start, end, "accent" if line[start] == "t" else "muted"
        else:
            yield start, end, {"number": "accent", "junk": "fail"}.get(kind, "faint")


@dataclass(frozen=True, slots=True)
class JsonText:
    """A parsed text: spans of ``values`` and ``keys``, and its ``faults``."""

    text: str
    values: dict[Path, Span]
    keys: dict[Path, Span]
    faults: Sequence[JsonFault]
    starts: Sequence[int]
    """Offsets of the lines."""

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column of an offset, both from 0."""
        line = bisect_right(self.starts, offset) - 1
        return line, offset - self.starts[line]

    def offset(self, line: int, column: int) -> int:
        """Return the offset of a line and column, clamped to the text."""
        line = max(0, min(line, len(self.starts) - 1))
        return max(0, min(self.starts[line] + column, len(self.text)))

    def value(self, path: Path) -> object:
        """Return the value at a path; ``None`` if absent or malformed."""
        span = self.values.get(path)
        try:
            return json.loads(self.text[span.start : span.end]) if span is not None else None
        except (ValueError, RecursionError):
            return None

    def members(self, path: Path) -> list[str]:
        """Return the keys of the object at a path in order."""
        return [str(key[-1]) for key in self.keys if key[:-1] == path]

    def find(self, dotted: str) -> tuple[Path, bool]:
        """Return the existing part of a dotted path, and whether it is complete. The longest existing key wins."""
        path: Path = ()
        rest = dotted.split(".") if dotted else []
        while rest:
            for count in range(len(rest), 0, -1):
                name = ".".join(rest[:count])
                step = next((step for key in _spellings(name) if (step := (*path, key)) in self.values), None)
                if step is not None:
                    path, rest = step, rest[count:]
                    break
            else:
                return path, False
        return path, True

    def span_of(self, dotted: str, message: str = "") -> Span:
        """Return what to underline: a key quoted in ``message``, else the value or, where that is long, its key."""
        path, whole = self.find(dotted)
        if whole:
            for name in _QUOTED.findall(message):
                if (*path, name) in self.keys:
                    return self.keys[(*path, name)]
        span = self.values.get(path, Span(0, 0))
        if whole and "\n" not in self.text[span.start : span.end]:
            return span
        return self.keys.get(path) or Span(span.start, min(span.start + 1, span.end))


def _spellings(name: str) -> Iterable[str | int]:
    return (name, int(name)) if name.isascii() and name.isdigit() and len(name) < _LONGEST_INDEX else (name,)


def read(text: str) -> JsonText:
    """Parse a whole text."""
    reader = JsonReader(text)
    for token in tokens(text):
        reader.feed(token)
    return finished(reader)


def finished(reader: JsonReader) -> JsonText:
    """Return the result of a reader that was fed with all of its text."""
    reader.finish()
    starts = [0, *(found.end() for found in re.finditer("\n", reader.text))]
    return JsonText(reader.text, reader.values, reader.keys, tuple(sorted(reader.faults)), starts)


def editable(text: str) -> str:
    """Return ``text`` with invisible characters as JSON escapes, and line feeds as the only line separators."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(each if each.isprintable() or each in "\n\t" else _escape(each) for each in text)


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1]


class TextMark(NamedTuple):
    """An underlined span with its role and message."""

    start: int
    end: int
    role: str
    words: str


def by_line(marks: Iterable[TextMark], lines: Sequence[str]) -> dict[int, list[tuple[int, int, TextMark]]]:
    """Return start and end in its line of each mark, and the mark; of a multi-line one only the first line is marked."""
    found: dict[int, list[tuple[int, int, TextMark]]] = {}
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    for mark in marks:
        row = min(bisect_right(starts, mark.start), len(starts) - 1) - 1
        start = mark.start - starts[row]
        found.setdefault(row, []).append((start, max(start + 1, start + mark.end - mark.start), mark))
    return found


def moved(mark: TextMark, start: int, end: int, grown: int) -> TextMark:
    """Return the mark after the text from ``start`` to ``end`` changed its length by ``grown``."""
    if mark.end <= start:
        return mark
    if mark.start >= end:
        return mark._replace(start=mark.start + grown, end=mark.end + grown)
    return mark._replace(start=min(mark.start, start), end=max(start + 1, mark.end + grown))
