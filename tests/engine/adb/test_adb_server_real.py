"""Against the real adb server, without a device: questions, and starting it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from contextlib import aclosing
from pathlib import Path

import pytest

from clawperator.engine.adb import blocking
from clawperator.engine.adb.binary import find_adb
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.errors import EngineError, ErrorCode
from tests.support import adb_environment, free_port, patience, start_adb_server


@pytest.mark.adb
async def test_questions_to_an_empty_server(adb_port: int) -> None:
    server = AdbServer(port=adb_port)
    assert await server.version() == 41
    assert await server.devices() == ()
    assert blocking.devices({"ANDROID_ADB_SERVER_PORT": str(adb_port)}) == []


@pytest.mark.adb
async def test_an_absent_device_is_not_found(adb_port: int) -> None:
    device = AdbDevice(AdbServer(port=adb_port), "no-such-device")
    with pytest.raises(EngineError) as caught:
        await device.shell(["id"])
    assert caught.value.code is ErrorCode.DEVICE_NOT_FOUND
    assert caught.value.details["deviceId"] == "no-such-device"


@pytest.mark.adb
async def test_a_device_that_cannot_be_reached_is_not_connected(adb_port: int) -> None:
    with pytest.raises(EngineError) as caught:
        await AdbServer(port=adb_port).connect_device(f"127.0.0.1:{free_port()}")
    assert caught.value.code is ErrorCode.DEVICE_NOT_FOUND


@pytest.mark.adb
async def test_presence_of_no_device_is_reported_at_once(adb_port: int) -> None:
    async with aclosing(AdbServer(port=adb_port).track_devices()) as devices:
        assert await anext(devices) == ()


@pytest.mark.adb
async def test_the_tracker_notices_a_killed_server_and_finds_the_next_one(tmp_path: Path, adb_port: int) -> None:
    port = free_port()
    losses: list[EngineError] = []
    first = start_adb_server(tmp_path, port)
    second = None
    try:
        server = AdbServer(port=port, autostart=False)
        async with aclosing(server.track_devices(reconnect=True, on_lost=losses.append)) as devices:
            assert await anext(devices) == ()
            first.kill()
            first.wait()
            waiting = asyncio.ensure_future(anext(devices))
            second = await asyncio.to_thread(start_adb_server, tmp_path, port)
            assert await waiting == ()
    finally:
        for process in filter(None, (first, second)):
            process.kill()
            process.wait()
    assert [loss.code for loss in losses] == [ErrorCode.ADB_SERVER_FAILED]


@pytest.mark.adb
async def test_a_server_is_started_once_for_many_callers(tmp_path: Path, adb_port: int) -> None:
    env = adb_environment(tmp_path, free_port())
    server = AdbServer.from_env(env)
    try:
        assert await asyncio.gather(*(server.version() for _ in range(5))) == [41] * 5
    finally:
        await asyncio.to_thread(kill_server, env)


@pytest.mark.adb
def test_the_blocking_reader_starts_a_server_too(tmp_path: Path, adb_port: int) -> None:
    env = adb_environment(tmp_path, free_port())
    try:
        assert blocking.devices(env) == []
    finally:
        kill_server(env)


@pytest.mark.adb
async def test_a_server_on_a_unix_socket(tmp_path: Path, adb_port: int) -> None:
    env = adb_environment(tmp_path, 1) | {"ADB_SERVER_SOCKET": f"localfilesystem:{tmp_path}/adb.sock"}
    server = AdbServer.from_env(env)
    try:
        assert await server.version() == 41
        assert await asyncio.to_thread(blocking.devices, env) == []
    finally:
        await asyncio.to_thread(kill_server, env)


def kill_server(env: dict[str, str]) -> None:
    """Ends a server that the code under test has started: it is nobody's child, so only adb can reach it."""
    subprocess.run(["adb", "kill-server"], env=env, check=True, timeout=patience(10), capture_output=True)


# -- starting, without a real adb --------------------------------------------------------------------------------------


def fake_binary(tmp_path: Path, body: str) -> str:
    path = tmp_path / "adb"
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return str(path)


async def test_no_adb_anywhere_is_its_own_error(tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path), "HOME": str(tmp_path), "ANDROID_ADB_SERVER_PORT": str(free_port())}
    env |= {"ADB_PATH": str(tmp_path / "missing")}
    with pytest.raises(EngineError, match="missing") as caught:
        await AdbServer.from_env(env).devices()
    assert caught.value.code is ErrorCode.ADB_NOT_FOUND
    with pytest.raises(EngineError) as caught:
        blocking.devices(env)
    assert caught.value.code is ErrorCode.ADB_NOT_FOUND


async def test_an_adb_that_cannot_start_a_server(tmp_path: Path) -> None:
    adb = fake_binary(tmp_path, 'echo "cannot bind $*" >&2; exit 1')
    port = free_port()
    env = {"PATH": os.environ["PATH"], "ADB_PATH": adb, "ANDROID_ADB_SERVER_PORT": str(port)}
    for call in (AdbServer.from_env(env).devices(), asyncio.to_thread(blocking.devices, env)):
        with pytest.raises(EngineError, match=f"cannot bind -P {port} start-server") as caught:
            await call
        assert caught.value.code is ErrorCode.ADB_SERVER_FAILED
        assert caught.value.details["exitCode"] == 1


