"""One log stream per device, shared by all readers in this process.

The device's shell reads its clock, writes a nonce and starts logcat from that time: once the nonce is read, no later line is missed.
A stream that ends while it has listeners is reopened at its newest entries, which are recognised: no line is repeated, and
none is missed unless the device's buffer has lost it. The log is never cleared: it belongs to the user.
"""

from __future__ import annotations

import asyncio
import os
import re
import time
from collections import Counter, defaultdict, deque
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Protocol

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.failures import TransportError
from clawperator.engine.adb.quote import device_script
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.bus import EventBus
from clawperator.engine.executions.probe import DeviceFacts, Probe
from clawperator.engine.logcat.binary import BinaryLogParser
from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.operator_log import OperatorLog
from clawperator.engine.logcat.signals import CapturedHierarchy, HierarchySignal, Signal

if TYPE_CHECKING:
    from clawperator.engine.adb.connection import AdbConnection
    from clawperator.engine.executions.log_events import LogEventPublisher
    from clawperator.engine.logcat.text import TextLogParser

NONCE_TAG = "clawperator"
ATTACH_SECONDS = 5.0
_NONCE_AGAIN_SECONDS = 1.5
_AGAIN = (
    'log -t {tag} {nonce}; for p in log.tag persist.log.tag; do echo "$p=$(getprop $p)"; done; logcat -b main -g 2>&1'
)
_MUTED = re.compile(r"^((?:persist\.)?log\.tag)=([WEFAS]\w{0,40})\s*$", re.MULTILINE | re.IGNORECASE | re.ASCII)
"""A level above that of what the Operator logs; ``Settings`` is what the developer options write, and counts by its first letter."""
_NO_BUFFER = re.compile(r"ring buffer is 0\s?[KMG]?i?B", re.IGNORECASE)
_NONCE = "clawperator-nonce-"
_NONCE_BYTES = _NONCE.encode()
_SEAM = 128  # the entry of a nonce can span two reads
_SILENCE_SECONDS = 0.5
_RECENT = 256
"""Entries by which a reopened stream finds its place: logd does not strictly order simultaneous lines."""
_ATTACHMENTS = 5
"""How often in a row a stream may end without an entry, or how often in ``_ENDS_SECONDS`` with some."""
_ENDS_SECONDS = 10.0
_PAUSE_SECONDS = 0.1
_RETRY_SECONDS = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Pauses of a watcher after its first, second … failure in a row."""
_STDOUT = 1
_LONGEST_REASON = 200
_AT_ONCE = 64 * 1024
"""Bytes that are parsed before other tasks run: each of a thousand short lines can be an event."""


class LogListener(Protocol):
    """A reader of the stream; called in its order, never concurrently."""

    def on_nonce(self, nonce: str) -> None: ...

    def on_signal(self, signal: Signal) -> None: ...

    def on_closed(self, error: EngineError) -> None: ...


def logcat_words(facts: DeviceFacts) -> list[str]:
    """Return the logcat command: binary if it is flushed, else text.

    API 33 does not flush ``-B``; API 21 to 23 know neither log modifiers nor epoch times (android-facts 1d, 1f, 2a).
    """
    words = ["logcat", "-b", "main", "-b", "crash"]
    if facts.binary_log:
        return [*words, "-B"]
    if facts.sdk >= 24:
        return [*words, "-v", "threadtime", "-v", "uid", "-v", "epoch"]
    return [*words, "-v", "threadtime"]


def log_parser(facts: DeviceFacts) -> BinaryLogParser | TextLogParser:
    """Return a parser for the output of ``logcat_words``."""
    if facts.binary_log:
        return BinaryLogParser()
    from clawperator.engine.logcat.lines import LONGEST_LIVE_LINE
    from clawperator.engine.logcat.text import TextLogParser

    return TextLogParser("threadtime", longest_line=LONGEST_LIVE_LINE)


def attach_script(facts: DeviceFacts, nonce: str) -> str:
    """Return the shell script that reads the clock, writes the nonce and becomes logcat (android-facts 2g)."""
    clock = "T=${EPOCHREALTIME:-$(date +%s).000000}" if facts.sdk >= 24 else "T=\"$(date '+%m-%d %H:%M:%S').000\""
    return device_script(
        clock + '; log -t {tag} {nonce}; exec {logcat} -T "$T"', tag=NONCE_TAG, nonce=nonce, logcat=logcat_words(facts)
    )


def resume_script(facts: DeviceFacts, nanoseconds: int, first: LogEntry) -> str:
    """Return the script that becomes logcat from ``nanoseconds`` on; if stamps have no year (negative), from the ``first`` entry on."""
    seconds, rest = divmod(nanoseconds - 1, 1_000_000_000)
    since = first.stamp if nanoseconds < 0 else f"{seconds}.{rest:09d}"
    return device_script("exec {logcat} -T {since}", logcat=logcat_words(facts), since=since)


def _order(entry: LogEntry) -> tuple[int, str]:
    """Return the sort key of entries of one stream."""
    return entry.nanoseconds, entry.stamp


def nonce_command(nonce: str) -> list[str]:
    return ["log", "-t", NONCE_TAG, nonce]


def why_silent(text: str) -> str:
    """Return why a log shows nothing, by the output of ``_AGAIN``; '' if the device does not say it."""
    if (muted := _MUTED.search(text)) is not None:
        return f"{muted[1]} is {muted[2]}, which mutes it"
    if _NO_BUFFER.search(text):
        return "its buffer has no size"
    lines = [line.strip() for line in text.splitlines() if line.strip() and "log.tag=" not in line]
    if not lines or any("ring buffer" in line for line in lines):
        return ""
    return f"logcat says {lines[0][:_LONGEST_REASON]!r}"


def silent_log(serial: str, why: str = "") -> EngineError:
    """Return the error for a device whose log does not show what is written to it."""
    return EngineError(
        ErrorCode.LOGCAT_UNAVAILABLE,
        f"The log of {serial} does not show what is written to it{why and f': {why}'}",
        hint="Check that logging is not muted on the device: in the developer options, 'Logger buffer sizes' must not be Off, and "
        "`getprop log.tag` must be empty; some makers have a switch of their own. Or use --backend stock, which needs no log; "
        "nothing was dispatched.",
        details={"deviceId": serial},
    )


def new_nonce() -> str:
    return f"{_NONCE}{os.urandom(8).hex()}"


class DeviceLog:
    """The open stream of one device. Listeners get every later signal of the Operator."""

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
        self._news: LogEventPublisher | None = None
        self.last_tree: tuple[float, CapturedHierarchy] | None = None
        """The newest tree, and its time (seconds since the epoch)."""
        self._nonce = new_nonce()
        self._attached: asyncio.Future[LogEntry] = asyncio.get_running_loop().create_future()
        self._reader: asyncio.Task[None] | None = None
        self._watchers = 0
        self._recent: deque[LogEntry] = deque(maxlen=_RECENT)
        self._known: Counter[LogEntry] = Counter()
        self._span = ((-1, ""), (-1, ""))
        self._away = 0.0
        self._ends: deque[float] = deque(maxlen=_ATTACHMENTS + 1)
        """When the stream ended."""
        self._witness: AdbConnection | None = None
        self._ended = asyncio.Event()
        self.closed: EngineError | None = None
        self.reading = 0.0
        """Seconds that this process has spent on parsing the stream."""

    async def attach(self) -> None:
        """Open the stream and return when no line logged from now on can be missed.

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
            # A busy logd may have dropped the nonce: write it again.
            script = device_script(_AGAIN, tag=NONCE_TAG, nonce=self._nonce)
            why = why_silent((await self.device.script(script, timeout=ATTACH_SECONDS)).text)
            try:
                async with asyncio.timeout(_NONCE_AGAIN_SECONDS if why else ATTACH_SECONDS):
                    await asyncio.shield(self._attached)
            except TimeoutError:
                raise silent_log(self.device.serial, why) from None

    async def close(self) -> None:
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
        if self._attached.done() and not self._attached.cancelled():
            self._attached.exception()

    def listen(self, listener: LogListener) -> Callable[[], None]:
        """Add a listener; call the result to remove it. Raises ``EngineError``, why the stream has ended, if it has."""
        if self.closed is not None:
            raise self.closed
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def watch(self) -> None:
        """Publish every entry in ``LogBatch`` events until the stream ends; raise why it ended."""
        self._watchers += 1
        try:
            await self._ended.wait()
        finally:
            self._watchers -= 1
        if self.closed is not None:
            raise self.closed

    async def _read(self) -> None:
        script, attachments = attach_script(self.facts, self._nonce), 0
        try:
            while True:
                newest = self._recent[-1] if self._recent else None
                error = await self._follow(script)
                left = asyncio.get_running_loop().time()
                self._ends.append(left)
                attachments = 1 if self._recent and self._recent[-1] is not newest else attachments + 1
                if not await self._comes_back(error, attachments):
                    self._end(error)
                    return
                self._away += asyncio.get_running_loop().time() - left
                script = self._resume()
        finally:  # not in ``close``, which can be cancelled while it waits for this task
            self._close_witness()

    def _resume(self) -> str:
        """Return the script that reopens the stream at its newest entries."""
        self._seam = b""
        self._operator.screen += 1  # lines may have been lost
        self._known = Counter(self._recent)
        records = [entry for entry in self._recent if not entry.is_note]
        self._span = min(map(_order, records)), max(map(_order, records))
        return resume_script(self.facts, self._span[0][0], self._attached.result())

    async def _comes_back(self, error: EngineError, attachments: int) -> bool:
        """Return whether to reopen the stream that ended with ``error``."""
        if self._silence is not None:
            self._silence.cancel()
        awaited = self._listeners and self._attached.done() and error.code is not ErrorCode.UNKNOWN_RUNTIME_ERROR
        often = len(self._ends) > _ATTACHMENTS and self._ends[-1] - self._ends[0] < _ENDS_SECONDS
        if not awaited or often or attachments > _ATTACHMENTS:
            return False
        from clawperator.engine.executions.reconnection import await_return

        await asyncio.sleep(_PAUSE_SECONDS * attachments)
        try:
            await await_return(self.device, self._witness)
        except EngineError:
            return False
        return True

    async def _follow(self, script: str) -> EngineError:
        """Read one stream to its end; return why it ended."""
        try:
            complaint = await self._take_all(script)
        except TransportError as exc:
            return EngineError(ErrorCode.LOGCAT_UNAVAILABLE, f"The connection to the device's log broke: {exc.message}")
        except EngineError as exc:
            return exc
        except Exception as exc:  # noqa: BLE001 -- listeners must learn of the end, whatever the reason
            message = f"Reading the log failed: {type(exc).__name__}: {exc}"
            error = EngineError(ErrorCode.UNKNOWN_RUNTIME_ERROR, message)
            error.__cause__ = exc
            return error
        message = "logcat exited before terminal envelope"
        if not complaint:
            return EngineError(ErrorCode.LOGCAT_UNAVAILABLE, message)
        reason = complaint.rpartition("\n")[2][:_LONGEST_REASON]
        return EngineError(ErrorCode.LOGCAT_UNAVAILABLE, f"{message}: {reason}", details={"stderr": complaint})

    async def _take_all(self, script: str) -> str:
        """Read one stream; return logcat's stderr. An entry that is cut off is read again from the next stream."""
        parser = log_parser(self.facts)
        complaint = b""
        async with self.device.stream(script) as stream:
            await self._open_witness()
            async for channel, data in stream:
                if channel == _STDOUT:
                    for at in range(0, len(data), _AT_ONCE):
                        self._read_part(parser, data[at : at + _AT_ONCE])
                        if len(data) > _AT_ONCE:
                            await asyncio.sleep(0)
                else:
                    complaint = (complaint + data)[:2048]
        return complaint.decode(errors="replace").strip()

    def _read_part(self, parser: BinaryLogParser | TextLogParser, data: bytes) -> None:
        began = time.perf_counter()
        entries = parser.feed(data)
        self._take(self._unknown(entries) if self._known else entries, data)
        self.reading += time.perf_counter() - began

    async def _open_witness(self) -> None:
        """Open an idle connection to the adb server: whether it ends, too, tells a lost server from a lost device."""
        self._close_witness()
        with suppress(EngineError):
            self._witness = await self.device.server.connect(start=False)

    def _close_witness(self) -> None:
        if self._witness is not None:
            self._witness.close()
            self._witness = None

    def _unknown(self, entries: list[LogEntry]) -> list[LogEntry]:
        """Return the entries of a reopened stream that were not read before."""
        unknown: list[LogEntry] = []
        for entry in entries:
            if self._known[entry]:
                self._known[entry] -= 1
            elif _order(entry) >= self._span[0]:
                unknown.append(entry)
        if entries and _order(entries[-1]) > self._span[1]:
            self._known.clear()
        return unknown

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
        """Process the entries that ``data`` completed. Searching the bytes for a nonce is cheaper than comparing each entry."""
        self._recent.extend(entries)
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
            from clawperator.engine.events.types import LogBatch

            self._bus.publish(LogBatch(device_id=self.device.serial, entries=tuple(entries)))

    def _nonce_seen(self, entry: LogEntry) -> None:
        nonce = entry.message.strip()
        if nonce == self._nonce and not self._attached.done():
            self._attached.set_result(entry)
        for listener in tuple(self._listeners):
            listener.on_nonce(nonce)

    def _watch_for_silence(self) -> None:
        """Give up an incomplete message of several parts after a pause."""
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None
        if self._operator.pending:
            loop = asyncio.get_running_loop()
            self._deliver(self._operator.expire(loop.time() - self._away))
            self._silence = loop.call_later(_SILENCE_SECONDS, self._watch_for_silence)

    def _deliver(self, signals: Sequence[Signal]) -> None:
        if signals and self._bus.watched:
            if self._news is None:
                from clawperator.engine.executions.log_events import LogEventPublisher

                self._news = LogEventPublisher(self._bus, self.device.serial)
            self._news.publish(signals)
        for signal in signals:
            if isinstance(signal, HierarchySignal):
                self.last_tree = time.time(), signal.captured
        for signal in signals:
            for listener in tuple(self._listeners):
                listener.on_signal(signal)

    def transport(self, command_id: str) -> Mapping[str, int] | None:
        """Return what has arrived of a command's result in chunk records; ``None`` where nothing did."""
        return self._operator.transport(command_id)

    @property
    def anonymous(self) -> bool:
        """Whether the entries of this stream have no uid."""
        return self._attached.result().uid < 0

    @property
    def attached_at(self) -> float:
        """Device time (seconds since the epoch, or NaN) from which no line is missed."""
        return self._attached.result().time


