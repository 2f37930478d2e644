"""Which lines of the ring a view of the log shows: all, the Operator's, or those that a filter keeps.

A filter over a million lines is answered newest first, in pieces that the pane asks for one after the other, so that keys
come between them; new lines are looked at as they come.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from clawperator.engine.filters.grammar import Filter
from clawperator.widgets.models.line_ring import LineRing


class LineSearch:
    """The lines that ``where`` keeps. ``now`` is what ages count from."""

    def __init__(self, ring: LineRing, where: Filter, *, operator: bool = False, now: float) -> None:
        self.found: array[int] = array("Q")
        """Numbers of lines, rising; complete from ``_low`` on."""
        self.now = now
        self._ring, self._where, self._operator = ring, where, operator
        self._low = self._high = ring.end
        self._parts: Iterator[tuple[int, int]] = ring.parts(ring.first, ring.end)

    @property
    def done(self) -> bool:
        """Whether all lines that are kept have been looked at."""
        return self._low <= self._ring.first

    @property
    def share(self) -> float:
        """How much has been looked at, from 0 to 1."""
        total = self._high - self._ring.first
        return 1.0 if self.done or total <= 0 else (self._high - self._low) / total

    def step(self) -> bool:
        """Look at the next older piece; whether there is more to look at."""
        begin, end = next(self._parts, (self._ring.first, self._low))
        begin = max(begin, self._ring.first)  # lines go while the search goes on
        if begin < end:
            older = self._search(begin, end)
            if older:
                self.found = older + self.found
        self._low = begin
        return not self.done

    def catch_up(self) -> None:
        """Look at the lines that came since, and forget those that went."""
        self.found.extend(self._search(self._high, self._ring.end))
        self._high = self._ring.end
        if self.found and self.found[0] < self._ring.first:
            del self.found[: bisect_left(self.found, self._ring.first)]

    def _search(self, begin: int, end: int) -> array[int]:
        return self._ring.search(self._where, begin, end, now=self.now, operator=self._operator)


class Culprit:
    """Which term of a filter that finds nothing finds nothing by itself: ``term`` as typed, empty while it is not known."""

    def __init__(self, ring: LineRing, where: Filter, *, operator: bool, now: float) -> None:
        self.term = ""
        self._suspects = [
            (term, LineSearch(ring, Filter("", (term,)), operator=operator, now=now)) for term in where.terms
        ]

    def step(self) -> bool:
        """Look at the next piece for the first suspect; whether there is more to look at."""
        if not self._suspects:
            return False
        term, search = self._suspects[0]
        search.step()
        if search.found:
            self._suspects.pop(0)
        elif search.done:
            self.term, self._suspects = term.text, []
        return bool(self._suspects)


class LineRows:
    """The rows of a view of the log: numbers of lines, rising."""

    def __init__(self, ring: LineRing, where: Filter, *, operator: bool = False, now: float) -> None:
        self.ring = ring
        self.where = where
        self.operator = operator
        self.search = LineSearch(ring, where, operator=operator, now=now) if where else None
        self._culprit: Culprit | None = None
        self._still: Sequence[int] | None = None
        self._still_end = 0

    @property
    def numbers(self) -> Sequence[int]:
        if self._still is not None:
            return self._still
        if self.search is not None:
            return self.search.found
        return self.ring.operator if self.operator else range(self.ring.first, self.ring.end)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def total(self) -> int:
        """How many there would be without a filter."""
        return len(self.ring.operator) if self.operator else len(self.ring)

    def place(self, number: int) -> int:
        """The row of a line, or of the next one that is shown."""
        return bisect_left(self.numbers, number)

    def work(self) -> bool:
        """Do the next piece of the search, or of finding out why it found nothing; whether there is more to do."""
        search = self.search
        if search is None:
            return False
        if self._culprit is not None:
            return self._culprit.step()
        if search.done or search.step():
            return not search.done
        if not search.found:
            self._culprit = Culprit(self.ring, self.where, operator=self.operator, now=search.now)
        return self._culprit is not None

    @property
    def culprit(self) -> str:
        """The term that alone hides everything, as typed; empty if there is none, or it is not found out yet."""
        return self._culprit.term if self._culprit is not None and not self.numbers else ""

    def take_news(self) -> None:
        if self.search is not None and self._still is None:
            self.search.catch_up()

    def hold_still(self) -> None:
        """Show what is shown now, whatever comes."""
        numbers = self.numbers
        self._still = numbers[:] if isinstance(numbers, array) else numbers
        self._still_end = self.ring.end

    def go_on(self) -> None:
        self._still = None

    @property
    def behind(self) -> int:
        """How many lines came since it was held still."""
        return self.ring.end - self._still_end if self._still is not None else 0

    def nearest(self, where: Filter, start: int, step: int) -> int | None:
        """The nearest line beyond ``start`` that is shown and that ``where`` keeps: after it (1) or before it (-1)."""
        both = Filter("", (*self.where.terms, *where.terms))
        now = self.search.now if self.search is not None else 0.0
        begin, end = (start + 1, self.ring.end) if step > 0 else (self.ring.first, start)
        parts = self.ring.parts(begin, end)
        for part in reversed(list(parts)) if step > 0 else parts:
            found = self.ring.search(both, *part, now=now, operator=self.operator)
            if found:
                return found[0 if step > 0 else -1]
        return None
