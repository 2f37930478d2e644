"""An engine with a face keeps what it runs: against a simulated device, from payload to tree."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import Engine, EngineError, RunOptions, Settings
from clawperator.engine.events.types import (
    CommandProgress,
    EnvelopeSeen,
    ExecutionDispatched,
    ExecutionFinished,
    ExecutionStarted,
    LogAttached,
)
from clawperator.engine.executions import build, shell_input, verbs
from clawperator.engine.history.records import AuditRecord, LateRecord, RunRecord
from clawperator.engine.history.store import History
from clawperator.engine.simulator.apps.effects import do_nothing
from clawperator.engine.simulator.apps.vault import VAULT
from clawperator.engine.simulator.apps.view import Scene, Screen, button, page, text_field
from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario

Start = Callable[..., Awaitable[Engine]]


def plan(*actions: dict[str, Any], command_id: str = "cmd-1", **more: Any) -> dict[str, Any]:
    return {
        "commandId": command_id,
        "taskId": "task-1",
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 5_000,
        "actions": [{"id": f"a{index}", **action} for index, action in enumerate(actions, 1)],
        **more,
    }


SNAPSHOT = {"type": "snapshot_ui"}
HOME = {"type": "press_key", "params": {"key": "home"}}
MISSING = {"type": "click", "params": {"matcher": {"textEquals": "There is no such text"}}}


class Kept:
    """What is in the file now."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    @property
    def exists(self) -> bool:
        return Path(self.path).exists()

    @property
    def runs(self) -> list[RunRecord]:
        with History.open(self.path) as history:
            return [history.find(run.number) for run in reversed(history.runs())]

    @property
    def audit(self) -> list[AuditRecord]:
        with History.open(self.path) as history:
            return list(reversed(history.audit()))


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path / "history.db")


@pytest.fixture
async def start(tmp_path: Path, kept: Kept) -> AsyncIterator[Start]:
    """``await start()`` gives an engine with a face and a device; keyword arguments are settings, ``faults`` are the device's."""
    async with AsyncExitStack() as stack:
        environments: list[dict[str, str]] = []

        async def make(
            *, face: str = "cli", faults: Any = (), devices: int = 1, speed: float = 0, **settings: Any
        ) -> Engine:
            if not environments:
                scenario = Scenario.model_validate({"speed": speed, "faults": faults})
                worlds = [create_device(scenario, index=index) for index in range(devices)]
                simulation = await stack.enter_async_context(Simulation(worlds, mode="server"))
                environments.append({**simulation.env(), "HOME": str(tmp_path)})
            flags = {"history_path": kept.path, **settings}
            return await stack.enter_async_context(Engine(Settings.resolve(flags, environments[0]), face=face))

        yield make


async def ended(engine: Engine) -> None:
    """Wait until all is written."""
    assert engine.history is not None
    await engine.history.count()


async def test_a_run_is_kept_whole(start: Start, kept: Kept) -> None:
    engine = await start()
    result = await engine.execute(plan(SNAPSHOT, HOME), options=RunOptions(max_snapshot_bytes=40))
    await ended(engine)
    (run,) = kept.runs
    summary = run.summary
    assert (summary.status, summary.code, summary.face, summary.origin) == ("success", "", "cli", "made")
    assert (summary.execution_id, summary.command_id, summary.task_id) == (result.execution_id, "cmd-1", "task-1")
    assert (summary.device_id, summary.backend, summary.package) == (
        result.device_id,
        "operator",
        "com.clawperator.operator",
    )
    assert (summary.action_count, summary.failed_steps, summary.timeout_ms) == (2, 0, 5_000)
    assert 0 < summary.duration_ms < 60_000
    assert run.payload == engine.validate(plan(SNAPSHOT, HOME)).payload
    assert [(step.id, step.type, step.status) for step in run.steps] == [
        ("a1", "snapshot_ui", "success"),
        ("a2", "press_key", "success"),
    ]
    assert all(step.started_at <= step.ended_at for step in run.steps)
    kinds = [line.kind for line in run.lines]
    assert kinds[:3] == ["sent", "dispatched", "start"]
    assert kinds[-1] == "result"
    assert kinds.count("step-start") == 2
    (tree,) = run.trees
    with History.open(kept.path) as history:
        text = history.tree(tree.digest)
    assert (tree.step_id, len(text)) == ("a1", tree.characters)
    assert text.endswith("</hierarchy>"), "whole, though the answer was cut"
    assert result.envelope["stepResults"][0]["data"]["text"] == text[:40]
    assert run.envelope is not None
    assert run.envelope["stepResults"][0]["data"]["tree"] == tree.digest
    assert "cmd-1" in run.raw[0]
    assert [(entry.event, entry.action_types) for entry in kept.audit] == [
        ("execute", ("snapshot_ui", "press_key")),
        ("result", ("snapshot_ui", "press_key")),
    ]


