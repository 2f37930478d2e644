"""The Operator says nothing: one read of the device decides whether waiting makes sense, and only silence costs that read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clawperator.engine import Engine, EngineError, ErrorCode
from clawperator.engine.doctor import device_state
from clawperator.engine.doctor.device_state import DeviceState
from clawperator.engine.executions import build

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]

LOST = {"kind": "lost_broadcast"}


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[DeviceState]:
    """What was read of the device's state so far."""
    read, found = device_state.read_state, list[DeviceState]()

    async def noted(*arguments: Any, **more: Any) -> DeviceState:
        found.append(await read(*arguments, **more))
        return found[-1]

    monkeypatch.setattr(device_state, "read_state", noted)
    return found


async def failure(engine: Engine, payload: object, **more: Any) -> dict[str, Any]:
    with pytest.raises(EngineError) as caught:
        await engine.execute(payload, **more)
    return caught.value.to_dict()


@pytest.mark.parametrize(
    ("scenario", "summary", "remedy"),
    [
        ({"operator": {"enabled": False}, "faults": [LOST]}, "is switched off", "grant-device-permissions"),
        ({"faults": [LOST, {"kind": "service_down"}]}, "does not run", "--force"),
        ({"faults": [LOST, {"kind": "service_down", "how": "crashed"}]}, "does not run", "--force"),
        ({"faults": [LOST, {"kind": "ui_automation_held"}]}, "does not run", "UiAutomation"),
        ({"faults": [LOST], "operator": {"enabled": False}, "device": {"sdk": 26}}, "is switched off", "grant-device"),
    ],
    ids=["off", "unbound", "crashed", "uiautomation", "off, Android 8"],
)
async def test_a_service_that_does_not_run_ends_the_wait(
    connect: Connect, reads: list[DeviceState], scenario: dict[str, Any], summary: str, remedy: str
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


async def test_a_service_that_runs_is_waited_for_however_slow_it_is(connect: Connect, reads: list[DeviceState]) -> None:
    bench = await connect(speed=1.0, latency_ms={"delivery": 5_000})
    assert (await bench.engine.snapshot()).succeeded
    assert reads == [DeviceState(None, None)]
    assert bench.world.commands == 1


async def test_a_service_that_is_being_started_is_waited_for(connect: Connect, reads: list[DeviceState]) -> None:
    bench = await connect(faults=[LOST, {"kind": "service_down", "how": "binding"}])
    error = await failure(bench.engine, build.snapshot(), timeout_ms=1_000)
    assert (error["code"], len(reads)) == (ErrorCode.RESULT_ENVELOPE_TIMEOUT, 1)


async def test_a_read_that_fails_decides_nothing(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*_: Any, **__: Any) -> DeviceState:
        raise EngineError(ErrorCode.DEVICE_SHELL_UNAVAILABLE, "oops")

    bench = await connect(faults=[LOST], operator={"enabled": False})
    monkeypatch.setattr(device_state, "read_state", broken)
    error = await failure(bench.engine, build.snapshot(), timeout_ms=1_000)
    assert error["code"] == ErrorCode.RESULT_ENVELOPE_TIMEOUT


async def test_what_goes_well_costs_no_read(connect: Connect, reads: list[DeviceState]) -> None:
    bench = await connect(device={"locked": True})
    result = await bench.engine.snapshot()
    assert (result.succeeded, result.warnings, reads) == (True, (), [])


async def test_a_snapshot_of_a_dark_screen_says_so(connect: Connect, reads: list[DeviceState]) -> None:
    bench = await connect(device={"awake": False})
    result = await bench.engine.snapshot()
    assert result.envelope["errorCode"] == ErrorCode.UI_TREE_UNAVAILABLE
    (warning,) = result.warnings
    assert warning["code"] == "SCREEN_OFF"
    assert "KEYCODE_WAKEUP" in warning["message"]
    assert len(reads) == 1


async def test_a_slow_snapshot_of_a_locked_device_says_so(connect: Connect, reads: list[DeviceState]) -> None:
    bench = await connect(speed=1.0, device={"locked": True}, latency_ms={"delivery": 2_000})
    result = await bench.engine.snapshot()
    assert (result.succeeded, [warning["code"] for warning in result.warnings]) == (True, ["SCREEN_LOCKED"])
    assert len(reads) == 1


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
