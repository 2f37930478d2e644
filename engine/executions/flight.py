"""Single-flight: one execution per device, across every process of this user.

An OS lock on one small file per serial: it falls with its process, so nothing can be left locked behind. The file says who
holds it, for whoever is turned away. A lock file is never removed (removing one would let two processes hold "the same" lock).
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

from clawperator.engine.contracts.limits import POST_TIMEOUT_SETTLE_MS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.command import Command

SETTLE_SECONDS = POST_TIMEOUT_SETTLE_MS / 1000
"""How long a device stays taken after its outcome became unknown (execution contract §10)."""

_LOOKS = 100
_BUSY = (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK)
"""How the systems say that somebody else has a lock."""
_CONTENT_BYTES = 16 * 1024
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has a device. ``since`` and ``not_before`` are seconds since the epoch; ``not_before`` is 0 unless settling."""

    device_id: str
    pid: int
    command_id: str
    task_id: str
    source: str
    timeout_ms: int
    since: float
    not_before: float = 0.0


@dataclass(frozen=True, slots=True)
class LockStatus:
    """One device's lock as seen from outside: ``state`` is ``free``, ``held`` or ``settling``."""

    device_id: str
    state: str
    holder: Holder | None

    def to_dict(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"deviceId": self.device_id, "state": self.state}
        if self.holder is not None and self.state != "free":
            answer |= {
                "pid": self.holder.pid,
                "commandId": self.holder.command_id,
                "taskId": self.holder.task_id,
                "source": self.holder.source,
                "since": self.holder.since,
                "timeoutMs": self.holder.timeout_ms,
            }
            if self.state == "settling":
                answer["notBefore"] = self.holder.not_before
        return answer


class FileLock:
    """An exclusive, non-blocking OS lock on one file, with a few bytes of content beside it. Raises ``OSError``."""

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def try_acquire(self) -> bool:
        try:
            _lock(self._fd)
        except OSError as exc:
            if exc.errno in _BUSY:
                return False
            raise
        return True

    def read(self) -> bytes:
        return os.pread(self._fd, _CONTENT_BYTES, 0)

    def write(self, content: bytes) -> None:
        os.pwrite(self._fd, content, 0)
        os.ftruncate(self._fd, len(content))

    def close(self) -> None:
        """Closing the descriptor releases the lock."""
        os.close(self._fd)


def _lock(fd: int) -> None:
    try:
        import fcntl
    except ImportError:
        import msvcrt  # Windows: lock one byte far behind the content, which stays readable for others

        os.lseek(fd, 1 << 20, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined, unused-ignore]  # exists on Windows only
    else:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


class Flight:
    """A held device. ``settle`` marks its outcome as unknown: the next one is turned away for ``SETTLE_SECONDS`` more."""

    def __init__(self, lock: FileLock, holder: Holder, clock: Callable[[], float]) -> None:
        self._lock = lock
        self._holder = holder
        self._clock = clock
        self._settling = False

    def settle(self) -> None:
        self._settling = True

    def release(self) -> None:
        content = _encode(self._holder, not_before=self._clock() + SETTLE_SECONDS) if self._settling else b""
        with suppress(OSError):  # a full disk keeps the name of a holder who is gone: without the lock it means nothing
            self._lock.write(content)
        self._lock.close()


