"""Filter terms applied to executions, marks, log lines, and chunks of log lines.

A term about executions (``cmd:``, ``src:``, ``code:`` …) searches the whole of a log line. A term about log lines
(``tag:``, ``level:``, ``pid:``) matches no execution. Only words, ``dev:`` and ``age:`` hide marks.
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
    """Return whether an execution or a mark matches at ``now``, in seconds since the epoch."""
    if isinstance(item, Mark):
        return all(_mark_holds(item, term, now) != term.negated for term in where.terms)
    return all(_execution_holds(item, term, now) != term.negated for term in where.terms)


def keeps_entry(where: Filter, entry: LogEntry, device_id: str, now: float) -> bool:
    """Return whether a log line matches. Its age is by the device's clock; a line without a time has none."""
    return all(_entry_holds(entry, term, device_id, now) != term.negated for term in where.terms)


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


def _entry_holds(entry: LogEntry, term: Term, device_id: str, now: float) -> bool:
    if term.key == "age":
        return term.allows_age(now - entry.time)
    if term.key == "dev":
        return term.found_in(device_id)
    if (read := _OF_ENTRY.get(term.key)) is not None:
        return term.found_in(read(entry))
    return term.found_in(entry.message) or (not term.key and term.found_in(entry.tag))


# -- chunks


def chunk_rows(chunk: Chunk, where: Filter, now: float, among: AbstractSet[int] | None = None) -> list[int]:
    """Return the rows of a chunk that ``keeps_entry`` matches, ascending; of ``among`` where given."""
    rows = among
    for term in sorted(where.terms, key=_cost):
        hits = _hits(chunk, term, now, rows)
        if term.negated:
            rows = (set(range(chunk.count)) if rows is None else rows) - hits
        else:
            rows = hits if rows is None else rows & hits
        if not rows:
            return []
    return list(range(chunk.count)) if rows is None else sorted(rows)


def _cost(term: Term) -> int:
    """Order columns before words, and words before tests per line."""
    if term.pattern is not None or term.key == "age":
        return 2
    return 0 if term.key in ("tag", "level", "pid", "dev") else 1


def _hits(chunk: Chunk, term: Term, now: float, among: AbstractSet[int] | None) -> AbstractSet[int]:
    """Return the rows that match a term, ignoring ``negated``; it may leave out rows that are not ``among``."""
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
