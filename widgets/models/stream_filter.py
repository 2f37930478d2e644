"""What the terms of a filter mean for an execution, for bad news (a mark), for a log line, and for a chunk of log lines.

A term about executions (``cmd:``, ``src:``, ``code:`` …) looks at the whole of a log line. A term about log lines
(``tag:``, ``level:``, ``pid:``) holds for no execution. Marks are bad news: only words and ``dev:`` or ``age:`` hide them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from clawperator.engine.filters.grammar import Filter, Term
from clawperator.engine.logcat.entry import decode
from clawperator.widgets.models.execution import ExecutionState, Item, Mark

if TYPE_CHECKING:
    from clawperator.engine.logcat.entry import LogEntry
    from clawperator.widgets.models.line_chunk import Chunk

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
_OF_ENTRY: dict[str, Callable[[LogEntry], str]] = {
    "tag": lambda entry: entry.tag,
    "level": lambda entry: entry.level,
    "pid": lambda entry: str(entry.pid),
}


def keeps(where: Filter, item: Item, now: float) -> bool:
    """Whether an execution or a mark is shown at ``now``, in seconds since the epoch."""
    if isinstance(item, Mark):
        return all(_mark_holds(item, term, now) != term.negated for term in where.terms)
    return all(_execution_holds(item, term, now) != term.negated for term in where.terms)


def keeps_entry(where: Filter, entry: LogEntry, device_id: str, now: float) -> bool:
    """Whether a log line is shown. Its age is told by the device's clock; a line without a time is of no age."""
    return all(_entry_holds(entry, term, device_id, now) != term.negated for term in where.terms)


def ages(where: Filter) -> bool:
    """Whether what is kept changes as time passes."""
    return any(term.key == "age" for term in where.terms)


def culprit(where: Filter, items: Iterable[Item], now: float) -> str:
    """The first term that alone hides every execution, as typed; empty if there is none."""
    executions = [item for item in items if isinstance(item, ExecutionState)]
    for term in where.terms:
        if not any(_execution_holds(item, term, now) != term.negated for item in executions):
            return term.text
    return ""


def with_command(where: Filter, command_id: str) -> Filter:
    """``where`` and nothing but this one command, which is no part of a longer name."""
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


def _entry_holds(entry: LogEntry, term: Term, device_id: str, now: float) -> bool:
    if term.key == "age":
        return term.allows_age(now - entry.time)
    if term.key == "dev":
        return term.found_in(device_id)
    if (read := _OF_ENTRY.get(term.key)) is not None:
        return term.found_in(read(entry))
    return term.found_in(entry.message) or (not term.key and term.found_in(entry.tag))


# -- many lines at once


def chunk_rows(chunk: Chunk, where: Filter, now: float, among: AbstractSet[int] | None = None) -> list[int]:
    """The rows of a chunk that ``keeps_entry`` keeps, rising; of ``among`` where that is given."""
    rows = among
    for term in sorted(where.terms, key=_dear):
        hits = _hits(chunk, term, now, rows)
        if term.negated:
            rows = (set(range(chunk.count)) if rows is None else rows) - hits
        else:
            rows = hits if rows is None else rows & hits
        if not rows:
            return []
    return list(range(chunk.count)) if rows is None else sorted(rows)


def _dear(term: Term) -> int:
    """Columns before words, words before what looks at each line that is left."""
    if term.pattern is not None or term.key == "age":
        return 2
    return 0 if term.key in ("tag", "level", "pid", "dev") else 1


def _hits(chunk: Chunk, term: Term, now: float, among: AbstractSet[int] | None) -> AbstractSet[int]:
    """The rows for which a term holds, ``negated`` left aside; it may leave out rows that are not ``among``."""
    if (column := _column(chunk, term)) is not None:
        return column
    hits: AbstractSet[int]
    if term.pattern is not None or term.key == "age":
        if among is None:
            among = chunk.rows_with(term.value) if term.key == "cmd" else set(range(chunk.count))  # see with_command
        hits = {row for row in among if _row_holds(chunk, row, term, now)}
    else:
        hits = set().union(*(chunk.rows_with(value, among) for value in term.values))
    return hits if term.key else hits | chunk.tags.rows_where(term.found_in, chunk.count)


def _column(chunk: Chunk, term: Term) -> AbstractSet[int] | None:
    match term.key:
        case "tag":
            return chunk.tags.rows_where(term.found_in, chunk.count)
        case "level":
            return chunk.levels.rows_where(term.found_in, chunk.count)
        case "dev":
            return chunk.devices.rows_where(term.found_in, chunk.count)
        case "pid":
            return chunk.pids.rows_where(lambda pid: term.found_in(str(pid)), chunk.count)
    return None


def _row_holds(chunk: Chunk, row: int, term: Term, now: float) -> bool:
    return term.allows_age(now - chunk[row].time) if term.key == "age" else term.found_in(decode(chunk.payloads[row]))
