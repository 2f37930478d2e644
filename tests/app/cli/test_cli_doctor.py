"""``clawperator doctor`` from its command line: report, exit codes, fixes, JUnit, and the person at the terminal."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from clawperator.engine.doctor import visit
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from tests.app.cli.test_cli_terminals import terminal  # noqa: F401 -- a fixture

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.app.cli.conftest import Cli
    from tests.app.cli.test_cli_terminals import Terminal

SERIAL, PACKAGE = "emulator-5554", "com.clawperator.operator"
GRANT = f"clawperator grant-device-permissions --device-id {SERIAL} --receiver-package {PACKAGE}"
CRASHED = {"faults": [{"kind": "service_down", "how": "crashed"}]}
TOOLS = {
    "node": "echo v22.1.0",
    "git": "echo git version 2.45.0",
    "adb": 'case "$*" in version) echo Android Debug Bridge version 1.0.41; echo Version 35.0.2-1;;'
    ' *) echo "$*" >> "$0.calls"; echo cannot >&2; exit 1;; esac',
}


@contextmanager
def simulated(scenario: dict[str, Any]) -> Iterator[tuple[SimulatedDevice, dict[str, str]]]:
    """A device behind an adb server of ours, in a thread of its own: command lines have their own event loop."""
    ready, ended = threading.Event(), asyncio.Event()
    found: list[Any] = []

    async def serve() -> None:
        world = create_device(Scenario.model_validate({"speed": 0, **scenario}))
        async with Simulation([world], mode="server") as simulation:
            found.extend((world, simulation.env(), asyncio.get_running_loop()))
            ready.set()
            await ended.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    assert ready.wait(20)
    world, env, loop = found
    try:
        yield world, env
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join(20)


@pytest.fixture
def tools(lonely: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A computer that has every tool, but an adb that cannot start a server."""
    for name, script in TOOLS.items():
        write_tool(tmp_path, name, script)
    monkeypatch.setenv("ADB_PATH", str(tmp_path / "adb"))
    monkeypatch.setattr(visit, "running_servers", lambda: ())
    return tmp_path


def write_tool(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@pytest.fixture
def admit(tools: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., SimulatedDevice]]:
    """Call it with the keys of a scenario: the device that command lines of this test find."""
    with ExitStack() as stack:

        def make(**scenario: Any) -> SimulatedDevice:
            world, env = stack.enter_context(simulated(scenario))
            for name, value in env.items():
                monkeypatch.setenv(name, value)
            return world

        yield make


def statuses(document: dict[str, Any]) -> dict[str, str]:
    return {check["id"]: check["status"] for check in document["checks"]}


def test_a_healthy_device(cli: Cli, admit: Callable[..., SimulatedDevice]) -> None:
    admit()
    run = cli("doctor", "--json")
    assert (run.exit_code, run.err) == (0, "")
    assert run.out.startswith('{\n  "ok": true,\n  "criticalOk": true,\n  "deviceId": "emulator-5554",\n')
    assert set(statuses(run.document).values()) == {"pass"}
    assert list(run.document) == [
        "ok",
        "criticalOk",
        "deviceId",
        "receiverPackage",
        "operatorPackage",
        "checks",
        "nextActions",
    ]
    assert run.document["nextActions"][-1] == f"Try: clawperator observe snapshot --device-id {SERIAL}"
    shown = cli("doctor", "--output", "pretty")
    assert shown.out.endswith(f"  - Try: clawperator observe snapshot --device-id {SERIAL}\n")
    assert "\n[OK] Everything is ready.\n" in shown.out
    assert "Advisory checks" not in shown.out
    assert "Additional passed checks: 13\n" in shown.out


