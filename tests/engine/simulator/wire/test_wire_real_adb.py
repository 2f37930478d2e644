"""Through the real adb binary: what a person or another tool would type."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import NamedTuple

import pytest

from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.log_buffer import HEADER
from clawperator.engine.simulator.run import Simulation
from tests.engine.operator.apks import apk
from tests.support import patience

from .conftest import make_device

pytestmark = pytest.mark.adb


class Finished(NamedTuple):
    status: int
    out: bytes
    err: str


async def run_adb(env: dict[str, str], *arguments: str, stdin: bytes = b"") -> Finished:
    process = await asyncio.create_subprocess_exec(
        "adb",
        *arguments,
        env=env,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(patience(20)):
            out, err = await process.communicate(stdin)
    except BaseException:
        process.kill()
        await process.communicate()
        raise
    return Finished(process.returncode or 0, out, err.decode())


class Adb:
    """The binary, pointed at one device."""

    def __init__(self, env: dict[str, str], serial: str, device: SimulatedDevice) -> None:
        self.env, self.serial, self.device = env, serial, device

    async def __call__(self, *arguments: str, stdin: bytes = b"") -> Finished:
        return await run_adb(self.env, "-s", self.serial, *arguments, stdin=stdin)

    async def state(self, expected: str) -> None:
        """Wait until adb lists the device so ("" = not at all)."""
        async with asyncio.timeout(patience(20)):
            while True:
                listed = (await run_adb(self.env, "devices")).out.decode()
                match = re.search(rf"^{re.escape(self.serial)}\t(\w+)$", listed, re.MULTILINE)
                if (match[1] if match else "") == expected:
                    return


@contextlib.asynccontextmanager
async def attached(env: dict[str, str], device: SimulatedDevice, *, pair: bool = False) -> AsyncIterator[Adb]:
    async with Simulation([device], mode="adbd", emulator_pair=pair) as simulation:
        await simulation.attach(int(env["ANDROID_ADB_SERVER_PORT"]))
        adb = Adb(env, simulation.serials[0], device)
        await adb.state("device")
        yield adb
        if not pair:
            await run_adb(env, "disconnect", adb.serial)
    await adb.state("")


@pytest.fixture
async def adb(adb_env: dict[str, str], device: SimulatedDevice) -> AsyncIterator[Adb]:
    async with attached(adb_env, device) as connected:
        yield connected


@pytest.fixture
async def emulator(adb_env: dict[str, str], device: SimulatedDevice) -> AsyncIterator[Adb]:
    async with attached(adb_env, device, pair=True) as connected:
        yield connected


async def test_connect_and_disconnect_as_a_person_types_them(adb_env: dict[str, str], device: SimulatedDevice) -> None:
    async with Simulation([device], mode="adbd") as simulation:
        (serial,) = simulation.serials
        assert (await run_adb(adb_env, "connect", serial)).out.decode() == f"connected to {serial}\n"
        listed = (await run_adb(adb_env, "devices", "-l")).out.decode()
        assert re.search(
            rf"^{serial} +device product:sdk_gphone64_x86_64 model:Pixel_7 device:emu64xa transport_id:\d+$",
            listed,
            re.MULTILINE,
        )
        assert (await run_adb(adb_env, "disconnect", serial)).out.decode() == f"disconnected {serial}\n"
        assert serial not in (await run_adb(adb_env, "devices")).out.decode()


async def test_shell_exit_code_and_stderr(adb: Adb) -> None:
    assert await adb("shell", "echo hi; nosuch; exit 42") == (
        42,
        b"hi\n",
        "/system/bin/sh: nosuch: inaccessible or not found\n",
    )
    assert await adb("shell", "cat; exit 3", stdin=b"through\0stdin\n") == (3, b"through\0stdin\n", "")
    assert await adb("shell", stdin=b"echo a script\nexit 4\n") == (4, b"a script\n", "")
    assert (await adb("get-state")).out == b"device\n"
    assert (await adb("features")).out.split() == [b"shell_v2", b"cmd", b"stat_v2", b"ls_v2", b"fixed_push_mkdir"]


async def test_a_large_output_arrives_whole(adb: Adb) -> None:
    adb.device.files.write("/sdcard/big", os.urandom(3_000_000))
    assert (await adb("exec-out", "cat", "/sdcard/big")).out == adb.device.files.read("/sdcard/big")
    adb.device.files.write("/sdcard/lines", b"line\n" * 200_000)
    assert len((await adb("shell", "cat /sdcard/lines")).out.splitlines()) == 200_000


async def test_a_screenshot(adb: Adb) -> None:
    png = (await adb("exec-out", "screencap", "-p")).out
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert png.endswith(b"IEND\xaeB`\x82")


async def test_push_and_pull(adb: Adb, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "deep").mkdir(parents=True)
    contents = {"a.bin": os.urandom(300_000), "deep/ünï.txt": b"text\n", "empty": b""}
    for name, data in contents.items():
        (folder / name).write_bytes(data)
    pushed = await adb("push", str(folder), "/sdcard/Download/")
    assert pushed.status == 0, pushed.err
    back = tmp_path / "back"
    pulled = await adb("pull", "/sdcard/Download/folder", str(back))
    assert pulled.status == 0, pulled.err
    assert {name: (back / name).read_bytes() for name in contents} == contents
    assert (await adb("shell", "cat '/sdcard/Download/folder/deep/ünï.txt'")).out == b"text\n"
    refused = await adb("push", str(folder / "empty"), "/system/x")
    assert refused.status == 1
    assert b"couldn't create file: Permission denied" in refused.out


@pytest.mark.parametrize("sdk", [23, 34])
async def test_install_and_uninstall(adb_env: dict[str, str], tmp_path: Path, sdk: int) -> None:
    """Streamed, or pushed first where the device has no ``cmd``."""
    device = make_device(sdk=sdk)
    (tmp_path / "good.apk").write_bytes(apk(padding=200_000))
    (tmp_path / "bad.apk").write_bytes(b"PK\3\4" + os.urandom(9_000))
    async with attached(adb_env, device) as adb:
        assert (await adb("uninstall", "com.clawperator.operator")).out.split() == [b"Success"]
        assert "com.clawperator.operator" not in device.packages
        installed = await adb("install", "-r", str(tmp_path / "good.apk"))
        assert installed.out.split()[-1] == b"Success", installed
        assert "com.clawperator.operator" in device.packages
        refused = await adb("install", "-r", str(tmp_path / "bad.apk"))
        assert "INSTALL_PARSE_FAILED_NOT_APK" in refused.out.decode() + refused.err
    await device.close()


async def test_logcat_dumps(adb: Adb) -> None:
    adb.device.log.clear()
    adb.device.log.write(pid=5, tid=6, uid=7, level="W", tag="Tag", message="one\ntwo")
    assert (
        await adb("logcat", "-d", "-v", "tag")
    ).out == b"--------- beginning of main\nW/Tag     : one\nW/Tag     : two\n"
    line = (await adb("logcat", "-d", "-v", "threadtime", "-v", "uid", "-s", "Tag")).out.splitlines()[1]
    assert re.fullmatch(rb"\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}     7     5     6 W Tag     : one", line)
    frame = (await adb("logcat", "-B", "-d")).out
    assert HEADER.unpack_from(frame)[1:4] == (28, 5, 6)
    assert frame[28:] == b"\x05Tag\0one\ntwo\0"
    assert (await adb("logcat", "-c")).status == 0
    assert await adb("logcat", "-d") == (0, b"", "")


async def test_a_running_logcat_ends_with_its_reader(adb: Adb) -> None:
    process = await asyncio.create_subprocess_exec(
        "adb", "-s", adb.serial, "logcat", "-v", "raw", "-b", "main", env=adb.env, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    adb.device.log.write(pid=1, tid=1, uid=1, level="I", tag="t", message="live")
    async with asyncio.timeout(patience(10)):
        assert (await process.stdout.readline()).startswith(b"---------")
        assert await process.stdout.readline() == b"live\n"
        running = {task for task in asyncio.all_tasks() if task.get_name().startswith("adbd shell")}
        assert len(running) == 1
        process.kill()
        await process.wait()
        await asyncio.wait(running)


async def test_a_broadcast_reaches_the_operator(adb: Adb) -> None:
    payload = (
        '{"commandId":"c-1","taskId":"t","source":"it\'s a test","timeoutMs":5000,'
        '"actions":[{"id":"s1","type":"sleep","params":{"durationMs":1}}]}'
    )
    quoted = payload.replace("'", "'\"'\"'")
    action = "app.clawperator.operator.ACTION_AGENT_COMMAND"
    sent = await adb(
        "shell",
        f"am broadcast -a '{action}' -p 'com.clawperator.operator' --es 'payload' '{quoted}' --receiver-foreground",
    )
    assert sent == (
        0,
        f"Broadcasting: Intent {{ act={action} flg=0x10400000 pkg=com.clawperator.operator (has extras) }}\n"
        "Broadcast completed: result=0\n".encode(),
        "",
    )
    await adb.device.idle()
    log = (await adb("logcat", "-d", "-v", "raw")).out.decode()
    assert "start commandId=c-1 taskId=t source=it's a test timeoutMs=5000 actionCount=1" in log
    assert '[Clawperator-Result] {"commandId":"c-1","taskId":"t","status":"success"' in log


async def test_an_emulator_is_listed_as_one_and_has_a_console(emulator: Adb) -> None:
    (Path(emulator.env["HOME"]) / ".emulator_console_auth_token").write_text(
        "token"
    )  # as the emulator itself leaves it
    assert re.fullmatch(r"emulator-\d+", emulator.serial)
    assert await emulator("emu", "avd", "name") == (0, b"Pixel_7_API_34\r\nOK\r\n", "")
    assert (await emulator("shell", "getprop ro.boot.qemu.avd_name")).out == b"Pixel_7_API_34\n"
    assert b"KO: unknown command" in (await emulator("emu", "nonsense")).out
    await emulator("emu", "kill")
    await emulator.state("")


@pytest.mark.parametrize("pair", [False, True])
async def test_a_device_that_was_lost_comes_back(adb_env: dict[str, str], device: SimulatedDevice, pair: bool) -> None:
    async with attached(adb_env, device, pair=pair) as adb:
        process = await asyncio.create_subprocess_exec(
            "adb", "-s", adb.serial, "shell", "echo up; sleep 100", env=adb.env, stdout=asyncio.subprocess.PIPE
        )
        assert process.stdout is not None
        assert await process.stdout.readline() == b"up\n"
        device.disconnect()
        async with asyncio.timeout(patience(10)):
            await process.wait()  # adb 29 reports success even so (android-facts 4f)
        device.connect()
        await adb.state("device")
        assert (await adb("shell", "echo back")).out == b"back\n"


async def test_an_unauthorized_device(adb_env: dict[str, str]) -> None:
    device = make_device(state="unauthorized")
    async with Simulation([device], mode="adbd", emulator_pair=True) as simulation:
        adb = Adb(adb_env, simulation.serials[0], device)
        await simulation.attach(int(adb_env["ANDROID_ADB_SERVER_PORT"]))
        await adb.state("unauthorized")
        refused = await adb("shell", "id")
        assert refused.status == 1
        assert "unauthorized" in refused.err
    await adb.state("")


async def test_uiautomator_over_a_terminal_and_without_one(adb: Adb) -> None:
    """android-facts 7b and 7c: without a terminal nothing is written, and the message comes all the same."""
    reported = b"UI hierchary dumped to: /dev/tty\n"
    with_terminal = (await adb("exec-out", "uiautomator", "dump", "/dev/tty")).out
    assert with_terminal.startswith(b"<?xml")
    assert with_terminal.endswith(b"</hierarchy>" + reported)
    assert (await adb("shell", "uiautomator dump /dev/tty")).out == reported


async def test_the_real_client_talks_to_the_embedded_server(
    adb_env: dict[str, str], device: SimulatedDevice, tmp_path: Path
) -> None:
    async with Simulation([device]) as simulation:
        env = adb_env | simulation.env()
        adb = Adb(env, device.serial, device)
        await adb.state("device")
        assert await adb("shell", "echo hi; exit 3") == (3, b"hi\n", "")
        (tmp_path / "f").write_bytes(b"contents")
        assert (await adb("push", str(tmp_path / "f"), "/sdcard/")).status == 0
        assert (await adb("exec-out", "cat /sdcard/f")).out == b"contents"
        assert (await adb("wait-for-device")).status == 0
        await run_adb(env, "kill-server")  # refused; the simulation goes on
        assert (await adb("get-serialno")).out == b"emulator-5554\n"


async def test_root_and_back(adb_env: dict[str, str]) -> None:
    device = make_device()
    async with attached(adb_env, device, pair=True) as adb:
        for verb, user in (("root", b"root\n"), ("unroot", b"shell\n")):
            back = asyncio.Event()
            forget = device.on_connect(back.set)
            assert (await adb(verb)).out.startswith(b"restarting adbd as ")
            async with asyncio.timeout(patience(10)):
                await back.wait()
            forget()
            await adb.state("device")
            assert (await adb("shell", "id", "-un")).out == user
        assert (await adb("unroot")).out == b"adbd not running as root\n"
    await device.close()


async def test_reverse(adb: Adb) -> None:
    assert (await adb("reverse", "tcp:8081", "tcp:9000")).status == 0
    assert (await adb("reverse", "--list")).out.strip() == b"host-19 tcp:8081 tcp:9000"
    assert (await adb("reverse", "--remove", "tcp:8081")).status == 0
    gone = await adb("reverse", "--remove", "tcp:8081")
    assert (gone.status, gone.err) == (1, "adb: error: listener 'tcp:8081' not found\n")
