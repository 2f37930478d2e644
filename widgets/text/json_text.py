"""JSON text with the place of everything in it, be it valid, broken or only half written. Pure.

Where an editor needs it the text is mostly no JSON yet, so nothing here fails: what is wrong is a ``JsonFault`` with its place,
and reading goes on behind it. Text without faults is text that ``strict_json.parse_json`` takes.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from clawperator.widgets.text.json_reader import JsonFault, JsonReader, Path, Span, tokens

__all__ = ["JsonFault", "JsonText", "Path", "Span", "editable", "read", "roles"]

_QUOTED = re.compile(r"'([^']*)'")
_LONGEST_INDEX = 9


def roles(line: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and role of what stands in one line: how an editor colours it."""
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
    """A text as read. ``values`` and ``keys`` say where they stand, ``faults`` what stands in the way of being JSON."""

    text: str
    values: dict[Path, Span]
    keys: dict[Path, Span]
    faults: Sequence[JsonFault]
    starts: Sequence[int]
    """Where each line begins."""

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column of a character, both from 0."""
        line = bisect_right(self.starts, offset) - 1
        return line, offset - self.starts[line]

    def offset(self, line: int, column: int) -> int:
        """The character at a place; the nearest one where there is none."""
        line = max(0, min(line, len(self.starts) - 1))
        return max(0, min(self.starts[line] + column, len(self.text)))

    def value(self, path: Path) -> object:
        """The value at a path; ``None`` where there is none, or none that can be read."""
        span = self.values.get(path)
        try:
            return json.loads(self.text[span.start : span.end]) if span is not None else None
        except (ValueError, RecursionError):
            return None

    def members(self, path: Path) -> list[str]:
        """The keys of the object at a path, in their order."""
        return [str(key[-1]) for key in self.keys if key[:-1] == path]

    def find(self, dotted: str) -> tuple[Path, bool]:
        """The path that the contract writes with dots, and whether all of it is there; else as far as it is.

        Keys may contain dots themselves: the longest one that is there wins.
        """
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
        """What to underline for a problem at ``dotted``: the value; a key, where the value is long or is what is missing in.

        Keys of that object which ``message`` names in quotes are meant themselves.
        """
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
    """Read a whole text."""
    reader = JsonReader(text)
    for token in tokens(text):
        reader.feed(token)
    return finished(reader)


def finished(reader: JsonReader) -> JsonText:
    """What a reader found that has been fed with all of its text."""
    reader.finish()
    starts = [0, *(found.end() for found in re.finditer("\n", reader.text))]
    return JsonText(reader.text, reader.values, reader.keys, tuple(sorted(reader.faults)), starts)


def editable(text: str) -> str:
    """``text`` with every character that cannot be seen as its JSON escape: the same inside of a string, as wrong elsewhere.

    An editor may then show each character as itself, and no line separator but the line feed is left.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(each if each.isprintable() or each in "\n\t" else _escape(each) for each in text)


def _escape(character: str) -> str:
    return json.dumps(character)[1:-1]
