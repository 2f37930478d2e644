"""``emulator``: documents, refusals, questions, progress and interrupts, with the fake SDK and the real adb server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clawperator.app.cli.command_table import COMMANDS, subcommands
from clawperator.engine.adb import blocking
from clawperator.engine.emulators.avds import machine_abi
from clawperator.engine.emulators.stages import STAGES
from tests.engine.skills.made import until
from tests.sdk.tree import FakeSdk
from tests.support import CLI, Spawn

if TYPE_CHECKING:
    from tests.app.cli.conftest import Cli

pytestmark = pytest.mark.adb

AVD_KEYS = [
    "name",
    "exists",
    "running",
    "apiLevel",
    "abi",
    "playStore",
    "deviceProfile",
    "systemImage",
    "supported",
    "unsupportedReasons",
]
PATIENT = 30


@pytest.fixture
def sdk(
    lonely: dict[str, str], adb_env: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[FakeSdk]:
    fake = FakeSdk(tmp_path / "world", adb_env)
    monkeypatch.delenv("ADB_PATH")
    for name, value in fake.env.items():
        monkeypatch.setenv(name, value)
    yield fake
    fake.end()
    until(lambda: not any(entry.is_emulator for entry in blocking.devices(fake.env)))


def stages(err: str) -> list[dict[str, Any]]:
    lines = [json.loads(line) for line in err.splitlines()]
    assert {line["event"] for line in lines} == {"progress"}
    return lines


def test_from_nothing_and_back(cli: Cli, sdk: FakeSdk) -> None:
    assert cli("emulator", "list").document == {"avds": []}
    assert "No virtual devices" in cli("emulator", "list", "--output", "pretty").out

    run = cli("provision", "emulator", "--json-progress")
    done = run.document
    assert run.exit_code == 0
    assert list(done) == ["type", "avdName", "serial", "booted", "created", "started", "reused"]
    assert [done["created"], done["started"], done["reused"]] == [True, True, False]
    reported = stages(run.err)
    assert [line["stage"] for line in reported if line["state"] == "done"] == list(STAGES)
    assert {line["job"] for line in reported} == {"provision"}
    assert any(line["limitMs"] == 180_000 for line in reported if line["stage"] == "wait_boot")

    (avd,) = cli("emulator", "list").document["avds"]
    assert list(avd) == AVD_KEYS
    assert (avd["name"], avd["running"], avd["supported"]) == ("clawperator-pixel", True, True)
    (running,) = cli("emulator", "status").document["devices"]
    assert list(running) == ["type", "avdName", "serial", "booted", "supported", "unsupportedReasons"]
    shown = cli("emulator", "status", "--output", "pretty").out
    assert running["serial"] in shown
    assert "booted" in shown
    assert "running" in cli("emulator", "list", "--output", "pretty").out

    refused = cli("emulator", "delete", "clawperator-pixel", "--yes")
    assert (refused.exit_code, refused.document["code"]) == (1, "EMULATOR_ALREADY_RUNNING")
    again = cli("emulator", "provision")
    assert again.document["reused"]
    assert "wait boot: skipped" in again.err

    stopped = cli("emulator", "stop", "clawperator-pixel")
    assert stopped.document == {"ok": True, "avdName": "clawperator-pixel", "stopped": True}
    assert cli("emulator", "status").document == {"devices": []}
    assert "No emulator is running" in cli("emulator", "status", "--output", "pretty").out
    deleted = cli("emulator", "delete", "clawperator-pixel", "--yes")
    assert deleted.document == {"ok": True, "avdName": "clawperator-pixel", "deleted": True}


def test_start(cli: Cli, sdk: FakeSdk) -> None:
    sdk.add_avd("mine")
    run = cli("emulator", "start", "mine", "--log", str(sdk.home / "log"), "--output", "pretty")
    assert run.exit_code == 0
    assert run.out.startswith("mine  running as emulator-")
    assert "wait adb: ok" in run.err
    assert (sdk.home / "log").exists()
    again = cli("emulator", "start", "mine").document
    assert again["code"] == "EMULATOR_ALREADY_RUNNING"
    serial = cli("emulator", "status").document["devices"][0]["serial"]
    assert again["details"] == {"name": "mine", "serial": serial}
    assert "is stopping" in cli("emulator", "stop", "mine", "--output", "pretty").out
    document = cli("emulator", "start", "mine").document
    assert document == {"type": "emulator", "avdName": "mine", "serial": document["serial"], "booted": True}


def test_create(cli: Cli, sdk: FakeSdk, tmp_path: Path) -> None:
    values = ["--api-level", "34", "--abi", "x86", "--device-profile", "pixel_6", "--no-play-store"]
    run = cli("emulator", "create", "--name", "other", *values)
    assert list(run.document) == AVD_KEYS
    assert run.document["systemImage"] == "system-images;android-34;google_apis;x86"
    assert "create avd: ok" in run.err
    shown = cli("emulator", "inspect", "other", "--output", "pretty").out
    assert "API level: 34  unsupported_api_level: must be API level 35" in shown
    assert f"ABI: x86  unsupported_abi: must be ABI {machine_abi()}" in shown
    shown = cli("emulator", "list", "--output", "pretty").out
    assert "unsupported_device_profile: must be device profile pixel_7" in shown
    (tmp_path / "config" / "clawperator").mkdir(parents=True)
    (tmp_path / "config" / "clawperator" / "settings.toml").write_text('[emulator]\nsupported_abis = ["x86"]\n')
    assert "must be ABI" not in cli("emulator", "inspect", "other", "--output", "pretty").out
    assert cli("emulator", "create").document["abi"] == "x86"  # the first one that the settings allow


@pytest.mark.cold
@pytest.mark.parametrize(("machine", "abi"), [("x86_64", "x86_64"), ("aarch64", "arm64-v8a")])
def test_the_default_abi_is_one_that_runs_here(
    cli: Cli, sdk: FakeSdk, monkeypatch: pytest.MonkeyPatch, machine: str, abi: str
) -> None:
    monkeypatch.setattr("clawperator.engine.emulators.avds.platform.machine", lambda: machine)
    run = cli("emulator", "create", "--name", "own")
    assert (run.document["abi"], run.document["supported"]) == (abi, True)
    assert ("arm64-v8a images do not run on this computer: using its own ABI, x86_64" in run.err) is (abi == "x86_64")


def test_unknown_names(cli: Cli, sdk: FakeSdk) -> None:
    run = cli("emulator", "inspect", "nobody")
    assert (run.exit_code, run.document["exists"], len(run.document["unsupportedReasons"])) == (0, False, 4)
    assert "does not exist" in cli("emulator", "inspect", "nobody", "--output", "pretty").out
    assert cli("emulator", "start", "nobody").document["code"] == "EMULATOR_NOT_FOUND"
    assert cli("emulator", "stop", "nobody").document["code"] == "EMULATOR_NOT_RUNNING"
    assert cli("emulator", "delete", "nobody", "--yes").document["code"] == "EMULATOR_NOT_FOUND"


@pytest.mark.parametrize("verb", ["inspect", "start", "stop", "delete"])
def test_a_name_is_needed(cli: Cli, sdk: FakeSdk, verb: str) -> None:
    run = cli("emulator", verb)
    assert (run.exit_code, run.document["code"]) == (1, "USAGE")
    assert run.document["message"] == f"emulator {verb} <name>"
    assert cli("emulator", verb, "../../x").document["code"] == "INVALID_NAME"
    assert sdk.records() == []


def test_odd_values_are_refused(cli: Cli, sdk: FakeSdk) -> None:
    for arguments, code in (
        (["create", "--name", "a/b"], "INVALID_NAME"),
        (["create", "--name", ""], "INVALID_NAME"),
        (["provision", "--name", "a b"], "INVALID_NAME"),
        (["create", "--api-level", "many"], "EXECUTION_VALIDATION_FAILED"),
        (["create", "--abi", "x86;y"], "EXECUTION_VALIDATION_FAILED"),
        (["create", "--device-profile", ""], "EXECUTION_VALIDATION_FAILED"),
    ):
        assert cli("emulator", *arguments).document["code"] == code
    assert sdk.records() == []


@pytest.mark.cold
def test_deleting_and_overwriting_ask(cli: Cli, sdk: FakeSdk, monkeypatch: pytest.MonkeyPatch) -> None:
    sdk.add_avd("mine", level=30)
    run = cli("emulator", "create", "--name", "mine", "--force")
    assert (run.exit_code, run.document["code"]) == (1, "NOT_CONFIRMED")
    assert "--yes" in run.document["message"]
    monkeypatch.setattr("clawperator.app.cli.diagnostics.can_ask", lambda: True)
    run = cli("emulator", "delete", "mine", stdin=b"\n")
    assert run.document["code"] == "NOT_CONFIRMED"
    assert "Delete mine and everything on it? [y/N]" in run.err
    assert cli("emulator", "delete", "mine", "--no-input", stdin=b"y\n").document["code"] == "NOT_CONFIRMED"
    assert sdk.calls("avdmanager") == []

    assert cli("emulator", "create", "--name", "mine").document["code"] == "ANDROID_AVD_CREATE_FAILED"
    run = cli("emulator", "create", "--name", "mine", "--force", stdin=b"y\n")
    assert "Overwrite mine" in run.err
    assert run.document["supported"]
    assert cli("emulator", "delete", "mine", stdin=b"yes\n").document["deleted"]
    assert "[y/N]" not in cli("emulator", "create", "--name", "mine", "--force", "--no-input").err  # nothing to lose


def test_a_script_deletes_by_the_name(cli: Cli, sdk: FakeSdk) -> None:
    sdk.add_avd("mine", level=30)
    assert cli("emulator", "delete", "mine").document == {"ok": True, "avdName": "mine", "deleted": True}
    again = cli("emulator", "delete", "mine")
    assert (again.exit_code, again.document["code"]) == (1, "EMULATOR_NOT_FOUND")


def test_an_unknown_one_is_not_asked_about(cli: Cli, sdk: FakeSdk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.app.cli.diagnostics.can_ask", lambda: True)
    run = cli("emulator", "delete", "nobody", stdin=b"y\n")
    assert (run.exit_code, run.document["code"]) == (1, "EMULATOR_NOT_FOUND")
    assert "[y/N]" not in run.err
    assert sdk.calls("avdmanager") == []


def test_a_failure_is_reported_and_has_its_hint(cli: Cli, sdk: FakeSdk) -> None:
    sdk.fails("disk_full")
    run = cli("emulator", "provision", "--json-progress")
    assert (run.exit_code, run.document["code"]) == (1, "ANDROID_SYSTEM_IMAGE_INSTALL_FAILED")
    assert "No space left on device" in run.document["message"]
    assert "Free several gigabytes" in run.document["hint"]
    assert run.document["retryable"]
    last = stages(run.err)[-1]
    assert (last["stage"], last["state"]) == ("install_image", "failed")
    shown = cli("emulator", "provision", "--output", "pretty")
    assert "ANDROID_SYSTEM_IMAGE_INSTALL_FAILED" in shown.out
    assert "install image: failed" in shown.err


def test_without_an_sdk(cli: Cli, lonely: dict[str, str]) -> None:
    listed = cli("emulator", "list").document
    assert (listed["code"], listed["details"]) == ("ANDROID_SDK_TOOL_MISSING", {"missingTools": ["emulator"]})
    missing = cli("emulator", "provision").document["details"]["missingTools"]
    assert missing == ["adb", "emulator", "sdkmanager", "avdmanager"]
    assert cli("emulator", "inspect", "x").document["exists"] is False
    assert cli("emulator", "status").document["code"] == "ADB_NOT_FOUND"


def test_ctrl_c_leaves_nothing_running(sdk: FakeSdk, spawn: Spawn) -> None:
    """Of everything between nothing and a booted emulator, waiting for adb is where people lose their patience."""
    sdk.install()
    sdk.fails("stays_offline")
    command = [*CLI, "emulator", "provision", "--json-progress"]
    child = spawn(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ))
    until(lambda: sdk.records("emulator up"))
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=PATIENT)
    assert child.returncode == 130
    document = json.loads(out)
    assert document["code"] == "INTERRUPTED"
    assert "everything started by this command was stopped" in document["message"]
    last = stages(err.decode())[-1]
    assert (last["stage"], last["state"]) == ("wait_adb", "failed")
    assert last["message"] == "cancelled; its process is stopped"
    until(lambda: not sdk.alive())
    assert (sdk.avds / "clawperator-pixel.ini").exists()


def test_an_emulator_outlives_the_command_that_started_it(sdk: FakeSdk) -> None:
    sdk.add_avd("mine")
    command = [*CLI, "emulator", "start", "mine"]
    done = subprocess.run(command, capture_output=True, env=dict(os.environ), timeout=PATIENT, check=False)
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    serial = json.loads(done.stdout)["serial"]
    assert [entry.state for entry in blocking.devices(sdk.env) if entry.serial == serial] == ["device"]
    assert sdk.alive()


def test_every_command_is_there() -> None:
    words = list(subcommands("emulator"))
    assert words == ["list", "inspect", "create", "start", "stop", "delete", "status", "provision"]
    assert COMMANDS["provision emulator"][0] == COMMANDS["emulator provision"][0]
