"""From a device without the Operator to one that answers, through the real adb server and the device's own shell."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import Engine, EngineError, ErrorCode
from clawperator.engine.contracts.operator_identity import DEBUG_PACKAGE, RELEASE_PACKAGE, listener_of, service_of
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.device_lock import DeviceLocks
from clawperator.engine.simulator.commands import packages
from tests.engine.operator.apks import apk, manifest, save

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]
EMPTY = {"installed": False}


async def doctor(engine: Engine) -> dict[str, str]:
    return {check.id: check.status async for check in engine.doctor().checks()}


@pytest.mark.parametrize("sdk", [23, 34])
async def test_from_nothing_to_an_answer(connect: Connect, tmp_path: Path, sdk: int) -> None:
    """On Android before 7 the file is copied first; nothing of it stays there."""
    bench = await connect(operator=EMPTY, device={"sdk": sdk})
    before = await doctor(bench.engine)
    assert before["readiness.apk.presence"] == "warn"
    assert "readiness.handshake" not in before
    report = await bench.engine.operator_app().setup(save(tmp_path, apk(padding=2_000_000)))
    assert report.permissions.ok
    after = await doctor(bench.engine)
    assert {after["readiness.apk.presence"], after["readiness.handshake"]} == {"pass"}
    assert (await bench.engine.operator_app().status()).ready
    assert (await bench.engine.snapshot()).envelope["status"] == "success"
    assert bench.world.files.list("/data/local/tmp") == ()


async def test_services_of_other_apps_are_kept_exactly(connect: Connect, tmp_path: Path) -> None:
    bench = await connect(operator=EMPTY)
    secure = bench.world.settings["secure"]
    theirs = secure["enabled_accessibility_services"] = ":com.other/.A: x/y'z$(reboot)::c/d\n"
    listeners = secure["enabled_notification_listeners"] = "com.other/com.other.Listener:"
    await bench.engine.operator_app().setup(save(tmp_path))
    assert secure["enabled_accessibility_services"] == f"{theirs}:{service_of(RELEASE_PACKAGE)}"
    assert secure["enabled_notification_listeners"] == f"{listeners}:{listener_of(RELEASE_PACKAGE)}"


async def test_a_crash_is_repaired_and_can_be_read(connect: Connect) -> None:
    """Android switches a crashed service off; granting again brings it back, and the crash log says what happened."""
    bench = await connect()
    bench.world.operator.die("simulated crash")
    app = bench.engine.operator_app()
    assert not (await app.status()).enabled
    (crash,) = (await app.crash_log()).crashes
    assert (crash.process, crash.kind) == (RELEASE_PACKAGE, "java")
    assert "simulated crash" in crash.summary
    await app.grant()
    assert (await app.status()).ready


async def test_both_variants_side_by_side(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    app = bench.engine.operator_app()
    report = await app.setup(save(tmp_path, apk(manifest(DEBUG_PACKAGE, "0.3.1-d"))))
    assert report.package == DEBUG_PACKAGE
    with pytest.raises(EngineError) as caught:
        await app.grant()
    assert caught.value.code is ErrorCode.OPERATOR_VERIFY_FAILED
    debug = Engine(replace(bench.engine.settings, receiver_package=DEBUG_PACKAGE, package_chosen=True))
    assert (await debug.operator_app().grant()).permissions.already_enabled


async def test_a_device_that_vanishes_during_the_installation(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = await connect(operator=EMPTY)

    async def pulled_out(process: Any, size: str) -> bytes:
        del size
        process.device.disconnect()
        await asyncio.Event().wait()
        return b""

    monkeypatch.setattr(packages, "_stream", pulled_out)
    with pytest.raises(EngineError) as caught:
        await bench.engine.operator_app().setup(save(tmp_path, apk(padding=4_000_000)))
    assert caught.value.code is ErrorCode.OPERATOR_INSTALL_FAILED
    assert caught.value.extra["install"]["ok"] is False
    assert RELEASE_PACKAGE not in bench.world.packages


async def test_nothing_is_replaced_under_a_running_execution(connect: Connect, tmp_path: Path) -> None:
    """An installation stops the app, and so does switching its service off; adding a missing grant disturbs nobody."""
    bench = await connect()
    app, serial = bench.engine.operator_app(), (await bench.engine.device()).serial
    async with DeviceLocks(bench.engine.settings.lock_dir).hold(serial, Command.errand("somebody", seconds=5)):
        for attempt in (app.setup(save(tmp_path)), app.grant(force=True)):
            with pytest.raises(EngineError) as refused:
                await attempt
            assert refused.value.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT
        with pytest.raises(EngineError) as unverified:
            await app.grant()
        assert unverified.value.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT
        assert unverified.value.extra["accessibility"]["ok"] is True, "granted, but the app could not be asked"
    assert (await app.grant()).round_trip_ms > 0
    assert (await app.setup(save(tmp_path))).permissions.ok
