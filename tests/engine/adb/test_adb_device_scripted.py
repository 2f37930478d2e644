"""What the real adb cannot be made to do on request: cut streams, silence, refusals, old servers and devices."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from clawperator.engine.adb import blocking
from clawperator.engine.adb import server as server_module
from clawperator.engine.adb.device import AdbDevice, ShellResult
from clawperator.engine.adb.failures import AdbTimeoutError, TransportError
from clawperator.engine.adb.protocol import CLOSE_STDIN, EXIT, STDERR, STDIN, STDOUT, shell_packet
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.errors import EngineError, ErrorCode

from .conftest import FakeAdb


def finished(*packets: tuple[int, bytes], code: int = 0) -> bytes:
    return b"OKAY" + b"".join(shell_packet(*packet) for packet in packets) + shell_packet(EXIT, bytes([code]))


def device(fake: FakeAdb, serial: str = "abc") -> AdbDevice:
    return AdbDevice(AdbServer(port=fake.port), serial)


async def until_hangup(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Says yes and nothing more."""
    writer.write(b"OKAY")
    await reader.read()


async def test_stdout_stderr_and_exit_code(fake: FakeAdb) -> None:
    fake.answers["shell,v2,raw:"] = finished((STDOUT, b"out\n"), (STDERR, b"err\n"), code=3)
    result = await device(fake).shell(["ls", "/nö such"])
    assert result == ShellResult(b"out\n", b"err\n", 3)
    assert (result.text, result.error_text, result.ok) == ("out\n", "err", False)
    assert fake.requests[-1] == "shell,v2,raw:ls '/nö such'"
    await fake.all_closed()


async def test_one_byte_at_a_time(fake: FakeAdb) -> None:
    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for byte in finished((STDOUT, b"hello "), (STDOUT, b"world"), (STDERR, b"!"), code=7):
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0)

    fake.answers["shell,v2,raw:"] = drip
    assert await device(fake).shell(["x"]) == ShellResult(b"hello world", b"!", 7)


async def test_features_are_asked_once_per_incarnation_of_the_device(fake: FakeAdb) -> None:
    fake.answers["shell,v2,raw:"] = finished()
    phone = device(fake)
    await phone.shell(["true"])
    await phone.shell(["true"])
    assert fake.requests.count("host-serial:abc:features") == 1
    fake.answers["host:tport:serial:"] = b"OKAY" + (8).to_bytes(8, "little")
    await phone.shell(["true"])
    assert fake.requests.count("host-serial:abc:features") == 2
    assert await phone.features() == {"shell_v2", "cmd", "abc"}


async def test_a_missing_exit_packet_is_a_broken_transport_and_not_success(fake: FakeAdb) -> None:
    fake.answers["shell,v2,raw:"] = b"OKAY" + shell_packet(STDOUT, b"half")
    with pytest.raises(TransportError, match="without an exit code") as caught:
        await device(fake).shell(["x"])
    assert caught.value.code is ErrorCode.DEVICE_SHELL_UNAVAILABLE
    assert caught.value.details["deviceId"] == "abc"
    await fake.all_closed()


@pytest.mark.parametrize("answer", [b"", b"OK", b"FAIL", b"FAIL0010short"])
async def test_a_server_that_dies_while_answering(fake: FakeAdb, answer: bytes) -> None:
    fake.answers["shell,v2,raw:"] = answer
    with pytest.raises(TransportError, match="closed the connection"):
        await device(fake).shell(["x"])
    await fake.all_closed()


async def test_a_refused_device(fake: FakeAdb) -> None:
    fake.answers["host:tport:serial:"] = b"FAIL000edevice offline"
    for call in (device(fake).shell(["x"]), device(fake).exec_out(["x"]), device(fake).stat("/x")):
        with pytest.raises(EngineError) as caught:
            await call
        assert caught.value.code is ErrorCode.DEVICE_OFFLINE
    await fake.all_closed()


