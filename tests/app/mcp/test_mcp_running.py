"""A call while it runs: its progress, the client that gives it up, and what is said about that afterwards."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace
from typing import Any

import pytest

from clawperator.app.mcp.answers import Reply
from clawperator.app.mcp.progress import Progress
from clawperator.app.mcp.server import run_tool
from clawperator.app.mcp.service import Call, McpService
from clawperator.app.mcp.tools import TOOLS
from clawperator.app.serve.verbs import Arguments
from clawperator.engine import Engine, Settings, fan_out
from clawperator.engine.contracts.caller import Caller
from clawperator.engine.events.types import ExecutionStarted
from clawperator.engine.history.store import History
from tests.app.mcp.conftest import HOME, LOOK, MODES, Agent, Place, Visit, document, nap, plan


async def test_progress_grows_with_every_step(visit: Visit) -> None:
    place = await visit()
    async with place.talk() as agent:
        await agent.ok("execute", execution=plan(HOME, nap(20), LOOK))
        values = [value for value, *_ in agent.reported]
        assert values == sorted(set(values))
        assert {total for _, total, _ in agent.reported} == {3}
        assert [message for *_, message in agent.reported] == [
            f"sent to {place.serial}",
            "1 of 3: press_key (home)",
            "1 of 3: press_key (home): done",
            "2 of 3: sleep (nap)",
            "2 of 3: sleep (nap): done",
            "3 of 3: snapshot_ui (look)",
            "3 of 3: snapshot_ui (look): done",
        ]


async def test_two_devices_work_at_the_same_time(visit: Visit, monkeypatch: pytest.MonkeyPatch) -> None:
    place = await visit(devices=2)
    first, second = (device.serial for device in place.devices)
    released, clock = asyncio.Event(), place.devices[0].clock
    sleep = clock.sleep

    async def sleep_until_released(seconds: float) -> None:
        await (released.wait() if seconds == 1.5 else sleep(seconds))

    monkeypatch.setattr(clock, "sleep", sleep_until_released)
    async with place.talk() as agent:
        slow = asyncio.create_task(agent.call("execute", execution=plan(nap(1_500)), deviceId=first))
        await agent.hears("1 of 1: sleep")
        await agent.ok("act", type="press_key", key="home", deviceId=second)
        busy = await agent.refused("act", type="press_key", key="home", deviceId=first)
        assert (busy["code"], busy["retryable"]) == ("EXECUTION_CONFLICT_IN_FLIGHT", True)
        assert not slow.done()
        released.set()
        await agent.ok("act", type="press_key", key="home", deviceId=first, waitMs=60_000)
        assert slow.done()
        assert document(await slow)["outcome"]["status"] == "succeeded"


async def given_up(agent: Agent) -> None:
    """Give up an execution in its middle, as a client does whose patience is over."""
    call = asyncio.create_task(agent.call("execute", execution=plan(nap(1_200))))
    await agent.hears("1 of 1: sleep")
    call.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await call


async def truth(agent: Agent, place: Place) -> None:
    """The client hears what became of the call that it gave up, until an answer about that device came through."""
    while (row := (await agent.ok("devices"))["devices"][0])["lock"]["state"] != "settling":
        pass  # the cancellation is on its way, and no answer comes to it
    assert row["interrupted"]["broadcastDispatchStatus"] == "sent"
    refused = await agent.call("snapshot")
    answer = document(refused)
    assert (answer["error"]["code"], answer["error"]["retryable"]) == ("EXECUTION_CONFLICT_IN_FLIGHT", True)
    assert answer["interrupted"]["code"] == "INTERRUPTED"
    assert answer["interrupted"]["broadcastDispatchStatus"] == "sent"
    assert answer["interrupted"]["deviceId"] == place.serial
    while (looked := await agent.call("snapshot")).is_error:
        assert document(looked)["error"]["code"] == "EXECUTION_CONFLICT_IN_FLIGHT"
    assert "it may still act" in document(looked)["interrupted"]["message"]
    assert "interrupted" not in await agent.ok("snapshot")
    assert "interrupted" not in (await agent.ok("devices"))["devices"][0]


async def test_a_dump_of_a_call_that_is_given_up_ends_on_the_device(visit: Visit) -> None:
    """The SDK repeats its cancellation at every await: what ends the dump must not be cancelled, too."""
    place = await visit(operator={"installed": False}, start={"package": "com.example.spinner"})
    dumps = place.devices[0].accessibility
    async with place.talk() as agent:
        call = asyncio.create_task(agent.call("snapshot", backend="stock"))
        async with asyncio.timeout(20):
            while not dumps.dumping:  # noqa: ASYNC110 -- the device announces nothing
                await asyncio.sleep(0.01)
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await call
            while (await agent.ok("devices"))["devices"][0].get("interrupted") is None:
                pass
        assert not dumps.dumping


async def test_a_plan_on_many_devices_that_is_given_up_starts_no_other(
    visit: Visit, monkeypatch: pytest.MonkeyPatch
) -> None:
    defaults = fan_out.report.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "jobs", 2)
    place = await visit(devices=4)
    async with place.talk() as agent:
        call = asyncio.create_task(agent.call("execute", execution=plan(nap(1_200)), devices="all"))
        async with asyncio.timeout(20):
            while sum(device.commands for device in place.devices) < 2:  # noqa: ASYNC110 -- the devices announce nothing
                await asyncio.sleep(0.01)
            call.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await call
            rows: list[dict[str, Any]] = [{}]
            while not all("interrupted" in row for row in rows):
                rows = (await agent.ok("devices"))["devices"]
        assert [row["interrupted"]["broadcastDispatchStatus"] for row in rows] == [
            "sent",
            "sent",
            "not_sent",
            "not_sent",
        ]
        assert [row["interrupted"]["code"] for row in rows] == ["INTERRUPTED", "INTERRUPTED", "NOT_RUN", "NOT_RUN"]
        last = rows[-1]["serial"]
        assert (await agent.ok("act", type="press_key", key="home", deviceId=last))["interrupted"]["code"] == "NOT_RUN"
    assert [device.commands for device in place.devices] == [1, 1, 0, 1]
    with History.open(str(place.folder / "state" / "clawperator" / "history.db")) as history:
        results = [entry for entry in history.audit(events=("result",)) if entry.code]
    assert [entry.code for entry in results] == ["INTERRUPTED"] * 2


@pytest.mark.parametrize("mode", [MODES[0], pytest.param(MODES[1], marks=pytest.mark.ci)])
async def test_a_call_that_is_given_up_may_still_act(visit: Visit, mode: str) -> None:
    place = await visit()
    async with place.talk_to_process(mode=mode) as agent:
        await given_up(agent)
        await truth(agent, place)
    assert agent.errors is not None
    assert "may still act" in agent.errors.read_text()
    with History.open(str(place.folder / "state" / "clawperator" / "history.db")) as history:
        codes = [entry.code for entry in history.audit(events=("result",))]
    assert "INTERRUPTED" in codes


async def test_before_it_is_sent_nothing_happened(visit: Visit) -> None:
    place = await visit(latency_ms={"round_trip": 200})
    said: list[str] = []

    async def unheard(*_: object) -> None:
        pass

    async with Engine(Settings.resolve({}, place.env)) as engine:
        service = McpService(engine, screenshots_dir=str(place.folder), log_line=said.append)
        call = Call(Progress(unheard), Caller("me"))
        with engine.events.subscribe() as events:
            running = asyncio.create_task(service.execute(call, whole(HOME)))
            async for event in events:
                if isinstance(event, ExecutionStarted):
                    break
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await running
        cut_off = service.cancelled_call(call, place.serial)
        assert cut_off is not None
        assert cut_off.to_dict()["broadcastDispatchStatus"] == "not_sent"
        assert service.cancelled_call(Call(call.progress, Caller("somebody else")), place.serial) is None
        assert engine.lock(place.serial).state == "free"
        assert "before the command was sent" in said[0]


async def test_what_had_ended_is_said_to_have_ended(visit: Visit) -> None:
    """The client gives up while its answer is being made: nothing is unknown then."""
    place = await visit()
    made = asyncio.Event()

    async def slow(service: McpService, call: Call, arguments: Arguments) -> Reply:
        result = await service.execute(call, whole(HOME), device_id=arguments.get("deviceId"))
        made.set()
        await asyncio.Event().wait()
        return Reply(result.to_dict())

    async def unheard(*_: object) -> None:
        pass

    async with Engine(Settings.resolve({}, place.env)) as engine:
        service = McpService(engine, screenshots_dir=str(place.folder))
        call = Call(Progress(unheard))
        asked = run_tool(service, replace(TOOLS["execute"], run=slow), call, {"execution": plan(HOME)})
        running = asyncio.create_task(asked)
        await made.wait()
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running
        cut_off = service.cancelled_call(call, place.serial)
        assert cut_off is not None
        assert "had run to its end (success)" in cut_off.to_dict()["message"]
        assert engine.lock(place.serial).state == "free"


def whole(*actions: dict[str, Any]) -> dict[str, Any]:
    usual = {"commandId": "c", "taskId": "t", "source": "s", "expectedFormat": "android-ui-automator"}
    return {**usual, "timeoutMs": 10_000, "actions": list(actions)}
