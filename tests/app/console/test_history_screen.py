"""Mode 4 over a real history: what others write appears, what is chosen is shown, and nothing is claimed that is not kept."""

from __future__ import annotations

import asyncio
import json
import math
import os
import sys
import time
import zipfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Input

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.history.reader import Page
from clawperator.app.console.history.screen import HistoryScreen
from clawperator.app.console.screens.dialogs import TreeCompareDialog
from clawperator.engine.events.bus import EventBus
from clawperator.engine.events.types import ExecutionStarted
from clawperator.engine.history.records import LineRecord, RunRecord, RunSummary
from clawperator.engine.history.store import History
from clawperator.engine.history.worker import HistoryWorker
from tests.app.console.support import (
    CHECKS_OK,
    NOON,
    ROWS,
    FakeClipboard,
    FakeEngine,
    MovableClock,
    drained,
    make_app,
    settings_screen,
    settled,
    until,
)
from tests.past_runs import DEVICE, a_history, a_run, a_summary, failed, put

ROOT = Path(__file__).parents[3]
SIZES = [(80, 24), *(pytest.param(size, marks=pytest.mark.ci) for size in ((120, 36), (200, 60)))]
FIRST, SECOND = settings_screen(), settings_screen(ROWS[:4])
HOSTILE = "\x1b[31mred\x1b[0m\x1b]0;owned\x07 [bold]x[/] $state-fail \u202egpj.exe\u202c 中文 👩‍👩‍👧\n\ttab"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


def some_runs(path: Path) -> None:
    """Six runs of two tasks: the fourth failed, the fifth was interrupted, the last two have trees."""
    with History.open(str(path)) as history:
        for number in range(1, 4):
            put(history, a_run(number, at=NOON - 600 + number))
        put(history, failed(a_run(4, at=NOON - 500, trees=(FIRST,))))
        killed = a_summary(
            5, at=NOON - 400, status="interrupted", code="INTERRUPTED", ended_at=math.nan, duration_ms=math.nan
        )
        put(history, (RunRecord(killed, payload=a_run(5)[0].payload), {}))
        put(history, a_run(6, at=NOON - 300, trees=(FIRST, SECOND, FIRST), task_id="thermostat"))
        put(history, a_run(7, at=NOON - 200, trees=(FIRST, SECOND, FIRST), task_id="thermostat"))


@asynccontextmanager
async def console(
    path: Path | None, *, size: tuple[int, int] = (120, 36), **more: Any
) -> AsyncIterator[tuple[ConsoleApp, Pilot[int], HistoryScreen]]:
    """A console in mode 4 over the history at ``path``; the first page is shown."""
    room = HistoryWorker(str(path), EventBus()) if path is not None else None
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK, history=room)
    app = make_app(engine, clock=MovableClock(NOON), **more)
    try:
        async with app.run_test(size=size) as pilot:
            await settled(pilot)
            await pilot.press("4")
            await until(pilot, lambda: app.current_mode == "history" and app.screen.is_mounted)
            screen = app.screen
            assert isinstance(screen, HistoryScreen)
            if room is not None:
                await until(pilot, lambda: screen.area.page is not None)
            await rested(pilot, screen)
            yield app, pilot, screen
    finally:
        if room is not None:
            await asyncio.to_thread(room.close)


async def rested(pilot: Pilot[int], screen: HistoryScreen) -> None:
    """Until the run under the cursor is shown, and the tree of its moment where one is wanted."""

    def shown() -> bool:
        run, record, moment = screen.runs.run, screen.record, screen.scrubber.moment
        if run is None:
            return record is None
        if record is None or record.summary.number != run.number:
            return False
        tree_wanted = screen.moment_area.display and moment is not None and moment.tree >= 0
        return not tree_wanted or bool(screen.tree_pane.snapshot)

    await drained(pilot)
    await until(pilot, shown)
    await until(pilot, lambda: not any(worker.node is screen for worker in screen.workers))
    await drained(pilot)


