"""The device's log stream ends in the middle of an execution: attached again, the result is the same, and nothing is sent twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import EngineError, ErrorCode
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.events.types import CommandProgress, LogAttached, LogBatch, SnapshotSeen
from clawperator.engine.executions import build, log_stream
from tests.support import adb_environment, free_port, ran

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]

SLEEP = {"id": "nap", "type": "sleep", "params": {"durationMs": 1_500}}
SNAPSHOT = {"id": "snap", "type": "snapshot_ui"}


def plan(*actions: dict[str, Any]) -> dict[str, Any]:
    names = {"commandId": "attached", "taskId": "attached", "source": "tests"}
    return {**names, "expectedFormat": "android-ui-automator", "timeoutMs": 30_000, "actions": list(actions)}


def ends(step: int) -> dict[str, Any]:
    return {"kind": "log_stream_ends", "step": step}


@pytest.mark.parametrize("sdk", [23, 26, 30, 33, 34])
@pytest.mark.parametrize("step", [0, 1, 2])
async def test_a_log_that_ends_is_attached_again(connect: Connect, sdk: int, step: int) -> None:
    bench = await connect(device={"sdk": sdk}, faults=[ends(step)])
    with bench.engine.events.subscribe() as subscription:
        result = await bench.engine.execute(plan(SNAPSHOT, {**SNAPSHOT, "id": "again"}))
        seen = await subscription.batch()
    assert [step["success"] for step in result.envelope["stepResults"]] == [True, True]
    assert result.envelope["stepResults"][1]["data"]["text"].rstrip().endswith("</hierarchy>")
    assert bench.world.commands == 1
    assert len([event for event in seen if isinstance(event, SnapshotSeen) and event.complete]) == 2
    starts = [event for event in seen if isinstance(event, CommandProgress) and event.kind == "step-start"]
    assert len(starts) == len({event.fields["id"] for event in starts})


@pytest.mark.parametrize("sdk", [26, 34])
async def test_records_of_a_result_are_neither_lost_nor_doubled(
    connect: Connect, sdk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = await connect(device={"sdk": sdk, "generation": "1.0"}, faults=[{"kind": "huge_tree", "nodes": 400}])
    log, written = bench.world.log, 0
    write_all = log.write_all

    def ending(messages: Iterable[str], **head: Any) -> None:
        nonlocal written
        messages = list(messages)
        write_all(messages, **head)
        written += sum("-Result-Chunk] " in message for message in messages)
        if messages and "-Result-Chunk] " in messages[0] and written in (2, 40, 41):
            log.end_readers()

    monkeypatch.setattr(log, "write_all", ending)
    result = await bench.engine.execute(plan(SNAPSHOT))
    assert result.envelope["stepResults"][0]["data"]["text"].count("<node") == 400
    assert written > 41
    assert bench.world.commands == 1


async def test_those_who_watch_see_nothing_twice(connect: Connect) -> None:
    bench = await connect(faults=[ends(1)])
    device = AdbDevice(bench.engine.server, bench.serial)
    with bench.engine.events.subscribe() as subscription:
        watching = asyncio.create_task(bench.engine.watch_log(bench.serial))
        while not any(isinstance(event, LogAttached) for event in await subscription.batch()):
            pass
        await device.shell(["log", "-t", "mine", "before"])
        await bench.engine.snapshot()
        await device.shell(["log", "-t", "mine", "after"])
        lines: list[str] = []
        while "after" not in lines:
            for event in await subscription.batch():
                lines += [each.message for each in event.entries] if isinstance(event, LogBatch) else []
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
    assert (lines.count("before"), lines.count("after")) == (1, 1)
    assert len([line for line in lines if line.startswith("[Clawperator-Result]")]) == 1


@pytest.mark.usefixtures("impatient")
async def test_what_the_buffer_has_lost_is_lost(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """The envelope among it: the wait goes on to its end, and says that the command was sent."""
    bench = await connect(faults=[ends(1)])
    script = log_stream.resume_script
    monkeypatch.setattr(log_stream, "resume_script", lambda *given: f"logcat -c; {script(*given)}")
    with pytest.raises(EngineError) as caught:
        await bench.engine.execute(build.snapshot(), timeout_ms=1_000)
    error = caught.value.to_dict()
    assert (error["code"], error["broadcastDispatchStatus"]) == (ErrorCode.RESULT_ENVELOPE_TIMEOUT, "sent")
    assert bench.world.commands == 1


async def test_a_logcat_that_never_stays_is_given_up(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await connect(speed=1.0, faults=[ends(1)])
    monkeypatch.setattr(log_stream, "resume_script", lambda *_: "exit 3")
    with pytest.raises(EngineError) as caught:
        await bench.engine.execute(plan(SLEEP, SLEEP | {"id": "nap-2", "params": {"durationMs": 20_000}}))
    error = caught.value.to_dict()
    assert (error["code"], error["broadcastDispatchStatus"]) == (ErrorCode.LOGCAT_UNAVAILABLE, "sent")


class TestAdbServer:
    """An adb server of these tests alone, which they may restart."""

    @pytest.fixture
    def adb_env(self, tmp_path: Path) -> Iterator[dict[str, str]]:
        env = adb_environment(tmp_path, free_port())
        yield env
        asyncio.run(adb(env, "kill-server"))

    async def test_restarted_in_the_middle(self, connect: Connect) -> None:
        bench = await connect(speed=1.0)
        async with sleeping(bench) as running:
            await adb(bench.env, "kill-server")
            await adb(bench.env, "start-server")
            result = await running
        assert result.succeeded
        assert result.envelope["stepResults"][1]["data"]["text"].rstrip().endswith("</hierarchy>")
        assert bench.world.commands == 1

    async def test_stopped_for_good(self, connect: Connect) -> None:
        """The engine starts one itself, as for every command."""
        bench = await connect(speed=1.0)
        async with sleeping(bench) as running:
            await adb(bench.env, "kill-server")
            assert (await running).succeeded


@asynccontextmanager
async def sleeping(bench: Any) -> AsyncIterator[asyncio.Task[Any]]:
    """An execution that has begun with a pause on the device, and ends with a snapshot."""
    with bench.engine.events.subscribe() as subscription:
        running = asyncio.create_task(bench.engine.execute(plan(SLEEP, SNAPSHOT)))
        while not any(isinstance(event, CommandProgress) for event in await subscription.batch()):
            pass
        yield running


async def adb(env: dict[str, str], *words: str) -> None:
    assert (await ran("adb", *words, env=env)).exit_code == 0