async def test_phases_are_all_of_the_duration(start: Start, kept: Kept) -> None:
    engine = await start()
    result = await engine.execute(plan(SNAPSHOT))
    await ended(engine)
    (run,) = kept.runs
    assert list(run.phases) == ["validate", "device", "check", "lock", "attach", "dispatch", "run", "parse", "finish"]
    assert all(spent >= 0 for spent in run.phases.values())
    assert math.isclose(sum(result.phases.values()), run.summary.duration_ms, rel_tol=0.1, abs_tol=3)


async def test_what_the_caller_does_with_the_answer_is_not_what_is_kept(start: Start, kept: Kept) -> None:
    engine = await start()
    assert engine.history is not None
    engine.history.hold()
    result = await engine.execute(plan(SNAPSHOT))
    result.envelope["stepResults"][0]["data"].clear()
    result.envelope["status"] = "nonsense"
    await asyncio.to_thread(engine.history.close)
    (run,) = kept.runs
    assert run.summary.status == "success"
    assert run.envelope is not None
    assert set(run.envelope["stepResults"][0]["data"]) == {"actual_format", "tree"}


async def test_a_plan_that_fails_says_where_and_why(start: Start, kept: Kept) -> None:
    engine = await start()
    assert not (await engine.execute(plan(HOME, MISSING, SNAPSHOT, timeoutMs=60_000))).succeeded
    await ended(engine)
    (run,) = kept.runs
    assert (run.summary.status, run.summary.code, run.summary.failed_steps) == ("failed", "NODE_NOT_FOUND", 1)
    assert [(step.status, step.code) for step in run.steps] == [
        ("success", ""),
        ("failed", "NODE_NOT_FOUND"),
        ("not_run", ""),
    ]
    assert run.steps[1].retries > 0
    assert "No UI node found" in run.message


async def test_without_an_answer_the_lines_are_kept(start: Start, kept: Kept) -> None:
    engine = await start(faults=[{"kind": "malformed_envelope"}])
    with pytest.raises(EngineError):
        await engine.execute(plan(HOME))
    await ended(engine)
    (run,) = kept.runs
    assert (run.summary.status, run.summary.code) == ("failed", "RESULT_ENVELOPE_MALFORMED")
    assert run.envelope is None
    assert run.raw
    assert "step-start" in [line.kind for line in run.lines]


async def refused(engine: Engine, payload: object, **options: Any) -> EngineError:
    with pytest.raises(EngineError) as caught:
        await engine.execute(payload, **options)
    await ended(engine)
    return caught.value


async def test_a_refusal_is_a_run_where_it_has_a_name_and_an_audit_anyway(start: Start, kept: Kept) -> None:
    engine = await start()
    error = await refused(engine, plan({"type": "press_key", "params": {"key": "power"}}))
    other = await refused(engine, {"actions": "none"})
    await refused(engine, "nothing")
    run, second = kept.runs
    assert second.summary.execution_id == other.extra["executionId"], "a plan of actions only gets a name"
    assert (run.summary.status, run.summary.code) == ("refused", "EXECUTION_VALIDATION_FAILED")
    assert run.summary.execution_id == error.extra["executionId"]
    assert run.payload == plan({"type": "press_key", "params": {"key": "power"}}), "as it was given"
    assert list(run.phases) == ["validate"]
    assert [(entry.event, entry.command_id, entry.code) for entry in kept.audit] == [
        ("refused", "cmd-1", "EXECUTION_VALIDATION_FAILED"),
        ("refused", second.summary.command_id, "EXECUTION_VALIDATION_FAILED"),
        ("refused", "", "EXECUTION_VALIDATION_FAILED"),
    ]


async def test_a_refused_payload_may_be_anything(start: Start, kept: Kept) -> None:
    engine = await start()
    odd: Any = {
        "commandId": "x" * 100_000,
        "taskId": 5,
        "actions": [{"id": "\ud800", "type": "\ud800" * 9_999}] * 3_000,
        "b": "y" * 900_000,
    }
    await refused(engine, odd)
    await refused(engine, {"commandId": "keys", ("no", "text"): 1})
    first, second = kept.runs
    assert len(first.summary.command_id) == 512
    assert (first.payload, second.payload) == (None, None)
    assert engine.history is not None
    assert not engine.history.troubles


