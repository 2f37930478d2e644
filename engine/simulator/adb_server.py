"""An adb server in this process, for simulated devices only; no adb program is needed.

It implements the ``host:`` services that clients use and runs device services directly; ``clawperator demo`` uses it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

from clawperator.engine.simulator.adb_network import UNKNOWN_SERVICE, Network, Refused
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.forwarding import ForwardError, Forwards, Request, block
from clawperator.engine.simulator.listener import Listener
from clawperator.engine.simulator.services import FEATURES, Service, features, guarded, open_service
from clawperator.engine.simulator.streams import Notifier, Pipe

SERVER_VERSION: Final = 41
"""adb 1.0.41: every platform-tools since 2018 accepts it."""

_UNAUTHORIZED: Final = (
    "device unauthorized.\nThis adb server's $ADB_VENDOR_KEYS is not set\n"
    "Try 'adb kill-server' if that seems wrong.\nOtherwise check for a confirmation dialog on your device."
)
_NO_PERMISSIONS: Final = "no permissions; see [http://developer.android.com/tools/device.html]"
_NOT_SIMULATED: Final = "the simulator's adb server does not do this"
_LENGTH = re.compile(rb"[0-9a-fA-F]{4}")
_NAME = re.compile(r"[^A-Za-z0-9_-]")


class _Entry:
    """One plugged-in device; each time it is plugged in it gets another transport id."""

    def __init__(self, device: SimulatedDevice, serial: str, transport_id: int) -> None:
        self.device = device
        self.serial = serial
        self.transport_id = transport_id

    @property
    def by_usb(self) -> bool:
        return bool(self.device.usb) and self.serial == self.device.serial

    def row(self, *, long: bool) -> str:
        device = self.device
        state = _NO_PERMISSIONS if device.state == "no permissions" else device.state
        if not long:
            return f"{self.serial}\t{state}\n"
        facts = f" usb:{device.usb}" if self.by_usb else ""
        if device.state == "device":
            for label in ("product:name", "model:model", "device:device"):
                key, _, prop = label.partition(":")
                facts += f" {key}:{_NAME.sub('_', device.props.get(f'ro.product.{prop}', ''))}"
        return f"{self.serial:<22} {state}{facts} transport_id:{self.transport_id}\n"


class EmbeddedAdbServer:
    """Serves ``devices`` on one port. A device that disconnects is no longer listed until it is back."""

    def __init__(self, devices: Sequence[SimulatedDevice]) -> None:
        self._devices = tuple(devices)
        self._entries: list[_Entry] = []
        self._last_id = 0
        self._changed = Notifier()
        self._listener = Listener(self._serve)
        self._connections: dict[int, set[asyncio.StreamWriter]] = {}
        """By transport id."""
        self._forget: list[Callable[[], None]] = []
        self.network = Network(self._devices, self)
        self.forwards = Forwards("127.0.0.1", self._forwarded)

    @property
    def port(self) -> int:
        return self._listener.port

    async def listen(self, host: str, port: int = 0) -> None:
        """Raises OSError when the port is taken."""
        await self._listener.listen(host, port)
        for device in self._devices:
            self._forget.append(device.on_disconnect(partial(self._gone, device)))
            self._forget.append(device.on_connect(partial(self._back, device)))
            if device.usb or not self.network.has(device):
                self.plug(device, device.serial)
        self.network.start()

    async def close(self) -> None:
        for forget in self._forget:
            forget()
        self._forget = []
        await self.forwards.remove_all()
        await self._listener.close()

    def plug(self, device: SimulatedDevice, serial: str) -> None:
        """List ``device`` as ``serial``."""
        self._last_id += 1
        self._entries.append(_Entry(device, serial, self._last_id))
        self._changed.notify()

    def unplug(self, serial: str) -> None:
        """Remove the device with that serial from the list and drop its connections."""
        self._remove([entry for entry in self._entries if entry.serial == serial])

    def _remove(self, entries: Sequence[_Entry]) -> None:
        self._entries = [entry for entry in self._entries if entry not in entries]
        for entry in entries:
            for writer in self._connections.pop(entry.transport_id, ()):
                writer.transport.abort()
        self._changed.notify()

    def listed(self) -> tuple[str, ...]:
        return tuple(entry.serial for entry in self._entries)

    def _gone(self, device: SimulatedDevice) -> None:
        entries = [entry for entry in self._entries if entry.device is device]
        if self.network.has(device):
            self.network.lost(device, tuple(entry.serial for entry in entries if not entry.by_usb))
        self._remove(entries)

    def _back(self, device: SimulatedDevice) -> None:
        if self.network.has(device):
            self.network.back(device)
        if device.usb or not self.network.has(device):
            self.plug(device, device.serial)

    # -- one client

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await _Client(self, reader, writer).run()

    def listing(self, *, long: bool) -> str:
        return "".join(entry.row(long=long) for entry in self._entries)

    async def changed(self) -> None:
        await self._changed.wait()

    def find(self, wanted: str) -> _Entry:
        """The device for ``serial:S``, ``id:N``, ``any``, ``usb`` or ``local``. Raises Refused with adb's text."""
        kind, _, name = wanted.partition(":")
        if kind == "serial":
            found = [
                entry for entry in self._entries if name in (entry.serial, entry.by_usb and f"usb:{entry.device.usb}")
            ]
            missing = f"device '{name}' not found"
        elif kind == "id":
            found = [entry for entry in self._entries if str(entry.transport_id) == name]
            missing = f"no device with transport id '{name}'"
        else:
            found = [entry for entry in self._entries if kind != "usb" or entry.by_usb]
            missing = "no devices found" if kind == "usb" else "no devices/emulators found"
        if not found:
            raise Refused(missing)
        if len(found) > 1:
            raise Refused("more than one emulator" if kind == "local" else "more than one device/emulator")
        return found[0]

    def usable(self, wanted: str) -> _Entry:
        """The device for ``wanted``, when it is online. Raises Refused otherwise."""
        entry = self.find(wanted)
        state = entry.device.state
        if state in ("unauthorized", "authorizing"):
            raise Refused(_UNAUTHORIZED if state == "unauthorized" else "device still authorizing")
        if state not in ("device", "recovery", "sideload"):
            raise Refused("device offline" if state == "offline" else f"device {state}")
        return entry

    async def round_trip(self, verb: str) -> None:
        """Delay a request to the server itself by the round trip; choosing a device is not one."""
        if self._devices and not verb.startswith(("tport", "transport")):
            await self._devices[0].round_trips.wait()
            await self._devices[0].pauses.at(f"host {verb}")

    async def connect(
        self, entry: _Entry, service: Service, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Connect a client to a service of a device until either ends, or the device's transport drops."""
        channel = _SocketChannel(writer)
        writers = self._connections.setdefault(entry.transport_id, set())
        writers.add(writer)
        running = asyncio.create_task(guarded(service, channel), name="service of a device")
        listening = asyncio.create_task(channel.listen(reader), name="client input")
        try:
            # A client that closes its end, even half, loses the stream, as with a real server (android-facts 4g).
            await asyncio.wait({running, listening}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            writers.discard(writer)
            for task in (running, listening):
                task.cancel()
            await asyncio.gather(running, listening, return_exceptions=True)

    async def _forwarded(
        self, serial: str, remote: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve one connection to a forwarded port; close it where the device has no such service."""
        entry = next((entry for entry in self._entries if entry.serial == serial), None)
        service = open_service(entry.device, remote) if entry is not None else None
        if entry is not None and service is not None:
            await self.connect(entry, service, reader, writer)


class _Client:
    """One connection: host requests, and after choosing a transport one service of that device."""

    def __init__(self, server: EmbeddedAdbServer, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._server = server
        self._reader, self._writer = reader, writer
        self._entry: _Entry | None = None
        self._again = True
        """Whether another request may follow on this connection."""

    async def run(self) -> None:
        while self._again:
            self._again = False
            request = await self._request()
            try:
                await self._answer(request)
            except Refused as exc:
                self._writer.write(b"FAIL" + block(str(exc)))
            await self._writer.drain()

    async def _request(self) -> str:
        digits = await self._reader.readexactly(4)
        if not _LENGTH.fullmatch(digits):
            raise EOFError  # not an adb client
        return (await self._reader.readexactly(int(digits, 16))).decode("utf-8", "surrogateescape")

    def _okay(self, data: bytes = b"") -> None:
        self._writer.write(b"OKAY" + data)

    async def _answer(self, request: str) -> None:
        if request.startswith("host"):
            scope, verb = _split(request)
            handler = _HOST.get(verb.partition(":")[0])
            if handler is not None:
                await self._server.round_trip(verb)
                await handler(self, scope, verb)
            elif verb.startswith("wait-for-"):
                await self.wait_for(scope, verb)
            else:
                raise Refused(UNKNOWN_SERVICE)
        elif self._entry is None:
            raise Refused("device offline (no transport)")
        else:
            await self._run_service(self._entry, request)

    # -- about the server

    async def version(self, _scope: str, _verb: str) -> None:
        self._okay(block(f"{SERVER_VERSION:04x}"))

    async def devices(self, _scope: str, verb: str) -> None:
        self._okay(block(self._server.listing(long=verb.endswith("-l"))))

    async def track(self, _scope: str, verb: str) -> None:
        """The whole list now and at each change, until the client goes."""
        self._okay()
        gone = asyncio.ensure_future(self._reader.read(1))
        try:
            while not gone.done():
                change = asyncio.ensure_future(self._server.changed())
                try:
                    await asyncio.sleep(0)  # the task above is waiting now: no change after this list is missed
                    self._writer.write(block(self._server.listing(long=verb.endswith("-l"))))
                    await self._writer.drain()
                    await asyncio.wait({gone, change}, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    change.cancel()
        finally:
            gone.cancel()

    async def host_features(self, _scope: str, _verb: str) -> None:
        self._okay(block(",".join(FEATURES)))

    async def features(self, scope: str, _verb: str) -> None:
        self._okay(block(",".join(features(self._server.usable(scope).device))))

    async def state(self, scope: str, verb: str) -> None:
        entry = self._server.find(scope)
        path = f"usb:{entry.device.usb}" if entry.by_usb else "unknown"
        texts = {"get-state": entry.device.state, "get-serialno": entry.serial, "get-devpath": path}
        self._okay(block(texts[verb]))

    async def forward(self, scope: str, verb: str) -> None:
        """``forward:LOCAL;REMOTE`` and ``killforward:LOCAL``: a second OKAY confirms."""
        entry = self._server.usable(scope)
        name, _, rest = verb.partition(":")
        answer = b""
        try:
            if name == "forward":
                answer = block(await self._server.forwards.add(entry.serial, Request.parse(rest)))
            else:
                await self._server.forwards.remove(rest)
        except ForwardError as exc:
            raise Refused(str(exc)) from exc
        self._okay(b"OKAY" + answer)

    async def forwards(self, scope: str, verb: str) -> None:
        """``list-forward``, and ``killforward-all``: of one device where the client names one."""
        if verb == "list-forward":
            self._okay(block(self._server.forwards.listing()))
            return
        serial = "" if scope == "any" else self._server.find(scope).serial
        await self._server.forwards.remove_all(serial)
        self._okay(b"OKAY")

    async def network(self, _scope: str, verb: str) -> None:
        """Discovery, pairing, connections: the response is one text."""
        words = await self._server.network.answer(verb)
        refused = self._server.network.refuses_pairing_after_okay and verb.startswith("pair:")
        self._okay(b"FAIL" + block(words) if refused and not words.startswith("Successfully") else block(words))

    async def refuse(self, _scope: str, _verb: str) -> None:
        raise Refused(_NOT_SIMULATED)

    async def wait_for(self, scope: str, verb: str) -> None:
        """``wait-for-TRANSPORT-STATE``: a second OKAY once the state is reached."""
        state = verb.rpartition("-")[2]
        self._okay()
        await self._writer.drain()
        while True:
            try:
                current = self._server.find(scope).device.state
            except Refused:
                current = "disconnect"
            if current == state or (state == "any" and current != "disconnect"):
                break
            await self._server.changed()
        self._okay()

    # -- devices

    async def transport(self, _scope: str, verb: str) -> None:
        """``transport:S``, ``transport-any`` … choose a device for the next request."""
        name, _, rest = verb.partition(":")
        wanted = {"transport": f"serial:{rest}", "transport-id": f"id:{rest}"}.get(
            name, name.removeprefix("transport-")
        )
        self._entry = self._server.usable(wanted)
        self._okay()
        self._again = True

    async def tport(self, _scope: str, verb: str) -> None:
        """``tport:serial:S`` …: choose a device and return its transport id."""
        self._entry = self._server.usable(verb.partition(":")[2])
        self._okay(self._entry.transport_id.to_bytes(8, "little"))
        self._again = True

    async def _run_service(self, entry: _Entry, name: str) -> None:
        service = open_service(entry.device, name)
        if service is None:
            raise Refused("closed")
        self._okay()
        await self._server.connect(entry, service, self._reader, self._writer)


class _SocketChannel:
    """Both directions of a service on a client's socket."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer
        self._pipe = Pipe()

    async def listen(self, reader: asyncio.StreamReader) -> None:
        """Receive from the client until it closes."""
        try:
            while data := await reader.read(65536):
                await self._pipe.write(data)
        except ConnectionError:
            pass

    async def read(self) -> bytes:
        return await self._pipe.input.read()

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()


def _split(request: str) -> tuple[str, str]:
    """Split ``host-serial:S:VERB`` into the device and the verb."""
    prefix, _, rest = request.partition(":")
    if prefix == "host":
        return "any", rest
    if prefix == "host-serial":
        at = _verb_start(rest)
        return f"serial:{rest[:at]}", rest[at + 1 :]
    if prefix == "host-transport-id":
        number, _, verb = rest.partition(":")
        return f"id:{number}", verb
    if prefix in ("host-any", "host-usb", "host-local"):
        return prefix.removeprefix("host-"), rest
    return "any", ""


def _verb_start(rest: str) -> int:
    """The position of the colon before the verb: a serial can contain colons (``127.0.0.1:5555``)."""
    colons = [match.start() for match in re.finditer(":", rest)]
    for at in colons:
        verb = rest[at + 1 :]
        if verb.partition(":")[0] in _HOST or verb.startswith("wait-for-"):
            return at
    return colons[-1] if colons else len(rest)


_HOST: Final[dict[str, Callable[[_Client, str, str], Awaitable[None]]]] = {
    "connect": _Client.network,
    "devices": _Client.devices,
    "devices-l": _Client.devices,
    "disconnect": _Client.network,
    "emulator": _Client.refuse,
    "features": _Client.features,
    "forward": _Client.forward,
    "get-devpath": _Client.state,
    "get-serialno": _Client.state,
    "get-state": _Client.state,
    "host-features": _Client.host_features,
    "kill": _Client.refuse,
    "killforward": _Client.forward,
    "killforward-all": _Client.forwards,
    "list-forward": _Client.forwards,
    "mdns": _Client.network,
    "pair": _Client.network,
    "scan": _Client.network,
    "tport": _Client.tport,
    "track-devices": _Client.track,
    "track-devices-l": _Client.track,
    "transport": _Client.transport,
    "transport-any": _Client.transport,
    "transport-id": _Client.transport,
    "transport-local": _Client.transport,
    "transport-usb": _Client.transport,
    "version": _Client.version,
}
