"""The stream's filter line: words and ``key:value`` terms, each negated by ``!``, all of which must hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from clawperator.widgets.models.executions import Execution, Item, Mark

if TYPE_CHECKING:
    from clawperator.engine.logcat.entries import LogEntry

_TERM = re.compile(r"(!?)(?:([a-z]+):)?(\S+)")

_OF_EXECUTION: dict[str, Callable[[Execution], str]] = {
    "cmd": lambda item: item.command_id,
    "task": lambda item: item.task_id,
    "src": lambda item: item.source,
    "status": lambda item: item.status.word,
    "code": lambda item: item.code,
    "type": lambda item: " ".join(step.type for step in item.steps),
    "step": lambda item: " ".join(step.id for step in item.steps),
    "dev": lambda item: item.device_id,
}
_OF_ENTRY: dict[str, Callable[[LogEntry], str]] = {
    "tag": lambda entry: entry.tag,
    "level": lambda entry: entry.level,
    "pid": lambda entry: str(entry.pid),
}
KEYS = (*_OF_EXECUTION, *_OF_ENTRY)
"""Words that may stand before a colon."""


class Term(NamedTuple):
    """``key`` is empty for a bare word, which is looked for everywhere. ``value`` is in lower case."""

    negated: bool
    key: str
    value: str


class StreamFilter(NamedTuple):
    """A parsed filter line; ``problem`` names a key that does not exist."""

    text: str = ""
    terms: tuple[Term, ...] = ()
    problem: str = ""

    def __bool__(self) -> bool:
        return bool(self.terms)

    def keeps(self, item: Item) -> bool:
        """Whether an execution or a mark is shown. Marks are bad news: only a negated or foreign word hides them."""
        if isinstance(item, Mark):
            return all(
                (term.value in f"{item.kind} {item.text}".lower()) != term.negated
                for term in self.terms
                if not term.key
            )
        return all(_holds(item, term) != term.negated for term in self.terms)

    def keeps_entry(self, entry: LogEntry) -> bool:
        """Whether a log line is shown; terms about executions look at the whole line."""
        return all(_entry_holds(entry, term) != term.negated for term in self.terms)

    def culprit(self, items: Sequence[Item]) -> str:
        """The first term that alone hides every execution, as typed; empty if there is none."""
        executions = [item for item in items if isinstance(item, Execution)]
        for term in self.terms:
            if not any(_holds(item, term) != term.negated for item in executions):
                return f"{'!' * term.negated}{term.key}{':' * bool(term.key)}{term.value}"
        return ""


NO_FILTER = StreamFilter()


def parse_filter(text: str) -> StreamFilter:
    """Read a filter line; never fails, an unknown key is named in ``problem`` and taken as part of the word."""
    terms: list[Term] = []
    problem = ""
    for negation, key, value in _TERM.findall(text):
        if key and key not in KEYS:
            problem = f"no key {key}: – there are {' '.join(KEYS)}"
            terms.append(Term(bool(negation), "", f"{key}:{value}".lower()))
        else:
            terms.append(Term(bool(negation), key, value.lower()))
    return StreamFilter(text, tuple(terms), problem)


def _holds(item: Execution, term: Term) -> bool:
    if term.key in _OF_EXECUTION:
        return term.value in _OF_EXECUTION[term.key](item).lower()
    if term.key:
        return False
    return any(term.value in read(item).lower() for read in _OF_EXECUTION.values()) or any(
        term.value in line.text.lower() for line in item.lines
    )


def _entry_holds(entry: LogEntry, term: Term) -> bool:
    if term.key in _OF_ENTRY:
        return term.value in _OF_ENTRY[term.key](entry).lower()
    return term.value in entry.message.lower() or term.value in entry.tag.lower()
