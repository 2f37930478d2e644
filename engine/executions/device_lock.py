"""The device lock: one execution per phone, across all processes of this user.

An OS lock on one file per serial, which the system releases when its process ends, and then on one per phone, because one phone
can have several serials (``adb.phones``). The file names the holder. That of a serial is never removed: two processes could then
lock different files of the same name. That of a phone is removed a day after its last use, since each boot makes another; who has
locked a removed file begins again.

A caller that waits for the device has a ticket (``device_queue``); no later caller gets the device first. Follow mode *yields*:
executions wait for it, with a ticket, instead of being refused, and it does not start while the queue has a ticket.
"""

from __future__ import annotations

import asyncio
import json
import math
import os
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

from clawperator.engine.contracts.limits import POST_TIMEOUT_SETTLE_MS
from clawperator.engine.errors import EngineError, ErrorCode, NotPrivateError
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.device_queue import DeviceQueue, Ticket
from clawperator.engine.files.lock import FileLock
from clawperator.engine.files.regular import private_folder

if TYPE_CHECKING:
    from clawperator.engine.adb.device import AdbDevice
    from clawperator.engine.adb.phones import Phones

SETTLE_SECONDS = POST_TIMEOUT_SETTLE_MS / 1000
"""How long a device stays locked after an unknown outcome (execution.md#one-execution-per-device)."""

YIELD_SECONDS = 2.0
"""How long an execution waits at least for a holder that yields, which takes less (``engine/follow/follower.py``)."""
YIELD_SPARE_SECONDS = 0.5
"""How much longer than the holder's own time limit it waits."""
_LONGEST_YIELD_SECONDS = 15.0

_LOOK_SECONDS = 0.005
_LATER_LOOK_SECONDS = 0.02
"""Seconds between two checks after ``YIELD_SECONDS``."""
_SETTLE_WAIT_MS = 2 * POST_TIMEOUT_SETTLE_MS
"""Suggested by hints: longer than settling takes."""
_LOOKS = 100
_UNUSED_SECONDS = 86_400.0
_OF_PHONES = "phone-"
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]")