@pytest.mark.parametrize("stalled", ["host:tport:serial:", "host-serial:", "shell,v2,raw:", "sync:", "exec:"])
async def test_silence_ends_at_the_deadline_and_leaves_no_connection(fake: FakeAdb, stalled: str) -> None:
    fake.answers[stalled] = until_hangup
    phone = device(fake)
    calls = {"sync:": lambda: phone.stat("/x", timeout=0.05), "exec:": lambda: phone.exec_out(["x"], timeout=0.05)}
    call = calls.get(stalled, lambda: phone.shell(["x"], timeout=0.05))
    with pytest.raises(AdbTimeoutError, match=r"within 0\.05 s") as caught:
        await call()
    assert caught.value.details["timeoutMs"] == 50
    await fake.all_closed()


async def test_cancelling_leaves_no_connection(fake: FakeAdb) -> None:
    asked = asyncio.Event()

    async def stall(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await until_hangup(reader, writer)

    fake.answers["shell,v2,raw:"] = stall
    task = asyncio.create_task(device(fake).shell(["x"]))
    await asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await fake.all_closed()


async def test_a_stream_is_read_while_it_runs_and_hung_up_on_leaving(fake: FakeAdb) -> None:
    more = asyncio.Event()
    heard: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"OKAY" + shell_packet(STDOUT, b"first"))
        await more.wait()
        writer.write(shell_packet(STDERR, b"second"))
        heard.append(await reader.read())

    fake.answers["shell,v2,raw:"] = talk
    async with device(fake).stream("exec logcat") as stream:
        assert await anext(stream) == (STDOUT, b"first")
        more.set()
        assert await anext(stream) == (STDERR, b"second")
        assert stream.exit_code is None
    await fake.all_closed()
    assert heard == [shell_packet(CLOSE_STDIN)]


async def test_a_stream_that_breaks_says_so(fake: FakeAdb) -> None:
    fake.answers["shell,v2,raw:"] = b"OKAY" + shell_packet(STDOUT, b"a") + b"\x01\x05\0\0\0ab"
    got = b""
    async with device(fake).stream("x") as stream:
        while len(got) < 3:
            got += (await anext(stream))[1]
        with pytest.raises(TransportError):
            await anext(stream)
    assert got == b"aab"


async def test_writing_to_a_stream(fake: FakeAdb) -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"OKAY")
        while (head := await reader.readexactly(5))[0] == STDIN:
            data = await reader.readexactly(int.from_bytes(head[1:], "little"))
            writer.write(shell_packet(STDOUT, data))
        writer.write(shell_packet(EXIT, b"\0"))

    fake.answers["shell,v2,raw:"] = echo
    async with device(fake).stream("cat", stdin=None) as stream:
        await stream.write(b"ping")
        assert await anext(stream) == (STDOUT, b"ping")
        await stream.close_stdin()
        assert [piece async for piece in stream] == []
        assert stream.exit_code == 0
    big = bytes(range(256)) * 8192  # more than any buffer on the way holds: both directions must move
    assert (await device(fake).script("cat", stdin=big, limit=2**22)).stdout == big


async def test_a_long_script_travels_as_the_input_of_sh(fake: FakeAdb) -> None:
    got = bytearray()

    async def shell(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"OKAY")
        while (head := await reader.readexactly(5))[0] == STDIN:
            got.extend(await reader.readexactly(int.from_bytes(head[1:], "little")))
        writer.write(shell_packet(EXIT, b"\0"))

    fake.answers["shell,v2,raw:sh"] = shell
    script = "am broadcast --es payload '" + "ü" * 40_000 + "'"
    assert (await device(fake).script(script)).ok
    assert bytes(got).decode() == script + "\n"
    async with device(fake).stream(script) as stream:
        assert (await stream.collect()).ok
    assert max(map(len, fake.requests)) < 100
    with pytest.raises(EngineError) as caught:
        await device(fake).script(script, stdin=b"x")
    assert caught.value.code is ErrorCode.PAYLOAD_TOO_LARGE
    await fake.all_closed()


