"""A real NATS server, and hosts of a fleet before simulated devices, in this process."""

from __future__ import annotations

import asyncio
import os
import shutil
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from clawperator.app.fleet.connection import connected
from clawperator.app.fleet.host import FleetHost
from clawperator.engine import Engine, Settings
from clawperator.engine.config.device_profile import DeviceProfile
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from tests.support import patience

PROGRAM = shutil.which("nats-server") or shutil.which("nats-server", path="/usr/sbin")


class Nats:
    """A server on a port of its own; ``url`` is how to reach it. With ``file`` it runs that configuration, in ``env``."""

    def __init__(self, folder: Path, more: str = "", *, file: Path | None = None, **env: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port: int = probe.getsockname()[1]
        self.url = f"nats://127.0.0.1:{self.port}"
        self.folder = folder
        self._env = {**os.environ, **env}
        self._config = file or folder / "nats.conf"
        if file is not None:
            return
        self._config.write_text(
            f'listen: "127.0.0.1:{self.port}"\nmax_payload: 65536\nmax_pending: 131072\nwrite_deadline: "1s"\n{more}\n'
        )

    _process: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        assert PROGRAM is not None
        self._process = await asyncio.create_subprocess_exec(
            *(PROGRAM, "-c", str(self._config), "-a", "127.0.0.1", "-p", str(self.port)),
            stderr=asyncio.subprocess.PIPE,
            env=self._env,
        )
        assert self._process.stderr is not None
        async with asyncio.timeout(patience(20)):
            while b"Server is ready" not in await self._process.stderr.readline():
                pass
        self._reading = asyncio.create_task(self._process.stderr.read())

    async def stop(self) -> None:
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
            await self._reading


@pytest.fixture
async def nats(tmp_path: Path) -> AsyncIterator[Nats]:
    if PROGRAM is None:
        pytest.skip("nats-server is not installed")
    server = Nats(tmp_path)
    await server.start()
    yield server
    await server.stop()


@dataclass
class Host:
    """One host of the fleet. ``leave`` cuts it off as if its computer were switched off."""

    name: str
    engine: Engine
    devices: Sequence[SimulatedDevice]
    fleet: FleetHost
    task: asyncio.Task[None]
    leave: Callable[[], object]


Join = Callable[..., Awaitable[Host]]


@pytest.fixture
async def join(tmp_path: Path, nats: Nats) -> AsyncIterator[Join]:
    """Call it with the name of a host, its number of devices, their tags and the keys of a scenario."""
    async with AsyncExitStack() as stack:

        async def make(
            name: str,
            devices: int = 1,
            *,
            tag: str = "",
            policy: str = "",
            url: str = "",
            as_name: str = "",
            devices_of: Sequence[str | None] = (),
            **scenario: Any,
        ) -> Host:
            serials = devices_of or [None] * devices
            worlds = []
            for index, serial in enumerate(serials):
                device = {"device": {"serial": serial}} if serial else {}
                chosen = Scenario.model_validate({"speed": 0, **scenario, **device})
                worlds.append(create_device(chosen, index=index))
            simulation = await stack.enter_async_context(Simulation(worlds, mode="server"))
            home = tmp_path / name
            home.mkdir()
            (home / "policy.toml").write_text(policy)
            flags = {"policy_path": str(home / "policy.toml") if policy else ""}
            settings = Settings.resolve(flags, {"HOME": str(home), **simulation.env()})
            if tag:
                for index, world in enumerate(worlds):
                    settings.devices[f"d{index}"] = DeviceProfile(world.serial, (tag,))  # type: ignore[index]
            engine = await stack.enter_async_context(Engine(settings, face="fleet"))
            client = await stack.enter_async_context(
                connected(url or nats.url, name=name, lasting=True, buffer=1_000_000)
            )
            fleet, ready = FleetHost(engine, client, as_name or name, str(home)), asyncio.Event()
            task = asyncio.create_task(fleet.run(ready.set))
            stack.push_async_callback(_end, task)
            waiting = asyncio.create_task(ready.wait())
            await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            if task.done():
                task.result()
            transport: Any = client._transport

            def leave() -> None:
                client.options["allow_reconnect"] = False
                transport._io_writer.transport.abort()

            return Host(name, engine, worlds, fleet, task, leave)

        yield make


async def _end(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def proxy(port: int) -> AsyncIterator[tuple[str, asyncio.Event]]:
    """A way to the server that is open while the event is set. Cleared, it is a partition: neither side notices, nothing is lost."""
    way = asyncio.Event()
    way.set()
    tasks: set[asyncio.Task[None]] = set()
    writers: list[asyncio.StreamWriter] = []

    async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            await way.wait()
            writer.write(data)
            await writer.drain()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        writers.extend((writer, far_writer))
        tasks.update((asyncio.create_task(copy(reader, far_writer)), asyncio.create_task(copy(far_reader, writer))))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"nats://127.0.0.1:{server.sockets[0].getsockname()[1]}", way
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for writer in writers:
            writer.transport.abort()
        await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)
