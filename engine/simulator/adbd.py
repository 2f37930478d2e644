"""The device's side of the adb transport protocol over TCP, so that the real adb (or any client of it) can drive a device.

One ``Transport`` is one connection from an adb server: CNXN and AUTH, then many streams at once, each with at most one
unacknowledged WRTE in flight in either direction. What a stream is for, ``services`` decides.
"""

from __future__ import annotations

import asyncio
import secrets
import struct
from collections.abc import Callable
from typing import Final, NamedTuple, NoReturn

from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.listener import Listener
from clawperator.engine.simulator.services import Service, banner, guarded, open_service
from clawperator.engine.simulator.streams import Notifier

CNXN: Final = 0x4E584E43
AUTH: Final = 0x48545541
OPEN: Final = 0x4E45504F
OKAY: Final = 0x59414B4F
CLSE: Final = 0x45534C43
WRTE: Final = 0x45545257

VERSION: Final = 0x01000001
"""From this version on, checksums of the data are ignored."""
VERSION_WITH_CHECKSUMS: Final = 0x01000000
MAX_DATA: Final = 1024 * 1024
MAX_DATA_V1: Final = 4096
"""The limit of API 23 and earlier; a longer OPEN aborts the adb server (android-facts 4j)."""

AUTH_TOKEN: Final = 1
AUTH_SIGNATURE: Final = 2
MAX_STREAMS: Final = 256

_HEADER = struct.Struct("<6I")
_GONE = (ConnectionError, EOFError)


class ProtocolError(Exception):
    """The peer does not use the adb protocol; its connection is dropped."""


class Packet(NamedTuple):
    """One message: command word, two arguments, data."""

    command: int
    arg0: int
    arg1: int
    data: bytes = b""

    def encode(self, *, checksum: bool = True) -> bytes:
        check = sum(self.data) & 0xFFFFFFFF if checksum else 0
        head = _HEADER.pack(self.command, self.arg0, self.arg1, len(self.data), check, self.command ^ 0xFFFFFFFF)
        return head + self.data


async def read_packet(reader: asyncio.StreamReader) -> Packet:
    """Read the next message. Raises ProtocolError for an invalid one, IncompleteReadError (an EOFError) at the end."""
    command, arg0, arg1, length, _, magic = _HEADER.unpack(await reader.readexactly(_HEADER.size))
    if magic != command ^ 0xFFFFFFFF or length > MAX_DATA:
        raise ProtocolError
    return Packet(command, arg0, arg1, await reader.readexactly(length))


class Stream:
    """One service's connection: the ``Channel`` that services read and write."""

    def __init__(self, transport: Transport, local: int, remote: int) -> None:
        self.local, self.remote = local, remote
        self._transport = transport
        self._inbox: asyncio.Queue[bytes] = asyncio.Queue()
        self._writable = asyncio.Event()
        self._writable.set()

    async def read(self) -> bytes:
        """Data from the peer, which may write again after this call."""
        data = await self._inbox.get()
        await self._transport.send(Packet(OKAY, self.local, self.remote))
        return data

    async def write(self, data: bytes) -> None:
        """Send ``data`` in as few messages as possible, each after the acknowledgement of the previous one."""
        size = self._transport.max_data
        for start in range(0, len(data), size):
            await self._writable.wait()
            self._writable.clear()
            await self._transport.send(Packet(WRTE, self.local, self.remote, data[start : start + size]))

    def received(self, data: bytes) -> None:
        if not self._inbox.empty():
            raise ProtocolError  # the peer did not wait for our OKAY
        self._inbox.put_nowait(data)

    def acknowledged(self) -> None:
        self._writable.set()


