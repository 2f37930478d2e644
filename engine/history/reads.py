"""Reading rows: lists of runs, single runs, and the audit."""

from __future__ import annotations

import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.outcome import outcome_of
from clawperator.engine.filters.grammar import Filter
from clawperator.engine.history.compression import unpack
from clawperator.engine.history.filter_sql import condition
from clawperator.engine.history.records import (
    HOST_KINDS,
    AuditRecord,
    LateRecord,
    LineRecord,
    RunRecord,
    RunSummary,
    StepRecord,
    TreeRecord,
    step_records,
)
from clawperator.engine.logcat.progress import read_progress

_GAVE_UP = frozenset({ErrorCode.RESULT_ENVELOPE_TIMEOUT, ErrorCode.INTERRUPTED})
"""Codes of runs whose result can arrive late."""
_SUMMARY = ", ".join(f"e.{name}" for name in RunSummary._fields)
_OUTCOME = RunSummary._fields.index("outcome")
_AUDIT = ", ".join(AuditRecord._fields)


def runs(db: sqlite3.Connection, where: Filter | None, limit: int, before: int | None) -> list[RunSummary]:
    sql, values = _where(db, where)
    if before is not None:
        sql, values = f"{sql} AND e.number < ?", [*values, before]
    with _bounded(where):
        rows = db.execute(
            f"SELECT {_SUMMARY} FROM executions e WHERE {sql} ORDER BY e.number DESC LIMIT ?",  # noqa: S608 -- our own names
            [*values, limit],
        ).fetchall()
    return [_summary(row) for row in rows]


def count(db: sqlite3.Connection, where: Filter | None) -> int:
    sql, values = _where(db, where)
    with _bounded(where):
        (number,) = db.execute(f"SELECT count(*) FROM executions e WHERE {sql}", values).fetchone()  # noqa: S608 -- our own names
    return int(number)


def numbers(db: sqlite3.Connection, where: Filter | None) -> list[int]:
    """Return the numbers of all runs that match ``where``, oldest first."""
    sql, values = _where(db, where)
    with _bounded(where):
        rows = db.execute(f"SELECT e.number FROM executions e WHERE {sql} ORDER BY e.number", values).fetchall()  # noqa: S608 -- our own names
    return [number for (number,) in rows]


@contextmanager
def _bounded(where: Filter | None) -> Iterator[None]:
    """Raise ``EngineError`` (INVALID_PARAMETER) if a pattern of ``where`` exceeded its time: the result would be incomplete."""
    try:
        yield
    except sqlite3.OperationalError:
        if where is None or not where.stopped:
            raise
        raise EngineError(
            ErrorCode.INVALID_PARAMETER,
            f"'filter': {where.stopped}",
            hint="Look for words, or narrow the filter with age:, dev: or status:.",
            details={"path": "filter"},
        ) from None


def _where(db: sqlite3.Connection, where: Filter | None) -> tuple[str, list[float]]:
    meant = condition(where)
    meant.attach(db)
    return meant.sql, list(meant.values)


def find(db: sqlite3.Connection, key: str | int) -> RunRecord | None:
    ways: list[tuple[str, str | int]] = [("e.execution_id = ?", str(key)), ("e.command_id = ?", str(key))]
    if isinstance(key, int) or (key.isascii() and key.isdigit() and len(key) < 19):
        ways.insert(0, ("e.number = ?", int(key)))
    ways.append(("? = 'last'", str(key)))
    for sql, value in ways:
        row = db.execute(
            f"SELECT {_SUMMARY}, e.message FROM executions e WHERE {sql} ORDER BY e.number DESC LIMIT 1",  # noqa: S608 -- our own names
            (value.encode("utf-8", "replace").decode() if isinstance(value, str) else value,),
        ).fetchone()
        if row is not None:
            return _record(db, _summary(row[:-1]), row[-1])
    return None


def contents(db: sqlite3.Connection, digest: str) -> list[bytes]:
    """Return the compressed texts of up to two trees whose digest begins with ``digest``."""
    if not digest or not set(digest) <= set("0123456789abcdef"):
        return []
    rows = db.execute("SELECT content FROM contents WHERE digest >= ? AND digest < ? LIMIT 2", (digest, digest + "g"))
    return [content for (content,) in rows]


