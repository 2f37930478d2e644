"""The device's side of the adb transport, with a peer that may do what no adb does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawperator.engine.simulator.adbd import AUTH, CLSE, CNXN, MAX_DATA, OKAY, OPEN, VERSION, WRTE, Packet, read_packet
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.run import Simulation
from tests.support import patience

from .conftest import make_device


class Peer:
    """What an adb server does, one packet at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.banner = b""

    async def send(self, command: int, arg0: int, arg1: int, data: bytes = b"") -> None:
        self.writer.write(Packet(command, arg0, arg1, data).encode())
        await self.writer.drain()

    async def receive(self) -> Packet:
        async with asyncio.timeout(patience(5)):
            return await read_packet(self.reader)

    async def connect(self, *, version: int = VERSION, size: int = MAX_DATA) -> Packet:
        await self.send(CNXN, version, size, b"host::features=shell_v2,cmd")
        answer = await self.receive()
        self.banner = answer.data
        return answer

    async def open(self, service: str, *, local: int = 1) -> Packet:
        await self.send(OPEN, local, 0, service.encode() + b"\0")
        return await self.receive()

    async def everything(self, *, local: int = 1) -> bytes:
        """What a stream writes until it closes."""
        data = b""
        while (packet := await self.receive()).command == WRTE:
            assert packet.arg1 == local
            data += packet.data
            await self.send(OKAY, local, packet.arg0)
        assert packet.command == CLSE
        return data

    async def closed(self) -> bool:
        async with asyncio.timeout(patience(5)):
            with contextlib.suppress(ConnectionError):
                return await self.reader.read() == b""
        return True