async def test_a_command_may_end_without_reading_its_input(fake: FakeAdb) -> None:
    async def leave(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(finished((STDOUT, b"bye"), code=1))
        await writer.drain()

    fake.answers["shell,v2,raw:"] = leave
    assert await device(fake).script("x", stdin=b"y" * 5_000_000) == ShellResult(b"bye", b"", 1)


async def test_a_device_that_never_stops_talking(fake: FakeAdb) -> None:
    async def flood(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"OKAY")
        while not writer.is_closing():
            writer.write(shell_packet(STDOUT, b"x" * 4096))
            await writer.drain()

    fake.answers |= {"shell,v2,raw:": flood, "exec:": flood}
    for call in (device(fake).shell(["yes"], limit=2**20), device(fake).exec_out(["yes"], limit=2**20)):
        with pytest.raises(EngineError, match="larger than 1 MiB") as caught:
            await call
        assert caught.value.code is ErrorCode.DEVICE_SHELL_UNAVAILABLE
    await fake.all_closed()


async def test_exec_out_reads_to_the_end(fake: FakeAdb) -> None:
    png = bytes(range(256)) * 5000
    fake.answers["exec:screencap -p"] = b"OKAY" + png
    assert await device(fake).exec_out(["screencap", "-p"]) == png


# -- old servers and old devices ---------------------------------------------------------------------------------------


async def test_a_server_without_transport_ids(fake: FakeAdb) -> None:
    del fake.answers["host:tport:serial:"]
    fake.answers["host:transport:abc"] = b"OKAY"
    fake.answers["shell,v2,raw:"] = finished((STDOUT, b"hi"))
    phone = device(fake)
    assert (await phone.shell(["x"])).stdout == b"hi"
    assert (await phone.shell(["x"])).stdout == b"hi"
    assert fake.requests.count("host:tport:serial:abc") == 1  # asked once, remembered
    env = {"ANDROID_ADB_SERVER_PORT": str(fake.port)}
    assert await asyncio.to_thread(blocking.shell, "abc", ["x"], env=env) == (b"hi", b"", 0)


async def test_a_device_without_shell_v2_reports_exit_codes_in_its_output(fake: FakeAdb) -> None:
    fake.answers["host-serial:"] = b"OKAY0000"
    fake.answers["exec:"] = b"OKAYno such file\nclawperator-exit:2\n"
    assert await device(fake).shell(["ls", "x y"]) == ShellResult(b"no such file\n", b"", 2)
    assert fake.requests[-1].startswith("exec:( ls 'x y'\n)")
    for nonsense in (b"clawperator-exit:" + b"9" * 5000, b"cut off"):
        fake.answers["exec:"] = b"OKAY" + nonsense
        with pytest.raises(TransportError):
            await device(fake).shell(["ls"])
    async with device(fake).stream("exec logcat") as stream:
        assert [piece async for piece in stream] == [(STDOUT, b"cut off")]
    with pytest.raises(EngineError, match="takes no input"):
        await device(fake).shell(["cat"], stdin=b"x")
    await fake.all_closed()


async def test_an_old_device_gets_a_long_script_as_a_file(fake: FakeAdb) -> None:
    pushed = bytearray()

    async def receive(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"OKAY")
        assert await reader.readexactly(4) == b"SEND"
        await reader.readexactly(int.from_bytes(await reader.readexactly(4), "little"))
        while await reader.readexactly(4) == b"DATA":
            pushed.extend(await reader.readexactly(int.from_bytes(await reader.readexactly(4), "little")))
        await reader.readexactly(4)
        writer.write(b"OKAY\0\0\0\0")
        await writer.drain()

    fake.answers |= {"host-serial:": b"OKAY0000", "sync:": receive, "exec:sh ": b"OKAYdone\nclawperator-exit:0\n"}
    script = "echo '" + "x" * 5000 + "'"
    assert (await device(fake).script(script)).stdout == b"done\n"
    assert script.encode() in pushed
    assert max(len(request) for request in fake.requests) < 4095


async def test_a_push_that_the_device_gives_up_early_says_why(fake: FakeAdb) -> None:
    async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"OKAYFAIL\x07\0\0\0no room")
        await writer.drain()

    fake.answers["sync:"] = refuse
    with pytest.raises(EngineError, match="no room") as caught:
        await device(fake).push(b"x" * 20_000_000, "/sdcard/x")
    assert not isinstance(caught.value, TransportError)
    fake.answers["sync:"] = b"OKAY"
    with pytest.raises(TransportError):
        await device(fake).push(b"x" * 20_000_000, "/sdcard/x")
    await fake.all_closed()


