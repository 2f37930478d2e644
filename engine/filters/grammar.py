r"""The filter grammar of the stream, the history, ``history list --filter`` and, with its own keys, the tree's find. Pure.

A filter is words and ``key:value`` terms separated by blanks, all of which must match; ``!`` negates a term::

    wifi "two words" status:failed|warn src:openclaw !dev:emulator age:<5m re:/step \d+ of/

A word is searched in all fields, ignoring case. ``|`` separates alternatives of a key. Parsing never fails: ``problem`` describes the
first invalid term, and the rest is used.

Patterns have at most 200 characters and limited cost: in one text (``pattern_cost``) and in all texts (``pattern_budget``).
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

from clawperator.engine.filters.pattern_budget import PatternBudget
from clawperator.engine.filters.pattern_cost import MAX_REACH, SAFER, cost_of

KEYS: Final = (
    "cmd",
    "task",
    "src",
    "status",
    "code",
    "type",
    "step",
    "dev",
    "age",
    "tag",
    "level",
    "pid",
    "text",
)
"""Keys, besides ``re``."""

ALIASES: Final = {
    "command": "cmd",
    "commandid": "cmd",
    "taskid": "task",
    "source": "src",
    "device": "dev",
    "serial": "dev",
    "state": "status",
    "action": "type",
    "message": "text",
    "msg": "text",
}
"""Aliases of keys."""

STATUSES: Final = {
    "success": "ok",
    "succeeded": "ok",
    "warning": "warn",
    "fail": "failed",
    "failure": "failed",
    "error": "failed",
    "run": "running",
    "queued": "waiting",
}
"""Aliases of statuses; ``ok`` is ``success`` on the wire."""

LEVELS: Final = {
    "verbose": "v",
    "debug": "d",
    "info": "i",
    "warn": "w",
    "warning": "w",
    "error": "e",
    "fatal": "f",
}
"""Aliases of log levels."""

MAX_TERMS: Final = 32
MAX_PATTERN: Final = 200


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The keys of a filter. ``words`` has aliases of values by key; ``fold`` makes values independent of letter case.

    ``strict`` is false if texts with colons are common: an unknown key is a problem only if it resembles a known one.
    """

    keys: tuple[str, ...]
    aliases: Mapping[str, str]
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    fold: Callable[[str], str] = str.casefold
    strict: bool = True
    closed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The values of keys that have no others. The beginning of one is one that is being typed."""


_VALUES: Final = {
    "status": ("ok", "warn", "failed", "refused", "interrupted", "running", "waiting", "skipped", "unknown"),
    "level": ("v", "d", "i", "w", "e", "f"),
}
RUNS: Final = Vocabulary(KEYS, ALIASES, {"status": STATUSES, "level": LEVELS}, closed=_VALUES)
HISTORY: Final = replace(RUNS, keys=tuple(key for key in KEYS if key not in ("tag", "level")))
"""Of recorded runs, which are no lines of a log."""
_EXACT: Final = frozenset({"pid", "level"})
"""Keys that match the whole field: ``pid:12`` does not match ``1234``."""

_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_AGE = re.compile(r"([<>]?)(\d{1,9}(?:\.\d{1,3})?)([smhd])")

_TERM = re.compile(
    r"(?P<no>!?)(?:(?P<key>[A-Za-z]+(?:-[A-Za-z]+)*):(?!//))?"
    r'(?:"(?P<quoted>(?:[^"\\]|\\.)*)"?|(?P<bare>\S+))?',
    re.DOTALL,
)
_PATTERN = re.compile(r"(?P<no>!?)[rR][eE]:(?:/(?P<slashed>(?:[^/\\]|\\.)*)/?|(?P<bare>\S*))", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Term:
    """One condition. ``key`` is canonical, ``""`` for a word or pattern in any field.

    ``value`` is case-folded and not empty. Only ``re:/…/`` has a ``pattern``, only ``age`` has ``seconds`` and a ``comparison``
    (``<`` or ``>``). ``text`` is the term as typed, at ``column``.
    """

    negated: bool
    key: str
    value: str
    pattern: re.Pattern[str] | None = None
    seconds: float = 0.0
    comparison: str = ""
    text: str = ""
    column: int = 0
    reach: int = MAX_REACH
    """Number of characters of a text that ``pattern`` searches."""
    budget: PatternBudget = field(default_factory=PatternBudget, compare=False, repr=False)

    @property
    def values(self) -> tuple[str, ...]:
        """The alternatives; a word is its only one."""
        if not self.key or self.key in ("text", "age"):
            return (self.value,)
        return tuple(value for value in self.value.split("|") if value) or (self.value,)

    def found_in(self, text: str) -> bool:
        """Return whether the field ``text`` matches, ignoring ``negated``."""
        if self.pattern is not None:
            return self.budget.search(self.pattern, text, self.reach)
        folded = text.casefold()
        if self.key in _EXACT:
            return folded in self.values
        return any(value in folded for value in self.values)

    def allows_age(self, seconds: float) -> bool:
        """Return whether an ``age`` term matches this age, ignoring ``negated``."""
        return seconds < self.seconds if self.comparison == "<" else seconds > self.seconds


@dataclass(frozen=True, slots=True)
class Filter:
    """A parsed line. ``problem`` describes the first invalid term at ``column`` (from 0; -1 without one)."""

    text: str = ""
    terms: tuple[Term, ...] = ()
    problem: str = ""
    column: int = -1

    def __bool__(self) -> bool:
        return bool(self.terms)

    @property
    def stopped(self) -> str:
        """Why the result is incomplete: a pattern exceeded its time; else empty."""
        slow = next((term.text or term.value for term in self.terms if term.budget.stopped), "")
        return f"{slow} was stopped: it takes too long over these texts – {SAFER}" if slow else ""


NO_FILTER: Final = Filter()


class _Problem(NamedTuple):
    column: int
    words: str


def parse_filter(text: str, vocabulary: Vocabulary = RUNS) -> Filter:
    """Parse a filter line; never raises."""
    terms: list[Term] = []
    problems: list[_Problem] = []
    for read in _read(text, vocabulary):
        if isinstance(read, _Problem):
            problems.append(read)
        elif len(terms) < MAX_TERMS:
            terms.append(read)
        else:
            problems.append(_Problem(read.column, f"more than {MAX_TERMS} terms"))
            break
    column, problem = min(problems, default=(-1, ""))
    return Filter(text, tuple(terms), problem, column)


def _read(text: str, vocabulary: Vocabulary) -> Iterator[Term | _Problem]:
    position = 0
    while position < len(text):
        if text[position].isspace():
            position += 1
            continue
        match = _PATTERN.match(text, position) or _TERM.match(text, position)
        assert match is not None
        if match.re is _PATTERN:
            yield from _pattern_term(match)
        else:
            yield from _plain_term(match, vocabulary)
        position = max(match.end(), position + 1)


def _plain_term(match: re.Match[str], vocabulary: Vocabulary) -> Iterator[Term | _Problem]:
    column, typed = match.start(), match[0]
    key = (match["key"] or "").lower()
    value = match["bare"] if match["quoted"] is None else _ESCAPED.sub(r"\1", match["quoted"])
    negated = bool(match["no"])
    if not value:
        return  # incomplete input
    canonical = vocabulary.aliases.get(key, key)
    if key and canonical not in vocabulary.keys:
        if problem := _no_such_key(key, vocabulary):
            yield _Problem(column + negated, problem)
        yield Term(negated, "", vocabulary.fold(f"{key}:{value}"), text=typed, column=column)
    elif canonical == "age":
        yield from _age_term(match, value)
    else:
        folded = vocabulary.fold(value)
        if (words := vocabulary.words.get(canonical)) is not None:
            folded = "|".join(words.get(word, word) for word in folded.split("|"))
        if problem := _no_such_value(canonical, folded, vocabulary):
            yield _Problem(column, problem)
        yield Term(negated, canonical, folded, text=typed, column=column)


def _no_such_key(key: str, vocabulary: Vocabulary) -> str:
    near = difflib.get_close_matches(key, [*vocabulary.keys, *vocabulary.aliases, "re"], n=1, cutoff=0.7)
    if near:
        return f"no key {key}: – is {near[0]}: meant?"
    if not vocabulary.strict or "-" in key:
        return ""
    return f"no key {key}: – there are {' '.join(vocabulary.keys)} re"


def _no_such_value(key: str, value: str, vocabulary: Vocabulary) -> str:
    if key == "pid":
        return "" if all(part.isdigit() for part in value.split("|") if part) else f"no pid: {value} – it is a number"
    known = vocabulary.closed.get(key)
    if known is None:
        return ""
    begun = (*known, *vocabulary.words.get(key, ()))
    wrong = next((part for part in value.split("|") if not any(each.startswith(part) for each in begun)), "")
    return f"no {key}: {wrong} – there are {' '.join(known)}" if wrong else ""


def _age_term(match: re.Match[str], value: str) -> Iterator[Term | _Problem]:
    found = _AGE.fullmatch(value.casefold())
    if found is None:
        yield _Problem(match.start(), f"no age: {value} – such as <5m or >1h, in s m h d")
        return
    comparison, number, unit = found.groups()
    yield Term(
        bool(match["no"]),
        "age",
        value.casefold(),
        seconds=float(number) * _SECONDS[unit],
        comparison=comparison or "<",
        text=match[0],
        column=match.start(),
    )


# -- patterns


def _pattern_term(match: re.Match[str]) -> Iterator[Term | _Problem]:
    source = match["bare"] if match["slashed"] is None else match["slashed"]
    at = match.start("bare" if match["slashed"] is None else "slashed")
    if not source:
        return
    if len(source) > MAX_PATTERN:
        yield _Problem(at, f"a pattern of {len(source)} characters – {MAX_PATTERN} at most")
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pattern = re.compile(source, re.IGNORECASE)
    except (re.error, OverflowError, RecursionError) as exc:
        place = getattr(exc, "pos", None) or 0
        yield _Problem(at + place, f"no pattern: {getattr(exc, 'msg', exc)}")
        return
    cost = cost_of(source)
    if cost.problem:
        yield _Problem(at + cost.column, cost.problem)
        return
    yield Term(bool(match["no"]), "", source.casefold(), pattern, text=match[0], column=match.start(), reach=cost.reach)
