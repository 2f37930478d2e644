"""The Operator says nothing: one read of the device decides whether waiting makes sense, and only silence costs that read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clawperator.engine import EngineError, ErrorCode
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.doctor import blockers
from clawperator.engine.doctor.blockers import Blockers
from clawperator.engine.doctor.check import Check
from clawperator.engine.events.types import CommandProgress
from clawperator.engine.executions import build

from .conftest import failure

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]

LOST = {"kind": "lost_broadcast"}
SLEEP = {"id": "one", "type": "sleep", "params": {"durationMs": 10}}


def steps(*actions: dict[str, Any]) -> dict[str, Any]:
    names = {"commandId": "early-end", "taskId": "early-end", "source": "tests"}
    return {**names, "expectedFormat": "android-ui-automator", "timeoutMs": 90_000, "actions": list(actions)}


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Blockers]:
    """What was read of the device's state so far."""
    read, found = blockers.read_blockers, list[Blockers]()

    async def noted(*arguments: Any, **more: Any) -> Blockers:
        found.append(await read(*arguments, **more))
        return found[-1]

    monkeypatch.setattr(blockers, "read_blockers", noted)
    return found


@pytest.mark.parametrize(
    ("scenario", "summary", "remedy"),
    [
        ({"operator": {"enabled": False}, "faults": [LOST]}, "is switched off", "grant-device-permissions"),
        ({"faults": [LOST, {"kind": "service_down"}]}, "not running", "--force"),
        ({"faults": [LOST, {"kind": "service_down", "how": "crashed"}]}, "not running", "--force"),
        ({"faults": [LOST, {"kind": "ui_automation_held"}]}, "not running", "UiAutomation"),
        ({"faults": [LOST], "operator": {"enabled": False}, "device": {"sdk": 26}}, "is switched off", "grant-device"),
    ],
    ids=["off", "unbound", "crashed", "uiautomation", "off, Android 8"],
)
async def test_a_service_that_does_not_run_ends_the_wait(
    connect: Connect, reads: list[Blockers], scenario: dict[str, Any], summary: str, remedy: str
) -> None:
    bench = await connect(**scenario)
    error = await failure(bench.engine, build.snapshot())
    assert error["code"] == ErrorCode.SERVICE_UNAVAILABLE
    assert summary in error["message"]
    assert remedy in error["hint"]
    assert error["broadcastDispatchStatus"] == "sent"
    assert error["details"]["commandId"]
    assert (len(reads), bench.world.commands) == (1, 1)
    assert bench.engine.lock(bench.serial).state == "settling"


async def test_a_service_that_runs_is_waited_for_however_slow_it_is(connect: Connect, reads: list[Blockers]) -> None:
    bench = await connect(speed=1.0, latency_ms={"delivery": 5_000})
    assert (await bench.engine.snapshot()).succeeded
    assert reads == [Blockers(None, None, resumes_ms=1_000)]
    assert bench.world.commands == 1


async def test_a_service_that_never_starts_ends_the_wait(connect: Connect, reads: list[Blockers]) -> None:
    bench = await connect(faults=[LOST, {"kind": "service_down", "how": "binding"}])
    error = await failure(bench.engine, build.snapshot())
    assert (error["code"], len(reads)) == (ErrorCode.SERVICE_UNAVAILABLE, 2)
    assert "It is starting" in error["details"]["detail"]
    assert error["broadcastDispatchStatus"] == "sent"