async def press(pilot: Pilot[int], screen: HistoryScreen, *keys: str) -> None:
    await pilot.press(*keys)
    await rested(pilot, screen)


def text_of(app: ConsoleApp) -> str:
    return "\n".join("".join(segment.text for segment in line) for line in app.screen._compositor.render_strips())


def flat(app: ConsoleApp) -> str:
    """The text on screen without frames and line ends."""
    return " ".join(text_of(app).replace("│", " ").replace("┃", " ").split())


def has_focus(widget: Widget) -> bool:
    return widget.screen.focused is widget


def within(app: ConsoleApp, widget: Widget) -> str:
    """What stands in one pane."""
    region = widget.content_region
    return "\n".join(line[region.x : region.right] for line in text_of(app).splitlines()[region.y : region.bottom])


def number(screen: HistoryScreen) -> int:
    assert screen.runs.run is not None
    return screen.runs.run.number


# -- the list


async def test_the_newest_run_is_on_top_and_shown(path: Path) -> None:
    some_runs(path)
    async with console(path) as (app, _, screen):
        assert [run.number for run in screen.runs.runs] == [7, 6, 5, 4, 3, 2, 1]
        assert "7 runs" in text_of(app)
        assert "made by the command line, pid 4312" in text_of(app)
        assert "wait_for_node" in text_of(app)


@pytest.mark.ci
async def test_ten_thousand_runs_open_within_the_budget(path: Path) -> None:
    """From the wish to the rows on screen, over the real file; the best of three, as the machine is shared."""
    a_history(path, 10_000).close()
    async with console(path) as (app, pilot, screen):
        took = []
        for _ in range(3):
            screen.area.page = None
            began = time.perf_counter()
            screen.area.search("")
            await until(pilot, lambda: screen.area.page is not None)
            took.append(time.perf_counter() - began)
        assert min(took) < 0.2, took
        assert "10,000 runs" in text_of(app)
        await pilot.press("end")
        await until(pilot, lambda: screen.runs.run is not None and screen.runs.run.number == 1)
        await rested(pilot, screen)
        assert screen.record is not None
        assert screen.record.summary.number == 1


async def test_a_filter_is_asked_in_sql_and_esc_clears_it(path: Path) -> None:
    some_runs(path)
    async with console(path) as (app, pilot, screen):
        await press(pilot, screen, "slash", *"status:failed")
        await until(pilot, lambda: screen.area.page is not None and screen.area.page.where.text == "status:failed")
        assert [run.number for run in screen.runs.runs] == [5, 4]
        assert "2 of 7 runs" in text_of(app)
        await press(pilot, screen, "enter", "j")
        assert number(screen) == 4
        await press(pilot, screen, "escape")
        await until(pilot, lambda: screen.runs.total == 7)
        assert number(screen) == 4, "the cursor stays on its run"


@pytest.mark.ci
async def test_a_filter_that_hides_all_says_which_term_does(path: Path) -> None:
    some_runs(path)
    async with console(path) as (app, pilot, screen):
        await press(pilot, screen, "slash", *"status:failed nothere")
        await until(pilot, lambda: not screen.runs.total)
        await rested(pilot, screen)
        assert "0 of 7 runs: nothere matches nothing" in flat(app)
        assert "No run selected" in text_of(app)
        for _ in "nothere":
            await pilot.press("backspace")
        await pilot.press(*"cmd:cmd-1")
        await until(pilot, lambda: "no run matches all terms" in flat(app))


async def test_a_filter_that_cannot_be_read_says_why(path: Path) -> None:
    some_runs(path)
    async with console(path) as (app, pilot, screen):
        await press(pilot, screen, "slash", *"statu:failed")
        await until(pilot, lambda: "is status: meant?" in text_of(app))


