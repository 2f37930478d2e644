"""The device's log: logd's ring buffers, kept as the frames that ``logcat -B`` prints.

An entry is encoded once, when it is written; a binary reader joins frames, a text reader decodes them. Sizes and limits
are the platform's (android-facts 1b, 1c, 2b): 28-byte headers, 4,068 bytes of payload, rings bounded in bytes whose oldest
entries go first.
"""

from __future__ import annotations

import struct
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple
from weakref import WeakSet

from clawperator.engine.simulator.streams import Notifier

HEADER: Final = struct.Struct("<HHiIIIII")
"""Version 4 of ``logger_entry``: payload length, header size, pid, tid, seconds, nanoseconds, buffer id, uid."""

LEVELS: Final = "VDIWEFS"
"""Priority letters from 2 (verbose) to 8 (silent)."""

FIRST_PRIORITY: Final = 2

BUFFERS: Final = {
    name: number
    for number, name in enumerate(("main", "radio", "events", "system", "crash", "stats", "security", "kernel"))
}
BUFFER_NAMES: Final = {number: name for name, number in BUFFERS.items()}

MAX_PAYLOAD: Final = 4068
"""Bytes of level, tag, NUL, message and NUL that one entry holds (API 24 and later); the rest is lost (wire.md#log-lines)."""


class LogRecord(NamedTuple):
    """One entry. ``seq`` counts up over all buffers; ``time_ns`` is device time since the epoch; ``frame`` is version 4."""

    seq: int
    time_ns: int
    frame: bytes

    @property
    def payload(self) -> bytes:
        return self.frame[HEADER.size :]

    @property
    def level(self) -> str:
        return LEVELS[self.frame[HEADER.size] - FIRST_PRIORITY]

    def header(self) -> tuple[int, int, int, int]:
        """pid, tid, buffer number, uid."""
        _, _, pid, tid, _, _, buffer, uid = HEADER.unpack_from(self.frame)
        return pid, tid, buffer, uid

    def text(self) -> tuple[bytes, bytes]:
        """Tag and message. The closing NUL is absent where the platform cut the entry."""
        tag, _, message = self.frame[HEADER.size + 1 :].partition(b"\0")
        return tag, message.removesuffix(b"\0")


class _Ring:
    """One buffer. Positions are absolute: the n-th entry ever written to this buffer has position n."""

    __slots__ = ("_head", "_records", "capacity", "first", "size")

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.size = 0
        self.first = 0  # position of the oldest entry still held
        self._records: list[LogRecord] = []
        self._head = 0

    @property
    def end(self) -> int:
        return self.first + len(self._records) - self._head

    def extend(self, records: list[LogRecord]) -> None:
        self._records += records
        self.size += sum(len(record.frame) for record in records)
        if self.size > self.capacity:
            self.trim()

    def trim(self) -> None:
        """Drop the oldest until the ring fits; the newest entry always stays."""
        records, head, last = self._records, self._head, len(self._records) - 1
        while self.size > self.capacity and head < last:
            self.size -= len(records[head].frame)
            head += 1
        self._drop_to(head)

    def clear(self) -> None:
        self.size = 0
        self._drop_to(len(self._records))

    def _drop_to(self, head: int) -> None:
        self.first += head - self._head
        self._head = head
        if head > 1024 and head * 2 > len(self._records):  # amortised: every entry is moved at most once
            del self._records[:head]
            self._head = 0

    def since(self, position: int) -> list[LogRecord]:
        """The records at ``position`` and after it."""
        return self._records[self._head + max(0, position - self.first) :]

    def after(self, time_ns: int) -> int:
        """Position of the first entry later than ``time_ns``."""
        found = bisect_right(self._records, time_ns, lo=self._head, key=lambda record: record.time_ns)
        return self.first + found - self._head


