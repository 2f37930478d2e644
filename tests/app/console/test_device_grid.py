"""All devices at once: what a tile says of each state of a device, how keys and mouse move, and that nothing is read unasked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from PIL import Image
from textual.pilot import Pilot

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.devices.grid import GridDialog, last_runs
from clawperator.app.console.messages import PictureUpdate
from clawperator.engine.config.device_profile import DeviceProfile
from clawperator.engine.config.settings import Settings
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.types import EnvelopeSeen, ExecutionStarted, SnapshotSeen
from clawperator.engine.history.records import RunSummary
from clawperator.widgets.device_grid import DeviceGrid
from clawperator.widgets.format.tiles import MIN_HEIGHT, MIN_WIDTH, grid_layout
from clawperator.widgets.models.execution import ExecutionState, StepState
from clawperator.widgets.models.status import Status
from clawperator.widgets.picture_view import Picture
from tests.app.console.support import (
    CHECKS_OK,
    DEVICE,
    NOON,
    PHONE,
    SECOND,
    FakeEngine,
    MovableClock,
    drained,
    make_app,
    make_envelope,
    settings_screen,
    settled,
    until,
)
from tests.app.console.test_console_journeys import text_of

THIRD = SECOND._replace(serial="R58M12ABCDE", model="SM_A525F", transport_id=9)
LOST = SECOND._replace(serial="10.0.0.7:5555", model="Pixel_Tablet", transport_id=8)
LOCK = {"deviceId": SECOND.serial, "commandId": "nightly-17", "since": NOON, "timeoutMs": 30_000, "source": "nightly"}
CLICK = {"id": "s1", "type": "click", "params": {"matcher": {"textEquals": "Wi-Fi"}}}


def lab(clock: MovableClock | None = None, **more: Any) -> tuple[ConsoleApp, FakeEngine]:
    """A console whose settings call one of four devices the kitchen tablet."""
    engine = FakeEngine(
        screen=settings_screen(), checks=CHECKS_OK, present=(DEVICE, SECOND, THIRD, PHONE, LOST), **more
    )
    engine.settings = replace(  # type: ignore[attr-defined]  # a local engine has them
        Settings.resolve({}, {}), devices={"kitchen-tablet": DeviceProfile(THIRD.serial)}
    )
    return make_app(engine, clock=clock, wanted_device=DEVICE.serial), engine


async def fill(pilot: Any, clock: MovableClock) -> None:
    """The selected device was read; another is busy, one failed a click a minute ago, one has left."""
    app, engine = pilot.app, pilot.app.engine
    await settled(pilot)
    engine.taken = [LOCK]
    payload = {"commandId": "job-3", "actions": [CLICK]}
    told: dict[str, Any] = {"device_id": THIRD.serial, "command_id": "job-3"}
    failed = make_envelope("job-3", [("s1", "click", False, {"error": "NODE_NOT_FOUND", "message": "no node"})])
    engine.publish(
        ExecutionStarted(
            **told,
            execution_id="job-3",
            task_id="t",
            source="nightly",
            timeout_ms=9_000,
            action_count=1,
            payload=payload,
            at=NOON,
        ),
        SnapshotSeen(**told, step_id="s0", xml=settings_screen(), at=NOON),
        EnvelopeSeen(**told, envelope=failed, raw="{}", at=NOON + 1),
    )
    await until(pilot, lambda: app.session.trees_of(THIRD.serial).newest)
    clock.at = NOON + 70
    engine.show_devices(DEVICE, SECOND, THIRD, PHONE)
    await until(pilot, lambda: app.session.left and app.session.locks)
    clock.at = NOON + 95


@asynccontextmanager
async def grid(
    size: tuple[int, int] = (120, 36),
) -> AsyncIterator[tuple[ConsoleApp, Pilot[int], FakeEngine, DeviceGrid]]:
    clock = MovableClock()
    app, engine = lab(clock)
    async with app.run_test(size=size) as pilot:
        await fill(pilot, clock)
        await pilot.press("7")
        await until(pilot, lambda: app.session.machines.known)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, GridDialog) and len(app.screen.grid.tiles) == 5)
        await drained(pilot)
        assert isinstance(app.screen, GridDialog)
        yield app, pilot, engine, app.screen.grid


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 60)])
async def test_each_device_says_what_is_known_of_it_and_how_old_that_is(size: tuple[int, int]) -> None:
    async with grid(size) as (_, _, engine, shown):
        engine.calls.clear()
        assert shown.arrangement.rows == (size[0] < 100)
        chosen, busy, failed, locked, lost = shown.tiles
        assert (chosen.serial, chosen.chosen, chosen.state, chosen.seen) == (
            DEVICE.serial,
            True,
            "",
            "screen 1 min ago",
        )
        assert (busy.status, busy.state, busy.advice, busy.seen) == (
            Status.RUNNING,
            "busy",
            "nightly-17",
            "screen not read",
        )
        assert (failed.name, failed.snapshot.package) == ("kitchen-tablet", "com.android.settings")
        assert failed.run is not None
        assert (failed.run.action, failed.run.result, failed.ran) == ('click "Wi-Fi"', "not found", "1 min ago")
        assert (locked.state, locked.advice) == ("unauthorized", "confirm the dialog on the phone")
        assert (lost.serial, lost.status, lost.state, lost.advice) == (
            LOST.serial,
            Status.WARN,
            "disconnected",
            "25 s ago",
        )
        assert not any(call.startswith(("snapshot", "picture")) for call in engine.calls)
        text = text_of(shown.app)  # type: ignore[arg-type]
        for words in ("kitchen-tablet", "nightly-17", 'click "Wi-Fi"', "unauthorized", "disconnected", "5 devices"):
            assert words in text
        assert "3 usable   1 busy   2 not usable" in text
        if not shown.arrangement.rows:
            assert text.count("┏") == 2  # the dialog, and the tile of the cursor
            assert "Mobi" in text  # the map of a tree that is known


async def test_keys_move_and_enter_goes_to_the_device() -> None:
    async with grid() as (app, pilot, _, shown):
        columns = shown.arrangement.columns
        for key, place in (
            ("l", 1),
            ("h", 0),
            ("h", 0),
            ("j", columns),
            ("k", 0),
            ("k", 0),
            ("G", 4),
            ("home", 0),
            ("right", 1),
        ):
            await pilot.press(key)
            assert shown.cursor == place, key
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "inspect" and not isinstance(app.screen, GridDialog))
        assert app.session.device_id == SECOND.serial


@pytest.mark.ci
async def test_a_device_that_cannot_be_used_is_shown_in_mode_7_and_a_lost_one_stays_lost() -> None:
    async with grid() as (app, pilot, _, shown):
        await pilot.press("end", "left", "enter")
        await until(pilot, lambda: "Allow USB debugging?" in text_of(app))
        assert (app.current_mode, app.session.device_id) == ("devices", DEVICE.serial)
        await pilot.press("t")
        await until(pilot, lambda: isinstance(app.screen, GridDialog) and len(app.screen.grid.tiles) == 5)
        await pilot.press("end", "enter")
        await until(pilot, lambda: app.session.last_notice is not None)
        assert app.session.last_notice is not None
        assert app.session.last_notice.text == "10.0.0.7:5555 is disconnected"
        assert not shown.is_attached


async def test_a_lost_device_comes_back() -> None:
    async with grid() as (app, pilot, engine, shown):
        engine.show_devices(DEVICE, SECOND, THIRD, PHONE, LOST)
        await until(pilot, lambda: not app.session.left)
        await until(pilot, lambda: shown.tiles[4].state == "")
        engine.show_devices()
        await until(pilot, lambda: [tile.state for tile in shown.tiles] == ["disconnected"] * 5)


async def test_r_reads_the_focused_device_once_and_says_why_it_could_not() -> None:
    async with grid() as (app, pilot, engine, shown):
        engine.calls.clear()
        engine.hold_snapshot = asyncio.Event()
        await pilot.press("l", "l", "r", "r")
        await until(pilot, lambda: shown.tiles[2].state == "reading the screen…")
        engine.hold_snapshot.set()
        await until(pilot, lambda: shown.tiles[2].seen == "screen now" and shown.tiles[2].state == "")
        assert engine.calls == [f"snapshot {THIRD.serial}"]
        assert app.session.device_id == DEVICE.serial
        engine.snapshot_error = EngineError(
            ErrorCode.DEVICE_SHELL_UNAVAILABLE, "The shell of the device does not respond"
        )
        await pilot.press("r")
        await until(pilot, lambda: shown.tiles[2].problem == "The shell of the device does not respond")
        await until(pilot, lambda: "The shell" in text_of(app))
        await pilot.press("l", "r")  # an unauthorized device is not asked
        await drained(pilot)
        assert len(engine.calls) == 2


@pytest.mark.ci
async def test_the_search_leaves_matching_devices_and_escape_shows_all_again() -> None:
    async with grid() as (app, pilot, _, shown):
        await pilot.press("slash", *"KITCHEN", "enter")
        await until(pilot, lambda: [tile.name for tile in shown.tiles] == ["kitchen-tablet"])
        assert app.screen.focused is shown
        await until(pilot, lambda: "1 of 5 with KITCHEN" in text_of(app))
        await pilot.press("slash", "end", "x")
        await until(pilot, lambda: "No device matches. esc shows all" in text_of(app))
        await pilot.press("enter", "escape")
        await until(pilot, lambda: len(shown.tiles) == 5)
        await pilot.press("escape")
        await until(pilot, lambda: not isinstance(app.screen, GridDialog))
        assert app.current_mode == "devices"


@pytest.mark.ci
async def test_a_click_moves_a_double_click_goes_and_the_wheel_scrolls() -> None:
    async with grid((120, 36)) as (app, pilot, engine, shown):
        layout = shown.arrangement
        await pilot.click("#grid", offset=(layout.width + 3, layout.height + 2))
        assert shown.cursor == layout.columns + 1
        many = tuple(SECOND._replace(serial=f"device-{number:02}") for number in range(30))
        engine.show_devices(DEVICE, *many)
        await until(pilot, lambda: len(shown.tiles) > 30)
        await pilot.press("home")
        assert (shown.top, shown.arrangement.height) == (0, MIN_HEIGHT + 1)  # three rows of tiles fill the height
        await until(pilot, lambda: f"{shown.on_screen} of {len(shown.tiles)} on screen" in text_of(app))
        shown.post_message(_wheel(shown))
        await until(pilot, lambda: shown.top == 1)
        await pilot.press("end")
        assert shown.top > 1
        await pilot.press("home")
        await pilot.click("#grid", offset=(shown.arrangement.width + 3, 2), times=2)
        await until(pilot, lambda: app.session.device_id == "device-00")


class Recorded:
    """The history, with the runs of another program."""

    def __init__(self, *runs: RunSummary) -> None:
        self.kept = list(runs)

    async def runs(self, *_: Any, **__: Any) -> list[RunSummary]:
        return self.kept


@pytest.mark.ci
async def test_what_other_programs_recorded_is_shown_and_makes_the_screen_out_of_date() -> None:
    async with grid() as (app, pilot, engine, shown):
        outcome = {"steps": [{"type": "click", "status": "ok"}]}
        run = RunSummary("x", "b", device_id=DEVICE.serial, status="success", outcome=outcome, action='click "OK"')
        run = run._replace(started_at=NOON + 80, ended_at=NOON + 81, duration_ms=900.0, action_count=1)
        engine.history = Recorded(run)
        assert (shown.tiles[0].stale, shown.tiles[1].state) == ("", "busy")
        engine.taken = []  # an execution ends: the history is read again
        await until(pilot, lambda: shown.tiles[1].state == "" and shown.tiles[0].stale == "an execution ran since")
        assert shown.tiles[0].run is not None
        assert (shown.tiles[0].run.action, shown.tiles[0].ran) == ('click "OK"', "15 s ago")
        await until(pilot, lambda: "1 min ago: an execution" in text_of(app))


async def test_the_picture_of_a_device_is_shown_until_its_tree_is_newer() -> None:
    async with grid() as (app, pilot, engine, shown):
        image = Image.new("RGB", (90, 200), (200, 40, 40))
        picture = Picture(DEVICE.serial, engine.now(), (1080, 2400), image, digest=b"one")
        app.post_message(PictureUpdate(picture))
        await until(pilot, lambda: text_of(app).count("▀" * 7) > 9)
        assert text_of(app).count("Mobi") == 1  # the other tile keeps its map
        engine.now.at += 5  # type: ignore[attr-defined]  # the movable clock
        await pilot.press("r")
        await until(pilot, lambda: shown.tiles[0].seen == "screen now" and "▀" not in text_of(app))


@pytest.mark.ci
async def test_every_device_keeps_its_picture_and_the_tile_says_how_old_it_is() -> None:
    async with grid((200, 60)) as (app, pilot, engine, shown):
        for serial, colour in ((DEVICE.serial, (200, 40, 40)), (SECOND.serial, (40, 200, 40))):
            image = Image.new("RGB", (576, 1_280), colour)
            picture = Picture(serial, engine.now(), (1080, 2400), image, digest=serial.encode())
            app.post_message(PictureUpdate(picture))
        await until(pilot, lambda: len(app.session.pictures) == 2)
        app.post_message(PictureUpdate(Picture(SECOND.serial, engine.now(), problem="the device sent no picture")))
        await until(pilot, lambda: app.session.picture and app.session.picture.problem)
        await until(pilot, lambda: {(200, 40, 40), (40, 200, 40)} <= _colours(shown))
        assert [shown.tiles[0].seen, shown.tiles[1].seen] == ["screen now"] * 2
        small = app.session.pictures[SECOND.serial].image
        assert small is not None
        assert max(small.size) <= 320


def _colours(shown: DeviceGrid) -> set[tuple[int, ...]]:
    """The upper colours of half blocks in the grid."""
    strips = [shown.render_line(row) for row in range(shown.size.height)]
    styles = [segment.style for strip in strips for segment in strip if "▀" in segment.text and segment.style]
    return {tuple(style.color.triplet) for style in styles if style.color and style.color.triplet}


def _wheel(widget: DeviceGrid) -> Any:
    from textual.events import MouseScrollDown

    return MouseScrollDown(widget, 1, 1, 0, 1, 0, False, False, False)


@pytest.mark.ci
async def test_the_palette_opens_it_in_every_mode_by_other_tools_words() -> None:
    app, _ = lab()
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        for words in ("grid", "tiles", "overview", "all devices"):
            assert app.palette.search().find(words)[0].entry.name == "Devices: grid  (7 t)", words
        await pilot.press("colon", *"tiles", "enter")
        await until(pilot, lambda: isinstance(app.screen, GridDialog) and app.screen.grid.tiles)


async def test_without_devices_it_says_what_to_do() -> None:
    app = make_app(FakeEngine(present=()))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.session.devices_known)
        await pilot.press("7", "t")
        await until(pilot, lambda: "No device connected." in text_of(app))
        assert "0 devices" in text_of(app)


def test_the_last_run_is_the_newest_that_acted_live_or_recorded() -> None:
    live = ExecutionState("a", "d1", 1, NOON, status=Status.OK, steps=[StepState("s", "snapshot_ui", Status.OK)])
    old = RunSummary("x", "b", device_id="d1", status="failed", started_at=NOON - 60)
    older = RunSummary("y", "c", device_id="d1", status="failed", started_at=NOON - 90)
    alone = replace(live, device_id="d2")
    assert last_runs([old, older, live, alone]) == {"d1": old, "d2": alone}


@pytest.mark.parametrize("count", [0, 1, 2, 4, 9, 30])
@pytest.mark.parametrize("size", [(60, 16), (90, 9), (116, 32), (196, 56), (400, 100)])
def test_the_layout_fits_and_shows_all_where_it_can(size: tuple[int, int], count: int) -> None:
    layout = grid_layout(count, *size)
    assert layout.columns * layout.width <= size[0]
    assert layout.height <= size[1]
    if not layout.rows:
        assert layout.width >= MIN_WIDTH
        assert layout.height >= MIN_HEIGHT
    if count <= 4 and size == (116, 32):
        assert -(-count // layout.columns) * layout.height <= size[1]
