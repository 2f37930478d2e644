"""Writing rows: when a run begins, when it ends, and when two processes record the same run."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Iterable
from typing import Any

from clawperator.engine.contracts.limits import MODES
from clawperator.engine.executions.headline import headline
from clawperator.engine.history.compression import pack, pack_text, to_json, unpack
from clawperator.engine.history.process_identity import alive, token
from clawperator.engine.history.records import (
    AuditRecord,
    LineRecord,
    RunRecord,
    RunSummary,
    StepRecord,
    TreeRecord,
    step_records,
)
from clawperator.engine.history.row_builders import DIED, planned_steps, unknown_outcome

_SAME_DEVICE = "(device_id = ? OR (phone <> '' AND phone = ?))"
_COLUMNS = (*(name for name in RunSummary._fields if name != "number"), "action_types", "process", "message")
_COMPILED = MODES[0]
_PART = re.compile(r"-p[0-9]{1,3}\Z")
"""The suffix of the command ids of a recipe's executions after the first (skills.md#optional-steps)."""
_LATE_SECONDS = 2.0
"""How much later than its own process another one may see a run in the log."""
_OVERDUE_SECONDS = 600.0
"""How long after its time limit a run can no longer be running."""

_INSERT = f"INSERT INTO executions ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608 -- our own names
_UPDATE = f"UPDATE executions SET {', '.join(f'{name} = ?' for name in _COLUMNS)} WHERE number = ?"  # noqa: S608 -- our own names


def put_run(db: sqlite3.Connection, run: RunRecord) -> int:
    """Write ``run``, replacing what is known of that execution; return its number.

    A run that two processes record is kept once: the row of the process that made it, completed by the other.
    """
    twin = _twin(db, run.summary)
    if twin is not None and run.summary.origin == "seen":
        _fill(db, twin, run)
        return twin
    number = _put_row(db, run)
    _put_children(db, number, run)
    if twin is not None:
        _adopt(db, number, twin)
    return number


def put_late(db: sqlite3.Connection, run: RunRecord) -> None:
    """Add the late result of ``run`` to the newest run of its command, unless that has a result."""
    row = db.execute(
        f"SELECT number FROM executions WHERE command_id = ? AND {_SAME_DEVICE} AND status <> 'refused' AND started_at <= ? "  # noqa: S608 -- our own names
        "ORDER BY number DESC LIMIT 1",
        (*map(_storable, (run.summary.command_id, run.summary.device_id, run.summary.phone)), run.summary.ended_at),
    ).fetchone()
    if row is not None and not _has(db, "envelopes", row[0]):
        _put_envelope(db, row[0], run)


def put_audit(db: sqlite3.Connection, row: AuditRecord) -> None:
    if row.mode == _COMPILED and not row.skill_id:
        row = _with_skill(db, row)
    values = [_storable(" ".join(value) if isinstance(value, tuple) else value) for value in row[:-1]]
    db.execute(f"INSERT INTO audit ({', '.join(row._fields[:-1])}) VALUES ({', '.join('?' * len(values))})", values)  # noqa: S608 -- our own names


def _with_skill(db: sqlite3.Connection, row: AuditRecord) -> AuditRecord:
    """Return ``row`` with the skill of its command id: the same inputs compile to the same id."""
    found = db.execute(
        "SELECT skill_id, recipe_id, artifact FROM audit WHERE event = 'compile' AND command_id = ? "
        "ORDER BY number DESC LIMIT 1",
        (_storable(_PART.sub("", row.command_id)),),
    ).fetchone()
    return row if found is None else row._replace(skill_id=found[0], recipe_id=found[1], artifact=found[2])


def dead_runs(db: sqlite3.Connection, now: float = -math.inf) -> list[int]:
    """Return the runs marked as running whose process is gone, or that are overdue at ``now``, if given."""
    rows = db.execute(
        "SELECT number, pid, process, started_at, timeout_ms FROM executions WHERE status = 'running'"
    ).fetchall()
    return [
        number
        for number, pid, process, began, timeout_ms in rows
        if now - began > timeout_ms / 1000 + _OVERDUE_SECONDS or not alive(pid, process)
    ]


def mark_interrupted(db: sqlite3.Connection, numbers: Iterable[int]) -> None:
    for number in numbers:
        payload = db.execute("SELECT payload FROM details WHERE number = ?", (number,)).fetchone()
        outcome = unknown_outcome(planned_steps(unpack(payload[0]) if payload else None))
        db.execute(
            "UPDATE executions SET status = 'interrupted', code = 'INTERRUPTED', message = ?, outcome = ? "
            "WHERE number = ? AND status = 'running'",
            (DIED, to_json(outcome.to_dict()), number),
        )
        if not _has(db, "steps", number):
            _put_steps(db, number, step_records(outcome.steps))


def put_died(db: sqlite3.Connection, run: RunRecord, audit: AuditRecord) -> None:
    """Write a run whose process died or could not write its end, unless its row has one."""
    known = db.execute("SELECT status FROM executions WHERE execution_id = ?", (run.summary.execution_id,)).fetchone()
    if known is None:
        put_audit(db, audit)
    if known is None or (known[0] == "running" and run.summary.status != "interrupted"):
        put_run(db, run)


# -- one run


