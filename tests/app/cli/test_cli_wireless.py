"""``devices pair|connect|disconnect`` and the QR code in the terminal."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import cleandoc
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.app import qr
from clawperator.app.cli.commands.wireless import qr_lines
from clawperator.app.cli.simulators import address
from clawperator.engine.adb.pairing import QrOffer
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.simulator import wireless_profile
from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario, parse_scenario
from tests.support import CLI, patience, running

if TYPE_CHECKING:
    from pathlib import Path

    from tests.app.cli.conftest import Cli, ProcessCli

GUID = "adb-0A1B2C3D4E5F6G-a4QqY3"
SERIAL = f"{GUID}._adb-tls-connect._tcp"
ADDRESS = "192.168.1.86:39149"
DIALOG = "192.168.1.86:37313"
CODE = "924113"
PHONE = {"guid": GUID, "pairing_port": 37313, "code": CODE}
PAYLOAD = re.compile(r"WIFI:T:ADB;S:[^;]+;P:[^;]+;;")
DARK_ON_LIGHT = "\x1b[38;5;16;48;5;231m"


@contextmanager
def network(*profiles: dict[str, Any], **server: Any) -> Iterator[dict[str, str]]:
    """A simulated adb server on a thread of its own, with these devices in its network; the environment that leads to it."""
    ready, done = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()
    env: dict[str, str] = {}

    async def serve() -> None:
        scenarios = [{"speed": 0, "wireless": profile, "adb_server": server} for profile in profiles]
        devices = [create_device(Scenario.model_validate(it), index=at) for at, it in enumerate(scenarios)]
        async with Simulation(devices, mode="server") as simulation:
            env.update(simulation.env())
            ready.set()
            await done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(10)
        yield env
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        loop.close()


Join = Callable[..., None]


@pytest.fixture
def join(lonely: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Iterator[Join]:
    """``join(phone, …, platform_tools=…)`` makes such a network the one that this test's commands see."""
    from contextlib import ExitStack

    with ExitStack() as stack:

        def start(*profiles: dict[str, Any], **server: Any) -> None:
            for name, value in stack.enter_context(network(*profiles, **server)).items():
                monkeypatch.setenv(name, value)

        yield start


def scan(payload: str) -> None:
    """What the simulated device does when somebody holds it before a QR code."""

    async def ask() -> None:
        await AdbServer.from_env().ask(f"host:scan:{payload}")

    asyncio.run(ask())


# -- pairing -----------------------------------------------------------------------------------------------------------


def test_pairing_with_an_address_and_a_code(cli: Cli, join: Join) -> None:
    join(PHONE)
    run = cli("devices", "pair", DIALOG, "--code", CODE)
    assert run.exit_code == 0
    assert run.document == {
        "ok": True,
        "paired": {"address": DIALOG, "guid": GUID},
        "device": {"serial": SERIAL, "state": "device", "alreadyConnected": True},
    }
    assert "pair: ok" in run.err
    assert CODE not in run.out + run.err
    (device,) = cli("devices").document["devices"]
    assert (device["serial"], device["state"]) == (SERIAL, "device")


def test_the_code_from_stdin_and_the_address_from_discovery(cli: Cli, join: Join) -> None:
    join(PHONE)
    run = cli("devices", "pair", "--code", "-", "--output", "pretty", stdin=b" 924 113\n")
    assert run.exit_code == 0
    assert run.out.splitlines() == [f"Paired with {DIALOG} ({GUID})", f"Already connected: {SERIAL}"]
    assert CODE not in run.err


def test_a_paired_device_that_cannot_be_found_says_what_to_do_next(cli: Cli, join: Join) -> None:
    join(PHONE, discovery=False)
    run = cli("devices", "pair", DIALOG, "--code", CODE)
    assert (run.exit_code, run.document["device"]) == (0, None)
    assert run.document["nextActions"][0].startswith("clawperator devices connect 192.168.1.86:")


