"""The embedded adb server over raw sockets: what clients ask of the real one."""

from __future__ import annotations

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.run import Simulation
from tests.engine.operator.apks import apk
from tests.support import patience

from .conftest import make_device


class Client:
    """One connection to an adb server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer

    async def ask(self, service: str) -> bytes:
        data = service.encode()
        self.writer.write(b"%04x" % len(data) + data)
        return await self.read(4)

    async def read(self, size: int) -> bytes:
        async with asyncio.timeout(patience(5)):
            return await self.reader.readexactly(size)

    async def block(self) -> str:
        return (await self.read(int(await self.read(4), 16))).decode()

    async def rest(self) -> bytes:
        async with asyncio.timeout(patience(5)):
            return await self.reader.read()

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


class Server:
    """Clients of one simulation."""

    def __init__(self, simulation: Simulation) -> None:
        self.simulation = simulation
        self._clients: list[Client] = []

    async def client(self) -> Client:
        client = Client(*await asyncio.open_connection("127.0.0.1", self.simulation.port))
        self._clients.append(client)
        return client

    async def query(self, service: str) -> str:
        """The block that answers; a refusal begins with ``FAIL``."""
        client = await self.client()
        status = (await client.ask(service)).decode()
        return ("" if status == "OKAY" else status + " ") + await client.block()

    async def device(self, service: str, *, serial: str = "emulator-5554") -> Client:
        client = await self.client()
        assert await client.ask(f"host:tport:serial:{serial}") == b"OKAY"
        await client.read(8)
        assert await client.ask(service) == b"OKAY"
        return client

    async def close(self) -> None:
        for client in self._clients:
            await client.close()


@contextlib.asynccontextmanager
async def serving(*devices: SimulatedDevice) -> AsyncIterator[Server]:
    async with Simulation(devices) as simulation:
        server = Server(simulation)
        try:
            yield server
        finally:
            await server.close()


@pytest.fixture
async def server(device: SimulatedDevice) -> AsyncIterator[Server]:
    async with serving(device) as running:
        yield running


LONG = (
    "emulator-5554          device product:sdk_gphone64_x86_64 model:Pixel_7 device:emu64xa transport_id:1\n"
    "emulator-5556          unauthorized transport_id:2\n"
    "emulator-5558          offline transport_id:3\n"
)


async def test_the_list_of_devices() -> None:
    states = ("device", "unauthorized", "offline")
    async with serving(*(make_device(state=state, index=index) for index, state in enumerate(states))) as server:
        assert await server.query("host:devices-l") == LONG
        assert await server.query("host:devices") == (
            "emulator-5554\tdevice\nemulator-5556\tunauthorized\nemulator-5558\toffline\n"
        )
        assert await server.query("host:get-state") == "FAIL more than one device/emulator"
        assert await server.query("host-serial:emulator-5556:get-state") == "unauthorized"
        assert await server.query("host-transport-id:3:get-serialno") == "emulator-5558"
        assert (await server.query("host:transport:emulator-5556")).startswith("FAIL device unauthorized.\n")
        assert await server.query("host:tport:serial:emulator-5558") == "FAIL device offline"
        assert server.simulation.serials == ("emulator-5554", "emulator-5556", "emulator-5558")


@pytest.mark.parametrize(
    ("service", "answer"),
    [
        ("host:version", "0029"),
        ("host:get-state", "device"),
        ("host-any:get-serialno", "emulator-5554"),
        ("host-local:get-state", "device"),
        ("host-serial:emulator-5554:features", "shell_v2,cmd,stat_v2,ls_v2,fixed_push_mkdir"),
        ("host:features", "shell_v2,cmd,stat_v2,ls_v2,fixed_push_mkdir"),
        ("host:host-features", "shell_v2,cmd,stat_v2,ls_v2,fixed_push_mkdir"),
        ("host:list-forward", ""),
        ("host-serial:emulator-5554:list-forward", ""),
        ("host:kill", "FAIL the simulator's adb server does not do this"),
        ("host:connect:127.0.0.1:5555", "failed to connect to '127.0.0.1:5555': Connection refused"),
        ("host-serial:127.0.0.1:5555:get-state", "FAIL device '127.0.0.1:5555' not found"),
        ("host:transport-usb", "FAIL no devices found"),
        ("host:transport-id:9", "FAIL no device with transport id '9'"),
        ("host:nonsense", "FAIL unknown host service"),
        ("shell:echo no device was chosen", "FAIL device offline (no transport)"),
    ],
)
async def test_questions(server: Server, service: str, answer: str) -> None:
    assert await server.query(service) == answer


@pytest.mark.parametrize("choice", ["host:transport:emulator-5554", "host:transport-any", "host:transport-id:1"])
async def test_choosing_a_device_and_running_a_service(server: Server, choice: str) -> None:
    client = await server.client()
    assert await client.ask(choice) == b"OKAY"
    assert await client.ask("shell,v2,raw:echo hi; exit 3") == b"OKAY"
    assert await client.rest() == b"\x01\3\0\0\0hi\n" + b"\x03\1\0\0\0\x03"


@pytest.mark.parametrize("choice", ["serial:emulator-5554", "any", "local"])
async def test_the_transport_id_is_reported(server: Server, choice: str) -> None:
    client = await server.client()
    assert await client.ask(f"host:tport:{choice}") == b"OKAY"
    assert await client.read(8) == (1).to_bytes(8, "little")
    assert await client.ask("jdwp:1") == b"FAIL"
    assert await client.block() == "closed"


async def test_standard_input_reaches_the_service(server: Server) -> None:
    client = await server.device("exec:wc -c | cat; head -c 3")
    client.writer.write(b"x")
    client = await server.device("shell,v2,raw:cat; exit 2")
    client.writer.write(b"\0\3\0\0\0abc" + b"\4\0\0\0\0")
    assert await client.rest() == b"\x01\3\0\0\0abc" + b"\x03\1\0\0\0\x02"


async def test_a_client_that_closes_takes_its_service_with_it(server: Server, device: SimulatedDevice) -> None:
    before = asyncio.all_tasks()
    client = await server.device("shell,v2,raw:log -t T started; logcat")
    await client.read(5)
    await client.close()
    services = {task for task in asyncio.all_tasks() - before if task.get_name().startswith("service")}
    if services:
        await asyncio.wait(services, timeout=patience(5))
    assert all(task.done() for task in services)
    assert await server.query("host:get-state") == "device"
    assert device.commands == 0


async def test_presence_is_pushed(server: Server, device: SimulatedDevice) -> None:
    tracker = await server.client()
    assert await tracker.ask("host:track-devices-l") == b"OKAY"
    assert "transport_id:1" in await tracker.block()
    logcat = await server.device("shell,v2,raw:logcat")
    device.disconnect()
    assert await tracker.block() == ""
    assert await logcat.rest() == b""  # the stream falls with the device
    assert await server.query("host:get-state") == "FAIL no devices/emulators found"
    device.connect()
    assert "transport_id:2" in await tracker.block()
    await tracker.close()


@pytest.mark.parametrize("length", [b"-001", b"+0x1", b" 001", b"zzzz"])
async def test_a_length_that_is_none_is_hung_up_on(server: Server, length: bytes) -> None:
    client = await server.client()
    client.writer.write(length + b"host:version")
    with contextlib.suppress(ConnectionResetError):
        assert await client.rest() == b""


async def test_no_change_is_missed_by_a_slow_tracker(server: Server, device: SimulatedDevice) -> None:
    tracker = await server.client()
    assert await tracker.ask("host:track-devices") == b"OKAY"
    listed = [await tracker.block()]
    for _ in range(20):
        device.disconnect()
        device.connect()
        await asyncio.sleep(0)
    device.disconnect()
    while listed[-1]:
        listed.append(await tracker.block())
    assert listed[-1] == ""


async def test_waiting_for_a_device(server: Server, device: SimulatedDevice) -> None:
    waiting = await server.client()
    device.disconnect()
    assert await waiting.ask("host-serial:emulator-5554:wait-for-any-device") == b"OKAY"
    device.connect()
    assert await waiting.read(4) == b"OKAY"
    gone = await server.client()
    assert await gone.ask("host:wait-for-any-disconnect") == b"OKAY"
    device.disconnect()
    assert await gone.read(4) == b"OKAY"


# -- file transfer, as bytes


def request(name: bytes, path: bytes) -> bytes:
    return name + len(path).to_bytes(4, "little") + path


async def test_sending_asking_and_receiving_a_file(server: Server, device: SimulatedDevice) -> None:
    sync = await server.device("sync:")
    data = bytes(range(256)) * 300
    sync.writer.write(request(b"SEND", b"/sdcard/new/deep/f,33206"))
    for at in range(0, len(data), 65536):
        sync.writer.write(request(b"DATA", data[at : at + 65536]))
    sync.writer.write(b"DONE" + (1_600_000_000).to_bytes(4, "little"))
    assert await sync.read(8) == b"OKAY\0\0\0\0"
    assert device.files.read("/sdcard/new/deep/f") == data
    assert device.files.stat("/sdcard/new/deep/f").mtime == 1_600_000_000

    sync.writer.write(request(b"STAT", b"/sdcard/new/deep/f"))
    assert struct.unpack("<4s3I", await sync.read(16))[2:] == (len(data), 1_600_000_000)
    sync.writer.write(request(b"STA2", b"/sdcard/new/deep/f"))
    fields = struct.unpack("<4sIQQIIIIQqqq", await sync.read(72))
    assert (fields[1], fields[8], fields[10]) == (0, len(data), 1_600_000_000)

    sync.writer.write(request(b"RECV", b"/sdcard/new/deep/f"))
    received = b""
    while (head := await sync.read(8))[:4] == b"DATA":
        received += await sync.read(int.from_bytes(head[4:], "little"))
    assert head[:4] == b"DONE"
    assert received == data
    sync.writer.write(b"QUIT\0\0\0\0")
    assert await sync.rest() == b""


async def test_listing_a_folder(server: Server) -> None:
    sync = await server.device("sync:")
    sync.writer.write(request(b"LIST", b"/sdcard"))
    names = []
    while (head := await sync.read(20))[:4] == b"DENT":
        names.append(await sync.read(int.from_bytes(head[16:], "little")))
    assert (head[:4], names) == (b"DONE", [b".", b"..", b"Android", b"Download", b"Pictures"])
    sync.writer.write(request(b"LIS2", b"/nope"))
    assert (await sync.read(76))[:4] == b"DONE"


async def test_what_cannot_be_transferred_says_why(server: Server) -> None:
    sync = await server.device("sync:")
    sync.writer.write(request(b"RECV", b"/nope"))
    assert (await sync.read(8))[:4] == b"FAIL"
    assert await sync.read(len("open failed: No such file or directory")) == b"open failed: No such file or directory"
    sync.writer.write(request(b"SEND", b"/system/x,33188") + request(b"DATA", b"x") + b"DONE\0\0\0\0")
    head = await sync.read(8)
    assert await sync.read(int.from_bytes(head[4:], "little")) == b"couldn't create file: Permission denied"
    sync.writer.write(request(b"STAT", b"/nope") + request(b"LST2", b"/nope"))
    assert await sync.read(16) == b"STAT" + bytes(12)
    assert struct.unpack("<4sI", await sync.read(8)) == (b"LST2", 2)
    await sync.read(64)
    sync.writer.write(request(b"SEND", b"/sdcard/x,33188") + b"DATA" + (70_000).to_bytes(4, "little"))
    head = await sync.read(8)
    assert await sync.read(int.from_bytes(head[4:], "little")) == b"oversize data message"
    assert await sync.rest() == b""


async def test_installing_by_stream(server: Server, device: SimulatedDevice) -> None:
    """android-facts 4k."""
    device.uninstall("com.clawperator.operator")
    client = await server.device(f"exec:cmd package 'install' '-r' '-S' '{len(apk())}'")
    client.writer.write(apk())
    assert await client.rest() == b"Success\n"
    assert "com.clawperator.operator" in device.packages
    client = await server.device("exec:cmd package install -S 4")
    client.writer.write(b"nope")
    assert (await client.rest()).startswith(b"Failure [INSTALL_PARSE_FAILED_NOT_APK")


async def test_rebooting_drops_the_transport(server: Server, device: SimulatedDevice) -> None:
    dropped: list[str] = []
    device.on_disconnect(lambda: dropped.append(device.state))
    client = await server.device("reboot:")
    assert await client.rest() == b""
    assert dropped == ["offline"]


async def test_a_user_build_refuses_root_in_words() -> None:
    async with serving(make_device(build="user")) as server:
        assert await (await server.device("root:")).rest() == b"adbd cannot run as root in production builds\n"
        assert await (await server.device("unroot:")).rest() == b"adbd not running as root\n"
        assert await (await server.device("exec:getprop ro.build.type; getprop ro.debuggable")).rest() == b"user\n0\n"


async def test_a_debuggable_build_restarts_as_root(server: Server, device: SimulatedDevice) -> None:
    async def restarted(service: str) -> bytes:
        back = asyncio.Event()
        forget = device.on_connect(back.set)
        answer = await (await server.device(service)).rest()
        async with asyncio.timeout(patience(5)):
            await back.wait()
        forget()
        return answer

    assert await restarted("root:") == b"restarting adbd as root\n"
    assert await (await server.device("root:")).rest() == b"adbd is already running as root\n"
    assert await (await server.device("exec:id -un; echo > /system/x && ls /system/x")).rest() == b"root\n/system/x\n"
    assert await restarted("unroot:") == b"restarting adbd as non root\n"
    assert await (await server.device("exec:id -un")).rest() == b"shell\n"


@pytest.mark.parametrize(("sdk", "head"), [(34, 2), (23, 1)])
async def test_the_framebuffer(sdk: int, head: int) -> None:
    async with serving(make_device(sdk=sdk)) as server:
        data = await (await server.device("framebuffer:")).rest()
    numbers = struct.unpack_from(f"<{12 + head}I", data)
    assert numbers[:2] == (head, 32)
    size, width, height, *channels = numbers[1 + head :]
    assert (width, height, size) == (1080, 2340, 1080 * 2340 * 4)
    assert channels == [0, 8, 16, 8, 8, 8, 24, 8]
    assert len(data) == 4 * len(numbers) + size


async def test_reversed_ports(server: Server) -> None:
    async def ask(verb: str) -> bytes:
        return await (await server.device(f"reverse:{verb}")).rest()

    assert await ask("list-forward") == b"0000"
    assert await ask("forward:tcp:8081;tcp:9000") == b"OKAY00048081"
    assert await ask("forward:norebind:tcp:8081;tcp:9001") == b"FAIL001dcannot rebind existing socket"
    assert (await ask("forward:tcp:0;tcp:1")).startswith(b"OKAY0005")
    assert await ask("forward:localabstract:x;tcp:2") == b"OKAY"
    assert await ask("killforward:tcp:8081") == b"OKAY"
    assert await ask("killforward:tcp:8081") == b"FAIL001dlistener 'tcp:8081' not found"
    assert b"host-19 localabstract:x tcp:2\n" in await ask("list-forward")
    assert await ask("killforward-all") == b"OKAY"
    assert await ask("list-forward") == b"0000"
    for wrong in ("forward:tcp:99999;tcp:1", "forward:tcp:1", "forward:nonsense:1;tcp:1", "nonsense"):
        assert (await ask(wrong)).startswith(b"FAIL")


async def test_forwarded_ports(server: Server) -> None:
    client = await server.client()
    assert await client.ask("host-serial:emulator-5554:forward:tcp:0;shell:echo through") == b"OKAY"
    assert await client.read(4) == b"OKAY"
    port = await client.block()
    assert await server.query("host:list-forward") == f"emulator-5554 tcp:{port} shell:echo through\n"
    again = await server.query(f"host-serial:emulator-5554:forward:norebind:tcp:{port};tcp:1")
    assert again == "FAIL cannot rebind existing socket"
    reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
    async with asyncio.timeout(patience(5)):
        assert await reader.read() == b"through\n"
    writer.close()
    assert await (await server.client()).ask(f"host:killforward:tcp:{port}") == b"OKAY"
    assert await server.query("host:list-forward") == ""
    assert await server.query("host:killforward:tcp:1") == "FAIL listener 'tcp:1' not found"
    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", int(port))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.binary(max_size=40), st.sampled_from([b"000chost:version", b"0012host:transport-any", b"0005sync:"])
        ),
        max_size=6,
    )
)
async def test_any_bytes_are_survived(pieces: list[bytes]) -> None:
    broken: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, report: broken.append(report))
    async with serving(make_device()) as server:
        client = await server.client()
        with contextlib.suppress(ConnectionError):
            client.writer.write(b"".join(pieces))
            await client.writer.drain()
            await asyncio.sleep(0)
        assert await server.query("host:version") == "0029"
    assert broken == []


class Person:
    """Types into a terminal and looks at its screen."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._received = b""
        self.status = b""

    async def type(self, keys: bytes) -> None:
        self._client.writer.write(b"\0" + len(keys).to_bytes(4, "little") + keys)

    async def sees(self, text: str) -> str:
        """Wait for ``text``; what is on the screen up to and including it."""
        screen = b""
        while text.encode() not in screen:
            head = await self._client.read(5)
            assert head[0] == 1
            screen += await self._client.read(int.from_bytes(head[1:], "little"))
        return screen.decode()