def test_a_sick_device_for_eyes(cli: Cli, admit: Callable[..., SimulatedDevice]) -> None:
    admit(**CRASHED)
    run = cli("doctor", "--output", "pretty")
    assert (run.exit_code, run.err) == (1, "")
    assert run.out == (
        "Clawperator doctor\n"
        f"Device: {SERIAL}\n"
        f"Receiver package: {PACKAGE}\n"
        "\n"
        "Critical checks\n"
        f"  [OK] Python {'.'.join(map(str, sys.version_info[:3]))}\n"
        "  [OK] adb 35.0.2\n"
        f"  [OK] adb server at tcp:127.0.0.1:{os.environ['ANDROID_ADB_SERVER_PORT']}\n"
        f"  [OK] Device {SERIAL}\n"
        "  [OK] Android API 34, Physical size: 1080x2340\n"
        "  [OK] Operator 0.3.1 fits\n"
        "  [FAIL] The Operator's accessibility service is not running\n"
        "      Accessibility service is not available\n"
        "      Switch the accessibility service on\n"
        f"        {GRANT}\n"
        "      On device, open Accessibility Settings:\n"
        "        Find Clawperator under the installed services.\n"
        "        Turn it on.\n"
        "\n"
        "Advisory checks\n"
        "  [WARN] The Operator's accessibility service is switched on but does not run\n"
        "      Android lists it as crashed. 0 of 1 services run.\n"
        "      Switch the service off and on again\n"
        f"        {GRANT} --force\n"
        "\n"
        "Additional passed checks: 12\n"
        "\n"
        "[FAIL] Something critical is missing.\n"
        "\n"
        "Next actions:\n"
        f"  - {GRANT} --force\n"
        f"  - {GRANT}\n"
        "  - On device, open Accessibility Settings and follow the listed steps.\n"
    )
    assert cli("doctor", "--check-only").exit_code == 0


def test_fix_makes_it_well(cli: Cli, admit: Callable[..., SimulatedDevice]) -> None:
    admit(**CRASHED)
    fixed = cli("doctor", "--fix")
    assert fixed.exit_code == 1  # checks are not run again
    assert [(result["checkId"], result["step"], result["ok"]) for result in fixed.document["fixResults"]] == [
        ("readiness.accessibility.bound", f"{GRANT} --force", True),
        ("readiness.handshake", GRANT, True),
    ]
    assert fixed.document["nextActions"] == ["On device, open Accessibility Settings and follow the listed steps."]
    told = fixed.err.splitlines()
    assert all(line.startswith("[clawperator] fix for readiness.") for line in told)
    assert any(f"adb -s {SERIAL} shell settings put secure" in line for line in told)
    assert sum(": done: " in line for line in told) == 2
    again = cli("doctor", "--fix")
    assert (again.exit_code, again.document["fixResults"], again.err) == (0, [], "")
    assert set(statuses(again.document).values()) == {"pass"}


def test_fixes_for_eyes(cli: Cli, admit: Callable[..., SimulatedDevice]) -> None:
    admit(**CRASHED)
    shown = cli("doctor", "--fix", "--output", "pretty").out
    assert f"Fixes that were run:\n  [OK] {GRANT} --force\n      {PACKAGE} " in shown


def test_what_disturbs_others_needs_a_yes(cli: Cli, tools: Path) -> None:
    """No server answers and adb cannot start one: ending it is left to people, starting it is tried."""
    plain = cli("doctor")
    assert (plain.exit_code, statuses(plain.document)["host.adb.server"]) == (1, "fail")
    assert plain.document["nextActions"] == ["adb kill-server", "adb start-server"]
    port = os.environ["ANDROID_ADB_SERVER_PORT"]
    calls = tools / "adb.calls"
    calls.write_text("")
    careful = cli("doctor", "--fix")
    assert "kill-server" not in calls.read_text()
    assert [(result["step"], result["ok"]) for result in careful.document["fixResults"]] == [
        ("adb start-server", False)
    ]
    assert careful.document["nextActions"] == ["adb kill-server"]
    assert "not run without a yes (--yes): adb kill-server" in careful.err
    calls.write_text("")
    bold = cli("doctor", "--fix", "--yes")
    assert f"-P {port} kill-server\n" in calls.read_text()
    assert [result["step"] for result in bold.document["fixResults"]] == ["adb kill-server", "adb start-server"]
    assert "nextActions" not in bold.document
    assert f"fix for host.adb.server: adb -P {port} kill-server" in bold.err