@pytest.mark.ci
async def test_typing_on_takes_the_place_of_what_was_asked(path: Path) -> None:
    """The newest wish wins: whatever is slow, the page that is shown is that of the last letter."""
    a_history(path, 500).close()
    async with console(path) as (_, pilot, screen):
        await pilot.press("slash", *"cmd-4 status:failed")
        await until(
            pilot, lambda: screen.area.page is not None and screen.area.page.where.text == "cmd-4 status:failed"
        )
        await drained(pilot)
        assert screen.area.page is not None
        assert screen.area.page.where.text == "cmd-4 status:failed"
        assert all(run.status == "failed" and "cmd-4" in run.command_id for run in screen.runs.runs)


@pytest.mark.ci
async def test_failures_are_found_beyond_what_has_been_read(path: Path) -> None:
    with History.open(str(path)) as history:
        for place in range(1, 1_500):
            run = a_run(place, at=NOON - 3_000 + place)
            put(history, failed(run) if place == 3 else run)
    async with console(path) as (_, pilot, screen):
        assert len(screen.runs.runs) == 200
        await pilot.press("right_square_bracket")
        await until(pilot, lambda: screen.runs.run is not None and screen.runs.run.number == 3)


WRITER = """
import sys
sys.path.insert(0, sys.argv[4])
from clawperator.engine.history.store import History
from tests.past_runs import NOON, a_run, put
with History.open(sys.argv[1]) as history:
    for count in range(int(sys.argv[3])):
        record, texts = a_run(1, at=NOON + count)
        name = f"{sys.argv[2]}-{count}"
        summary = record.summary._replace(execution_id=name, command_id=name)
        put(history, (record._replace(summary=summary), texts))
"""


@pytest.mark.ci
async def test_two_processes_write_while_the_list_is_open(path: Path) -> None:
    """Every run of both appears, and the cursor never leaves its run."""
    some_runs(path)
    async with console(path) as (app, pilot, screen):
        await press(pilot, screen, "j", "j", "j")
        assert number(screen) == 4
        writers = [
            await asyncio.create_subprocess_exec(sys.executable, "-c", WRITER, str(path), name, "40", str(ROOT))
            for name in ("left", "right")
        ]
        try:
            while screen.runs.total < 87:
                screen.tick()
                await drained(pilot)
                assert number(screen) == 4
                assert all(writer.returncode in (None, 0) for writer in writers)
        finally:
            for writer in writers:
                if writer.returncode is None:
                    writer.kill()
                await writer.wait()
        names = {run.command_id for run in screen.runs.runs}
        assert {f"{side}-{count}" for side in ("left", "right") for count in range(40)} <= names
        assert screen.runs.unseen > 0
        assert f"87 runs  +{screen.runs.unseen} new ↑" in text_of(app)


async def test_a_run_that_ends_is_reported_where_it_stands(path: Path) -> None:
    some_runs(path)
    running = a_run(8, at=NOON - 5, status="running", pid=os.getpid(), timeout_ms=10**12)
    with History.open(str(path)) as history:
        put(history, running)
        async with console(path) as (app, pilot, screen):
            assert screen.runs.run is not None
            assert screen.runs.run.status == "running"
            assert "● " in text_of(app)
            put(history, a_run(8, at=NOON - 5, trees=(FIRST,)))
            while screen.runs.run.status == "running":
                screen.tick()
                await drained(pilot)
            await rested(pilot, screen)
            await until(pilot, lambda: screen.record is not None and screen.record.summary.status == "success")
            assert number(screen) == 8


RUNNER = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from clawperator.engine.history.store import History
from tests.past_runs import a_run, put
with History.open(sys.argv[1]) as history:
    put(history, a_run(8, at=float(sys.argv[3]), status="running", pid=__import__("os").getpid(), timeout_ms=10**12))
