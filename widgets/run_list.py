"""Past runs, newest first, under headings of their days.

The rows come in pages: the pane knows the total, has the newest runs, and posts ``MoreWanted`` for older ones. Missing
rows have their place already, so that the scrollbar is correct.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from textual.message import Message

from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.runs import attention, day_row, day_words, facts_of, folded, run_row, waiting_row
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.text.times import WallClock

if TYPE_CHECKING:
    from clawperator.engine.history.records import RunSummary

AHEAD = 100
"""Rows below the visible ones to read in advance."""
_WITH_SECONDS = 56


class Day(NamedTuple):
    """A heading on ``row``, above the run at place ``first``, for the day that began at ``began``."""

    row: int
    first: int
    began: float


class RunList(LinePane):
    """A paged list of runs. A *place* counts runs from the newest (0); a row counts headings too."""

    BINDINGS = keys.binding_list("runs")

    EMPTY = "Reading the history…"

    @dataclass(eq=False)
    class MoreWanted(Message):
        """Runs older than number ``before`` are needed."""

        before: int

    class Marked(Message):
        """The marks A and B changed."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.runs: list[RunSummary] = []
        self.total = 0
        """Number of all runs."""
        self.marked: list[RunSummary] = []
        """Run A and run B."""
        self._days: list[Day] = []
        self._asked = 0
        self._seen = 0
        self._seeks_failure = False

    # -- content

    def show(self, runs: Sequence[RunSummary], total: int) -> None:
        """Show the newest runs of ``total``; the cursor stays on its run if it is among them."""
        number = self._number
        self.runs, self.total = list(runs), max(total, len(runs))
        self._asked, self._seeks_failure = 0, False
        self._find_days()
        self.content_changed(keep_strips=True)
        place = self.place_of(number)
        row = self.row_of(max(0, place))
        self._settle(row, self.top if place >= 0 else 0, other=place < 0)

    def append(self, runs: Sequence[RunSummary], *, complete: bool) -> None:
        """Append older runs; ``complete``: there are no more."""
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
        """Update the newest runs. The cursor stays on its run; the rows move down only while the top is visible."""
        oldest = runs[-1].number if runs else 0
        if self.runs and oldest > self.runs[0].number:
            self.show(runs, total)  # there may be a gap between these and those
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
        """Set cursor and first visible row; ``other``: the row stands for another run now."""
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
        self._look_at_edges()

    def _look_at_edges(self) -> None:
        """Note the visible runs as seen, and request those needed soon."""
        if self.runs and self.top <= 1:
            self._seen = max(self._seen, self.runs[0].number)
        if self.place_at(self.top + self.view_height) + AHEAD > len(self.runs):
            self._want_more()

    def _want_more(self) -> None:
        if 0 < len(self.runs) < self.total and self._asked != self.runs[-1].number:
            self._asked = self.runs[-1].number
            self.post_message(self.MoreWanted(self._asked))

    def _find_days(self, known: int = 0) -> None:
        """Add the headings from place ``known`` on."""
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
        """Return the run on ``row``; on a heading the one below it."""
        return row - bisect_left(self._days, row, key=lambda day: day.row)

    def row_of(self, place: int) -> int:
        return place + bisect_right(self._days, place, key=lambda day: day.first)

    def place_of(self, number: int) -> int:
        """Return the place of a run by number; -1 if it is not loaded."""
        place = bisect_left(self.runs, -number, key=_newest_first)
        return place if place < len(self.runs) and self.runs[place].number == number else -1

    def _day_on(self, row: int) -> Day | None:
        at = bisect_left(self._days, row, key=lambda day: day.row)
        return self._days[at] if at < len(self._days) and self._days[at].row == row else None

    @property
    def place(self) -> int:
        return self.place_at(self.cursor)

    @property
    def run(self) -> RunSummary | None:
        """Return the run under the cursor; ``None`` while it is not loaded."""
        return self.runs[self.place] if self.place < len(self.runs) else None

    @property
    def _number(self) -> int:
        return self.run.number if self.run is not None else 0

    @property
    def oldest_running(self) -> int:
        """Return the place of the oldest running run; -1 without one."""
        return next((place for place in range(len(self.runs) - 1, -1, -1) if self.runs[place].status == "running"), -1)

    @property
    def unseen(self) -> int:
        """Return the number of new runs above the visible ones."""
        return bisect_left(self.runs, -self._seen, key=_newest_first)

    # -- drawing

    def row(self, index: int, width: int) -> Row:
        if (day := self._day_on(index)) is not None:
            return day_row(day.began, width, self.clock, self.symbols)
        place = self.place_at(index)
        if place >= len(self.runs):
            return waiting_row(width)
        run = self.runs[place]
        start = Line(width).add(" ").add(self.mark_of(run) or " ", "accent")
        at = self.clock.time_of_day(run.started_at, tenths=False)
        start.add(f"{at[: None if width >= _WITH_SECONDS else 5]:<5} ", "muted")
        return run_row(facts_of(run, self.clock), start, width, self.symbols)

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
        """Return ``A``, ``B``, or nothing."""
        return next((name for name, other in zip("AB", self.marked, strict=False) if other.number == run.number), "")

    def tick(self) -> None:
        """Update the age of running runs; called every second."""
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
        """Move to ``index``; a heading is skipped."""
        index = max(0, min(index, self.row_count() - 1))
        if self._day_on(index) is not None:
            index += 1 if index >= self.cursor or not index else -1
        super().move_to(index)
        if self.top == self.cursor and self._day_on(self.cursor - 1) is not None:
            self.top = self.cursor - 1  # keep the heading of the day visible

    def action_mark(self) -> None:
        """Mark the run as A or B; a marked one is unmarked, a third clears both."""
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
        """Clear the marks; return whether there were any."""
        had, self.marked = bool(self.marked), []
        if had:
            self.content_changed(keep_strips=True)
            self.post_message(self.Marked())
        return had

    def action_failure(self, step: int) -> None:
        """Move to the next older (1) or newer (-1) failed run, wrapping around; loads more where needed."""
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
    """Return start and end of the day of ``at``; an invalid time is a day of its own."""
    try:
        day = datetime.fromtimestamp(at, clock.zone).replace(hour=0, minute=0, second=0, microsecond=0)
        return day.timestamp(), (day + timedelta(days=1)).timestamp()
    except (ValueError, OverflowError, OSError):
        return at, at
