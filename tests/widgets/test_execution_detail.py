"""The execution view as a pane: keys, tabs that keep their place, folds, and rows that are made when they are looked at."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from clawperator.engine.logcat.entry import LogEntry
from clawperator.widgets.execution_detail import DetailTab, ExecutionDetail
from clawperator.widgets.format.symbols import ASCII, UNICODE, Symbols
from clawperator.widgets.models.execution import LineSpan, Mark
from clawperator.widgets.models.line_ring import LineRing
from clawperator.widgets.models.run_diff import TreeCounts
from tests.app.console.support import NOON, drained, make_envelope
from tests.support import varied
from tests.widgets.invented_runs import (
    CLOCK,
    STATES,
    captured,
    fifty,
    malformed,
    plan_failed,
    reported,
    retry,
    running,
    seen,
    step_failed,
    success,
)
from tests.widgets.pane_app import Holder, lines


class MessageApp(Holder):
    def on_execution_detail_tree_wanted(self, message: ExecutionDetail.TreeWanted) -> None:
        self.reported.append(message.key)


def shown(app: App[None]) -> str:
    return "\n".join(lines(app))


@asynccontextmanager
async def looking(
    *, size: tuple[int, int], symbols: Symbols = UNICODE
) -> AsyncIterator[tuple[MessageApp, Pilot[None], ExecutionDetail]]:
    pane = ExecutionDetail()
    app = MessageApp(pane, symbols, CLOCK)
    async with app.run_test(size=size) as pilot:
        pane.focus()
        await drained(pilot)
        yield app, pilot, pane


def place_of(pane: ExecutionDetail) -> object:
    assert pane.slot is not None
    return pane.slot.place


class Counting:
    """Stands for a function and keeps what it was asked."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.asked: list[Any] = []

    def __call__(self, first: Any, *more: Any) -> Any:
        self.asked.append(first)
        return self.function(first, *more)


async def test_the_command_id_is_shown_once_and_whole_at_every_width() -> None:
    run = plan_failed()
    for width in (30, 44, 52, 64, 76, 84, 96, 140):
        async with looking(size=(width, 24)) as (app, pilot, pane):
            pane.show(run)
            await drained(pilot)
            assert shown(app).count(run.command_id) == 1, width
            pane.show(replace(run, task_id=run.command_id))  # as single actions have it
            await drained(pilot)
            assert shown(app).count(run.command_id) == 1, width


async def test_the_tabs_go_round_and_say_where_one_is() -> None:
    async with looking(size=(90, 24)) as (app, pilot, pane):
        pane.show(plan_failed())
        seen_tabs = []
        for _ in DetailTab:
            await drained(pilot)
            seen_tabs.append(lines(app)[0].partition("▌")[2].split()[0])
            await pilot.press("l")
        assert seen_tabs == [tab.value for tab in DetailTab]
        assert pane.tab.value == DetailTab.STEPS.value
        await pilot.press("h")
        assert pane.tab.value == DetailTab.RAW.value


async def test_the_head_stays_when_the_rows_scroll() -> None:
    async with looking(size=(90, 12)) as (app, pilot, pane):
        pane.show(fifty())
        await pilot.press("end")
        await drained(pilot)
        assert "cmd-1" in lines(app)[0]
        assert "▌Steps" in lines(app)[0]
        assert "timeline" in lines(app)[-1]


async def test_a_tab_keeps_its_place_and_its_folds() -> None:
    async with looking(size=(90, 16)) as (_app, pilot, pane):
        pane.show(fifty())
        await pilot.press("right_square_bracket", "space")
        place, top = pane.cursor, pane.top
        assert pane.slot is not None
        assert (pane.slot.place, pane.slot.opened) == (("step", 18), False)
        await pilot.press("l", "l", "h", "h")
        assert (pane.cursor, pane.top) == (place, top)
        assert pane.slot is not None
        assert pane.slot.opened is False
        pane.show(success())
        assert (pane.cursor, pane.top) == (0, 0)


