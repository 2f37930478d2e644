"""What the stream shows: four views of one log and one ring, filtered, now or as of a pause. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from clawperator.engine.filters.grammar import NO_FILTER, Filter, Term
from clawperator.widgets.models.execution import ExecutionState, Item
from clawperator.widgets.models.executions import ExecutionLog
from clawperator.widgets.models.item_rows import ItemRows, StreamView
from clawperator.widgets.models.line_ring import LineRing
from clawperator.widgets.models.line_search import LineRows
from clawperator.widgets.models.status import Status
from clawperator.widgets.models.stream_filter import culprit, with_command

if TYPE_CHECKING:
    from clawperator.engine.logcat.entry import LogEntry

_PROBLEMS = Filter("level:e|f", (Term(False, "level", "e|f"),))
_COMMAND = re.compile(r'commandId(?:=|":")([^\s",}]+)')


class Counts(NamedTuple):
    """Shown and total rows; ``fresh`` ones arrived since it stopped following, ``behind`` since it was paused."""

    shown: int
    total: int
    fresh: int
    behind: int


class StreamModel:
    """After a change of ``view``, ``filter`` or ``only`` call ``apply``. ``now`` returns the time."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self.view = StreamView.EXECUTIONS
        self.filter: Filter = NO_FILTER
        self.only = ""
        """The only command shown, by ``=``."""
        self.paused_at = 0.0
        self._taken: Hashable = None
        self.bind(ExecutionLog(), LineRing(1))

    def bind(self, log: ExecutionLog, ring: LineRing) -> None:
        """Show this log and this ring, after ``apply``."""
        self.log = log
        self.ring = ring
        self.items = ItemRows(log, ring)
        self.lines = LineRows(ring, NO_FILTER, now=0.0)

    @property
    def shown(self) -> ItemRows | LineRows:
        """Return the rows of the view."""
        return self.lines if self.view.of_lines else self.items

    @property
    def where(self) -> Filter:
        """Return the filter, with the only command where set."""
        return with_command(self.filter, self.only) if self.only else self.filter

    def apply(self) -> None:
        """Use another view or filter; this ends a pause."""
        self.resume()
        self.items.envelopes = self.view is StreamView.ENVELOPES
        self.items.sift(self.where)
        self.lines = LineRows(self.ring, self.where, operator=self.view is StreamView.OPERATOR, now=self._now())

    def news(self) -> bool:
        """Return whether something arrived since the last call; not while paused."""
        taken = (self.view, self.ring.end if self.view.of_lines else self.log.generation)
        if self.paused_at or taken == self._taken:
            return False
        self._taken = taken
        return True

    def update(self) -> None:
        """Take what arrived into the rows."""
        if self.view.of_lines:
            self.lines.update()
        else:
            self.items.collect(self._now())

    def pause(self) -> None:
        self.paused_at = self._now()
        self.shown.freeze()

    def resume(self) -> None:
        self.paused_at, self._taken = 0.0, None
        self.items.resume()
        self.lines.resume()

    # -- rows

    def item(self, index: int) -> Item | LogEntry | None:
        """Return the execution, the mark or the log line of a row."""
        if self.view.of_lines:
            return self.entry(index)
        return self.items.rows[index].item if self.items.rows else None

    def entry(self, index: int) -> LogEntry | None:
        """Return the log line of a row; ``None`` when it has left the ring."""
        number = self.line_number(index)
        return None if number is None else self.ring[number]

    def line_number(self, index: int) -> int | None:
        """Return the number of a row's log line, while it is in the ring."""
        if not self.view.of_lines or index >= len(self.lines):
            return None
        number = self.lines.numbers[index]
        return number if number >= self.ring.first else None

    def anchor(self, index: int) -> Hashable:
        """Return a key that finds the row again when others came and went."""
        if index >= len(self.shown):
            return None
        return self.lines.numbers[index] if self.view.of_lines else self.items.rows[index].anchor

    def place(self, anchor: Hashable) -> int | None:
        return self.lines.place(anchor) if isinstance(anchor, int) else self.items.place(anchor)

    def line_near(self, index: int) -> int:
        """Return the number of the log line nearest to a row."""
        if index >= len(self.shown):
            return self.ring.end
        return self.lines.numbers[index] if self.view.of_lines else self.items.rows[index].item.at_line

    def place_near(self, line: int) -> int:
        """Return the row nearest to a log line."""
        if not self.view.of_lines:
            return self.items.place_at_line(line)
        return min(self.lines.place(line), max(0, len(self.lines) - 1))

    def command(self, index: int) -> str:
        """Return the command of a row; empty where there is none."""
        if (entry := self.entry(index)) is not None:
            found = _COMMAND.search(entry.message)
            return found[1] if found else ""
        item = self.item(index)
        return item.command_id if isinstance(item, ExecutionState) else ""

    # -- problems

    def marks(self) -> Iterator[tuple[int, str]]:
        """Yield the rows that the scrollbar marks."""
        for index, row in enumerate(() if self.view.of_lines else self.items.rows):
            if row.needs_attention:
                failed = isinstance(row.item, ExecutionState) and row.item.status is Status.FAILED
                yield index, "fail" if failed else "warn"

    def problem_line(self, index: int, step: int) -> int | None:
        """Return the row of the nearest error after (1) or before (-1) a log line."""
        number = self.lines.nearest(_PROBLEMS, self.lines.numbers[index], step) if len(self.lines) else None
        return self.place_near(number) if number is not None else None

    # -- facts

    @property
    def last(self) -> int:
        """Return what ``counts`` counts fresh rows from."""
        return self.ring.end if self.view.of_lines else self.log.last_number

    def counts(self, last: int | None) -> Counts:
        """``last``: the last row that is not fresh; without it, none is."""
        if self.view.of_lines:
            lines = self.lines
            fresh = 0 if last is None else len(lines) - lines.place(last)
            return Counts(len(lines), lines.total, fresh, lines.behind)
        items = self.items
        return Counts(items.shown, len(self.log.items), 0 if last is None else items.fresh(last), items.behind)

    @property
    def searched(self) -> float:
        """Return the searched share of the ring, from 0 to 1."""
        search = self.lines.search if self.view.of_lines else None
        return 1.0 if search is None else search.share

    @property
    def culprit(self) -> str:
        """Return the first term that alone hides everything, as typed; empty if there is none or it is not known yet."""
        return self.lines.culprit if self.view.of_lines else culprit(self.where, self.log.items, self._now())

    @property
    def running(self) -> bool:
        """Return whether a row is of an execution that runs."""
        rows = () if self.view.of_lines else self.items.rows
        return any(isinstance(row.item, ExecutionState) and not row.item.over for row in rows)
