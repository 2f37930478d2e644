"""Filter terms applied to executions, marks and log lines.

A term about executions (``cmd:``, ``src:``, ``code:`` …) searches the whole of a log line. A term about log lines
(``tag:``, ``level:``, ``pid:``) matches no execution. Only words, ``dev:`` and ``age:`` hide marks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from clawperator.engine.filters.grammar import Filter, Term
from clawperator.engine.logcat.entry import decode
from clawperator.widgets.models.execution import ExecutionState, Item, Mark

if TYPE_CHECKING:
    from clawperator.engine.logcat.entry import LogEntry

_OF_EXECUTION: dict[str, Callable[[ExecutionState], str]] = {
    "cmd": lambda item: item.command_id,
    "task": lambda item: item.task_id,
    "src": lambda item: item.source,
    "status": lambda item: item.status.word,
    "code": lambda item: item.code,
    "type": lambda item: " ".join(step.type for step in item.steps),
    "step": lambda item: " ".join(step.id for step in item.steps),
    "dev": lambda item: item.device_id,
    "text": lambda item: "\n".join([item.message, *(line.text for line in item.lines)]),
}
EntryTest: TypeAlias = "Callable[[LogEntry, str], bool]"


def keeps(where: Filter, item: Item, now: float) -> bool:
    """Return whether an execution or a mark matches at ``now``, in seconds since the epoch."""
    if isinstance(item, Mark):
        return all(_mark_holds(item, term, now) != term.negated for term in where.terms)
    return all(_execution_holds(item, term, now) != term.negated for term in where.terms)


def entry_test(where: Filter, now: float) -> EntryTest:
    """Return the test of a log line and its device's serial. The age of a line is by the device's clock; one without a time has none."""
    tests = [(_entry_test(term, now), term.negated) for term in where.terms]

    def holds(entry: LogEntry, device_id: str) -> bool:
        for test, negated in tests:  # noqa: SIM110 -- any() of a generator takes twice as long
            if test(entry, device_id) == negated:
                return False
        return True

    return holds


def ages(where: Filter) -> bool:
    """Return whether the matches change as time passes."""
    return any(term.key == "age" for term in where.terms)


def culprit(where: Filter, items: Iterable[Item], now: float) -> str:
    """Return the first term that alone hides every execution, as typed; empty without one."""
    executions = [item for item in items if isinstance(item, ExecutionState)]
    for term in where.terms:
        if not any(_execution_holds(item, term, now) != term.negated for item in executions):
            return term.text
    return ""


def with_command(where: Filter, command_id: str) -> Filter:
    """Return ``where`` restricted to exactly this command."""
    whole = re.compile(rf"(?<![\w-]){re.escape(command_id)}(?![\w-])", re.IGNORECASE)
    term = Term(False, "cmd", command_id.casefold(), whole, text=f"cmd:{command_id}")
    return Filter(where.text, (term, *where.terms), where.problem, where.column)


def _execution_holds(item: ExecutionState, term: Term, now: float) -> bool:
    if term.key == "age":
        return term.allows_age(now - item.started)
    if term.key:
        read = _OF_EXECUTION.get(term.key)
        return read is not None and term.found_in(read(item))
    return any(term.found_in(read(item)) for read in _OF_EXECUTION.values())


def _mark_holds(mark: Mark, term: Term, now: float) -> bool:
    if term.key == "age":
        return term.allows_age(now - mark.at)
    if term.key == "dev":
        return term.found_in(mark.device_id)
    if term.key in ("", "text") or term.pattern is not None:
        return term.found_in(f"{mark.kind} {mark.text}\n{mark.raw}")
    return not term.negated


def _entry_test(term: Term, now: float) -> EntryTest:
    """Tags, levels, processes and devices are few: each is compared once."""
    found = cache(term.found_in)
    match term.key:
        case "age":
            return lambda entry, _: term.allows_age(now - entry.time)
        case "dev":
            return lambda _, device_id: found(device_id)
        case "tag":
            return lambda entry, _: found(entry.tag)
        case "level":
            return lambda entry, _: found(entry.level)
        case "pid":
            return lambda entry, _: found(str(entry.pid))
    in_message = _message_test(term)
    if term.key:
        return lambda entry, _: in_message(entry.payload)
    return lambda entry, _: in_message(entry.payload) or found(entry.tag)


def _message_test(term: Term) -> Callable[[bytes], bool]:
    """A word is searched in the bytes of a message where case is a matter of ASCII."""
    if term.pattern is not None:
        return lambda payload: term.found_in(decode(payload))
    words = [value.encode() for value in term.values if value.isascii()]
    if len(words) == 1:
        (only,) = words
        return lambda payload: only in payload.lower() if payload.isascii() else term.found_in(decode(payload))

    def holds(payload: bytes) -> bool:
        if not payload.isascii():
            return term.found_in(decode(payload))
        lower = payload.lower()
        for word in words:  # noqa: SIM110 -- any() of a generator takes twice as long
            if word in lower:
                return True
        return False

    return holds
