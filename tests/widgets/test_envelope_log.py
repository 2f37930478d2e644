"""The stream's pane by itself: what has a row, what the keys do, what stays where it is."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from clawperator.engine.events.types import EngineEvent, LogGap, SnapshotSeen
from clawperator.engine.logcat.entry import LogEntry
from clawperator.widgets.envelope_log import EnvelopeLog
from clawperator.widgets.format.lines import Row
from clawperator.widgets.models.executions import ExecutionLog
from clawperator.widgets.models.item_rows import StreamView
from clawperator.widgets.models.line_ring import LineRing
from tests.app.console.support import (
    DEVICE,
    NOON,
    MovableClock,
    agent_run,
    drained,
    finished_run,
    log_lines,
    mixed_stream,
    progress,
    until,
)
from tests.widgets.pane_app import Holder, held, lines

SERIAL = DEVICE.serial
MIXED = 7
"""Rows of ``mixed_stream``."""


class Stream:
    """A pane, what it is bound to, and a way to let things happen."""

    def __init__(self, *, capacity: int = 100_000) -> None:
        self.time = MovableClock()
        self.pane = EnvelopeLog()
        self.log = ExecutionLog()
        self.ring = LineRing(capacity)
        self.wanted: list[str] = []

    def feed(self, *events: EngineEvent) -> None:
        self.log.line = self.ring.end
        self.log.apply(events)
        self.pane.news()

    def write(self, entries: Sequence[LogEntry]) -> None:
        begin = self.ring.end
        for number in self.ring.extend(entries, SERIAL):
            self.log.place(SERIAL, number, entries[number - begin].payload)
        self.pane.news()

    @property
    def commands(self) -> list[str]:
        return [
            getattr(row.item, "command_id", getattr(row.item, "kind", ""))
            for row in self.pane.model.items.rows
            if row.top
        ]

    @property
    def messages(self) -> list[str]:
        return [self.ring[number].message for number in self.pane.model.lines.numbers]


class StreamHolder(Holder):
    def on_envelope_log_tree_wanted(self, message: EnvelopeLog.TreeWanted) -> None:
        self.reported.append(f"tree {message.key}")

    def on_envelope_log_changed(self) -> None:
        self.reported.append("changed")


@asynccontextmanager
async def streaming(
    *events: EngineEvent, size: tuple[int, int] = (100, 14), capacity: int = 100_000
) -> AsyncIterator[tuple[Stream, Pilot[None]]]:
    stream = Stream(capacity=capacity)
    async with held(stream.pane, size=size, clock=stream.time.clock) as (_, pilot):
        stream.pane.show(stream.log, stream.ring)
        if events:
            stream.feed(*events)
        await drained(pilot)
        yield stream, pilot


def command_line(command: str, kind: str = "start", at: float = NOON) -> LogEntry:
    message = f"[Clawperator-Command] {kind} commandId={command} taskId=t source=s timeoutMs=1000 actionCount=1"
    return LogEntry.create(message, tag="E", pid=4312, clock=int(at * 1e9))


# -- following


async def test_it_follows_until_someone_moves_up_and_again_from_the_end_on() -> None:
    async with streaming(*mixed_stream(NOON)) as (stream, pilot):
        pane = stream.pane
        assert pane.following
        assert pane.cursor == MIXED - 1
        await pilot.press("k")
        assert not pane.following
        stream.feed(*finished_run("new-1", NOON + 30), *finished_run("new-2", NOON + 31))
        assert pane.cursor == MIXED - 2, "new rows never move the cursor"
        assert pane.counts.fresh == 2
        await pilot.press("G")
        assert pane.following
        assert pane.cursor == MIXED + 1
        stream.feed(*finished_run("new-3", NOON + 33))
        assert pane.cursor == MIXED + 2
        assert pane.counts.fresh == 0


async def test_rows_that_go_do_not_move_the_cursor_either() -> None:
    async with streaming(capacity=160) as (stream, pilot):
        pane = stream.pane
        pane.set_view(StreamView.LOG)
        stream.write(log_lines(160))
        await pilot.press(*"kkkkk")
        number = pane.model.line_number(pane.cursor)
        offset = pane.cursor - pane.top
        stream.write(log_lines(100, start=160))
        assert stream.ring.first > 0
        assert pane.model.line_number(pane.cursor) == number
        assert pane.cursor - pane.top == offset


async def test_pause_holds_everything_still_and_counts_what_comes() -> None:
    async with streaming(*agent_run("cmd-1", NOON)) as (stream, pilot):
        pane = stream.pane
        await pilot.press("p")
        before = lines(pilot.app)
        stream.time.at += 12
        stream.feed(*finished_run("cmd-2", NOON + 3), progress("step-success", at=NOON + 3, id="wait"))
        pane.tick()
        pane.content_changed()
        await drained(pilot)
        assert lines(pilot.app) == before
        assert pane.counts.behind == 1
        await pilot.press("p")
        assert stream.commands == ["cmd-1", "cmd-2"]
        assert not pane.model.paused_at


async def test_what_is_paused_can_be_unfolded() -> None:
    async with streaming(*agent_run("cmd-1", NOON)) as (stream, pilot):
        await pilot.press("p")
        stream.feed(progress("step-success", at=NOON + 3, id="wait"), *finished_run("cmd-2", NOON + 4))
        await pilot.press("space")
        assert stream.pane.row_count() == 1 + len(agent_run("cmd-1", NOON))
        await pilot.press("p")
        assert stream.pane.row_count() == 2 + len(agent_run("cmd-1", NOON)) + 1


async def test_a_paused_log_says_which_lines_have_gone() -> None:
    async with streaming(capacity=160) as (stream, pilot):
        stream.pane.set_view(StreamView.LOG)
        stream.write(log_lines(100))
        await pilot.press("p", "home")
        stream.write(log_lines(1_000, start=100))
        stream.pane.content_changed()
        await drained(pilot)
        assert "left the buffer" in lines(pilot.app)[0]
        assert stream.pane.counts.behind == 1_000
        assert stream.pane.item is None
        await pilot.press("f")
        assert stream.pane.model.line_number(stream.pane.cursor) == 1_099


# -- rows


async def test_an_execution_unfolds_into_its_lines_and_what_else_was_logged() -> None:
    async with streaming() as (stream, pilot):
        stream.feed(*agent_run("cmd-1", NOON))
        stream.write([command_line("cmd-1"), *log_lines(9, start=1), command_line("cmd-1", "success")])
        await pilot.press("space")
        drawn = lines(pilot.app)
        assert "cmd-1" in drawn[0]
        assert "waitForNode(text=Wi‑Fi) 2/5 in 1.0 s" in drawn[8]
        assert "9 other log lines" in drawn[9]
        assert stream.pane.row_count() == 10
        await pilot.press("h")
        assert stream.pane.row_count() == 1
        await pilot.press("l")
        assert stream.pane.row_count() == 10


async def test_enter_on_the_other_lines_shows_them() -> None:
    async with streaming() as (stream, pilot):
        stream.write(log_lines(50))
        stream.feed(*agent_run("cmd-1", NOON))
        stream.write([command_line("cmd-1"), *log_lines(9, start=1), command_line("cmd-1", "success")])
        await pilot.press("space", "end", "enter")
        assert stream.pane.model.view is StreamView.LOG
        assert stream.pane.model.line_number(stream.pane.cursor) == 50


async def test_enter_on_a_snapshot_wants_its_tree_and_elsewhere_the_detail() -> None:
    stream = Stream()
    app = StreamHolder(stream.pane, clock=stream.time.clock)
    async with app.run_test(size=(100, 20)) as pilot:
        stream.pane.focus()
        stream.pane.show(stream.log, stream.ring)
        stream.feed(
            *agent_run("cmd-1", NOON),
            SnapshotSeen(device_id=SERIAL, command_id="cmd-1", step_id="snap", xml="<hierarchy/>", at=NOON + 2),
        )
        await pilot.press("space", "end", "enter")
        await pilot.press("home", "enter")
        await drained(pilot)
        assert [words for words in app.reported if words.startswith(("tree", "chosen"))] == [
            "tree cmd-1/snap",
            "chosen 0",
        ]


async def test_bad_news_are_rows_that_explain_themselves() -> None:
    async with streaming(size=(120, 20)) as (stream, pilot):
        stream.feed(LogGap(device_id=SERIAL, reason="device offline", at=NOON))
        stream.log.drop(900, NOON, SERIAL)
        stream.pane.news()
        await drained(pilot)
        drawn = "\n".join(lines(pilot.app))
        assert "gap: log interrupted, reconnecting: device offline" in drawn
        assert "dropped 900 messages (burst)" in drawn


async def test_rows_that_did_not_change_are_not_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async with streaming(*mixed_stream(NOON - 60)) as (stream, pilot):
        await pilot.press("k")
        drawn: list[int] = []
        row = stream.pane.row

        def counted(index: int, width: int) -> Row:
            drawn.append(index)
            return row(index, width)

        monkeypatch.setattr(stream.pane, "row", counted)
        stream.feed(*finished_run("new", NOON))
        await drained(pilot)
        assert set(drawn) <= {MIXED - 2, MIXED}, "the one that runs, and the new one"


# -- views


async def test_views_show_the_same_ring_at_the_same_place_in_time() -> None:
    async with streaming() as (stream, pilot):
        for run in range(20):
            stream.feed(*finished_run(f"cmd-{run}", NOON + run * 10))
            stream.write([command_line(f"cmd-{run}", at=NOON + run * 10), *log_lines(9, start=1 + run * 10)])
        stream.pane.move_to(7)
        await pilot.press("t", "t")
        assert stream.pane.model.view is StreamView.OPERATOR
        assert isinstance(stream.pane.item, LogEntry)
        assert "cmd-7 " in stream.pane.item.message
        await pilot.press("t")
        assert stream.pane.model.view.value == "device log"
        assert stream.pane.model.line_number(stream.pane.cursor) == 70
        await pilot.press("j", "j", "j", "t")
        assert stream.pane.model.view.value == "executions"
        assert stream.pane.execution is not None
        assert stream.pane.execution.command_id == "cmd-7"


async def test_following_survives_the_change_of_view() -> None:
    async with streaming(*mixed_stream(NOON)) as (stream, pilot):
        stream.write(log_lines(300))
        for _ in StreamView:
            await pilot.press("t")
            assert stream.pane.following
            assert stream.pane.cursor == stream.pane.row_count() - 1


async def test_the_envelopes_alone() -> None:
    async with streaming(*mixed_stream(NOON)) as (stream, pilot):
        await pilot.press("t")
        assert stream.commands == ["cmd-121", "cmd-122", "malformed", "cmd-123", "cmd-124"]


async def test_long_lines_move_sideways() -> None:
    async with streaming(size=(70, 5)) as (stream, pilot):
        stream.write([LogEntry.create("".join(f"{n:04}" for n in range(100)), tag="T", clock=int(NOON * 1e9))])
        stream.pane.set_view(StreamView.LOG)
        await pilot.press("l")
        await drained(pilot)
        assert "…000500060007" in lines(pilot.app)[0]
        await pilot.press("h", "h")
        await drained(pilot)
        assert "T: 00000001" in lines(pilot.app)[0]


# -- problems


async def test_the_next_problem_goes_round() -> None:
    async with streaming(*mixed_stream(NOON)) as (stream, pilot):
        pane = stream.pane
        pane.move_to(0)
        visited = []
        for _ in range(4):
            await pilot.press("]")
            visited.append(pane.cursor)
        assert visited == [1, 2, 3, 0]
        await pilot.press("[")
        assert pane.cursor == 3


async def test_in_the_log_errors_are_problems() -> None:
    async with streaming() as (stream, pilot):
        stream.write(log_lines(100))
        stream.pane.set_view(StreamView.LOG)
        stream.pane.move_to(50)
        await pilot.press("]")
        assert stream.ring[stream.pane.model.lines.numbers[stream.pane.cursor]].level == "E"
        assert stream.pane.cursor == 53
        await pilot.press("[")
        assert stream.pane.cursor == 48


# -- filters


async def test_filters_are_live_and_the_place_is_kept() -> None:
    async with streaming() as (stream, pilot):
        stream.write(log_lines(3_000))
        pane = stream.pane
        pane.set_view(StreamView.LOG)
        pane.move_to(1_234)
        pane.search("level:e")
        await until(pilot, lambda: pane.model.searched == 1)
        assert pane.model.line_number(pane.cursor) == 1_238
        assert {entry.level for entry in map(stream.ring.__getitem__, pane.model.lines.numbers)} == {"E"}
        stream.write(log_lines(10, start=3_000))
        assert pane.model.lines.numbers[-1] == 3_008
        pane.search("")
        assert pane.model.line_number(pane.cursor) == 1_238


async def test_a_million_lines_are_searched_in_slices_newest_first(monkeypatch: Any) -> None:
    monkeypatch.setattr("clawperator.widgets.envelope_log._SLICE_SECONDS", 0.0)
    async with streaming() as (stream, pilot):
        stream.write(log_lines(40_000))
        pane = stream.pane
        pane.set_view(StreamView.LOG)
        pane.search("9999:")
        assert 0 < pane.model.searched < 1, "the first slice is done at once, the rest later"
        assert stream.messages[-1].startswith("scan result 39999")
        await until(pilot, lambda: pane.model.searched == 1)
        assert [message.split(":")[0][-5:] for message in stream.messages] == [" 9999", "19999", "29999", "39999"]
        assert pane.following


async def test_a_filter_that_hides_everything_names_its_term() -> None:
    async with streaming(*mixed_stream(NOON)) as (stream, pilot):
        pane = stream.pane
        pane.search("openclaw status:skipped")
        assert pane.model.culprit == "status:skipped"
        stream.write(log_lines(10_000))
        pane.set_view(StreamView.LOG)
        pane.search("scan Zebra")
        await until(pilot, lambda: pane.model.culprit)
        assert pane.model.culprit == "Zebra"
        assert pane.counts == (0, 10_000, 0, 0)


async def test_only_this_command_and_again_all() -> None:
    async with streaming(*mixed_stream(NOON)) as (stream, pilot):
        stream.write([command_line("cmd-12"), command_line("cmd-123"), *log_lines(20)])
        stream.pane.move_to(1)
        await pilot.press("=")
        assert stream.commands == ["cmd-122"]
        await pilot.press("=")
        assert len(stream.commands) == MIXED
        stream.pane.set_view(StreamView.LOG)
        stream.pane.move_to(0)
        await pilot.press("=")
        assert stream.pane.model.only == "cmd-12"
        assert [message.split()[2] for message in stream.messages] == ["commandId=cmd-12"]
        stream.pane.clear()
        assert not stream.pane.model.only
        assert len(stream.messages) == 22


async def test_what_is_young_grows_old() -> None:
    async with streaming(*finished_run("cmd-1", NOON)) as (stream, _):
        stream.pane.search("age:<1m")
        assert stream.commands == ["cmd-1"]
        stream.time.at += 61
        stream.pane.tick()
        assert stream.commands == []
        stream.write(log_lines(10))
        stream.pane.set_view(StreamView.LOG)
        stream.pane.search("age:<2m")
        assert len(stream.messages) == 10
        stream.time.at += 100
        stream.pane.tick()
        assert stream.messages == []


async def test_the_screen_hears_of_every_change_of_state() -> None:
    stream = Stream()
    app = StreamHolder(stream.pane, clock=stream.time.clock)
    async with app.run_test(size=(100, 20)) as pilot:
        stream.pane.focus()
        stream.pane.show(stream.log, stream.ring)
        stream.feed(*mixed_stream(NOON))
        for key in ("k", "p", "p", "t", "f"):
            await drained(pilot)
            app.reported.clear()
            await pilot.press(key)
            await drained(pilot)
            assert "changed" in app.reported, key