@pytest.mark.parametrize(("answer", "killed"), [(b"y\n", True), (b"n\n", False)])
def test_a_person_at_the_terminal_is_asked(
    terminal: Terminal,  # noqa: F811
    tools: Path,
    answer: bytes,
    killed: bool,
) -> None:
    shown = terminal("doctor", "--fix", press=answer, when=b"[y/N]")
    assert shown.exit_code == 1
    assert "[clawperator] doctor 0/20: host.python.version" in shown.text
    assert ("kill-server" in (tools / "adb.calls").read_text()) is killed
    assert ('"adb kill-server"\r\n  ]' in shown.text) is not killed  # the last of the next actions


def test_junit(cli: Cli, admit: Callable[..., SimulatedDevice], tmp_path: Path) -> None:
    admit(device={"generation": "0.5"})
    target = tmp_path / "result.xml"
    target.write_text("old")
    run = cli("doctor", "--junit", str(target))
    assert run.exit_code == 1
    root = ET.parse(target).getroot()
    cases = {f"{case.get('classname')}.{case.get('name')}": case for case in root.iter("testcase")}
    assert next(iter(cases)) == "doctor.host.python.version"
    assert [child.tag for child in cases["doctor.readiness.version.compatibility"]] == ["failure"]
    assert [child.tag for child in cases["doctor.readiness.handshake"]] == ["skipped"]
    assert (root.get("tests"), root.get("failures")) == (str(len(cases)), "1")
    assert cli("doctor", "--junit", os.devnull).exit_code == 1
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


@pytest.mark.parametrize("target", ["no/such/folder/r.xml", "."])
def test_a_junit_file_that_cannot_be_written(
    cli: Cli, admit: Callable[..., SimulatedDevice], tmp_path: Path, target: str
) -> None:
    world = admit()
    run = cli("doctor", "--junit", str(tmp_path / target))
    assert (run.exit_code, run.document["code"]) == (1, "USAGE")
    assert run.document["message"].startswith(f"--junit {tmp_path / target} cannot be written: ")
    assert world.commands == 0


def test_the_strict_rule(cli: Cli, admit: Callable[..., SimulatedDevice]) -> None:
    admit(operator={"version_name": "0.3.9"})
    assert cli("doctor").exit_code == 0
    strict = cli("doctor", "--strict-version")
    assert strict.exit_code == 1
    assert strict.document["checks"][-1]["code"] == "VERSION_INCOMPATIBLE"


def test_a_full_run(cli: Cli, admit: Callable[..., SimulatedDevice], tools: Path, tmp_path: Path) -> None:
    admit()
    write_tool(tools, "java", "echo 'openjdk version \"21.0.1\"' >&2")
    lost = cli("doctor", "--full", "--project", str(tmp_path / "nowhere"))
    assert lost.document["checks"][-1]["code"] == "ANDROID_BUILD_FAILED"
    assert "--project" in lost.document["nextActions"][-1]
    project = tmp_path / "project"
    project.mkdir()
    write_tool(project, "gradlew", "echo BUILD SUCCESSFUL")
    run = cli("doctor", "--full", "--project", str(project))
    assert run.exit_code == 0
    assert set(statuses(run.document).values()) == {"pass"}
    assert list(statuses(run.document))[-1] == "readiness.smoke"


def test_an_interrupt_leaves_nothing_behind(admit: Callable[..., SimulatedDevice], tools: Path, tmp_path: Path) -> None:
    """SIGINT while a tool hangs: the documented answer, the tool is gone, and the JUnit file was never touched."""
    admit()
    write_tool(tools, "node", 'echo $$ > "$0.part"; /bin/mv "$0.part" "$0.pid"; exec /bin/sleep 300')
    target = tmp_path / "r.xml"
    command = [sys.executable, "-m", "clawperator.app.cli", "doctor", "--junit", str(target)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while not (tools / "node.pid").exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=20)
    assert (child.returncode, json.loads(out)["code"], err) == (130, "INTERRUPTED", b"")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tools / "node.pid").read_text()), 0)
    assert [path for path in tmp_path.iterdir() if path.name.startswith("r.xml")] == []
