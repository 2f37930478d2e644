"""The history: one SQLite file that several processes read and write at once. Synchronous: used off the event loop."""

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
    from clawperator.engine.history.rows import AuditRow, Run

T = TypeVar("T")

DAY_SECONDS = 86_400.0
MEGABYTE = 1_000_000
_PRUNE_EVERY = 32
"""Looking whether something must go costs little, but not nothing: every so many runs."""

_OF_FOREIGN_DATA = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)
"""What a row or note may raise that is damaged, of another version or not ours at all: it may hold anything."""


class History:
    """Open it with ``open``. Everything raises ``EngineError`` (HISTORY_UNAVAILABLE) where the file cannot be used.

    A file that turns out to be damaged is set aside and a new one begun; ``remarks`` say so, for somebody to be told.
    One thread at a time. Who writes loads nothing of what only readers need. ``safe``: what is written holds no text that was
    read from a screen or typed into one, and no tree.
    """

    def __init__(self, path: str, db: sqlite3.Connection, remarks: list[str], *, safe: bool = False) -> None:
        self.path = path
        self._safe = safe
        self.remarks = remarks
        self._db = db
        self._newer = version_of(db) > len(STEPS)

    @classmethod
    def open(cls, path: str, *, create: bool = True, safe: bool = False) -> Self:
        """The history at ``path``. Where there is none, a new one; without ``create`` an empty one that leaves no file.

        Runs whose process died meanwhile are marked so. A file of a newer version is only read.
        """
        if not create and not os.path.exists(path) and not any(write_ahead.left(path)):
            return cls(path, connection.in_memory(), [], safe=safe)
        remarks: list[str] = []
        try:
            db = connection.connect(path)
        except sqlite3.Error as exc:
            remarks += _aside(path, exc)
            db = connection.connect(path)
        history = cls(path, db, remarks, safe=safe)
        if not history._newer:
            with _forgiving():
                history._mark_interrupted(time.time())
        return history

    def close(self) -> None:
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    # -- writing

    def put(self, run: Run, audit: AuditRow | None = None) -> int:
        """Write a run, in place of what is known of that execution, and a line of the audit; the run's number."""
        kept = self._kept(run)
        row = None if audit is None else self._kept_audit(audit)

        def put(db: sqlite3.Connection) -> int:
            if row is not None:
                writes.put_audit(db, row)
            return writes.put_run(db, kept)

        return self._write(put)

    def put_audit(self, row: AuditRow) -> None:
        kept = self._kept_audit(row)
        self._write(lambda db: writes.put_audit(db, kept))

    def put_late(self, run: Run) -> None:
        """Keep the result that ``run`` holds with the run of that command that ended without one; its outcome stays."""
        kept = self._kept(run)
        self._write(lambda db: writes.put_late(db, kept))

    def _kept(self, run: Run) -> Run:
        if not self._safe:
            return run
        from clawperator.engine.history.masking import masked

        return masked(run)

    def _kept_audit(self, row: AuditRow) -> AuditRow:
        if not self._safe:
            return row
        from clawperator.engine.history.masking import masked_audit

        return masked_audit(row)

    def mark_interrupted(self) -> None:
        """Mark the runs whose process has died; nothing is written where there is none.

        A reader asks for it: what cannot be written now is left to a later time.
        """
        if not self._newer:
            with _forgiving():
                self._mark_interrupted()

    def _mark_interrupted(self, now: float = -math.inf) -> None:
        for path, note in write_ahead.left(self.path):
            with suppress(*_OF_FOREIGN_DATA):
                run, audit = died(note)
                kept = self._kept(run)
                self._write(partial(writes.put_died, run=kept, audit=audit))
            with suppress(OSError):
                os.unlink(path)
        with self._taking_apart():
            dead = self._do(lambda db: writes.dead_runs(db, now))
            if dead:
                self._write(lambda db: writes.mark_interrupted(db, dead))

    def tidy(self, number: int, *, days: float, megabytes: float) -> None:
        """After run ``number``: every now and then a little of what is too old or too much goes."""
        if number % _PRUNE_EVERY == 0:
            from clawperator.engine.history.prune import give_back, prune_some

            before = time.time() - days * DAY_SECONDS
            self._write(lambda db: prune_some(db, before=before, limit=megabytes * MEGABYTE))
            self._do(give_back)

    def prune(
        self, *, older_than: float | None = None, megabytes: float | None = None, everything: bool = False
    ) -> Pruned:
        """Remove runs that began more than ``older_than`` seconds ago, then the oldest until ``megabytes`` are enough.

        ``everything``: all runs that have ended, and the audit.
        """
        from clawperator.engine.history.prune import forget_all_asking, give_back_all, prune_some

        before = time.time() - older_than if older_than is not None else 0.0
        limit = int(megabytes * MEGABYTE) if megabytes is not None else 1 << 62
        if everything:
            before, limit = float(1 << 62), 1 << 62
        done = self._write(lambda db: prune_some(db, before=before, limit=limit))
        while (more := self._write(lambda db: prune_some(db, before=before, limit=limit))).runs:
            done += more
        if everything:
            self._write(forget_all_asking)
        self._do(give_back_all)
        return done._replace(bytes_after=self.size())

    # -- reading

    def runs(self, where: Filter | None = None, *, limit: int = 200, before: int | None = None) -> list[RunSummary]:
        """Up to ``limit`` runs that ``where`` means, newest first; from below number ``before`` on, where given."""
        from clawperator.engine.history import reads

        return self._read(lambda db: reads.runs(db, where, limit, before))

    def count(self, where: Filter | None = None) -> int:
        from clawperator.engine.history import reads

        return self._read(lambda db: reads.count(db, where))

    def find(self, key: str | int) -> RunRecord:
        """The run with that number, executionId, or (the newest) commandId. Raises ``EngineError`` (HISTORY_NOT_FOUND)."""
        from clawperator.engine.history import reads

        record = self._read(lambda db: reads.find(db, key))
        if record is None:
            raise self._not_found(f"The history holds no run {key}", str(key))
        return record

    def tree(self, digest: str) -> str:
        """The text of a tree; a beginning of its digest is enough if no other has it. Raises ``EngineError`` (HISTORY_NOT_FOUND)."""
        from clawperator.engine.history import reads
        from clawperator.engine.history.compression import unpack_text

        found = self._read(lambda db: reads.contents(db, digest))
        if len(found) != 1:
            raise self._not_found(f"The history holds {'several trees' if found else 'no tree'} {digest}", digest)
        return self._read(lambda _: unpack_text(found[0]))

    def audit(
        self, limit: int = 200, before: int | None = None, *, events: Sequence[str] = (), device_id: str = ""
    ) -> list[AuditRecord]:
        """The newest entries of the audit first; only of some ``events``, only of one device, where given."""
        from clawperator.engine.history import reads

        return self._read(lambda db: reads.audit(db, limit, before, events, device_id))

    def export(self, where: Filter | None = None, *, trees: bool = True) -> Iterator[dict[str, Any]]:
        """Every run that ``where`` means, oldest first, whole and as JSON data: ``text`` stands in each of its ``trees``.

        Without ``trees`` they are only named.
        """
        from clawperator.engine.history import reads

        for number in self._read(lambda db: reads.numbers(db, where)):
            with _forgiving():  # somebody may have pruned it meanwhile
                run = self.find(number).to_dict()
                for tree in run["trees"] if trees else ():
                    tree["text"] = self.tree(tree["digest"])
                yield run

    def version(self) -> int:
        """Another number whenever anybody wrote anything."""
        (others,) = self._do(lambda db: db.execute("PRAGMA data_version").fetchone())
        return int(others) << 32 | (self._db.total_changes & 0xFFFFFFFF)

    def size(self) -> int:
        """Bytes in use."""
        from clawperator.engine.history.prune import used_bytes

        return self._do(used_bytes)

    def _not_found(self, message: str, key: str) -> EngineError:
        return EngineError(ErrorCode.HISTORY_NOT_FOUND, message, details={"key": key, "path": self.path})

    # -- the file

    def _write(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do ``work`` in one transaction: whole or not at all."""
        if self._newer:
            raise connection.unavailable(self.path, "a newer clawperator made it; this one only reads it")

        def write(db: sqlite3.Connection) -> T:
            db.execute("BEGIN IMMEDIATE")
            try:
                done = work(db)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise
            return done

        return self._do(write)

    def _read(self, work: Callable[[sqlite3.Connection], T]) -> T:
        with self._taking_apart():
            return self._do(work)

    @contextmanager
    def _taking_apart(self) -> Iterator[None]:
        """For what takes rows apart."""
        try:
            yield
        except _OF_FOREIGN_DATA as exc:
            raise connection.unavailable(self.path, f"a row of it is damaged ({exc})") from exc

    def _do(self, work: Callable[[sqlite3.Connection], T]) -> T:
        """Do ``work``, once more with a new file where this one is damaged."""
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
    """Set the file aside for which ``error`` tells that it is damaged, and say so."""
    target = connection.set_aside(path)
    return [f"The history was damaged ({error}). It was set aside as {target}, and a new one begun."] if target else []


@contextmanager
def _forgiving() -> Iterator[None]:
    """For what may be left undone."""
    try:
        yield
    except EngineError:
        pass
