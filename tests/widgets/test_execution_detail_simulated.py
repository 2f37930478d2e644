"""Real runs of the engine on a simulated device, as the execution view and the comparison show them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from clawperator.engine.config.settings import Settings
from clawperator.engine.events.bus import Subscription
from clawperator.engine.events.types import EngineEvent, EnvelopeSeen, LogAttached, SnapshotSeen
from clawperator.engine.facade import Engine
from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from clawperator.widgets.execution_detail import DetailTab
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.executions import ExecutionLog
from clawperator.widgets.models.run_diff import step_pairs, tree_counts, tree_pairs, value_changes
from clawperator.widgets.models.status import Status
from clawperator.widgets.models.timeline import timeline
from tests.app.console.support import drained
from tests.support import patience
from tests.widgets.pane_app import lines
from tests.widgets.test_execution_detail import looking


def payload(command: str, text: str) -> dict[str, Any]:
    return {
        "commandId": command,
        "taskId": "look",
        "source": "test",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 15_000,
        "actions": [
            {"id": "open", "type": "open_app", "params": {"applicationId": "com.android.settings"}},
            {"id": "before", "type": "snapshot_ui"},
            {
                "id": "find",
                "type": "wait_for_node",
                "params": {"matcher": {"textEquals": text}, "retry": {"maxAttempts": 2}},
            },
            {"id": "after", "type": "snapshot_ui"},
        ],
    }


async def played(home: Path, *payloads: Mapping[str, Any]) -> tuple[list[ExecutionState], dict[str, str]]:
    """What a console knows of these runs when their results have passed in the log, and the trees by their keys."""
    world = create_device(Scenario.model_validate({"speed": 0}))
    events: list[EngineEvent] = []
    async with (
        Simulation([world], mode="server") as simulation,
        Engine(Settings.resolve(env={**simulation.env(), "HOME": str(home)}), strict=False) as engine,
    ):
        with engine.events.subscribe() as news:
            watching = asyncio.create_task(engine.watch_log(world.serial))
            await _heard(news, events, LogAttached)
            for each in payloads:
                await engine.execute(each, device_id=world.serial)
                await _heard(news, events, EnvelopeSeen)
            watching.cancel()
            await asyncio.gather(watching, return_exceptions=True)
    log = ExecutionLog()
    log.apply(events)
    trees = {f"{event.command_id}/{event.step_id}": event.xml for event in events if isinstance(event, SnapshotSeen)}
    return list(log.executions), trees


async def _heard(news: Subscription, events: list[EngineEvent], kind: type[EngineEvent]) -> None:
    async with asyncio.timeout(patience(20)):
        came: list[EngineEvent] = []
        while not any(isinstance(event, kind) for event in came):
            came = await news.batch()
            events += came


async def test_two_runs_of_one_task_in_full_and_compared(tmp_path: Path) -> None:
    (good, bad), trees = await played(tmp_path, payload("sim-1", "Display"), payload("sim-2", "No such row"))
    assert (good.status, bad.status, bad.code) == (Status.OK, Status.FAILED, "NODE_NOT_FOUND")
    assert good.payload is not None
    assert [mark.step_id for mark in good.trees] == ["before", "after"]
    assert {"validate", "attach", "run"} <= set(good.phases)

    line = timeline(bad, bad.ended)
    assert [step.status for step in line.steps] == [Status.OK, Status.OK, Status.FAILED, Status.SKIPPED]
    assert line.steps[2].ticks, "its retry is on the time line"

    changes = {change.path for change in value_changes(good.payload, bad.payload)}
    assert changes == {("commandId",), ("actions", "find", "params", "matcher", "textEquals")}
    assert [pair.differs for pair in step_pairs(good, bad)] == [False, False, True, True]
    pair = tree_pairs(good, bad)[0]
    assert pair.a is not None
    assert pair.b is not None
    assert not tree_counts(parse(trees[pair.a.key]), parse(trees[pair.b.key])), "the same screen in both runs"

    async with looking(size=(120, 40)) as (app, pilot, pane):
        pane.show(bad)
        text: dict[str, str] = {}
        for tab in DetailTab:
            await drained(pilot)
            text[tab.value] = "\n".join(lines(app))
            await pilot.press("l")
        assert "The plan failed at step 3 (wait_for_node)." in text["Steps"]
        assert "not run" in text["Steps"]
        assert "step 2  before" in text["Trees"]
        assert '"errorCode": "NODE_NOT_FOUND"' in text["Envelope"]
        assert '"textEquals": "No such row"' in text["Payload"]
        assert "open log" in text["Phases"]
        assert '"commandId":"sim-2"' in text["Raw"]
