"""Mode 4 over a real history of invented runs."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.events.bus import EventBus
from clawperator.engine.history.records import RunRecord
from clawperator.engine.history.store import History
from clawperator.engine.history.worker import HistoryWorker
from tests.app.console.support import CHECKS_OK, NOON, ROWS, FakeEngine, make_app, settings_screen, until
from tests.looks.poses import AT_SIZES, PINNED, TWO_SIZES, Compare, Typed, at_rest, before, press
from tests.past_runs import a_run, a_summary, failed, put

pytestmark = PINNED
FIRST, SECOND = settings_screen(), settings_screen((("Network & internet", "Flight mode", False), *ROWS[1:4]))


def some_runs(path: Path) -> None:
    """Ten runs of three tasks by several faces: well, failed, interrupted, and of others; the newest with trees."""
    killed = a_summary(
        3, at=NOON - 7_200, status="interrupted", code="INTERRUPTED", ended_at=math.nan, duration_ms=math.nan
    )
    with History.open(str(path)) as history:
        put(history, a_run(1, at=NOON - 200_000))
        put(history, failed(a_run(2, at=NOON - 90_000, trees=(FIRST,))))
        put(history, (RunRecord(killed, payload=a_run(3)[0].payload), {}))
        put(history, a_run(4, at=NOON - 3_600, task_id="thermostat", source="skill-runner", face="http"))
        put(history, a_run(5, at=NOON - 3_000, face="", origin="seen", pid=0))
        put(history, a_run(6, at=NOON - 1_200, face="console", source="clawperator-console", trees=(FIRST,)))
        put(history, failed(a_run(7, at=NOON - 600, trees=(SECOND,))))
        put(history, a_run(8, at=NOON - 300, trees=(FIRST, SECOND, FIRST)))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[FakeEngine]:
    """An engine with some runs behind it."""
    path = tmp_path / "history.db"
    some_runs(path)
    room = HistoryWorker(str(path), EventBus())
    yield FakeEngine(screen=settings_screen(), checks=CHECKS_OK, history=room)
    room.close()


@AT_SIZES
def test_list(snap_compare: Compare, engine: FakeEngine, size: tuple[int, int]) -> None:
    assert snap_compare(make_app(engine), terminal_size=size, run_before=before("4", "j"))


def test_run(snap_compare: Compare, engine: FakeEngine) -> None:
    assert snap_compare(make_app(engine), terminal_size=(80, 24), run_before=before("4", "j", "enter"))


@TWO_SIZES
def test_moments(snap_compare: Compare, engine: FakeEngine, size: tuple[int, int]) -> None:
    """In the middle of a run: a tree that differs from the one before."""

    async def scrub(pilot: Any) -> None:
        await before("4", "enter", "less_than_sign")(pilot)
        scrubber = pilot.app.screen.scrubber
        place = next(at for at, moment in enumerate(scrubber.moments) if moment.what == "tree" and moment.tree == 1)
        await press(pilot, *["full_stop"] * place)
        await until(pilot, lambda: pilot.app.screen.tree_pane.model.compared is not None)
        await at_rest(pilot)

    assert snap_compare(make_app(engine), terminal_size=size, run_before=scrub)


@AT_SIZES
def test_compare(snap_compare: Compare, engine: FakeEngine, size: tuple[int, int]) -> None:
    """A run that failed with the one after it."""
    run = before("4", "j", "space", "k", "space", "c")
    assert snap_compare(make_app(engine), terminal_size=size, run_before=run)


@pytest.mark.ci
@pytest.mark.parametrize("key", ["y", "g"], ids=["copy", "go"])
def test_menu(snap_compare: Compare, engine: FakeEngine, key: str) -> None:
    async def pose(pilot: Any) -> None:
        await before("4", "j")(pilot)
        await press(pilot, key)

    assert snap_compare(make_app(engine), terminal_size=(80, 24), run_before=pose)


@pytest.mark.ci
def test_marked(snap_compare: Compare, engine: FakeEngine) -> None:
    run = before("4", "j", "space", "j", "space", "slash", Typed("task:morning"), "enter")
    assert snap_compare(make_app(engine), terminal_size=(80, 24), run_before=run)


@pytest.mark.ci
def test_interrupted(snap_compare: Compare, engine: FakeEngine) -> None:
    """Of which little is known."""
    run = before("4", *"j" * 5, "enter")
    assert snap_compare(make_app(engine), terminal_size=(120, 36), run_before=run)


def test_filter_hides_all(snap_compare: Compare, engine: FakeEngine) -> None:
    run = before("4", "slash", Typed("status:failed nothere"), "enter")
    assert snap_compare(make_app(engine), terminal_size=(80, 24), run_before=run)


def test_empty(snap_compare: Compare, tmp_path: Path) -> None:
    History.open(str(tmp_path / "history.db")).close()
    room = HistoryWorker(str(tmp_path / "history.db"), EventBus())
    app = make_app(FakeEngine(screen=settings_screen(), checks=CHECKS_OK, history=room))
    assert snap_compare(app, terminal_size=(120, 36), run_before=before("4"))
    room.close()


def test_off(snap_compare: Compare) -> None:
    app = make_app(FakeEngine(screen=settings_screen(), checks=CHECKS_OK))
    assert snap_compare(app, terminal_size=(80, 24), run_before=before("4"))


@pytest.mark.ci
def test_saved_dumps_have_none(snap_compare: Compare, tmp_path: Path) -> None:
    app = make_app(FakeEngine(present=()), files=[str(tmp_path / "none.xml")])

    async def look(pilot: Any) -> None:
        await pilot.press("4")
        await at_rest(pilot)

    assert snap_compare(app, terminal_size=(80, 24), run_before=look)
