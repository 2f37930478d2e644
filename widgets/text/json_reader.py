"""Incremental JSON reader:

takes tokens one by one and records values, keys and faults with their spans. Pure, iterative.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from clawperator.engine.contracts.limits import MAX_JSON_DEPTH

Path = tuple[str | int, ...]
"""Keys and indexes from the root; of a repeated key the last one counts."""
FAULTS_KEPT = 50
"""Faults reported of one text at most."""

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
_GOOD_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*')
_CLOSERS = {"{": "}", "[": "]"}
_ENOUGH_DIGITS = 300
"""More digits may exceed the range of a number; ``parse_json`` rejects it then."""


class Span(NamedTuple):
    """From ``start`` up to but not including ``end``, in characters of the text."""

    start: int
    end: int


class JsonFault(NamedTuple):
    """Why the text is no JSON, at ``start``; ``words`` follow a line and column."""

    start: int
    end: int
    words: str


class Token(NamedTuple):
    """``kind`` is string, number, word or junk; of a sign, the sign itself."""

    kind: str
    start: int
    end: int


def tokens(text: str, start: int = 0, end: int | None = None) -> Iterator[Token]:
    """Yield the tokens of (a part of) a text without blanks."""
    for found in _TOKEN.finditer(text, start, len(text) if end is None else end):
        kind = str(found.lastgroup)
        yield Token(found.group() if kind == "sign" else kind, *found.span())


@dataclass(slots=True)
class _Frame:
    """An open container. ``key`` and ``index`` name the value that is being read."""

    kind: str
    path: Path
    start: int
    expects: str
    key: str = ""
    index: int = -1
    after_comma: bool = False
    bare: Token | None = None
    """A string in the place of a colon: if a colon follows, it is the next key."""
    seen: set[str] = field(default_factory=set)

    @property
    def role(self) -> str:
        """Return what begins a member."""
        return "key" if self.kind == "{" else "value"

    def child(self) -> Path:
        if self.kind == "{":
            return (*self.path, self.key)
        return (*self.path, self.index) if self.kind == "[" else ()


class JsonReader:
    """Takes tokens in order; what is missing between two of them is reported and assumed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.values: dict[Path, Span] = {}
        self.keys: dict[Path, Span] = {}
        self.faults: list[JsonFault] = []
        self.frames = [_Frame("", (), 0, "value")]
        self.end = 0
        """Where the last token ended."""

    def feed(self, token: Token) -> None:
        frame = self.frames[-1]
        kind = token.kind
        if frame.expects == "over":
            pass  # reported once
        elif kind in ("}", "]"):
            self._close(token)
        elif frame.expects == "key":
            self._key(frame, token)
        elif frame.expects == "colon":
            self._colon(frame, token)
        elif frame.expects == "comma":
            self._comma(frame, token)
        elif frame.expects == "nothing":
            self._fault(token, "unexpected content after the end")
            frame.expects = "over"
        else:
            self._value(frame, token)
        self.end = token.end

    def finish(self) -> None:
        """End the text: everything open is missing its end."""
        missing = "".join(_CLOSERS[frame.kind] for frame in reversed(self.frames) if frame.kind)
        if missing:
            self._fault(Token("", len(self.text), len(self.text)), f"missing end: {missing[:20]}")
        elif self.frames[0].expects == "value":
            self._fault(Token("", len(self.text), len(self.text)), "missing value")
        while len(self.frames) > 1:
            frame = self.frames.pop()
            self._keep(frame.path, frame.start, self.end)

    def _fault(self, token: Token, words: str) -> None:
        if len(self.faults) < FAULTS_KEPT:
            self.faults.append(JsonFault(token.start, token.end, words))

    def _missing(self, words: str) -> None:
        """Report something missing right behind the last token."""
        self._fault(Token("", max(0, self.end - 1), self.end), words)

    # -- expected tokens

    def _key(self, frame: _Frame, token: Token) -> None:
        if token.kind == ",":
            self._fault(token, "missing quoted key before the comma")
        elif token.kind in ("{", "["):
            self._fault(token, "missing quoted key before the value")
            frame.key = ""
            self._value(frame, token)
        elif token.kind == ":":
            self._fault(token, "missing quoted key before the colon")
            frame.key, frame.expects = "", "value"
        else:
            self._take_key(frame, token)

    def _take_key(self, frame: _Frame, token: Token) -> None:
        if token.kind != "string":
            self._fault(token, "a key must be quoted")
        else:
            self._check_string(token)
        frame.key, frame.expects, frame.after_comma = _plain(self.text[token.start : token.end]), "colon", False
        if frame.key in frame.seen:
            self._fault(token, "duplicate key")
        frame.seen.add(frame.key)
        if len(self.frames) <= MAX_JSON_DEPTH + 1:
            self.keys[frame.child()] = Span(token.start, token.end)

    def _colon(self, frame: _Frame, token: Token) -> None:
        if token.kind == ":":
            frame.expects = "value"
            return
        self._missing('missing ":" and value' if token.kind == "," else 'missing ":"')
        frame.expects = "comma" if token.kind == "," else "value"
        self.feed(token)
        frame.bare = token if token.kind == "string" else None

    def _comma(self, frame: _Frame, token: Token) -> None:
        if token.kind == ":" and frame.bare is not None:
            self.values.pop(frame.child(), None)
            self._take_key(frame, frame.bare)
            frame.expects = "value"
        elif token.kind == ":":
            self._fault(token, "unexpected colon")
        elif token.kind == ",":
            frame.expects, frame.after_comma = frame.role, True
        else:
            self._missing('missing ","')
            frame.expects, frame.after_comma = frame.role, True
            self.feed(token)
        frame.bare = None

    def _value(self, frame: _Frame, token: Token) -> None:
        if token.kind in (",", ":"):
            self._fault(token, "missing value")
            frame.expects = "comma" if token.kind == "," and frame.kind else "value"
            if token.kind == "," and frame.kind:
                self._comma(frame, token)
            return
        frame.index += 1
        frame.after_comma = False
        frame.expects = "comma" if frame.kind else "nothing"
        path = frame.child()
        if token.kind in _CLOSERS:
            self._open(token, path)
            return
        self._keep(path, token.start, token.end)
        self._check_value(token)

    def _open(self, token: Token, path: Path) -> None:
        if len(self.frames) > MAX_JSON_DEPTH:
            path = self.frames[-1].path  # longer paths would cost quadratic time
        self._keep(path, token.start, token.end)
        self.frames.append(_Frame(token.kind, path, token.start, "key" if token.kind == "{" else "value"))
        if len(self.frames) == MAX_JSON_DEPTH + 2:
            self._fault(token, f"nested deeper than {MAX_JSON_DEPTH} levels")

    def _keep(self, path: Path, start: int, end: int) -> None:
        if len(self.frames) <= MAX_JSON_DEPTH:
            self.values[path] = Span(start, end)

    def _close(self, token: Token) -> None:
        opener = "{" if token.kind == "}" else "["
        if all(frame.kind != opener for frame in self.frames):
            self._fault(token, f"unmatched {token.kind}")
            return
        while self.frames[-1].kind != opener:
            frame = self.frames.pop()
            self._fault(token, f"missing {_CLOSERS[frame.kind]} before {token.kind}")
            self._keep(frame.path, frame.start, token.start)
        frame = self.frames.pop()
        if frame.after_comma:
            self._missing("trailing comma")
        elif frame.expects == "colon" or (frame.kind == "{" and frame.expects == "value"):
            self._missing("missing value")
        self._keep(frame.path, frame.start, token.end)

    # -- single tokens

    def _check_value(self, token: Token) -> None:
        if token.kind == "string":
            self._check_string(token)
        elif token.kind == "junk":
            self._fault(token, "invalid value: text must be quoted")
        elif token.kind == "number" and token.end - token.start < _ENOUGH_DIGITS * 10:
            if math.isinf(float(self.text[token.start : token.end])):
                self._fault(token, "the number is too large")
        elif token.kind == "number":
            self._fault(token, "a number has too many digits")

    def _check_string(self, token: Token) -> None:
        good = _GOOD_STRING.match(self.text, token.start, token.end)
        end = good.end() if good is not None else token.start
        if end == token.end:
            self._fault(Token("", token.start, token.end), "missing closing quote")
        elif self.text[end] == "\\":
            self._fault(
                Token("", end, min(end + 2, token.end)),
                'invalid escape; valid are \\" \\\\ \\/ \\n \\t and \\u1234',
            )
        elif end != token.end - 1:
            self._fault(Token("", end, end + 1), "control characters must be escaped")


def _plain(word: str) -> str:
    """Return the decoded key; of a malformed one its text."""
    try:
        return str(json.loads(word)) if word[:1] == '"' else word
    except ValueError:
        return word.strip('"')
