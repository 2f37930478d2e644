"""Every Operator generation and both brands: an execution, a tree, failures, and what a busy log loses, through the real adb."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import EngineError
from clawperator.engine.events.types import EnvelopeSeen, LogAttached, SnapshotSeen
from clawperator.engine.recordings.pull import pull
from clawperator.engine.version import OPERATOR_RELEASES
from tests.journeys.conftest import Bench

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Bench]]
GENERATIONS = list(OPERATOR_RELEASES)
NEWER = GENERATIONS[GENERATIONS.index("0.10") :]


def plan(*actions: dict[str, Any], command_id: str = "gen") -> dict[str, Any]:
    head = {"commandId": command_id, "taskId": "t", "source": "tests", "expectedFormat": "android-ui-automator"}
    return {**head, "timeoutMs": 10_000, "actions": list(actions)}


OPEN = {"id": "open", "type": "open_app", "params": {"applicationId": "com.android.settings"}}
LOOK = {"id": "look", "type": "snapshot_ui"}
TAP = {"id": "tap", "type": "click", "params": {"matcher": {"textEquals": "Display"}}}
MISS = {"id": "miss", "type": "click", "params": {"matcher": {"textEquals": "Nowhere"}, "retry": {"maxAttempts": 1}}}


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_a_plan_runs_and_its_trees_are_seen(connect: Connect, generation: str) -> None:
    bench = await connect(device={"generation": generation})
    with bench.engine.events.subscribe() as subscription:
        result = await bench.engine.execute(plan(OPEN, LOOK, TAP, {**LOOK, "id": "again"}))
        seen = [event for event in await subscription.batch() if isinstance(event, SnapshotSeen)]
    assert result.outcome.status == "succeeded"
    texts = [step["data"]["text"] for step in result.envelope["stepResults"] if step["actionType"] == "snapshot_ui"]
    assert "Network" in texts[0]
    assert texts[0] != texts[1]
    assert [event.xml for event in seen] == texts
    assert [event.step_id for event in seen] == ["look", "again"]
    assert bench.world.commands == 1


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_a_failure_names_its_step_and_code(connect: Connect, generation: str) -> None:
    bench = await connect(device={"generation": generation})
    result = await bench.engine.execute(plan(OPEN, MISS, LOOK))
    outcome = result.outcome.to_dict()
    assert [step["status"] for step in outcome["steps"]] == ["done", "failed", "not_run"]
    assert (outcome["failedStep"]["id"], outcome["error"]["code"]) == ("miss", "NODE_NOT_FOUND")


@pytest.mark.parametrize("generation", NEWER)
async def test_a_result_that_the_log_loses_is_known_at_once(connect: Connect, generation: str) -> None:
    bench = await connect(
        speed=1, device={"generation": generation}, faults=[{"kind": "lost_records", "records": [1], "commands": [1]}]
    )
    payload = plan(OPEN, *({**TAP, "id": f"s{n}", "type": "read_text"} for n in range(40)), command_id="lost")
    with pytest.raises(EngineError) as caught:
        await bench.engine.execute(payload)
    error = caught.value.to_dict()
    assert error["code"] == "RESULT_ENVELOPE_MALFORMED"
    transport = error["details"]["transport"]
    assert transport["receivedChunks"] == transport["expectedChunks"] - 1
    assert error["outcome"]["status"] == "unknown"
    assert bench.world.commands == 1
    rest = await bench.engine.execute(plan(LOOK, command_id="after"))
    assert rest.outcome.status == "succeeded"


async def test_of_two_brands_the_one_whose_service_is_on_is_used(connect: Connect) -> None:
    bench = await connect(device={"generation": "0.12"})
    bench.world.add_operator("com.androperator.operator")
    result = await bench.engine.execute(plan(LOOK))
    assert result.outcome.status == "succeeded"
    bench.world.accessibility.disable(bench.world.operators["com.clawperator.operator"].service)
    bench.world.accessibility.enable(bench.world.operators["com.androperator.operator"].service)
    bench.engine._probe.forget(bench.serial)
    result = await bench.engine.execute(plan(LOOK, command_id="renamed"))
    assert result.outcome.status == "succeeded"
    status = await bench.engine.operator_app().status()
    assert (status.package, status.bound) == ("com.androperator.operator", True)


@pytest.mark.parametrize("generation", GENERATIONS)
async def test_the_doctor_finds_the_app_ready(connect: Connect, generation: str) -> None:
    bench = await connect(device={"generation": generation})
    doctor = bench.engine.doctor()
    checks = {check.id: check async for check in doctor.checks()}
    assert doctor.package == bench.world.operator_package
    for name in ("readiness.apk.presence", "readiness.version.compatibility", "readiness.handshake"):
        assert checks[name].status == "pass", checks[name]


async def test_the_service_of_the_renamed_app_is_switched_on(connect: Connect) -> None:
    bench = await connect(device={"generation": "1.0"}, operator={"enabled": False})
    report = await bench.engine.operator_app().grant()
    assert report.package == "com.androperator.operator"
    assert bench.world.accessibility.bound(
        report.package + "/androperator.operator.accessibilityservice.OperatorAccessibilityService"
    )
    assert (await bench.engine.operator_app().status()).bound
    assert (await bench.engine.execute(plan(LOOK))).outcome.status == "succeeded"


async def test_everything_about_the_app_finds_the_renamed_one(connect: Connect, tmp_path: Path) -> None:
    """Its log, its version and its recordings, where nobody named the app."""
    bench = await connect(device={"generation": "1.0"})
    with bench.engine.events.subscribe() as subscription:
        watching = asyncio.create_task(bench.engine.watch_log(bench.serial))
        while not any(isinstance(event, LogAttached) for event in await subscription.batch()):
            pass
        other = bench.another_engine()
        async with other:
            await other.execute(plan(OPEN, LOOK, command_id="theirs"))
        seen: list[Any] = []
        while not any(isinstance(event, EnvelopeSeen) for event in seen):
            seen += await subscription.batch()
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    (envelope,) = [event for event in seen if isinstance(event, EnvelopeSeen)]
    assert (envelope.command_id, envelope.problem) == ("theirs", "")
    assert any(isinstance(event, SnapshotSeen) and "Network" in event.xml for event in seen)
    assert (await bench.engine.operator_app().compatibility()).compatible
    for kind in ("start_recording", "stop_recording"):
        step = {"id": kind, "type": kind, "params": {"sessionId": "one"}}
        assert (await bench.engine.execute(plan(step, command_id=kind))).outcome.status == "succeeded"
    assert (await pull(bench.engine, str(tmp_path / "recordings"))).session_id == "one"


@pytest.mark.parametrize("column", [*GENERATIONS, "stock"])
async def test_strict_and_container_are_honoured(connect: Connect, column: str) -> None:
    """Never dropped: without them another node would be clicked."""
    stock = column == "stock"
    scenario: dict[str, Any] = {"operator": {"installed": False}} if stock else {"device": {"generation": column}}
    bench = await connect(start={"package": "com.android.settings"}, **scenario)
    how: dict[str, Any] = {"backend": "stock"} if stock else {}
    texts = {"textContains": "a"}
    several = plan({"id": "s", "type": "click", "params": {"matcher": texts, "strict": True}}, command_id="several")
    one = {"matcher": {"textEquals": "Battery"}, "container": {"role": "list"}, "strict": True}
    refused = (await bench.engine.execute(several, **how)).outcome.to_dict()
    assert (refused["status"], refused["error"]["code"]) == ("failed", "NODE_AMBIGUOUS")
    elsewhere = {**one, "container": {"textEquals": "Battery"}}
    missing = plan({"id": "s", "type": "click", "params": elsewhere}, command_id="missing")
    outcome = (await bench.engine.execute(missing, **how)).outcome.to_dict()
    assert outcome["error"]["code"] == "NODE_NOT_FOUND"  # a container is no descendant of itself
    inside = plan({"id": "s", "type": "click", "params": one}, command_id="inside")
    assert (await bench.engine.execute(inside, **how)).outcome.status == "succeeded"


STRICT_STEPS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("wait_for_node", {}),
    ("read_text", {}),
    ("enter_text", {"text": "x"}),
    ("scroll_until", {}),
    ("scroll_and_click", {}),
)


@pytest.mark.parametrize("column", ["0.5", "0.10", "1.0", "stock"])
@pytest.mark.parametrize(("kind", "more"), STRICT_STEPS, ids=[kind for kind, _ in STRICT_STEPS])
async def test_strict_refuses_several_nodes_in_every_action(
    connect: Connect, column: str, kind: str, more: dict[str, Any]
) -> None:
    stock = column == "stock"
    scenario: dict[str, Any] = {"operator": {"installed": False}} if stock else {"device": {"generation": column}}
    bench = await connect(start={"package": "com.android.settings"}, **scenario)
    step = {"id": "s", "type": kind, "params": {"matcher": {"textContains": "a"}, "strict": True, **more}}
    result = await bench.engine.execute(plan(step), backend="stock" if stock else None)
    assert result.outcome.to_dict()["error"]["code"] == "NODE_AMBIGUOUS"


@pytest.mark.parametrize("column", [*GENERATIONS, "stock"])
async def test_an_ambiguous_selector_is_told_apart(connect: Connect, column: str) -> None:
    """Each candidate has a selector that finds only it, where the tree is known; else the device's words are passed on."""
    stock = column == "stock"
    scenario: dict[str, Any] = {"operator": {"installed": False}} if stock else {"device": {"generation": column}}
    bench = await connect(start={"package": "com.android.settings"}, **scenario)
    how: dict[str, Any] = {"backend": "stock"} if stock else {}
    tap = {"id": "tap", "type": "click", "params": {"matcher": {"textContains": "a"}, "strict": True}}
    result = await bench.engine.execute(plan(LOOK, tap), **how)
    error = result.outcome.to_dict()["error"]
    assert error["code"] == "NODE_AMBIGUOUS"
    details = error["details"]
    assert details["selector"] == {"textContains": "a"}
    assert details["matches"] > 1
    assert len(details["candidates"]) == min(details["matches"], 10)
    assert details["tree"]["current"]
    for number, candidate in enumerate(details["candidates"]):
        assert candidate["unique"]
        read = {"id": "r", "type": "read_text", "params": {"matcher": candidate["selector"], "strict": True}}
        again = await bench.engine.execute(plan(read, command_id=f"again{number}"), **how)
        assert again.envelope["stepResults"][0]["data"]["text"] == candidate["text"]


