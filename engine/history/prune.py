"""Pruning in small steps: the oldest runs first, with the trees that no other run refers to."""

from __future__ import annotations

import math
import sqlite3
from typing import NamedTuple

RUNS_AT_ONCE = 50
"""Runs that one step removes; other writers wait for one step at most."""
_AUDITS_AT_ONCE = 1_000
PAGES_AT_ONCE = 2_000
"""Pages of 4 KB by which the file shrinks at once."""


class Pruned(NamedTuple):
    """Numbers of removed runs and trees, and the size of the file before and after."""

    runs: int
    trees: int
    bytes_before: int
    bytes_after: int

    def __add__(self, more: Pruned) -> Pruned:  # type: ignore[override]  # one after the other, not side by side
        return Pruned(self.runs + more.runs, self.trees + more.trees, self.bytes_before, more.bytes_after)


def used_bytes(db: sqlite3.Connection) -> int:
    """Return the size of the used pages, from the header."""
    pages, free, size = (
        db.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def prune_some(db: sqlite3.Connection, *, before: float, limit: float) -> Pruned:
    """Remove up to ``RUNS_AT_ONCE`` runs that began before ``before``, else the oldest while over ``limit`` bytes.

    Nothing is left to do if no run was removed.
    """
    held = used_bytes(db)
    numbers = _oldest(db, RUNS_AT_ONCE, before)
    runs, trees = len(numbers), _remove(db, numbers)
    while not numbers and used_bytes(db) > limit and runs < RUNS_AT_ONCE:
        oldest = _oldest(db, 1)
        if not oldest:
            _prune_audit(db, "1")
            break
        runs, trees = runs + 1, trees + _remove(db, oldest)
    _prune_audit(db, "at < ?", before)
    return Pruned(runs, trees, held, used_bytes(db))


def shrink(db: sqlite3.Connection) -> None:
    """Shrink the file by some free pages; not in a transaction."""
    db.executescript(f"PRAGMA incremental_vacuum({PAGES_AT_ONCE})")  # one step per page: ``execute`` would do the first


def shrink_fully(db: sqlite3.Connection) -> None:
    """Shrink the file by all free pages."""
    db.executescript("PRAGMA incremental_vacuum")
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def clear_audit(db: sqlite3.Connection) -> None:
    db.execute("DELETE FROM audit")


def _oldest(db: sqlite3.Connection, count: int, before: float = math.inf) -> list[int]:
    rows = db.execute(
        "SELECT number FROM executions WHERE (started_at < ? OR started_at IS NULL AND coalesce(ended_at, 0) < ?) "
        "AND status <> 'running' ORDER BY started_at LIMIT ?",
        (before, before, count),
    )
    return [number for (number,) in rows]


def _remove(db: sqlite3.Connection, numbers: list[int]) -> int:
    """Remove runs, and trees that no other run refers to; return the number of trees."""
    if not numbers:
        return 0
    marks = ", ".join("?" * len(numbers))
    digests = db.execute(f"SELECT DISTINCT digest FROM snapshots WHERE number IN ({marks})", numbers).fetchall()  # noqa: S608 -- marks only
    db.execute(f"DELETE FROM executions WHERE number IN ({marks})", numbers)  # noqa: S608 -- marks only
    gone = db.executemany(
        "DELETE FROM contents WHERE digest = ? AND NOT EXISTS (SELECT 1 FROM snapshots s WHERE s.digest = contents.digest)",
        digests,
    )
    return max(0, gone.rowcount)


def _prune_audit(db: sqlite3.Connection, which: str, *values: float) -> None:
    """Remove the oldest rows of the audit that meet the condition ``which``."""
    few = "number < (SELECT min(number) + ? FROM audit)"
    db.execute(f"DELETE FROM audit WHERE {few} AND {which}", (_AUDITS_AT_ONCE, *values))  # noqa: S608 -- our own words
