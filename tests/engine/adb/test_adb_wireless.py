"""Pairing and connecting over the network, against the simulator's own adb server on a real socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.mdns import CONNECT, LEGACY, PAIRING
from clawperator.engine.adb.pairing import Paired, QrOffer
from clawperator.engine.adb.protocol import encode_request
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.adb.wireless import Connected, Wireless, WirelessSupport
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.progress import Stage
from clawperator.engine.simulator.adb_network import NetworkDevice, Refused
from clawperator.engine.simulator.adb_server import EmbeddedAdbServer
from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from tests.engine.adb.conftest import FakeAdb

GUID = "adb-0A1B2C3D4E5F6G-a4QqY3"
SERIAL = f"{GUID}._adb-tls-connect._tcp"
ADDRESS = "192.168.1.86:39149"
DIALOG = "192.168.1.86:37313"
CODE = "924113"
WRONG = "111111"
POLL = 0.01


class Bench(NamedTuple):
    """A simulated network, and what looks at it."""

    server: AdbServer
    wireless: Wireless
    phones: tuple[NetworkDevice, ...]

    @property
    def phone(self) -> NetworkDevice:
        return self.phones[0]

    async def listed(self) -> list[tuple[str, str]]:
        return [(entry.serial, entry.state) for entry in await self.server.devices()]


class News:
    """What was told; ``heard`` is set as soon as a stage with this name, or a message that begins so, was among it."""

    def __init__(self, awaited: str) -> None:
        self.stages: list[Stage] = []
        self.heard = asyncio.Event()
        self._awaited = awaited

    def on_progress(self, stage: Stage) -> None:
        self.stages.append(stage)
        if stage.name == self._awaited or stage.message.startswith(self._awaited):
            self.heard.set()


Make = Callable[..., Any]


@pytest.fixture
async def make() -> AsyncIterator[Make]:
    """``await make(wireless, …, server={…}, device={…})``: an adb server in whose network these devices are."""
    async with AsyncExitStack() as stack:

        async def start(
            *profiles: dict[str, Any], server: dict[str, Any] | None = None, device: dict[str, Any] | None = None
        ) -> Bench:
            scenarios = [
                {"speed": 0, "wireless": profile, "adb_server": server or {}, "device": device or {}}
                for profile in profiles
            ]
            devices = [create_device(Scenario.model_validate(it), index=at) for at, it in enumerate(scenarios)]
            simulation = await stack.enter_async_context(Simulation(devices, mode="server"))
            client = AdbServer.from_env(simulation.env(), autostart=False)
            return Bench(client, Wireless(client, poll=POLL), simulation.phones)

        yield start


def phone(**changes: Any) -> dict[str, Any]:
    return {"guid": GUID, "pairing_port": 37313, "code": CODE, **changes}


async def scan(bench: Bench, offer: QrOffer) -> str:
    return await bench.server.ask(f"host:scan:{offer.payload}")


# -- what the server can do --------------------------------------------------------------------------------------------


async def test_a_new_server_pairs_and_discovers(make: Make) -> None:
    bench = await make(phone(), phone(mode="tcpip", guid="adb-1122334455", connect_port=5555))
    assert await bench.wireless.supported() == WirelessSupport(pairing=True, discovery=True)
    assert [(it.name, it.kind, it.address) for it in await bench.wireless.services()] == [
        (GUID, CONNECT, ADDRESS),
        (GUID, PAIRING, DIALOG),
        ("adb-1122334455", LEGACY, "192.168.1.87:5555"),
        ("adb-1122334455", PAIRING, "192.168.1.87:37313"),
    ]
    assert await bench.listed() == []


async def test_an_old_server_says_what_to_install(make: Make) -> None:
    bench = await make(phone(), server={"platform_tools": 29})
    wireless = bench.wireless
    assert not (await wireless.supported()).pairing
    for asking in (
        wireless.pair(DIALOG, CODE),
        wireless.services(),
        wireless.discover(),
        wireless.pair_by_qr(lambda offer: pytest.fail(f"shown although nobody can use it: {offer}")),
    ):
        with pytest.raises(EngineError) as caught:
            await asking
        assert caught.value.code is ErrorCode.PAIRING_UNSUPPORTED
        assert caught.value.details["serverProtocol"] == 41
        assert "platform-tools" in caught.value.hint
        assert "Android 11" in caught.value.hint
        assert CODE not in repr(caught.value.to_dict())


async def test_without_discovery_an_address_still_pairs(make: Make) -> None:
    bench = await make(phone(), server={"discovery": False})
    assert await bench.wireless.supported() == WirelessSupport(True, False, "mdns discovery disabled")
    with pytest.raises(EngineError, match="mdns discovery disabled") as caught:
        await bench.wireless.discover()
    assert caught.value.code is ErrorCode.PAIRING_UNSUPPORTED
    assert "devices pair <host>:<port>" in caught.value.hint
    paired = await bench.wireless.pair(DIALOG, CODE)
    assert await bench.wireless.connect_paired(paired) is None
    assert await bench.wireless.connect(ADDRESS) == Connected(ADDRESS, "device")


# -- pairing -----------------------------------------------------------------------------------------------------------


async def test_pairing_by_code_ends_in_one_connected_device(make: Make) -> None:
    bench = await make(phone())
    news: list[Stage] = []
    with pytest.raises(EngineError, match="failed to connect") as caught:
        await bench.wireless.connect(ADDRESS)
    assert "clawperator devices pair" in caught.value.hint
    paired = await bench.wireless.pair(DIALOG, CODE, on_progress=news.append)
    assert paired == Paired(DIALOG, GUID)
    assert await bench.wireless.connect_paired(paired, on_progress=news.append) == Connected(
        SERIAL, "device", already=True
    )
    assert await bench.listed() == [(SERIAL, "device")]
    assert (await AdbDevice(bench.server, SERIAL).shell(["echo", "hi"])).text == "hi\n"
    assert [(it.name, it.state) for it in news if it.state != "running"] == [
        ("pair", "done"),
        ("find", "done"),
        ("connect", "done"),
    ]
    assert CODE not in repr(news)
    with pytest.raises(EngineError, match="Unable to start pairing client"):  # the dialog is closed now
        await bench.wireless.pair(DIALOG, CODE)


async def test_a_server_that_does_not_connect_by_itself_is_reported_to(make: Make) -> None:
    bench = await make(phone(), server={"auto_connect": False})
    paired = await bench.wireless.pair(DIALOG, CODE)
    assert await bench.listed() == []
    assert await bench.wireless.connect_paired(paired) == Connected(SERIAL, "device", already=False)
    assert await bench.listed() == [(SERIAL, "device")]


@pytest.mark.parametrize("platform_tools", [35, 36])
async def test_a_wrong_code_can_be_corrected(make: Make, platform_tools: int) -> None:
    bench = await make(phone(), server={"platform_tools": platform_tools})
    with pytest.raises(EngineError) as caught:
        await bench.wireless.pair(DIALOG, WRONG)
    assert caught.value.code is ErrorCode.PAIRING_FAILED
    assert caught.value.message == "adb: Failed: Wrong password or connection was dropped."
    assert WRONG not in repr(caught.value.to_dict())
    assert (await bench.wireless.pair(DIALOG, CODE)).guid == GUID


@pytest.mark.parametrize(
    ("address", "code"),
    [
        (ADDRESS, ErrorCode.PAIRING_FAILED),  # the port of the other screen
        ("10.9.8.7:1", ErrorCode.PAIRING_FAILED),
        ("192.168.1.86", ErrorCode.EXECUTION_VALIDATION_FAILED),
        ("", ErrorCode.EXECUTION_VALIDATION_FAILED),
    ],
)
async def test_a_wrong_address(make: Make, address: str, code: ErrorCode) -> None:
    bench = await make(phone())
    with pytest.raises(EngineError) as caught:
        await bench.wireless.pair(address, CODE)
    assert caught.value.code is code
    assert caught.value.hint
    assert CODE not in repr(caught.value.to_dict())


async def test_pairing_by_qr_code(make: Make) -> None:
    bench = await make(phone(pairing_port=0))
    shown: list[QrOffer] = []
    news = News("discover")
    pairing = asyncio.create_task(bench.wireless.pair_by_qr(shown.append, timeout=30, on_progress=news.on_progress))
    await news.heard.wait()
    assert await bench.wireless.services() != ()  # the device announces itself, but pairs with nobody yet
    assert not pairing.done()
    await scan(bench, shown[0])
    paired = await pairing
    assert paired.guid == GUID
    assert await bench.wireless.connect_paired(paired) == Connected(SERIAL, "device", already=True)
    assert shown[0].password not in repr(news.stages)


async def test_another_devices_dialog_is_not_the_one_that_scanned(make: Make) -> None:
    bench = await make(phone())
    with pytest.raises(EngineError, match="scanned the QR code") as caught:
        await bench.wireless.pair_by_qr(lambda _: None, timeout=0.05)
    assert caught.value.code is ErrorCode.DEVICE_NOT_FOUND


async def test_a_dialog_that_opens_late_is_discovered(make: Make) -> None:
    bench = await make(phone(pairing_port=0))
    looking = asyncio.create_task(bench.wireless.discover(timeout=30))
    await bench.wireless.services()
    bench.phone.scan(GUID, "000001")
    (service,) = await looking
    assert (await bench.wireless.pair(service.address, "000 001")).guid == GUID


# -- connecting --------------------------------------------------------------------------------------------------------


async def test_a_device_in_the_older_mode_needs_no_pairing(make: Make) -> None:
    bench = await make(phone(mode="tcpip", connect_port=5555))
    assert await bench.wireless.connect("192.168.1.86") == Connected("192.168.1.86:5555", "device")
    assert await bench.wireless.connect("192.168.1.86:5555") == Connected("192.168.1.86:5555", "device", already=True)
    assert await bench.wireless.disconnect("192.168.1.86") == ("192.168.1.86:5555",)
    assert await bench.listed() == []


@pytest.mark.parametrize(
    ("state", "code"),
    [("unauthorized", ErrorCode.DEVICE_UNAUTHORIZED), ("offline", ErrorCode.DEVICE_OFFLINE)],
)
async def test_a_device_that_is_not_ready_is_named_with_its_state(make: Make, state: str, code: ErrorCode) -> None:
    bench = await make(phone(mode="tcpip"), device={"state": state})
    for _ in range(2):  # the second time it is connected already
        with pytest.raises(EngineError) as caught:
            await bench.wireless.connect(ADDRESS, timeout=0.3)
        assert caught.value.code is code
        assert caught.value.details == {"deviceId": ADDRESS, "state": state}
    assert await bench.listed() == [(ADDRESS, state)]


async def test_a_recovery_is_connected_and_said_to_be_one(make: Make) -> None:
    bench = await make(phone(mode="tcpip"), device={"state": "recovery"})
    assert await bench.wireless.connect(ADDRESS) == Connected(ADDRESS, "recovery")


async def test_a_device_is_not_listed_twice(make: Make) -> None:
    """It is connected by its name; asked for by address, that connection is taken (as the same device, not another)."""
    bench = await make(phone(paired=True))
    assert await bench.listed() == [(SERIAL, "device")]
    assert await bench.wireless.connect(ADDRESS) == Connected(SERIAL, "device", already=True)
    assert await bench.wireless.connect(SERIAL) == Connected(SERIAL, "device", already=True)
    assert await bench.listed() == [(SERIAL, "device")]


async def test_a_name_that_no_one_announces(make: Make) -> None:
    bench = await make(phone())
    with pytest.raises(EngineError, match="adb-nobody") as caught:
        await bench.wireless.connect("adb-nobody._adb-tls-connect._tcp")
    assert caught.value.code is ErrorCode.DEVICE_NOT_FOUND


async def test_names_with_blanks(make: Make) -> None:
    name = "adb-13e75597-Upleco (2)"
    bench = await make(phone(guid=name, paired=True))
    serial = f"{name}._adb-tls-connect._tcp"
    assert await bench.listed() == [(serial, "device")]
    assert (await AdbDevice(bench.server, serial).shell(["echo", "hi"])).text == "hi\n"
    assert await bench.wireless.disconnect(serial) == (serial,)
    assert await bench.wireless.connect(serial) == Connected(serial, "device", already=False)


async def test_a_device_that_left_the_network_comes_back(make: Make) -> None:
    bench = await make(phone(paired=True))
    async with aclosing(bench.server.track_devices()) as lists:
        assert [entry.serial for entry in await anext(lists)] == [SERIAL]
        bench.phone.device.disconnect()
        while await anext(lists):
            pass
        assert await bench.wireless.services() == ()
        with pytest.raises(EngineError, match="No route to host"):
            await bench.wireless.connect(ADDRESS)
        bench.phone.device.connect()
        while not (entries := await anext(lists)):
            pass
        assert [(entry.serial, entry.state) for entry in entries] == [(SERIAL, "device")]


# -- disconnecting -----------------------------------------------------------------------------------------------------


async def test_all_connections_end_but_no_cable_is_pulled(make: Make) -> None:
    plugged = create_device(Scenario.model_validate({"speed": 0}), index=7)
    first = create_device(Scenario.model_validate({"speed": 0, "wireless": phone(paired=True)}))
    second = create_device(Scenario.model_validate({"speed": 0, "wireless": phone(mode="tcpip", guid="b")}), index=1)
    async with Simulation([plugged, first, second], mode="server") as simulation:
        server = AdbServer.from_env(simulation.env(), autostart=False)
        wireless = Wireless(server, poll=POLL)
        await wireless.connect("192.168.1.88:39149")
        assert await wireless.disconnect_all() == (SERIAL, "192.168.1.88:39149")
        assert [entry.serial for entry in await server.devices()] == [plugged.serial]
        assert await wireless.disconnect_all() == ()
        with pytest.raises(EngineError, match="not connected over the network") as caught:
            await wireless.disconnect(plugged.serial)
        assert caught.value.details == {"path": "address"}


VERBS = st.sampled_from(["mdns", "pair", "connect", "disconnect", "scan"])


@settings(max_examples=60)
@given(
    VERBS, st.text(max_size=80) | st.sampled_from([":", f"{CODE}:{DIALOG}", ADDRESS, SERIAL, GUID, "[::1]:5", "a:b:c"])
)
async def test_the_simulated_network_answers_everything(verb: str, rest: str) -> None:
    device = create_device(Scenario.model_validate({"speed": 0, "wireless": phone()}))
    server = EmbeddedAdbServer([device])
    try:
        assert isinstance(await server.network.answer(f"{verb}:{rest}"), str)
    except Refused as answer:
        assert str(answer)  # noqa: PT017 - either way is an answer


async def test_disconnecting_what_is_not_connected_lists_what_is(make: Make) -> None:
    bench = await make(phone(paired=True))
    with pytest.raises(EngineError) as caught:
        await bench.wireless.disconnect("10.0.0.1")
    assert caught.value.code is ErrorCode.DEVICE_NOT_FOUND
    assert caught.value.details == {"deviceId": "10.0.0.1:5555", "connected": [SERIAL]}


# -- servers that do something else ------------------------------------------------------------------------------------


def fail(text: str) -> bytes:
    return b"FAIL" + encode_request(text)


def okay(text: str) -> bytes:
    return b"OKAY" + encode_request(text)


async def test_no_error_and_no_timeout_holds_the_code(fake: FakeAdb) -> None:
    wireless = Wireless(AdbServer(port=fake.port, autostart=False), poll=POLL)
    fake.answers["host:pair:"] = fail(f"cannot pair with code {CODE}")
    with pytest.raises(EngineError) as caught:
        await wireless.pair(DIALOG, CODE)
    assert "***" in caught.value.message
    assert CODE not in repr(caught.value.to_dict())
    assert caught.value.__context__ is None

    async def silence(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    fake.answers["host:pair:"] = silence
    with pytest.raises(EngineError) as caught:
        await wireless.pair(DIALOG, CODE, timeout=0.3)
    assert caught.value.code is ErrorCode.DEVICE_NOT_FOUND
    assert CODE not in repr(caught.value.to_dict())
    assert fake.requests == [f"host:pair:{CODE}:{DIALOG}"] * 2
    await fake.all_closed()


async def test_a_pairing_that_breaks_off_is_a_failed_pairing(fake: FakeAdb) -> None:
    """``adb pair`` says "protocol fault (couldn't read status message)"."""
    wireless = Wireless(AdbServer(port=fake.port, autostart=False), poll=POLL)

    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    for answer in (hang_up, fail("protocol fault (couldn't read status message): Success")):
        fake.answers["host:pair:"] = answer
        with pytest.raises(EngineError) as caught:
            await wireless.pair(DIALOG, CODE)
        assert caught.value.code is ErrorCode.PAIRING_FAILED
        assert "each code works once" in caught.value.hint
        assert "platform-tools" in caught.value.hint
        assert CODE not in repr(caught.value.to_dict())
    await fake.all_closed()


async def test_a_server_that_knows_no_names_gets_the_address(fake: FakeAdb) -> None:
    """Platform-tools 30 discover, but connect by address only."""
    wireless = Wireless(AdbServer(port=fake.port, autostart=False), poll=POLL)
    fake.answers |= {
        "host:devices-l": okay(""),
        "host:mdns:services": okay(f"{GUID}\t{CONNECT}\t{ADDRESS}\n"),
        f"host:connect:{SERIAL}": okay(f"failed to resolve host: '{SERIAL}': Name or service not known"),
        f"host:connect:{ADDRESS}": okay(f"connected to {ADDRESS}"),
        "host:track-devices-l": b"OKAY"
        + encode_request(f"{ADDRESS} offline\n")
        + encode_request(f"{ADDRESS} device\n"),
    }
    (service,) = await wireless.services()
    assert await wireless.connect_service(service) == Connected(ADDRESS, "device")
    await fake.all_closed()


async def test_a_device_that_does_not_answer_in_time(fake: FakeAdb) -> None:
    wireless = Wireless(AdbServer(port=fake.port, autostart=False), poll=POLL)

    async def silence(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        await reader.read()

    fake.answers |= {"host:connect:": silence, "host:devices-l": okay("")}
    with pytest.raises(EngineError, match="no answer within") as caught:
        await wireless.connect("10.0.0.1", timeout=0.2)
    assert caught.value.code is ErrorCode.DEVICE_NOT_FOUND
    fake.answers["host:devices-l"] = okay("10.0.0.1:5555 offline\n")
    with pytest.raises(EngineError) as caught:
        await wireless.connect("10.0.0.1", timeout=0.2)
    assert caught.value.code is ErrorCode.DEVICE_OFFLINE
    assert "disconnect" in caught.value.hint
    await fake.all_closed()


async def test_a_connection_that_is_lost_again_at_once(fake: FakeAdb) -> None:
    wireless = Wireless(AdbServer(port=fake.port, autostart=False), poll=POLL)

    async def empty_list(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"OKAY0000")
        await reader.read()

    fake.answers |= {
        "host:devices-l": okay(""),
        "host:connect:": okay("connected to 10.0.0.1:5555"),
        "host:track-devices-l": empty_list,
    }
    with pytest.raises(EngineError, match="disconnected again") as caught:
        await wireless.connect("10.0.0.1", timeout=0.5)
    assert caught.value.code is ErrorCode.DEVICE_NOT_FOUND
    await fake.all_closed()


async def test_waiting_for_a_scan_can_be_cancelled(fake: FakeAdb) -> None:
    fake.answers |= {"host:mdns:check": okay("mdns daemon version [1]"), "host:mdns:services": okay("")}
    news = News("discover")
    wireless = Wireless(AdbServer(port=fake.port, autostart=False), poll=POLL)
    pairing = asyncio.create_task(wireless.pair_by_qr(lambda _: None, on_progress=news.on_progress))
    await news.heard.wait()
    pairing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await pairing
    assert (news.stages[-1].name, news.stages[-1].state) == ("discover", "failed")
    await fake.all_closed()


async def test_someone_has_the_time_to_confirm_the_dialog(fake: FakeAdb) -> None:
    confirmed = asyncio.Event()

    async def lists(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"OKAY" + encode_request("10.0.0.1:5555 unauthorized\n"))
        await confirmed.wait()
        writer.write(encode_request("10.0.0.1:5555 device\n"))
        await reader.read()

    fake.answers |= {
        "host:devices-l": okay(""),
        "host:connect:": okay("failed to authenticate to 10.0.0.1:5555"),
        "host:track-devices-l": lists,
    }
    news = News("unauthorized: confirm the debugging dialog")
    wireless = Wireless(AdbServer(port=fake.port, autostart=False), poll=POLL)
    connecting = asyncio.create_task(wireless.connect("10.0.0.1", timeout=30, on_progress=news.on_progress))
    await news.heard.wait()
    confirmed.set()
    assert await connecting == Connected("10.0.0.1:5555", "device")
    await fake.all_closed()
