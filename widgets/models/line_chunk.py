"""Some thousand log lines packed into bytes and small numbers.

A line costs its own bytes and about twenty more. It becomes a ``LogEntry`` when read; searches use the packed columns.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate, chain
from typing import Generic, TypeAlias, TypeVar

from clawperator.engine.logcat.entry import LogEntry, decode

T = TypeVar("T")


class Column(Generic[T]):
    """A column with few distinct values: the values, and an index per row."""

    __slots__ = ("_ids", "values")

    def __init__(self, rows: Sequence[T]) -> None:
        self.values: tuple[T, ...] = tuple(dict.fromkeys(rows))
        ids = {value: number for number, value in enumerate(self.values)}
        self._ids: bytes | array[int] = b""
        if len(ids) > 1:
            numbers = map(ids.__getitem__, rows)
            self._ids = bytes(numbers) if len(ids) <= 256 else array("I", numbers)

    def __getitem__(self, row: int) -> T:
        return self.values[self._ids[row] if self._ids else 0]

    def rows_where(self, holds: Callable[[T], bool], count: int) -> set[int]:
        """Return the rows of ``count`` whose value passes; ``holds`` is called once per distinct value."""
        wanted = {number for number, value in enumerate(self.values) if holds(value)}
        if not wanted:
            return set()
        if len(wanted) == len(self.values):
            return set(range(count))
        return {row for row, number in enumerate(self._ids) if number in wanted}


class Texts:
    """Byte strings in one buffer."""

    __slots__ = ("blob", "ends")

    def __init__(self, texts: Sequence[bytes]) -> None:
        self.blob = b"".join(texts)
        self.ends = array("I", accumulate(map(len, texts)))

    def __getitem__(self, row: int) -> bytes:
        return self.blob[self.ends[row - 1] if row else 0 : self.ends[row]]

    def rows_with(self, word: bytes, among: AbstractSet[int] | None) -> set[int]:
        """Return the rows (of ``among``) with ``word``, which is in lower case; case folding is ASCII only."""
        text, ends, size, row = self.blob.lower(), self.ends, len(word), 0
        if among is not None and len(among) < len(ends) // 2:
            return {row for row in among if text.find(word, ends[row - 1] if row else 0, ends[row]) >= 0}
        if text.count(word) > len(ends) // 4:  # with many hits a scan by row is faster
            starts = chain((0,), ends)
            return {row for row, (start, end) in enumerate(zip(starts, ends)) if text.find(word, start, end) >= 0}  # noqa: B905
        found: set[int] = set()
        position = text.find(word)
        while position >= 0:
            row = bisect_right(ends, position, row)
            end = ends[row]
            if position + size <= end:
                found.add(row)
                position = text.find(word, end)
            else:  # begins in this row and ends in another
                position = text.find(word, position + 1)
        return found


Clocks: TypeAlias = "array[int] | Texts | tuple[int | bytes, ...]"


class Chunk:
    """Packed ``entries``, each with its device in ``devices``. Immutable: any thread may read it."""

    __slots__ = (
        "_buffers",
        "_clocks",
        "_tids",
        "_uids",
        "count",
        "devices",
        "levels",
        "payloads",
        "pids",
        "tags",
        "wide",
    )

    def __init__(self, entries: Sequence[LogEntry], devices: Sequence[str]) -> None:
        levels, tags, payloads, pids, tids, uids, clocks, buffers = zip(*entries, strict=True)
        self.count = len(entries)
        self.payloads = Texts(payloads)
        self.wide = frozenset() if self.payloads.blob.isascii() else frozenset(_not_ascii(payloads))
        """Rows with non-ASCII text."""
        self.levels, self.tags, self.devices = Column(levels), Column(tags), Column(devices)
        self.pids, self._tids, self._uids, self._buffers = Column(pids), Column(tids), Column(uids), Column(buffers)
        self._clocks = _packed(clocks)

    def __getitem__(self, row: int) -> LogEntry:
        return LogEntry(
            self.levels[row],
            self.tags[row],
            self.payloads[row],
            self.pids[row],
            self._tids[row],
            self._uids[row],
            self._clocks[row],
            self._buffers[row],
        )

    def rows_with(self, word: str, among: AbstractSet[int] | None = None) -> set[int]:
        """Return the rows whose message contains ``word`` (case-folded): ``word in message.casefold()``, but faster. It
        may leave out rows that are not ``among``.
        """
        payloads = self.payloads
        found = payloads.rows_with(word.encode(), among) if word.isascii() else set()
        wide = self.wide if among is None else among & self.wide
        found.update(row for row in wide if row not in found and word in decode(payloads[row]).casefold())
        return found


def _not_ascii(payloads: Iterable[bytes]) -> Iterable[int]:
    return (row for row, payload in enumerate(payloads) if not payload.isascii())


def _packed(clocks: tuple[int | bytes, ...]) -> Clocks:
    """Return nanoseconds as numbers, stamps as text, a mixture unchanged."""
    numbers = [clock for clock in clocks if isinstance(clock, int)]
    if not numbers:
        return Texts([clock for clock in clocks if isinstance(clock, bytes)])
    try:
        return array("q", numbers) if len(numbers) == len(clocks) else clocks
    except OverflowError:
        return clocks
