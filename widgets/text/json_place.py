"""Completion context in JSON text while it is being written. Pure."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from clawperator.widgets.text.json_reader import JsonReader, Path, Span, Token, tokens
from clawperator.widgets.text.json_text import JsonText, finished

Role = Literal["key", "value", ""]

_CLOSED_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_WORDS = ("string", "number", "word", "junk")


class JsonPlace(NamedTuple):
    """What can be written at an offset.

    ``role``: a ``key`` of the object at ``path``, the ``value`` at ``path``, or neither. ``span`` is the word there,
    ``typed`` its part up to the cursor; ``lone``: the cursor touches no word. ``comma_before``: offset after which a
    comma is missing (-1: none); ``comma_after``: whether one is missing behind it; ``colon``: whether the key has its
    colon.
    """

    role: Role
    path: Path
    span: Span
    typed: str
    lone: bool
    comma_before: int = -1
    comma_after: bool = False
    colon: bool = False


def place_at(text: str, offset: int) -> tuple[JsonPlace, JsonText]:
    """Return the completion context at ``offset`` and the whole text, parsed in one pass."""
    reader = JsonReader(text)
    place: JsonPlace | None = None
    following: str | None = None
    for token in tokens(text):
        if place is None and _holds(text, token, offset):
            place = _place(reader, _word(text, token, offset), text[token.start : offset], lone=False)
        elif token.start >= offset and following is None:
            following = token.kind
            place = place or _place(reader, Span(offset, offset), "", lone=True)
        reader.feed(token)
    place = place or _place(reader, Span(offset, offset), "", lone=True)
    wants_comma = following not in (None, ",", "}", "]", ":")
    return place._replace(comma_after=wants_comma, colon=following == ":"), finished(reader)


def _word(text: str, token: Token, offset: int) -> Span:
    """Return the span to replace; of an unclosed string nothing behind the cursor, because it runs to the line's end."""
    is_open = token.kind == "string" and not _is_closed(text, token)
    return Span(token.start, offset if is_open else token.end)


def _place(reader: JsonReader, span: Span, written: str, *, lone: bool) -> JsonPlace:
    frame = reader.frames[-1]
    typed = written.removeprefix('"')
    if frame.expects not in ("key", "value", "comma"):
        return JsonPlace("", frame.path, span, typed, lone)
    comma_before = reader.end if frame.expects == "comma" else -1
    if frame.expects == "key" or (frame.expects == "comma" and frame.kind == "{"):
        return JsonPlace("key", frame.path, span, typed, lone, comma_before)
    path = (*frame.path, frame.index + 1) if frame.kind == "[" else frame.child()
    return JsonPlace("value", path, span, typed, lone, comma_before)


def _holds(text: str, token: Token, offset: int) -> bool:
    """Return whether a cursor at ``offset`` continues this token."""
    if token.kind not in _WORDS or not token.start < offset <= token.end:
        return False
    return token.kind != "string" or offset < token.end or not _is_closed(text, token)


def _is_closed(text: str, token: Token) -> bool:
    """Return whether a string has a closing quote."""
    return _CLOSED_STRING.fullmatch(text, token.start, token.end) is not None
