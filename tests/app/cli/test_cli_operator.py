"""``operator setup|install|status|crash-log`` and ``grant-device-permissions`` as people and scripts call them."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import threading
from typing import TYPE_CHECKING, Any

import pytest

from clawperator.engine.contracts.operator_identity import DEBUG_PACKAGE, RELEASE_PACKAGE, service_of
from clawperator.engine.simulator.commands import packages
from tests.app.cli.conftest import Plug
from tests.engine.operator.apks import apk, manifest, save
from tests.support import CLI, Spawn, patience

if TYPE_CHECKING:
    from pathlib import Path

    from tests.app.cli.conftest import Cli

SERIAL = "emulator-5554"
EMPTY: dict[str, Any] = {"operator": {"installed": False}}


# -- setup


def test_setup_takes_the_downloaded_file_and_the_device_is_ready(cli: Cli, plug: Plug, tmp_path: Path) -> None:
    plug(**EMPTY)
    assert cli("operator", "status").document["ready"] is False
    path = save(tmp_path / ".clawperator" / "downloads")
    run = cli("operator", "setup")
    assert run.exit_code == 0
    assert list(run.document) == [
        *("receiverPackage", "install", "permissions", "verification", "message"),
        *("deviceId", "apk", "roundTripMs", "apkVersion", "operatorPackage"),
    ]
    assert (run.document["apk"], run.document["deviceId"]) == (path, SERIAL)
    assert [line.split()[1] for line in run.err.splitlines() if " ok" in line] == [
        *("check:", "install:", "permissions:", "verify:")
    ]
    assert cli("operator", "status").document["ready"] is True
    assert cli("version", "--check-compat").document["compatible"] is True
    assert cli("observe", "snapshot").document["ok"] is True


def test_progress_as_json_lines_and_the_other_name(cli: Cli, plug: Plug, tmp_path: Path) -> None:
    plug(**EMPTY)
    run = cli("operator", "install", "--apk", save(tmp_path), "--json-progress")
    lines = [json.loads(line) for line in run.err.splitlines()]
    assert (run.exit_code, {line["job"] for line in lines}) == (0, {"setup"})
    assert [line["stage"] for line in lines if line["state"] == "done"] == ["check", "install", "permissions", "verify"]
    assert [line["fraction"] for line in lines if "fraction" in line][-1] == 1
    assert {line["limitMs"] for line in lines if line["stage"] == "install"} == {180_000}


def test_a_failed_phase(cli: Cli, plug: Plug, tmp_path: Path) -> None:
    plug(**EMPTY, faults=[{"kind": "install_refused", "code": "INSTALL_FAILED_INSUFFICIENT_STORAGE"}])
    run = cli("operator", "setup", "--apk", save(tmp_path))
    assert (run.exit_code, run.document["code"]) == (1, "OPERATOR_INSTALL_FAILED")
    assert run.document["receiverPackage"] == RELEASE_PACKAGE
    assert run.document["install"] == {"ok": False, "error": "INSTALL_FAILED_INSUFFICIENT_STORAGE", "exitCode": 1}
    assert "install: failed" in run.err
    pretty = cli("operator", "setup", "--apk", save(tmp_path), "--output", "pretty")
    assert (pretty.exit_code, "Free storage" in pretty.out) == (1, True)


def test_without_a_file_it_says_where_the_app_comes_from(cli: Cli) -> None:
    run = cli("operator", "setup")
    assert (run.exit_code, run.document["code"]) == (1, "OPERATOR_APK_NOT_FOUND")
    assert "https://clawperator.com/operator.apk" in run.document["hint"]
    assert run.document["receiverPackage"] == "<unknown>"


@pytest.mark.parametrize("flag", ["--apk", "--sha256"])
def test_an_empty_variable_of_a_script_chooses_nothing(cli: Cli, flag: str) -> None:
    run = cli("operator", "setup", f"{flag}=")
    assert (run.exit_code, run.document["code"]) == (1, "USAGE")
    assert run.document["message"] == f"{flag} value must not be blank"


def test_a_wrong_digest_installs_nothing(cli: Cli, plug: Plug, tmp_path: Path) -> None:
    world = plug(**EMPTY)
    run = cli("operator", "setup", "--apk", save(tmp_path), "--sha256", "0" * 64)
    assert (run.document["code"], RELEASE_PACKAGE in world.packages) == ("OPERATOR_INSTALL_FAILED", False)


def test_an_interrupt_leaves_nothing_on_the_device(
    plug: Plug, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spawn: Spawn
) -> None:
    """The package manager has every byte but is not done: the session is abandoned with the connection."""
    stream, arrived = packages._stream, threading.Event()

    async def slow(process: Any, size: str) -> bytes:
        await stream(process, size)
        arrived.set()
        await asyncio.Event().wait()
        return b""

    monkeypatch.setattr(packages, "_stream", slow)
    world = plug(**EMPTY)
    command = [*CLI, "operator", "setup", "--apk", save(tmp_path), "--json-progress"]
    child = spawn(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert arrived.wait(30)
    finally:
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=patience(30))
    assert (child.returncode, json.loads(out)["code"]) == (130, "INTERRUPTED")
    assert json.loads(err.splitlines()[-1])["state"] == "failed"
    assert RELEASE_PACKAGE not in world.packages
    assert world.files.list("/data/local/tmp") == ()


# -- the words


@pytest.mark.parametrize("words", [("setup",), ("install",), ("setup", "--apk", "x.apk"), ("install", "now")])
def test_the_words_without_operator_name_the_whole_command(cli: Cli, words: tuple[str, ...]) -> None:
    run = cli(*words)
    assert (run.exit_code, run.document["code"]) == (1, "USAGE")
    assert run.document["canonical"] == "clawperator operator setup"


def test_the_group(cli: Cli) -> None:
    assert cli("operator", "uninstall").document["code"] == "USAGE"
    help_text = cli("operator", "help")
    assert (help_text.exit_code, help_text.out) == (0, cli("operator", "--help").out)
    assert "operator crash-log" in help_text.out
    assert cli("emulators", "list", "--help").out == cli("emulator", "list", "--help").out


# -- grants, status, crashes


def test_grant(cli: Cli, plug: Plug) -> None:
    world = plug(operator={"package": DEBUG_PACKAGE, "enabled": False})
    run = cli("grant-device-permissions")
    assert (run.exit_code, list(run.document)[:5]) == (
        0,
        ["receiverPackage", "accessibility", "notification", "notificationListener", "message"],
    )
    assert run.document["receiverPackage"] == DEBUG_PACKAGE
    assert world.accessibility.bound(service_of(DEBUG_PACKAGE))
    again = cli("grant-device-permissions", "--output", "pretty")
    assert "already had its permissions" in again.out
    assert "accessibility service: already enabled" in again.out
    assert cli("grant-device-permissions", "--force").document["accessibility"]["alreadyEnabled"] is False


def test_a_failed_grant_has_all_three(cli: Cli, plug: Plug) -> None:
    plug(operator={"enabled": False}, faults=[{"kind": "settings_refused"}])
    run = cli("grant-device-permissions")
    assert (run.exit_code, run.document["code"]) == (1, "GRANT_DEVICE_PERMISSIONS_FAILED")
    assert [run.document[name]["ok"] for name in ("accessibility", "notification", "notificationListener")] == [
        *(False, True, True)
    ]


def test_status_and_crash_log_for_eyes(cli: Cli, plug: Plug) -> None:
    world = plug()
    healthy = cli("operator", "status", "--output", "pretty")
    assert (healthy.exit_code, healthy.err) == (0, "")
    assert f"[OK] {RELEASE_PACKAGE} is ready" in healthy.out
    assert "accessibility service bound" in healthy.out
    none = cli("operator", "crash-log")
    assert (none.exit_code, none.document["crashes"]) == (0, [])
    assert "has recorded no crash" in cli("operator", "crash-log", "--output", "pretty").out
    hostile = f"Process: {RELEASE_PACKAGE}\nPID: 77\n\njava.lang.Error: \x1b[2Jgone [bold]\n\tat a.b(C.kt:1)"
    world.dropbox.add(1_000_000_000, "data_app_crash", hostile)
    crash = cli("operator", "crash-log", "--output", "pretty")
    assert "\\x1b[2Jgone [bold]" in crash.out
    assert "\x1b" not in crash.out
    assert cli("operator", "crash-log", "--lines", "2").document["crashes"][0]["cutLines"] == 3
    assert cli("operator", "crash-log", "--lines", "0").document["code"] == "EXECUTION_VALIDATION_FAILED"


# -- versions


@pytest.mark.parametrize(
    ("version", "flags", "exit_code", "code"),
    [
        ("0.3.9", (), 0, None),
        ("0.3.9", ("--strict-version",), 1, "VERSION_INCOMPATIBLE"),
        ("0.13.0", (), 1, "VERSION_INCOMPATIBLE"),
        ("banana", (), 1, "APK_VERSION_INVALID"),
    ],
)
def test_check_compat(
    cli: Cli, plug: Plug, version: str, flags: tuple[str, ...], exit_code: int, code: str | None
) -> None:
    plug(operator={"version_name": version})
    run = cli("version", "--check-compat", *flags)
    assert run.exit_code == exit_code
    assert run.document["apkVersion"] == version
    assert run.document.get("error", {}).get("code") == code
    assert ("remediation" in run.document) == (code is not None)


def test_check_compat_with_versions_that_the_settings_accept(cli: Cli, plug: Plug, tmp_path: Path) -> None:
    plug(operator={"version_name": "0.13.0"})
    folder = tmp_path / "config" / "clawperator"
    folder.mkdir(parents=True)
    (folder / "settings.toml").write_text('accepted_versions = ["0.13"]\n')
    assert cli("version", "--check-compat").document["compatible"] is True
    assert cli("version", "--check-compat", "--strict-version").document["compatible"] is False


def test_check_compat_of_the_other_variant(cli: Cli, plug: Plug) -> None:
    plug(operator={"package": DEBUG_PACKAGE})
    run = cli("version", "--check-compat")
    assert (run.exit_code, run.document["error"]["code"]) == (1, "RECEIVER_VARIANT_MISMATCH")
    assert run.document["remediation"] == [f"Pass --receiver-package {DEBUG_PACKAGE}."]


def test_a_foreign_apk(cli: Cli, plug: Plug, tmp_path: Path) -> None:
    world = plug(**EMPTY)
    path = save(tmp_path, apk(manifest("com.example.game")))
    run = cli("operator", "setup", "--apk", path)
    assert run.document["code"] == "OPERATOR_INSTALL_FAILED"
    assert "--receiver-package com.example.game" in run.document["hint"]
    assert "com.example.game" not in world.packages