def audit(
    db: sqlite3.Connection, limit: int, before: int | None, events: Sequence[str], device_id: str
) -> list[AuditRecord]:
    """Return the entries of the audit, newest first; those of all serials of the phone of ``device_id``."""
    sql, values = "number < ?", list[object]([before if before is not None else 1 << 62])
    if events:
        sql, values = f"{sql} AND event IN ({', '.join('?' * len(events))})", [*values, *events]
    if device_id:
        same = "SELECT phone FROM executions WHERE phone <> '' AND device_id = ?"
        runs_of = f"SELECT execution_id FROM executions WHERE phone IN ({same})"  # noqa: S608 -- our own names
        sql, values = f"{sql} AND (device_id = ? OR execution_id IN ({runs_of}))", [*values, device_id, device_id]
    rows = db.execute(f"SELECT {_AUDIT} FROM audit WHERE {sql} ORDER BY number DESC LIMIT ?", [*values, limit])  # noqa: S608 -- our own names
    return [_audit_record(dict(zip(AuditRecord._fields, row, strict=True))) for row in rows]


def _audit_record(row: dict[str, Any]) -> AuditRecord:
    return AuditRecord(
        **{**row, "action_types": tuple(row["action_types"].split()), "duration_ms": _moment(row["duration_ms"])}
    )


def _summary(row: Sequence[Any]) -> RunSummary:
    found = RunSummary(*row)
    return found._replace(
        started_at=_moment(found.started_at),
        ended_at=_moment(found.ended_at),
        duration_ms=_moment(found.duration_ms),
        outcome=_outcome(row[_OUTCOME]),
    )


def _outcome(text: str) -> dict[str, Any] | None:
    """Return the outcome in a row; ``None`` for a damaged one, which must not hide the other rows of a list."""
    try:
        found = json.loads(text) if text else None
    except (ValueError, TypeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _record(db: sqlite3.Connection, summary: RunSummary, message: str) -> RunRecord:
    number = summary.number
    payload, phases, warnings = db.execute(
        "SELECT payload, phases, warnings FROM details WHERE number = ?", (number,)
    ).fetchone() or (None, "{}", "[]")
    answer = unpack(_content(db, "envelopes", number)) or {}
    late = _late(summary, answer)
    if late is not None:
        answer = {}
    envelope = answer.get("envelope")
    return RunRecord(
        summary,
        message,
        unpack(payload),
        envelope,
        tuple(answer.get("raw", ())),
        _steps(db, number, envelope),
        tuple(_line(*line) for line in unpack(_content(db, "lines", number)) or ()),
        _trees(db, number),
        json.loads(phases),
        tuple(json.loads(warnings)),
        late,
    )


def _late(summary: RunSummary, answer: Mapping[str, Any]) -> LateRecord | None:
    """Return the result if it was seen after the end of the run, which another process may have written."""
    seen_at, envelope = answer.get("at"), answer.get("envelope")
    gave_up = summary.code in _GAVE_UP or (summary.origin == "seen" and summary.status == "interrupted")
    if not gave_up or seen_at is None or envelope is None or not seen_at > summary.ended_at:
        return None
    steps = step_records(outcome_of((), (), envelope).steps, _data_of(envelope))
    after = (seen_at - summary.ended_at) * 1000
    return LateRecord(seen_at, round(after, 3), envelope, tuple(answer.get("raw", ())), steps)


def _content(db: sqlite3.Connection, table: str, number: int) -> bytes | None:
    row = db.execute(f"SELECT content FROM {table} WHERE number = ?", (number,)).fetchone()  # noqa: S608 -- our own names
    return None if row is None else row[0]


def _steps(db: sqlite3.Connection, number: int, envelope: Mapping[str, Any] | None) -> tuple[StepRecord, ...]:
    """Return the steps; their data are in the envelope."""
    data = _data_of(envelope)
    rows = db.execute(
        "SELECT position, id, type, status, code, started_at, ended_at, retries FROM steps WHERE number = ? ORDER BY position",
        (number,),
    )
    return tuple(
        StepRecord(index, step_id, kind, status, code, _moment(began), _moment(ended), retries, data.get(step_id, {}))
        for index, step_id, kind, status, code, began, ended, retries in rows
    )


def _data_of(envelope: Mapping[str, Any] | None) -> dict[Any, Mapping[str, Any]]:
    return {step.get("id"): step.get("data") or {} for step in (envelope or {}).get("stepResults") or ()}


def _line(at: float, kind: str, text: str) -> LineRecord:
    """Return a line with the fields of its text."""
    progress = None if kind in HOST_KINDS else read_progress(text)
    return LineRecord(at, kind, text, progress[1] if progress else {})


def _trees(db: sqlite3.Connection, number: int) -> tuple[TreeRecord, ...]:
    rows = db.execute(
        "SELECT s.step_id, s.at, s.digest, c.characters, s.complete FROM snapshots s JOIN contents c USING (digest) "
        "WHERE s.number = ? ORDER BY s.position",
        (number,),
    )
    return tuple(
        TreeRecord(step, _moment(at), digest, size, bool(complete)) for step, at, digest, size, complete in rows
    )


def _moment(value: float | None) -> float:
    return math.nan if value is None else float(value)