def _put_row(db: sqlite3.Connection, run: RunRecord) -> int:
    process = token(run.summary.pid) if run.summary.status == "running" else ""
    types = " ".join(dict.fromkeys(step.type for step in run.steps if step.type))
    outcome = run.summary.outcome
    action = run.summary.action or headline(run.payload, outcome, ((step.id, step.type) for step in run.steps))
    stored = run.summary._asdict() | {
        "outcome": "" if outcome is None else to_json(outcome),
        "action": action,
        "action_types": types,
        "process": process,
        "message": run.message,
    }
    values = [_storable(stored[name]) for name in _COLUMNS]
    known = db.execute("SELECT number FROM executions WHERE execution_id = ?", (run.summary.execution_id,)).fetchone()
    if known is None:
        return db.execute(_INSERT, values).lastrowid or 0
    db.execute(_UPDATE, [*values, known[0]])
    return int(known[0])


def _put_children(db: sqlite3.Connection, number: int, run: RunRecord) -> None:
    payload = None if run.payload is None else pack(run.payload)
    db.execute(
        "INSERT OR REPLACE INTO details (number, payload, phases, warnings) VALUES (?, ?, ?, ?)",
        (number, payload, to_json(run.phases), to_json(run.warnings)),
    )
    if run.summary.status == "running":
        return
    known = any(step.status != "unknown" for step in run.steps)
    if known or not _has(db, "steps", number):  # another process may have recorded more
        _put_steps(db, number, run.steps)
    _put_envelope(db, number, run)
    _put_lines(db, number, run.lines)
    if run.trees:
        _put_trees(db, number, run.trees)


def _put_steps(db: sqlite3.Connection, number: int, steps: Iterable[StepRecord]) -> None:
    db.execute("DELETE FROM steps WHERE number = ?", (number,))
    db.executemany(
        "INSERT INTO steps (number, position, id, type, status, code, started_at, ended_at, retries) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(number, *map(_storable, step[:-1])) for step in steps],
    )


def _put_envelope(db: sqlite3.Connection, number: int, run: RunRecord) -> None:
    if run.envelope is not None or run.raw:
        answer: dict[str, Any] = {"envelope": run.envelope, "raw": run.raw}
        if run.summary.origin == "seen":
            answer["at"] = run.summary.ended_at  # its caller may have got a timeout before
        content = pack(answer)
        db.execute("INSERT OR REPLACE INTO envelopes (number, content) VALUES (?, ?)", (number, content))


def _put_lines(db: sqlite3.Connection, number: int, lines: Iterable[LineRecord]) -> None:
    kept = [(line.at, line.kind, line.text) for line in lines]
    if kept:
        db.execute("INSERT OR REPLACE INTO lines (number, content) VALUES (?, ?)", (number, pack(kept)))


def _put_trees(db: sqlite3.Connection, number: int, trees: Iterable[TreeRecord]) -> None:
    db.execute("DELETE FROM snapshots WHERE number = ?", (number,))
    for position, tree in enumerate(trees):
        if db.execute("SELECT 1 FROM contents WHERE digest = ?", (tree.digest,)).fetchone() is None:
            db.execute(
                "INSERT INTO contents (digest, characters, content) VALUES (?, ?, ?)",
                (tree.digest, len(tree.text), pack_text(tree.text)),
            )
        db.execute(
            "INSERT INTO snapshots (number, position, step_id, at, digest, complete) VALUES (?, ?, ?, ?, ?, ?)",
            (number, position, _storable(tree.step_id), tree.at, tree.digest, tree.complete),
        )


# -- runs that two processes record


def _twin(db: sqlite3.Connection, run: RunSummary) -> int | None:
    """Return the row of the same run by another process: same command, phone and time, and at least one of them ``seen``."""
    if run.status in ("running", "refused") or not run.device_id:
        return None
    end = run.ended_at if math.isfinite(run.ended_at) else run.started_at
    row = db.execute(
        f"SELECT number FROM executions WHERE command_id = ? AND {_SAME_DEVICE} AND execution_id <> ? "  # noqa: S608 -- our own names
        "AND (origin = 'seen' OR ? = 'seen') AND status <> 'refused' "
        "AND started_at <= ? AND coalesce(ended_at, started_at + timeout_ms / 1000 + ?) >= ? "
        "ORDER BY origin = 'seen', abs(started_at - ?) LIMIT 1",
        (
            *map(_storable, (run.command_id, run.device_id, run.phone, run.execution_id)),
            run.origin,
            end + _LATE_SECONDS,
            _OVERDUE_SECONDS,
            run.started_at - _LATE_SECONDS,
            run.started_at,
        ),
    ).fetchone()
    return None if row is None else int(row[0])


def _fill(db: sqlite3.Connection, number: int, run: RunRecord) -> None:
    """Complete run ``number`` by what another process saw; its own process may still write more."""
    if not _has(db, "envelopes", number):
        _put_envelope(db, number, run)
    if not _has(db, "steps", number):
        _put_steps(db, number, run.steps)
    if not _has(db, "lines", number):
        _put_lines(db, number, run.lines)
    if not _has(db, "snapshots", number):
        _put_trees(db, number, run.trees)


def _adopt(db: sqlite3.Connection, number: int, seen: int) -> None:
    """Move what only row ``seen`` has to run ``number``, then delete that row."""
    for table in ("envelopes", "lines", "steps", "snapshots"):
        if not _has(db, table, number):
            db.execute(f"UPDATE {table} SET number = ? WHERE number = ?", (number, seen))  # noqa: S608 -- our own names
    db.execute("DELETE FROM executions WHERE number = ?", (seen,))


def _has(db: sqlite3.Connection, table: str, number: int) -> bool:
    return db.execute(f"SELECT 1 FROM {table} WHERE number = ? LIMIT 1", (number,)).fetchone() is not None  # noqa: S608 -- our own names


def _storable(value: Any) -> Any:
    """Return text without lone surrogates, which SQLite's UTF-8 cannot hold."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) and not value.isascii() else value
