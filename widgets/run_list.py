"""Past runs, newest first, under headings of their days.

The rows come in pages: the pane knows how many runs there are, has the newest of them, and asks for more (``MoreWanted``)
when it shows or needs what it has not. What has not come yet has its place already, so that the scrollbar tells the truth.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from textual.message import Message

from clawperator.widgets import keys
from clawperator.widgets.format.lines import Row
from clawperator.widgets.format.runs import attention, day_row, day_words, folded, run_row, waiting_row
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.text.times import WallClock

if TYPE_CHECKING:
    from clawperator.engine.history.records import RunSummary

AHEAD = 100
"""So many rows below what is on screen should be there before somebody scrolls to them."""


class Day(NamedTuple):
    """A heading: it stands on ``row``, above the run at place ``first``, and names the day that began at ``began``."""

    row: int
    first: int
    began: float


class RunList(LinePane):
    """``show`` swaps the runs, ``append`` adds older ones, ``renew`` takes the newest ones again.

    A *place* counts runs from the newest (0); a row counts what is on screen, headings included.
    """

    BINDINGS = keys.binding_list("runs")

    EMPTY = "Reading the history…"

    @dataclass(eq=False)
    class MoreWanted(Message):
        """Runs older than number ``before`` are needed."""

        before: int

    class Marked(Message):
        """Other runs are marked as A and B."""

    def __init__(self, *, id: str | None = None, clock: WallClock | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.clock = clock or WallClock()
        self.runs: list[RunSummary] = []
        self.total = 0
        """How many runs there are, read or not."""
        self.marked: list[RunSummary] = []
        """Run A, and run B."""
        self._days: list[Day] = []
        self._asked = 0
        self._seen = 0
        self._seeks_failure = False

    # -- content

    def show(self, runs: Sequence[RunSummary], total: int) -> None:
        """These runs, the newest of ``total``; the cursor stays on its run where that is among them."""
        number = self._number
        self.runs, self.total = list(runs), max(total, len(runs))
        self._asked, self._seeks_failure = 0, False
        self._find_days()
        self.content_changed(keep_strips=True)
        place = self.place_of(number)
        row = self.row_of(max(0, place))
        self._settle(row, self.top if place >= 0 else 0, other=place < 0)

    def append(self, runs: Sequence[RunSummary], *, complete: bool) -> None:
        """Older runs, in order behind those that are here; ``complete``: there are no others."""
        place, top, known = self.place, self.place_at(self.top), len(self.runs)
        unread = self.run is None
        self.runs.extend(runs)
        self.total = len(self.runs) if complete else max(self.total, len(self.runs) + 1)
        self._find_days(known)
        self.content_changed(keep_strips=True)
        self._settle(self.row_of(place), self.row_of(top) if self.top else 0, other=unread)
        if self._seeks_failure:
            self.action_failure(1)

    def renew(self, runs: Sequence[RunSummary], total: int) -> None:
        """The newest runs as they are now. New ones come on top; the cursor stays on its run.

        While the top is on screen, the rows below make room for them; else everything stays where it is.
        """
        oldest = runs[-1].number if runs else 0
        if self.runs and oldest > self.runs[0].number:
            self.show(runs, total)  # there may be others between these and those
            return
        place, number, y = self.place, self._number, self.cursor - self.top
        kept = bisect_right(self.runs, -oldest, key=_newest_first) if len(runs) < total else len(self.runs)
        self.runs[:kept] = runs
        self.total = max(total, len(self.runs))
        self.marked = [self.runs[at] if (at := self.place_of(run.number)) >= 0 else run for run in self.marked]
        self._find_days()
        self.content_changed(keep_strips=True)
        now = self.place_of(number)
        row = self.row_of(now if now >= 0 else min(place, self.total - 1))
        self._settle(row, 0 if not self.top and row < self.view_height else row - y, other=now < 0)

    def _settle(self, row: int, top: int, *, other: bool) -> None:
        """The cursor on ``row``, with ``top`` as the first one on screen; ``other``: it stands for another run now."""
        moved = row != self.cursor
        self.set_reactive(LinePane.top, max(0, min(top, self.last_top)))
        self.set_reactive(LinePane.cursor, max(0, min(row, self.row_count() - 1)))
        self.reveal(self.cursor)
        self._look_at_edges()
        self.refresh()
        if moved or other:
            self._place_terminal_cursor()
            self.post_message(self.CursorMoved(self, self.cursor))

    def watch_top(self, old: int, new: int) -> None:
        super().watch_top(old, new)
        self._look_at_edges()

    def on_resize(self) -> None:
        super().on_resize()
        self._look_at_edges()

    def _look_at_edges(self) -> None:
        """What is on screen has been seen; what is soon to be needs to be read."""
        if self.runs and self.top <= 1:
            self._seen = max(self._seen, self.runs[0].number)
        if self.place_at(self.top + self.view_height) + AHEAD > len(self.runs):
            self._want_more()

    def _want_more(self) -> None:
        if 0 < len(self.runs) < self.total and self._asked != self.runs[-1].number:
            self._asked = self.runs[-1].number
            self.post_message(self.MoreWanted(self._asked))

    def _find_days(self, known: int = 0) -> None:
        """The headings above the runs from place ``known`` on; those before are there."""
        if not known:
            self._days = []
        began, end = _day_of(self._days[-1].began, self.clock) if self._days else (0.0, 0.0)
        for place in range(known, len(self.runs)):
            at = self.runs[place].started_at
            if not began <= at < end:
                began, end = _day_of(at, self.clock)
                self._days.append(Day(place + len(self._days), place, began))

    # -- rows and places

    def row_count(self) -> int:
        return self.total + len(self._days)

    def place_at(self, row: int) -> int:
        """The run on ``row``; on a heading the one below it."""
        return row - bisect_left(self._days, row, key=lambda day: day.row)

    def row_of(self, place: int) -> int:
        return place + bisect_right(self._days, place, key=lambda day: day.first)

    def place_of(self, number: int) -> int:
        """Where the run of this number stands; -1 where it is not among those that are here."""
        place = bisect_left(self.runs, -number, key=_newest_first)
        return place if place < len(self.runs) and self.runs[place].number == number else -1

    def _day_on(self, row: int) -> Day | None:
        at = bisect_left(self._days, row, key=lambda day: day.row)
        return self._days[at] if at < len(self._days) and self._days[at].row == row else None

    @property
    def place(self) -> int:
        """That of the run under the cursor."""
        return self.place_at(self.cursor)

    @property
    def run(self) -> RunSummary | None:
        """The run under the cursor; ``None`` where there is none, or it has not come yet."""
        return self.runs[self.place] if self.place < len(self.runs) else None

    @property
    def _number(self) -> int:
        return self.run.number if self.run is not None else 0

    @property
    def oldest_running(self) -> int:
        """The place of the last run that goes on; -1 where none does."""
        return next((place for place in range(len(self.runs) - 1, -1, -1) if self.runs[place].status == "running"), -1)

    @property
    def unseen(self) -> int:
        """How many new runs came on top while something else was looked at."""
        return bisect_left(self.runs, -self._seen, key=_newest_first)

    # -- drawing

    def row(self, index: int, width: int) -> Row:
        if (day := self._day_on(index)) is not None:
            return day_row(day.began, width, self.clock, self.symbols)
        place = self.place_at(index)
        if place >= len(self.runs):
            return waiting_row(width)
        run = self.runs[place]
        return run_row(run, self.mark_of(run), width, self.clock, self.symbols)

    def row_key(self, index: int) -> Hashable:
        if (day := self._day_on(index)) is not None:
            return day_words(day.began, self.clock)
        place = self.place_at(index)
        if place >= len(self.runs):
            return None
        run = self.runs[place]
        now = self.clock.now() if run.status == "running" else 0.0
        return run.number, run.status, run.failed_steps, run.code, run.ended_at, self.mark_of(run), now

    def empty_words(self) -> str:
        return folded(self.empty_text, self.content_size.width)

    def mark_of(self, run: RunSummary) -> str:
        """``A``, ``B``, or nothing."""
        return next((name for name, other in zip("AB", self.marked, strict=False) if other.number == run.number), "")

    def tick(self) -> None:
        """A second has passed: runs that go on show their age."""
        for row in range(self.top, min(self.top + self.view_height, self.row_count())):
            place = self.place_at(row)
            if place < len(self.runs) and self.runs[place].status == "running":
                self.refresh_row(row)

    def marks(self) -> Iterator[tuple[int, str]]:
        for place, run in enumerate(self.runs):
            if role := attention(run):
                yield self.row_of(place), role

    # -- keys

    def move_to(self, index: int) -> None:
        """To ``index``; from a heading on to the next run in the direction of the move."""
        index = max(0, min(index, self.row_count() - 1))
        if self._day_on(index) is not None:
            index += 1 if index >= self.cursor or not index else -1
        super().move_to(index)
        if self.top == self.cursor and self._day_on(self.cursor - 1) is not None:
            self.top = self.cursor - 1  # the first run of a day is not told apart without its heading

    def action_mark(self) -> None:
        """Mark the run as A, another one as B; a marked one loses its mark, a third clears both."""
        run = self.run
        if run is None:
            return
        if self.mark_of(run):
            self.marked = [other for other in self.marked if other.number != run.number]
        else:
            self.marked = [*self.marked, run] if len(self.marked) < 2 else []
        self.content_changed(keep_strips=True)
        self.post_message(self.Marked())

    def clear_marks(self) -> bool:
        """Nothing is marked any more; whether something was."""
        had, self.marked = bool(self.marked), []
        if had:
            self.content_changed(keep_strips=True)
            self.post_message(self.Marked())
        return had

    def action_failure(self, step: int) -> None:
        """To the next older (1) or newer (-1) run that did not go well, round the ends; reads on where none has come yet."""
        here = self.place
        failures = [place for place, run in enumerate(self.runs) if attention(run)]
        ahead = [place for place in failures if (place - here) * step > 0]
        self._seeks_failure = step > 0 and not ahead and len(self.runs) < self.total
        if self._seeks_failure:
            self._want_more()
        elif ahead or failures:
            self.move_to(self.row_of((ahead or failures)[0 if step > 0 else -1]))


def _newest_first(run: RunSummary) -> int:
    return -run.number


def _day_of(at: float, clock: WallClock) -> tuple[float, float]:
    """When the day of ``at`` began, and when it was over; a moment that no calendar knows is a day of its own."""
    try:
        day = datetime.fromtimestamp(at, clock.zone).replace(hour=0, minute=0, second=0, microsecond=0)
        return day.timestamp(), (day + timedelta(days=1)).timestamp()
    except (ValueError, OverflowError, OSError):
        return at, at
