"""A filter (``engine/filters/grammar.py``) as an SQL condition over the runs; the terms themselves compare texts.

Execution ids are not searched: short words match many of them. Runs have no ``tag`` and ``level``. Values of ``status``: ``ok``,
``warn`` (a success with failed steps), ``failed`` (any other end), ``refused``, ``interrupted``, ``running``.
"""

from __future__ import annotations

import sqlite3
import time
from typing import NamedTuple

from clawperator.engine.filters.grammar import Filter, Term

_BETWEEN = " || char(31) || "
"""Separates columns that are searched as one text."""

_STATUS = (
    "CASE WHEN e.status = 'success' THEN CASE WHEN e.failed_steps THEN 'warn' ELSE 'ok' END "
    "WHEN e.status IN ('refused', 'interrupted') THEN e.status || ' failed' ELSE e.status END"
)
_EVERYWHERE = (
    "command_id", "task_id", "source", "device_id", "code", "message", "action_types", "package", "face", "action"
)  # fmt: skip
_FIELDS = {
    "": _BETWEEN.join((*(f"e.{name}" for name in _EVERYWHERE), _STATUS)),
    "cmd": "e.command_id",
    "task": "e.task_id",
    "src": "e.source",
    "status": _STATUS,
    "code": "e.code",
    "type": "e.action_types",
    "dev": "e.device_id",
    "pid": "CAST(e.pid AS TEXT)",
    "text": f"e.message{_BETWEEN}e.command_id{_BETWEEN}e.task_id",
}
_STEPS = {"": "s.id || char(31) || s.code", "code": "s.code", "step": "s.id", "text": "s.id"}
"""Columns of steps that a term searches, besides those of the run."""


class Condition(NamedTuple):
    """``sql`` follows WHERE, with ``e`` as a row of ``executions``; it calls the function that ``attach`` defines."""

    sql: str
    values: tuple[float, ...]
    terms: tuple[Term, ...]

    def attach(self, db: sqlite3.Connection) -> None:
        terms = self.terms

        def found(index: int, text: str | None) -> bool:
            holds = terms[index].found_in(text or "")
            if terms[index].budget.stopped:
                raise TimeoutError  # ends the statement; see ``reading``
            return holds

        db.create_function("found", 2, found, deterministic=True)


def condition(where: Filter | None) -> Condition:
    """Return the condition for the runs that match ``where``; without one, for all."""
    parts: list[str] = []
    values: list[float] = []
    terms = where.terms if where is not None else ()
    for index, term in enumerate(terms):
        if term.key == "age":
            values.append(time.time() - term.seconds)
            found = f"e.started_at {'>' if term.comparison == '<' else '<'} ?"
        else:
            found = _found(index, term.key)
        parts.append(f"NOT ({found})" if term.negated else f"({found})")
    return Condition(" AND ".join(parts) or "1", tuple(values), terms)


PHONE = "phone"
"""The key of a term, outside of the grammar, that is compared with serials and identities of phones: it finds all runs of such a phone."""


def _found(index: int, key: str) -> str:
    if key == PHONE:
        same = f"SELECT phone FROM executions WHERE phone <> '' AND found({index}, device_id)"  # noqa: S608 -- our own names
        return f"found({index}, e.device_id) OR found({index}, e.phone) OR e.phone IN ({same})"
    ways = [f"found({index}, {_FIELDS[key]})"] if key in _FIELDS else []
    if key in _STEPS:
        ways.append(
            f"EXISTS (SELECT 1 FROM steps s WHERE s.number = e.number AND found({index}, {_STEPS[key]}))"  # noqa: S608 -- our own names
        )
    return " OR ".join(ways) or "0"