async def test_the_envelope_opens_at_its_failing_step() -> None:
    async with looking(size=(90, 20)) as (app, pilot, pane):
        pane.show(fifty())
        await pilot.press("l", "l")
        await drained(pilot)
        assert place_of(pane) == ("envelope", ("stepResults", 17))
        assert '"error": "NODE_NOT_FOUND"' in shown(app)
        await pilot.press("right_square_bracket")
        assert place_of(pane) == ("envelope", ("stepResults", 33))
        await pilot.press("right_square_bracket", "left_square_bracket")
        assert place_of(pane) == ("envelope", ("stepResults", 33))


async def test_the_cursor_stays_with_its_step_while_rows_come() -> None:
    execution = running()
    async with looking(size=(90, 24)) as (app, pilot, pane):
        pane.show(execution)
        pane.move_to(next(index for index, slot in enumerate(pane.rows) if slot.place == ("step", 2)))
        await drained(pilot)
        execution.code, execution.message = "", ""
        execution.duplicates = 1  # one row more above
        execution.version += 1
        pane.show(execution)
        await drained(pilot)
        assert place_of(pane) == ("step", 2)
        assert "wait_for_node" in lines(app)[pane.HEAD_ROWS + pane.cursor - pane.top]


async def test_a_running_one_is_drawn_again_every_time_a_finished_one_when_it_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with looking(size=(90, 24)) as (_app, _pilot, pane):
        slots = Counting(pane.slots)
        monkeypatch.setattr(pane, "slots", slots)
        for execution, times in ((running(), 3), (success(), 1)):
            slots.asked.clear()
            for _ in range(3):
                pane.show(execution)
            assert len(slots.asked) == times


async def test_the_same_run_read_again_keeps_the_place() -> None:
    async with looking(size=(90, 16)) as (_app, pilot, pane):
        pane.show(fifty())
        await pilot.press("right_square_bracket")
        place = pane.cursor
        pane.show(fifty())
        assert pane.cursor == place


async def test_enter_on_a_tree_asks_for_it() -> None:
    async with looking(size=(90, 20)) as (app, pilot, pane):
        execution = plan_failed()
        pane.show(execution)
        await pilot.press("l", "end", "enter")
        await drained(pilot)
        assert app.reported[-1] == execution.trees[-1].key
        first, second = (mark.key for mark in execution.trees)
        pane.show_changes({(first, second): TreeCounts(added=3, removed=1)})
        await drained(pilot)
        assert "+3 −1" in shown(app)


async def test_enter_and_space_fold_and_minus_folds_all() -> None:
    async with looking(size=(90, 24)) as (_app, pilot, pane):
        pane.show(step_failed())
        rows = pane.row_count()
        await pilot.press("right_square_bracket", "enter")
        assert pane.row_count() == rows - 2
        await pilot.press("space")
        assert pane.row_count() == rows
        await pilot.press("down", "space")
        assert pane.row_count() == rows - 2, "from inside: the step itself"
        await pilot.press("minus")
        folded = pane.row_count()
        assert folded < rows - 2
        await pilot.press("minus")
        assert pane.row_count() == rows


async def test_clicks_choose_tabs_and_arrows() -> None:
    async with looking(size=(90, 24)) as (app, pilot, pane):
        pane.show(step_failed())
        await drained(pilot)
        await pilot.click(ExecutionDetail, offset=(lines(app)[0].index("Payload") + 2, 0))
        assert pane.tab.value == DetailTab.PAYLOAD.value
        await pilot.click(ExecutionDetail, offset=(lines(app)[0].index("Steps"), 0))
        assert pane.tab.value == DetailTab.STEPS.value
        rows = pane.row_count()
        row = next(y for y, text in enumerate(lines(app)) if "wait_for_navigation nav" in text)
        await pilot.click(ExecutionDetail, offset=(1, row))
        assert pane.row_count() < rows
        await pilot.click(ExecutionDetail, offset=(30, 2))
        assert pane.cursor == 1


async def test_raw_lines_are_exact_cut_with_a_count_and_open() -> None:
    async with looking(size=(80, 24)) as (app, pilot, pane):
        pane.show(malformed())
        await pilot.press("h")
        await drained(pilot)
        row = next(text for text in lines(app) if "Clawperator-Result" in text)
        assert row.startswith(' ▸ [Clawperator-Result] {"commandId":"cmd-1"')
        assert row.rstrip().endswith("more")
        await pilot.press("end", "enter")
        await drained(pilot)
        assert sum(text.count("x") for text in lines(app)) > 1_000