class Holder(NamedTuple):
    """The holder of a device lock. Times are seconds since the epoch; ``not_before`` is 0 unless settling.

    ``device_id`` is the serial that it uses, ``phone`` the identity of the phone, if known.
    ``yields``: executions wait for this holder instead of being refused. ``dispatched_at`` is 0 until the command is sent: a
    holder that died later may have left the device busy.
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
    phone: str = ""


_UNNAMED = Holder("", 0, "", "", "", 0, 0.0)
"""A holder whose name is not written yet."""


LockState = Literal["free", "held", "settling"]


class _LockHead(TypedDict):
    deviceId: str
    state: LockState


class LockDocument(_LockHead, total=False):
    """A device lock as JSON data. A free one has only the head, ``notBefore`` is present while settling. Times: seconds since the epoch.

    ``otherTransport``: the holder uses the same phone by this serial.
    """

    pid: int
    commandId: str
    taskId: str
    source: str
    since: float
    timeoutMs: int
    yields: bool
    notBefore: float
    otherTransport: str


class LockStatus(NamedTuple):
    """The state of one device lock."""

    device_id: str
    state: LockState
    holder: Holder | None

    @property
    def phone(self) -> str:
        """The identity of the phone that is in use, if it is known."""
        return self.holder.phone if self.holder is not None and self.state != "free" else ""

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
            if self.holder.device_id not in ("", self.device_id):
                answer["otherTransport"] = self.holder.device_id
            if self.state == "settling":
                answer["notBefore"] = self.holder.not_before
        return dict(answer)


_LARGEST = 1e15
"""Upper limit of numbers in a lock file."""


class HeldDevice:
    """A locked device. ``settle`` marks its outcome as unknown: it then stays locked for ``SETTLE_SECONDS`` after the release.

    ``phone`` is the lock of its phone, if that is known.
    """

    def __init__(self, lock: FileLock, holder: Holder, clock: Callable[[], float]) -> None:
        self._lock = lock
        self._holder = holder
        self._clock = clock
        self._settling = False
        self.phone: HeldDevice | None = None

    def dispatching(self) -> None:
        """Note that the command is sent now: if this process dies, the next one lets the device settle."""
        self._write(_encode(self._holder._replace(dispatched_at=self._clock())))
        if self.phone is not None:
            self.phone.dispatching()

    def settle(self) -> None:
        self._settling = True

    def release(self) -> None:
        if self.phone is not None:
            self.phone._settling = self._settling  # noqa: SLF001 -- its own class
            self.phone.release()
        self._write(_encode(self._holder, not_before=self._clock() + SETTLE_SECONDS) if self._settling else b"")
        self._lock.close()

    def _write(self, content: bytes) -> None:
        with suppress(OSError):  # on a full disk the old content stays: the next holder waits at most
            self._lock.write(content)


class DeviceLocks:
    """The locks of one folder. ``clock`` returns seconds since the epoch."""

    def __init__(self, folder: str, *, clock: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._clock = clock

    @asynccontextmanager
    async def hold(
        self,
        device_id: str,
        command: Command,
        *,
        phone: str = "",
        yields: bool = False,
        wait_ms: int = 0,
        ticket: Ticket | None = None,
    ) -> AsyncIterator[HeldDevice]:
        """Lock ``device_id``, and the ``phone`` that it leads to if that is known, for the block, in the name of ``command``.

        ``yields``: briefly, and only if no caller waits. ``wait_ms`` is how long to wait for a device that is locked or
        settling, with a ``ticket`` that was drawn before. Raises ``EngineError``: EXECUTION_CONFLICT_IN_FLIGHT, naming the
        holder, if it takes longer; LOCKS_UNAVAILABLE or FOLDER_NOT_PRIVATE if the folder of the locks cannot be used.
        """
        holder = Holder(
            device_id,
            os.getpid(),
            command.command_id,
            command.task_id,
            command.source,
            command.timeout_ms,
            since=0.0,
            yields=yields,
            phone=phone,
        )
        try:
            flight = await self._acquire_both(holder, wait_ms, ticket)
        except OSError as exc:
            raise self._unusable(exc) from exc
        try:
            yield flight
        finally:
            flight.release()

    def ticket(self, device_id: str) -> Ticket:
        """Return a ticket for ``device_id``: what is done before ``hold`` costs no place in the queue. Raises as ``status``."""
        try:
            private_folder(self._folder)
            return self._queue(device_id).ticket()
        except OSError as exc:
            raise self._unusable(exc) from exc

    async def _acquire_both(self, holder: Holder, wait_ms: int, drawn: Ticket | None) -> HeldDevice:
        """Lock the serial, then the phone: who waits for the phone is the only one with that serial."""
        began = time.monotonic()
        held = await self._acquire(holder.device_id, holder, wait_ms, drawn)
        if holder.phone:
            try:
                left = wait_ms - round((time.monotonic() - began) * 1000)
                held.phone = await self._acquire(holder.phone, holder, max(0, left), None)
            except BaseException:
                held.release()
                raise
        return held

    async def _acquire(self, name: str, holder: Holder, wait_ms: int, drawn: Ticket | None) -> HeldDevice:
        private_folder(self._folder)
        queue = self._queue(name)
        found: HeldDevice | Holder = _UNNAMED
        if drawn is None:
            found = self._seen(name) if queue.busy else await self._contend(name, holder)
        if isinstance(found, Holder) and not holder.yields and (wait_ms or found.yields):
            with drawn or queue.ticket() as ticket:
                found = await self._outlast(name, holder, ticket, wait_ms / 1000)
        if isinstance(found, Holder):
            if name == holder.device_id and holder.phone and (using := self._seen(holder.phone)).pid:
                found = using  # the one that has this serial may be waiting for the phone
            raise self._conflict(holder, found, wait_ms)
        return found

    def _queue(self, name: str) -> DeviceQueue:
        return DeviceQueue(_queue_of(self._path(name)))

    def _seen(self, name: str) -> Holder:
        """Return the holder, also while settling; an unnamed one if the device is about to be locked."""
        status = self._look(self._path(name), name)
        return _UNNAMED if status.state == "free" or status.holder is None else status.holder

    async def _contend(self, name: str, holder: Holder) -> HeldDevice | Holder:
        """Lock the device for ``holder``, or return its present holder."""
        path = self._path(name)
        self._make_room(path)
        lock = FileLock(path)
        try:
            while (other := await self._other(lock)) is None and lock.removed:
                lock.close()
                lock = FileLock(path)
            if other is None:
                holder = holder._replace(since=self._clock())
                lock.write(_encode(holder))
                return HeldDevice(lock, holder, self._clock)
        except BaseException:
            lock.close()
            raise
        lock.close()
        return other

    async def _other(self, lock: FileLock) -> Holder | None:
        """Return the present holder, also while settling; ``None`` if the device was free and ``lock`` is acquired."""
        other: Holder | None = None
        for _ in range(_LOOKS):
            if lock.try_acquire():
                other = self._last_holder(lock)
                return other if other is not None and self._settles(other) else None
            other = _decode(lock.read())
            if other is not None and not other.not_before and _alive(other.pid):
                return other
            # A process that has just acquired the lock, or checks its state, has not written a name yet: try again.
            await asyncio.sleep(0.001)
        return other or _UNNAMED

    def _make_room(self, path: str) -> None:
        """Before a new lock of a phone is made, remove those that were not used for a day: after a reboot, a phone has another one."""
        if not os.path.basename(path).startswith(_OF_PHONES) or os.path.exists(path):
            return
        for name in os.listdir(self._folder):
            old = os.path.join(self._folder, name)
            if name.startswith(_OF_PHONES) and name.endswith(".lock"):
                with suppress(OSError):
                    if time.time() - os.stat(old).st_mtime > _UNUSED_SECONDS:
                        _remove(old)

    async def _outlast(self, name: str, holder: Holder, ticket: Ticket, wait: float) -> HeldDevice | Holder:
        """Lock the device for ``holder`` when its ticket is first, or return the holder after ``wait`` seconds.

        A holder that yields is waited for in any case, also while it settles (execution.md#one-execution-per-device): the device may
        still write its tree to the log, where the lines of two trees cannot be separated. Settling ends within
        ``SETTLE_SECONDS``, so the execution is not refused for it.
        """
        began = time.monotonic()
        while True:
            waited = time.monotonic() - began
            if ticket.first:
                found = await self._contend(name, holder)
                if isinstance(found, HeldDevice):
                    return found
            else:
                found = self._seen(name)
            patience = min(found.timeout_ms / 1000 + YIELD_SPARE_SECONDS, _LONGEST_YIELD_SECONDS)
            hangs = waited > max(YIELD_SECONDS, patience if found.yields else 0) and not found.not_before
            if waited >= wait and (hangs or not found.yields):
                return found
            await asyncio.sleep(_LOOK_SECONDS if waited < YIELD_SECONDS else _LATER_LOOK_SECONDS)

    def status(self, device_id: str, phone: str = "") -> LockStatus:
        """Return the state of the lock of a phone, or of its serial; a free lock is acquired for an instant.

        Raises ``EngineError`` (LOCKS_UNAVAILABLE) if the folder of the locks cannot be used.
        """
        try:
            found = self._look(self._path(device_id), device_id)
            phone = phone or found.phone
            using = self._look(self._path(phone), device_id) if phone else found
        except OSError as exc:
            raise self._unusable(exc) from exc
        return found if using.state == "free" else using

    def taken(self, *, phones: bool = False) -> list[LockStatus]:
        """Return the locks of serials, or of ``phones``, that are held or settling, by name. Raises as ``status``."""
        try:
            locks = (name for name in os.listdir(self._folder) if name.endswith(".lock"))
            names = sorted(name for name in locks if name.startswith(_OF_PHONES) == phones)
            states = [self._look(os.path.join(self._folder, name), "") for name in names]
        except (FileNotFoundError, NotADirectoryError):
            return []
        except OSError as exc:
            raise self._unusable(exc) from exc
        return [one for one in states if one.state != "free"]

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
        """Return the previous holder of the acquired ``lock``. If it died after its dispatch, the device begins to settle now.

        The time of its death is unknown; after its time limit the device does nothing for it.
        """
        last = _decode(lock.read())
        if last is None or not last.dispatched_at or last.not_before:
            return last
        ends = min(self._clock(), last.dispatched_at + last.timeout_ms / 1000)
        content = _encode(last, not_before=ends + SETTLE_SECONDS)
        lock.write(content)
        return _decode(content)

    def _settles(self, holder: Holder) -> bool:
        """Return whether the device settles after ``holder``; a clock that was set back must not lock it for hours."""
        return 0 < holder.not_before - self._clock() <= 2 * SETTLE_SECONDS

    def _conflict(self, wanted: Holder, other: Holder, wait_ms: int) -> EngineError:
        """Return the refusal of ``wanted``, with ``retryAfterMs`` if the end of settling is known."""
        details: dict[str, Any] = {"deviceId": wanted.device_id, "commandId": wanted.command_id}
        through = ""
        if other.device_id not in ("", wanted.device_id):
            details["otherTransport"] = other.device_id
            through = f", which is also connected as {other.device_id}"
        if wait_ms:
            details["waitedMs"] = wait_ms
        if other.not_before:
            left = max(1, math.ceil((other.not_before - self._clock()) * 1000))
            details |= {"settlingAfter": other.command_id, "notBefore": other.not_before, "retryAfterMs": left}
            message = f"The device is settling after an execution whose outcome is unknown{through}"
            hint = f"Retry in {left} ms, or wait for it with --wait {_SETTLE_WAIT_MS}."
            return EngineError(ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT, message, hint=hint, details=details)
        if other.pid:
            details |= {
                "inFlightCommandId": other.command_id,
                "pid": other.pid,
                "source": other.source,
                "since": other.since,
                "timeoutMs": other.timeout_ms,
            }
        message = f"Another execution is in flight on this device{through}"
        return EngineError(ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT, message, details=details)

    def _unusable(self, exc: OSError) -> EngineError:
        if isinstance(exc, NotPrivateError):
            return exc.to_engine_error()
        reason = exc.strerror or str(exc)
        return EngineError(
            ErrorCode.LOCKS_UNAVAILABLE,
            f"The folder of the device locks, {self._folder}, cannot be used: {reason}",
            hint="Set HOME to a folder that this user can write, on a disk with free space: the locks keep two programs off one device.",
            details={"path": self._folder, "reason": reason},
        )

    def _path(self, name: str) -> str:
        """Return the path of a serial's or phone's lock: unsafe characters are replaced, and a hash keeps the name unique."""
        safe = _UNSAFE.sub("_", name)
        if safe != name or len(safe) > 100:
            import hashlib

            safe = f"{safe[:80]}-{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:12]}"
        return os.path.join(self._folder, f"{safe}.lock")


class PhoneLocks:
    """The locks of devices behind an adb server: each is that of its serial and of its phone, by what ``phones`` knows."""

    def __init__(self, locks: DeviceLocks, phones: Phones) -> None:
        self._locks, self._phones = locks, phones

    @asynccontextmanager
    async def hold(
        self,
        device: AdbDevice,
        command: Command,
        *,
        yields: bool = False,
        wait_ms: int = 0,
        ticket: Ticket | None = None,
    ) -> AsyncIterator[HeldDevice]:
        """Lock the phone that ``device`` leads to, as ``DeviceLocks.hold``; it is asked for its identity if that is not known."""
        phone = await self._phones.of(device)
        holding = self._locks.hold(device.serial, command, phone=phone, yields=yields, wait_ms=wait_ms, ticket=ticket)
        async with holding as held:
            yield held

    def ticket(self, serial: str) -> Ticket:
        return self._locks.ticket(serial)

    def status(self, serial: str) -> LockStatus:
        """Return the lock of a serial, or of the phone that it is known to lead to."""
        return self._locks.status(serial, self._phones.newest(serial))

    async def found(self, serial: str, find: Callable[[], Awaitable[AdbDevice]]) -> LockStatus:
        """Return ``status``; where something is locked, that of the device that ``find`` returns, after asking which phone it is."""
        status = self.status(serial)
        if status.state == "free" and self._locks.taken():
            with suppress(EngineError):
                device = await find()
                await self._phones.of(device)
                return self.status(device.serial)
        return status

    def taken(self) -> list[LockStatus]:
        """Return the locks that are held or settling, that of a phone for each serial that is known to lead to it."""
        found = {lock.device_id: lock for lock in self._locks.taken()}
        for used in self._locks.taken(phones=True):
            waiting = (lock.device_id for lock in found.values() if lock.phone == used.phone)
            for serial in {used.device_id, *waiting, *self._phones.transports(used.phone)}:
                found[serial] = used._replace(device_id=serial)
        return [found[serial] for serial in sorted(found)]


def _queue_of(path: str) -> str:
    return path.removesuffix(".lock") + ".queue"


def _remove(path: str) -> None:
    """Remove a lock that is free, and its empty queue. Raises ``OSError``."""
    lock = FileLock(path, create=False)
    try:
        if lock.try_acquire():
            os.unlink(path)
            os.rmdir(_queue_of(path))
    finally:
        lock.close()


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError, TypeError):  # not a pid
        return False
    except OSError:
        return True  # a process of another user
    return True


def _encode(holder: Holder, *, not_before: float = 0.0) -> bytes:
    content = {**holder._asdict(), "not_before": not_before}
    for name in ("yields", "dispatched_at", "phone"):
        if not content[name]:
            del content[name]  # older versions reject unknown names
    return json.dumps(content).encode()


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and abs(value) < _LARGEST


def _decode(content: bytes) -> Holder | None:
    """Return the holder; ``None`` for an empty, foreign or incomplete file."""
    try:
        holder = Holder(**json.loads(content))
    except (ValueError, TypeError, RecursionError):
        return None
    numbers = (holder.pid, holder.timeout_ms, holder.since, holder.not_before, holder.dispatched_at)
    names = (holder.device_id, holder.command_id, holder.task_id, holder.source, holder.phone)
    ours = all(map(_is_number, numbers)) and all(isinstance(name, str) for name in names)
    return holder if ours and isinstance(holder.yields, bool) else None
