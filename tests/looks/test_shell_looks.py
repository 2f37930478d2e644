"""What is around the modes: menus, palette, help, dialogs, and a console that may not act, has no room, or has failed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from clawperator.app.console.crash import CrashReports
from clawperator.app.console.palette.dialog import PaletteDialog
from clawperator.app.console.screens.menu import MenuDialog
from clawperator.widgets.execution_detail import ExecutionDetail
from tests.app.console.support import DEVICE, PHONE, SECOND, FakeEngine, make_app, until
from tests.looks.poses import PINNED, TWO_SIZES, Compare, Typed, at_rest, before, plain_engine, press
from tests.widgets.invented_runs import PAYLOAD

pytestmark = PINNED


@TWO_SIZES
def test_help(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=before("question_mark"))


@pytest.mark.ci
@pytest.mark.parametrize("mode", ["2", "4"], ids=["stream", "history"])
def test_help_of(snap_compare: Compare, mode: str) -> None:
    assert snap_compare(make_app(plain_engine()), terminal_size=(120, 36), run_before=before(mode, "question_mark"))


@pytest.mark.ci
def test_help_with_the_menus(snap_compare: Compare) -> None:
    """Its end, where the second keys of the prefix menus are."""
    run = before("question_mark", "end")
    assert snap_compare(make_app(plain_engine()), terminal_size=(120, 36), run_before=run)


def test_copy_menu(snap_compare: Compare) -> None:
    run = before("slash", Typed("blue"), "enter", "y")
    assert snap_compare(make_app(plain_engine()), terminal_size=(80, 24), run_before=run)


@pytest.mark.ci
@pytest.mark.parametrize("keys", ["2x", "2y", "3y", "3g"], ids=["export", "stream", "run", "go"])
def test_menu_of(snap_compare: Compare, keys: str) -> None:
    """The menus of the stream at an execution, and those of a draft."""
    engine = plain_engine()
    app = make_app(engine)

    async def pose(pilot: Any) -> None:
        await before(engine=engine, busy=True)(pilot)
        app.drafts.load(PAYLOAD)
        await press(pilot, keys[0])
        await press(pilot, keys[1])
        await until(pilot, lambda: isinstance(app.screen, MenuDialog))
        await at_rest(pilot)

    assert snap_compare(app, terminal_size=(80, 24), run_before=pose)


async def searched(pilot: Any, words: str) -> None:
    """The palette, and what it finds."""
    app = pilot.app
    await before("colon")(pilot)
    await until(pilot, lambda: isinstance(app.screen, PaletteDialog))
    await press(pilot, Typed(words))
    await at_rest(pilot)


@TWO_SIZES
@pytest.mark.parametrize("words", ["", "tap"], ids=["all", "found"])
def test_palette(snap_compare: Compare, size: tuple[int, int], words: str) -> None:
    async def pose(pilot: Any) -> None:
        await searched(pilot, words)

    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=pose)


@pytest.mark.ci
def test_device_picker(snap_compare: Compare) -> None:
    engine = FakeEngine(present=(DEVICE, SECOND, PHONE))
    assert snap_compare(make_app(engine), terminal_size=(120, 36), run_before=before(first_look=False))


def test_notices(snap_compare: Compare) -> None:
    engine = plain_engine()
    run = before("2", "y", "escape", "R", "4", "R", "exclamation_mark", engine=engine, busy=True)
    assert snap_compare(make_app(engine), terminal_size=(120, 36), run_before=run)


def test_leaving(snap_compare: Compare) -> None:
    assert snap_compare(make_app(plain_engine()), terminal_size=(80, 24), run_before=before("q"))


def test_too_small(snap_compare: Compare) -> None:
    assert snap_compare(make_app(plain_engine()), terminal_size=(58, 14), run_before=before())


@pytest.mark.ci
@pytest.mark.parametrize("keys", ["a", "3R"], ids=["inspect", "run"])
def test_read_only(snap_compare: Compare, keys: str) -> None:
    """What acts is dimmed, and says why when it is pressed."""
    app = make_app(plain_engine(), read_only=True)

    async def pose(pilot: Any) -> None:
        await before("i", "t", on="Bluetooth")(pilot)
        await until(pilot, lambda: len(app.drafts.draft))
        await press(pilot, *keys)

    assert snap_compare(app, terminal_size=(120, 36), run_before=pose)


def test_demo(snap_compare: Compare) -> None:
    assert snap_compare(make_app(plain_engine(), demo=True), terminal_size=(120, 36), run_before=before())


@TWO_SIZES
def test_a_pane_that_failed(snap_compare: Compare, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    """The others go on; the notice says where the report is."""
    written = CrashReports(Path("/home/you/.local/state/clawperator/console-crash.txt"), lambda: "noon")
    monkeypatch.setattr(Path, "mkdir", _no_disk)
    engine = plain_engine()
    app = make_app(engine, crashes=written)

    async def pose(pilot: Any) -> None:
        await before("2", *"kkk", engine=engine, busy=True)(pilot)
        monkeypatch.setattr(ExecutionDetail, "row", _broken)
        app.screen.query_one(ExecutionDetail).content_changed()
        await press(pilot, *(("enter",) if size[0] < 100 else ()))
        await until(pilot, lambda: app.session.last_problem is not None)
        await at_rest(pilot)

    assert snap_compare(app, terminal_size=size, run_before=pose)


def _broken(*_: object) -> None:
    raise RuntimeError


def _no_disk(*_: object, **__: object) -> None:
    raise OSError
