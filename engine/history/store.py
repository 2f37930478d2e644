"""The history: one SQLite file, shared by several processes. Synchronous: not for the event loop."""

from __future__ import annotations

import math
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.history import connection, write_ahead, writes
from clawperator.engine.history.row_builders import died
from clawperator.engine.history.schema import STEPS, version_of

if TYPE_CHECKING:
    from clawperator.engine.filters.grammar import Filter
    from clawperator.engine.history.prune import Pruned
    from clawperator.engine.history.records import AuditRecord, RunRecord, RunSummary

T = TypeVar("T")

DAY_SECONDS = 86_400.0
MEGABYTE = 1_000_000
_PRUNE_EVERY = 32
"""Pruning is checked once in so many runs."""

_OF_FOREIGN_DATA = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""What a row or note can raise that is damaged, foreign or of another version."""


class History:
    """Create it with ``open``; use it from one thread at a time. Raises ``EngineError`` (HISTORY_UNAVAILABLE) for an unusable file.

    A damaged file is renamed and a new one created; ``remarks`` say so. Modules that only readers need are imported late.
    ``safe``: texts of screens, typed texts and trees are not written.
    """

    def __init__(self, path: str, db: sqlite3.Connection, remarks: list[str], *, safe: bool = False) -> None:
        self.path = path
        self._safe = safe
        self.remarks = remarks
        self._db = db
        self._newer = version_of(db) > len(STEPS)

    @classmethod
    def open(cls, path: str, *, create: bool = True, safe: bool = False, busy: float = connection.BUSY_SECONDS) -> Self:
        """Open or create the history at ``path``; without ``create``, a missing one is empty and leaves no file.

        Runs whose process died are marked as interrupted. A file of a newer version is read-only. ``busy`` as for ``connect``.
        """
        if not create and not os.path.exists(path) and not any(write_ahead.left(path)):
            return cls(path, connection.in_memory(), [], safe=safe)
        remarks: list[str] = []
        try:
            db = connection.connect(path, busy=busy)
        except sqlite3.Error as exc:
            remarks += _aside(path, exc)
            db = connection.connect(path, busy=busy)
        history = cls(path, db, remarks, safe=safe)
        if not history._newer:
            with suppress(EngineError):
                history._mark_interrupted(time.time())
        return history

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # -- writing

    def put(self, run: RunRecord, audit: AuditRecord | None = None) -> int:
        """Write a run, replacing what is known of that execution, and a row of the audit; return the run's number."""
        kept = self._kept(run)
        row = None if audit is None else self._kept_audit(audit)

        def put(db: sqlite3.Connection) -> int:
            if row is not None:
                writes.put_audit(db, row)
            return writes.put_run(db, kept)

        return self._write(put)

    def put_audit(self, row: AuditRecord) -> None:
        kept = self._kept_audit(row)
        self._write(lambda db: writes.put_audit(db, kept))

    def put_late(self, run: RunRecord) -> None:
        """Add the late result of ``run`` to the run that ended without one, whose outcome stays."""
        kept = self._kept(run)
        self._write(lambda db: writes.put_late(db, kept))

    def _kept(self, run: RunRecord) -> RunRecord:
        if not self._safe:
            return run
        from clawperator.engine.history.masking import masked

        return masked(run)

    def _kept_audit(self, row: AuditRecord) -> AuditRecord:
        if not self._safe:
            return row
        from clawperator.engine.history.masking import masked_audit

        return masked_audit(row)

    def mark_interrupted(self) -> None:
        """Mark the runs whose process has died, as far as the file can be written now."""
        if not self._newer:
            with suppress(EngineError):
                self._mark_interrupted()

    def _mark_interrupted(self, now: float = -math.inf) -> None:
        for path, note in write_ahead.left(self.path):
            with suppress(*_OF_FOREIGN_DATA):
                run, audit = died(note)
                kept = self._kept(run)
                self._write(partial(writes.put_died, run=kept, audit=audit))
            with suppress(OSError):
                os.unlink(path)
        with self._parsing():
            dead = self._do(lambda db: writes.dead_runs(db, now))
            if dead:
                self._write(lambda db: writes.mark_interrupted(db, dead))

    def tidy(self, number: int, *, days: float, megabytes: float) -> None:
        """Prune some old runs, once in ``_PRUNE_EVERY`` runs."""
        if number % _PRUNE_EVERY == 0:
            from clawperator.engine.history.prune import prune_some, shrink

            before = time.time() - days * DAY_SECONDS
            self._write(lambda db: prune_some(db, before=before, limit=megabytes * MEGABYTE))
            self._do(shrink)

    def prune(
        self, *, older_than: float | None = None, megabytes: float | None = None, everything: bool = False
    ) -> Pruned:
        """Remove runs that began more than ``older_than`` seconds ago, then the oldest while the file exceeds ``megabytes``.

        ``everything``: all runs that have ended, and the audit.
        """
        from clawperator.engine.history.prune import clear_audit, prune_some, shrink_fully

        before = time.time() - older_than if older_than is not None else 0.0
        limit = int(megabytes * MEGABYTE) if megabytes is not None else 1 << 62
        if everything:
            before, limit = float(1 << 62), 1 << 62
        done = self._write(lambda db: prune_some(db, before=before, limit=limit))
        while (more := self._write(lambda db: prune_some(db, before=before, limit=limit))).runs:
            done += more
        if everything:
            self._write(clear_audit)
        self._do(shrink_fully)
        return done._replace(bytes_after=self.size())

    # -- reading

    def runs(self, where: Filter | None = None, *, limit: int = 200, before: int | None = None) -> list[RunSummary]:
        """Return up to ``limit`` runs that match ``where``, newest first, with numbers below ``before``, if given."""
        from clawperator.engine.history import reads

        return self._read(lambda db: reads.runs(db, where, limit, before))

    def count(self, where: Filter | None = None) -> int:
        from clawperator.engine.history import reads

        return self._read(lambda db: reads.count(db, where))

    def find(self, key: str | int) -> RunRecord:
        """Return the run with that number or executionId, or the newest with that commandId, or of all for ``last``. Raises ``EngineError`` (HISTORY_NOT_FOUND)."""
        from clawperator.engine.history import reads

        record = self._read(lambda db: reads.find(db, key))
        if record is None:
            raise self._not_found(f"The history holds no run {key}", str(key))
        return record

    def tree(self, digest: str) -> str:
        """Return the text of a tree by a unique prefix of its digest. Raises ``EngineError`` (HISTORY_NOT_FOUND)."""
        from clawperator.engine.history import reads
        from clawperator.engine.history.compression import unpack_text

        found = self._read(lambda db: reads.contents(db, digest))
        if len(found) != 1:
            raise self._not_found(f"The history holds {'several trees' if found else 'no tree'} {digest}", digest)
        return self._read(lambda _: unpack_text(found[0]))

    def audit(
        self, limit: int = 200, before: int | None = None, *, events: Sequence[str] = (), device_id: str = ""
    ) -> list[AuditRecord]:
        """Return the entries of the audit, newest first; only of ``events`` and of one device, if given."""
        from clawperator.engine.history import reads

        return self._read(lambda db: reads.audit(db, limit, before, events, device_id))

    def export(self, where: Filter | None = None, *, trees: bool = True) -> Iterator[dict[str, Any]]:
        """Yield every run that matches ``where`` as JSON data, oldest first; with ``trees``, each has its ``text``.

        ``remarks`` name the damaged runs, which are left out.
        """
        from clawperator.engine.history import reads

        for number in self._read(lambda db: reads.numbers(db, where)):
            try:
                run = self.find(number).to_dict()
                for tree in run["trees"] if trees else ():
                    tree["text"] = self.tree(tree["digest"])
            except EngineError as exc:
                if exc.code is not ErrorCode.HISTORY_NOT_FOUND:  # not merely pruned meanwhile
                    self.remarks.append(f"Run {number} is left out. {exc.message}")
                continue
            yield run

    def version(self) -> int:
        """Return a number that changes with every write of any process."""
        (others,) = self._do(lambda db: db.execute("PRAGMA data_version").fetchone())
        return int(others) << 32 | (self._db.total_changes & 0xFFFFFFFF)

    def size(self) -> int:
        """Return the bytes in use."""
        from clawperator.engine.history.prune import used_bytes

        return self._do(used_bytes)

    def _not_found(self, message: str, key: str) -> EngineError:
        return EngineError(ErrorCode.HISTORY_NOT_FOUND, message, details={"key": key, "path": self.path})

    # -- the file

    def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do ``work`` in one transaction."""
        if self._newer:
            hint = "Upgrade clawperator, or choose another file: [history] path in the settings."
            reason = "a newer clawperator created it; this version can only read it"
            raise connection.unavailable(self.path, reason, hint)

        def write(db: sqlite3.Connection) -> T:
            with db:  # commits, or rolls back
                db.execute("BEGIN IMMEDIATE")
                return work(db)

        return self._do(write)

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._parsing():
            return self._do(work)

    @contextmanager
    def _parsing(self) -> Iterator[None]:
        """Report damaged rows as HISTORY_UNAVAILABLE."""
        try:
            yield
        except _OF_FOREIGN_DATA as exc:
            hint = "Only this run is unreadable. `clawperator history prune` removes old runs."
            raise connection.unavailable(self.path, f"a row of it is damaged ({exc})", hint) from exc

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do ``work``; if the file is damaged, replace it and try again."""
        try:
            return work(self._db)
        except sqlite3.Error as exc:
            if not connection.is_damage(exc):
                raise connection.unavailable(self.path, str(exc)) from exc
            self._db.close()
            self.remarks += _aside(self.path, exc)
        self._db = connection.connect(self.path)
        try:
            return work(self._db)
        except sqlite3.Error as exc:
            raise connection.unavailable(self.path, str(exc)) from exc


def _aside(path: str, error: sqlite3.Error) -> list[str]:
    """Rename the damaged file and return a remark."""
    target = connection.set_aside(path)
    return [f"The history was damaged ({error}). It was renamed to {target}, and a new one created."] if target else []
