"""The same through the real adb server: what an old one cannot do, and what every one can."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from clawperator.engine.adb.server import AdbServer
from clawperator.engine.adb.wireless import Connected, Wireless
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from tests.support import adb_environment, free_port, newest_adb, start_adb_server

pytestmark = pytest.mark.adb
CODE = "924113"


@pytest.fixture
async def wireless(adb_env: dict[str, str]) -> AsyncIterator[Wireless]:
    server = AdbServer.from_env(adb_env)
    yield Wireless(server, poll=0.01)
    await Wireless(server).disconnect_all()


async def is_old(wireless: Wireless) -> bool:
    return not (await wireless.supported()).pairing


async def test_what_an_old_server_cannot_do(wireless: Wireless, adb_env: dict[str, str]) -> None:
    if not await is_old(wireless):
        pytest.skip("the adb of this machine can pair")
    version = await AdbServer.from_env(adb_env).binary_version()
    assert version
    for asking in (wireless.pair("127.0.0.1:1", CODE), wireless.services(), wireless.pair_by_qr(lambda _: None)):
        with pytest.raises(EngineError, match="cannot pair over Wi-Fi") as caught:
            await asking
        assert caught.value.code is ErrorCode.PAIRING_UNSUPPORTED
        assert caught.value.details["adbVersion"] == version
        assert version in caught.value.message
        assert CODE not in repr(caught.value.to_dict())


async def test_the_simulated_old_server_says_the_same(wireless: Wireless, adb_env: dict[str, str]) -> None:
    """Word for word, as far as nothing has to be connected for it."""
    if not await is_old(wireless):
        pytest.skip("the adb of this machine can pair")
    old = Scenario.model_validate({"speed": 0, "adb_server": {"platform_tools": 29}})
    closed = free_port()
    async with Simulation([create_device(old)], mode="server") as simulation:
        for service in (
            "host:mdns:check",
            "host:mdns:services",
            f"host:pair:{CODE}:127.0.0.1:1",
            "host:connect:",
            f"host:connect:127.0.0.1:{closed}",
            "host:connect:127.0.0.1:99999",
            "host:connect:nohost.invalid:5555",
            f"host:disconnect:127.0.0.1:{closed}",
            "host:disconnect:nohost",
        ):
            ours = await _words(AdbServer.from_env(simulation.env()), service)
            assert ours == await _words(AdbServer.from_env(adb_env), service), service


async def _words(server: AdbServer, service: str) -> str:
    try:
        return await server.ask(service)
    except EngineError as error:
        return f"FAIL {error.details['adb']}"


async def test_connecting_and_disconnecting(wireless: Wireless) -> None:
    async with Simulation([create_device(Scenario(speed=0))], mode="adbd") as simulation:
        address = f"127.0.0.1:{simulation.port}"
        assert await wireless.connect(address) == Connected(address, "device", already=False)
        assert await wireless.connect(address) == Connected(address, "device", already=True)
        assert await wireless.disconnect(address) == (address,)
        with pytest.raises(EngineError, match="is not connected") as caught:
            await wireless.disconnect(address)
        assert caught.value.code is ErrorCode.DEVICE_NOT_FOUND
        await wireless.connect(address)
        assert await wireless.disconnect_all() == (address,)


async def test_a_device_that_wants_its_dialog_confirmed(wireless: Wireless) -> None:
    waiting = Scenario.model_validate({"speed": 0, "device": {"state": "unauthorized"}})
    async with Simulation([create_device(waiting)], mode="adbd") as simulation:
        address = f"127.0.0.1:{simulation.port}"
        with pytest.raises(EngineError) as caught:
            await wireless.connect(address, timeout=0.5)
        assert caught.value.code is ErrorCode.DEVICE_UNAUTHORIZED
        assert caught.value.details == {"deviceId": address, "state": "unauthorized"}
        await wireless.disconnect(address)


async def test_no_one_there(wireless: Wireless) -> None:
    with pytest.raises(EngineError, match="Connection refused") as caught:
        await wireless.connect(f"127.0.0.1:{free_port()}")
    assert caught.value.code is ErrorCode.DEVICE_NOT_FOUND
    assert "Nothing listens on this port" in caught.value.hint


# -- the newest server there is


@pytest.fixture
def newest(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The surroundings of an adb server of our own, from the wheel of adbutils."""
    program, port = newest_adb(), free_port()
    if not program:
        pytest.skip("needs the adb program of the adbutils wheel (extra dev, Linux)")
    env = {**adb_environment(tmp_path, port), "ADB_PATH": program, "ADB_MDNS": "0"}
    server = start_adb_server(tmp_path, port, program)
    try:
        yield env
    finally:
        server.kill()
        server.wait()


async def test_a_refused_pairing_has_the_words_of_the_newest_server(newest: dict[str, str]) -> None:
    """36 answers ``OKAYFAIL0027Failed: …``; nothing is wrong with the server itself."""
    closing = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
    port = closing.sockets[0].getsockname()[1]
    server = AdbServer.from_env(newest)
    async with closing:
        for address, words in (
            (f"127.0.0.1:{free_port()}", "adb: Failed: Unable to start pairing client."),
            (f"127.0.0.1:{port}", "adb: Failed: Wrong password or connection was dropped."),
        ):
            with pytest.raises(EngineError) as caught:
                await Wireless(server).pair(address, CODE)
            assert (caught.value.code, caught.value.message) == (ErrorCode.PAIRING_FAILED, words)
            assert "kill-server" not in caught.value.hint
            assert CODE not in repr(caught.value.to_dict())


async def test_the_simulated_server_refuses_like_the_newest_one(newest: dict[str, str]) -> None:
    scenario = Scenario.model_validate({"speed": 0, "adb_server": {"platform_tools": 36}})
    asked = f"host:pair:{CODE}:127.0.0.1:{free_port()}"
    async with Simulation([create_device(scenario)], mode="server") as simulation:
        ours = await _words(AdbServer.from_env(simulation.env()), asked)
        assert ours == await _words(AdbServer.from_env(newest), asked) == "FAIL Failed: Unable to start pairing client."
