"""Mode 2: executions as they happen, what is wrong with the log of them, and the log itself."""

from __future__ import annotations

from typing import Any

import pytest

from clawperator.engine.events.types import EngineEvent, LogAttached, LogGap
from clawperator.engine.logcat.entry import LogEntry
from tests.app.console.support import (
    DEVICE,
    NOON,
    agent_run,
    finished_run,
    log_lines,
    make_app,
    make_envelope,
    settled,
    until,
)
from tests.looks.poses import AT_SIZES, PINNED, TWO_SIZES, Compare, Typed, at_rest, before, plain_engine
from tests.widgets.invented_runs import FOUR, SERIAL, dispatched, error, finished, seen, started, tree

pytestmark = PINNED
NEXT_PROBLEM = "right_square_bracket"


@AT_SIZES
def test_mixed(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = plain_engine()
    assert snap_compare(make_app(engine), terminal_size=size, run_before=before("2", *"kkk", engine=engine, busy=True))


@TWO_SIZES
def test_failed(snap_compare: Compare, size: tuple[int, int]) -> None:
    """From the list to the execution that failed, and into it."""
    engine = plain_engine()
    keys = ("2", "home", NEXT_PROBLEM, NEXT_PROBLEM, "enter")
    assert snap_compare(make_app(engine), terminal_size=size, run_before=before(*keys, engine=engine, busy=True))


@TWO_SIZES
def test_unfolded(snap_compare: Compare, size: tuple[int, int]) -> None:
    """The live lines of what failed, and of what runs."""
    engine = plain_engine()
    keys = ("2", "home", NEXT_PROBLEM, NEXT_PROBLEM, "space", "end", "k", "space")
    assert snap_compare(make_app(engine), terminal_size=size, run_before=before(*keys, engine=engine, busy=True))


def bad_news(at: float) -> list[EngineEvent]:
    """A result twice, one that cannot be read, one that came late, one of nobody here, and a log that broke off twice."""
    silence = error("RESULT_ENVELOPE_TIMEOUT", "No [Clawperator-Result] envelope within 35000ms")
    run = agent_run("cmd-1", at + 9, source="clawperator-console")
    cut = '[Clawperator-Result] {"commandId":"cmd-131","taskId":"morning-check","status":"suc'
    return [
        *(two := finished_run("cmd-130", at)),
        seen(at + 2.3, two[-1].envelope, "cmd-130"),  # type: ignore[attr-defined]  # the last one is the envelope
        seen(at + 5, None, "", problem="the JSON ends at byte 74", raw=cut),
        started(at + 9),
        dispatched(at + 9.1),
        *run,
        LogGap(device_id=SERIAL, reason="device offline", at=at + 12),
        LogAttached(device_id=SERIAL, at=at + 14.5),
        finished(at + 44, silence),
        seen(at + 52, make_envelope("cmd-1", FOUR)),
        seen(at + 56, make_envelope("cmd-elsewhere", FOUR[:1]), "cmd-elsewhere"),
        LogGap(device_id=SERIAL, reason="the adb server went away", at=at + 58),
    ]


@TWO_SIZES
def test_bad_news(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = plain_engine()
    app = make_app(engine)

    async def on_progress(pilot: Any) -> None:
        await settled(pilot)
        engine.now.at = NOON + 61  # type: ignore[attr-defined]  # the movable clock
        engine.publish(*bad_news(NOON + 1))
        await until(pilot, lambda: len(app.session.log.items) > 6)
        engine.log(log_lines(40), dropped=900)
        await until(pilot, lambda: app.session.dropped)
        await before("2", "home", NEXT_PROBLEM, NEXT_PROBLEM, "j")(pilot)

    assert snap_compare(app, terminal_size=size, run_before=on_progress)


@pytest.mark.ci
@pytest.mark.parametrize("key", ["j", "jj", "jjjj"], ids=["malformed", "late", "foreign"])
def test_bad_news_in_full(snap_compare: Compare, key: str) -> None:
    engine = plain_engine()
    app = make_app(engine)

    async def on_progress(pilot: Any) -> None:
        await settled(pilot)
        engine.now.at = NOON + 61  # type: ignore[attr-defined]  # the movable clock
        engine.publish(*bad_news(NOON + 1))
        await until(pilot, lambda: len(app.session.log.items) > 6)
        await before("2", "home", "j", *key, "enter")(pilot)

    assert snap_compare(app, terminal_size=(120, 36), run_before=on_progress)


@TWO_SIZES
def test_paused(snap_compare: Compare, size: tuple[int, int]) -> None:
    """Frozen, while two executions and some lines came in behind."""
    engine = plain_engine()
    app = make_app(engine)

    async def pause(pilot: Any) -> None:
        await before("2", "p", engine=engine, busy=True)(pilot)
        engine.now.at += 12  # type: ignore[attr-defined]  # the movable clock
        engine.publish(*finished_run("cmd-131", NOON + 35), *agent_run("cmd-132", NOON + 39))
        engine.log(log_lines(200, start=300))
        await until(pilot, lambda: app.session.lines.end == 500 and app.session.log.find("cmd-132"))
        await at_rest(pilot)

    assert snap_compare(app, terminal_size=size, run_before=pause)


@TWO_SIZES
def test_filter_hides_all(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = plain_engine()
    keys = ("2", "slash", Typed("status:skipped !malformed nothing"), "enter")
    assert snap_compare(make_app(engine), terminal_size=size, run_before=before(*keys, engine=engine, busy=True))


def test_filter_that_cannot_be_read(snap_compare: Compare) -> None:
    engine = plain_engine()
    run = before("2", "slash", Typed("statsu:failed"), engine=engine, busy=True)
    assert snap_compare(make_app(engine), terminal_size=(80, 24), run_before=run)


def test_nothing_yet(snap_compare: Compare) -> None:
    assert snap_compare(make_app(plain_engine()), terminal_size=(80, 24), run_before=before("2", "t", "t"))


@pytest.mark.ci
@pytest.mark.parametrize("tab", [1, 3, 4], ids=["trees", "payload", "phases"])
def test_detail_tabs(snap_compare: Compare, tab: int) -> None:
    """A run of this console, with everything that can be known of one."""
    engine = plain_engine()
    app = make_app(engine)

    async def look(pilot: Any) -> None:
        await settled(pilot)
        engine.now.at = NOON + 5  # type: ignore[attr-defined]  # the movable clock
        run = finished_run("cmd-1", NOON + 2, source="clawperator-console")
        phases = {"validate": 1.2, "device": 31.0, "lock": 0.4, "attach": 44.0, "dispatch": 61.0, "run": 1_900.0}
        took = tree(NOON + 3.9, "snap", 8_412)
        events = [
            started(NOON + 1.8),
            dispatched(NOON + 1.9),
            *run[:-1],
            took,
            run[-1],
            finished(NOON + 4.1, {}, **phases, finish=5.3),
        ]
        engine.publish(*events)
        await until(pilot, lambda: app.session.log.find("cmd-1") and app.session.log.find("cmd-1").phases)  # type: ignore[union-attr]  # found
        await before("2", "end", "enter", *"l" * tab)(pilot)

    assert snap_compare(app, terminal_size=(120, 36), run_before=look)


def device_log() -> list[LogEntry]:
    """Every level, some tags and processes, the Operator among them, a text that breaks lines, and one that is long."""
    reported = [
        ("ActivityManager", "I", 612, "Start proc 4312:com.clawperator.operator/u0a123 for service"),
        ("E", "D", 4312, "[Clawperator-Command] start commandId=cmd-125 taskId=morning-check source=openclaw"),
        ("WifiService", "V", 612, "scan result: 12 networks"),
        ("chatty", "I", 901, "uid=10123 identical 4 lines"),
        (
            "Choreographer",
            "W",
            2210,
            "Skipped 47 frames! The application may be doing too much work on its main thread.",
        ),
        (
            "AndroidRuntime",
            "E",
            2210,
            "java.lang.IllegalStateException: no view for id 0x7f0a01c2\n\tat com.android.settings.A",
        ),
        (
            "libc",
            "F",
            2210,
            "Fatal signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x0 in tid 2210 (ndroid.settings)",
        ),
        ("SettingsHome", "D", 2210, "onResume " + "lorem ipsum dolor sit amet " * 12),
        ("E", "D", 4312, "[Clawperator-Command] stage-retry commandId=cmd-125 id=waitForNode attempt=2/5 delayMs=1000"),
    ]
    return [
        LogEntry.create(
            text, tag=tag, level=level, pid=pid, tid=pid + 3, uid=10_123, clock=int((NOON + number / 8) * 1e9)
        )
        for number, (tag, level, pid, text) in enumerate(reported * 3)
    ]


@AT_SIZES
def test_device_log(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = plain_engine()
    app = make_app(engine)

    async def look(pilot: Any) -> None:
        await settled(pilot)
        engine.log(device_log(), device_id=DEVICE.serial)
        await until(pilot, lambda: app.session.lines.end == 27)
        await before("2", *"ttt", "k", "k")(pilot)

    assert snap_compare(app, terminal_size=size, run_before=look)


@pytest.mark.ci
def test_device_log_filtered(snap_compare: Compare) -> None:
    engine = plain_engine()
    app = make_app(engine)

    async def look(pilot: Any) -> None:
        await settled(pilot)
        engine.log(device_log(), device_id=DEVICE.serial)
        await until(pilot, lambda: app.session.lines.end == 27)
        await before("2", *"ttt", "slash", Typed("level:w !tag:chatty"), "enter")(pilot)

    assert snap_compare(app, terminal_size=(120, 36), run_before=look)
