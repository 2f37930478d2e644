"""The terms of a matcher line with their positions, in line syntax or as JSON."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from clawperator.engine.hierarchy.matcher import FIELDS, PLACES, RELATIONS
from clawperator.widgets.text.json_text import Span, read

SPELLINGS = {
    "resourceId": "res:",
    "role": "role:",
    "textEquals": "text=",
    "textContains": "text~",
    "contentDescEquals": "desc=",
    "contentDescContains": "desc~",
}
"""Spelling of each field on the line."""

DOTTED = (*PLACES, *(f"container.{name}" for name in RELATIONS))
"""What stands before a field of another node: ``descendant.text=OK``."""
_WRAPPED = ("matcher", "selector")
"""Keys of JSON as in the parameters of an action and in suggestions, where a container stands beside the matcher."""

_BY_SPELLING = {spelling: field for field, spelling in SPELLINGS.items()}
_BY_SPELLING |= {"res=": "resourceId", "role=": "role"} | {f"{field}=": field for field in FIELDS}
_SYNTAX = " ".join(SPELLINGS.values())

_TERM = re.compile(r'(?P<name>[^\s:=~"]*)(?P<sign>[:=~])?')
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)("?)', re.DOTALL)
_BARE = re.compile(r"\S*")
_ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}


class MatcherTerm(NamedTuple):
    """One ``name sign value`` of the line; ``field`` is empty for an unknown name."""

    field: str
    value: str
    start: int
    value_at: int
    end: int
    problem: str = ""
    column: int = -1


def spelling(field: str) -> str:
    """Return how a field is written on the line, that of another node with its place."""
    place, dot, last = field.rpartition(".")
    return f"{place}{dot}{SPELLINGS[last]}"


def terms_of(text: str) -> Iterator[MatcherTerm]:
    """Yield the terms of a line from left to right; never fails, a malformed term has a problem."""
    return _json_terms(text) if is_json(text) else _line_terms(text)


def is_json(text: str) -> bool:
    """Return whether a line is meant as a JSON object."""
    return text.lstrip()[:1] == "{"


# -- line syntax


def _line_terms(text: str) -> Iterator[MatcherTerm]:
    position = 0
    while True:
        while text[position : position + 1].isspace():
            position += 1
        if position >= len(text):
            return
        term = _term(text, position)
        yield term
        position = term.end


def _term(text: str, start: int) -> MatcherTerm:
    head = _TERM.match(text, start)
    assert head is not None  # every part of the pattern may be empty
    name, sign, value_at = head["name"], head["sign"] or "", head.end()
    place, _, last = name.rpartition(".")
    field = _BY_SPELLING.get(last + sign, "")
    if place and field:
        field = f"{place}.{field}" if place in DOTTED else ""
    if not sign:
        end = _end_of_bare(text, start)
        return MatcherTerm("", "", start, end, end, _no_field(text[start:end]), start)
    value, end, problem, column = _value(text, value_at)
    if not field:
        problem, column = _unknown(name, sign), start
    return MatcherTerm(field, value, start, value_at, end, problem, column)


def _end_of_bare(text: str, start: int) -> int:
    """Return the end of a word or quoted text at ``start``."""
    match = _QUOTED.match(text, start) or _BARE.match(text, start)
    return max(match.end(), start + 1) if match else len(text)


def _value(text: str, at: int) -> tuple[str, int, str, int]:
    """Return value, end, problem, column. An open quote takes the rest: it is being typed."""
    match = _QUOTED.match(text, at)
    if match is None:
        bare = _BARE.match(text, at)
        value = bare.group() if bare else ""
        return value, at + len(value), "", -1
    value, end = unescape(match[1]), match.end()
    if match[2] and end < len(text) and not text[end].isspace():
        return value, _end_of_bare(text, end), "missing blank after the quote", end
    return value, len(text) if not match[2] else end, "", -1


def unescape(text: str) -> str:
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text, flags=re.DOTALL)


def _no_field(word: str) -> str:
    name = word.strip('"')
    closest = difflib.get_close_matches(name, ("res", "role", "text", "desc"), 1)
    if closest:
        ways = " or ".join(spelling for spelling in SPELLINGS.values() if spelling.startswith(closest[0]))
        return f"{closest[0]}: use {ways}"
    return f"missing field: {_SYNTAX}"


def _unknown(name: str, sign: str) -> str:
    ways = [spelling for spelling in SPELLINGS.values() if spelling[:-1] == name]
    if ways:
        return f"unknown field {name}{sign}: use {' or '.join(ways)}"
    return f"unknown field {name or sign}: {_SYNTAX}"


# -- JSON


def _json_terms(text: str) -> Iterator[MatcherTerm]:
    """Yield the members of a JSON object with their positions, then its first syntax error."""
    found = read(text)
    for path, key in found.keys.items():
        names = path[1:] if path[0] in _WRAPPED else path
        *above, name = map(str, names or path)
        place, span, value = ".".join(above), found.values.get(path), found.value(path)
        opens = not names or ".".join(map(str, names)) in DOTTED
        if span is None or (opens and isinstance(value, Mapping)) or (place and place not in DOTTED):
            continue  # its members are read, or it is in a place that has been refused
        term = _json_term(name, value, key.start, span)
        yield term._replace(field=f"{place}.{name}") if place and term.field else term
    if found.problem:
        yield MatcherTerm("", "", found.at, found.at, len(text), found.problem, found.at)


def _json_term(name: str, value: object, start: int, span: Span) -> MatcherTerm:
    if name not in FIELDS:
        problem, column = f"unknown field {name}: {' '.join(FIELDS)}", start
    elif not isinstance(value, str):
        problem, column = f"{name} must be a quoted string", span.start
    else:
        return MatcherTerm(name, value, start, span.start, span.end)
    return MatcherTerm("", "", start, span.start, span.end, problem, column)


def is_closed(text: str, term: MatcherTerm) -> bool:
    match = _QUOTED.match(text, term.value_at)
    return match is not None and bool(match[2])
