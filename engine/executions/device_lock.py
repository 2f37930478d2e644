"""Single-flight: one execution per device, across every process of this user.

An OS lock on one small file per serial: it falls with its process, so nothing can be left locked behind. The file says who
holds it, for whoever is turned away. A lock file is never removed (removing one would let two processes hold "the same" lock).

A caller that waits for the device draws a ticket (``device_queue``); no later caller gets the device first. A holder that only
keeps a tree fresh *yields*: executions wait for it, with a ticket, instead of being refused, and no yielding holder starts
while the queue holds a ticket.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypedDict

from clawperator.engine.contracts.limits import POST_TIMEOUT_SETTLE_MS
from clawperator.engine.errors import EngineError, ErrorCode, NotPrivateError
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.device_queue import DeviceQueue, Ticket
from clawperator.engine.files.lock import FileLock
from clawperator.engine.files.writing import private_folder

SETTLE_SECONDS = POST_TIMEOUT_SETTLE_MS / 1000
"""How long a device stays taken after its outcome became unknown (execution.md#one-execution-per-device)."""

YIELD_SECONDS = 2.0
"""How long an execution waits for a holder that yields. Such a holder plans for less (``engine/follow/follower.py``)."""

_LOOK_SECONDS = 0.005
_LATER_LOOK_SECONDS = 0.02
"""Seconds between two checks of a caller that has waited for longer than ``YIELD_SECONDS``."""
_SETTLE_WAIT_MS = 2 * POST_TIMEOUT_SETTLE_MS
"""What hints suggest: more than a device that settles can take."""
_LOOKS = 100
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


@dataclass(frozen=True, slots=True)
class Holder:
    """Who has a device. Times are seconds since the epoch; ``not_before`` is 0 unless settling.

    ``yields``: executions wait for this one instead of being turned away. ``dispatched_at`` is written before the command
    leaves, 0 until then: a holder that died after it may have left the device busy.
    """

    device_id: str
    pid: int
    command_id: str
    task_id: str
    source: str
    timeout_ms: int
    since: float
    not_before: float = 0.0
    yields: bool = False
    dispatched_at: float = 0.0


_UNNAMED = Holder("", 0, "", "", "", 0, 0.0)
"""Somebody who has not said a name."""


LockState = Literal["free", "held", "settling"]


class _LockHead(TypedDict):
    deviceId: str
    state: LockState


class LockDocument(_LockHead, total=False):
    """A device's lock as JSON data; the rest is absent of a free one, ``notBefore`` unless it settles. Times: seconds since the epoch."""

    pid: int
    commandId: str
    taskId: str
    source: str
    since: float
    timeoutMs: int
    yields: bool
    notBefore: float


@dataclass(frozen=True, slots=True)
class LockStatus:
    """One device's lock as seen from outside: ``state`` is ``free``, ``held`` or ``settling``."""

    device_id: str
    state: LockState
    holder: Holder | None

    def to_dict(self) -> dict[str, Any]:
        answer: LockDocument = {"deviceId": self.device_id, "state": self.state}
        if self.holder is not None and self.state != "free":
            answer |= {
                "pid": self.holder.pid,
                "commandId": self.holder.command_id,
                "taskId": self.holder.task_id,
                "source": self.holder.source,
                "since": self.holder.since,
                "timeoutMs": self.holder.timeout_ms,
            }
            if self.holder.yields:
                answer["yields"] = True
            if self.state == "settling":
                answer["notBefore"] = self.holder.not_before
        return dict(answer)


_LARGEST = 1e15
"""No number in a lock file is as large: milliseconds, seconds since the epoch, a pid."""


class HeldDevice:
    """A held device. ``settle`` marks its outcome as unknown: the next one is turned away for ``SETTLE_SECONDS`` more."""

    def __init__(self, lock: FileLock, holder: Holder, clock: Callable[[], float]) -> None:
        self._lock = lock
        self._holder = holder
        self._clock = clock
        self._settling = False

    def dispatching(self) -> None:
        """The command leaves now: should this process die, the next one lets the device settle."""
        self._write(_encode(replace(self._holder, dispatched_at=self._clock())))

    def settle(self) -> None:
        self._settling = True

    def release(self) -> None:
        self._write(_encode(self._holder, not_before=self._clock() + SETTLE_SECONDS) if self._settling else b"")
        self._lock.close()

    def _write(self, content: bytes) -> None:
        with suppress(OSError):  # a full disk keeps what was there, and makes the next one wait at most
            self._lock.write(content)


class DeviceLocks:
    """The locks of one folder. ``clock`` gives seconds since the epoch (other processes compare with theirs)."""

    def __init__(self, folder: str, *, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock

    @asynccontextmanager
    async def hold(
        self, device_id: str, command: Command, *, yields: bool = False, wait_ms: int = 0
    ) -> AsyncIterator[HeldDevice]:
        """Hold ``device_id`` for the block, in the name of ``command``; ``yields``: for a moment, and after everybody else.

        ``wait_ms`` is how long to wait for a device that is taken, or that settles, behind those who came before. Raises
        ``EngineError``: EXECUTION_CONFLICT_IN_FLIGHT, naming the holder, when the device is taken for longer;
        LOCKS_UNAVAILABLE or FOLDER_NOT_PRIVATE when the folder of the locks cannot be used. For a holder that yields, one that does not waits a little in any case.
        """
        holder = Holder(
            device_id,
            os.getpid(),
            command.command_id,
            command.task_id,
            command.source,
            command.timeout_ms,
            self._clock(),
            yields=yields,
        )
        try:
            flight = await self._acquire(device_id, holder, wait_ms)
        except OSError as exc:
            raise self._unusable(exc) from exc
        try:
            yield flight
        finally:
            flight.release()

    async def _acquire(self, device_id: str, holder: Holder, wait_ms: int) -> HeldDevice:
        private_folder(self._folder)
        queue = DeviceQueue(self._path(device_id).removesuffix(".lock") + ".queue")
        found = self._seen(device_id) if queue.busy else await self._contend(device_id, holder)
        if isinstance(found, Holder) and not holder.yields and (wait_ms or found.yields):
            with queue.ticket() as ticket:
                found = await self._outlast(device_id, holder, ticket, wait_ms / 1000)
        if isinstance(found, Holder):
            raise self._conflict(device_id, holder, found, wait_ms)
        return found

    def _seen(self, device_id: str) -> Holder:
        """Return the holder, settling included; an unnamed one where the device is about to be taken."""
        status = self._look(self._path(device_id), device_id)
        return _UNNAMED if status.state == "free" or status.holder is None else status.holder

    async def _contend(self, device_id: str, holder: Holder) -> HeldDevice | Holder:
        """Take the device for ``holder``; whoever has it instead."""
        lock = FileLock(self._path(device_id))
        try:
            other = await self._other(lock)
            if other is None:
                lock.write(_encode(holder))
                return HeldDevice(lock, holder, self._clock)
        except BaseException:
            lock.close()
            raise
        lock.close()
        return other

    async def _other(self, lock: FileLock) -> Holder | None:
        """Whoever has the device, or lets it settle; ``None`` when it is free and ``lock`` has been taken."""
        other: Holder | None = None
        for _ in range(_LOOKS):
            if lock.try_acquire():
                other = self._last_holder(lock)
                return other if other is not None and self._settles(other) else None
            other = _decode(lock.read())
            if other is not None and not other.not_before and _alive(other.pid):
                return other
            # Somebody who has just taken the lock, or only looks at it, has not written a name yet: look again, briefly.
            await asyncio.sleep(0.001)
        return other or _UNNAMED

    async def _outlast(self, device_id: str, holder: Holder, ticket: Ticket, wait: float) -> HeldDevice | Holder:
        """Take the device for ``holder`` when it is free and nobody waits longer; whoever has it after ``wait`` seconds.

        A holder that yields is waited for in any case. What it left with an unknown outcome settles as everything does
        (execution.md#one-execution-per-device): the device may still be writing that tree into its log, where the lines of two trees cannot
        be told apart, so to begin earlier could cost the execution its own tree. But that rest has a known end,
        ``SETTLE_SECONDS`` after the release and no other such holder in between, so it is waited for and not made an error
        of somebody who did nothing wrong.
        """
        began = time.monotonic()
        while True:
            waited = time.monotonic() - began
            if ticket.first:
                found = await self._contend(device_id, holder)
                if isinstance(found, HeldDevice):
                    return found
            else:
                found = self._seen(device_id)
            hangs = waited > YIELD_SECONDS and not found.not_before
            if waited >= wait and (hangs or not found.yields):
                return found
            await asyncio.sleep(_LOOK_SECONDS if waited < YIELD_SECONDS else _LATER_LOOK_SECONDS)

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
            holder = self._last_holder(lock) if free else _decode(lock.read())
        finally:
            lock.close()
        if holder is not None:
            device_id = device_id or holder.device_id
        if not free:
            return LockStatus(device_id, "held", holder)
        if holder is not None and self._settles(holder):
            return LockStatus(device_id, "settling", holder)
        return LockStatus(device_id, "free", None)

    def _last_holder(self, lock: FileLock) -> Holder | None:
        """Whoever had the device before us, who hold ``lock``. One that died after its dispatch begins to settle now.

        When it died is not known; beyond the end of its own budget the device does nothing for it any more.
        """
        last = _decode(lock.read())
        if last is None or not last.dispatched_at or last.not_before:
            return last
        ends = min(self._clock(), last.dispatched_at + last.timeout_ms / 1000)
        content = _encode(last, not_before=ends + SETTLE_SECONDS)
        lock.write(content)
        return _decode(content)

    def _settles(self, holder: Holder) -> bool:
        """Whether the device still settles after ``holder``. A clock that was set back must not keep it for hours."""
        return 0 < holder.not_before - self._clock() <= 2 * SETTLE_SECONDS

    def _conflict(self, device_id: str, wanted: Holder, other: Holder, wait_ms: int) -> EngineError:
        """The refusal of ``wanted``; ``retryAfterMs`` where it is known when the device will be free."""
        details: dict[str, Any] = {"deviceId": device_id, "commandId": wanted.command_id}
        if wait_ms:
            details["waitedMs"] = wait_ms
        if other.not_before:
            left = max(1, math.ceil((other.not_before - self._clock()) * 1000))
            details |= {"settlingAfter": other.command_id, "notBefore": other.not_before, "retryAfterMs": left}
            message = "The device is settling after an execution whose outcome is unknown"
            hint = f"Retry in {left} ms, or wait for it: --wait {_SETTLE_WAIT_MS} (HTTP, MCP: waitMs)."
            return EngineError(ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT, message, hint=hint, details=details)
        if other.pid:
            details |= {
                "inFlightCommandId": other.command_id,
                "pid": other.pid,
                "source": other.source,
                "since": other.since,
                "timeoutMs": other.timeout_ms,
            }
        return EngineError(
            ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT, "Another execution is in flight on this device", details=details
        )

    def _unusable(self, exc: OSError) -> EngineError:
        if isinstance(exc, NotPrivateError):
            return exc.to_engine_error()
        reason = exc.strerror or str(exc)
        return EngineError(
            ErrorCode.LOCKS_UNAVAILABLE,
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
    content = {**asdict(holder), "not_before": not_before}
    for name in ("yields", "dispatched_at"):
        if not content[name]:
            del content[name]  # versions that do not know the word read all other holders
    return json.dumps(content).encode()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) < _LARGEST


def _decode(content: bytes) -> Holder | None:
    """``None`` for nobody, and for whatever is not ours or only half written."""
    try:
        holder = Holder(**json.loads(content))
    except (ValueError, TypeError, RecursionError):
        return None
    numbers = (holder.pid, holder.timeout_ms, holder.since, holder.not_before, holder.dispatched_at)
    names = (holder.device_id, holder.command_id, holder.task_id, holder.source)
    ours = all(map(_is_number, numbers)) and all(isinstance(name, str) for name in names)
    return holder if ours and isinstance(holder.yields, bool) else None
