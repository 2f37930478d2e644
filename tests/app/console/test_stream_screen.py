"""Mode 2 as a whole: what the line above the rows says, the detail, the filter, the export."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from clawperator.app.console import export
from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.stream.screen import StreamScreen
from clawperator.engine.events.types import LogAttached, LogGap
from clawperator.engine.logcat.entry import LogEntry
from clawperator.widgets.envelope_log import EnvelopeLog
from clawperator.widgets.models.execution import ExecutionState, Mark
from clawperator.widgets.models.executions import WENT_AWAY
from clawperator.widgets.models.status import Status
from tests.app.console.support import (
    CHECKS_OK,
    DEVICE,
    NOON,
    SECOND,
    FakeEngine,
    MovableClock,
    agent_run,
    drained,
    finished_run,
    guard_without,
    log_lines,
    make_app,
    mixed_stream,
    settings_screen,
    settled,
    until,
)

SERIAL = DEVICE.serial


class Shown:
    """The console in mode 2, and what is on its screen."""

    def __init__(self, app: ConsoleApp, pilot: Pilot[Any], engine: FakeEngine, time: MovableClock) -> None:
        self.app, self.pilot, self.engine, self.time = app, pilot, engine, time

    @property
    def text(self) -> str:
        return "\n".join(drawn(self.app))

    @property
    def stream(self) -> EnvelopeLog:
        return self.app.screen_stack[0].query_one("#list", EnvelopeLog)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await drained(self.pilot)

    async def seen(self, words: str) -> None:
        await until(self.pilot, lambda: words in self.text)

    async def noticed(self, words: str) -> None:
        session = self.app.session
        await until(self.pilot, lambda: session.last_notice is not None and words in session.last_notice.text)

    def execution(self, command: str) -> ExecutionState:
        found = self.app.session.log.find(command)
        assert found is not None
        return found


def drawn(app: App[Any]) -> list[str]:
    return ["".join(segment.text for segment in line) for line in app.screen._compositor.render_strips()]


@asynccontextmanager
async def showing(size: tuple[int, int] = (120, 36)) -> AsyncIterator[Shown]:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK)
    time = MovableClock()
    app = make_app(engine, clock=time)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        app.action_mode("stream")
        await drained(pilot)
        yield Shown(app, pilot, engine, time)


def command_line(command: str, kind: str = "start") -> LogEntry:
    return LogEntry.create(
        f"[Clawperator-Command] {kind} commandId={command} taskId=t", tag="E", pid=4312, clock=int(NOON * 1e9)
    )


# -- the line above the rows


async def test_it_says_what_is_shown_hidden_paused_and_new() -> None:
    async with showing() as shown:
        shown.engine.publish(*mixed_stream(NOON - 60))
        await shown.seen("FOLLOW ●")
        await until(shown.pilot, lambda: "8 shown" in shown.text)
        await shown.press("slash", *"status:failed", "enter")
        assert "/ status:failed" in shown.text
        assert "2 shown · 6 hidden" in shown.text, "bad news is not hidden by what is said about executions"
        await shown.press("escape", "k")
        assert "SCROLLED" in shown.text
        shown.engine.publish(*finished_run("new", NOON))
        await shown.seen("+1 new ↓")
        await shown.press("p")
        shown.time.at += 12
        shown.engine.publish(*finished_run("newer", NOON))
        await shown.seen("PAUSED 12.0 s · 1 behind")
        await shown.press("f")
        await shown.seen("FOLLOW ●")


@pytest.mark.ci
async def test_a_term_that_hides_every_execution_is_named_though_bad_news_stay() -> None:
    async with showing() as shown:
        shown.engine.publish(*mixed_stream(NOON - 60))
        await shown.seen("malformed")
        await shown.press("slash", *"status:skipped", "enter")
        assert "status:skipped matches none" in shown.text
        await shown.press("slash", "end", *" nothing", "enter")
        assert "0 of 8 rows: status:skipped matches nothing." in shown.text
        await shown.press("escape")
        assert "8 shown" in shown.text


async def test_a_bad_filter_says_so_while_it_is_typed() -> None:
    async with showing() as shown:
        shown.engine.publish(*mixed_stream(NOON - 60))
        await shown.press("slash", *"re:/(a+)+/")
        assert "a repeat of what itself varies may never end" in shown.text
        await shown.press("escape", "slash", *"statsu:ok")
        assert "no key statsu: – is status: meant?" in shown.text


async def test_lines_are_searched_and_the_empty_pane_says_why() -> None:
    async with showing() as shown:
        shown.engine.log(log_lines(5_000))
        await shown.press("t", "t", "t")
        await until(shown.pilot, lambda: shown.stream.row_count() == 5_000)
        await shown.press("slash", *"zebra", "enter")
        await shown.seen("0 of 5,000 lines: zebra matches nothing.")
        await shown.press("escape")
        await shown.seen("5,000 shown")


async def test_nothing_from_the_operator_yet() -> None:
    async with showing() as shown:
        await shown.press("t", "t")
        assert "Nothing from the Operator yet." in shown.text
        shown.engine.log([entry for entry in log_lines(50) if entry.tag != "E"])
        await shown.seen("45 other log lines arrived – t shows them.")


async def test_only_this_command_is_said_and_lifted() -> None:
    async with showing() as shown:
        shown.engine.publish(*mixed_stream(NOON - 60))
        await shown.seen("cmd-123")
        await shown.press("home", "right_square_bracket", "right_square_bracket", "equals_sign")
        command = shown.stream.model.only
        assert command
        assert f"= {command}" in shown.text
        assert "1 shown · 7 hidden" in shown.text
        await shown.press("escape")
        assert "8 shown" in shown.text


# -- detail


async def test_at_80_columns_enter_opens_the_detail_and_escape_returns_to_the_same_row() -> None:
    async with showing((80, 24)) as shown:
        shown.engine.publish(*mixed_stream(NOON - 60))
        await shown.seen("not found")
        await shown.press("home", "right_square_bracket", "right_square_bracket")
        place = shown.stream.cursor
        await shown.press("enter")
        await shown.seen("No UI node found")
        assert not shown.stream.display or not shown.stream.region.height
        await shown.press("escape")
        assert shown.app.focused is shown.stream
        assert shown.stream.cursor == place


async def test_the_raw_tab_has_the_lines_of_the_ring() -> None:
    async with showing((120, 36)) as shown:
        shown.engine.publish(*agent_run("cmd-1", NOON))
        shown.engine.log([command_line("cmd-1"), *log_lines(9, start=1), command_line("cmd-1", "stage-start")])
        await shown.seen("cmd-1")
        await shown.press("enter", "h")
        await shown.seen("2 log lines in order of arrival")
        assert "stage-start commandId=cmd-1" in shown.text


# -- rows that end truthfully


async def test_a_device_that_vanishes_ends_what_ran_on_it() -> None:
    async with showing() as shown:
        shown.engine.publish(*agent_run("cmd-1", NOON))
        await shown.seen("2/4")
        shown.engine.show_devices(SECOND)
        await shown.seen(WENT_AWAY[:30])
        execution = shown.execution("cmd-1")
        assert execution.status is Status.UNKNOWN
        shown.engine.show_devices(DEVICE, SECOND)
        shown.engine.publish(*finished_run("cmd-1", NOON + 9)[-1:])
        await until(shown.pilot, lambda: execution.status is Status.OK)


async def test_a_foreign_run_that_never_answers_is_given_up_in_its_time() -> None:
    async with showing() as shown:
        shown.engine.publish(*agent_run("cmd-1", NOON))
        await shown.seen("2/4")
        shown.time.at = NOON + 36
        shown.app._second()
        await shown.seen("no result within 30.0 s plus 5 s")


async def test_a_gap_says_how_much_time_was_lost() -> None:
    async with showing() as shown:
        shown.engine.publish(LogGap(device_id=SERIAL, reason="device offline", at=NOON))
        await shown.seen("log interrupted, reconnecting: device offline")
        shown.engine.publish(LogAttached(device_id=SERIAL, at=NOON + 2.5))
        await shown.seen("gap: 2.5 s of the log are missing")


async def test_lines_that_were_lost_have_a_row_and_a_count() -> None:
    async with showing() as shown:
        shown.engine.log(log_lines(1), dropped=900)
        await shown.seen("900 dropped")
        mark = shown.app.session.log.items[-1]
        assert isinstance(mark, Mark)
        assert (mark.kind, mark.count) == ("dropped", 900)


async def test_an_execution_can_be_gone_to_from_anywhere() -> None:
    async with showing() as shown:
        shown.engine.publish(*mixed_stream(NOON - 60))
        await shown.seen("cmd-124")
        await shown.press("slash", *"status:failed", "enter", "t", "t")
        screen = shown.app.screen
        assert isinstance(screen, StreamScreen)
        screen.to_execution("cmd-124")
        assert shown.stream.execution is shown.execution("cmd-124")


# -- export


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(export, "export_folder", lambda: tmp_path / "exports")
    return tmp_path / "exports"


def read(path: Path) -> list[dict[str, Any]]:
    assert path.stat().st_mode & 0o777 == 0o600
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


async def exported(shown: Shown, folder: Path, key: str) -> list[dict[str, Any]]:
    """Write by this second key; what is in the file that the strip names and the clipboard has."""
    await shown.press("x")
    await shown.press(key)
    await until(shown.pilot, lambda: shown.app.system_clipboard.texts)  # type: ignore[attr-defined]  # the fake one
    path = Path(shown.app.system_clipboard.texts[-1])  # type: ignore[attr-defined]
    assert path.parent == folder
    await shown.seen("and copied the path")
    return read(path)


async def test_what_is_shown_is_exported_as_the_filter_leaves_it(folder: Path) -> None:
    async with showing((200, 60)) as shown:
        shown.engine.publish(*mixed_stream(NOON - 60))
        await shown.seen("cmd-124")
        await shown.press("slash", *"src:skill", "enter")
        rows = await exported(shown, folder, "s")
        assert [row["commandId"] or row["kind"] for row in rows] == ["malformed", "cmd-123", "cmd-124"]


@pytest.mark.ci
async def test_lines_the_ring_or_one_execution_are_exported(folder: Path) -> None:
    async with showing((200, 60)) as shown:
        shown.engine.publish(*agent_run("cmd-1", NOON))
        shown.engine.log([command_line("cmd-1"), *log_lines(99, start=1)])
        await until(shown.pilot, lambda: shown.app.session.lines.end == 100)
        rows = await exported(shown, folder, "e")
        assert [row["kind"] for row in rows] == ["execution", "line"]
        await shown.press("t", "t", "t", "slash", *"level:e", "enter")
        assert len(await exported(shown, folder, "r")) == 100
        await shown.press("x", "s")
        await until(shown.pilot, lambda: len(list(folder.iterdir())) == 3)


@pytest.mark.ci
async def test_an_export_goes_where_it_is_reported_and_overwrites_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with showing() as shown:
        shown.engine.publish(*finished_run("cmd-1", NOON))
        await shown.seen("cmd-1")
        target = tmp_path / "mine.jsonl"
        for words in ("Wrote 2 rows", "exists. Nothing was written"):
            await shown.press("x", "f")
            await shown.press("ctrl+u")
            await shown.press(*target.name, "enter")
            await shown.noticed(words)
        assert len(read(target)) == 2


async def test_an_export_that_the_policy_denies_says_why(folder: Path, tmp_path: Path) -> None:
    async with showing() as shown:
        setattr(shown.engine, "guard", guard_without("write_files", tmp_path))  # noqa: B010  # no other test needs one
        shown.engine.publish(*finished_run("cmd-1", NOON))
        await shown.seen("cmd-1")
        await shown.press("x", "s")
        await shown.noticed("write_files")
        notice = shown.app.session.last_notice
        assert notice is not None
        assert (notice.status, notice.code) == (Status.FAILED, "CAPABILITY_DENIED")
    assert not list(tmp_path.rglob("*.jsonl"))  # noqa: ASYNC240