class SingleFlight:
    """The locks of one folder. ``clock`` gives seconds since the epoch (other processes compare with theirs)."""

    def __init__(self, folder: str, *, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock

    @asynccontextmanager
    async def hold(self, device_id: str, command: Command) -> AsyncIterator[Flight]:
        """Hold ``device_id`` for the block, in the name of ``command``.

        Raises ``EngineError`` at once: EXECUTION_CONFLICT_IN_FLIGHT, naming the holder, when somebody has it; USAGE when
        the folder of the locks cannot be used.
        """
        holder = Holder(
            device_id,
            os.getpid(),
            command.command_id,
            command.task_id,
            command.source,
            command.timeout_ms,
            self._clock(),
        )
        try:
            flight = await self._acquire(device_id, holder)
        except OSError as exc:
            raise self._unusable(exc) from exc
        try:
            yield flight
        finally:
            flight.release()

    async def _acquire(self, device_id: str, holder: Holder) -> Flight:
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        lock = FileLock(self._path(device_id))
        try:
            other = await self._contend(lock, holder)
        except BaseException:
            lock.close()
            raise
        if other is None:
            return Flight(lock, holder, self._clock)
        lock.close()
        raise _conflict(device_id, holder, other)

    async def _contend(self, lock: FileLock, holder: Holder) -> Holder | None:
        """Take ``lock`` for ``holder``; whoever has it instead."""
        other: Holder | None = None
        for _ in range(_LOOKS):
            if lock.try_acquire():
                other = _decode(lock.read())
                if other is not None and self._settles(other):
                    return other
                lock.write(_encode(holder))
                return None
            other = _decode(lock.read())
            if other is not None and not other.not_before and _alive(other.pid):
                return other
            # Somebody who has just taken the lock, or only looks at it, has not written a name yet: look again, briefly.
            await asyncio.sleep(0.001)
        return other or Holder(holder.device_id, 0, "", "", "", 0, 0.0)

    def status(self, device_id: str) -> LockStatus:
        """How ``device_id``'s lock looks now. Takes the lock for an instant where it is free.

        Raises ``EngineError`` (USAGE) when the folder of the locks cannot be used.
        """
        try:
            return self._look(self._path(device_id), device_id)
        except OSError as exc:
            raise self._unusable(exc) from exc

    def taken(self) -> list[LockStatus]:
        """Every device that somebody holds or that is settling, in the order of their names. Raises as ``status``."""
        try:
            names = sorted(name for name in os.listdir(self._folder) if name.endswith(".lock"))
            looks = [self._look(os.path.join(self._folder, name), "") for name in names]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as exc:
            raise self._unusable(exc) from exc
        return [look for look in looks if look.state != "free"]

    def _look(self, path: str, device_id: str) -> LockStatus:
        if not os.path.exists(path):
            return LockStatus(device_id, "free", None)
        lock = FileLock(path)
        try:
            free = lock.try_acquire()
            holder = _decode(lock.read())
        finally:
            lock.close()
        if holder is not None:
            device_id = device_id or holder.device_id
        if not free:
            return LockStatus(device_id, "held", holder)
        if holder is not None and self._settles(holder):
            return LockStatus(device_id, "settling", holder)
        return LockStatus(device_id, "free", None)

    def _settles(self, holder: Holder) -> bool:
        """Whether the device still settles after ``holder``. A clock that was set back must not keep it for hours."""
        return 0 < holder.not_before - self._clock() <= 2 * SETTLE_SECONDS

    def _unusable(self, exc: OSError) -> EngineError:
        reason = exc.strerror or str(exc)
        return EngineError(
            ErrorCode.USAGE,
            f"The folder of the device locks, {self._folder}, cannot be used: {reason}",
            hint="Set HOME to a folder that this user can write: the locks keep two programs off one device.",
            details={"path": self._folder, "reason": reason},
        )

    def _path(self, device_id: str) -> str:
        """A file name that no serial can escape from: unsafe characters replaced, told apart by a hash where any were."""
        safe = _UNSAFE.sub("_", device_id)
        if safe != device_id or len(safe) > 100:
            import hashlib

            safe = f"{safe[:80]}-{hashlib.sha256(device_id.encode()).hexdigest()[:12]}"
        return os.path.join(self._folder, f"{safe}.lock")


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError, TypeError):  # the latter two: no pid at all
        return False
    except OSError:
        return True  # somebody else's process: it exists
    return True


def _encode(holder: Holder, *, not_before: float = 0.0) -> bytes:
    return json.dumps({**asdict(holder), "not_before": not_before}).encode()


def _decode(content: bytes) -> Holder | None:
    """``None`` for nobody, and for whatever is not ours or only half written."""
    try:
        holder = Holder(**json.loads(content))
    except (ValueError, TypeError, RecursionError):
        return None
    numbers = (holder.pid, holder.timeout_ms, holder.since, holder.not_before)
    names = (holder.device_id, holder.command_id, holder.task_id, holder.source)
    ours = all(isinstance(value, int | float) for value in numbers) and all(isinstance(name, str) for name in names)
    return holder if ours else None


def _conflict(device_id: str, wanted: Holder, other: Holder) -> EngineError:
    details: dict[str, Any] = {"deviceId": device_id, "commandId": wanted.command_id}
    if other.pid:
        details |= {
            "inFlightCommandId": other.command_id,
            "pid": other.pid,
            "source": other.source,
            "since": other.since,
            "timeoutMs": other.timeout_ms,
        }
    if other.not_before:
        details["notBefore"] = other.not_before
    return EngineError(
        ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT, "Another execution is in flight on this device", details=details
    )