def test_a_pairing_stays_one_when_connecting_fails(cli: Cli, join: Join) -> None:
    join({**PHONE, "mode": "tls"}, auto_connect=False)
    run = cli("devices", "pair", DIALOG, "--code", CODE, "--json-progress")
    assert run.document["device"] == {"serial": SERIAL, "state": "device", "alreadyConnected": False}
    news = [json.loads(line) for line in run.err.splitlines()]
    assert [(it["stage"], it["state"]) for it in news if it["state"] != "running"] == [
        ("pair", "done"),
        ("find", "done"),
        ("connect", "done"),
    ]


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ((DIALOG, "--code", "111111"), "PAIRING_FAILED"),
        ((ADDRESS, "--code", CODE), "PAIRING_FAILED"),
        (("192.168.1.86", "--code", CODE), "EXECUTION_VALIDATION_FAILED"),
        ((DIALOG, "--code", "12345"), "EXECUTION_VALIDATION_FAILED"),
        ((DIALOG, "--code", "12345x"), "EXECUTION_VALIDATION_FAILED"),
        ((DIALOG, "--code", "-"), "EXECUTION_VALIDATION_FAILED"),  # stdin is empty
        ((DIALOG, "--code", CODE, "--timeout-ms", "0"), "EXECUTION_VALIDATION_FAILED"),
        ((DIALOG,), "USAGE"),  # nobody there to be asked
        ((DIALOG, "--no-input"), "USAGE"),
        ((DIALOG, "--qr"), "USAGE"),
        (("--qr", "--code", CODE), "USAGE"),
        (("--qr", "--timeout-ms", "30"), "DEVICE_NOT_FOUND"),
    ],
)
def test_pairings_that_are_refused(cli: Cli, join: Join, arguments: tuple[str, ...], code: str) -> None:
    join(PHONE)
    run = cli("devices", "pair", *arguments)
    assert (run.exit_code, run.document["code"]) == (1, code)
    given = arguments[arguments.index("--code") + 1] if "--code" in arguments else "-"
    assert given == "-" or given not in run.out + run.err


def test_bytes_that_are_no_text_are_no_code(cli: Cli, join: Join) -> None:
    join(PHONE)
    assert cli("devices", "pair", DIALOG, "--code", "-", stdin=b"\xff\xfe\n").document["details"] == {"path": "code"}


def test_several_dialogs_are_listed(cli: Cli, join: Join) -> None:
    join(PHONE, {**PHONE, "guid": "adb-other", "pairing_port": 40000})
    run = cli("devices", "pair", "--code", CODE)
    assert run.document["code"] == "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED"
    assert [it["address"] for it in run.document["details"]["services"]] == [DIALOG, "192.168.1.87:40000"]
    assert DIALOG in run.document["hint"]


def test_an_old_server(cli: Cli, join: Join) -> None:
    join(PHONE, platform_tools=29)
    for arguments in (("pair", "--qr"), ("pair", DIALOG, "--code", CODE), ("connect",)):
        run = cli("devices", *arguments)
        assert (run.exit_code, run.document["code"]) == (1, "PAIRING_UNSUPPORTED")
        assert "platform-tools" in run.document["hint"]
        assert "WIFI:" not in run.err
    assert cli("devices", "--discover").document["code"] == "PAIRING_UNSUPPORTED"


# -- connecting and disconnecting --------------------------------------------------------------------------------------


def test_a_round_of_connections(cli: Cli, join: Join) -> None:
    join({**PHONE, "paired": True}, auto_connect=False)
    connected = {"ok": True, "serial": SERIAL, "state": "device", "alreadyConnected": False}
    assert cli("devices", "connect").document == connected
    assert cli("devices", "connect", ADDRESS).document == {**connected, "alreadyConnected": True}
    assert cli("devices", "disconnect", SERIAL).document == {"ok": True, "disconnected": [SERIAL]}
    assert cli("devices", "disconnect", SERIAL).document["message"] == f"{SERIAL} is not connected"
    assert cli("devices", "connect", ADDRESS, "--output", "pretty").out == f"Connected: {ADDRESS}\n"
    assert cli("devices", "disconnect", "--all", "--output", "pretty").out == f"Disconnected: {ADDRESS}\n"
    assert cli("devices", "disconnect", "--all").document == {"ok": True, "disconnected": []}
    assert cli("devices", "disconnect", ADDRESS).document["code"] == "DEVICE_NOT_FOUND"


