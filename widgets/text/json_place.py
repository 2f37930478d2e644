"""What may be written at a place of a JSON text that is being written. Pure."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from clawperator.widgets.text.json_reader import JsonReader, Path, Span, Token, tokens
from clawperator.widgets.text.json_text import JsonText, finished

Role = Literal["key", "value", ""]

_CLOSED_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
_WORDS = ("string", "number", "word", "junk")


class JsonPlace(NamedTuple):
    """What may be written at a place of a text.

    ``role``: a ``key`` of the object at ``path``, the ``value`` at ``path``, or neither. ``span`` is the word there, up to
    the cursor ``typed`` already; ``lone`` when the cursor touches no word. ``comma_before``: a comma has to be put behind
    that character first, -1 where none; ``comma_after``: whether something follows that wants one; ``colon``: whether the
    key has its colon already.
    """

    role: Role
    path: Path
    span: Span
    typed: str
    lone: bool
    comma_before: int = -1
    comma_after: bool = False
    colon: bool = False


def look_at(text: str, offset: int) -> tuple[JsonPlace, JsonText]:
    """What may be written at ``offset``, and the whole text as read: both in one pass."""
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
    """What is replaced: of a string that is still open nothing behind the cursor, it runs to the end of the line."""
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
    """Whether a cursor at ``offset`` writes on in this token."""
    if token.kind not in _WORDS or not token.start < offset <= token.end:
        return False
    return token.kind != "string" or offset < token.end or not _is_closed(text, token)


def _is_closed(text: str, token: Token) -> bool:
    """Whether a string has its closing quote, and is not just an opening one."""
    return _CLOSED_STRING.fullmatch(text, token.start, token.end) is not None