# -- installation ------------------------------------------------------------------------------------------------------


async def test_an_installation_is_streamed_exactly(fake: FakeAdb, tmp_path: object) -> None:
    apk = bytes(range(256)) * 20_000
    got: list[bytes] = []

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"OKAY")
        got.append(await reader.readexactly(len(apk)))
        writer.write(b"Success\n")
        await writer.drain()

    fake.answers[f"exec:cmd package install --user current -r -S {len(apk)}"] = take
    moved: list[int] = []
    assert (await device(fake).install(apk, progress=moved.append)).ok
    assert got == [apk]
    assert moved[-1] == len(apk)
    assert moved == sorted(moved)
    fake.answers["host-serial:"] = b"OKAY0011shell_v2,abb_exec"
    fake.answers[f"abb_exec:package\0install\0--user\0current\0-S\0{len(apk)}"] = take
    server = AdbServer(port=fake.port)
    assert (await AdbDevice(server, "other").install(apk, reinstall=False)).ok


async def test_an_installation_refused_before_all_of_it_was_read(fake: FakeAdb) -> None:
    async def refuse(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"OKAYFailure [INSTALL_FAILED_INSUFFICIENT_STORAGE]\n")
        await writer.drain()

    fake.answers["exec:cmd package install"] = refuse
    result = await device(fake).install(b"x" * 20_000_000)
    assert (result.ok, result.code) == (False, "INSTALL_FAILED_INSUFFICIENT_STORAGE")


async def test_an_installation_that_breaks_off_is_a_broken_transport(fake: FakeAdb) -> None:
    fake.answers["exec:cmd package install"] = b"OKAY"
    with pytest.raises(TransportError):
        await device(fake).install(b"x" * 20_000_000)


# -- the server's own questions ----------------------------------------------------------------------------------------


def block(text: str) -> bytes:
    return b"%04x%s" % (len(text.encode()), text.encode())


async def test_connecting_to_a_device_over_the_network(fake: FakeAdb) -> None:
    server = AdbServer(port=fake.port)
    fake.answers["host:connect:a:1"] = b"OKAY" + block("already connected to a:1")
    fake.answers["host:connect:b:1"] = b"OKAY" + block("failed to connect to 'b:1': Connection refused")
    fake.answers["host:disconnect:a:1"] = b"OKAY" + block("disconnected a:1")
    assert await server.connect_device("a:1") == "already connected to a:1"
    assert await server.disconnect_device("a:1") == "disconnected a:1"
    with pytest.raises(EngineError, match="Connection refused") as caught:
        await server.connect_device("b:1")
    assert caught.value.code is ErrorCode.DEVICE_NOT_FOUND


async def test_odd_versions(fake: FakeAdb) -> None:
    server = AdbServer(port=fake.port)
    fake.answers["host:version"] = b"OKAY" + block("seven")
    with pytest.raises(EngineError, match="unexpected version"):
        await server.version()


async def test_presence_is_pushed(fake: FakeAdb) -> None:
    async def track(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"OKAY" + block("") + block("abc offline\n") + block("abc device\n"))
        await writer.drain()

    fake.answers["host:track-devices-l"] = track
    async with aclosing(AdbServer(port=fake.port).track_devices()) as devices:
        seen = [await anext(devices) for _ in range(3)]
        with pytest.raises(TransportError):
            await anext(devices)
    assert [[entry.state for entry in entries] for entries in seen] == [[], ["offline"], ["device"]]
    await fake.all_closed()


