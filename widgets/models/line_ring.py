"""The device log: a bounded ring of lines with stable numbers.

Line 17 stays line 17 when older ones are dropped. The Operator's lines are an index into the ring.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from clawperator.engine.filters.grammar import Filter
from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.progress import OPERATOR_PREFIXES
from clawperator.widgets.models.stream_filter import entry_test

SLICE_LINES = 4_096
"""So many lines are searched at once, and dropped at once where the ring is large."""
_PROCESSES_KEPT = 64


class LineRing:
    """The newest ``capacity`` lines, up to a sixteenth more. ``first`` is the number of the oldest one."""

    def __init__(self, capacity: int) -> None:
        self.capacity = max(1, capacity)
        self._spare = max(1, min(SLICE_LINES, self.capacity // 16))
        self.first = 0
        self.operator: array[int] = array("Q")
        """Numbers of the lines of the Operator's process, tree dumps excluded."""
        self._entries: list[LogEntry] = []
        self._devices: list[str] = []
        self._processes: dict[tuple[str, int], None] = {}

    @property
    def end(self) -> int:
        """Return the number of the next line."""
        return self.first + len(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, number: int) -> LogEntry:
        """Return the line with this number; raises ``IndexError`` when it is not in the ring."""
        return self._entries[self._row(number)]

    def __iter__(self) -> Iterator[LogEntry]:
        return iter(self._entries)

    def device_of(self, number: int) -> str:
        """Return the serial of the device of a line; raises as ``[]`` does."""
        return self._devices[self._row(number)]

    def _row(self, number: int) -> int:
        if number < self.first:
            raise IndexError(number)
        return number - self.first

    def copy(self) -> LineRing:
        """Return a ring with the same lines for another thread, at the cost of the references."""
        other = LineRing(self.capacity)
        other.first, other.operator = self.first, self.operator[:]
        other._entries, other._devices = self._entries[:], self._devices[:]
        return other

    # -- filling

    def extend(self, entries: Sequence[LogEntry], device_id: str = "") -> Sequence[int]:
        """Append lines of one device; return the numbers of the Operator's among them."""
        own = self._own_lines(entries, device_id)
        self._entries.extend(entries)
        self._devices.extend([device_id] * len(entries))
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

    def _forget(self) -> None:
        surplus = len(self) - self.capacity
        if surplus >= self._spare:
            del self._entries[:surplus], self._devices[:surplus]
            self.first += surplus
            del self.operator[: bisect_left(self.operator, self.first)]

    # -- searching

    def parts(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """Yield the ranges from ``start`` to ``stop`` that are quick to search, newest first."""
        start, stop = max(start, self.first), min(stop, self.end)
        for end in range(stop, start, -SLICE_LINES):
            yield max(start, end - SLICE_LINES), end

    def search(self, where: Filter, start: int, stop: int, *, now: float, operator: bool = False) -> array[int]:
        """Return the numbers in ``start`` … ``stop`` that match ``where``, ascending; ``operator``: of the Operator's
        lines. ``now`` is the reference of ages, in seconds since the epoch.
        """
        start, stop, base = max(start, self.first), min(stop, self.end), self.first
        own = self.operator
        numbers = own[bisect_left(own, start) : bisect_left(own, stop)] if operator else range(start, stop)
        entries, devices, holds = self._entries, self._devices, entry_test(where, now)
        return array("Q", (n for n in numbers if holds(entries[n - base], devices[n - base])))
