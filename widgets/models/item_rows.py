"""Rows of the stream's execution views: items, expanded lines, collapsed counts. Pure."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator
from enum import Enum
from typing import NamedTuple

from clawperator.engine.filters.grammar import NO_FILTER, Filter
from clawperator.widgets.models.execution import ExecutionState, Item, LiveLine, Mark
from clawperator.widgets.models.executions import ExecutionLog
from clawperator.widgets.models.line_ring import LineRing
from clawperator.widgets.models.status import Status
from clawperator.widgets.models.stream_filter import ages, keeps


class StreamView(Enum):
    """What the rows are; ``t`` cycles."""

    EXECUTIONS = "executions"
    ENVELOPES = "envelopes"
    OPERATOR = "Operator log"
    LOG = "device log"

    @property
    def next(self) -> StreamView:
        views = tuple(StreamView)
        return views[(views.index(self) + 1) % len(views)]

    @property
    def of_lines(self) -> bool:
        return self in (StreamView.OPERATOR, StreamView.LOG)


class StreamRow(NamedTuple):
    """An item, or below it one live line, or the count of ``others`` that were logged meanwhile."""

    item: Item
    line: LiveLine | None = None
    others: int = 0

    @property
    def top(self) -> bool:
        return self.line is None and not self.others

    @property
    def at(self) -> float:
        if self.line is not None:
            return self.line.at
        return self.item.started if isinstance(self.item, ExecutionState) else self.item.at

    @property
    def anchor(self) -> Hashable:
        """Return a key that identifies this row after others were added or removed."""
        return self.item.number, id(self.line) if self.line is not None else -self.others

    @property
    def needs_attention(self) -> bool:
        """Return whether ``]`` stops here."""
        if not self.top:
            return False
        item = self.item
        if isinstance(item, Mark):
            return True
        if item.status in (Status.FAILED, Status.WARN, Status.UNKNOWN):
            return True
        return bool(item.duplicates) or item.late or item.foreign


class ItemRows:
    """``envelopes``: only items with an envelope, nothing expanded."""

    def __init__(self, log: ExecutionLog, ring: LineRing, *, envelopes: bool = False) -> None:
        self.log = log
        self.envelopes = envelopes
        self.where: Filter = NO_FILTER
        self.opened: set[int] = set()
        self.rows: list[StreamRow] = []
        self._ring = ring
        self._kept: dict[int, tuple[int, bool]] = {}
        self._frozen: list[Item] | None = None
        self._frozen_at = 0

    def __len__(self) -> int:
        return len(self.rows)

    def sift(self, where: Filter) -> None:
        """Apply a filter from the next ``collect`` on."""
        self.where = where
        self._kept.clear()

    def collect(self, now: float) -> None:
        """Rebuild the rows; while frozen, of the frozen items."""
        if ages(self.where):
            self._kept.clear()
        if len(self._kept) > 2 * len(self.log.items) + 100:
            self._kept.clear()
        if self._frozen is not None:
            self.rows = [row for item in self._frozen for row in self._rows_of(item)]
        else:
            self.rows = [row for item in self.log.items if self._shows(item, now) for row in self._rows_of(item)]

    def _shows(self, item: Item, now: float) -> bool:
        if self.envelopes and not (bool(item.raw) if isinstance(item, ExecutionState) else item.kind == "malformed"):
            return False
        if not self.where:
            return True
        version, kept = self._kept.get(item.number, (-1, False))
        if version != item.version:
            kept = keeps(self.where, item, now)
            self._kept[item.number] = item.version, kept
        return kept

    def _rows_of(self, item: Item) -> Iterator[StreamRow]:
        yield StreamRow(item)
        if isinstance(item, ExecutionState) and item.number in self.opened and not self.envelopes:
            for line in item.lines:
                yield StreamRow(item, line)
            if others := self._others(item):
                yield StreamRow(item, others=others)

    def _others(self, execution: ExecutionState) -> int:
        """Return how many lines of others were logged from its first line to its last."""
        if not execution.log:
            return 0
        first, last = max(execution.log.first, self._ring.first), execution.log.last
        own = bisect_right(self._ring.operator, last) - bisect_left(self._ring.operator, first)
        return max(0, last + 1 - first - own)

    @property
    def shown(self) -> int:
        """Return how many items have a row."""
        return sum(1 for row in self.rows if row.top)

    def place(self, anchor: Hashable) -> int | None:
        """Return the row with this anchor; ``None`` when it is gone."""
        return next((index for index, row in enumerate(self.rows) if row.anchor == anchor), None)

    def place_of(self, item: Item) -> int | None:
        return next((index for index, row in enumerate(self.rows) if row.item is item), None)

    def place_at_line(self, number: int) -> int:
        """Return the row of what ran when this log line was written, as near as known."""
        places = [index for index, row in enumerate(self.rows) if row.top and row.item.at_line <= number]
        return places[-1] if places else 0

    def fresh(self, last: int) -> int:
        """Return how many shown items are newer than number ``last``."""
        count = 0
        for row in reversed(self.rows):
            if row.item.number <= last:
                break
            count += row.top
        return count

    def freeze(self) -> None:
        """Freeze the rows; running executions keep their current state."""
        items = [row.item for row in self.rows if row.top]
        self._frozen = [
            item.frozen_copy() if isinstance(item, ExecutionState) and not item.over else item for item in items
        ]
        self._frozen_at = self.log.last_number
        self.collect(math.nan)

    def resume(self) -> None:
        self._frozen = None

    @property
    def behind(self) -> int:
        """Return how many items arrived since the rows were frozen."""
        return self.log.last_number - self._frozen_at if self._frozen is not None else 0