async def test_two_at_once_the_second_is_refused_and_kept(start: Start, kept: Kept) -> None:
    engine = await start(faults=[{"kind": "late_envelope", "delay_ms": 200, "commands": [1]}])
    with engine.events.subscribe() as subscription:
        first = asyncio.create_task(engine.execute(plan(HOME)))
        while not any(isinstance(event, ExecutionDispatched) for event in await subscription.batch()):
            pass
    await refused(engine, plan(HOME, command_id="cmd-2"))
    await first
    await ended(engine)
    one, two = kept.runs
    assert (one.summary.command_id, one.summary.status) == ("cmd-1", "success")
    assert (two.summary.command_id, two.summary.status, two.summary.code) == (
        "cmd-2",
        "refused",
        "EXECUTION_CONFLICT_IN_FLIGHT",
    )
    assert "lock" in two.phases


async def test_without_a_device_it_has_failed(start: Start, kept: Kept) -> None:
    engine = await start(devices=2)
    await refused(engine, plan(HOME))
    (run,) = kept.runs
    assert (run.summary.status, run.summary.code, run.summary.device_id) == (
        "failed",
        "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED",
        "",
    )
    assert [entry.event for entry in kept.audit] == ["execute", "result"]


async def test_who_may_only_observe_observes(start: Start, kept: Kept) -> None:
    engine = await start(read_only=True)
    error = await refused(engine, plan(SNAPSHOT, HOME))
    assert (error.code, error.details["path"], error.details["actionType"]) == ("READ_ONLY", "actions.1", "press_key")
    observing = plan(
        SNAPSHOT,
        {"type": "sleep", "params": {"durationMs": 1}},
        {"type": "read_text", "params": {"matcher": {"textContains": "a"}}},
    )
    await engine.execute(observing | {"commandId": "cmd-2"})
    await ended(engine)
    refusal, run = kept.runs
    assert refusal.summary.status == "refused"
    assert run.summary.status in ("success", "failed")


async def test_who_stops_waiting_is_an_interrupt(start: Start, kept: Kept) -> None:
    engine = await start(faults=[{"kind": "silence"}])
    with engine.events.subscribe() as subscription:
        task = asyncio.create_task(engine.execute(plan(HOME)))
        while not any(isinstance(event, ExecutionDispatched) for event in await subscription.batch()):
            pass
        await ended(engine)
        assert [run.summary.status for run in kept.runs] == ["running"], "the row is there while the device works"
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await ended(engine)
    (run,) = kept.runs
    assert (run.summary.status, run.summary.code) == ("interrupted", "INTERRUPTED")
    assert run.lines[-1].kind == "gave up"


async def test_events_tell_what_the_history_is_reported(start: Start) -> None:
    engine = await start()
    with engine.events.subscribe() as subscription:
        await engine.execute(plan(HOME, mode="artifact_compiled"))
        events = subscription.taken()
    (began,) = [event for event in events if isinstance(event, ExecutionStarted)]
    (over,) = [event for event in events if isinstance(event, ExecutionFinished)]
    assert (began.mode, began.backend, began.payload["commandId"]) == ("artifact_compiled", "operator", "cmd-1")
    assert {"validate", "lock", "dispatch", "run", "parse"} <= set(over.phases)
    assert over.warnings == ()


@pytest.mark.parametrize("settings", [{"face": ""}, {"history_enabled": False}], ids=["no face", "switched off"])
async def test_nothing_is_kept_unless_someone_keeps_it(start: Start, kept: Kept, settings: dict[str, Any]) -> None:
    engine = await start(**settings)
    assert engine.history is None
    assert (await engine.execute(plan(HOME))).succeeded
    await engine.record_seen()
    assert not kept.exists


async def test_the_environment_switches_it_off() -> None:
    assert Settings.resolve(env={"HOME": "/home/me"}).history_enabled
    assert Settings.resolve(env={"HOME": "/home/me"}).history_path.endswith("clawperator/history.db")
    assert not Settings.resolve(env={"HOME": "/home/me", "CLAWPERATOR_NO_HISTORY": "1"}).history_enabled
    assert not Settings.resolve({"history_enabled": False}, env={}).history_enabled


@pytest.mark.parametrize("recorded", [False, True], ids=["by nobody", "by its maker"])
async def test_a_console_keeps_what_others_run(start: Start, kept: Kept, recorded: bool) -> None:
    console = await start(face="console")
    other = await start(face="cli" if recorded else "")
    async with asyncio.TaskGroup() as group:
        with console.events.subscribe() as subscription:
            tasks = [
                group.create_task(console.record_seen()),
                group.create_task(console.watch_log((await console.device()).serial)),
            ]
            while not any(isinstance(event, LogAttached) for event in await subscription.batch()):
                pass
        await other.execute(plan(SNAPSHOT, command_id="theirs"))
        await console.execute(plan(HOME, command_id="ours"))
        if recorded:
            await ended(other)
        await ended(console)
        for task in tasks:
            task.cancel()
    by_name = {run.summary.command_id: run for run in kept.runs}
    assert len(kept.runs) == len(by_name) == 2
    assert by_name["ours"].summary.origin == "made"
    theirs = by_name["theirs"]
    assert theirs.summary.origin == ("made" if recorded else "seen")
    assert (theirs.summary.source, theirs.summary.status, len(theirs.trees)) == ("test", "success", 1)
    assert [step.status for step in theirs.steps] == ["success"]


