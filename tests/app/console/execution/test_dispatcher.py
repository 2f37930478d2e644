"""From a verb to a dispatched execution: shown first, sent once, told in one line; and the draft's own screen."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input

from clawperator.app.cli.simulators import one_device
from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.execution.dispatch_dialogs import DispatchDialog, TextForm
from clawperator.app.console.execution.subject import Subject
from clawperator.app.console.run.screen import RunScreen
from clawperator.app.console.screens.forms import Form, QuestionDialog
from clawperator.app.console.screens.menu import ChoiceDialog
from clawperator.engine import Engine
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.types import ExecutionDispatched, ExecutionFinished, ExecutionStarted
from clawperator.engine.executions.steps import execution, step
from clawperator.engine.executions.validate import validate
from clawperator.engine.hierarchy.match import find_all
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.tree import parse
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.status import Status
from tests.app.console.support import (
    CHECKS_OK,
    DEVICE,
    NOON,
    FakeClipboard,
    FakeEngine,
    MemoryStore,
    drained,
    guard_without,
    make_app,
    make_envelope,
    settings_screen,
    settled,
    until,
)

WIFI = Subject(Matcher(text_equals="Wi‑Fi"), node_name='TextView "Wi‑Fi"', matches=1, first_name='"Wi‑Fi"')
SIZES = [(80, 24), pytest.param((120, 36), marks=pytest.mark.ci)]


@dataclass
class ActingEngine(FakeEngine):
    """Takes executions; ``answer`` makes the envelope or raises."""

    sent: list[Mapping[str, Any]] = field(default_factory=list)
    hold: asyncio.Event | None = None
    answer: Callable[[Mapping[str, Any]], Mapping[str, Any]] | None = None

    async def execute(self, payload: Any, *, device_id: str | None = None) -> Any:
        self.calls.append(f"execute {device_id}")
        self.sent.append(payload)
        command = payload["commandId"]
        names = {"device_id": device_id or "", "execution_id": command, "command_id": command, "at": self.now()}
        self.publish(
            ExecutionStarted(
                **names,
                task_id=payload["taskId"],
                source=payload["source"],
                timeout_ms=payload["timeoutMs"],
                action_count=len(payload["actions"]),
            )
        )
        self.publish(ExecutionDispatched(**names))
        if self.hold is not None:
            await self.hold.wait()
        envelope = (self.answer or all_well)(payload)
        self.publish(
            ExecutionFinished(**names, result={"ok": True, "envelope": envelope, "deviceId": device_id}, duration_ms=9)
        )
        return SimpleNamespace(envelope=envelope, duration_ms=0)


def all_well(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    steps: list[tuple[str, str, bool, dict[str, str]]] = [
        (action["id"], action["type"], True, {}) for action in payload["actions"]
    ]
    return make_envelope(payload["commandId"], steps)


def not_found(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    error = "Task execution failed: No UI node found matching criteria: NodeMatcher(textEquals=Wi‑Fi)"
    return make_envelope(payload["commandId"], [], status="failed", error=error) | {"errorCode": "NODE_NOT_FOUND"}


@asynccontextmanager
async def acting(
    engine: ActingEngine | None = None, size: tuple[int, int] = (120, 36)
) -> AsyncIterator[tuple[ConsoleApp, Pilot[int], ActingEngine]]:
    engine = engine or ActingEngine(screen=settings_screen(), checks=CHECKS_OK)
    app = make_app(engine)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        engine.calls.clear()
        yield app, pilot, engine


def last(app: ConsoleApp) -> tuple[Status, str, str]:
    notice = app.session.notices[-1]
    return notice.status, notice.text, notice.code


def text_of(app: ConsoleApp) -> str:
    return "\n".join("".join(segment.text for segment in line) for line in app.screen._compositor.render_strips())


async def answered(app: ConsoleApp, pilot: Pilot[int]) -> None:
    """Until the result was told."""
    await until(pilot, lambda: app.session.notices and not app.session.work)


# -- confirm, send, tell


@pytest.mark.parametrize("size", SIZES)
async def test_a_tap_shows_what_is_sent_and_sends_exactly_that(size: tuple[int, int]) -> None:
    async with acting(size=size) as (app, pilot, engine):
        app.dispatcher.act("tap", WIFI)
        await drained(pilot)
        await until(pilot, lambda: "Network & internet" in text_of(app))  # the tree stays visible
        shown = text_of(app)
        assert isinstance(app.screen, DispatchDialog)
        assert engine.sent == []
        assert DEVICE.serial in shown
        assert 'text="Wi‑Fi"' in shown
        assert "✓ 1 match" in shown
        assert "⏎ send" in shown
        assert "esc back" in shown
        assert "clawperator action click" not in shown
        await pilot.press("v")
        await until(pilot, lambda: "clawperator action click" in text_of(app))
        await pilot.press("enter")
        await answered(app, pilot)
        (payload,) = engine.sent
        assert payload == validate(payload).payload
        assert [action["type"] for action in payload["actions"]] == ["click"]
        assert last(app) == (Status.OK, 'tap TextView "Wi‑Fi": ok, 0 ms', "")
        await until(pilot, lambda: f"snapshot {DEVICE.serial}" in engine.calls)
        assert engine.calls == [f"execute {DEVICE.serial}", f"snapshot {DEVICE.serial}"]


async def test_escape_sends_nothing() -> None:
    async with acting() as (app, pilot, engine):
        app.dispatcher.act("tap", WIFI)
        await pilot.press("escape")
        await drained(pilot)
        assert engine.sent == []
        assert app.session.notices == type(app.session.notices)()


@pytest.mark.parametrize(("label", "count"), [("send", 1), ("back", 0)])
async def test_the_hints_of_the_dialog_are_buttons(label: str, count: int) -> None:
    async with acting() as (app, pilot, engine):
        app.dispatcher.act("tap", WIFI)
        await drained(pilot)
        rows = text_of(app).splitlines()
        y = next(index for index, row in enumerate(rows) if "⏎ send" in row)
        await pilot.click(offset=(rows[y].index(label), y))
        await until(pilot, lambda: not isinstance(app.screen, DispatchDialog))
        if count:
            await answered(app, pilot)
        assert len(engine.sent) == count


async def test_what_is_known_is_said() -> None:
    subject = Subject(
        Matcher(role="text"),
        node_name="TextView",
        matches=3,
        first_name='TextView "Bluetooth"',
        warnings=["The node is off-screen"],
        tree=TreeSnapshot(serial=1, at=NOON - 42, tree=parse(settings_screen())),
        outdated="a click ran since",
    )
    async with acting() as (app, pilot, _):
        app.dispatcher.act("tap", subject)
        await drained(pilot)
        shown = text_of(app)
        assert '! 3 matches; the device uses the first: TextView "Bluetooth"' in shown
        assert "The node is off-screen" in shown
        assert "! Tree captured 42 s ago, out of date: a click ran since" in shown


async def test_verify_asks_no_one_and_never_retries() -> None:
    async with acting() as (app, pilot, engine):
        app.dispatcher.verify(WIFI)
        await answered(app, pilot)
        assert engine.sent[0]["actions"][0]["params"]["retry"] == {"maxAttempts": 1}
        assert last(app)[:2] == (Status.OK, "the device found it, 0 ms")


async def test_a_failure_is_reported_with_its_code_and_not_repeated() -> None:
    engine = ActingEngine(screen=settings_screen(), checks=CHECKS_OK, answer=not_found)
    async with acting(engine) as (app, pilot, _):
        app.dispatcher.verify(WIFI)
        await answered(app, pilot)
        assert last(app) == (Status.FAILED, 'verify TextView "Wi‑Fi": the device did not find it, 0 ms', "NODE_NOT_FOUND")  # fmt: skip
        assert len(engine.sent) == 1


async def test_a_settling_device_is_named_with_the_time_that_is_left_and_nothing_is_queued() -> None:
    def settling(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        details = {"settlingAfter": "cmd-123", "notBefore": app.clock.now() + 1.4, "retryAfterMs": 1_400}
        raise EngineError(ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT, "The device settles", details=details)

    engine = ActingEngine(screen=settings_screen(), checks=CHECKS_OK, answer=settling)
    async with acting(engine) as (app, pilot, _):
        app.dispatcher.verify(WIFI)
        await answered(app, pilot)
        words = "Device settling after cmd-123: free in 1.4 s. Nothing was sent"
        assert last(app) == (Status.WAITING, words, "EXECUTION_CONFLICT_IN_FLIGHT")
        await drained(pilot)
        assert engine.calls == [f"execute {DEVICE.serial}"]


async def test_a_busy_device_is_reported_in_words_and_nothing_is_queued() -> None:
    def busy(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        details = {"inFlightCommandId": "cmd-123", "source": "openclaw", "since": app.clock.now() - 4.1, "timeoutMs": 30_000}  # fmt: skip
        raise EngineError(ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT, "Another execution is in flight", details=details)

    engine = ActingEngine(screen=settings_screen(), checks=CHECKS_OK, answer=busy)
    async with acting(engine) as (app, pilot, _):
        app.dispatcher.verify(WIFI)
        await answered(app, pilot)
        words = "Device busy: cmd-123 from openclaw, 4.1 s of 30 s. Nothing was sent"
        assert last(app) == (Status.WAITING, words, "EXECUTION_CONFLICT_IN_FLIGHT")
        await drained(pilot)
        assert engine.calls == [f"execute {DEVICE.serial}"]


async def test_silence_says_what_was_sent_and_where_to_look() -> None:
    def silent(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        raise EngineError(
            ErrorCode.RESULT_ENVELOPE_TIMEOUT,
            "No [Clawperator-Result] envelope within 35000ms",
            details={"lastStage": "retry 4/5"},
            extra={"broadcastDispatchStatus": "sent"},
        )

    engine = ActingEngine(screen=settings_screen(), checks=CHECKS_OK, answer=silent)
    async with acting(engine) as (app, pilot, _):
        app.dispatcher.verify(WIFI)
        await answered(app, pilot)
        words = "No result within 0.0 s. Sent: yes. Last progress: retry 4/5. Press 6 to check the service"
        assert last(app) == (Status.FAILED, words, "RESULT_ENVELOPE_TIMEOUT")


async def test_a_second_one_is_refused_while_the_first_is_waited_for() -> None:
    engine = ActingEngine(screen=settings_screen(), checks=CHECKS_OK, hold=asyncio.Event())
    async with acting(engine) as (app, pilot, _):
        app.dispatcher.verify(WIFI)
        await until(pilot, lambda: engine.sent)
        app.dispatcher.verify(WIFI)
        assert "Nothing was sent" in last(app)[1]
        assert engine.hold is not None
        engine.hold.set()
        await answered(app, pilot)
        assert len(engine.sent) == 1


async def test_to_stop_waiting_says_that_the_device_goes_on() -> None:
    engine = ActingEngine(screen=settings_screen(), checks=CHECKS_OK, hold=asyncio.Event())
    async with acting(engine) as (app, pilot, _):
        app.dispatcher.stop_waiting()
        assert last(app)[1] == "No execution is pending"
        app.dispatcher.act("back", WIFI)
        await pilot.press("enter")
        await until(pilot, lambda: engine.sent)
        app.dispatcher.stop_waiting()
        await drained(pilot)
        assert isinstance(app.screen, ChoiceDialog)
        assert "cannot be cancelled on the device" in text_of(app)
        await pilot.press("s")
        await until(pilot, lambda: last(app)[2] == "INTERRUPTED")
        assert "The device may still act until 22:29:10" in last(app)[1]
        assert app.session.work == ""


# -- what no node can say


async def test_entering_text_asks_for_it_first() -> None:
    async with acting() as (app, pilot, engine):
        app.dispatcher.act("enter_text", WIFI)
        assert isinstance(app.screen, TextForm)
        await pilot.press("enter")
        await drained(pilot)
        assert "must not be blank" in text_of(app)
        await pilot.press(*"tea q", "tab", "space", "enter")
        await drained(pilot)
        assert isinstance(app.screen, DispatchDialog)
        await pilot.press("enter")
        await answered(app, pilot)
        assert engine.sent[0]["actions"][0]["params"] == {
            "matcher": {"textEquals": "Wi‑Fi"},
            "text": "tea q",
            "submit": True,
        }


async def test_a_burst_of_keys_loses_none() -> None:
    async with acting() as (app, pilot, _):
        app.dispatcher.act("enter_text", WIFI)
        for letter in "quick":
            app.post_message(events.Key(letter, letter))
        await until(pilot, lambda: app.screen.query(Input) and app.screen.query_one(Input).value == "quick")


async def test_opening_an_app_offers_the_one_in_front() -> None:
    async with acting() as (app, pilot, engine):
        app.dispatcher.act("open_app", WIFI)
        assert isinstance(app.screen, Form)
        assert app.screen.TITLE_TEXT == "open app"
        await pilot.press("enter")
        await drained(pilot)
        await pilot.press("enter")
        await answered(app, pilot)
        assert engine.sent[0]["actions"][0]["params"] == {"applicationId": "com.android.settings"}


@pytest.mark.parametrize(
    ("entry", "typed", "action"),
    [
        (
            "Open URI…",
            "https://example.org/a?b=c",
            {"type": "open_uri", "params": {"uri": "https://example.org/a?b=c"}},
        ),
        ("Open app…", "com.example.tea", {"type": "open_app", "params": {"applicationId": "com.example.tea"}}),
    ],
)
async def test_the_palette_opens_apps_and_links(entry: str, typed: str, action: dict[str, Any]) -> None:
    async with acting() as (app, pilot, engine):
        found = {one.name: one for one in app.palette.commands.entries()}[entry]
        assert found.reason == ""
        found.run()
        await drained(pilot)
        app.screen.query_one("#answer", Input).value = " "
        await pilot.press("enter")
        await drained(pilot)
        assert "Enter a" in text_of(app)
        app.screen.query_one("#answer", Input).value = f" {typed} "
        await pilot.press("enter")
        await drained(pilot)
        assert isinstance(app.screen, DispatchDialog)
        assert engine.sent == []
        await pilot.press("enter")
        await answered(app, pilot)
        assert action.items() <= engine.sent[0]["actions"][0].items()


async def test_the_palette_says_why_nothing_can_be_opened() -> None:
    app = make_app(ActingEngine(present=()))
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.session.devices_known)
        assert {one.name: one.reason for one in app.palette.commands.entries()}["Open URI…"].startswith(
            "no device is selected"
        )


async def test_what_the_contract_refuses_is_not_even_shown() -> None:
    async with acting() as (app, pilot, engine):
        app.dispatcher.act("open_app", WIFI)
        await pilot.press(*" -rf /", "enter")
        await drained(pilot)
        assert not isinstance(app.screen, DispatchDialog)
        assert last(app)[2] == "EXECUTION_VALIDATION_FAILED"
        assert engine.sent == []


async def test_a_node_without_a_matcher_cannot_be_acted_on() -> None:
    async with acting() as (app, _, engine):
        app.dispatcher.act("tap", Subject(Matcher()))
        assert "no selector matches this node" in last(app)[1]
        assert engine.sent == []


async def test_without_a_device_nothing_is_asked_but_the_draft_grows() -> None:
    app = make_app(ActingEngine(present=()))
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.session.devices_known)
        app.dispatcher.act("enter_text", WIFI)
        assert "No device is selected" in last(app)[1]
        assert not isinstance(app.screen, TextForm)
        app.dispatcher.insert("tap", WIFI)
        assert len(app.drafts.draft) == 1


# -- a device that answers


@pytest.mark.ci
async def test_on_a_simulated_device_the_screen_follows_what_was_done() -> None:
    async with one_device() as settings, Engine(settings) as engine:
        app = ConsoleApp(engine, clipboard=FakeClipboard(), drafts=MemoryStore())
        async with app.run_test(size=(120, 36)) as pilot:
            await settled(pilot)
            app.dispatcher.act("open_app", Subject(Matcher()))
            await drained(pilot)
            app.screen.query_one("#answer", Input).value = "com.android.settings"
            await pilot.press("enter", "enter")
            network = Matcher(text_equals="Network & internet")
            await until(pilot, lambda: found(app, network))
            assert "open app: ok, " in app.session.notices[-1].text

            app.dispatcher.verify(Subject(Matcher(text_equals="nowhere")))
            await until(pilot, lambda: app.session.notices[-1].code == "NODE_NOT_FOUND" and not app.session.work)

            app.dispatcher.insert("tap", Subject(network, node_name="Network"))
            app.dispatcher.insert("wait", Subject(Matcher(text_contains="SIM"), node_name="SIMs"))
            await run_mode(app, pilot)
            await pilot.press("R", "enter")
            await until(pilot, lambda: "draft, 2 steps: ok" in app.session.notices[-1].text)
            await until(pilot, lambda: text_of(app).count(" ms ") >= 2)


async def test_a_device_in_use_is_left_alone() -> None:
    nap = execution([step("sleep", duration_ms=20_000)], name="agent")
    async with one_device() as settings, Engine(settings) as engine, Engine(settings) as agent:
        app = ConsoleApp(engine, clipboard=FakeClipboard(), drafts=MemoryStore())
        async with app.run_test(size=(80, 24)) as pilot:
            await settled(pilot)
            sleeping = asyncio.create_task(agent.execute(nap))
            await until(pilot, lambda: engine.lock(app.session.device_id).state == "held")
            app.dispatcher.act("home", Subject(Matcher()))
            await pilot.press("enter")
            await until(pilot, lambda: app.session.last_problem)
            problem = app.session.last_problem
            assert problem is not None
            assert problem.code == "EXECUTION_CONFLICT_IN_FLIGHT"
            assert problem.text.startswith(f"Device busy: {nap['commandId']} from clawperator-console, ")
        sleeping.cancel()
        await asyncio.gather(sleeping, return_exceptions=True)


def found(app: ConsoleApp, matcher: Matcher) -> bool:
    tree = app.session.trees.shown.tree
    return tree is not None and bool(find_all(tree, matcher))


# -- the draft


async def run_mode(app: ConsoleApp, pilot: Pilot[int]) -> None:
    await pilot.press("3")
    await until(pilot, lambda: isinstance(app.screen, RunScreen) and app.screen.is_mounted)
    await drained(pilot)


async def test_steps_are_inserted_edited_and_undone() -> None:
    async with acting() as (app, pilot, engine):
        await run_mode(app, pilot)
        assert "No steps yet." in text_of(app)
        for verb in ("tap", "back", "snapshot"):
            app.dispatcher.insert(verb, WIFI)
        assert last(app)[1] == "Step 3: snapshot. Press 3 to open the draft"
        await drained(pilot)
        shown = text_of(app)
        assert '1 ✓ click text="Wi‑Fi"' in shown
        assert "✓  1" in shown
        assert "can be run" in shown
        await pilot.press("j", "<", "delete")
        assert [each["id"] for each in app.drafts.draft.steps] == ["tap", "snapshot"]
        await pilot.press("u", "u")
        assert [each["id"] for each in app.drafts.draft.steps] == ["tap", "back", "snapshot"]
        assert engine.sent == []


async def test_a_sleep_is_asked_for_and_checked() -> None:
    async with acting() as (app, pilot, _):
        app.dispatcher.insert("sleep", WIFI)
        assert isinstance(app.screen, Form)
        assert app.screen.TITLE_TEXT == "sleep"
        await pilot.press("x", "enter")
        await drained(pilot)
        assert "whole milliseconds" in text_of(app)
        await pilot.press("backspace", *"700", "enter")
        await until(pilot, lambda: len(app.drafts.draft))
        assert app.drafts.draft.steps[0]["params"] == {"durationMs": 700}


async def test_the_draft_runs_after_a_look_and_shows_how_each_step_went() -> None:
    def second_failed(payload: Mapping[str, Any]) -> Mapping[str, Any]:
        steps = [("tap", "click", True, {}), ("back", "press_key", False, {"error": "GLOBAL_ACTION_FAILED"})]
        return make_envelope(payload["commandId"], steps)

    engine = ActingEngine(screen=settings_screen(), checks=CHECKS_OK, answer=second_failed)
    async with acting(engine) as (app, pilot, _):
        app.dispatcher.insert("tap", WIFI)
        app.dispatcher.insert("back", WIFI)
        await run_mode(app, pilot)
        before = app.drafts.draft.payload()["commandId"]
        await pilot.press("R")
        await drained(pilot)
        assert isinstance(app.screen, DispatchDialog)
        assert "2 steps: click, press_key" in text_of(app)
        await pilot.press("v")
        await until(pilot, lambda: before in text_of(app))
        await pilot.press("enter")
        await answered(app, pilot)
        assert last(app)[0] is Status.WARN
        assert last(app)[2] == "GLOBAL_ACTION_FAILED"
        assert engine.sent[0]["commandId"] == before != app.drafts.draft.payload()["commandId"]
        await until(pilot, lambda: "✗  failed" in text_of(app))
        app.dispatcher.insert("home", WIFI)
        await drained(pilot)
        assert "✗  failed" not in text_of(app)


@pytest.mark.parametrize(("pid", "warned"), [(os.getpid(), False), (1, True)], ids=["own", "others"])
async def test_only_the_executions_of_others_make_a_device_busy(pid: int, warned: bool) -> None:
    async with acting() as (app, pilot, _):
        app.session.locks = {DEVICE.serial: {"commandId": "snapshot-7", "pid": pid}}
        app.dispatcher.act("tap", WIFI)
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog) and "send to" in text_of(app))
        assert ("busy now: snapshot-7" in text_of(app)) is warned


async def test_the_screen_is_read_after_a_plan_that_broke_off_before_its_own_snapshot() -> None:
    plan = execution([step("wait", matcher=WIFI.matcher), {"id": "look", "type": "snapshot_ui"}], name="plan")
    async with acting() as (app, pilot, engine):
        for runs, engine.answer in enumerate((None, not_found), start=1):
            assert f"snapshot {DEVICE.serial}" not in engine.calls, "the plan that ended well has read it itself"
            app.dispatcher.run(plan, "plan")
            await drained(pilot)
            await pilot.press("enter")
            await until(pilot, lambda: len(engine.sent) == runs and not app.session.work)  # noqa: B023  # waited for here
            await settled(pilot)
        await until(pilot, lambda: f"snapshot {DEVICE.serial}" in engine.calls)


async def test_problems_are_listed_and_nothing_is_run(tmp_path: Path) -> None:
    plan = {"taskId": "t", "source": "s", "timeoutMs": 5_000, "actions": [{"id": "a", "type": "press_key", "params": {"key": "enter"}}, {"id": "b", "type": "home"}]}  # fmt: skip
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(plan))
    async with acting() as (app, pilot, engine):
        await run_mode(app, pilot)
        await pilot.press("o")
        app.screen.query_one("#answer", Input).value = str(path)
        await pilot.press("enter")
        await until(pilot, lambda: len(app.drafts.draft) == 2)
        await drained(pilot)
        shown = text_of(app)
        assert "actions.0.params.key" in shown
        assert "1 ✗ press_key" in shown
        await pilot.press("R", "v")
        assert engine.sent == []
        assert isinstance(app.screen, RunScreen)
        await pilot.press("u")
        assert not len(app.drafts.draft)


async def test_a_save_that_the_policy_denies_says_why(tmp_path: Path) -> None:
    async with acting() as (app, pilot, engine):
        setattr(engine, "guard", guard_without("write_files", tmp_path))  # noqa: B010  # no other test needs one
        app.dispatcher.insert("tap", WIFI)
        await run_mode(app, pilot)
        await pilot.press("ctrl+s")
        app.screen.query_one("#answer", Input).value = str(tmp_path / "plan.json")
        await pilot.press("enter")
        await until(pilot, lambda: "write_files" in last(app)[1])
        assert last(app)[0] is Status.FAILED
        assert not (tmp_path / "plan.json").exists()


@pytest.mark.ci
async def test_saving_never_overwrites_without_asking(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("precious")
    async with acting() as (app, pilot, _):
        app.dispatcher.insert("tap", WIFI)
        await run_mode(app, pilot)

        async def save() -> None:
            await pilot.press("ctrl+s")
            app.screen.query_one("#answer", Input).value = str(path)
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, QuestionDialog))

        await save()
        await pilot.press("escape")
        await drained(pilot)
        assert path.read_text() == "precious"
        await save()
        await pilot.press("enter")
        await until(pilot, lambda: "Saved" in last(app)[1])
        assert json.loads(path.read_text()) == app.drafts.draft.payload()


async def test_everything_of_the_draft_can_be_copied() -> None:
    async with acting() as (app, pilot, _):
        app.dispatcher.insert("tap", WIFI)
        app.dispatcher.insert("back", WIFI)
        await run_mode(app, pilot)
        assert isinstance(app.screen, RunScreen)
        things = app.screen.copyable()
        assert json.loads(things["json"].text) == json.loads(things["execution"].text)
        assert things["command"].text.startswith(f"clawperator execute --device-id {DEVICE.serial} --execution '")
        assert "from clawperator.engine import Engine" in things["python"].text
        assert json.loads(things["matcher"].text) == {"textEquals": "Wi‑Fi"}
