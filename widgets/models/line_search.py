"""The lines of a log view: all, the Operator's, or those that match a filter.

A filter over a million lines runs newest first, in slices between which keys are handled; new lines are tested as they
arrive.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from clawperator.engine.filters.grammar import Filter
from clawperator.widgets.models.line_ring import LineRing


class LineSearch:
    """The lines that match ``where``. ``now`` is the reference of ages."""

    def __init__(self, ring: LineRing, where: Filter, *, operator: bool = False, now: float) -> None:
        self.found: array[int] = array("Q")
        """Line numbers, ascending; complete from ``_low`` on."""
        self.now = now
        self._ring, self._where, self._operator = ring, where, operator
        self._low = self._high = ring.end
        self._parts: Iterator[tuple[int, int]] = ring.parts(ring.first, ring.end)

    @property
    def done(self) -> bool:
        """Return whether all lines were tested."""
        return self._low <= self._ring.first

    @property
    def share(self) -> float:
        """Return the tested share, from 0 to 1."""
        total = self._high - self._ring.first
        return 1.0 if self.done or total <= 0 else (self._high - self._low) / total

    def step(self) -> bool:
        """Test the next older slice; return whether there is more."""
        begin, end = next(self._parts, (self._ring.first, self._low))
        begin = max(begin, self._ring.first)  # lines are dropped meanwhile
        if begin < end:
            older = self._search(begin, end)
            if older:
                self.found = older + self.found
        self._low = begin
        return not self.done

    def catch_up(self) -> None:
        """Test new lines and drop those that left the ring."""
        self.found.extend(self._search(self._high, self._ring.end))
        self._high = self._ring.end
        if self.found and self.found[0] < self._ring.first:
            del self.found[: bisect_left(self.found, self._ring.first)]

    def _search(self, begin: int, end: int) -> array[int]:
        return self._ring.search(self._where, begin, end, now=self.now, operator=self._operator)


class Culprit:
    """Finds the first term that alone matches nothing: ``term`` as typed, empty while unknown."""

    def __init__(self, ring: LineRing, where: Filter, *, operator: bool, now: float) -> None:
        self.term = ""
        self._suspects = [
            (term, LineSearch(ring, Filter("", (term,)), operator=operator, now=now)) for term in where.terms
        ]

    def step(self) -> bool:
        """Test the next slice for the first suspect; return whether there is more."""
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
    """The rows of a log view: line numbers, ascending."""

    def __init__(self, ring: LineRing, where: Filter, *, operator: bool = False, now: float) -> None:
        self.ring = ring
        self.where = where
        self.operator = operator
        self.search = LineSearch(ring, where, operator=operator, now=now) if where else None
        self._culprit: Culprit | None = None
        self._frozen: Sequence[int] | None = None
        self._frozen_end = 0

    @property
    def numbers(self) -> Sequence[int]:
        if self._frozen is not None:
            return self._frozen
        if self.search is not None:
            return self.search.found
        return self.ring.operator if self.operator else range(self.ring.first, self.ring.end)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def total(self) -> int:
        """Return how many rows there would be without a filter."""
        return len(self.ring.operator) if self.operator else len(self.ring)

    def place(self, number: int) -> int:
        """Return the row of a line, or of the next one shown."""
        return bisect_left(self.numbers, number)

    def work(self) -> bool:
        """Do the next slice of the search, or of finding its culprit; return whether there is more."""
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
        """Return the term that alone hides everything, as typed; empty if there is none or it is not known yet."""
        return self._culprit.term if self._culprit is not None and not self.numbers else ""

    def update(self) -> None:
        if self.search is not None and self._frozen is None:
            self.search.catch_up()

    def freeze(self) -> None:
        """Freeze the rows."""
        numbers = self.numbers
        self._frozen = numbers[:] if isinstance(numbers, array) else numbers
        self._frozen_end = self.ring.end

    def resume(self) -> None:
        self._frozen = None

    @property
    def behind(self) -> int:
        """Return how many lines arrived since the rows were frozen."""
        return self.ring.end - self._frozen_end if self._frozen is not None else 0

    def nearest(self, where: Filter, start: int, step: int) -> int | None:
        """Return the nearest shown line after (1) or before (-1) ``start`` that also matches ``where``."""
        both = Filter("", (*self.where.terms, *where.terms))
        now = self.search.now if self.search is not None else 0.0
        begin, end = (start + 1, self.ring.end) if step > 0 else (self.ring.first, start)
        parts = self.ring.parts(begin, end)
        for part in reversed(list(parts)) if step > 0 else parts:
            found = self.ring.search(both, *part, now=now, operator=self.operator)
            if found:
                return found[0 if step > 0 else -1]
        return None
