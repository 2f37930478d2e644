"""Through the real adb server to a simulated device: what is sent really works, byte for byte."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from clawperator.engine.adb import blocking
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.failures import TransportError
from clawperator.engine.adb.protocol import SERVICE_LIMIT, STDOUT
from clawperator.engine.adb.quote import device_script
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.adb.sync import SYNC_CHUNK
from clawperator.engine.adb.trace import AdbCommand
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import DeviceProfile, Scenario
from tests.engine.operator.apks import apk, manifest

NUMBERS = count()
WAYS = [pytest.param("adb", marks=pytest.mark.adb), "embedded"]
"""Through the real adb server to the simulated daemon, and through the simulator's own server."""


@asynccontextmanager
async def plugged_in(adb_port: int, simulated: SimulatedDevice) -> AsyncIterator[AdbDevice]:
    server = AdbServer(port=adb_port)
    async with Simulation([simulated], mode="adbd") as simulation:
        serial = f"127.0.0.1:{simulation.port}"
        await server.connect_device(serial)
        try:
            yield AdbDevice(server, serial)
        finally:
            await server.disconnect_device(serial)


@asynccontextmanager
async def embedded(simulated: SimulatedDevice) -> AsyncIterator[AdbDevice]:
    async with Simulation([simulated], mode="server") as simulation:
        yield AdbDevice(AdbServer.from_env(simulation.env()), simulated.serial)


def reached(
    way: str, simulated: SimulatedDevice, request: pytest.FixtureRequest
) -> AbstractAsyncContextManager[AdbDevice]:
    return embedded(simulated) if way == "embedded" else plugged_in(request.getfixturevalue("adb_port"), simulated)


@pytest.fixture
async def simulated() -> SimulatedDevice:
    return create_device()


@pytest.fixture(params=WAYS)
async def phone(request: pytest.FixtureRequest, simulated: SimulatedDevice) -> AsyncIterator[AdbDevice]:
    async with reached(request.param, simulated, request) as device:
        yield device


async def test_the_device_is_listed(phone: AdbDevice) -> None:
    (entry,) = [entry for entry in await phone.server.devices() if entry.serial == phone.serial]
    assert entry.usable
    assert entry.model == "Pixel_7"
    assert entry.transport_id > 0
    assert {"shell_v2", "cmd"} <= await phone.features()


@pytest.mark.parametrize(
    "argument", ["it's", "x; echo pwned", "$(id)", "`id`", "a\nb", '$HOME \\ "q" *', "ünïcode 💡", ""]
)
async def test_an_argument_arrives_unchanged(phone: AdbDevice, argument: str) -> None:
    result = await phone.shell(["printf", "%s|", argument, "end"])
    assert (result.text, result.exit_code) == (f"{argument}|end|", 0)


async def test_stderr_and_exit_codes_are_kept_apart(phone: AdbDevice) -> None:
    result = await phone.script("echo out; echo err >&2; exit 7")
    assert (result.stdout, result.stderr, result.exit_code) == (b"out\n", b"err\n", 7)
    missing = await phone.shell(["cat", "/no/such/file"])
    assert not missing.ok
    assert "No such file" in missing.error_text


async def test_who_listens_hears_of_every_command_and_of_its_end(phone: AdbDevice) -> None:
    await phone.shell(["echo", "before anybody listens"])
    heard: list[AdbCommand] = []
    phone.server.trace.listener = heard.append
    assert (await phone.shell(["echo", "a b"])).text == "a b\n"
    await phone.script("echo secret; exit 3", label="echo [REDACTED]")
    await phone.push(b"x", "/data/local/tmp/x")
    with pytest.raises(EngineError):
        await AdbDevice(phone.server, "nobody").exec_out(["id"])
    reported = [(one.serial, one.text, one.duration_ms is None, one.exit_code, one.code) for one in heard]
    us = phone.serial
    assert reported == [
        (us, "echo 'a b'", True, None, ""),
        (us, "echo 'a b'", False, 0, ""),
        (us, "echo [REDACTED]", True, None, ""),
        (us, "echo [REDACTED]", False, 3, ""),
        (us, "push /data/local/tmp/x", True, None, ""),
        (us, "push /data/local/tmp/x", False, None, ""),
        ("nobody", "id", True, None, ""),
        ("nobody", "id", False, None, "DEVICE_NOT_FOUND"),
    ]


async def test_a_command_that_no_one_waits_for_any_more_has_an_end(phone: AdbDevice) -> None:
    heard: asyncio.Queue[AdbCommand] = asyncio.Queue()
    phone.server.trace.listener = heard.put_nowait
    waiting = asyncio.create_task(phone.shell(["sleep", "30"]))
    assert (await heard.get()).duration_ms is None
    waiting.cancel()
    assert (await heard.get()).code == "CANCELLED"


