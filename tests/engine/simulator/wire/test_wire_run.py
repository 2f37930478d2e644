"""Starting and ending simulations."""

from __future__ import annotations

import asyncio
import socket

import pytest

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.simulator.run import SCANNED, Simulation
from tests.support import patience

from .conftest import make_device


def taken_port() -> socket.socket:
    """A port that somebody else listens on."""
    blocker = socket.socket()
    blocker.bind(("127.0.0.1", 0))
    blocker.listen()
    return blocker


@pytest.mark.parametrize("mode", ["server", "adbd"])
async def test_a_taken_port_is_an_error_and_leaves_nothing_open(mode: str) -> None:
    with taken_port() as blocker, pytest.raises(OSError, match="address already in use"):
        await Simulation([make_device()], mode=mode, port=blocker.getsockname()[1]).__aenter__()  # type: ignore[arg-type]  # both are modes


async def test_a_taken_pair_of_ports() -> None:
    with taken_port() as blocker:
        simulation = Simulation([make_device()], mode="adbd", emulator_pair=True, port=blocker.getsockname()[1])
        with pytest.raises(OSError, match="no free pair"):
            await simulation.__aenter__()


async def test_pairs_count_up_and_are_called_by_their_console_port() -> None:
    devices = [make_device(index=index) for index in range(3)]
    async with Simulation(devices, mode="adbd", emulator_pair=True) as simulation:
        assert simulation.serials == tuple(f"emulator-{port - 1}" for port in simulation.ports)
        assert all(port % 2 for port in simulation.ports)
        assert simulation.env() == {}
        async with Simulation([make_device()], mode="adbd", emulator_pair=True) as neighbour:
            assert not set(neighbour.ports) & set(simulation.ports)


async def test_pairs_where_adb_looks_for_emulators() -> None:
    pair = Simulation([make_device()], mode="adbd", emulator_pair=True, first_pair=SCANNED.start)
    async with pair as simulation:
        assert simulation.port - 1 >= 5554  # the first that is free on this machine


async def test_the_engines_own_client_finds_the_embedded_server_by_its_environment() -> None:
    async with Simulation([make_device(index=index) for index in range(2)]) as simulation:
        server = AdbServer.from_env(simulation.env())
        assert [entry.serial for entry in await server.devices()] == list(simulation.serials)
        result = await AdbDevice(server, "emulator-5556").shell(["sh", "-c", "echo it\\'s; exit 4"])
        assert (result.stdout, result.exit_code) == (b"it's\n", 4)


async def test_an_adb_server_that_is_not_there() -> None:
    with taken_port() as blocker:
        port = blocker.getsockname()[1]
    async with Simulation([make_device()], mode="adbd") as simulation:
        with pytest.raises(ConnectionError):
            await simulation.attach(port)


async def test_noise_begins_and_ends_with_the_simulation() -> None:
    device = make_device(faults=({"kind": "noise", "lines_per_second": 10_000},))
    before = asyncio.all_tasks()
    async with Simulation([device]):
        reader = device.log.reader()
        async with asyncio.timeout(patience(5)):
            await reader.wait()
    assert asyncio.all_tasks() == before