print("dispatched", flush=True)
sys.stdin.read()
"""


async def test_a_run_whose_process_is_killed_meanwhile_is_interrupted_and_ours_is_not(path: Path) -> None:
    some_runs(path)
    runner = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", RUNNER, str(path), str(ROOT), str(NOON - 5)),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        assert runner.stdout is not None
        assert await runner.stdout.readline() == b"dispatched\n"
        with History.open(str(path)) as history:
            put(history, a_run(9, at=NOON - 4, status="running", pid=os.getpid(), timeout_ms=10**12))
        async with console(path) as (app, pilot, screen):
            await press(pilot, screen, "j")
            assert number(screen) == 8
            for _ in range(3):
                screen.tick()
                await rested(pilot, screen)
            assert [run.status for run in screen.runs.runs[:2]] == ["running", "running"]
            runner.kill()
            await runner.wait()
            while screen.runs.run is None or screen.runs.run.status == "running":
                screen.tick()
                await drained(pilot)
            await until(pilot, lambda: screen.record is not None and screen.record.summary.status == "interrupted")
            assert number(screen) == 8
            assert [run.status for run in screen.runs.runs[:2]] == ["running", "interrupted"]
            await drained(pilot)
            assert "The process that ran it ended before the result" in " ".join(within(app, screen.detail).split())
    finally:
        if runner.returncode is None:
            runner.kill()
            await runner.wait()


@pytest.mark.parametrize("size", SIZES)
async def test_a_result_that_comes_late_is_reported_as_soon_as_it_is_there(path: Path, size: tuple[int, int]) -> None:
    some_runs(path)
    reported, _ = a_run(8, at=NOON - 60, status="failed", code="RESULT_ENVELOPE_TIMEOUT")
    late = {**reported.envelope, "status": "success", "error": None} if reported.envelope else {}
    with History.open(str(path)) as history:
        put(history, (reported._replace(envelope=None, raw=(), message="no result"), {}))
        async with console(path, size=size) as (app, pilot, screen):
            await press(pilot, screen, "enter")
            assert "RESULT_ENVELOPE_TIMEOUT" in within(app, screen.detail)
            assert "A result arrived" not in within(app, screen.detail)
            row = RunSummary("", "cmd-8", device_id="emulator-5554", origin="seen", ended_at=NOON - 60 + 2.1 + 3.2)
            history.put_late(RunRecord(row, envelope=late, raw=('{"late":"yes"}',)))
            while screen.record is None or screen.record.late is None:
                screen.tick()
                await drained(pilot)
            await rested(pilot, screen)
            look = " ".join(within(app, screen.detail).split())
            assert "RESULT_ENVELOPE_TIMEOUT" in look, "what the caller was told stays"
            assert "A result arrived 3.2 s after its caller stopped waiting: success." in look
            await press(pilot, screen, "l", "l")
            look = within(app, screen.detail)
            assert "No envelope" not in look
            assert "stepResults" in look
            await press(pilot, screen, "l", "l", "l")
            assert '{"late":"yes"}' in within(app, screen.detail)


# -- one run


@pytest.mark.parametrize("size", SIZES)
async def test_a_run_is_opened_gone_through_and_left_for_the_same_row(path: Path, size: tuple[int, int]) -> None:
    some_runs(path)
    async with console(path, size=size) as (_, pilot, screen):
        await press(pilot, screen, "j")
        assert number(screen) == 6
        await press(pilot, screen, "enter")
        assert has_focus(screen.detail)
        assert screen.runs.display or screen.narrow
        await press(pilot, screen, "less_than_sign", "full_stop", "full_stop")
        assert screen.scrubber.moment is not None
        assert screen.scrubber.moment.what == "step"
        assert screen.moment_area.display
        assert screen.scrubber.region.height
        for _ in range(3):
            await press(pilot, screen, "escape")
        assert has_focus(screen.runs)
        assert screen.runs.region.width > 40
        assert number(screen) == 6


async def test_tree_lines_and_steps_move_together(path: Path) -> None:
    some_runs(path)
    async with console(path, size=(200, 60)) as (app, pilot, screen):
        await press(pilot, screen, "enter", "less_than_sign")
        assert "No tree at this moment yet" in flat(app)
        reported = []
        for _ in range(12):
            await press(pilot, screen, "full_stop")
            moment, record = screen.scrubber.moment, screen.record
            assert moment is not None
            assert record is not None
            reported.append((moment.what, moment.tree))
            if moment.tree >= 0:
                assert screen.tree_pane.snapshot.at == record.trees[moment.tree].at
                assert screen.tree_pane.snapshot.source == "history"
            assert screen.moment_area.log_pane.current == moment.line
            if moment.step >= 0:
                slot = screen.detail.slot
                assert slot is not None
                assert slot.place == ("step", moment.step + 1)
        assert reported[1] == ("step", -1)
        assert reported[2] == ("tree", 0)
        assert reported[-1] == ("result", 2)


@pytest.mark.ci
async def test_marks_are_against_the_tree_before_whichever_way_one_came(path: Path) -> None:
    some_runs(path)
    async with console(path, size=(200, 60)) as (app, pilot, screen):

        async def to_tree(index: int) -> tuple[int, int, int]:
            moments = screen.scrubber.moments
            place = next(at for at, moment in enumerate(moments) if moment.what == "tree" and moment.tree == index)
            screen.scrubber.to(place)
            record = screen.record
            assert record is not None
            await until(pilot, lambda: screen.tree_pane.snapshot.at == record.trees[index].at)
            await rested(pilot, screen)
            changes = screen.tree_pane.model.changes
            return len(changes.added), len(changes.changed), sum(changes.removed.values())

        forward = [await to_tree(index) for index in (0, 1, 2)]
        backward = [await to_tree(index) for index in (1, 0, 1, 2)]
        assert forward[0] == (0, 0, 0), "nothing is before the first tree"
        assert forward[1][2] > 0, "rows are gone"
        assert forward[2][0] > 0, "they are back"
        assert backward == [forward[1], forward[0], forward[1], forward[2]]
        assert "tree of step 3" in text_of(app)


async def test_a_line_and_a_tree_of_the_detail_lead_to_their_moment(path: Path) -> None:
    some_runs(path)
    async with console(path, size=(200, 60)) as (_, pilot, screen):
        log_pane = screen.moment_area.log_pane
        log_pane.move_to(7)
        log_pane.action_choose()
        await rested(pilot, screen)
        assert screen.scrubber.moment is not None
        assert screen.scrubber.moment.what == "retry"
        assert screen.record is not None
        screen.detail.post_message(screen.detail.TreeWanted(screen.record.trees[1].digest))
        await rested(pilot, screen)
        assert (screen.scrubber.moment.what, screen.scrubber.moment.tree) == ("tree", 1)


@pytest.mark.ci
async def test_a_run_without_trees_and_one_of_which_nothing_is_known_say_so(path: Path) -> None:
    some_runs(path)
    async with console(path, size=(200, 60)) as (app, pilot, screen):
        await press(pilot, screen, "end")
        assert "This run has no trees" in flat(app)
        await press(pilot, screen, "k", "k", "k", "k")
        assert number(screen) == 5
        assert "The process that ran it ended before the result arrived" in " ".join(within(app, screen.detail).split())
        assert (run := screen.moment_area.log_pane.run) is not None
        assert [line.kind for line in run.lines] == ["sent", "dispatched"]
        assert "? " in text_of(app)
        await press(pilot, screen, "comma")
        assert screen.scrubber.moment is not None
        assert screen.scrubber.moment.what == "dispatched"


@pytest.mark.ci
async def test_a_tree_that_is_gone_says_so_and_the_rest_stays(path: Path) -> None:
    some_runs(path)
    async with console(path, size=(200, 60)) as (app, pilot, screen):
        import sqlite3

        with sqlite3.connect(path) as db:
            db.execute("PRAGMA foreign_keys = OFF")
            db.execute("DELETE FROM contents")
        db.close()
        screen.past._trees.clear()
        screen.moment_area._shown = -1
        screen.scrubber.to(0)
        screen.scrubber.to(len(screen.scrubber.moments))
        await until(pilot, lambda: "HISTORY_NOT_FOUND" in flat(app))
        assert "run ended: success" in text_of(app)


async def test_only_small_screens_show_one_part_at_a_time_and_t_turns_to_the_other(path: Path) -> None:
    some_runs(path)
    async with console(path, size=(80, 24)) as (app, pilot, screen):
        assert not screen.detail.region.height
        await press(pilot, screen, "enter")
        assert "▌Run" in text_of(app)
        await press(pilot, screen, "t")
        assert "▌Moments" in text_of(app)
        assert has_focus(screen.tree_pane)
        await press(pilot, screen, "escape")
        assert has_focus(screen.detail)
        await pilot.click("#run-tabs")
        await rested(pilot, screen)
        assert screen.moment_area.display


# -- two runs


async def test_the_marked_two_are_compared(path: Path) -> None:
    some_runs(path)
    async with console(path) as (app, pilot, screen):
        await press(pilot, screen, "j", "j", "j", "space", "j", "space")
        assert "A cmd-4 B cmd-3" in flat(app)
        await press(pilot, screen, "c")
        assert screen.compared.a is not None
        assert screen.compared.b is not None
        assert (screen.compared.a.command_id, screen.compared.b.command_id) == ("cmd-4", "cmd-3")
        assert has_focus(screen.compared)
        assert "A ✗ cmd-4 failed" in flat(app)
        await press(pilot, screen, "escape")
        assert not screen.compared.region.height


@pytest.mark.ci
async def test_without_marks_a_run_is_compared_with_the_one_before_of_its_task(path: Path) -> None:
    some_runs(path)
    async with console(path, size=(200, 60)) as (app, pilot, screen):
        await press(pilot, screen, "c")
        assert screen.compared.a is not None
        assert screen.compared.a.command_id == "cmd-6"
        await until(pilot, lambda: "identical" in flat(app))
        screen.compared.post_message(screen.compared.TreesWanted(*screen.compared.tree_keys[1]))
        await until(pilot, lambda: "B cmd-7 against A cmd-6" in flat(app))
        assert app.screen is screen, "the trees are identical"
        (first, _), (_, second) = screen.compared.tree_keys[:2]
        screen.compared.post_message(screen.compared.TreesWanted(first, second))
        await until(pilot, lambda: isinstance(app.screen, TreeCompareDialog) and "after B cmd-7" in flat(app))
        assert "before A cmd-6" in flat(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is screen)
        await press(pilot, screen, "escape", "end", "c")
        assert "no other run of this task" in app.session.notices[-1].text


@pytest.mark.ci
async def test_a_run_that_repeats_another_is_compared_with_that_one(path: Path) -> None:
    some_runs(path)
    async with console(path) as (app, pilot, screen):
        app.session.log.reruns["cmd-7"] = "cmd-2"
        reported: dict[str, Any] = {"task_id": "", "source": "", "timeout_ms": 1, "action_count": 1}
        reported |= {"device_id": DEVICE, "at": NOON - 200}
        app.session.log.apply([ExecutionStarted(execution_id="e", command_id="cmd-7", **reported)])
        await press(pilot, screen, "c")
        assert screen.compared.a is not None
        assert screen.compared.a.command_id == "cmd-2"


# -- what can be done


async def test_what_is_copied_is_of_the_row_even_before_that_was_read(path: Path) -> None:
    some_runs(path)
    async with console(path) as (_, pilot, screen):
        assert screen.copyable()["id"].text == "cmd-7"
        screen.runs.move_to(2)
        assert "id" not in screen.copyable()
        await rested(pilot, screen)
        assert screen.copyable()["id"].text == "cmd-6"


async def test_a_run_becomes_the_draft_under_a_new_command_id(path: Path) -> None:
    some_runs(path)
    async with console(path) as (app, pilot, _):
        await pilot.press("j", "e")
        await until(pilot, lambda: app.current_mode == "run")
        assert app.drafts.run_of == "cmd-6"
        payload = json.loads(app.drafts.text())
        assert [action["id"] for action in payload["actions"]] == ["open", "wait", "snap"]
        assert payload["commandId"] != "cmd-6"


async def test_what_was_only_seen_has_no_payload_and_says_so(path: Path) -> None:
    with History.open(str(path)) as history:
        record, texts = a_run(1, origin="seen", pid=0, face="")
        put(history, (record._replace(payload=None, phases={}), texts))
    async with console(path) as (app, pilot, _):
        assert "seen in the log" in text_of(app)
        await pilot.press("e")
        await until(pilot, lambda: bool(app.session.notices))
        assert "The payload of cmd-1 is not known" in app.session.notices[-1].text
        assert app.current_mode == "history"


@asynccontextmanager
async def exporting(path: Path, target: Path) -> AsyncIterator[tuple[ConsoleApp, Pilot[int]]]:
    """The form of ``x`` for the newest run, with ``target`` as the name."""
    some_runs(path)
    async with console(path) as (app, pilot, screen):
        await pilot.press("x")
        await until(pilot, lambda: app.screen is not screen and bool(app.screen.query("Input")))
        field = app.screen.query_one(Input)
        assert field.value == "cmd-7.zip"
        field.value = str(target)
        yield app, pilot


async def test_a_run_is_written_with_its_trees(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "run.jsonl"
    async with exporting(path, target) as (app, pilot):
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.session.notices))
        run = json.loads(target.read_text())
        assert run["commandId"] == "cmd-7"
        assert [tree["text"] for tree in run["trees"]] == [FIRST, SECOND, FIRST]
        assert target.stat().st_mode & 0o777 == 0o600


async def test_a_run_is_written_as_a_bundle_and_the_form_says_what_is_in_it(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "run.zip"
    async with exporting(path, target) as (app, pilot):
        assert "contains text that was read from screens" in flat(app)
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.session.notices))
        assert "Nothing in it is masked" in app.session.notices[-1].text
        with zipfile.ZipFile(target) as archive:
            assert archive.read("trees/002.xml").decode() == SECOND
            assert json.loads(archive.read("payload.json"))["taskId"] == "thermostat"
        assert target.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["run.zip", "run.jsonl"])
async def test_a_safe_export_leaves_the_texts_of_screens_here(path: Path, tmp_path: Path, name: str) -> None:
    target = tmp_path / name
    async with exporting(path, target) as (app, pilot):
        await pilot.press("tab", "space", "enter")
        await until(pilot, lambda: bool(app.session.notices))
        assert "Texts of screens are masked" in app.session.notices[-1].text
        if zipfile.is_zipfile(target):
            with zipfile.ZipFile(target) as archive:
                said = "".join(archive.read(entry).decode() for entry in archive.namelist())
        else:
            said = target.read_text()
        assert "cmd-7" in said
        assert "Wi‑Fi" not in said
        assert "<hierarchy" not in said


@pytest.mark.ci
async def test_an_export_takes_no_ones_place(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "run.zip"
    target.write_text("mine")
    async with exporting(path, target) as (app, pilot):
        await pilot.press("enter")
        await until(pilot, lambda: "not overwritten" in flat(app))
        assert target.read_text() == "mine"
        app.screen.query_one(Input).value = str(tmp_path / "no" / "folder.zip")
        await pilot.press("enter")
        await until(pilot, lambda: bool(app.session.notices))
        assert f"cannot be written: {tmp_path / 'no'} is not a folder" in app.session.notices[-1].text


async def test_what_a_run_holds_can_be_copied(path: Path) -> None:
    some_runs(path)
    async with console(path) as (app, _, screen):
        things = screen.copyable()
        assert things["id"].text == "cmd-7"
        make = things["json"].make
        assert make is not None
        assert json.loads(make())["status"] == "success"
        assert json.loads(things["execution"].text)["taskId"] == "thermostat"
        assert things["command"].text.startswith("clawperator execute")
        assert isinstance(app.system_clipboard, FakeClipboard)


# -- states


@pytest.mark.parametrize("size", [SIZES[0], SIZES[2]])
async def test_off_empty_and_damaged_have_words(tmp_path: Path, size: tuple[int, int]) -> None:
    async with console(None, size=size) as (app, pilot, _):
        assert "History is disabled (history.enabled = false)" in flat(app)
        await pilot.press("c", "R", "e", "x", "comma", "slash", "c")
        assert app.current_mode == "history"
    async with console(tmp_path / "new.db", size=size) as (app, _, _):
        assert "No runs yet" in flat(app)
    (tmp_path / "folder.db").mkdir()
    async with console(tmp_path / "folder.db", size=size) as (app, _, _):
        assert "The history cannot be read" in flat(app)
        assert "HISTORY_UNAVAILABLE" in flat(app)


async def test_an_answer_that_comes_while_the_console_ends_is_no_crash(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with console(path) as (app, _, screen):
        page = screen.area.page
        assert page is not None
        monkeypatch.setattr(app, "_running", False)
        await screen.query_one("#past-detail-pane").remove()

        async def newer(page: Page, **_: object) -> Page:
            return replace(page, problem="The history cannot be read")

        monkeypatch.setattr(screen.past, "newer", newer)
        await screen.area._look(page)
        monkeypatch.undo()


async def test_a_history_that_breaks_while_it_is_read_keeps_its_rows(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from clawperator.engine.errors import EngineError, ErrorCode

    some_runs(path)
    async with console(path) as (app, pilot, screen):

        async def broken(*_: object, **__: object) -> int:
            raise EngineError(ErrorCode.HISTORY_UNAVAILABLE, "The disk is gone")

        monkeypatch.setattr(screen.past.history, "version", broken)
        screen.tick()
        await until(pilot, lambda: "the history is no longer readable" in flat(app))
        assert screen.runs.total == 7
        monkeypatch.undo()
        screen.tick()
        await until(pilot, lambda: "the history is no longer readable" not in flat(app))


@pytest.mark.parametrize("size", SIZES)
async def test_hostile_text_in_every_field_reaches_no_terminal(path: Path, size: tuple[int, int]) -> None:
    names = ("command_id", "task_id", "source", "mode", "device_id", "backend", "code", "package")
    named: dict[str, Any] = dict.fromkeys(names, HOSTILE)
    record, texts = a_run(1, trees=(FIRST,), **named)
    steps = tuple(step._replace(id=f"{HOSTILE}{step.position}", type=HOSTILE, code=HOSTILE) for step in record.steps)
    lines = (*record.lines, LineRecord(NOON + 2, HOSTILE, HOSTILE), LineRecord(NOON + 2, "stage-retry", HOSTILE))
    trees = tuple(tree._replace(step_id=HOSTILE) for tree in record.trees)
    with History.open(str(path)) as history:
        for _ in range(2):
            put(history, (record._replace(steps=steps, lines=lines, trees=trees, message=HOSTILE), texts))
            record = record._replace(summary=record.summary._replace(execution_id="other"))
    async with console(path, size=size) as (app, pilot, screen):
        looks = [text_of(app)]
        for keys in (
            ("space", "enter"),
            ("l", "l", "l"),
            ("comma", "comma", "comma"),
            ("less_than_sign",),
            ("escape", "escape"),
            ("c",),
        ):
            await press(pilot, screen, *keys)
            looks.append(text_of(app))
        for look in looks:
            assert not any(ord(character) < 32 and character != "\n" for character in look)
            assert "\u202e" not in look


async def test_the_mode_keeps_its_place_and_asks_no_one_while_it_is_not_looked_at(path: Path) -> None:
    some_runs(path)
    async with console(path) as (app, pilot, screen):
        await press(pilot, screen, "j", "j")
        await pilot.press("2")
        await until(pilot, lambda: app.current_mode == "stream")
        with History.open(str(path)) as history:
            put(history, a_run(9, at=NOON))
        app._second()
        await drained(pilot)
        assert screen.runs.total == 7
        await pilot.press("4")
        await until(pilot, lambda: screen.runs.total == 8)
        assert number(screen) == 5
        assert has_focus(screen.runs)


async def test_saved_dumps_have_no_history(tmp_path: Path) -> None:
    engine = FakeEngine(present=())
    app = make_app(engine, files=[str(tmp_path / "none.xml")])
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("4")
        await until(pilot, lambda: "saved dumps: it has no history" in flat(app))