async def test_a_service_that_is_being_started_is_waited_for(
    connect: Connect, reads: list[Blockers], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is bound when it is asked for again, and the Operator answers after that."""
    bench = await connect(speed=1.0, latency_ms={"delivery": 4_000})
    read, starting = blockers.read_blockers, Check("readiness.accessibility.bound", "warn", "does not run")

    async def first_starting(*arguments: Any, **more: Any) -> Blockers:
        state = await read(*arguments, **more)
        return Blockers(starting, None, starting=True) if len(reads) == 1 else state

    monkeypatch.setattr(blockers, "read_blockers", first_starting)
    assert (await bench.engine.snapshot()).succeeded
    assert (len(reads), bench.world.commands) == (2, 1)


@pytest.mark.usefixtures("impatient")
async def test_a_read_that_fails_decides_nothing(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any, **__: Any) -> Blockers:
        raise EngineError(ErrorCode.DEVICE_SHELL_UNAVAILABLE, "oops")

    bench = await connect(faults=[LOST], operator={"enabled": False})
    monkeypatch.setattr(blockers, "read_blockers", broken)
    error = await failure(bench.engine, build.snapshot(), timeout_ms=1_000)
    assert error["code"] == ErrorCode.RESULT_ENVELOPE_TIMEOUT


@pytest.mark.parametrize("sdk", [23, 26, 33, 34])
async def test_a_crash_ends_the_wait(connect: Connect, sdk: int) -> None:
    bench = await connect(device={"sdk": sdk}, faults=[{"kind": "crash", "step": 2}])
    error = await failure(bench.engine, steps(SLEEP, SLEEP | {"id": "two"}, SLEEP | {"id": "three"}))
    assert error["code"] == ErrorCode.SERVICE_UNAVAILABLE
    assert error["details"]["reason"] == "FATAL EXCEPTION: DefaultDispatcher-worker-1"
    assert "grant-device-permissions" in error["hint"]
    assert error["broadcastDispatchStatus"] == "sent"
    assert [step["status"] for step in error["outcome"]["steps"]] == ["done", "unknown", "unknown"]
    assert bench.world.commands == 1


async def test_a_process_that_is_killed_ends_the_wait(connect: Connect) -> None:
    """As by `am force-stop`, or for want of memory: the process says nothing, its parent does."""
    bench = await connect(speed=1.0)
    running = asyncio.create_task(failure(bench.engine, steps(SLEEP | {"params": {"durationMs": 60_000}})))
    await begun(bench)
    await AdbDevice(bench.engine.server, bench.serial).shell(["am", "force-stop", "com.clawperator.operator"])
    error = await running
    assert error["code"] == ErrorCode.SERVICE_UNAVAILABLE
    assert error["details"]["reason"].endswith("exited due to signal 9 (Killed)")
    assert error["broadcastDispatchStatus"] == "sent"


async def test_the_crash_of_another_app_ends_nothing(connect: Connect) -> None:
    bench = await connect(speed=1.0)
    running = asyncio.create_task(bench.engine.execute(steps(SLEEP | {"params": {"durationMs": 1_000}})))
    await begun(bench)
    log = bench.world.log
    pid = bench.world.operators["com.clawperator.operator"].pid
    for uid, tag, message in (
        (10_200, "AndroidRuntime", f"FATAL EXCEPTION: main\nProcess: com.clawperator.operator, PID: {pid}"),
        (10_200, "Zygote", f"Process {pid} exited due to signal 9 (Killed)"),
        (0, "Zygote", "Process 4711 exited due to signal 9 (Killed)"),
        (10_200, "libc", f"Fatal signal 6 (SIGABRT) in tid {pid}, pid {pid}"),
    ):
        log.write(pid=4711, tid=4711, uid=uid, level="E", tag=tag, message=message)
    assert (await running).succeeded


async def begun(bench: Any) -> None:
    """Return when the Operator has said that the command runs."""
    with bench.engine.events.subscribe() as subscription:
        while not any(isinstance(event, CommandProgress) for event in await subscription.batch()):
            pass


async def test_what_goes_well_costs_no_read(connect: Connect, reads: list[Blockers]) -> None:
    bench = await connect(device={"locked": True})
    result = await bench.engine.snapshot()
    assert (result.succeeded, result.warnings, reads) == (True, (), [])


async def test_a_snapshot_of_a_dark_screen_says_so(connect: Connect, reads: list[Blockers]) -> None:
    bench = await connect(device={"awake": False})
    result = await bench.engine.snapshot()
    assert result.envelope["errorCode"] == ErrorCode.UI_TREE_UNAVAILABLE
    (warning,) = result.warnings
    assert warning["code"] == "SCREEN_OFF"
    assert "clawperator device wake" in warning["message"]
    assert len(reads) == 1


async def test_a_slow_snapshot_of_a_locked_device_says_so(connect: Connect, reads: list[Blockers]) -> None:
    bench = await connect(speed=1.0, device={"locked": True}, latency_ms={"delivery": 2_000})
    result = await bench.engine.snapshot()
    assert (result.succeeded, [warning["code"] for warning in result.warnings]) == (True, ["SCREEN_LOCKED"])
    assert len(reads) == 1


async def test_a_snapshot_that_begins_at_once_and_takes_long_says_so_too(connect: Connect) -> None:
    bench = await connect(speed=1.0, device={"locked": True}, latency_ms={"dump": 2_500})
    result = await bench.engine.snapshot()
    assert (result.succeeded, [warning["code"] for warning in result.warnings]) == (True, ["SCREEN_LOCKED"])


@pytest.mark.usefixtures("impatient")
async def test_a_timeout_on_a_locked_device_says_so(connect: Connect) -> None:
    bench = await connect(device={"locked": True}, faults=[{"kind": "silence"}])
    error = await failure(bench.engine, build.snapshot(), timeout_ms=1_000)
    assert error["code"] == ErrorCode.RESULT_ENVELOPE_TIMEOUT
    assert [warning["code"] for warning in error["warnings"]] == ["SCREEN_LOCKED"]


async def test_the_doctor_s_handshake_names_the_service(connect: Connect) -> None:
    bench = await connect(operator={"enabled": False}, faults=[LOST])
    checks = {check.id: check async for check in bench.engine.doctor().checks()}
    handshake = checks["readiness.handshake"]
    assert handshake.code is ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING
    assert handshake.detail == checks["readiness.accessibility.enabled"].summary