class LogBuffer:
    """All log buffers of one device, and its clock.

    ``capacity_bytes`` limits each buffer (headers included). The clock is strictly increasing: two readings of ``now_ns``
    differ, and an entry is later than every reading before it, so that "read the clock, write a nonce, attach from that
    time" (android-facts 2g) works under a frozen test clock too. Use it from one event loop.
    """

    def __init__(
        self,
        *,
        capacity_bytes: int = 5 * 1024 * 1024,
        clock: Callable[[], float] = time.time,
        least: Callable[[], str] = str,
    ) -> None:
        """``least`` returns the property that mutes what is less important; its first letter counts."""
        self._clock = clock
        self._least = least
        self._rings = {number: _Ring(capacity_bytes) for number in BUFFER_NAMES}
        self._last_ns = 0
        self._seq = 0
        self._notifier = Notifier()
        self._readers: WeakSet[LogReader] = WeakSet()
        self.started_ns = self.now_ns()
        """When the device's monotonic clock began."""

    def now_ns(self) -> int:
        """Device time in nanoseconds since the epoch; later than every earlier reading and entry."""
        self._last_ns = max(self._last_ns + 1, int(self._clock() * 1_000_000_000))
        return self._last_ns

    def write(self, *, pid: int, tid: int, uid: int, level: str, tag: str, message: str, buffer: str = "main") -> None:
        """Append one entry. A message too long for an entry loses its end, as on a device; splitting is the caller's."""
        self.write_all((message,), pid=pid, tid=tid, uid=uid, level=level, tag=tag, buffer=buffer)

    def write_all(
        self,
        messages: Iterable[str],
        *,
        pid: int,
        tid: int,
        uid: int,
        level: str,
        tag: str,
        buffer: str = "main",
    ) -> None:
        """Append one entry per message, all with the same head: fast enough for dumps of thousands of lines.

        The clock is read once; the entries are a nanosecond apart.
        """
        least = LEVELS.find(self._least()[:1].upper())
        if LEVELS.index(level) < least:
            return
        number = BUFFERS[buffer]
        prefix = bytes((LEVELS.index(level) + FIRST_PRIORITY,)) + _c_string(tag)
        limit, pack, size, seq = MAX_PAYLOAD, HEADER.pack, HEADER.size, self._seq
        now = self.now_ns() - 1
        records: list[LogRecord] = []
        for message in messages:
            payload = prefix + _c_string(message)
            if len(payload) > limit:
                payload = payload[:limit]
            now += 1
            seq += 1
            head = pack(len(payload), size, pid, tid, now // 1_000_000_000, now % 1_000_000_000, number, uid)
            records.append(LogRecord(seq, now, head + payload))
        self._seq, self._last_ns = seq, max(now, self._last_ns)
        self._rings[number].extend(records)
        self._notifier.notify()

    def clear(self, buffers: Iterable[str] = ("main", "system", "crash")) -> None:
        for name in buffers:
            self._rings[BUFFERS[name]].clear()

    def resize(self, buffer: str, capacity_bytes: int) -> None:
        ring = self._rings[BUFFERS[buffer]]
        ring.capacity = capacity_bytes
        ring.trim()

    def usage(self, buffer: str) -> tuple[int, int]:
        """Bytes held, and capacity."""
        ring = self._rings[BUFFERS[buffer]]
        return ring.size, ring.capacity

    def reader(
        self,
        buffers: Sequence[str] = ("main", "system", "crash"),
        *,
        after_ns: int | None = None,
        last: int | None = None,
    ) -> LogReader:
        """Attach. From the oldest entry, or the first later than ``after_ns``, or so that ``last`` entries are left."""
        rings = [self._rings[number] for number in sorted({BUFFERS[name] for name in buffers})]
        reader = LogReader(rings, self._notifier, after_ns=after_ns, last=last)
        self._readers.add(reader)
        return reader

    def end_readers(self) -> None:
        """End every current reader, as a restarting logd does."""
        for reader in self._readers:
            reader.ended = True
        self._notifier.notify()

    def records(self, buffers: Sequence[str] = ("main", "system", "crash")) -> list[LogRecord]:
        """What is held now, oldest first."""
        return self.reader(buffers).take()


class LogReader:
    """A position in some buffers. ``lost`` counts entries that the ring dropped before this reader took them."""

    def __init__(self, rings: Sequence[_Ring], notifier: Notifier, *, after_ns: int | None, last: int | None) -> None:
        self._notifier = notifier
        self._next = {ring: ring.first if after_ns is None else ring.after(after_ns) for ring in rings}
        self.lost = 0
        self.ended = False
        if last is not None:
            self._skip_to_last(last)

    def _skip_to_last(self, count: int) -> None:
        pending = sorted(record.seq for ring, position in self._next.items() for record in ring.since(position))
        kept = set(pending[max(0, len(pending) - count) :])
        for ring, position in self._next.items():
            self._next[ring] = ring.end - sum(record.seq in kept for record in ring.since(position))

    def take(self) -> list[LogRecord]:
        """Everything written since the last call, in the order of writing; empty when there is nothing."""
        taken: list[LogRecord] = []
        sources = 0
        for ring, position in self._next.items():
            if position < ring.first:
                self.lost += ring.first - position
            records = ring.since(position)
            self._next[ring] = ring.end
            sources += bool(records)
            taken += records
        if sources > 1:
            taken.sort()  # by seq
        return taken

    async def wait(self) -> None:
        """Return once ``take`` has entries, or never will have."""
        while not self.ended and all(position >= ring.end for ring, position in self._next.items()):
            await self._notifier.wait()


def _c_string(text: str) -> bytes:
    """UTF-8 with a closing NUL; a NUL inside and half a surrogate pair are written as the Java runtime does."""
    data = text.encode("utf-8", "surrogatepass")
    return (data.replace(b"\0", b"\xc0\x80") if b"\0" in data else data) + b"\0"