async def test_stdin_reaches_the_program(phone: AdbDevice) -> None:
    data = bytes(range(256)) * 40
    assert (await phone.shell(["cat"], stdin=data)).stdout == data


async def test_the_blocking_reader_runs_a_program(phone: AdbDevice) -> None:
    env = {"ANDROID_ADB_SERVER_PORT": str(phone.server.address.port)}
    assert await asyncio.to_thread(blocking.shell, phone.serial, ["echo", "a b"], env=env) == (b"a b\n", b"", 0)


@pytest.mark.parametrize("size", [SERVICE_LIMIT - 40, SERVICE_LIMIT, 100_000])
async def test_a_long_command_arrives_whole_and_the_server_survives(phone: AdbDevice, size: int) -> None:
    """A payload of 64,000 bytes grows when quoted; as a service string it would abort the server (fact 4j)."""
    script = device_script("printf %s {payload}", payload="'" * 1000 + "x" * (size - 6000))
    result = await phone.script(script)
    assert result.text == "'" * 1000 + "x" * (size - 6000)
    assert await phone.server.version() == 41


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=3000), st.integers(0, 0o777).map(lambda mode: mode | 0o600), st.integers(0, 2**31))
@example(b"", 0o600, 0)
@example(bytes(range(256)) * (SYNC_CHUNK // 256), 0o644, 1_700_000_000)
@example(bytes(range(256)) * (SYNC_CHUNK // 64) + b"!", 0o755, 1)
async def test_files_come_back_as_they_went(phone: AdbDevice, data: bytes, mode: int, mtime: int) -> None:
    remote = f"/data/local/tmp/a file's name {next(NUMBERS)}"
    assert await phone.push(data, remote, mode=mode, mtime=mtime) == len(data)
    assert await phone.pull(remote) == data
    stat = await phone.stat(remote)
    assert (stat.mode & 0o700, stat.size, stat.mtime) == (mode & 0o700, len(data), mtime)


async def test_files_on_disk_and_progress(phone: AdbDevice, tmp_path: Path) -> None:
    data = bytes(range(256)) * 16_000
    (tmp_path / "source").write_bytes(data)
    moved: list[int] = []
    await phone.push(tmp_path / "source", "/data/local/tmp/f", progress=moved.append)
    assert moved == sorted(moved)
    assert moved[-1] == len(data)
    moved.clear()
    assert await phone.pull_to("/data/local/tmp/f", tmp_path / "target", limit=2**30, progress=moved.append) == len(
        data
    )
    assert (tmp_path / "target").read_bytes() == data
    assert moved[-1] == len(data)


async def test_a_refused_transfer_leaves_the_old_file(phone: AdbDevice, tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("old")
    with pytest.raises(EngineError, match="No such file") as caught:
        await phone.pull_to("/no/such/file", target, limit=2**30)
    assert caught.value.code is ErrorCode.DEVICE_SHELL_UNAVAILABLE
    assert target.read_text() == "old"
    assert os.listdir(tmp_path) == ["target"]
    with pytest.raises(EngineError) as caught:
        await phone.push(tmp_path / "missing", "/data/local/tmp/x")
    assert caught.value.code is ErrorCode.INVALID_PATH
    with pytest.raises(EngineError) as caught:
        await phone.pull_to("/no/such/file", tmp_path / "no" / "folder", limit=2**30)
    assert caught.value.code is ErrorCode.INVALID_PATH
    await phone.push(b"new", "/data/local/tmp/new")
    (tmp_path / "folder").mkdir()
    with pytest.raises(EngineError, match="cannot write") as caught:
        await phone.pull_to("/data/local/tmp/new", tmp_path / "folder", limit=2**30)
    assert caught.value.code is ErrorCode.INVALID_PATH
    assert sorted(os.listdir(tmp_path)) == ["folder", "target"]
    with pytest.raises(EngineError, match="cannot read"):
        await phone.push(tmp_path / "folder", "/data/local/tmp/x")
    assert not (await phone.stat("/no/such/file")).exists


async def test_exec_out_is_binary_clean(phone: AdbDevice) -> None:
    data = bytes(range(256)) * 1000
    await phone.push(data, "/data/local/tmp/bin")
    assert await phone.exec_out(["cat", "/data/local/tmp/bin"]) == data


async def test_the_log_streams_until_it_is_hung_up(phone: AdbDevice, simulated: SimulatedDevice) -> None:
    received = b""
    async with phone.stream("exec logcat -v brief") as stream:
        for number in range(3):
            simulated.log.write(pid=1, tid=1, uid=1000, level="I", tag="Test", message=f"line {number}")
            while f"line {number}\n".encode() not in received:
                channel, data = await anext(stream)
                assert channel == STDOUT
                received += data
        assert stream.exit_code is None


async def test_cancelling_in_the_middle_of_a_stream_leaves_the_server_usable(phone: AdbDevice) -> None:
    started = asyncio.Event()

    async def follow() -> None:
        async with phone.stream("echo hello; exec logcat") as stream:
            async for _ in stream:
                started.set()

    tasks = [asyncio.create_task(follow()) for _ in range(5)]
    await started.wait()
    for task in tasks:
        task.cancel()
    assert all(isinstance(end, asyncio.CancelledError) for end in await asyncio.gather(*tasks, return_exceptions=True))
    assert (await phone.shell(["echo", "still here"])).text == "still here\n"


async def test_many_commands_at_once(phone: AdbDevice) -> None:
    results = await asyncio.gather(*(phone.shell(["echo", str(number)]) for number in range(30)))
    assert [result.text for result in results] == [f"{number}\n" for number in range(30)]


async def test_a_device_that_goes_away_breaks_its_streams(phone: AdbDevice, simulated: SimulatedDevice) -> None:
    async with phone.stream("echo hello; exec logcat") as stream:
        await anext(stream)
        simulated.disconnect()
        with pytest.raises(TransportError):
            [piece async for piece in stream]


@pytest.mark.adb
async def test_coming_and_going_is_pushed(adb_port: int, simulated: SimulatedDevice) -> None:
    server = AdbServer(port=adb_port)
    async with aclosing(server.track_devices()) as changes:
        assert await anext(changes) == ()
        async with plugged_in(adb_port, simulated) as phone:
            while not (entries := await anext(changes)) or not entries[0].usable:
                pass
            assert entries[0].serial == phone.serial
        while await anext(changes):
            pass


async def test_an_installation(phone: AdbDevice, tmp_path: Path) -> None:
    file = tmp_path / "app.apk"
    file.write_bytes(apk(manifest("com.example.installed")))
    assert (await phone.install(file)).ok
    file.write_bytes(b"PK\x03\x04" + b"garbage" * 1000)
    result = await phone.install(file)
    assert (result.ok, result.code) == (False, "INSTALL_PARSE_FAILED_NOT_APK")


# -- Android 6 ---------------------------------------------------------------------------------------------------------


@pytest.fixture(params=WAYS)
async def old_phone(request: pytest.FixtureRequest) -> AsyncIterator[AdbDevice]:
    async with reached(request.param, create_device(Scenario(device=DeviceProfile(sdk=23))), request) as device:
        yield device


async def test_an_old_device_still_tells_exit_codes(old_phone: AdbDevice) -> None:
    assert "shell_v2" not in await old_phone.features()
    result = await old_phone.script("echo out; echo err >&2; exit 7")
    assert (result.stdout, result.exit_code) == (b"out\nerr\n", 7)
    assert (await old_phone.shell(["printf", "%s", "it's"])).text == "it's"


async def test_an_old_device_takes_long_scripts_and_the_server_survives(old_phone: AdbDevice) -> None:
    text = "x" * 60_000
    assert (await old_phone.shell(["printf", "%s", text])).text == text
    assert (await old_phone.shell(["ls", "/data/local/tmp"])).text == ""  # the script file is gone
    with pytest.raises(EngineError) as caught:
        await old_phone.exec_out(["printf", "%s", text])
    assert caught.value.code is ErrorCode.PAYLOAD_TOO_LARGE
    assert await old_phone.server.version() == 41


async def test_an_old_device_installs_from_a_copy_that_is_removed(old_phone: AdbDevice) -> None:
    moved: list[int] = []
    file = apk(padding=100_000)
    assert (await old_phone.install(file, progress=moved.append)).ok
    assert moved == [len(file)]
    assert (await old_phone.shell(["ls", "/data/local/tmp"])).text == ""


# -- an emulator -------------------------------------------------------------------------------------------------------


@pytest.mark.adb
async def test_an_emulator_can_be_registered(adb_port: int) -> None:
    server = AdbServer(port=adb_port)
    async with Simulation([create_device()], mode="adbd") as simulation, aclosing(server.track_devices()) as changes:
        serial = f"emulator-{simulation.port - 1}"
        await server.register_emulator(simulation.port)
        async for entries in changes:
            if any(entry.serial == serial and entry.usable for entry in entries):
                break
        assert (await AdbDevice(server, serial).shell(["echo", "hi"])).text == "hi\n"
