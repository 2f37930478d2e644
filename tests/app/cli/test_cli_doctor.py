"""``clawperator doctor`` from its command line: report, exit codes, fixes, JUnit, and the person at the terminal."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from clawperator.engine.contracts.generation import lacking_words
from clawperator.engine.doctor import probes
from clawperator.engine.doctor.adb_servers import ServerProcess
from tests.app.cli.conftest import Plug
from tests.app.cli.test_cli_terminals import terminal  # noqa: F401 -- a fixture
from tests.engine.doctor.conftest import write_tool
from tests.support import CLI, Spawn, patience

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli
    from tests.app.cli.test_cli_terminals import Terminal

pytestmark = pytest.mark.cold  # ``tools`` hides the adb servers of other tests

SERIAL, PACKAGE = "emulator-5554", "com.clawperator.operator"
GRANT = f"clawperator grant-device-permissions --device-id {SERIAL} --receiver-package {PACKAGE}"
CRASHED = {"faults": [{"kind": "service_down", "how": "crashed"}]}
TOOLS = {
    "node": "echo v22.1.0",
    "git": "echo git version 2.45.0",
    "adb": 'case "$*" in version) echo Android Debug Bridge version 1.0.41; echo Version 35.0.2-1;;'
    ' *) echo "$*" >> "$0.calls"; echo cannot >&2; exit 1;; esac',
}


@pytest.fixture
def tools(lonely: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A computer that has every tool, but an adb that cannot start a server."""
    for name, script in TOOLS.items():
        write_tool(tmp_path, name, script)
    monkeypatch.setenv("ADB_PATH", str(tmp_path / "adb"))
    monkeypatch.setattr(probes, "running_servers", lambda: ())
    return tmp_path


@pytest.fixture
def admit(tools: Path, plug: Plug) -> Plug:
    """``plug``, on a computer that has every tool."""
    return plug


def statuses(document: dict[str, Any]) -> dict[str, str]:
    return {check["id"]: check["status"] for check in document["checks"]}


def test_a_healthy_device(cli: Cli, admit: Plug) -> None:
    admit()
    run = cli("doctor", "--json")
    assert (run.exit_code, run.err) == (0, "")
    assert run.out.startswith(
        '{\n  "ok": true,\n  "criticalOk": true,\n  "verdict": "ready",\n  "summary": "Ready",\n  "deviceId": "emulator-5554",\n'
    )
    assert {check["id"]: check["summary"] for check in run.document["checks"] if check["status"] != "pass"} == {}
    assert list(run.document) == [
        "ok",
        "criticalOk",
        "verdict",
        "summary",
        "deviceId",
        "receiverPackage",
        "operatorPackage",
        "backend",
        "stock",
        "checks",
        "nextActions",
    ]
    assert run.document["nextActions"][-1] == f"Try: clawperator observe snapshot --device-id {SERIAL}"
    shown = cli("doctor", "--output", "pretty")
    assert shown.out.endswith(f"  - Try: clawperator observe snapshot --device-id {SERIAL}\n")
    assert "\n[OK] Ready\n" in shown.out
    assert "Advisory checks" not in shown.out
    assert "Additional passed checks: 15\n" in shown.out


def test_a_sick_device_for_eyes(cli: Cli, admit: Plug) -> None:
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
        "  [OK] Android API 34, 1080x2340, 440 dpi\n"
        "  [OK] Operator 0.3.1 is supported\n"
        f"      This generation does not support: {lacking_words('0.3.1')}.\n"
        "  [FAIL] The Operator's accessibility service is not running\n"
        "      Accessibility service is not available\n"
        "      Switch the service off and on again\n"
        f"        {GRANT} --force\n"
        "      On device, open Accessibility Settings:\n"
        "        Find Clawperator under the installed services.\n"
        "        Turn it on.\n"
        "\n"
        "Stock backend\n"
        "  [OK] uiautomator, input, screencap, am are installed\n"
        "      A tree takes one to three seconds and cannot be read while the screen keeps changing.\n"
        "  [OK] UiAutomation is free\n"
        "\n"
        "Advisory checks\n"
        "  [WARN] The Operator's accessibility service is switched on but not running\n"
        "      Android lists it as crashed. 0 of 1 services are running.\n"
        "      Switch the service off and on again\n"
        f"        {GRANT} --force\n"
        "\n"
        "Additional passed checks: 14\n"
        "\n"
        "[FAIL] Not ready: accessibility service not running\n"
        "[OK] Stock backend (--backend stock): Ready\n"
        "\n"
        "Next actions:\n"
        f"  - {GRANT} --force\n"
        "  - On device, open Accessibility Settings and follow the listed steps.\n"
    )
    assert cli("doctor", "--check-only").exit_code == 0


def test_fix_makes_it_well(cli: Cli, admit: Plug) -> None:
    admit(**CRASHED)
    fixed = cli("doctor", "--fix")
    assert fixed.exit_code == 1  # checks are not run again
    assert [(result["checkId"], result["step"], result["ok"]) for result in fixed.document["fixResults"]] == [
        ("readiness.accessibility.bound", f"{GRANT} --force", True),
    ]
    assert fixed.document["nextActions"] == ["On device, open Accessibility Settings and follow the listed steps."]
    reported = fixed.err.splitlines()
    assert all(line.startswith("[clawperator] fix for readiness.") for line in reported)
    assert any(f"adb -s {SERIAL} shell settings put --user current secure" in line for line in reported)
    assert sum(": done: " in line for line in reported) == 1
    again = cli("doctor", "--fix")
    assert (again.exit_code, again.document["fixResults"], again.err) == (0, [], "")
    assert {check["id"]: check["summary"] for check in again.document["checks"] if check["status"] != "pass"} == {}