@pytest.mark.parametrize("generation", NEWER)
async def test_what_the_device_says_of_several_nodes_is_told_apart(connect: Connect, generation: str) -> None:
    bench = await connect(start={"package": "com.android.settings"}, device={"generation": generation})
    tap = {"id": "tap", "type": "click", "params": {"matcher": {"textContains": "a"}, "strict": True}}
    error = (await bench.engine.execute(plan(tap, command_id="strict"))).outcome.to_dict()["error"]
    assert error["details"]["matches"] > 1
    assert all(candidate["text"] and len(candidate["bounds"]) == 4 for candidate in error["details"]["candidates"])
    loose = {"id": "tap", "type": "click", "params": {"matcher": {"textContains": "a"}}}
    done = (await bench.engine.execute(plan(loose, command_id="loose"))).to_dict()
    assert done["outcome"]["status"] == "succeeded"
    matched = error["details"]["matches"]
    message = f'Step "tap": {matched} nodes matched, and the device took the first'
    warning = {"code": "MATCHER_AMBIGUOUS", "path": "actions.0.params.matcher", "message": message}
    assert done["warnings"] == [warning]


RELATED = (
    ({"textEquals": "Battery", "ancestor": {"role": "list"}}, True),
    ({"role": "list", "descendant": {"textEquals": "Battery"}}, True),
    ({"textEquals": "Battery", "ancestor": {"textEquals": "Battery"}}, False),
    ({"textEquals": "Battery", "descendant": {"textEquals": "Display"}}, False),
)


@pytest.mark.parametrize("column", [*GENERATIONS, "stock"])
async def test_relations_are_honoured(connect: Connect, column: str) -> None:
    """Never dropped: an older app would take another node, or refuse the plan in silence."""
    stock = column == "stock"
    scenario: dict[str, Any] = {"operator": {"installed": False}} if stock else {"device": {"generation": column}}
    bench = await connect(start={"package": "com.android.settings"}, **scenario)
    for number, (matcher, there) in enumerate(RELATED):
        step = {"id": "s", "type": "wait_for_node", "params": {"matcher": matcher, "retry": {"maxAttempts": 1}}}
        payload = plan(step, command_id=f"related{number}")
        outcome = (await bench.engine.execute(payload, backend="stock" if stock else None)).outcome.to_dict()
        assert (outcome["status"] == "succeeded") is there, matcher
        if not there:
            assert outcome["error"]["code"] == "NODE_NOT_FOUND"
            assert outcome["error"]["details"]["selector"] == matcher