async def test_a_person_at_the_shell(server: Server) -> None:
    client = await server.device("shell,v2,TERM=xterm-256color,pty:")
    person = Person(client)
    prompt = "emu64xa:/ $ "
    await person.sees(prompt)
    await person.type(b"wrong\x15ecko\x7f\x7fho hi\r")
    assert (await person.sees("\r\nhi\r\n" + prompt)).startswith("wrong" + "\b \b" * 5 + "ecko\b \b\b \bho hi")
    await person.type(b"cd /data; echo 'two\r")
    await person.sees("> ")
    await person.type(b"lines' >&2\r")
    await person.sees("two\r\nlines\r\nemu64xa:/data $ ")
    await person.type(b"cat\rline\r")
    await person.sees("line\r\nline\r\n")
    await person.type(b"\x04")
    await person.sees("$ ")
    await person.type(b"echo started; sleep 100\r")
    await person.sees("\r\nstarted\r\n")
    await person.type(b"\x03")
    await person.sees("^C\r\nemu64xa:/data $ ")
    await person.type(b"echo $?\r")
    await person.sees("\r\n130\r\n")
    await person.type(b"for x in 'forgotten\r\x03exit 3\r")
    assert (await client.rest()).endswith(b"\x03\1\0\0\0\x03")


async def test_the_end_of_input_at_the_prompt_leaves_the_shell(server: Server) -> None:
    client = await server.device("shell,v2,pty:")
    await Person(client).type(b"false\r\x04")
    assert (await client.rest()).endswith(b"\x03\1\0\0\0\x01")


async def test_pasted_lines_are_echoed_each_at_its_prompt(server: Server) -> None:
    client = await server.device("shell,v2,pty:")
    person = Person(client)
    await person.type(b"echo one\necho two\ncat\nline\n")
    screen = await person.sees("line\r\nline\r\n")
    prompt = "emu64xa:/ $ "
    assert screen == f"{prompt}echo one\r\none\r\n{prompt}echo two\r\ntwo\r\n{prompt}cat\r\nline\r\nline\r\n"