class Transport:
    """One adb server's connection to a device."""

    def __init__(self, device: SimulatedDevice, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        legacy = device.sdk < 24
        self.max_data = MAX_DATA_V1 if legacy else MAX_DATA
        self._version = VERSION_WITH_CHECKSUMS if legacy else VERSION
        self._checksums = True
        self._device = device
        self._reader, self._writer = reader, writer
        self._open: dict[int, tuple[Stream, asyncio.Task[None]]] = {}
        self._last_local = 0

    async def run(self) -> None:
        """Serve until either side closes."""
        try:
            async with asyncio.TaskGroup() as services:
                await self._run_streams(services)
        except* (ProtocolError, *_GONE):
            pass

    async def send(self, packet: Packet) -> None:
        if self._writer.is_closing():  # the other streams write before their tasks are cancelled
            raise ConnectionResetError
        self._writer.write(packet.encode(checksum=self._checksums))
        await self._writer.drain()

    async def _run_streams(self, services: asyncio.TaskGroup) -> NoReturn:
        await self._connect()
        while True:
            packet = await read_packet(self._reader)
            if packet.command == OPEN:
                await self._start(packet, services)
            elif (entry := self._open.get(packet.arg1)) is not None:
                await self._dispatch(packet, *entry)

    async def _connect(self) -> None:
        """Answer CNXN; does not return for a device that is offline or does not trust the peer."""
        packet = await read_packet(self._reader)
        if packet.command != CNXN:
            raise ProtocolError
        while self._device.state in ("unauthorized", "authorizing"):
            await self.send(Packet(AUTH, AUTH_TOKEN, 0, secrets.token_bytes(20)))
            while (await read_packet(self._reader)).arg0 != AUTH_SIGNATURE:
                pass  # a public key: never accepted
        while self._device.state in ("offline", "no permissions"):
            await read_packet(self._reader)
        self.max_data = min(self.max_data, max(packet.arg1, 1))
        await self.send(Packet(CNXN, self._version, self.max_data, banner(self._device)))
        self._checksums = min(self._version, packet.arg0) < VERSION

    async def _start(self, packet: Packet, services: asyncio.TaskGroup) -> None:
        name = packet.data.partition(b"\0")[0].decode("utf-8", "surrogateescape")
        service = open_service(self._device, name) if len(self._open) < MAX_STREAMS else None
        if service is None:
            await self.send(Packet(CLSE, 0, packet.arg0))
            return
        self._last_local += 1
        stream = Stream(self, self._last_local, packet.arg0)
        await self.send(Packet(OKAY, stream.local, stream.remote))
        self._open[stream.local] = stream, services.create_task(self._serve(service, stream), name=f"adbd {name[:40]}")

    async def _serve(self, service: Service, stream: Stream) -> None:
        await guarded(service, stream)
        if self._open.pop(stream.local, None):  # not closed by the peer
            await self.send(Packet(CLSE, stream.local, stream.remote))

    async def _dispatch(self, packet: Packet, stream: Stream, task: asyncio.Task[None]) -> None:
        if packet.command == OKAY:
            stream.acknowledged()
        elif packet.command == WRTE:
            stream.received(packet.data)
        elif packet.command == CLSE:
            del self._open[stream.local]
            task.cancel()
            await self.send(Packet(CLSE, stream.local, stream.remote))  # some clients wait for it


class Adbd:
    """The daemon of one device: where adb servers connect. While the device is unplugged, it refuses them."""

    def __init__(self, device: SimulatedDevice) -> None:
        self.device = device
        self.plugged = True
        self.accepted = 0
        """How many adb servers have connected so far."""
        self._changed = Notifier()
        self._listener = Listener(self._serve)
        self._forget: list[Callable[[], None]] = []

    @property
    def port(self) -> int:
        return self._listener.port

    async def listen(self, host: str, port: int = 0) -> None:
        await self._listener.listen(host, port)
        self._forget = [self.device.on_disconnect(self._unplug), self.device.on_connect(self._plug)]

    async def close(self) -> None:
        for forget in self._forget:
            forget()
        self._forget = []
        await self._listener.close()

    def _unplug(self) -> None:
        self.plugged = False
        self._listener.drop_all()

    def _plug(self) -> None:
        self.plugged = True

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.plugged:
            self.accepted += 1
            self._changed.notify()
            await Transport(self.device, reader, writer).run()

    async def more_than(self, accepted: int, *, within: float) -> bool:
        """Whether another adb server connects within this time."""
        try:
            async with asyncio.timeout(within):
                while self.accepted <= accepted:
                    await self._changed.wait()
        except TimeoutError:
            return False
        return True
