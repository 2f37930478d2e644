"""Load the core schema of YAML 1.2 within limits, with the line of every value.

PyYAML implements YAML 1.1, where ``on`` is true, ``12:30`` a number and ``2024-01-01`` a date, so only its parser is used.
Anchors, aliases, tags, directives and further documents are rejected, which also prevents expansion attacks.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from clawperator.engine.contracts.issues import shown

MAX_DEPTH = 32
MAX_VALUES = 5_000
"""Of one block; a recipe of fifty steps has fewer than a thousand values in all."""
_MAX_EXACT = 2**53 - 1
"""The largest integer that all JSON readers represent exactly."""
_MAX_DIGITS = 32

_NULL = frozenset(("", "~", "null", "Null", "NULL"))
_BOOL = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_INT = re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NO_NUMBER = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_BASES = {"0o": 8, "0x": 16}
_OLD_BREAKS = re.compile("[\x85\u2028\u2029]")
"""Line breaks in YAML 1.1, plain characters in 1.2."""
_NAMED = 40

Path = tuple[str | int, ...]


class YamlError(Exception):
    """A text is not allowed; ``line`` is 0-based."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class Loaded(NamedTuple):
    """A value, and the 0-based lines of keys and items by path."""

    value: Any
    lines: dict[Path, int]


def load(text: str) -> Loaded:
    """Return the only document of ``text``: mappings with text keys, lists, texts, finite numbers, booleans and nulls.

    Raises ``YamlError``.
    """
    if found := _OLD_BREAKS.search(text):
        reason = f"the character U+{ord(found[0]):04X} must be written as an escape in double quotes"
        raise YamlError(reason, text.count("\n", 0, found.start()))
    reader = _Reader(text)
    try:
        value = reader.document()
    except yaml.reader.ReaderError as exc:
        line = text.count("\n", 0, exc.position)
        character = exc.character if isinstance(exc.character, int) else ord(exc.character)
        raise YamlError(f"the character U+{character:04X} is not allowed", line) from None
    except yaml.MarkedYAMLError as exc:
        raise YamlError(_message(exc), mark.line if (mark := exc.problem_mark or exc.context_mark) else 0) from None
    except (ValueError, OverflowError):  # escapes beyond Unicode, versions with thousands of digits
        raise YamlError("invalid escape", reader.line) from None
    return Loaded(value, reader.lines)


def _message(exc: yaml.MarkedYAMLError) -> str:
    """Return PyYAML's message, which may quote the text."""
    return shown("; ".join(part for part in (exc.context, exc.problem) if part), 200)


class _Reader:
    """Builds values from parser events and stops at the first error."""

    def __init__(self, text: str) -> None:
        self._events: Iterator[Any] = yaml.parse(text, Loader=yaml.SafeLoader)
        self._values = 0
        self.lines: dict[Path, int] = {}
        self.line = 0

    def document(self) -> Any:
        self._next()  # the stream
        start = self._next()
        if isinstance(start, yaml.StreamEndEvent):
            return None
        if start.version or start.tags:
            raise self._refusal("directives are not supported")
        value = self._value((), self._next())
        self._next()  # the end of the document
        if not isinstance(self._next(), yaml.StreamEndEvent):
            raise self._refusal("only one document is supported")
        return value

    def _next(self) -> Any:
        event = next(self._events)
        self.line = event.start_mark.line
        return event

    def _refusal(self, reason: str) -> YamlError:
        return YamlError(reason, self.line)

    def _value(self, path: Path, event: Any) -> Any:
        self._values += 1
        if self._values > MAX_VALUES:
            raise self._refusal(f"more than {MAX_VALUES} values")
        if len(path) > MAX_DEPTH:
            raise self._refusal(f"nested more than {MAX_DEPTH} levels deep")
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            raise self._refusal("anchors and aliases are not supported")
        if event.tag is not None:
            raise self._refusal("tags are not supported")
        self.lines.setdefault(path, self.line)
        if isinstance(event, yaml.ScalarEvent):
            return self._plain(event.value) if event.style is None else self._text(event.value)
        return self._list(path) if isinstance(event, yaml.SequenceStartEvent) else self._mapping(path)

    def _list(self, path: Path) -> list[Any]:
        values: list[Any] = []
        while not isinstance(event := self._next(), yaml.SequenceEndEvent):
            values.append(self._value((*path, len(values)), event))
        return values

    def _mapping(self, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while not isinstance(event := self._next(), yaml.MappingEndEvent):
            line = self.line
            key = self._value((*path, "?"), event)
            self.lines.pop((*path, "?"))
            if not isinstance(key, str):
                raise YamlError("a key must be text: quote it", line)
            if key in values:
                raise YamlError(f"the key '{shown(key, _NAMED)}' is a duplicate", line)
            self.lines[*path, key] = line
            values[key] = self._value((*path, key), self._next())
        return values

    def _plain(self, text: str) -> Any:
        """Return the value of an unquoted scalar by the core schema."""
        if text in _NULL:
            return None
        if text in _BOOL:
            return _BOOL[text]
        if _INT.fullmatch(text):
            return self._integer(text)
        if _FLOAT.fullmatch(text):
            return self._finite(text)
        if _NO_NUMBER.fullmatch(text):
            raise self._refusal(f"{text} is not a JSON number: quote it to make it text")
        return self._text(text)

    def _integer(self, text: str) -> int:
        too_long = len(text) > _MAX_DIGITS  # below Python's own limit
        if too_long or abs(value := int(text[2:], _BASES[text[:2]]) if text[:2] in _BASES else int(text)) > _MAX_EXACT:
            raise self._refusal("this integer exceeds 2^53: quote it to make it text")
        return value

    def _finite(self, text: str) -> float:
        value = float(text)
        if math.isinf(value):
            raise self._refusal("this number is too large: quote it to make it text")
        return value

    def _text(self, text: str) -> str:
        """Join surrogate pairs, which escapes may have created as in JSON."""
        try:
            text.encode()
        except UnicodeEncodeError:
            try:
                return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le")
            except UnicodeDecodeError:
                raise self._refusal("half of a surrogate pair is not a character") from None
        return text
