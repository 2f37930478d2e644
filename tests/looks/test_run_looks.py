"""Mode 3: a draft that is valid, wrong, being written, on its way, turned away and done."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.devices.lock_dialog import LockDialog
from clawperator.app.console.execution.dispatch_dialogs import DispatchDialog
from clawperator.app.console.inspect.screen import InspectScreen
from clawperator.app.console.run.as_sent import AsSentDialog
from clawperator.app.console.run.draft_files import RecentDraftsDialog
from clawperator.app.console.run.screen import RunScreen
from clawperator.app.console.run.step_form import StepForm
from clawperator.app.console.screens.menu import ChoiceDialog, MenuDialog
from clawperator.app.console.session import Facet
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.types import EngineEvent, ExecutionDispatched, ExecutionFinished, ExecutionStarted
from tests.app.console.support import (
    CHECKS_OK,
    DEVICE,
    NOON,
    Answered,
    FakeEngine,
    agent_run,
    make_app,
    make_envelope,
    settings_screen,
    settled,
    until,
)
from tests.looks.poses import AT_SIZES, PINNED, TWO_SIZES, Compare, at_rest, before, plain_engine, press
from tests.widgets.invented_runs import FOUR, PAYLOAD, PHASES

pytestmark = PINNED
BLUETOOTH = "Bluetooth"


def wrong() -> dict[str, Any]:
    """The plan with three mistakes."""
    plan: dict[str, Any] = json.loads(json.dumps(PAYLOAD))
    plan["timeoutMs"] = 500_000
    plan["actions"][0]["type"] = "open_ap"
    plan["actions"][2] = {"id": "key", "type": "press_key", "params": {"key": "enter"}}
    return plan


@dataclass
class PlayingEngine(FakeEngine):
    """Starts what it is sent and lets ``play`` tell of it: the events up to now. Then ``end`` is the envelope's, a refusal,
    or nothing: it goes on."""

    play: Callable[[str, float], Sequence[EngineEvent]] = lambda _command, _at: ()
    phases: Mapping[str, float] | None = None
    end: Mapping[str, Any] | EngineError | None = None
    took: float = 0.0

    async def execute(self, payload: Any, *, device_id: str | None = None) -> Any:
        at, command = self.now(), payload["commandId"]
        names = {"device_id": device_id, "execution_id": "e", "command_id": command}
        self.publish(
            ExecutionStarted(
                **names,
                at=at,
                task_id=payload["taskId"],
                source=payload["source"],
                timeout_ms=payload["timeoutMs"],
                action_count=len(payload["actions"]),
                payload=payload,
                mode="direct",
                backend="operator",
            )
        )
        self.executed.append(payload)
        self.publish(*self.play(command, at))
        self.now.at += self.took  # type: ignore[attr-defined]  # the movable clock
        if self.end is None:
            await asyncio.Event().wait()
        refused = isinstance(self.end, EngineError)
        result = {"ok": False, "error": self.end.to_dict()} if refused else {"ok": True, "envelope": self.end}  # type: ignore[union-attr]  # it is one
        took = ExecutionFinished(**names, at=self.now(), result=result, duration_ms=1, phases=self.phases or {})
        self.publish(took)
        if isinstance(self.end, EngineError):
            raise self.end
        assert self.end is not None
        return Answered(self.end)


def playing(**more: Any) -> PlayingEngine:
    return PlayingEngine(screen=settings_screen(), checks=CHECKS_OK, **more)


async def composed(pilot: Any, plan: Mapping[str, Any] = PAYLOAD, *keys: str) -> RunScreen:
    """Mode 3 with ``plan`` as the draft, after these keys."""
    app = pilot.app
    await settled(pilot)
    app.drafts.load(plan)
    await press(pilot, "3")
    await until(pilot, lambda: isinstance(app.screen, RunScreen))
    screen: RunScreen = app.screen
    await press(pilot, *keys)
    return screen


async def sent(pilot: Any) -> None:
    """The draft is on its way, or has come to its end."""
    app = pilot.app
    await composed(pilot)
    await pilot.press("R")
    await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
    await pilot.press("enter")
    await until(pilot, lambda: app.engine.executed and app.drafts.last_run)
    await until(pilot, lambda: app.engine.end is None or not app.session.work)
    over = app.engine.end is not None
    await until(pilot, lambda: any(run.over is over for run in app.session.log.executions if run.payload))
    await at_rest(pilot)


# -- the draft


@AT_SIZES
def test_valid(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def pose(pilot: Any) -> None:
        await composed(pilot, PAYLOAD, "j")

    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=pose)


@TWO_SIZES
def test_json(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def pose(pilot: Any) -> None:
        await composed(pilot, wrong(), "j", "e")

    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=pose)


@pytest.mark.ci
@TWO_SIZES
def test_three_problems(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def pose(pilot: Any) -> None:
        await composed(pilot, wrong(), "tab", "tab", "j")

    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=pose)


@pytest.mark.ci
def test_steps_with_problems(snap_compare: Compare) -> None:
    async def pose(pilot: Any) -> None:
        await composed(pilot, wrong())

    assert snap_compare(make_app(plain_engine()), terminal_size=(80, 24), run_before=pose)


@pytest.mark.ci
def test_no_json(snap_compare: Compare) -> None:
    async def pose(pilot: Any) -> None:
        await composed(pilot, PAYLOAD, "tab", "home", "delete", "escape")

    assert snap_compare(make_app(plain_engine()), terminal_size=(120, 36), run_before=pose)


@pytest.mark.ci
def test_as_sent(snap_compare: Compare) -> None:
    """An alias is sent by its own name."""
    plan = json.loads(json.dumps(PAYLOAD))
    plan["actions"][0] = {"id": "tap", "type": "tap", "params": {"matcher": {"textEquals": "Wi‑Fi"}}}

    async def pose(pilot: Any) -> None:
        await composed(pilot, plan, "v")
        assert isinstance(pilot.app.screen, AsSentDialog)

    assert snap_compare(make_app(plain_engine()), terminal_size=(120, 36), run_before=pose)


@pytest.mark.ci
def test_from_the_tree(snap_compare: Compare) -> None:
    async def compose(pilot: Any) -> None:
        await before(*"itiwin", on=BLUETOOTH)(pilot)
        await until(pilot, lambda: len(pilot.app.drafts.draft) == 3)
        await press(pilot, "3")

    assert snap_compare(make_app(plain_engine()), terminal_size=(80, 24), run_before=compose)


@TWO_SIZES
def test_empty(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=before("3"))


# -- its run


def on_its_way(command: str, at: float) -> list[EngineEvent]:
    """Up to the second step's second try."""
    went = ExecutionDispatched(device_id=DEVICE.serial, execution_id="e", command_id=command, at=at + 0.14)
    return [went, *agent_run(command, at + 0.3, source="openclaw")]


