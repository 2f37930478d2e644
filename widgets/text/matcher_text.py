"""The matcher line: conversion between text and matcher, and completion.

``res:id/title  role:button  text="exact"  text~part  desc="exact"  desc~part`` in any order, separated by blanks. The
fields of another node follow its place: ``descendant.text=OK``, ``ancestor.``, ``container.``. A value with blanks is double-quoted, with backslash escapes. A JSON object as for ``--selector`` is read too. Parsing
never fails: what cannot be read is reported, the rest is used.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from clawperator.engine.contracts.limits import MAX_MATCHER_VALUE_LENGTH, utf16_length
from clawperator.engine.contracts.roles import ROLE_NAMES
from clawperator.engine.hierarchy.match import Matcher, find_all
from clawperator.engine.hierarchy.matcher import field_value
from clawperator.widgets.text.matcher_terms import (
    DOTTED,
    SPELLINGS,
    MatcherTerm,
    is_closed,
    is_json,
    spelling,
    terms_of,
    unescape,
)

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiTree

MAX_COMPLETIONS = 50

_FIELD_WORDS = {
    "resourceId": "resource id",
    "role": "inferred role",
    "textEquals": "text is",
    "textContains": "text contains",
    "contentDescEquals": "description is",
    "contentDescContains": "description contains",
}
_PLACE_WORDS = {"ancestor": "above it", "descendant": "inside it", "container": "in its first match"}
_COMPLETED_FIRST = ("resourceId", "textEquals", "textContains", "contentDescEquals", "contentDescContains", "role")
_PLAIN_VALUE = re.compile(r'[^\s"][\S]*')
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})


class MatcherText(NamedTuple):
    """A parsed line.

    ``matcher`` has the valid fields; ``problem`` is the first error, at ``column`` (from 0; -1: none).
    """

    text: str
    matcher: Matcher
    problem: str = ""
    column: int = -1


class MatcherCompletion(NamedTuple):
    """The line with a completion inserted, the new cursor, the inserted text, and its description."""

    text: str
    cursor: int
    what: str
    words: str


def parse_matcher_text(text: str, tree: UiTree | None = None) -> MatcherText:
    """Parse a line. With a ``tree``, ``title`` and ``id/title`` become the only full id that ends so."""
    fields: dict[str, str] = {}
    problems: list[tuple[int, str]] = []
    for term in terms_of(text):
        problem, column = _check(term, fields)
        if problem:
            problems.append((column, problem))
        else:
            fields[term.field] = _whole(term, tree)
    column, problem = min(problems, default=(-1, ""))
    return MatcherText(text, Matcher.from_flat(fields), problem, column)


def _whole(term: MatcherTerm, tree: UiTree | None) -> str:
    return full_id(term.value, tree) if term.field.endswith("resourceId") else term.value


def _check(term: MatcherTerm, fields: dict[str, str]) -> tuple[str, int]:
    """What is wrong with a term, and where."""
    if term.problem:
        return term.problem, term.column
    if term.field in fields:
        return f"{term.field} is given twice", term.start
    if not term.value:
        return f"{term.field} needs a value", term.value_at
    return value_problem(term.value), term.value_at


def matcher_text(matcher: Matcher) -> str:
    """Return the canonical line of a matcher; ``parse_matcher_text`` reads it back."""
    return " ".join(spelling(field) + quoted(value) for field, value in matcher.flat().items())


def quoted(value: str) -> str:
    """Return a value as written on the line, unquoted where possible."""
    if _PLAIN_VALUE.fullmatch(value) and "\\" not in value:
        return value
    return f'"{value.translate(_ESCAPED)}"'


def value_problem(value: str) -> str:
    """Return why the contract rejects a value; empty if valid (execution.md#limits)."""
    length = utf16_length(value)
    return (
        f"{length} characters, at most {MAX_MATCHER_VALUE_LENGTH} allowed" if length > MAX_MATCHER_VALUE_LENGTH else ""
    )


def full_id(value: str, tree: UiTree | None) -> str:
    """Return the only full id of ``tree`` that ends in ``title`` or ``id/title``; anything else unchanged."""
    if tree is None or not value or ":" in value:
        return value
    ending = f":{value}" if value.startswith("id/") else f":id/{value}"
    ids = set(tree.resource_ids)
    found = [candidate for candidate in ids if candidate.endswith(ending)] if value not in ids else []
    return found[0] if len(found) == 1 else value


# -- completion


def complete(text: str, cursor: int, tree: UiTree | None) -> list[MatcherCompletion]:
    """Return completions at the cursor: unused fields, then values on screen with their counts. Counts are among the
    nodes that the other terms match; unique values come first. At most ``MAX_COMPLETIONS``; none in JSON.
    """
    if is_json(text):
        return []
    terms = list(terms_of(text))
    at = next((term for term in terms if term.start <= cursor <= term.end), None)
    others = [term for term in terms if term is not at and term.field and not term.problem]
    if at is None or cursor < at.value_at or not at.field:
        return _field_completions(text, cursor, at, {term.field for term in others})
    if at.value_at < at.end and text[at.value_at] == '"' and cursor == at.end and is_closed(text, at):
        return []
    place = at.field.rpartition(".")[0]  # the values there are those of the other node
    around = f"{place}." if place else ""
    near = {term.field.removeprefix(around): _whole(term, tree) for term in others if term.field.startswith(around)}
    rest = Matcher.from_flat(near)
    return _value_completions(text, cursor, at, rest, tree)


def _field_completions(text: str, cursor: int, term: MatcherTerm | None, given: set[str]) -> list[MatcherCompletion]:
    start = term.start if term is not None else cursor
    typed = text[start:cursor].lower()
    end = term.value_at if term is not None and not _has_value(term) else cursor
    found = []
    place = typed.rpartition(".")[0]
    prefix = f"{place}." if place in DOTTED else ""
    offered = [
        (prefix + SPELLINGS[field], _FIELD_WORDS[field]) for field in _COMPLETED_FIRST if prefix + field not in given
    ]
    offered += [
        (f"{name}.", _PLACE_WORDS[name.rpartition(".")[2]]) for name in DOTTED if name.rpartition(".")[0] == prefix[:-1]
    ]
    for spelled, words in offered:
        if spelled.startswith(typed):
            line = text[:start] + spelled + text[max(end, cursor) :]
            found.append(MatcherCompletion(line, start + len(spelled), spelled, words))
    return found


def _has_value(term: MatcherTerm) -> bool:
    return term.value_at < term.end


def _value_completions(
    text: str, cursor: int, term: MatcherTerm, rest: Matcher, tree: UiTree | None
) -> list[MatcherCompletion]:
    if tree is None:
        return []
    typed = text[term.value_at : cursor]
    typed = unescape(typed.removeprefix('"')) if typed.startswith('"') else typed
    found = []
    for value, count in values_on_screen(tree, term.field.rpartition(".")[2], rest, typed):
        put = quoted(value)
        line = text[: term.value_at] + put + text[term.end :]
        found.append(MatcherCompletion(line, term.value_at + len(put), put, str(count)))
    return [completion for completion in found if completion.text != text]


def values_on_screen(tree: UiTree, field: str, rest: Matcher, typed: str = "") -> Sequence[tuple[str, int]]:
    """Return the values of ``field`` that contain ``typed``, among the nodes that ``rest`` matches, with their counts.
    Prefix matches come first, then unique ones, then document order.
    """
    nodes = find_all(tree, rest) if rest else tree.on_screen
    counts = Counter(field_value(node, field) for node in nodes)
    wanted = typed.lower()
    rows = []
    for place, (value, count) in enumerate(counts.items()):
        where = _where(value, field).find(wanted)
        if value and where >= 0 and not value_problem(value):
            rows.append((where > 0, count > 1, place, value, count))
    rows.sort()
    if field == "role" and not rows:
        return [(role, 0) for role in ROLE_NAMES if role.startswith(wanted)][:MAX_COMPLETIONS]
    return [(value, count) for *_, value, count in rows[:MAX_COMPLETIONS]]


def _where(value: str, field: str) -> str:
    """Return the text to search, of an id also its name: ``tit`` matches ``…:id/title``."""
    lowered = value.lower()
    name = lowered.partition(":id/")[2] if field == "resourceId" else ""
    return f"{name} id/{name} {lowered}" if name else lowered