def test_several_devices_to_connect_to_are_listed(cli: Cli, join: Join) -> None:
    join(PHONE, {**PHONE, "guid": "adb-other", "mode": "tcpip", "connect_port": 5555})
    run = cli("devices", "connect")
    assert run.document["code"] == "MULTIPLE_DEVICES_DEVICE_ID_REQUIRED"
    assert [it["type"] for it in run.document["details"]["services"]] == ["_adb-tls-connect._tcp", "_adb._tcp"]
    assert cli("devices", "connect", "192.168.1.87").document["serial"] == "192.168.1.87:5555"


@pytest.mark.parametrize("arguments", [(), ("--all", ADDRESS)])
def test_disconnecting_needs_to_know_what(cli: Cli, arguments: tuple[str, ...]) -> None:
    assert cli("devices", "disconnect", *arguments).document["code"] == "USAGE"


def test_what_announces_itself_is_listed_where_it_is_asked_for(cli: Cli, join: Join) -> None:
    join(PHONE)
    assert "discovered" not in cli("devices").document
    assert cli("devices", "--discover").document == {
        "devices": [],
        "discovered": [
            {"name": GUID, "type": "_adb-tls-connect._tcp", "address": ADDRESS},
            {"name": GUID, "type": "_adb-tls-pairing._tcp", "address": DIALOG},
        ],
    }
    assert DIALOG in cli("devices", "--discover", "--output", "pretty").out


def test_the_simulator_says_what_a_person_would_read_on_the_device() -> None:
    """The scenario is the one in the documentation of the keys."""
    documented = cleandoc(wireless_profile.__doc__ or "").split("\n\n")[1]
    scenario = parse_scenario(dedent(documented))

    async def said() -> dict[str, Any]:
        async with Simulation([create_device(scenario)], mode="server") as simulation:
            return address(simulation)

    document = asyncio.run(said())
    assert document["serials"] == []
    assert document["wireless"] == [
        {"guid": GUID, "connect": ADDRESS, "paired": False, "pairing": [{"address": DIALOG, "code": CODE}]}
    ]


# -- journeys, in processes of their own -------------------------------------------------------------------------------


