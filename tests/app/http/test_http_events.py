"""The event stream through a real client: order, resuming, filters, and those who do not read."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from tests.app.http.conftest import HOME, Serve, nap
from tests.app.http.sse import stream
from tests.support import CLI, patience, ran

RESULT, EXECUTION, EVENT = "clawperator:result", "clawperator:execution", "clawperator:event"


async def test_the_heartbeat_comes_first_and_the_result_before_the_execution(serve: Serve) -> None:
    served = await serve()
    async with stream(served.client) as events:
        assert (await events.next()).data["code"] == "CONNECTED"
        answer = (await served.execute(command="c1")).json()
        result = await events.next(RESULT, EXECUTION)
        execution = await events.next(RESULT, EXECUTION)
    assert result.name == RESULT
    assert result.data == {
        "deviceId": served.serial,
        "envelope": answer["envelope"],
        "executionId": answer["executionId"],
        "outcome": answer["outcome"],
    }
    assert execution.name == EXECUTION
    assert execution.data["input"]["commandId"] == "c1"
    assert execution.data["result"]["envelope"] == answer["envelope"]


async def test_progress_of_the_device_comes_while_it_works(serve: Serve) -> None:
    served = await serve()
    async with stream(served.client, type="event") as events:
        running = asyncio.create_task(served.execute(nap(800), command="c1"))
        kinds = [(await events.next(EVENT)).data["event"]["kind"]]
        assert not running.done()
        while kinds[-1] != "success":
            kinds.append((await events.next(EVENT)).data["event"]["kind"])
        await running
    assert "start" in kinds


async def test_what_never_reached_a_device_is_reported_as_well(serve: Serve) -> None:
    served = await serve()
    async with stream(served.client) as events:
        await served.execute(device="nobody")
        absent = await events.next(RESULT, EXECUTION)
        await served.execute({**HOME, "params": {"key": "enter"}})
        wrong = await events.next(RESULT, EXECUTION)
    assert (absent.name, absent.data["deviceId"]) == (EXECUTION, None)
    assert absent.data["result"]["error"]["code"] == "DEVICE_NOT_FOUND"
    assert wrong.data["result"]["error"]["code"] == "EXECUTION_VALIDATION_FAILED"
    assert wrong.data["input"]["actions"][0]["params"] == {"key": "enter"}


@pytest.mark.usefixtures("impatient")
async def test_silence_has_a_synthetic_envelope(serve: Serve) -> None:
    served = await serve(faults=[{"kind": "silence"}])
    async with stream(served.client) as events:
        await served.execute(command="c1", timeout_ms=1_000)
        result = await events.next(RESULT, EXECUTION)
    envelope = result.data["envelope"]
    assert result.name == RESULT
    assert envelope == {
        "commandId": "c1",
        "taskId": "task",
        "status": "failed",
        "stepResults": [],
        "error": "RESULT_ENVELOPE_TIMEOUT",
    }


async def test_another_programs_execution_is_seen(serve: Serve) -> None:
    served = await serve()
    async with stream(served.client, type=["event", "snapshot"]) as events:
        assert (await ran(*CLI, "observe", "snapshot", "--no-history", env=served.env)).exit_code == 0
        snapshot = await events.next("clawperator:snapshot")
    assert snapshot.data["deviceId"] == served.serial
    assert snapshot.data["complete"] is True
    seen = (await served.client.get(f"/devices/{served.serial}/snapshot", params={"maxAgeMs": 60_000})).json()
    assert seen["digest"] == snapshot.data["digest"]


async def test_a_client_that_comes_back_misses_nothing(serve: Serve) -> None:
    served = await serve()
    async with stream(served.client, type="execution") as events:
        await served.execute(command="c1")
        last = (await events.next(EXECUTION)).id
    for number in range(2, 6):
        await served.execute(command=f"c{number}")
    async with stream(served.client, last=last, type="execution") as events:
        missed = [(await events.next(EXECUTION)).data["input"]["commandId"] for _ in range(4)]
        await served.execute(command="c6")
        missed.append((await events.next(EXECUTION)).data["input"]["commandId"])
    assert missed == ["c2", "c3", "c4", "c5", "c6"]


async def test_what_is_asked_for_and_not_known_is_said(serve: Serve) -> None:
    served = await serve()
    for last in ("00000000-5", "nonsense", "-", "00000000-99999999999999999999"):
        async with stream(served.client, last=last) as events:
            await events.next("heartbeat")
            reset = await events.next()
        assert (reset.name, reset.data["reason"]) == ("clawperator:reset", "unknown")


async def test_filters_by_device_and_type(serve: Serve) -> None:
    served = await serve(devices=2)
    first, second = (world.serial for world in served.devices)
    async with stream(served.client, device=second, type="clawperator:execution") as events:
        await served.execute(device=first, command="one")
        await served.execute(device=second, command="two")
        assert (await events.next(EXECUTION, RESULT, EVENT)).data["input"]["commandId"] == "two"


async def test_events_are_as_their_schemas_say(serve: Serve) -> None:
    served = await serve()
    schemas = (await served.client.get("/events/schema")).json()["events"]
    seen: set[str] = set()
    async with stream(served.client) as events:
        await served.client.post("/observe/snapshot")
        while not {RESULT, EXECUTION, EVENT, "clawperator:snapshot"} <= seen:
            event = await events.next()
            Draft202012Validator(schemas[event.name]).validate(event.data)
            seen.add(event.name)


async def test_a_client_that_does_not_read_is_dropped_and_slows_no_one(serve: Serve, tmp_path: Path) -> None:
    served = await serve(faults=[{"kind": "huge_tree", "nodes": 3_000}], speed=0)
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as stalled:
        stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        stalled.sendall(f"GET /events HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
        async with stream(served.client, type="execution") as events:
            for number in range(60):
                answer = await served.client.post("/observe/snapshot")
                assert answer.json()["ok"] is True, number
                await events.next(EXECUTION)
                text = (await served.client.get("/metrics")).text
                if "clawperator_event_streams_dropped 1.0" in text:
                    break
            else:
                raise AssertionError("nobody was dropped")
        assert "clawperator_event_streams 1.0" in text  # the one that reads
    (log,) = (tmp_path / ".clawperator" / "logs").iterdir()
    async with asyncio.timeout(patience(20)):
        while '"event":"serve.sse.write_failed"' not in log.read_text():  # noqa: ASYNC110 -- another process writes it
            await asyncio.sleep(0.01)


@pytest.mark.ci
async def test_two_hundred_listeners_hear_everything(serve: Serve) -> None:
    served = await serve()

    async def listen(ready: asyncio.Semaphore) -> list[str]:
        async with stream(served.client, type="execution") as events:
            await events.next("heartbeat")
            ready.release()
            return [(await events.next(EXECUTION)).data["input"]["commandId"] for _ in range(3)]

    ready = asyncio.Semaphore(0)
    listeners = [asyncio.create_task(listen(ready)) for _ in range(200)]
    for _ in listeners:
        await ready.acquire()
    for number in range(3):
        await served.execute(command=f"c{number}")
    assert await asyncio.gather(*listeners) == [["c0", "c1", "c2"]] * 200