async def test_a_chunked_envelope_says_from_how_many_entries_it_is() -> None:
    async with looking(size=(80, 24)) as (app, pilot, pane):
        pane.show(captured("chunked-envelope-threadtime")[0])
        await pilot.press("h")
        await drained(pilot)
        assert "joined from 3 log entries" in shown(app)


@pytest.mark.parametrize(
    ("tab", "state", "words"),
    [
        (DetailTab.ENVELOPE, "running", "No envelope. None yet."),
        (DetailTab.ENVELOPE, "timeout", "No envelope. None arrived."),
        (DetailTab.ENVELOPE, "malformed", "No envelope. It could not be parsed. See the Raw tab."),
        (DetailTab.PAYLOAD, "running", "Unknown: another process sent it"),
        (DetailTab.PAYLOAD, "timeout", '"expectedFormat": "android-ui-automator"'),
        (DetailTab.TREES, "running", "No snapshots in this run."),
        (DetailTab.RAW, "running", "No raw envelope."),
        (DetailTab.PHASES, "refused", "validate"),
    ],
)
async def test_what_is_not_there_says_why(tab: DetailTab, state: str, words: str) -> None:
    async with looking(size=(90, 24)) as (app, pilot, pane):
        pane.show(STATES[state]())
        while pane.tab is not tab:
            pane.action_tab(1)
        await drained(pilot)
        assert words in shown(app)


async def test_marks_log_lines_and_nothing() -> None:
    async with looking(size=(100, 12)) as (app, pilot, pane):
        await drained(pilot)
        assert "Select an execution." in shown(app)
        pane.show(Mark("malformed", NOON, "bad JSON at byte 812", 1, raw='{"commandId":'))
        await drained(pilot)
        assert "bad JSON at byte 812" in shown(app)
        assert '{"commandId":' in shown(app)
        pane.show(LogEntry.create("a message", level="W", tag="Some.Tag", pid=12, tid=13))
        await drained(pilot)
        assert "a message" in shown(app)
        await pilot.press("l", "space", "minus", "right_square_bracket", "enter")
        pane.show(None)
        await drained(pilot)
        assert "Select an execution." in shown(app)


@pytest.mark.parametrize(
    ("mark", "sentences"),
    [
        (
            Mark("malformed", NOON, "Expecting value", 1, raw="{", column=812),
            ["(RESULT_ENVELOPE_MALFORMED): Expecting value, character 812.", "its command will appear to have no result", "shorter plans"],
        ),
        (Mark("gap", NOON, "device offline", 1, device_id="emu"), ["The log of emu was interrupted: device offline", "reconnects automatically"]),
        (Mark("gap", NOON, "reset", 1, until=NOON + 4), ["The log of the device was interrupted", "It resumed 4.0 s later."]),
        (Mark("dropped", NOON, "too slow", 1, count=1_200), ["1,200 messages were dropped: too slow."]),
        (Mark("event", NOON, "hello", 1, count=3), ["without a known command, 3 times:", "hello"]),
    ],
)  # fmt: skip
async def test_bad_news_says_what_it_means(mark: Mark, sentences: list[str]) -> None:
    async with looking(size=(110, 12)) as (app, pilot, pane):
        pane.show(mark)
        await drained(pilot)
        text = shown(app)
        assert lines(app)[0].split() == [mark.kind, CLOCK.time_of_day(NOON)]
        assert [sentence for sentence in sentences if sentence not in text] == []


async def test_without_room_for_all_tabs_the_current_one_is_reported() -> None:
    async with looking(size=(44, 12)) as (app, pilot, pane):
        pane.show(plan_failed())
        await pilot.press("h")
        await drained(pilot)
        assert lines(app)[0].rstrip() == " ✗ cmd-1 ▌Raw 6/6"


