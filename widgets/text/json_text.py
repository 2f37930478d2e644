"""JSON text with the places of its values and keys, valid or not, and the colours of its tokens. Pure.

What is JSON is decided by ``strict_json.parse_json``; of other text the places are known up to where it breaks.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from clawperator.engine.contracts.limits import MAX_JSON_DEPTH
from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError

Path = tuple[str | int, ...]
"""Keys and indexes from the root."""

_TOKEN = re.compile(
    r"""
    (?P<string> "(?:[^"\\\n\r]|\\[^\n\r])*"? )
    | (?P<number> -?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![^ \t\n\r"{}\[\]:,]) )
    | (?P<word> (?:true|false|null)(?![^ \t\n\r"{}\[\]:,]) )
    | (?P<sign> [{}\[\]:,] )
    | (?P<junk> [^ \t\n\r"{}\[\]:,]+ )
    """,
    re.VERBOSE,
)
"""An unclosed string ends with its line, so that a line can be read without the ones before it."""
_QUOTED = re.compile(r"'([^']*)'")
_LONGEST_INDEX = 9
_LONG_LINE = 200


class Span(NamedTuple):
    """From ``start`` up to but not including ``end``, in characters of the text."""

    start: int
    end: int


class TextMark(NamedTuple):
    """A span with a role and a message."""

    start: int
    end: int
    role: str
    words: str


def tokens(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield kind (string, number, word, junk, or the sign itself), start and end of each token."""
    for found in _TOKEN.finditer(text):
        kind = str(found.lastgroup)
        yield found.group() if kind == "sign" else kind, *found.span()


def roles(line: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and role of the tokens of a line, for colouring."""
    found = list(tokens(line))
    for index, (kind, start, end) in enumerate(found):
        if kind == "string":
            is_key = index + 1 < len(found) and found[index + 1][0] == ":"
            yield start, end, "node-id" if is_key else "node-text"
        elif kind == "word":
            yield start, end, "accent" if line[start] == "t" else "muted"
        else:
            yield start, end, {"number": "accent", "junk": "fail"}.get(kind, "faint")


@dataclass(frozen=True, slots=True)
class JsonText:
    """A text with the spans of ``values`` and ``keys``; of a repeated key the last one counts.

    ``problem`` is why it is not JSON, in one sentence, and ``at`` where; empty for JSON.
    """

    text: str
    values: dict[Path, Span]
    keys: dict[Path, Span]
    problem: str = ""
    at: int = 0

    def value(self, path: Path) -> object:
        """Return the value at a path; ``None`` if absent or malformed."""
        span = self.values.get(path)
        try:
            return json.loads(self.text[span.start : span.end]) if span is not None else None
        except (ValueError, RecursionError):
            return None

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
    """Return the text with its places, and why it is not JSON."""
    found = JsonText(text, *_places(text))
    try:
        parse_json(text)
    except EngineError as exc:
        reason, cause = str(exc.details["reason"]), exc.__cause__
        if isinstance(cause, json.JSONDecodeError):
            return JsonText(text, found.values, found.keys, cause.msg, cause.pos)
        named = exc.details.get("invalidKeys", ())
        places = [text.rfind(json.dumps(key, ensure_ascii=False)) for key in named]
        return JsonText(
            text, found.values, found.keys, reason, max([0, *places, found.span_of(exc.details["path"]).start])
        )
    return found


@dataclass(slots=True)
class _Open:
    """A container that is being read; ``step`` is the key or index of its current member."""

    kind: str
    path: Path
    start: int
    step: str | int
    at_key: bool


def _places(text: str) -> tuple[dict[Path, Span], dict[Path, Span]]:
    """Return the spans of values and of keys, until the text breaks. What is not closed reaches to the end."""
    values: dict[Path, Span] = {}
    keys: dict[Path, Span] = {}
    stack: list[_Open] = []
    for kind, start, end in tokens(text):
        here = stack[-1] if stack else None
        if kind in "}]":
            if here is None or here.kind != kind:
                break
            values[stack.pop().path] = Span(start=here.start, end=end)
        elif kind == ",":
            if here is None:
                break
            here.at_key = here.kind == "}"
            here.step = here.step + 1 if isinstance(here.step, int) else here.step
        elif here is not None and here.at_key:
            if kind != "string":
                break
            here.step, here.at_key = _key(text[start:end]), False
            keys[(*here.path, here.step)] = Span(start, end)
        elif kind != ":":
            path = (*here.path, here.step) if here is not None else ()
            values[path] = Span(start, end)
            if kind in "{[":
                is_object = kind == "{"
                stack.append(_Open("}" if is_object else "]", path, start, "" if is_object else 0, at_key=is_object))
                if len(stack) > MAX_JSON_DEPTH:
                    break  # longer paths would cost quadratic time
    values.update((each.path, Span(each.start, len(text))) for each in stack)
    return values, keys


def _key(word: str) -> str:
    """Return the decoded key; of a malformed one its text."""
    try:
        return str(json.loads(word))
    except ValueError:
        return word.strip('"')


def editable(text: str) -> str:
    """Return ``text`` with invisible characters as JSON escapes, and line feeds as the only line separators."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.replace("\n", "").replace("\t", "").isprintable():
        return text
    return "".join(each if each.isprintable() or each in "\n\t" else json.dumps(each)[1:-1] for each in text)


def formatted(text: str, indent: str) -> str:
    """Return pasted text as ``editable``, and a long single line of JSON as several, the later ones indented."""
    text = editable(text)
    if len(text) <= _LONG_LINE or "\n" in text.strip():
        return text
    try:
        lines = editable(json.dumps(json.loads(text), indent=2, ensure_ascii=False))
    except (ValueError, RecursionError):
        return text  # it is not JSON
    return lines.replace("\n", f"\n{indent}")
