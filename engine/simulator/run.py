"""A running simulation: devices behind sockets that adb clients can reach."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack, suppress
from functools import partial
from types import TracebackType
from typing import Final, Literal, Self

from clawperator.engine.adb.protocol import encode_request
from clawperator.engine.simulator.adb_network import NetworkDevice
from clawperator.engine.simulator.adb_server import EmbeddedAdbServer
from clawperator.engine.simulator.adbd import Adbd
from clawperator.engine.simulator.console import EmulatorConsole
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.listener import Listener

PAIR_ATTEMPTS: Final = 90
ANNOUNCEMENTS: Final = 20
ANNOUNCEMENT_SECONDS: Final = 0.25
SCANNED: Final = range(5554, 5586)
"""Port pairs that every adb server scans for emulators when it starts (android-facts 5a)."""
FIRST_PAIR: Final = 5600
"""Beyond the scanned ports (5555 to 5585), so that no other adb server finds these devices."""


class Simulation:
    """Async context manager: the devices are reachable inside it; leaving it ends their background work.

    Mode ``server``: one embedded adb server on ``port``; point clients at it with ``env()``. Mode ``adbd``: every device has
    a port of its own for ``adb connect``; with ``emulator_pair`` a console port (even) and the adb port above it, so that an
    adb server lists it as ``emulator-<console port>``. Pairs count up from ``port``; those in ``SCANNED`` are found by
    every adb server that starts, others after ``attach``. Port 0 picks free ones from ``first_pair`` on. ``console`` makes
    the handler of the console port. Raises OSError when a port is taken.
    """

    def __init__(
        self,
        devices: Sequence[SimulatedDevice],
        *,
        mode: Literal["adbd", "server"] = "server",
        port: int = 0,
        emulator_pair: bool = False,
        first_pair: int = FIRST_PAIR,
        host: str = "127.0.0.1",
        console: Callable[[SimulatedDevice], EmulatorConsole] = EmulatorConsole,
    ) -> None:
        self.devices = tuple(devices)
        self.mode = mode
        self.host = host
        self.ports: tuple[int, ...] = ()
        """Where clients connect: one adb port per device, or the embedded server's."""
        self.phones: tuple[NetworkDevice, ...] = ()
        """Mode ``server``: the devices that are in its network instead of plugged in."""
        self._port = port
        self.emulator_pair = emulator_pair
        self._first_pair = first_pair
        self._console = console
        self._daemons: list[Adbd] = []
        self._attached: list[tuple[str, int]] = []
        self._announcements: set[asyncio.Task[None]] = set()
        self._stack = AsyncExitStack()

    @property
    def port(self) -> int:
        return self.ports[0]

    @property
    def serials(self) -> tuple[str, ...]:
        """How an adb server lists the devices."""
        if self.mode == "server":
            return tuple(device.serial for device in self.devices if device.usb or device.scenario.wireless is None)
        if self.emulator_pair:
            return tuple(f"emulator-{port - 1}" for port in self.ports)
        return tuple(f"{self.host}:{port}" for port in self.ports)

    def env(self) -> dict[str, str]:
        """Environment variables that point adb and the engine at the embedded server; empty in mode ``adbd``."""
        if self.mode != "server":
            return {}
        return {"ANDROID_ADB_SERVER_ADDRESS": self.host, "ANDROID_ADB_SERVER_PORT": str(self.port)}

    async def attach(self, port: int, host: str = "127.0.0.1") -> None:
        """Make the adb server at ``host:port`` connect to the devices, now and whenever one comes back. Mode ``adbd``."""
        self._attached.append((host, port))
        for daemon in self._daemons:
            await self._announce(daemon, host, port)

    async def __aenter__(self) -> Self:
        try:
            await (self._start_server() if self.mode == "server" else self._start_daemons())
        except BaseException:
            await self._stack.aclose()
            raise
        for device in self.devices:
            self._stack.push_async_callback(device.close)
            device.start()
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.aclose()

    async def _start_server(self) -> None:
        server = EmbeddedAdbServer(self.devices)
        self.phones = server.network.phones
        self._stack.push_async_callback(server.close)
        await server.listen(self.host, self._port)
        self.ports = (server.port,)

    async def _start_daemons(self) -> None:
        self._stack.push_async_callback(self._forget_announcements)
        for device in self.devices:
            daemon = Adbd(device)
            self._stack.push_async_callback(daemon.close)
            if self.emulator_pair:
                await self._listen_as_emulator(device, daemon)
            else:
                await daemon.listen(self.host, self._port + len(self.ports) if self._port else 0)
            self._daemons.append(daemon)
            self.ports += (daemon.port,)
            self._stack.callback(device.on_connect(partial(self._returned, daemon)))

    async def _listen_as_emulator(self, device: SimulatedDevice, daemon: Adbd) -> None:
        """Listen on the given pair of ports, or on a free one."""
        console = Listener(self._console(device).serve)
        self._stack.push_async_callback(console.close)
        wanted = self._port + 2 * len(self.ports)
        first = self._first_pair
        for base in (wanted,) if self._port else range(first, first + 2 * PAIR_ATTEMPTS, 2):
            try:
                await console.listen(self.host, base)
                await daemon.listen(self.host, base + 1)
            except OSError:
                await console.close()
            else:
                return
        raise OSError(errno.EADDRINUSE, "no free pair of ports for an emulator")

    # -- adb servers elsewhere

    def _returned(self, daemon: Adbd) -> None:
        """A device has reconnected: announce it, as a booting emulator does."""
        for host, port in self._attached:
            task = asyncio.get_running_loop().create_task(self._announce(daemon, host, port), name="announcement")
            self._announcements.add(task)
            task.add_done_callback(self._announced)

    def _announced(self, task: asyncio.Task[None]) -> None:
        """Ignore errors: the adb server may have ended."""
        self._announcements.discard(task)
        if not task.cancelled():
            task.exception()

    async def _forget_announcements(self) -> None:
        for task in self._announcements:
            task.cancel()
        await asyncio.gather(*self._announcements, return_exceptions=True)

    async def _announce(self, daemon: Adbd, host: str, port: int) -> None:
        """Raises ConnectionError when the adb server cannot be reached, or cannot reach the device."""
        await (self._announce_emulator if self.emulator_pair else self._announce_address)(daemon, host, port)

    async def _announce_address(self, daemon: Adbd, host: str, port: int) -> None:
        """Ask for ``host:connect``, which returns once the device is online; do not wait for one that never will be."""
        asking = asyncio.create_task(_ask(f"host:connect:{self.host}:{daemon.port}", host, port))
        try:
            if daemon.device.state == "offline":
                await daemon.more_than(daemon.accepted, within=ANNOUNCEMENT_SECONDS)
                return
            answer = await asking
        finally:
            asking.cancel()
            await asyncio.wait({asking})
        if answer.startswith("FAIL") or "failed to connect" in answer:
            raise ConnectionError(answer)

    async def _announce_emulator(self, daemon: Adbd, host: str, port: int) -> None:
        """Repeat ``host:emulator``, which has no response (android-facts 5b), until the server has connected.

        It has no effect while the server still lists the device's previous connection.
        """
        for _ in range(ANNOUNCEMENTS):
            accepted = daemon.accepted
            await _ask(f"host:emulator:{daemon.port}", host, port)
            if await daemon.more_than(accepted, within=ANNOUNCEMENT_SECONDS):
                return
        raise ConnectionError(f"the adb server at {host}:{port} does not connect to emulator port {daemon.port}")


async def _ask(request: str, host: str, port: int) -> str:
    """Send one request to an adb server and return everything up to its close."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(encode_request(request))
        return (await reader.read()).decode("utf-8", "replace")
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()