class LogStreams:
    """The open streams, one per device and Operator uid, each closed with its last user.

    If the Operator's uid is unknown, each execution has its own stream: its ``command_id`` then selects the lines to accept.
    """

    def __init__(self, bus: EventBus) -> None:
        self._bus = bus
        self._open: dict[tuple[str, int], tuple[DeviceLog, int]] = {}
        self._opening: defaultdict[tuple[str, int], asyncio.Lock] = defaultdict(asyncio.Lock)

    @asynccontextmanager
    async def open(
        self, device: AdbDevice, facts: DeviceFacts, uid: int | None, command_id: str = ""
    ) -> AsyncIterator[DeviceLog]:
        """Yield an attached stream of ``device``: the open one, or a new one."""
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

    async def watch(self, device: AdbDevice, probe: Probe, package: str, *, chosen: bool) -> None:
        """Publish the log of ``device`` until cancelled, also after it was away, with ``LogAttached`` and ``LogGap``.

        ``package`` and ``chosen`` are those of ``Probe.app``.
        """
        from clawperator.engine.events.types import LogAttached, LogGap
        from clawperator.engine.executions.reconnection import had_to_wait_for

        serial, failures = device.serial, 0
        while True:
            failures += 1
            try:
                name, facts = await probe.app(device, package, chosen=chosen)
                async with self.open(device, facts, facts.uid_of(name)) as log:
                    failures = 0
                    self._bus.publish(LogAttached(device_id=serial))
                    await log.watch()
            except EngineError as exc:
                probe.forget(serial)  # a device that returns may have another Operator, or none
                self._bus.publish(LogGap(device_id=serial, reason=exc.message))
                if await had_to_wait_for(device.server, serial):
                    failures = 0
            await asyncio.sleep(_RETRY_SECONDS[min(failures, len(_RETRY_SECONDS) - 1)])

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
