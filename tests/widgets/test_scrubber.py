from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC
from typing import Any

import pytest
from textual.app import ComposeResult
from textual.geometry import Offset
from textual.pilot import Pilot

from clawperator.engine.history.records import LineRecord, StepRecord
from clawperator.widgets.format.lines import Line
from clawperator.widgets.format.moments import (
    bar_line,
    columns,
    happening,
    moment_row,
    ticks_line,
    tree_words,
)
from clawperator.widgets.format.stream import live_row
from clawperator.widgets.format.symbols import ASCII, UNICODE, Symbols
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.run_replay import execution_of, moments
from clawperator.widgets.run_log import RunLogPane
from clawperator.widgets.scrubber import Scrubber
from clawperator.widgets.text.safe import cells
from clawperator.widgets.text.times import WallClock
from tests.app.console.support import drained
from tests.past_runs import NOON, a_run, a_summary, failed
from tests.support import table
from tests.widgets.pane_app import Holder, lines

CLOCK = WallClock(lambda: NOON + 60, UTC)
RECORD = a_run(trees=("<hierarchy><node/></hierarchy>", "<hierarchy/>"))[0]
RUN = execution_of(RECORD)
MOMENTS = moments(RUN)
HOSTILE = "\x1b[31mred\x1b[0m [bold]x[/] \u202egpj.exe 中文 👩‍👩‍👧\n\x07" * 4


class Bench(Holder):
    """Holds a scrubber and the log below it."""

    def __init__(self, symbols: Symbols = UNICODE) -> None:
        self.log_pane = RunLogPane(id="log")
        super().__init__(self.log_pane, symbols, CLOCK)
        self.scrubber = Scrubber(id="scrubber")
        self.moved: list[str] = []

    def compose(self) -> ComposeResult:
        yield self.scrubber
        yield self.log_pane

    def on_scrubber_moved(self, message: Scrubber.Moved) -> None:
        self.moved.append(message.moment.what if message.moment is not None else "")
        self.log_pane.mark(message.moment.line if message.moment is not None else -1)


@asynccontextmanager
async def bench(run: ExecutionState | None = RUN, **more: Any) -> AsyncIterator[tuple[Bench, Pilot[None]]]:
    app = Bench(**more)
    async with app.run_test(size=(80, 16)) as pilot:
        app.log_pane.show(run)
        app.scrubber.show(run)
        await drained(pilot)
        yield app, pilot


def what(scrubber: Scrubber) -> str:
    assert scrubber.moment is not None
    return scrubber.moment.what


# -- the bar


def test_the_bar_shows_each_step_as_long_as_it_took() -> None:
    bar = bar_line(RUN, MOMENTS, 0, 84).plain
    assert len(bar) == 84
    assert bar == "░" * 8 + "▇ 1 " + "▇" * 20 + "▒ 2 " + "▒" * 28 + "▇ 3 " + "▇" * 12 + "░" * 4


def test_a_step_of_no_time_has_a_cell_all_the_same() -> None:
    steps = tuple(StepRecord(i, f"s{i}", "click", "success", "", NOON + i / 100, NOON + i / 100) for i in range(3))
    run = execution_of(RECORD._replace(steps=steps, lines=(), trees=()))
    assert "▇" in bar_line(run, moments(run), 0, 60).plain


@table("room", [0, 1, 2, 10, 200])
@table("symbols", [UNICODE, ASCII])
def test_bar_and_signs_fit_any_room(room: int, symbols: Symbols) -> None:
    for current in range(len(MOMENTS)):
        assert bar_line(RUN, MOMENTS, current, room, symbols).cells == room
        assert ticks_line(MOMENTS, current, room, symbols).cells <= max(1, room)
        assert ticks_line(MOMENTS, current, room, symbols).plain.isascii() == symbols.ascii or not symbols.ascii


def test_moments_stand_in_order_and_the_playhead_covers_all_others() -> None:
    places = columns(MOMENTS, 80)
    assert places == sorted(places)
    assert (places[0], places[-1]) == (0, 79)
    ticks = ticks_line(MOMENTS, 5, 80).plain
    assert ticks[places[5]] == "┃"
    assert ticks.count("◇") == 2
    assert ticks_line(MOMENTS, 3, 80).plain[places[3]] == "◆", "a tree under the playhead is a full one"
    assert ticks[places[6]] == "!", "a retry"


def test_a_run_of_no_time_is_gone_through_all_the_same() -> None:
    summary = a_summary(ended_at=NOON)._replace(duration_ms=0.0)
    run = execution_of(RECORD._replace(summary=summary, steps=(), trees=(), lines=(), envelope=None, raw=()))
    assert [moment.offset for moment in moments(run)][:: len(moments(run)) - 1] == [0.0, 0.0]
    assert columns(moments(run), 80)[-1] == 79


# -- words


@table(
    ("index", "words"),
    [
        (0, "run started"),
        (1, "sent to the device"),
        (2, "step 1 open_app started"),
        (3, "tree captured by step 1 open_app"),
        (4, "step 1 open_app ended: ok "),
        (6, "step 2 wait_for_node retries: waitForNode(text=Wi‑Fi) 2/5 in 0.5 s"),
        (11, "run ended: success "),
    ],
)
def test_each_moment_has_words(index: int, words: str) -> None:
    assert happening(Line(80), RUN, MOMENTS[index]).plain == words


