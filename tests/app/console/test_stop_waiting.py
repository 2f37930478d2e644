"""To stop waiting: what it means is said exactly, keeping on is the default, and the app can be ended on request."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from clawperator.app.cli.simulators import one_device
from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.devices.lock_dialog import LockDialog, lock_rows, show_lock
from clawperator.app.console.execution.stopping import choices, target_app, words_before_stopping
from clawperator.app.console.screens.menu import ChoiceDialog
from clawperator.engine import Engine
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.steps import execution, step
from clawperator.widgets.models.execution import ExecutionState, LiveLine
from clawperator.widgets.models.status import Status
from tests.app.console.execution.test_dispatcher import WIFI, ActingEngine, acting, last, text_of
from tests.app.console.support import (
    CHECKS_OK,
    DEVICE,
    NOON,
    FakeClipboard,
    MemoryStore,
    MovableClock,
    drained,
    settings_screen,
    settled,
    until,
)

CLOCK = MovableClock().clock


def plan(*actions: dict[str, Any]) -> dict[str, Any]:
    return {"commandId": "cmd-9", "timeoutMs": 20_000, "actions": list(actions)}


OPEN = {"id": "a", "type": "open_app", "params": {"applicationId": "com.example.app"}}
BACK = {"id": "b", "type": "press_key", "params": {"key": "back"}}


# -- words


@pytest.mark.parametrize(
    ("payload", "in_front", "package"),
    [
        (plan(OPEN, BACK), "com.android.settings", "com.example.app"),
        (plan(BACK), "com.android.settings", "com.android.settings"),
        (plan(BACK), "", ""),
        (plan(BACK), "com.android.systemui", ""),
        (plan(BACK), "com.clawperator.operator.dev", ""),
    ],
)
def test_the_app_to_stop_is_the_one_that_the_plan_works_in(payload: Any, in_front: str, package: str) -> None:
    assert target_app(payload, in_front) == package
    assert [choice.enabled for choice in choices(package)] == [True, True, bool(package)]


def test_the_words_say_until_when_it_may_act_and_how_long_the_lock_stays() -> None:
    run = ExecutionState("cmd-9", DEVICE.serial, 1, NOON)
    run.lines = [LiveLine(NOON, Status.RUNNING, "sent", ""), LiveLine(NOON, Status.RUNNING, "dispatched", "")]
    words = words_before_stopping(plan(BACK), run, NOON, CLOCK)
    assert words.startswith(
        "The execution cannot be cancelled on the device. Clawperator stops waiting; cmd-9 may still act until 22:29:20."
    )
    assert "The lock is held 2 s longer" in words
    run.lines = run.lines[:1]
    assert "Nothing was sent to the device yet" in words_before_stopping(plan(BACK), run, NOON, CLOCK)


# -- the dialog


@pytest.mark.parametrize(
    ("key", "stopped", "forced"),
    [
        ("enter", 0, 0),
        pytest.param("escape", 0, 0, marks=pytest.mark.ci),
        pytest.param("k", 0, 0, marks=pytest.mark.ci),
        ("s", 1, 0),
        ("F", 1, 1),
    ],
)
async def test_keeping_on_waiting_is_the_default_and_each_choice_does_what_it_says(
    key: str, stopped: int, forced: int
) -> None:
    engine = ActingEngine(screen=settings_screen(), checks=CHECKS_OK, hold=asyncio.Event())
    async with acting(engine) as (app, pilot, _):
        app.dispatcher.act("back", WIFI)
        await pilot.press("enter")
        await until(pilot, lambda: engine.sent)
        app.dispatcher.stop_waiting()
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        await drained(pilot)
        assert "com.android.settings" in text_of(app)
        await pilot.press(key)
        await until(pilot, lambda: not isinstance(app.screen, ChoiceDialog))
        await until(pilot, lambda: app.dispatcher.waiting is not bool(stopped))
        await drained(pilot)
        assert [call for call in engine.calls if call.startswith("force-stop")] == forced * [
            f"force-stop com.android.settings {DEVICE.serial}"
        ]
        assert any(notice.code == "INTERRUPTED" for notice in app.session.notices) is bool(stopped)
        if not stopped:
            assert engine.hold is not None
            engine.hold.set()


async def test_a_result_that_comes_first_is_said() -> None:
    engine = ActingEngine(screen=settings_screen(), checks=CHECKS_OK, hold=asyncio.Event())
    async with acting(engine) as (app, pilot, _):
        app.dispatcher.act("back", WIFI)
        await pilot.press("enter")
        await until(pilot, lambda: engine.sent)
        app.dispatcher.stop_waiting()
        await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
        assert engine.hold is not None
        engine.hold.set()
        await until(pilot, lambda: not app.dispatcher.waiting)
        await pilot.press("s")
        assert last(app)[1] == "The result arrived before you stopped waiting"


@pytest.mark.ci
async def test_on_a_simulated_device_the_lock_settles_and_the_app_is_gone() -> None:
    async with one_device() as settings, Engine(settings) as engine:
        app = ConsoleApp(engine, clipboard=FakeClipboard(), drafts=MemoryStore())
        async with app.run_test(size=(120, 36)) as pilot:
            await settled(pilot)
            app.drafts.load(
                execution([step("open_app", application_id="com.android.settings"), step("sleep", duration_ms=20_000)])
            )
            await pilot.press("3")
            await pilot.press("R")
            await drained(pilot)
            await pilot.press("enter")
            await until(pilot, lambda: "Running step 2 of 2: sleep." in text_of(app))
            await pilot.press("C")
            await until(pilot, lambda: isinstance(app.screen, ChoiceDialog))
            await drained(pilot)
            assert "may still act until" in text_of(app)
            await pilot.press("F")
            await until(
                pilot, lambda: any("com.android.settings was stopped" in each.text for each in app.session.notices)
            )
            await until(pilot, lambda: "INTERRUPTED" in text_of(app))
            assert "settling" in {engine.lock(app.session.device_id).state, "settling"}


async def test_a_device_that_refuses_to_stop_an_app_is_reported() -> None:
    async with one_device() as settings, Engine(settings) as engine:
        with pytest.raises(EngineError) as refused:
            await engine.force_stop("-rf /")
        assert refused.value.code is ErrorCode.EXECUTION_VALIDATION_FAILED
        await engine.force_stop("com.android.settings")


# -- who has the device


def test_a_holder_is_described_with_its_time_and_what_can_be_done() -> None:
    lock = {
        "deviceId": DEVICE.serial, "state": "held", "pid": 1, "commandId": "cmd-123", "taskId": "t", "source": "openclaw",
        "since": NOON - 4.1, "timeoutMs": 30_000,
    }  # fmt: skip
    shown = "\n".join(row.left.plain for row in lock_rows(lock, None, CLOCK, 70))
    for words in (
        "cmd-123 holds emulator-5554",
        "openclaw",
        "pid 1",
        "22:28:55.9",
        "4.1 s of 30 s",
        "Another process",
    ):
        assert words in shown
    settling = {**lock, "state": "settling", "notBefore": NOON + 1.4}
    assert "Nothing is sent to it for another 1.4 s" in "\n".join(
        row.left.plain for row in lock_rows(settling, None, CLOCK, 200)
    )
    assert [row.left.plain for row in lock_rows({}, None, CLOCK, 70)] == [" ○ The device is free now."]


async def test_the_dialog_keeps_time_and_leads_to_the_stream() -> None:
    async with acting() as (app, pilot, _):
        await pilot.press("2")
        await drained(pilot)
        await pilot.press("1")
        await drained(pilot)
        show_lock(app)
        assert last(app)[1] == f"{DEVICE.serial} is free"
        lock = {
            "deviceId": DEVICE.serial,
            "state": "held",
            "pid": 1,
            "commandId": "cmd-1",
            "since": NOON,
            "timeoutMs": 30_000,
        }
        app.session.locks = {DEVICE.serial: lock}
        show_lock(app)
        await until(pilot, lambda: isinstance(app.screen, LockDialog))
        await until(pilot, lambda: "cmd-1 holds" in text_of(app))
        app.session.locks = {}
        await until(pilot, lambda: "The device is free now" in text_of(app))
        await pilot.press("enter")
        await until(pilot, lambda: app.current_mode == "stream")