async def test_what_comes_when_no_one_waits_any_more_is_kept_with_the_run(start: Start, kept: Kept) -> None:
    console = await start(face="console", speed=1.0, faults=[{"kind": "late_envelope", "delay_ms": 1_000}])
    async with asyncio.TaskGroup() as group:
        with console.events.subscribe() as subscription:
            tasks = [
                group.create_task(console.record_seen()),
                group.create_task(console.watch_log((await console.device()).serial)),
            ]
            while not any(isinstance(event, LogAttached) for event in await subscription.batch()):
                pass
            run = asyncio.create_task(console.execute(plan(HOME)))
            while not any(isinstance(event, CommandProgress) for event in await subscription.batch()):
                pass
            run.cancel()
            await asyncio.gather(run, return_exceptions=True)
            while not any(isinstance(event, EnvelopeSeen) for event in await subscription.batch()):
                pass
        late = None
        while late is None:
            late = await late_of(console)
        for task in tasks:
            task.cancel()
    (record,) = kept.runs
    assert (record.summary.status, record.summary.code, record.envelope) == ("interrupted", "INTERRUPTED", None)
    assert record.late == late
    assert (late.envelope["status"], [step.status for step in late.steps]) == ("success", ["success"])
    assert late.after_ms > 0


async def late_of(engine: Engine) -> LateRecord | None:
    assert engine.history is not None
    return (await engine.history.find("cmd-1")).late


def login(scene: Scene) -> Screen:
    fields = [
        text_field(scene, "user", "User name", id="name"),
        text_field(scene, "password", "Pass", id="field", password=True),
    ]
    return Screen(root=page(*fields, *(button(f"Go {number}", do_nothing, id=f"go{number}") for number in range(2))))


PASSWORD = 'hunter2 "x"'
FIELD = {"resourceId": "com.example.vault:id/field"}


@pytest.mark.parametrize(
    "how",
    [
        plan(SNAPSHOT, {"type": "enter_text", "params": {"matcher": FIELD, "text": PASSWORD}}),
        plan({"type": "enter_text", "params": {"matcher": FIELD, "text": PASSWORD}}, SNAPSHOT),
        verbs.set_text(FIELD, PASSWORD),
        verbs.submit(FIELD, text=PASSWORD),
        shell_input.text(PASSWORD),
    ],
    ids=["after a snapshot", "before a snapshot", "set", "submit", "input"],
)
async def test_a_typed_password_is_not_kept(
    start: Start, kept: Kept, monkeypatch: pytest.MonkeyPatch, how: Any
) -> None:
    monkeypatch.setitem(VAULT.screens, "main", login)
    engine = await start()
    await engine.execute(build.open_app("com.example.vault"))
    await engine.execute(how)
    await ended(engine)
    run = kept.runs[-1]
    assert any(action["type"] in ("enter_text", "input_text") for action in (run.payload or {})["actions"])
    assert "hunter2" not in json.dumps(run.to_dict())
    assert run.summary.status in ("success", "failed")
    assert run.envelope is not None


async def test_no_typed_text_is_kept_whatever_its_field(
    start: Start, kept: Kept, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(VAULT.screens, "main", login)
    engine = await start()
    await engine.execute(build.open_app("com.example.vault"))
    name = {"type": "enter_text", "params": {"matcher": {"resourceId": "com.example.vault:id/name"}, "text": "Jane"}}
    secret = {"type": "enter_text", "params": {"matcher": FIELD, "text": "hunter2"}}
    await engine.execute(plan(SNAPSHOT, name, secret))
    await ended(engine)
    payload = kept.runs[-1].payload
    assert payload is not None
    assert [action.get("params", {}).get("text") for action in payload["actions"]] == [None, "", ""]
    with pytest.raises(EngineError, match=r"non-empty params\.text"):
        engine.validate(payload)


async def test_an_unseen_field_is_known_by_its_selector(start: Start, kept: Kept) -> None:
    engine = await start()
    for named in ({"resourceId": "a.b:id/password"}, {"textEquals": "PIN"}, {"contentDescContains": "Passcode"}):
        await engine.execute(
            plan({"type": "enter_text", "params": {"matcher": named, "text": "hunter2"}}, timeoutMs=60_000)
        )
        await ended(engine)
        assert "hunter2" not in json.dumps(kept.runs[-1].to_dict())
