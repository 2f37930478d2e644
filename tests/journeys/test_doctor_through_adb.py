"""The doctor on devices behind the real adb: what it finds, and the server that its fixes end and start."""

from __future__ import annotations

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from clawperator.engine import Engine, Settings
from clawperator.engine.doctor.adb_servers import running_servers
from clawperator.engine.doctor.check import Check
from clawperator.engine.doctor.host import RESTART
from clawperator.engine.errors import ErrorCode
from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from tests.journeys.conftest import until_state
from tests.support import adb_environment, free_port, start_adb_server

pytestmark = [pytest.mark.adb, pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")]

WARD: dict[str, dict[str, object]] = {
    "healthy": {},
    "crashed": {"faults": [{"kind": "service_down", "how": "crashed"}], "device": {"sdk": 28}},
    "held": {"faults": [{"kind": "ui_automation_held"}], "device": {"awake": False, "log_buffer_kib": 64}},
    "old": {"device": {"sdk": 23, "clock_skew_ms": -3_600_000, "locked": True}},
    "bare": {"operator": {"installed": False}},
    "untrusted": {"faults": [{"kind": "unauthorized"}]},
}
FOUND = {
    "healthy": {},
    "crashed": {
        "readiness.accessibility.bound": ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING,
        "readiness.handshake": ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING,
    },
    "held": {
        "readiness.accessibility.bound": ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING,
        "readiness.uiautomation": ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING,
        "stock.uiautomation": ErrorCode.BACKEND_UNAVAILABLE,
        "device.screen": None,
        "device.log_buffer": None,
        "readiness.handshake": ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING,
    },
    "old": {"stock.programs": ErrorCode.BACKEND_UNAVAILABLE, "device.screen": None, "device.clock": None},
    "bare": {"readiness.apk.presence": ErrorCode.RECEIVER_NOT_INSTALLED},
    "untrusted": {"device.discovery": ErrorCode.DEVICE_UNAUTHORIZED},
}


async def test_a_ward_of_devices(adb_env: dict[str, str], tmp_path: Path) -> None:
    env = {**adb_env, "HOME": str(tmp_path)}
    worlds = [create_device(Scenario.model_validate({"speed": 0, **scenario})) for scenario in WARD.values()]
    async with AsyncExitStack() as stack:
        simulation = await stack.enter_async_context(Simulation(worlds, mode="adbd"))
        await simulation.attach(int(env["ANDROID_ADB_SERVER_PORT"]))
        engine = await stack.enter_async_context(Engine(Settings.resolve({}, env)))
        for serial in simulation.serials:
            stack.push_async_callback(engine.server.disconnect_device, serial)
        for name, serial in zip(WARD, simulation.serials, strict=True):
            await until_state(engine, serial, "unauthorized" if name == "untrusted" else "device")
            checks = [check async for check in engine.doctor(device_id=serial).checks()]
            found = {check.id: check.code for check in checks if check.status != "pass" and not of_this_host(check)}
            assert found == FOUND[name], name
            assert not any(check.unknown for check in checks), "the list of processes has the script that reads it"
        (lost,) = [check async for check in engine.doctor().checks(only="device.discovery")]
        assert lost.code is ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED


def of_this_host(check: Check) -> bool:
    """Which tools this computer has, and how many adb servers run on it, is not what is tested."""
    return check.id.startswith("host.")


async def test_the_server_is_ended_and_started_again(tmp_path: Path) -> None:
    port = free_port()
    server = start_adb_server(tmp_path, port)
    async with Engine(Settings.resolve({}, adb_environment(tmp_path, port))) as engine:
        try:
            fixer = engine.fixer()
            failed = Check("host.adb.server", "fail", "no", fix=RESTART)
            kill, start = fixer.plan([failed], "")
            assert (kill.preview, kill.dangerous) == ((f"adb -P {port} kill-server",), True)
            assert (await fixer.run(kill)).ok
            assert server.wait(20) == 0
            assert (await fixer.run(start)).ok
            mine = next(found for found in running_servers() or () if found.port == port)
            assert mine.pid != server.pid
            checks = {check.id: check async for check in engine.doctor().checks()}
            assert checks["host.adb.version"].status == "pass"
            assert checks["device.discovery"].code is ErrorCode.NO_DEVICES
            assert str(mine.pid) not in checks["host.adb.servers"].detail
        finally:
            await fixer.run(kill)
            server.kill()
            server.wait()
