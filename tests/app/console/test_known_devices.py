"""Mode 7: what the list says of each state of a device, what it knows of runs and screens, and that nothing is read unasked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from textual.pilot import Pilot

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.devices.known import last_runs
from clawperator.engine.config.device_profile import DeviceProfile
from clawperator.engine.config.settings import Settings
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.types import EnvelopeSeen, ExecutionStarted, SnapshotSeen
from clawperator.engine.history.records import RunSummary
from clawperator.widgets.emulator_list import EmulatorList
from clawperator.widgets.models.execution import ExecutionState, StepState
from clawperator.widgets.models.status import Status
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
from tests.support import varied

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
    common: dict[str, Any] = {"device_id": THIRD.serial, "command_id": "job-3"}
    failed = make_envelope("job-3", [("s1", "click", False, {"error": "NODE_NOT_FOUND", "message": "no node"})])
    engine.publish(
        ExecutionStarted(
            **common,
            execution_id="job-3",
            task_id="t",
            source="nightly",
            timeout_ms=9_000,
            action_count=1,
            payload=payload,
            at=NOON,
        ),
        SnapshotSeen(**common, step_id="s0", xml=settings_screen(), at=NOON),
        EnvelopeSeen(**common, envelope=failed, raw="{}", at=NOON + 1),
    )
    await until(pilot, lambda: app.session.trees_of(THIRD.serial).newest)
    clock.at = NOON + 70
    engine.show_devices(DEVICE, SECOND, THIRD, PHONE)
    await until(pilot, lambda: app.session.left and app.session.locks)
    clock.at = NOON + 95


@asynccontextmanager
async def listed(size: tuple[int, int] = (120, 36)) -> AsyncIterator[tuple[ConsoleApp, Pilot[int], FakeEngine]]:
    clock = MovableClock()
    app, engine = lab(clock)
    async with app.run_test(size=size) as pilot:
        await fill(pilot, clock)
        await pilot.press("7")
        await until(pilot, lambda: app.session.machines.known and len(pane_of(app).devices) == 5)
        await drained(pilot)
        yield app, pilot, engine


def pane_of(app: ConsoleApp) -> EmulatorList:
    return app.screen.query_one("#list", EmulatorList)


def line_of(app: ConsoleApp, index: int) -> str:
    """The row of a device, with single blanks."""
    pane = pane_of(app)
    row = pane.row(index, pane.body_width)
    return " ".join((row.left.plain + (row.right.plain if row.right else "")).split())


@varied("size", [(80, 24), (120, 36), (200, 60)])
async def test_each_device_says_what_is_known_of_it(size: tuple[int, int]) -> None:
    async with listed(size) as (app, _, engine):
        engine.calls.clear()
        chosen, busy, failed, locked, lost = (line_of(app, index) for index in range(5))
        assert chosen.startswith(f"● {DEVICE.serial} device ✓ snapshot_ui")
        assert chosen.endswith("in use")
        assert busy.startswith(f"● {SECOND.serial} busy")
        assert busy.endswith("nightly-17")
        assert failed.startswith('○ kitchen-tablet device ! click "Wi-Fi" not found')
        if size[0] > 120:
            assert "1 min ago com.android.settings sdk gphone64 x86 64" in chosen
        assert locked == f"! {PHONE.serial} unauthorized confirm the dialog on the phone"
        assert lost == f"! {LOST.serial} disconnected 25 s ago"
        assert "3 usable   1 not   1 busy" in text_of(app)
        assert not any(call.startswith(("snapshot", "picture")) for call in engine.calls)


async def test_the_details_say_how_old_the_screen_is_and_what_the_last_step_did() -> None:
    async with listed() as (app, pilot, _):
        await pilot.press("j", "j")
        await until(pilot, lambda: "alias      kitchen-tablet" in text_of(app))
        text = text_of(app)
        for words in (
            "app        com.android.settings",
            "screen     1 min ago",
            'last step  click "Wi-Fi"',
            "not found",
        ):
            assert words in text
        await pilot.press("k")
        await until(pilot, lambda: "busy: nightly-17" in text_of(app) and "not read. t reads it" in text_of(app))


@pytest.mark.ci
async def test_a_device_that_cannot_be_used_shows_its_next_steps_and_a_lost_one_comes_back() -> None:
    async with listed() as (app, pilot, engine):
        await pilot.press("j", "j", "j", "enter")
        await until(pilot, lambda: "Allow USB debugging?" in text_of(app))
        await pilot.press("escape", "g", "d", "j", "enter")
        await drained(pilot)
        assert (app.current_mode, app.session.device_id) == ("devices", DEVICE.serial)
        engine.show_devices(DEVICE, SECOND, THIRD, PHONE, LOST)
        await until(pilot, lambda: not app.session.left)
        assert "disconnected" not in line_of(app, 4)
        engine.show_devices()
        await until(pilot, lambda: [device.state for device in pane_of(app).devices] == ["disconnected"] * 5)


async def test_t_reads_the_selected_device_once_and_says_why_it_could_not() -> None:
    async with listed() as (app, pilot, engine):
        engine.calls.clear()
        engine.hold_snapshot = asyncio.Event()
        await pilot.press("j", "j", "t", "t")
        await until(pilot, lambda: "kitchen-tablet reading" in line_of(app, 2))
        engine.hold_snapshot.set()
        await until(pilot, lambda: "kitchen-tablet device" in line_of(app, 2) and "screen     now" in text_of(app))
        assert engine.calls == [f"snapshot {THIRD.serial}"]
        assert app.session.device_id == DEVICE.serial
        engine.snapshot_error = EngineError(ErrorCode.DEVICE_SHELL_UNAVAILABLE, "The shell does not respond")
        await pilot.press("t")
        await until(
            pilot, lambda: "✗ The shell does" in line_of(app, 2) and "not read   The shell does not" in text_of(app)
        )
        await pilot.press("j", "t")  # an unauthorized device is not asked
        await drained(pilot)
        assert len(engine.calls) == 2
        assert app.session.last_notice is not None
        assert app.session.last_notice.text == "No usable device under the cursor to read"


async def test_the_search_leaves_matching_devices_and_escape_shows_all_again() -> None:
    async with listed() as (app, pilot, _):
        await pilot.press("slash", *"KITCHEN", "enter")
        await until(pilot, lambda: [device.serial for device in pane_of(app).devices] == [THIRD.serial])
        assert app.screen.focused is pane_of(app)
        await pilot.press("slash", "end", "x")
        await until(pilot, lambda: "No device matches. esc shows all" in text_of(app))
        await pilot.press("enter", "escape")
        await until(pilot, lambda: len(pane_of(app).devices) == 5)


class Recorded:
    """The history, with the runs of another program."""

    def __init__(self, *runs: RunSummary) -> None:
        self.kept = list(runs)

    async def runs(self, *_: Any, **__: Any) -> list[RunSummary]:
        return self.kept


@pytest.mark.ci
async def test_what_other_programs_recorded_is_shown_and_makes_the_screen_out_of_date() -> None:
    async with listed() as (app, pilot, engine):
        outcome = {"steps": [{"type": "click", "status": "ok"}]}
        run = RunSummary("x", "b", device_id=DEVICE.serial, status="success", outcome=outcome, action='click "OK"')
        run = run._replace(started_at=NOON + 80, ended_at=NOON + 81, duration_ms=900.0, action_count=1)
        engine.history = Recorded(run)
        engine.taken = []  # an execution ends: the history is read again
        await until(pilot, lambda: '✓ click "OK"' in line_of(app, 0) and "busy" not in line_of(app, 1))
        await until(pilot, lambda: all(words in text_of(app) for words in ("1 min ago: an execution", "15 s ago")))


def test_the_last_run_is_the_newest_that_acted_live_or_recorded() -> None:
    live = ExecutionState("a", "d1", 1, NOON, status=Status.OK, steps=[StepState("s", "snapshot_ui", Status.OK)])
    old = RunSummary("x", "b", device_id="d1", status="failed", started_at=NOON - 60)
    older = RunSummary("y", "c", device_id="d1", status="failed", started_at=NOON - 90)
    alone = replace(live, device_id="d2")
    assert last_runs([old, older, live, alone]) == {"d1": old, "d2": alone}
