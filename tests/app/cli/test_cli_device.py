"""``app …`` and ``device …`` on a simulated device."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING

import pytest

from clawperator.engine.config.settings import Settings
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.device_lock import DeviceLocks
from tests.app.cli.test_cli_verbs import phone, refused
from tests.engine.operator.apks import apk, manifest, save
from tests.support import patience

if TYPE_CHECKING:
    from pathlib import Path

    from clawperator.engine.simulator.device import SimulatedDevice
    from tests.app.cli.conftest import Cli

SHOP = "com.example.shop"
__all__ = ["phone"]  # a fixture


def test_info_and_its_parts(phone: SimulatedDevice, cli: Cli) -> None:
    phone.ui.show(SHOP)
    info = cli("device", "info").document
    assert (info["model"], info["sdk"], info["screen"], info["locked"]) == ("Pixel 7", 34, "Awake", False)
    assert cli("app", "current").document == {
        "ok": True, "deviceId": info["deviceId"], "app": SHOP, "activity": ".MainActivity"
    }  # fmt: skip
    size = cli("device", "size").document
    assert size == {name: info[name] for name in ("ok", "deviceId", "width", "height", "density", "rotation")}


def test_rotate(phone: SimulatedDevice, cli: Cli) -> None:
    width, height = phone.ui.display
    turned = cli("device", "rotate", "90").document
    assert (turned["width"], turned["height"], turned["rotation"]) == (height, width, 90)
    assert cli("device", "rotate", "180").document["rotation"] == 180
    assert cli("device", "rotate", "auto").document["rotation"] == 0
    assert phone.ui.setting("system", "accelerometer_rotation") == "1"
    refused(cli("device", "rotate", "45"), "USAGE")


def test_wake_and_unlock_hint(phone: SimulatedDevice, cli: Cli) -> None:
    phone.ui.awake, phone.locked = False, True
    asleep = cli("device", "unlock-hint").document
    assert (asleep["screen"], asleep["locked"]) == ("Asleep", True)
    assert "clawperator device wake" in asleep["hint"]
    woken = cli("device", "wake").document
    assert (woken["screen"], woken["locked"], phone.ui.awake) == ("Awake", True, True)
    assert "Unlock the device." in woken["hint"]
    phone.locked = False
    assert cli("device", "unlock-hint").document["hint"] == ""


def test_logs(phone: SimulatedDevice, cli: Cli) -> None:
    cli("click", "--text", "nothing")
    lines = cli("device", "logs", "--lines", "5").document["lines"]
    assert len(lines) == 5
    ours = cli("device", "logs", "--app", "com.clawperator.operator").document["lines"]
    assert any("click-" in line for line in ours)
    refused(cli("device", "logs", "--app", "com.nope"), "DEVICE_COMMAND_REFUSED")
    refused(cli("device", "logs", "--app", "x; reboot"), "EXECUTION_VALIDATION_FAILED")


def test_apps(phone: SimulatedDevice, cli: Cli) -> None:
    phone.ui.show(SHOP)
    phone.ui.state["cart"] = ["x"]
    assert cli("app", "clear", SHOP).document["cleared"] is True
    assert phone.ui.state_of(phone.ui.apps[SHOP])["cart"] == []
    assert cli("app", "start", SHOP).exit_code == 0
    assert cli("wait", "--app", SHOP).exit_code == 0
    assert cli("app", "stop", SHOP).exit_code == 0
    assert cli("app", "uninstall", SHOP).document["uninstalled"] is True
    assert SHOP not in phone.packages
    for verb in ("uninstall", "clear"):
        error = refused(cli("app", verb, SHOP), "DEVICE_COMMAND_REFUSED")
        assert "is not installed" in error["message"]
        refused(cli("app", verb, "a.b;reboot"), "EXECUTION_VALIDATION_FAILED")
        refused(cli("app", verb), "MISSING_ARGUMENT")


def test_permissions(phone: SimulatedDevice, cli: Cli) -> None:
    operator, name = "com.clawperator.operator", "android.permission.POST_NOTIFICATIONS"
    granted = phone.packages[operator].permissions
    cli("app", "permissions", "revoke", operator, name)
    assert name not in granted
    run = cli("app", "permissions", "grant", operator, "POST_NOTIFICATIONS")
    assert (run.document["permission"], run.document["granted"], name in granted) == (name, True, True)
    error = refused(cli("app", "permissions", "grant", SHOP, "CAMERA"), "DEVICE_COMMAND_REFUSED")
    assert "has not requested permission" in error["message"]
    refused(cli("app", "permissions", "give", SHOP, "CAMERA"), "USAGE")
    refused(cli("app", "permissions", "grant", SHOP, "a b"), "EXECUTION_VALIDATION_FAILED")


def test_install(phone: SimulatedDevice, cli: Cli, tmp_path: Path) -> None:
    path = save(tmp_path, apk(manifest("com.example.fresh")), "fresh.apk")
    assert cli("app", "install", path).document["package"] == "com.example.fresh"
    assert "com.example.fresh" in phone.packages
    refused(cli("app", "install", str(tmp_path / "none.apk")), "FILE_NOT_READABLE")
    text = tmp_path / "text.apk"
    text.write_text("text")
    refused(cli("app", "install", str(text)), "ANDROID_INSTALL_FAILED")


@pytest.mark.usefixtures("phone")
def test_rules_about_packages_and_the_audit(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = tmp_path / "policy.toml"
    policy.write_text(f'version = 1\n[profiles.default.packages]\ndeny = ["{SHOP}"]\n')
    monkeypatch.setenv("CLAWPERATOR_POLICY", str(policy))
    refused(cli("app", "clear", SHOP), "PACKAGE_DENIED")
    assert cli("app", "clear", "com.example.thermostat").exit_code == 0
    rows = cli("history", "audit").document["audit"]
    assert [row["event"] for row in rows if "clear the data of" in str(row)].count("refused") == 1


def test_a_locked_device(phone: SimulatedDevice, cli: Cli) -> None:
    held, over = threading.Event(), threading.Event()

    async def hold() -> None:
        command = Command.errand("other", seconds=5)
        async with DeviceLocks(Settings.resolve().lock_dir).hold(serial, command):
            held.set()
            await asyncio.to_thread(over.wait, patience(20))

    serial = cli("device", "size").document["deviceId"]
    thread = threading.Thread(target=lambda: asyncio.run(hold()))
    thread.start()
    try:
        assert held.wait(patience(20))
        refused(cli("app", "clear", SHOP), "EXECUTION_CONFLICT_IN_FLIGHT")
        refused(cli("input", "key", "ENTER"), "EXECUTION_CONFLICT_IN_FLIGHT")
        assert cli("device", "info").exit_code == 0
    finally:
        over.set()
        thread.join(patience(20))
    assert phone.ui.package == phone.ui.home
