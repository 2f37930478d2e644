"""One log stream per device, shared by everybody in this process who watches or executes.

Attaching cannot race: the device's own shell reads its clock, writes a nonce and starts logcat *from that time*, so when the
nonce comes by, nothing logged after it is missed. The log is never cleared: it belongs to the user.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Protocol

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.failures import TransportError
from clawperator.engine.adb.quote import device_script
from clawperator.engine.bus import EventBus
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.logcat.binary import BinaryLogParser
from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.operator_log import (
    OperatorLog,
    Signal,
)
from clawperator.engine.observe.probe import DeviceFacts

if TYPE_CHECKING:
    from clawperator.engine.logcat.text import TextLogParser

NONCE_TAG = "clawperator"
ATTACH_SECONDS = 5.0
_NONCE_AGAIN_SECONDS = 1.5
_NONCE = "clawperator-nonce-"
_NONCE_BYTES = _NONCE.encode()
_SEAM = 128  # a nonce's entry may begin in one read and end in the next
_SILENCE_SECONDS = 0.5
_STDOUT = 1


class LogListener(Protocol):
    """Somebody who follows the stream; called in its order, never concurrently."""

    def on_nonce(self, nonce: str) -> None: ...

    def on_signal(self, signal: Signal) -> None: ...

    def on_closed(self, error: EngineError) -> None: ...


def logcat_words(facts: DeviceFacts) -> list[str]:
    """The logcat of this device: binary where it is flushed, else text.

    API 33 does not flush ``-B``; API 21 to 23 know neither log modifiers nor epoch times (android-facts 1d, 1f, 2a).
    """
    words = ["logcat", "-b", "main", "-b", "crash"]
    if facts.binary_log:
        return [*words, "-B"]
    if facts.sdk >= 24:
        return [*words, "-v", "threadtime", "-v", "uid", "-v", "epoch"]
    return [*words, "-v", "threadtime"]


def log_parser(facts: DeviceFacts) -> BinaryLogParser | TextLogParser:
    """Reads what ``logcat_words`` prints."""
    if facts.binary_log:
        return BinaryLogParser()
    from clawperator.engine.logcat.text import TextLogParser

    return TextLogParser("threadtime")


def attach_script(facts: DeviceFacts, nonce: str) -> str:
    """Read the clock, write the nonce, become logcat: one device shell, one stream (android-facts 2g)."""
    clock = "T=${EPOCHREALTIME:-$(date +%s).000000}" if facts.sdk >= 24 else "T=\"$(date '+%m-%d %H:%M:%S').000\""
    return device_script(
        clock + '; log -t {tag} {nonce}; exec {logcat} -T "$T"', tag=NONCE_TAG, nonce=nonce, logcat=logcat_words(facts)
    )


def nonce_command(nonce: str) -> list[str]:
    return ["log", "-t", NONCE_TAG, nonce]


def new_nonce() -> str:
    return f"{_NONCE}{os.urandom(8).hex()}"


class DeviceLog:
    """The open stream of one device. Listeners get every signal of the Operator after they joined."""

    def __init__(
        self, device: AdbDevice, facts: DeviceFacts, bus: EventBus, *, uid: int | None, command_id: str
    ) -> None:
        self.device = device
        self.facts = facts
        self._bus = bus
        self.uid = uid
        self._operator = OperatorLog(uid=uid, command_id="" if uid is not None else command_id)
        self._silence: asyncio.TimerHandle | None = None
        self._seam = b""
        self._listeners: list[LogListener] = []
        self._nonce = new_nonce()
        self._attached: asyncio.Future[LogEntry] = asyncio.get_running_loop().create_future()
        self._reader: asyncio.Task[None] | None = None
        self._watchers = 0
        self._ended = asyncio.Event()
        self.closed: EngineError | None = None
        self.reading = 0.0
        """Seconds that this process spent on reading the stream so far."""

    async def attach(self) -> None:
        """Open the stream and wait until it is certain that nothing logged from now on is missed.

        Raises ``EngineError`` (LOGCAT_UNAVAILABLE, or why the device cannot be reached).
        """
        self._reader = asyncio.create_task(self._read(), name=f"log of {self.device.serial}")
        try:
            await self._await_nonce()
        except BaseException:
            await self.close()
            raise

    async def _await_nonce(self) -> None:
        try:
            async with asyncio.timeout(_NONCE_AGAIN_SECONDS):
                await asyncio.shield(self._attached)
        except TimeoutError:
            # The one nonce may have been dropped by a busy logd: write it again from beside the stream.
            await self.device.shell(nonce_command(self._nonce), timeout=ATTACH_SECONDS)
            try:
                async with asyncio.timeout(ATTACH_SECONDS):
                    await asyncio.shield(self._attached)
            except TimeoutError:
                raise EngineError(
                    ErrorCode.LOGCAT_UNAVAILABLE,
                    f"The log of {self.device.serial} does not show what is written to it",
                    hint="Check that logging is not muted on the device (getprop log.tag); nothing was dispatched.",
                    details={"deviceId": self.device.serial},
                ) from None

    async def close(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
        if self._attached.done() and not self._attached.cancelled():
            self._attached.exception()

    def listen(self, listener: LogListener) -> Callable[[], None]:
        """Join the stream; call the result to leave it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def watch(self) -> None:
        """Publish every entry as ``LogBatch`` events until the stream ends; raises why it ended."""
        self._watchers += 1
        try:
            await self._ended.wait()
        finally:
            self._watchers -= 1
        if self.closed is not None:
            raise self.closed

    async def _read(self) -> None:
        try:
            await self._follow()
            error = EngineError(ErrorCode.LOGCAT_UNAVAILABLE, "logcat exited before terminal envelope")
        except TransportError as exc:
            error = EngineError(
                ErrorCode.LOGCAT_UNAVAILABLE, f"The connection to the device's log broke: {exc.message}"
            )
        except EngineError as exc:
            error = exc
        except Exception as exc:  # noqa: BLE001 -- whoever waits must hear of the end, whatever we stumbled over
            message = f"Reading the log failed: {type(exc).__name__}: {exc}"
            error = EngineError(ErrorCode.UNKNOWN_RUNTIME_ERROR, message)
            error.__cause__ = exc
        self._end(error)

    async def _follow(self) -> None:
        parser = log_parser(self.facts)
        complaint = b""
        async with self.device.stream(attach_script(self.facts, self._nonce)) as stream:
            async for channel, data in stream:
                if channel == _STDOUT:
                    began = time.perf_counter()
                    self._take(parser.feed(data), data)
                    self.reading += time.perf_counter() - began
                else:
                    complaint = (complaint + data)[:2048]
        self._take(parser.finish(), b"")
        if complaint.strip():
            raise EngineError(
                ErrorCode.LOGCAT_UNAVAILABLE,
                "logcat exited before terminal envelope",
                details={"stderr": complaint.decode(errors="replace").strip()},
            )

    def _end(self, error: EngineError) -> None:
        self.closed = error
        self._ended.set()
        if self._silence is not None:
            self._silence.cancel()
        self._deliver(self._operator.finish())
        if not self._attached.done():
            self._attached.set_exception(error)
        for listener in tuple(self._listeners):
            listener.on_closed(error)

    def _take(self, entries: list[LogEntry], data: bytes) -> None:
        """``entries`` are what ``data`` completed; a look at the bytes tells nearly always that no nonce is among them."""
        start = 0
        recent = self._seam + data
        if _NONCE_BYTES in recent:
            for index, entry in enumerate(entries):
                if entry.payload.startswith(_NONCE_BYTES):
                    self._deliver(self._operator.feed(entries[start:index]))
                    self._nonce_seen(entry)
                    start = index + 1
        self._seam = recent[-_SEAM:]
        self._deliver(self._operator.feed(entries[start:] if start else entries))
        self._watch_for_silence()
        if entries and self._watchers and self._bus.watched:
            from clawperator.engine.events import LogBatch

            self._bus.publish(LogBatch(device_id=self.device.serial, entries=tuple(entries)))

    def _nonce_seen(self, entry: LogEntry) -> None:
        nonce = entry.message.strip()
        if nonce == self._nonce and not self._attached.done():
            self._attached.set_result(entry)
        for listener in tuple(self._listeners):
            listener.on_nonce(nonce)

    def _watch_for_silence(self) -> None:
        """A message of several parts whose next part never comes is given up after a while; nothing else would notice."""
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None
        if self._operator.pending:
            loop = asyncio.get_running_loop()
            self._deliver(self._operator.expire(loop.time()))
            self._silence = loop.call_later(_SILENCE_SECONDS, self._watch_for_silence)

    def _deliver(self, signals: Sequence[Signal]) -> None:
        if signals and self._bus.watched:
            from clawperator.engine.observe.news import publish

            publish(self._bus, signals, self.device.serial)
        for signal in signals:
            for listener in tuple(self._listeners):
                listener.on_signal(signal)

    @property
    def anonymous(self) -> bool:
        """Whether the entries of this stream do not say whose they are."""
        return self._attached.result().uid < 0

    @property
    def attached_at(self) -> float:
        """Device time (seconds since the epoch, or NaN) of the moment since which nothing is missed."""
        return self._attached.result().time