def test_fixes_for_eyes(cli: Cli, admit: Plug) -> None:
    admit(**CRASHED)
    shown = cli("doctor", "--fix", "--output", "pretty").out
    assert f"Fixes:\n  [OK] {GRANT} --force\n      {PACKAGE} " in shown


def test_without_the_operator_nothing_can_be_executed(cli: Cli, admit: Plug) -> None:
    admit(operator={"installed": False})
    found = cli("doctor").document
    assert (found["verdict"], found["summary"]) == ("not_ready", "Not ready: Operator not installed")
    assert not any(action.startswith("Try:") for action in found["nextActions"])
    assert "\n[FAIL] Not ready: Operator not installed\n" in cli("doctor", "--output", "pretty").out


TWO_HINTS_OR_MORE = re.compile("Ready, [2-9] hints")
"""On a busy machine, a tool that does not answer in time is a hint too."""


def test_hints_do_not_keep_from_trying(cli: Cli, admit: Plug, tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    admit()
    (tools / "git").unlink()
    others = (ServerProcess(4711, 5999), ServerProcess(4712, 0, "localabstract:other"))
    monkeypatch.setattr(probes, "running_servers", lambda: others)
    monkeypatch.setenv("PATH", str(tools))
    run = cli("doctor", "--fix")
    assert (run.exit_code, run.document["verdict"]) == (0, "ready_with_hints")
    assert TWO_HINTS_OR_MORE.fullmatch(run.document["summary"]), run.document["checks"]
    assert run.document["fixResults"] == []
    assert "kill-server" not in run.out, "other programs' adb servers are not ours to stop"
    assert run.document["nextActions"][-1] == f"Try: clawperator observe snapshot --device-id {SERIAL}"
    assert any(TWO_HINTS_OR_MORE.search(line) for line in cli("doctor", "--output", "pretty").out.splitlines())


def test_fix_restarts_our_own_adb_server(cli: Cli, tools: Path) -> None:
    """No server answers and adb cannot start one: ending the one at our address and starting one are tried, nothing else."""
    plain = cli("doctor")
    assert (plain.exit_code, statuses(plain.document)["host.adb.server"]) == (1, "fail")
    assert plain.document["nextActions"] == ["adb kill-server", "adb start-server"]
    port = os.environ["ANDROID_ADB_SERVER_PORT"]
    calls = tools / "adb.calls"
    calls.write_text("")
    fixed = cli("doctor", "--fix")
    assert f"-P {port} kill-server\n" in calls.read_text()
    assert all(f"-P {port} " in call for call in calls.read_text().splitlines())
    assert [result["step"] for result in fixed.document["fixResults"]] == ["adb kill-server", "adb start-server"]
    assert "nextActions" not in fixed.document
    assert f"fix for host.adb.server: adb -P {port} kill-server" in fixed.err


def test_progress_at_the_terminal(terminal: Terminal, tools: Path) -> None:  # noqa: F811
    shown = terminal("doctor")
    assert shown.exit_code == 1
    assert "[clawperator] doctor 0/24: host.python.version" in shown.text


def test_junit(cli: Cli, admit: Plug, tmp_path: Path) -> None:
    admit(operator={"version_name": "0.13.0"})
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
    assert cli("doctor", "--junit", os.devnull).document["code"] == "FILE_EXISTS"
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".part")] == []


@pytest.mark.parametrize("target", ["no/such/folder/r.xml", "."])
def test_a_junit_file_that_cannot_be_written(cli: Cli, admit: Plug, tmp_path: Path, target: str) -> None:
    world = admit()
    run = cli("doctor", "--junit", str(tmp_path / target))
    assert (run.exit_code, run.document["code"]) == (1, "FILE_NOT_WRITABLE")
    assert run.document["message"].startswith(f"--junit {tmp_path / target} cannot be written: ")
    assert world.commands == 0


def test_the_strict_rule(cli: Cli, admit: Plug) -> None:
    admit(operator={"version_name": "0.3.9"})
    assert cli("doctor").exit_code == 0
    strict = cli("doctor", "--strict-version")
    assert strict.exit_code == 1
    assert strict.document["checks"][-1]["code"] == "VERSION_INCOMPATIBLE"


def test_a_full_run(cli: Cli, admit: Plug, tools: Path, tmp_path: Path) -> None:
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
    assert {check["id"]: check["summary"] for check in run.document["checks"] if check["status"] != "pass"} == {}
    assert list(statuses(run.document))[-1] == "readiness.smoke"


def test_an_interrupt_leaves_nothing_behind(admit: Plug, tools: Path, tmp_path: Path, spawn: Spawn) -> None:
    """SIGINT while a tool hangs: the documented answer, the tool is gone, and the JUnit file was never touched."""
    admit()
    write_tool(tools, "node", 'echo $$ > "$0.part"; /bin/mv "$0.part" "$0.pid"; exec /bin/sleep 300')
    target = tmp_path / "r.xml"
    command = [*CLI, "doctor", "--junit", str(target)]
    child = spawn(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + patience(30)
    while not (tools / "node.pid").exists() and time.monotonic() < deadline:
        time.sleep(0.005)
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=patience(20))
    assert (child.returncode, json.loads(out)["code"], err) == (130, "INTERRUPTED", b"")
    with pytest.raises(ProcessLookupError):
        os.kill(int((tools / "node.pid").read_text()), 0)
    assert [path for path in tmp_path.iterdir() if path.name.startswith("r.xml")] == []