async def test_presence_survives_the_server(fake: FakeAdb) -> None:
    fake.answers["host:track-devices-l"] = b"OKAY" + block("abc device\n")
    losses: list[EngineError] = []
    rounds = 0
    async with aclosing(AdbServer(port=fake.port).track_devices(reconnect=True, on_lost=losses.append)) as devices:
        async for entries in devices:
            assert entries[0].usable
            rounds += 1
            if rounds == 3:
                break
    assert len(losses) == 2
    await fake.all_closed()


async def test_a_server_that_does_not_list_devices_is_lost(fake: FakeAdb, monkeypatch: pytest.MonkeyPatch) -> None:
    """Something else listens on the port, or the server hangs: it would be waited for as for a list without a change."""
    monkeypatch.setattr(server_module, "QUERY_TIMEOUT", 0.05)
    fake.answers["host:track-devices-l"] = until_hangup
    with pytest.raises(EngineError, match=r"no answer within 0\.05 s"):
        async for _ in AdbServer(port=fake.port).track_devices():
            pass
    await fake.all_closed()


async def test_leaving_the_tracker_hangs_up(fake: FakeAdb) -> None:
    async def track(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"OKAY" + block(""))
        await reader.read()

    fake.answers["host:track-devices-l"] = track
    async for entries in AdbServer(port=fake.port).track_devices():
        assert entries == ()
        break
    await fake.all_closed()


async def test_a_host_name_is_tried_at_all_its_addresses(fake: FakeAdb) -> None:
    fake.answers["host:version"] = b"OKAY00040029"
    assert await AdbServer("LOCALHOST", fake.port).version() == 41  # ::1 first, where nothing listens


async def test_a_stream_that_cannot_be_opened_leaves_no_connection(fake: FakeAdb) -> None:
    fake.answers["shell,v2,raw:"] = b"FAIL0006closed"
    with pytest.raises(EngineError, match="closed"):
        async with device(fake).stream("x"):
            raise AssertionError("there is no stream")
    await fake.all_closed()


async def test_what_answers_is_no_adb_server(fake: FakeAdb) -> None:
    fake.answers["host:version"] = b"HTTP/1.1 400 Bad Request\r\n"
    with pytest.raises(EngineError, match=r"begins with 'HTTP' .* not an adb server") as caught:
        await AdbServer(port=fake.port).version()
    assert caught.value.code is ErrorCode.ADB_SERVER_FAILED


async def test_the_blocking_reader_has_the_same_conversations(fake: FakeAdb) -> None:
    env = {"ADB_SERVER_SOCKET": f"tcp:localhost:{fake.port}"}
    fake.answers["host:devices-l"] = b"OKAY" + block("abc                    device product:p transport_id:3\n")
    (entry,) = await asyncio.to_thread(blocking.devices, env)
    assert (entry.serial, entry.transport_id) == ("abc", 3)
    fake.answers["shell,v2,raw:"] = finished((STDOUT, b"a"), (STDERR, b"b"), code=4)
    assert await asyncio.to_thread(blocking.shell, "abc", ["x"], env=env) == (b"a", b"b", 4)
    fake.answers["shell,v2,raw:"] = b"OKAY" + shell_packet(STDOUT, b"a")
    with pytest.raises(TransportError, match=r"exit code|reset"):
        await asyncio.to_thread(blocking.shell, "abc", ["x"], env=env)
    fake.answers["shell,v2,raw:"] = until_hangup
    with pytest.raises(AdbTimeoutError):
        await asyncio.to_thread(blocking.shell, "abc", ["x"], env=env, timeout=0.05)
    fake.answers["host:tport:serial:"] = b"FAIL0018device 'abc' not found\r\n"
    with pytest.raises(EngineError) as caught:
        await asyncio.to_thread(blocking.shell, "abc", ["x"], env=env)
    assert caught.value.code is ErrorCode.DEVICE_NOT_FOUND
    await fake.all_closed()