@contextlib.asynccontextmanager
async def peer_of(device: SimulatedDevice) -> AsyncIterator[Peer]:
    async with Simulation([device], mode="adbd") as simulation:
        reader, writer = await asyncio.open_connection("127.0.0.1", simulation.port)
        try:
            yield Peer(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()


@pytest.fixture
async def peer(device: SimulatedDevice) -> AsyncIterator[Peer]:
    async with peer_of(device) as connected:
        yield connected


async def test_the_banner_says_what_the_device_is_and_offers(peer: Peer) -> None:
    answer = await peer.connect()
    assert (answer.command, answer.arg0, answer.arg1) == (CNXN, VERSION, MAX_DATA)
    assert answer.data == (
        b"device::ro.product.name=sdk_gphone64_x86_64;ro.product.model=Pixel 7;ro.product.device=emu64xa;"
        b"features=shell_v2,cmd,stat_v2,ls_v2,fixed_push_mkdir"
    )


async def test_api_23_is_an_older_protocol_without_features() -> None:
    async with peer_of(make_device(sdk=23)) as peer:
        answer = await peer.connect()
        assert (answer.arg0, answer.arg1) == (0x01000000, 4096)
        assert answer.data.endswith(b"ro.product.device=generic_x86_64;")
        assert (await peer.open("shell,v2,raw:id")).command == CLSE
        await peer.open("shell:echo one; nosuch", local=2)
        assert await peer.everything(local=2) == b"one\r\n/system/bin/sh: nosuch: not found\r\n"


async def test_a_service_is_opened_written_and_closed(peer: Peer) -> None:
    await peer.connect()
    opened = await peer.open("shell,v2,raw:echo out; echo err >&2; exit 3", local=7)
    assert (opened.command, opened.arg1) == (OKAY, 7)
    assert await peer.everything(local=7) == b"\x01\4\0\0\0out\n" + b"\x02\4\0\0\0err\n" + b"\x03\1\0\0\0\x03"


@pytest.mark.parametrize("service", ["jdwp:1", "tcp:80", "localabstract:x", "abb_exec:package", "nonsense", ""])
async def test_what_is_not_offered_is_closed_at_once(peer: Peer, service: str) -> None:
    await peer.connect()
    answer = await peer.open(service, local=5)
    assert (answer.command, answer.arg0, answer.arg1) == (CLSE, 0, 5)


async def test_only_one_message_is_in_flight_per_stream(peer: Peer) -> None:
    await peer.connect(size=4096)
    await peer.open(f"exec:echo {' '.join(map(str, range(3000)))}")
    first = await peer.receive()
    assert (first.command, len(first.data)) == (WRTE, 4096)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await read_packet(peer.reader)
    await peer.send(OKAY, 1, first.arg0)
    rest = await peer.everything()
    assert (first.data + rest).decode().split() == [str(number) for number in range(3000)]


async def test_a_close_is_answered_with_a_close(peer: Peer) -> None:
    """As adbd does; adb-shell waits for it after every file transfer."""
    await peer.connect()
    opened = await peer.open("sync:", local=6)
    await peer.send(CLSE, 6, opened.arg0)
    assert await peer.receive() == Packet(CLSE, opened.arg0, 6)
    assert (await peer.open("exec:echo on", local=7)).command == OKAY


async def test_streams_run_side_by_side(peer: Peer) -> None:
    await peer.connect()
    waiting = await peer.open("exec:cat", local=1)
    await peer.open("exec:echo second", local=2)
    assert await peer.everything(local=2) == b"second\n"
    await peer.send(WRTE, 1, waiting.arg0, b"first")
    packets = [await peer.receive(), await peer.receive()]
    assert [(packet.command, packet.data) for packet in packets] == [(OKAY, b""), (WRTE, b"first")]


async def test_closing_a_stream_ends_its_service(peer: Peer, device: SimulatedDevice) -> None:
    await peer.connect()
    before = asyncio.all_tasks()
    device.log.write(pid=1, tid=1, uid=1, level="I", tag="t", message="m")
    opened = await peer.open("shell,v2,raw:logcat")
    assert (await peer.receive()).command == WRTE
    (service,) = asyncio.all_tasks() - before
    await peer.send(CLSE, 1, opened.arg0)
    await asyncio.wait({service}, timeout=patience(5))
    assert service.cancelled()
    assert (await peer.receive()).command == CLSE
    assert (await peer.open("exec:echo still here", local=2)).command == OKAY


async def test_standard_input_comes_in_packets_cut_anywhere(peer: Peer) -> None:
    await peer.connect()
    opened = await peer.open("shell,v2,raw:sh")
    script = b"echo one\nread x\nvalue\necho $x\n"
    window = b"\x05" + (6).to_bytes(4, "little") + b"24x80,"
    sent = window + b"\0" + len(script).to_bytes(4, "little") + script + b"\x04\0\0\0\0"
    pieces = [sent[at : at + 3] for at in range(0, len(sent), 3)]
    await peer.send(WRTE, 1, opened.arg0, pieces.pop(0))
    data = b""
    while (packet := await peer.receive()).command != CLSE:
        if packet.command == WRTE:
            data += packet.data
            await peer.send(OKAY, 1, opened.arg0)
        elif pieces:  # our last piece was taken
            await peer.send(WRTE, 1, opened.arg0, pieces.pop(0))
    assert data == b"\x01\4\0\0\0one\n" + b"\x01\6\0\0\0value\n" + b"\x03\1\0\0\0\0"


async def test_a_peer_that_does_not_wait_for_okay_is_dropped(peer: Peer) -> None:
    await peer.connect()
    opened = await peer.open("shell,v2,raw:sleep 100")
    for _ in range(3):
        await peer.send(WRTE, 1, opened.arg0, b"x")
    assert await peer.closed()


@pytest.mark.parametrize("state", ["unauthorized", "authorizing"])
async def test_an_unauthorized_device_asks_for_a_signature_and_takes_none(state: str) -> None:
    async with peer_of(make_device(state=state)) as peer:
        first = await peer.connect()
        assert (first.command, first.arg0, len(first.data)) == (AUTH, 1, 20)
        await peer.send(AUTH, 2, 0, b"s" * 256)
        second = await peer.receive()
        assert (second.command, second.arg0) == (AUTH, 1)
        assert second.data != first.data
        await peer.send(AUTH, 3, 0, b"public key\0")
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await read_packet(peer.reader)


async def test_an_offline_device_says_nothing() -> None:
    async with peer_of(make_device(state="offline")) as peer:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await peer.connect()


async def test_a_disconnect_drops_every_transport_and_a_return_accepts_again(device: SimulatedDevice) -> None:
    async with Simulation([device], mode="adbd") as simulation:
        reader, writer = await asyncio.open_connection("127.0.0.1", simulation.port)
        peer = Peer(reader, writer)
        await peer.connect()
        await peer.open("shell,v2,raw:logcat")
        device.disconnect()
        assert await peer.closed()
        unplugged = Peer(*await asyncio.open_connection("127.0.0.1", simulation.port))
        assert await unplugged.closed()
        device.connect()
        again = Peer(*await asyncio.open_connection("127.0.0.1", simulation.port))
        assert (await again.connect()).command == CNXN
        for each in (peer, unplugged, again):
            each.writer.close()


async def test_what_streams_write_as_the_device_is_unplugged_is_not_written(
    device: SimulatedDevice, caplog: pytest.LogCaptureFixture
) -> None:
    """asyncio warns of each write to a closed connection after the fifth: ``socket.send() raised exception.``"""
    async with peer_of(device) as peer:
        await peer.connect()
        for local in range(1, 11):
            assert (await peer.open("shell,v2,raw:logcat", local=local)).command == OKAY
        device.log.write(pid=1, tid=1, uid=1, level="I", tag="t", message="m")
        device.disconnect()
        assert await peer.closed()
    assert caplog.messages == []


async def test_leaving_the_simulation_ends_open_connections() -> None:
    async with Simulation([make_device()], mode="adbd") as simulation:
        peer = Peer(*await asyncio.open_connection("127.0.0.1", simulation.port))
        await peer.connect()
        await peer.open("shell,v2,raw:logcat")
    assert await peer.closed()
    peer.writer.close()


PACKETS = st.tuples(
    st.sampled_from([CNXN, AUTH, OPEN, OKAY, CLSE, WRTE, 0x434E5953, 1]),
    st.integers(0, 3),
    st.integers(0, 3),
    st.sampled_from(
        [b"", b"shell:echo x\0", b"sync:\0", b"exec:cat\0", b"shell,v2,raw:cat\0", b"STAT\4\0\0\0/sdc", b"\0" * 9]
    ),
).map(lambda fields: Packet(*fields).encode())
TRAFFIC = st.lists(st.one_of(PACKETS, PACKETS, st.binary(max_size=80)), max_size=12).map(b"".join)


@settings(max_examples=60, deadline=None)
@given(TRAFFIC, st.booleans())
async def test_any_traffic_is_survived(data: bytes, greeted: bool) -> None:
    """At worst the connection is dropped; the device serves the next one, and nothing of ours broke."""
    broken: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, report: broken.append(report))
    async with Simulation([make_device()], mode="adbd") as simulation:
        peer = Peer(*await asyncio.open_connection("127.0.0.1", simulation.port))
        if greeted:
            await peer.connect()
        with contextlib.suppress(ConnectionError):
            peer.writer.write(data)
            await peer.writer.drain()
            for _ in range(3):
                await asyncio.sleep(0)
        peer.writer.close()
        survivor = Peer(*await asyncio.open_connection("127.0.0.1", simulation.port))
        assert (await survivor.connect()).command == CNXN
        await survivor.open("exec:echo fine")
        assert await survivor.everything() == b"fine\n"
        survivor.writer.close()
        for each in (peer, survivor):
            with contextlib.suppress(ConnectionError):
                await each.writer.wait_closed()
    assert broken == []