async def test_hostile_text_stays_text() -> None:
    nasty = "\x1b[31mred\x1b]0;owned\x07 [bold]x[/] user\u202egpj.exe"
    steps = [(nasty, "read_text", False, {"error": nasty, nasty: nasty})]
    execution = reported(seen(NOON, make_envelope("cmd-1", steps)))
    execution.payload = {nasty: [nasty]}
    async with looking(size=(90, 24)) as (app, pilot, pane):
        pane.show(execution)
        for _ in DetailTab:
            await pilot.press("l")
            await drained(pilot)
            assert "\x1b" not in shown(app)
            assert "\u202e" not in shown(app)
        assert "[bold]x[/]" in shown(app)


@varied("size", [(30, 8), (80, 24), (200, 60)])
async def test_every_state_in_every_tab_at_every_size(size: tuple[int, int]) -> None:
    async with looking(size=size, symbols=ASCII) as (app, pilot, pane):
        for state in STATES.values():
            pane.show(state())
            for _ in DetailTab:
                pane.action_tab(1)
                pane.action_bottom()
                pane.action_fold_all()
                await drained(pilot)
                ours = [line.replace("Wi‑Fi", "") for line in lines(app)]  # a selector is shown as it is
                assert all(line.isascii() for line in ours), [line for line in ours if not line.isascii()]


async def test_only_what_is_looked_at_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """400 steps and a value of 200 KB: the work of a key is that of a screenful."""
    steps = [(f"s{number}", "read_text", True, {"text": "value " * 80}) for number in range(400)]
    steps[5] = ("s5", "read_text", True, {"text": "<node/>" * 30_000})
    async with looking(size=(120, 40)) as (_app, pilot, pane):
        pane.show(reported(seen(NOON, make_envelope("cmd-1", steps))))
        row = Counting(pane.row)
        monkeypatch.setattr(pane, "row", row)
        for keys in (["l", "l"], ["down"] * 3, ["end"], ["home"], ["pagedown"]):
            row.asked.clear()
            await pilot.press(*keys)
            await drained(pilot)
            assert len(row.asked) <= 3 * 40
        pane.action_top()
        fastest = min(_move_and_paint(pane) for _ in range(20))
        assert fastest < 0.016, "the fastest of twenty: others use this machine too"


def _move_and_paint(pane: ExecutionDetail) -> float:
    began = time.perf_counter()
    pane.action_move(1)
    for y in range(pane.content_size.height):
        pane.render_line(y)
    return time.perf_counter() - began


async def test_a_retry_shows_at_once() -> None:
    execution = reported(*[retry(NOON - 1, "2/5")])
    async with looking(size=(90, 16)) as (app, pilot, pane):
        pane.show(execution)
        await drained(pilot)
        assert "stage-retry" in shown(app)


async def test_raw_shows_the_log_lines_as_they_came_then_the_joined_envelope() -> None:
    execution = success()
    entries = [
        LogEntry.create(
            f"[Clawperator-Command] {kind} commandId=cmd-1 taskId=t", tag="f", pid=43, clock=int(NOON * 1e9)
        )
        for kind in ("start", "success")
    ]
    ring = LineRing(16)
    ring.extend(entries[:1], execution.device_id)
    execution.log = LineSpan(0, 0)
    async with looking(size=(120, 24)) as (app, pilot, pane):
        pane.ring = ring
        pane.show(execution)
        await pilot.press("h")
        await drained(pilot)
        assert "1 log line in order of arrival" in shown(app)
        row = next(text for text in lines(app) if "[Clawperator-Command] start" in text)
        assert row.split()[1:3] == ["I", "43"]
        ring.extend(entries[1:], execution.device_id)
        execution.log = LineSpan(0, 1)
        pane.show(execution)
        await drained(pilot)
        assert shown(app).index("start commandId") < shown(app).index("success commandId")
        assert "{'commandId'" in shown(app).rpartition("success commandId")[2]
        ring.extend([LogEntry.create("noise", tag="x")] * 40, execution.device_id)
        execution.version += 1
        pane.show(execution)
        await drained(pilot)
        assert "older log lines have left the buffer" in shown(app)
        assert "[Clawperator-Command]" not in shown(app)
