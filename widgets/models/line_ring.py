"""The device log: a bounded ring of packed lines with stable numbers.

Line 17 stays line 17 when older ones are dropped. New lines are kept as they are until they fill a chunk; whole chunks
are dropped when the ring is full. The Operator's lines are an index into the ring.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from clawperator.engine.filters.grammar import Filter
from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.progress import OPERATOR_PREFIXES
from clawperator.widgets.models.line_chunk import Chunk
from clawperator.widgets.models.stream_filter import chunk_rows, keeps_entry

CHUNK_LINES = 4_096
_PROCESSES_KEPT = 64


class LineRing:
    """The newest ``capacity`` lines, up to a chunk more. ``first`` is the number of the oldest one."""

    def __init__(self, capacity: int) -> None:
        self.capacity = max(1, capacity)
        self.chunk_lines = max(1, min(CHUNK_LINES, self.capacity // 16))
        self.first = 0
        self._packed_end = 0
        self.operator: array[int] = array("Q")
        """Numbers of the lines of the Operator's process, tree dumps excluded."""
        self._chunks: list[Chunk] = []
        self._newest: list[LogEntry] = []
        self._devices: list[str] = []
        self._processes: dict[tuple[str, int], None] = {}

    @property
    def end(self) -> int:
        """Return the number of the next line."""
        return self._packed_end + len(self._newest)

    def __len__(self) -> int:
        return self.end - self.first

    def __getitem__(self, number: int) -> LogEntry:
        """Return the line with this number; raises ``IndexError`` when it is not in the ring."""
        row = number - self._packed_end
        if 0 <= row < len(self._newest):
            return self._newest[row]
        if not self.first <= number < self._packed_end:
            raise IndexError(number)
        chunk, row = divmod(number - self.first, self.chunk_lines)
        return self._chunks[chunk][row]

    def __iter__(self) -> Iterator[LogEntry]:
        return (self[number] for number in range(self.first, self.end))

    def device_of(self, number: int) -> str:
        """Return the serial of the device of a line; raises as ``[]`` does."""
        if not self.first <= number < self.end:
            raise IndexError(number)
        if number >= self._packed_end:
            return self._devices[number - self._packed_end]
        chunk, row = divmod(number - self.first, self.chunk_lines)
        return self._chunks[chunk].devices[row]

    def copy(self) -> LineRing:
        """Return a ring with the same lines for another thread, at the cost of the references."""
        other = LineRing(self.capacity)
        other.first, other._packed_end, other.operator = self.first, self._packed_end, self.operator[:]
        other._chunks, other._newest, other._devices = self._chunks[:], self._newest[:], self._devices[:]
        return other

    # -- filling

    def extend(self, entries: Sequence[LogEntry], device_id: str = "") -> Sequence[int]:
        """Append lines of one device; return the numbers of the Operator's among them."""
        own = self._own_lines(entries, device_id)
        self._newest.extend(entries)
        self._devices.extend([device_id] * len(entries))
        while len(self._newest) >= self.chunk_lines:
            self._pack(self.chunk_lines)
        self.operator.extend(own)
        self._forget()
        return own

    def _own_lines(self, entries: Sequence[LogEntry], device_id: str) -> Sequence[int]:
        """Return the lines of every process that ever logged like the Operator: forging that hides no line."""
        own = array("Q")
        pids = {pid for device, pid in self._processes if device == device_id}
        for number, entry in enumerate(entries, self.end):
            payload, pid = entry[2], entry[3]
            if payload.startswith(OPERATOR_PREFIXES):
                own.append(number)
                if pid >= 0 and pid not in pids:
                    pids.add(pid)
                    self._remember((device_id, pid))
            elif pid in pids and not payload.lstrip().startswith(b"<"):
                own.append(number)
        return own

    def _remember(self, process: tuple[str, int]) -> None:
        self._processes[process] = None
        if len(self._processes) > _PROCESSES_KEPT:
            del self._processes[next(iter(self._processes))]

    def _pack(self, count: int) -> None:
        self._chunks.append(Chunk(self._newest[:count], self._devices[:count]))
        self._packed_end += count
        del self._newest[:count], self._devices[:count]

    def _forget(self) -> None:
        surplus = (len(self) - self.capacity) // self.chunk_lines
        if surplus > 0:
            del self._chunks[:surplus]
            self.first += surplus * self.chunk_lines
            del self.operator[: bisect_left(self.operator, self.first)]

    # -- searching

    def parts(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges from ``start`` to ``stop`` that are quick to search, newest first."""
        start, stop = max(start, self.first), min(stop, self.end)
        while stop > start:
            begin = max(start, self._chunk_start(stop - 1))
            yield begin, stop
            stop = begin

    def _chunk_start(self, number: int) -> int:
        return min(number - (number - self.first) % self.chunk_lines, max(self._packed_end, self.first))

    def search(self, where: Filter, start: int, stop: int, *, now: float, operator: bool = False) -> array[int]:
        """Return the numbers in ``start`` … ``stop`` that match ``where``, ascending; ``operator``: of the Operator's
        lines. ``now`` is the reference of ages, in seconds since the epoch.
        """
        found = array("Q")
        for begin, end in reversed(list(self.parts(start, stop))):
            among = self._operator_rows(begin, end) if operator else None
            if among is not None and not among:
                continue
            if begin >= self._packed_end:
                found.extend(self._among_newest(where, begin, end, now, among))
            else:
                number = (begin - self.first) // self.chunk_lines
                base = self.first + number * self.chunk_lines
                rows = chunk_rows(self._chunks[number], where, now, among={n - base for n in among} if among else None)
                found.extend(base + row for row in rows if begin <= base + row < end)
        return found

    def _operator_rows(self, begin: int, end: int) -> Sequence[int]:
        return self.operator[bisect_left(self.operator, begin) : bisect_left(self.operator, end)]

    def _among_newest(
        self, where: Filter, begin: int, end: int, now: float, among: Sequence[int] | None
    ) -> Iterator[int]:
        base = self._packed_end
        for number in among if among is not None else range(begin, end):
            if keeps_entry(where, self._newest[number - base], self._devices[number - base], now):
                yield number