def held(app: ConsoleApp, **more: Any) -> None:
    """Another process has the device. The console is told at once, it would look for itself within a second."""
    lock = {
        "deviceId": DEVICE.serial,
        "state": "held",
        "pid": 4312,
        "commandId": "cmd-125",
        "taskId": "morning-check",
        "source": "openclaw",
        "since": NOON - 4,
        "timeoutMs": 30_000,
        **more,
    }
    app.engine.taken = [lock]  # type: ignore[attr-defined]  # the fake one
    app.session.locks = {DEVICE.serial: lock}
    app.show(Facet.LOCKS)


@pytest.mark.ci
@AT_SIZES
def test_running(snap_compare: Compare, size: tuple[int, int]) -> None:
    app = make_app(playing(play=on_its_way, took=2.3))
    assert snap_compare(app, terminal_size=size, run_before=sent)


@pytest.mark.ci
@TWO_SIZES
def test_stop_waiting(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def pose(pilot: Any) -> None:
        await sent(pilot)
        await pilot.press("C")
        await until(pilot, lambda: isinstance(pilot.app.screen, ChoiceDialog))
        await at_rest(pilot)

    app = make_app(playing(play=on_its_way, took=2.3))
    assert snap_compare(app, terminal_size=size, run_before=pose)


@TWO_SIZES
def test_conflict(snap_compare: Compare, size: tuple[int, int]) -> None:
    """Another process was faster."""
    details = {
        "inFlightCommandId": "cmd-125",
        "source": "openclaw",
        "pid": 4312,
        "since": NOON - 4,
        "timeoutMs": 30_000,
    }
    words = "Another execution is in flight on this device"
    engine = playing(
        end=EngineError(ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT, words, details=details),
        phases={"validate": 1.2, "device": 31.0, "lock": 0.5},
    )

    async def pose(pilot: Any) -> None:
        await settled(pilot)
        held(pilot.app)
        await sent(pilot)

    assert snap_compare(make_app(engine), terminal_size=size, run_before=pose)


@TWO_SIZES
def test_step_failed(snap_compare: Compare, size: tuple[int, int]) -> None:
    """The plan completed, one of its steps did not do what it should."""
    steps = [*FOUR[:2], ("read", "read_text", False, {"error": "NODE_NOT_FOUND"}), FOUR[3]]
    engine = playing(end=make_envelope("draft-1700000940000-k3v9x2a", steps), play=on_its_way, took=6.6, phases=PHASES)
    assert snap_compare(make_app(engine), terminal_size=size, run_before=sent)


@pytest.mark.ci
def test_silence(snap_compare: Compare) -> None:
    """No result within its time."""
    silence = EngineError(
        ErrorCode.RESULT_ENVELOPE_TIMEOUT,
        "No [Clawperator-Result] envelope within 35000ms",
        details={"lastStage": "waitForNode(text=Wi‑Fi) 2/5"},
        extra={"broadcastDispatchStatus": "sent"},
    )
    app = make_app(playing(end=silence, play=on_its_way, took=35.0))
    assert snap_compare(app, terminal_size=(80, 24), run_before=sent)


@pytest.mark.ci
@pytest.mark.parametrize("state", ["held", "settling"])
@TWO_SIZES
def test_lock(snap_compare: Compare, size: tuple[int, int], state: str) -> None:
    """Who has the device: another process, or nobody any more, but it may be at work still."""
    app = make_app(plain_engine())

    async def pose(pilot: Any) -> None:
        await settled(pilot)
        held(app, state=state, **({"notBefore": NOON + 1.4} if state == "settling" else {}))
        await app.run_action("lock")
        await until(pilot, lambda: isinstance(app.screen, LockDialog))
        await at_rest(pilot)

    assert snap_compare(app, terminal_size=size, run_before=pose)


# -- by form


@TWO_SIZES
def test_step_form(snap_compare: Compare, size: tuple[int, int]) -> None:
    """A selector field with its count of nodes, and a value that the contract refuses."""

    async def pose(pilot: Any) -> None:
        app = pilot.app
        await composed(pilot, PAYLOAD, "i", "w")
        await until(pilot, lambda: isinstance(app.screen, StepForm) and app.screen.focused)
        for row, value in zip(app.screen.rows, ("text=Bluetooth", "0"), strict=False):
            row.entry.value = value
        await pilot.press("enter")
        await until(pilot, lambda: any(row.has_class("-wrong") for row in app.screen.rows))
        await at_rest(pilot)

    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=pose)