def test_the_whole_way_by_qr_code(join: Join, process: ProcessCli) -> None:
    """A program shows the code, a device scans it, is paired and connected, and works."""
    join({**PHONE, "pairing_port": 0})
    with running(
        [*CLI, "devices", "pair", "--qr", "--json-progress"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stderr is not None
        line = json.loads(child.stderr.readline())
        assert line.keys() == {"event", "job", "name", "payload"}
        password = line["payload"].split(";")[2].removeprefix("P:")
        scan(line["payload"])
        out, err = child.communicate(timeout=patience(30))
    assert child.returncode == 0
    assert json.loads(out)["device"]["serial"] == SERIAL
    assert password not in out.decode() + err.decode()
    seen = process("observe", "snapshot")
    assert seen.document["envelope"]["status"] == "success"
    assert seen.document["deviceId"] == SERIAL


def test_ctrl_c_ends_the_waiting(join: Join) -> None:
    join({**PHONE, "pairing_port": 0})
    with running(
        [*CLI, "devices", "pair", "--qr", "--json-progress"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        assert child.stderr is not None
        while b'"discover"' not in child.stderr.readline():
            pass
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=patience(30))
    assert child.returncode == 130
    assert json.loads(out)["code"] == "INTERRUPTED"
    assert b"Traceback" not in err


def test_a_person_at_a_terminal_sees_the_code_drawn(join: Join) -> None:
    pty = pytest.importorskip("pty", reason="needs pseudo-terminals")
    join({**PHONE, "pairing_port": 0})
    ours, theirs = pty.openpty()
    env = {**os.environ, "NO_COLOR": "", "TERM": "xterm-256color"}
    with running(
        [*CLI, "devices", "pair", "--qr"], stdin=theirs, stderr=theirs, stdout=subprocess.PIPE, env=env
    ) as child:
        os.close(theirs)
        shown = b""
        while not (match := PAYLOAD.search(shown.decode(errors="replace"))):
            shown += os.read(ours, 65536)
        scan(match[0])
        out, _ = child.communicate(timeout=patience(30))
    os.close(ours)
    assert child.returncode == 0
    assert json.loads(out)["paired"]["guid"] == GUID
    drawn = [line.strip() for line in shown.decode(errors="replace").splitlines() if DARK_ON_LIGHT in line]
    assert drawn == qr.drawing(match[0], 100, blocks=True, coloured=True)


def test_a_person_at_a_terminal_is_asked_for_the_code(join: Join) -> None:
    pty = pytest.importorskip("pty", reason="needs pseudo-terminals")
    join(PHONE)
    ours, theirs = pty.openpty()
    with running([*CLI, "devices", "pair", DIALOG], stdin=theirs, stderr=theirs, stdout=subprocess.PIPE) as child:
        os.close(theirs)
        shown = b""
        while b"The code: " not in shown:
            shown += os.read(ours, 65536)
        os.write(ours, f"{CODE}\n".encode())
        out, _ = child.communicate(timeout=patience(30))
    os.close(ours)
    assert child.returncode == 0
    assert json.loads(out)["paired"] == {"address": DIALOG, "guid": GUID}


# -- the drawing -------------------------------------------------------------------------------------------------------


def read_blocks(lines: list[str], *, drawn_is: bool) -> list[list[bool]]:
    """Modules of a drawing with half blocks; ``drawn_is``: what a drawn half means (dark, or light)."""
    halves = {" ": (False, False), "▀": (True, False), "▄": (False, True), "█": (True, True)}
    rows: list[list[bool]] = []
    for line in lines:
        pairs = [halves[character] for character in line.removeprefix(DARK_ON_LIGHT).removesuffix("\x1b[0m")]
        rows += [[upper is drawn_is for upper, _ in pairs], [lower is drawn_is for _, lower in pairs]]
    return rows


@given(st.from_regex(r"\A[A-Za-z0-9:;]{1,80}\Z"))
def test_every_drawing_shows_the_same_modules(text: str) -> None:
    modules = qr.modules(text, 4)
    even = [*modules, [False] * len(modules[0])][: len(modules) + len(modules) % 2]
    assert read_blocks(qr.drawing(text, 500, blocks=True, coloured=True), drawn_is=True) == even
    assert read_blocks(qr.drawing(text, 500, blocks=True, coloured=False), drawn_is=False)[: len(modules)] == modules
    plain = qr.drawing(text, 500, blocks=False, coloured=False)
    assert [[line[at] == " " for at in range(0, len(line), 2)] for line in plain] == modules
    coloured = [re.findall(r"\x1b\[48;5;(\d+)m  ", line) for line in qr.drawing(text, 500, blocks=False, coloured=True)]
    assert [[colour == "16" for colour in row] for row in coloured] == modules


def test_the_drawing_fits_or_is_left_out() -> None:
    payload = QrOffer.fresh().payload
    widths = {columns: qr.drawing(payload, columns, blocks=True, coloured=False) for columns in (80, 40, 20)}
    assert len(widths[80][0]) <= 80
    assert 0 < len(widths[40][0]) <= 40
    assert widths[20] == []
    assert len(qr.drawing(payload, 82, blocks=False, coloured=False)[0]) <= 82
    assert qr.drawing(payload, 60, blocks=False, coloured=True) == []


@pytest.mark.parametrize(
    ("encoding", "blocks"), [("utf-8", True), ("ascii", False), ("latin-1", False), ("cp437", True)]
)
def test_the_terminals_encoding_decides_about_blocks(
    monkeypatch: pytest.MonkeyPatch, encoding: str, blocks: bool, tmp_path: Path
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    with (tmp_path / "terminal").open("w", encoding=encoding) as stream:
        monkeypatch.setattr("sys.stderr", stream)
        lines = qr_lines("WIFI:T:ADB;S:a;P:b;;", {"NO_COLOR": "1"})
    assert ("#" in "".join(lines)) is not blocks