class LogRoom:
    """The streams that are open now, one per device and Operator uid, closed when the last user leaves.

    Where the Operator's uid is unknown, each execution has a stream of its own: only its ``command_id`` then tells whose
    lines to believe.
    """

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus
        self._open: dict[tuple[str, int], tuple[DeviceLog, int]] = {}
        self._opening: defaultdict[tuple[str, int], asyncio.Lock] = defaultdict(asyncio.Lock)

    @asynccontextmanager
    async def open(
        self, device: AdbDevice, facts: DeviceFacts, uid: int | None, command_id: str = ""
    ) -> AsyncIterator[DeviceLog]:
        """An attached stream of ``device``: the one that is open already, or a new one."""
        if uid is None:
            own = await self._attach(device, facts, None, command_id)
            try:
                yield own
            finally:
                await own.close()
            return
        log = await self._join((device.serial, uid), device, facts)
        try:
            yield log
        finally:
            await self._leave((device.serial, uid), log)

    async def _join(self, key: tuple[str, int], device: AdbDevice, facts: DeviceFacts) -> DeviceLog:
        async with self._opening[key]:
            log, users = self._open.get(key, (None, 0))
            if log is None or log.closed is not None:
                log, users = await self._attach(device, facts, key[1], ""), 0
            self._open[key] = (log, users + 1)
            return log

    async def _attach(self, device: AdbDevice, facts: DeviceFacts, uid: int | None, command_id: str) -> DeviceLog:
        log = DeviceLog(device, facts, self._bus, uid=uid, command_id=command_id)
        await log.attach()
        if uid is not None and log.anonymous:
            # Android 7 to 10 sometimes takes the shell for an ordinary app: it then sees only its own lines, without
            # uids. Attaching again helps (android-facts 3a).
            await log.close()
            log = DeviceLog(device, facts, self._bus, uid=uid, command_id=command_id)
            await log.attach()
        return log

    async def _leave(self, key: tuple[str, int], log: DeviceLog) -> None:
        current, users = self._open.get(key, (None, 0))
        if current is log and users > 1:
            self._open[key] = (log, users - 1)
            return
        if current is log:
            del self._open[key]
        await log.close()