async def test_an_adb_that_is_no_program(tmp_path: Path) -> None:
    path = tmp_path / "adb"
    path.write_bytes(b"\0nonsense")
    path.chmod(0o755)
    env = {"ADB_PATH": str(path), "ANDROID_ADB_SERVER_PORT": str(free_port())}
    for call in (AdbServer.from_env(env).devices(), asyncio.to_thread(blocking.devices, env)):
        with pytest.raises(EngineError) as caught:
            await call
        assert caught.value.code is ErrorCode.ADB_NOT_FOUND


async def test_an_adb_that_claims_success_but_starts_nothing(tmp_path: Path) -> None:
    env = {"ADB_PATH": fake_binary(tmp_path, "exit 0"), "ANDROID_ADB_SERVER_PORT": str(free_port())}
    for call in (AdbServer.from_env(env).devices(), asyncio.to_thread(blocking.devices, env)):
        with pytest.raises(EngineError, match="no adb server listens") as caught:
            await call
        assert caught.value.code is ErrorCode.ADB_SERVER_FAILED


@pytest.mark.parametrize("how", ["cancel", "deadline"])
async def test_a_start_that_hangs_takes_its_process_with_it(tmp_path: Path, how: str) -> None:
    fifo = tmp_path / "pid"
    os.mkfifo(fifo)
    env = {"ADB_PATH": fake_binary(tmp_path, f"echo $$ > {fifo}; exec sleep 1000"), "PATH": os.environ["PATH"]}
    env |= {"ANDROID_ADB_SERVER_PORT": str(free_port())}
    server = AdbServer.from_env(env)
    task = asyncio.create_task(server.devices(timeout=None if how == "cancel" else 1))
    pid = int(await asyncio.to_thread(fifo.read_text))
    if how == "cancel":
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        with pytest.raises(EngineError, match="no answer within 1 s"):
            await task
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize("fate", ["exit 1", "wait"])
async def test_what_an_adb_leaves_behind_is_not_waited_for(tmp_path: Path, fate: str) -> None:
    """A wrapper script's child, or a daemon, that keeps the output open."""
    left = tmp_path / "pid"
    body = f"sleep 1000 & echo $! > {left}; {fate}"
    env = {"ADB_PATH": fake_binary(tmp_path, body), "PATH": os.environ["PATH"]}
    env |= {"ANDROID_ADB_SERVER_PORT": str(free_port())}
    calls = (
        lambda: AdbServer.from_env(env).devices(timeout=1),
        lambda: asyncio.to_thread(blocking.devices, env, timeout=1),
    )
    for call in calls:
        try:
            async with asyncio.timeout(patience(20)):
                with pytest.raises(EngineError) as caught:
                    await call()
            assert caught.value.code is ErrorCode.ADB_SERVER_FAILED
        finally:
            if left.exists():  # on a busy machine the script may be ended before it has come so far
                os.kill(int(left.read_text()), signal.SIGKILL)
                left.unlink()  # not to be taken for the next one's


async def test_nothing_is_started_for_a_server_elsewhere_or_on_request(tmp_path: Path) -> None:
    env = {"ADB_PATH": fake_binary(tmp_path, f"touch {tmp_path}/started")}
    for server in (
        AdbServer("localhost", free_port(), env=env, autostart=False),
        AdbServer("adb.invalid", 5037, env=env),
    ):
        with pytest.raises(EngineError, match="no adb server listens") as caught:
            await server.devices()
        assert caught.value.code is ErrorCode.ADB_SERVER_FAILED
    assert not (tmp_path / "started").exists()


def test_where_adb_is_looked_for(tmp_path: Path) -> None:
    tools = tmp_path / "sdk" / "platform-tools"
    tools.mkdir(parents=True)
    in_sdk = fake_binary(tools, "")
    on_path = fake_binary(tmp_path, "")
    nowhere = {"PATH": str(tmp_path / "empty"), "HOME": str(tmp_path)}
    assert find_adb(nowhere | {"PATH": str(tmp_path), "ANDROID_HOME": str(tmp_path / "sdk")}) == on_path
    assert find_adb(nowhere | {"ANDROID_HOME": str(tmp_path / "sdk")}) == in_sdk
    assert find_adb(nowhere | {"ANDROID_HOME": "/none", "ANDROID_SDK_ROOT": str(tmp_path / "sdk")}) == in_sdk
    assert find_adb(nowhere | {"ADB_PATH": in_sdk, "PATH": str(tmp_path)}) == in_sdk
    assert find_adb(nowhere | {"ADB_PATH": "/none"}, in_sdk) == in_sdk
    with pytest.raises(EngineError) as caught:  # a chosen adb that is missing is not silently replaced
        find_adb(nowhere | {"ADB_PATH": "/none", "PATH": str(tmp_path)})
    assert caught.value.details["searched"] == ["/none"]


def test_the_light_path_imports_nothing_heavy() -> None:
    code = "import sys, json; import clawperator.engine.adb.blocking; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    heavy = {
        "asyncio",
        "pydantic",
        "dataclasses",
        "inspect",
        "pathlib",
        "subprocess",
        "logging",
        "tempfile",
        "shutil",
        "typing",
    }
    assert not heavy & set(json.loads(done.stdout))