def test_a_failure_names_its_code() -> None:
    run = execution_of(failed(a_run())[0])
    reported = [happening(Line(80), run, moment).plain for moment in moments(run)]
    assert "step 2 wait_for_node ended: failed NODE_NOT_FOUND" in reported
    assert reported[-1] == "run ended: failed NODE_NOT_FOUND"


def test_where_one_is_in_time() -> None:
    assert moment_row(RUN, MOMENTS, 6, 80).left.plain.startswith(" 7/12 +1.2 s of 2.1 s · step 2")


def test_a_tree_says_whose_it_is_and_how_old_it_was() -> None:
    assert tree_words(RUN, MOMENTS[0]).plain == "before the first tree"
    assert tree_words(RUN, MOMENTS[3]).plain == "tree of step 1, just captured"
    assert tree_words(RUN, MOMENTS[6]).plain == "tree of step 1, 900 ms old"
    assert tree_words(replace(RUN, trees=[]), MOMENTS[0]).plain == "no tree was recorded"
    cut = [replace(tree, complete=False, step_id="?") for tree in RUN.trees]
    assert tree_words(replace(RUN, trees=cut), MOMENTS[3]).plain == "tree, just captured, incomplete"


@pytest.mark.parametrize("width", [60, 64, 80])
def test_hostile_words_stay_in_their_row(width: int) -> None:
    line = LineRecord(NOON, HOSTILE, HOSTILE, {"id": HOSTILE, HOSTILE: HOSTILE})
    steps = (RECORD.steps[0]._replace(type=HOSTILE, id=HOSTILE, code=HOSTILE, status="failed"),)
    summary = a_summary(code=HOSTILE, status="failed")
    run = execution_of(RECORD._replace(steps=steps, lines=(line,), summary=summary, message=HOSTILE, envelope=None))
    rows = [live_row(line, width, CLOCK, since=NOON) for line in run.lines]
    rows += [moment_row(run, moments(run), index, width) for index in range(len(moments(run)))]
    for row in rows:
        assert cells(row.left.plain) <= width
        assert not any(ord(character) < 32 or character == "\u202e" for character in row.left.plain)


# -- the widget


async def test_it_begins_at_the_end_and_goes_moment_by_moment() -> None:
    async with bench() as (app, pilot):
        scrubber = app.scrubber
        assert what(scrubber) == "result"
        assert not scrubber.step(1)
        assert scrubber.step(-1)
        assert what(scrubber) == "step end"
        assert scrubber.to(0)
        assert what(scrubber) == "begin"
        assert not scrubber.step(-5)
        assert scrubber.step(3)
        await drained(pilot)
        assert app.moved == ["result", "step end", "begin", "tree"]
        assert "4/12 +300 ms of 2.1 s" in lines(app)[2]


async def test_the_line_of_the_moment_is_marked_and_in_sight() -> None:
    async with bench() as (app, pilot):
        for index, moment in enumerate(MOMENTS):
            app.scrubber.to(index)
            await drained(pilot)
            assert app.log_pane.current == moment.line
            marked = [line for line in lines(app)[3:] if "▸" in line]
            assert len(marked) == 1
            assert RUN.lines[moment.line].kind in marked[0]


async def test_the_same_run_again_keeps_the_moment_and_another_begins_at_its_end() -> None:
    async with bench() as (app, _):
        app.scrubber.to(4)
        app.scrubber.show(execution_of(RECORD._replace(message="more is known")))
        assert app.scrubber.current == 4
        app.scrubber.show(execution_of(a_run(2)[0]))
        assert app.scrubber.current == len(app.scrubber.moments) - 1


async def test_a_click_goes_to_the_nearest_moment_and_again_to_the_next_one_there() -> None:
    async with bench() as (app, pilot):
        places = columns(MOMENTS, 78)
        await pilot.click(Scrubber, offset=Offset(places[6] + 1, 1))
        assert app.scrubber.current == 6
        there = [index for index, place in enumerate(places) if place == places[4]]
        assert len(there) == 2, "a step ends where the next one begins"
        for expected in (*there, there[0]):
            await pilot.click(Scrubber, offset=Offset(places[4] + 1, 0))
            assert app.scrubber.current == expected


async def test_a_line_leads_to_its_moment() -> None:
    async with bench() as (app, _):
        assert app.scrubber.to_line(7)
        assert what(app.scrubber) == "retry"
        app.scrubber.to_line(99)
        assert what(app.scrubber) == "result"


async def test_without_a_run_it_says_so() -> None:
    async with bench(None) as (app, pilot):
        assert "No run selected" in lines(app)[0]
        assert "No lines were recorded" in "\n".join(lines(app))
        assert not app.scrubber.step(1)
        await pilot.click(Scrubber, offset=Offset(5, 0))
        assert app.scrubber.moment is None


async def test_in_ascii_everything_is_ascii() -> None:
    async with bench(symbols=ASCII) as (app, _):
        shown = "\n".join(lines(app)[:3])
        assert shown.isascii()
        assert "# 1 ###" in shown