@TWO_SIZES
def test_add_step(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def pose(pilot: Any) -> None:
        await composed(pilot, PAYLOAD, "i")
        await until(pilot, lambda: isinstance(pilot.app.screen, MenuDialog))
        await at_rest(pilot)

    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=pose)


@AT_SIZES
def test_recording(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def pose(pilot: Any) -> None:
        await settled(pilot)
        await press(pilot, "I")
        await until(pilot, lambda: pilot.app.recorder.on)
        await at_rest(pilot)

    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=pose)


@pytest.mark.ci
def test_picking(snap_compare: Compare) -> None:
    async def pose(pilot: Any) -> None:
        await composed(pilot, PAYLOAD, "i", "w")
        await until(pilot, lambda: isinstance(pilot.app.screen, StepForm) and pilot.app.screen.focused)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(pilot.app.screen, InspectScreen))
        await at_rest(pilot)

    assert snap_compare(make_app(plain_engine()), terminal_size=(120, 36), run_before=pose)


@pytest.mark.ci
def test_recent_drafts(snap_compare: Compare) -> None:
    async def pose(pilot: Any) -> None:
        await composed(pilot, PAYLOAD, "n", "O")
        await until(pilot, lambda: isinstance(pilot.app.screen, RecentDraftsDialog))
        await at_rest(pilot)

    assert snap_compare(make_app(plain_engine()), terminal_size=(120, 36), run_before=pose)
