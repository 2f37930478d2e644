"""What surrounds an execution is broken, hostile or unforeseen: through the real adb, there is still one honest outcome."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import Engine, EngineError, ErrorCode, RunOptions
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.events.types import EnvelopeSeen, LogAttached
from clawperator.engine.executions import build, locked_run, log_stream
from clawperator.engine.executions.log_stream import DeviceLog
from clawperator.engine.executions.screenshot import CaptureError, capture
from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.commands import packages
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.render import render_png
from tests.support import patience, table

from .conftest import failure

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]

RELEASE = "com.clawperator.operator"


async def screenshot_step(bench: Any, path: str) -> dict[str, Any]:
    result = await bench.engine.screenshot(path=path)
    step: dict[str, Any] = result.envelope["stepResults"][0]
    return step


# -- whatever goes wrong names the execution and says whether anything left for the device


async def test_a_lock_folder_that_cannot_be_used(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    (tmp_path / "file").touch()
    settings = replace(bench.engine.settings, lock_dir=str(tmp_path / "file" / "locks"))
    error = await failure(Engine(settings), build.snapshot())
    assert (error["code"], error["deviceId"]) == (ErrorCode.LOCKS_UNAVAILABLE, bench.serial)
    assert error["broadcastDispatchStatus"] == "not_sent"
    assert error["executionId"]


async def test_an_internal_fault_after_dispatch(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(*arguments: Any) -> None:
        arguments[-1].dispatched()
        raise ZeroDivisionError("oops")

    bench = await connect()
    monkeypatch.setattr(locked_run, "run_held", broken)
    error = await failure(bench.engine, build.snapshot())
    assert (error["code"], error["message"]) == (ErrorCode.UNKNOWN_RUNTIME_ERROR, "ZeroDivisionError: oops")
    assert (error["broadcastDispatchStatus"], error["deviceId"]) == ("sent", bench.serial)
    assert error["executionId"]
    assert bench.engine.lock(bench.serial).state == "settling"


async def test_a_muted_log_dispatches_nothing(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await connect()
    monkeypatch.setattr(bench.world.log, "write", lambda **_: None)
    monkeypatch.setattr(log_stream, "ATTACH_SECONDS", 2.0)
    error = await failure(bench.engine, build.press_key("home"))
    assert (error["code"], error["broadcastDispatchStatus"]) == (ErrorCode.LOGCAT_UNAVAILABLE, "not_sent")
    assert "nothing was dispatched" in error["hint"]
    assert bench.engine.lock(bench.serial).state == "free"


@pytest.mark.parametrize(
    ("properties", "limit", "words"),
    [
        ({"log.tag": "Settings"}, 4_000, "log.tag is Settings, which mutes it"),  # Logger buffer sizes: Off
        ({"persist.log.tag": "S"}, 4_000, "persist.log.tag is S"),
        ({}, 2_500, "not within 2.5 s"),
    ],
)
async def test_a_log_that_is_switched_off_is_the_reason(
    connect: Connect, monkeypatch: pytest.MonkeyPatch, properties: dict[str, str], limit: int, words: str
) -> None:
    bench = await connect()
    bench.world.props.update(properties)
    if not properties:
        monkeypatch.setattr(bench.world.log, "write", lambda **_: None)
    monkeypatch.setattr(log_stream, "_NONCE_AGAIN_SECONDS", 0.3)
    error = await failure(bench.engine, build.press_key("home") | {"timeoutMs": limit})
    assert (error["code"], error["broadcastDispatchStatus"]) == (ErrorCode.LOGCAT_UNAVAILABLE, "not_sent")
    assert error["message"].startswith(f"The log of {bench.serial} does not show what is written to it: ")
    assert words in error["message"]
    assert "Logger buffer sizes" in error["hint"]


@table(
    ("text", "why"),
    [
        ("log.tag=\npersist.log.tag=\nmain: ring buffer is 256 KiB (64 KiB consumed)\n", ""),
        ("log.tag=V\npersist.log.tag=I\n", ""),
        ("log.tag=\r\npersist.log.tag=silent\r\n", "persist.log.tag is silent, which mutes it"),
        ("log.tag=E\n", "log.tag is E, which mutes it"),
        ("log.tag=\nmain: ring buffer is 0B (0B consumed)", "its buffer has no size"),
        (
            "log.tag=\nUnable to open log device '/dev/log/main': No such file or directory",
            'logcat says "Unable to open',
        ),
        ("", ""),
    ],
)
def test_why_a_log_is_silent(text: str, why: str) -> None:
    assert log_stream.why_silent(text).startswith(why)
    assert bool(log_stream.why_silent(text)) == bool(why)


async def test_a_refused_force_stop_dispatches_nothing(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: SimulatedDevice, package: str) -> None:
        raise RuntimeError(package)

    bench = await connect()
    payload = build.single("close", "close_app", {"applicationId": "com.android.settings"})
    monkeypatch.setattr(SimulatedDevice, "force_stop", refuse)
    error = await failure(bench.engine, payload)
    assert error["code"] == ErrorCode.DEVICE_SHELL_UNAVAILABLE
    assert error["broadcastDispatchStatus"] == "not_sent"
    assert bench.engine.lock(bench.serial).state == "free"


async def test_a_device_that_leaves_during_a_force_stop(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await connect()
    monkeypatch.setattr(SimulatedDevice, "force_stop", lambda world, _: world.disconnect())
    error = await failure(bench.engine, build.single("close", "close_app", {"applicationId": "com.android.settings"}))
    assert error["code"] == ErrorCode.DEVICE_SHELL_UNAVAILABLE
    assert error["message"].startswith("close_app pre-flight force-stop failed for com.android.settings: ")
    assert error["details"]["applicationId"] == "com.android.settings"
    assert error["broadcastDispatchStatus"] == "not_sent"


async def test_a_logcat_that_does_not_start(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await connect()
    monkeypatch.setattr(log_stream, "logcat_words", lambda _: ["logcat", "--no-such-option"])
    error = await failure(bench.engine, build.snapshot())
    assert (error["code"], error["broadcastDispatchStatus"]) == (ErrorCode.LOGCAT_UNAVAILABLE, "not_sent")
    assert "nothing was dispatched" in error["hint"]
    assert error["details"]["stderr"]


@pytest.mark.parametrize(("wanted", "there"), [(RELEASE, f"{RELEASE}.dev"), (f"{RELEASE}.dev", RELEASE)])
async def test_only_the_other_build_is_installed(connect: Connect, wanted: str, there: str) -> None:
    bench = await connect(operator={"package": there})
    error = await failure(bench.engine, build.snapshot(), receiver_package=wanted)
    assert (error["code"], error["broadcastDispatchStatus"]) == (ErrorCode.RECEIVER_NOT_INSTALLED, "not_sent")
    assert error["details"]["installed"] == [there]
    assert f"--receiver-package {there}" in error["hint"]
    assert bench.engine.lock(bench.serial).state == "free"
    assert (await bench.engine.execute(build.snapshot(), receiver_package=there)).succeeded


async def test_a_mistyped_package_is_answered_with_the_installed_ones(connect: Connect) -> None:
    bench = await connect()
    error = await failure(bench.engine, build.snapshot(), receiver_package="com.clawperator.opertor")
    assert (error["code"], error["details"]["installed"]) == (ErrorCode.RECEIVER_NOT_INSTALLED, [RELEASE])
    assert f"--receiver-package {RELEASE}" in error["hint"]


async def test_a_package_manager_that_does_not_answer_refuses_nothing(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> int:
        raise CommandError("cmd: Can't find service: package", 20)

    bench = await connect()
    monkeypatch.setitem(packages._VERBS, "list", broken)
    assert (await bench.engine.execute(build.snapshot())).succeeded


async def test_a_hostile_receiver_package_reaches_no_device(connect: Connect) -> None:
    bench = await connect()
    for name in ("-f", "x; rm -rf /sdcard"):
        error = await failure(bench.engine, build.snapshot(), receiver_package=name)
        assert (error["code"], error["details"]["path"]) == (ErrorCode.EXECUTION_VALIDATION_FAILED, "receiverPackage")
        with pytest.raises(EngineError, match="Android package name"):
            await bench.engine.operator_app(receiver_package=name).compatibility()


# -- screenshots


@pytest.mark.parametrize(
    "path", ["~nobody-of-this-name/x.png", "/no/such/folder/x.png", "/", "/etc/hostname/x.png", "/" + "x" * 300]
)
async def test_a_path_that_cannot_be_written_is_refused_before_anything_is_sent(connect: Connect, path: str) -> None:
    bench = await connect()
    error = await failure(bench.engine, build.screenshot(path))
    assert (error["code"], error["details"]["path"]) == ("FILE_NOT_WRITABLE", "actions.0.params.path")
    assert (error["details"]["file"], "broadcastDispatchStatus" in error) == (path, False)
    assert error["message"].startswith(f"{path} cannot be written: ")


async def test_a_folder_that_may_not_be_written_to(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = await connect()
    monkeypatch.setattr("os.access", lambda *_: False)  # whoever runs the tests may be root
    error = await failure(bench.engine, build.screenshot(str(tmp_path / "x.png")))
    assert (error["code"], error["retryable"]) == ("FILE_NOT_WRITABLE", False)


async def test_two_pictures_need_two_files(connect: Connect, tmp_path: Path) -> None:
    bench = await connect()
    payload = build.screenshot(str(tmp_path / "x.png"))
    payload["actions"].append({**payload["actions"][0], "id": "again"})
    error = await failure(bench.engine, payload)
    assert (error["code"], error["details"]["path"]) == ("FILE_EXISTS", "actions.1.params.path")
    assert (await bench.engine.execute(payload, options=RunOptions(screenshot_overwrite=True))).succeeded


async def test_a_name_that_no_system_call_takes(connect: Connect) -> None:
    bench = await connect()
    with pytest.raises(CaptureError, match="cannot be written"):
        await capture(AdbDevice(bench.engine.server, bench.serial), "a\0b.png", overwrite=False)


async def test_a_file_system_without_hard_links(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    bench = await connect()
    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "x.png"
    assert (await screenshot_step(bench, str(path)))["success"] is True
    assert path.read_bytes().startswith(b"\x89PNG")
    path.write_bytes(b"mine")
    monkeypatch.setattr(os.path, "lexists", lambda _: False)  # the file appears while the picture is taken
    monkeypatch.setattr("clawperator.engine.files.regular.check_target", lambda *_, **__: None)
    with pytest.raises(CaptureError, match="File exists"):
        await capture(AdbDevice(bench.engine.server, bench.serial), str(path), overwrite=False)
    assert path.read_bytes() == b"mine"
    assert [name for name in os.listdir(tmp_path) if name.endswith(".part")] == []


async def test_half_a_picture_is_none(connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = await connect()
    whole = render_png(bench.world.ui)
    monkeypatch.setattr("clawperator.engine.simulator.commands.screen.render_png", lambda _: whole[:-20])
    step = await screenshot_step(bench, str(tmp_path / "x.png"))
    assert "broke off" in step["data"]["capture_error"]
    assert not (tmp_path / "x.png").exists()


async def test_words_before_a_picture_are_no_part_of_it(
    connect: Connect, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = await connect()
    whole = render_png(bench.world.ui)
    warning = b"[Warning] Multiple displays were found, but no display id was specified!\n"
    monkeypatch.setattr("clawperator.engine.simulator.commands.screen.render_png", lambda _: warning + whole)
    step = await screenshot_step(bench, str(tmp_path / "x.png"))
    assert step["success"] is True
    assert (tmp_path / "x.png").read_bytes() == whole


# -- the doctor


@pytest.mark.ci
async def test_a_handshake_waits_for_seven_seconds_and_leaves_the_device_to_settle(connect: Connect) -> None:
    bench = await connect(faults=[{"kind": "silence"}])
    checks = {check.id: check async for check in bench.engine.doctor().checks()}
    handshake = checks["readiness.handshake"]
    assert handshake.code is ErrorCode.RESULT_ENVELOPE_TIMEOUT
    assert "within 7000ms" in handshake.summary
    assert bench.engine.lock(bench.serial).state == "settling"


async def test_one_crashed_check_hides_no_other(connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    from clawperator.engine.doctor import readiness

    def crash(_: str) -> list[str]:
        raise ZeroDivisionError("oops")

    bench = await connect()
    monkeypatch.setattr(readiness, "parse_packages", crash)
    checks = {check.id: check async for check in bench.engine.doctor().checks()}
    assert checks["readiness.apk.presence"].code is ErrorCode.DOCTOR_FAILED
    assert "ZeroDivisionError: oops" in checks["readiness.apk.presence"].summary
    assert checks["readiness.settings.usb_debugging"].status == "pass"


# -- watching


async def test_a_device_that_comes_back_is_asked_again_who_its_operator_is(connect: Connect) -> None:
    bench = await connect()
    bench.world.packages[RELEASE].uid += 1
    with bench.engine.events.subscribe() as subscription:

        async def until(kind: type) -> None:
            while not any(isinstance(event, kind) for event in await subscription.batch()):
                pass

        watching = asyncio.create_task(bench.engine.watch_log(bench.serial))
        await until(LogAttached)
        bench.world.packages[RELEASE].uid -= 1
        bench.world.disconnect(reconnect_after_ms=0)
        await bench.engine.server.connect_device(bench.serial)
        await until(LogAttached)
        async with bench.another_engine() as other:
            await other.execute(build.snapshot())
        async with asyncio.timeout(patience(10)):
            await until(EnvelopeSeen)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


# -- the last look before giving up


@pytest.mark.usefixtures("impatient")
async def test_what_was_seen_live_is_reported_though_the_buffer_has_rolled_past_it(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = await connect(faults=[{"kind": "silence"}])
    stream = AdbDevice.stream

    def rolled(device: AdbDevice, script: str, **more: Any) -> Any:
        return stream(device, "exec true" if " -d " in script else script, **more)

    monkeypatch.setattr(AdbDevice, "stream", rolled)
    error = await failure(bench.engine, build.snapshot(), timeout_ms=1_000)
    assert error["code"] == ErrorCode.RESULT_ENVELOPE_TIMEOUT
    assert error["details"]["lastStage"] == "logUiTree"
    assert any("stage-start" in line for line in error["lastCorrelatedEvents"])


@pytest.mark.usefixtures("impatient")
async def test_an_envelope_that_the_stream_lost_is_found_in_the_buffer(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = await connect()
    take = DeviceLog._take

    def lossy(log: DeviceLog, entries: list[Any], data: bytes) -> None:
        take(log, [entry for entry in entries if b"[Clawperator-Result]" not in entry.payload], data)

    monkeypatch.setattr(DeviceLog, "_take", lossy)
    result = await bench.engine.execute(build.snapshot(), timeout_ms=1_000)
    assert result.envelope["stepResults"][0]["data"]["text"].endswith("</hierarchy>")
