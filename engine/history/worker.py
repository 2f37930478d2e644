"""The thread in which an engine reads and writes its history, so that the event loop never waits for the disk."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from clawperator.engine.events.bus import EventBus
    from clawperator.engine.filters.grammar import Filter
    from clawperator.engine.history.records import AuditRecord, RunRecord, RunSummary
    from clawperator.engine.history.store import History

T = TypeVar("T")
Job = Callable[["History"], object]

_WAITING = 500
"""Limit of waiting writes; further ones are dropped."""
_SOON_SECONDS = 0.2
"""How long a run may last before other processes see its row."""
_TROUBLES_KEPT = 20
_LOCKED_SECONDS = 15.0
"""How long a write is retried while another process locks the file."""
_CLOSE_SECONDS = 1.0
"""The limit of ``close`` then: what is left is noted for the next process, and reported."""
_CLOSE_POLL_SECONDS = 0.02


class HistoryWorker:
    """Reads are awaited, writes are queued. The first of them opens the file.

    ``troubles`` are messages about what could not be recorded, also published as ``HistoryTrouble``. After ``hold``, ``late``
    writes wait for ``close``, so that a command prints its result first, and ``soon`` writes for ``close`` or a moment: a short
    command need not start the thread before its answer. ``safe`` as in ``History``.
    """

    def __init__(
        self,
        path: str,
        events: EventBus,
        *,
        days: float = math.inf,
        megabytes: float = math.inf,
        safe: bool = False,
    ) -> None:
        self.path = path
        self.safe = safe
        self._days, self._megabytes = days, megabytes
        self.troubles: deque[str] = deque(maxlen=_TROUBLES_KEPT)
        self._events = events
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reported = ""
        self._jobs: deque[Callable[[], None] | None] = deque()
        self._news = threading.Condition()
        self._thread: threading.Thread | None = None
        self._history: History | None = None
        self._held: list[Job] | None = None
        self._soon: list[Job] = []
        self._give_up_at = math.inf
        """``time.monotonic()`` after which a locked file is given up."""
        self._end_at = math.inf
        """``time.monotonic()`` after which writes to a locked file are dropped."""
        self._unwritten: dict[Job, Callable[[], None]] = {}
        """What to do if a job is not done before the end."""

    @property
    def held(self) -> bool:
        return self._held is not None

    def hold(self) -> None:
        self._held = []

    # -- writing

    def write(
        self, job: Job, *, late: bool = False, soon: bool = False, otherwise: Callable[[], None] | None = None
    ) -> None:
        """Queue ``job``; nothing is raised. If it returns the number of an ended run, old runs may be pruned.

        ``otherwise`` is called by ``close`` if the file stays locked.
        """
        if otherwise is not None:
            self._unwritten[job] = otherwise
        if late and self._held is not None:
            self._held.append(job)
        elif soon and self._held is not None:
            self._soon.append(job)
            asyncio.get_running_loop().call_later(_SOON_SECONDS, self._write_soon)
        elif len(self._jobs) < _WAITING:
            self._hand_over(lambda: self._try(job))
        else:
            self._complain(f"more than {_WAITING} entries wait for the disk; further ones are not recorded")

    def _write_soon(self) -> None:
        jobs, self._soon = self._soon, []
        for job in jobs:
            self.write(job)

    def put_audit(self, row: AuditRecord) -> None:
        """As ``History.put_audit``."""
        self.write(lambda history: history.put_audit(row))

    def _try(self, job: Job) -> None:
        if self._is_locked and time.monotonic() > self._end_at:
            return
        try:
            history, number = self._done(job)
            self._unwritten.pop(job, None)
            if isinstance(number, int):
                history.tidy(number, days=self._days, megabytes=self._megabytes)
        except EngineError as exc:
            if not self._is_locked:
                self._unwritten.pop(job, None)
            if not (self._is_locked and job in self._unwritten and time.monotonic() > self._end_at):
                self._complain(exc.message)
        except Exception as exc:  # noqa: BLE001 -- a failure of the history is no failure of the run
            self._unwritten.pop(job, None)
            self._complain(f"{type(exc).__name__}: {exc}")
        else:
            self._reported = ""
            self._pass_on_remarks(history)

    def _done(self, job: Job) -> tuple[History, object]:
        """Do ``job``; while the file is locked, repeat it (SQLite waits each time)."""
        from clawperator.engine.history import connection

        while True:
            try:
                history = self._open()
                done = job(history)
            except EngineError as exc:
                if not connection.is_locked(exc):
                    raise
                self._give_up_at = min(self._give_up_at, time.monotonic() + _LOCKED_SECONDS)
                if time.monotonic() >= min(self._give_up_at, self._end_at):
                    raise
            else:
                self._give_up_at = math.inf
                return history, done

    @property
    def _is_locked(self) -> bool:
        """Whether another process has kept the last write from the file."""
        return self._give_up_at < math.inf

    def _complain(self, words: str) -> None:
        if words != self._reported:
            self._reported = words
            self.report(f"Nothing was recorded: {words}")

    def _pass_on_remarks(self, history: History) -> None:
        while history.remarks:
            self.report(history.remarks.pop(0))

    def report(self, words: str) -> None:
        """Say why something could not be recorded."""
        self.troubles.append(words)
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._publish, words)

    def _publish(self, words: str) -> None:
        if self._events.watched:
            from clawperator.engine.events.types import HistoryTrouble

            self._events.publish(HistoryTrouble(reason=words))

    # -- reading

    async def runs(
        self, where: Filter | None = None, *, limit: int = 200, before: int | None = None
    ) -> list[RunSummary]:
        """Return ``History.runs``."""
        return await self._ask(lambda history: history.runs(where, limit=limit, before=before))

    async def count(self, where: Filter | None = None) -> int:
        """Return ``History.count``."""
        return await self._ask(lambda history: history.count(where))

    async def find(self, key: str | int) -> RunRecord:
        """Return ``History.find``."""
        return await self._ask(lambda history: history.find(key))

    async def tree(self, digest: str) -> str:
        """Return ``History.tree``."""
        return await self._ask(lambda history: history.tree(digest))

    async def audit(
        self, limit: int = 200, before: int | None = None, *, events: Sequence[str] = (), device_id: str = ""
    ) -> list[AuditRecord]:
        """Return ``History.audit``."""
        return await self._ask(lambda history: history.audit(limit, before, events=events, device_id=device_id))

    async def version(self) -> int:
        """Return ``History.version``."""
        return await self._ask(lambda history: history.version())

    async def mark_interrupted(self) -> None:
        """Call ``History.mark_interrupted``."""
        await self._ask(lambda history: history.mark_interrupted())

    async def _ask(self, work: Callable[[History], T]) -> T:
        answer: Future[T] = Future()

        def ask() -> None:
            if not answer.set_running_or_notify_cancel():
                return
            try:
                history = self._open()
                answer.set_result(work(history))
                self._pass_on_remarks(history)
            except EngineError as exc:
                answer.set_exception(exc)
            except Exception as exc:  # noqa: BLE001 -- the engine raises one kind of error
                answer.set_exception(EngineError(ErrorCode.HISTORY_UNAVAILABLE, f"{type(exc).__name__}: {exc}"))

        self._hand_over(ask)
        return await asyncio.wrap_future(answer)

    # -- the thread

    def close(self, *, leaving: bool = False) -> None:
        """Write what is held, then end. Ends of runs in a file that stays locked are noted beside it, with a message.

        ``leaving``: the process ends now, so the file stays open: the last close makes SQLite run a checkpoint and wait for the
        disk, which another process can do.
        """
        held, self._held = self._held, None
        self._write_soon()
        for job in held or ():
            self.write(job)
        if self._thread is None:
            return
        self._end_at = time.monotonic() + _CLOSE_SECONDS
        done = threading.Event()
        self._hand_over(done.set)
        while not done.wait(_CLOSE_POLL_SECONDS) and not (self._is_locked and time.monotonic() > self._end_at):
            pass  # a slow disk is awaited
        if lost := list(self._unwritten.values()):
            self._note(lost)
        if leaving or not done.is_set():
            return  # the thread keeps the file open
        self._hand_over(self._close_file)
        self._hand_over(None)
        self._thread.join()
        self._thread = None

    def _note(self, endings: Sequence[Callable[[], None]]) -> None:
        noted = "the next command records it"
        for note in endings:
            try:
                note()
            except Exception as exc:  # noqa: BLE001 -- a failure of the history is no failure of the run
                noted = f"it cannot be noted either: {exc}"
        self.report(
            f"The end of {len(endings)} execution(s) is not in the history yet, which another process locks: {noted}"
        )

    def _hand_over(self, work: Callable[[], None] | None) -> None:
        if self._thread is None:
            with suppress(RuntimeError):  # no event loop: a command that was refused early
                self._loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._run, name="history", daemon=True)
            self._thread.start()
        with self._news:
            self._jobs.append(work)
            self._news.notify()

    def _run(self) -> None:
        while (work := self._next()) is not None:
            work()

    def _next(self) -> Callable[[], None] | None:
        with self._news:
            while not self._jobs:
                self._news.wait()
            return self._jobs.popleft()

    def _open(self) -> History:
        if self._history is None:
            from clawperator.engine.history.connection import IN_PASSING_SECONDS
            from clawperator.engine.history.store import History

            self._history = History.open(self.path, safe=self.safe, busy=IN_PASSING_SECONDS)
        return self._history

    def _close_file(self) -> None:
        if self._history is not None:
            self._history.close()
            self._history = None
