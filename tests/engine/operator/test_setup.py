"""Setup from the file to the verified app: what is told, what is refused before the device is touched, and what fails where."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.parse import InstallResult
from clawperator.engine.contracts.operator_identity import DEBUG_PACKAGE, RELEASE_PACKAGE, service_of
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.operator import setup, verification
from clawperator.engine.operator.reports import SetupReport
from clawperator.engine.progress import unreported
from tests.engine.operator.apks import apk, manifest, save
from tests.engine.operator.conftest import MakePhone, Phone

EMPTY: dict[str, Any] = {"operator": {"installed": False}}


async def failure(phone: Phone, *arguments: str, **more: Any) -> dict[str, Any]:
    with pytest.raises(EngineError) as caught:
        await phone.app.setup(*arguments, **more, on_progress=phone.reported.append)
    return caught.value.to_dict()


async def test_setup_tells_its_phases_and_how_much_is_sent(phone: MakePhone, tmp_path: Path) -> None:
    there = await phone(**EMPTY)
    data = apk(padding=3_000_000)
    path, digest = save(tmp_path / "my apks", data), hashlib.sha256(data).hexdigest().upper()
    report = (
        await there.app.setup("~/my apks/operator.apk", sha256=digest, on_progress=there.reported.append)
    ).to_dict()
    assert list(report)[:5] == ["receiverPackage", "install", "permissions", "verification", "message"]
    assert report["receiverPackage"] == RELEASE_PACKAGE
    assert report["install"] == {"ok": True}
    assert report["permissions"] == {
        "accessibility": {"ok": True, "alreadyEnabled": False},
        "notification": {"ok": True, "skipped": False},
        "notificationListener": {"ok": True, "alreadyEnabled": False},
    }
    assert report["verification"] == {"ok": True, "packageInstalled": True}
    assert (report["apk"], report["apkVersion"]) == (path, "0.3.1")
    assert [(stage.name, stage.state) for stage in there.reported if stage.state != "running"] == [
        (name, "done") for name in ("check", "install", "permissions", "verify")
    ]
    fractions = [stage.fraction for stage in there.reported if stage.fraction is not None]
    assert fractions == sorted(fractions)
    assert (len(fractions) > 2, fractions[-1]) == (True, 1.0)
    assert there.world.accessibility.bound(service_of(RELEASE_PACKAGE))
    again = await there.app.setup(path)
    assert "already granted" in again.message


async def test_an_update_is_seen_at_once_by_everybody_in_the_process(phone: MakePhone, tmp_path: Path) -> None:
    """The engine remembers a device's packages and versions for a minute: not beyond a setup."""
    there = await phone()
    device = await there.engine.device()
    probe = there.engine._probe
    await probe.facts(device, RELEASE_PACKAGE)
    assert await probe.apk_version(device, RELEASE_PACKAGE) == "0.3.1"
    await there.app.setup(save(tmp_path, apk(manifest(version="0.3.2", code=302_900))))
    assert await probe.apk_version(device, RELEASE_PACKAGE) == "0.3.2"


@pytest.mark.parametrize(
    ("package", "code"), [(RELEASE_PACKAGE, "0.3.1"), (DEBUG_PACKAGE, "0.3.1-d")], ids=["release", "debug"]
)
async def test_the_file_says_which_variant_it_is(phone: MakePhone, tmp_path: Path, package: str, code: str) -> None:
    """Also where the other one is there: the grants go to the one that was just installed."""
    there = await phone(operator={"package": RELEASE_PACKAGE if package == DEBUG_PACKAGE else DEBUG_PACKAGE})
    report = await there.app.setup(save(tmp_path, apk(manifest(package, code))))
    assert report.package == package
    assert service_of(package) in there.secure["enabled_accessibility_services"].split(":")


# -- refused before anything touches the device


@pytest.mark.parametrize(
    ("data", "arguments", "code", "words"),
    [
        (b"not an apk", {}, "OPERATOR_INSTALL_FAILED", "not a ZIP archive"),
        (apk(manifest("com.example.game")), {}, "OPERATOR_INSTALL_FAILED", "it is com.example.game, not the Operator"),
        (apk(), {"sha256": "0" * 64}, "OPERATOR_INSTALL_FAILED", f"not {'0' * 64}"),
        (apk(), {"sha256": "abc"}, "EXECUTION_VALIDATION_FAILED", "64 hexadecimal digits"),
    ],
    ids=["text", "foreign", "digest", "no digest"],
)
async def test_a_file_that_is_refused(
    phone: MakePhone, tmp_path: Path, data: bytes, arguments: dict[str, str], code: str, words: str
) -> None:
    there = await phone(**EMPTY)
    there.world.round_trips.reset()
    error = await failure(there, save(tmp_path, data), **arguments)
    assert error["code"] == code
    assert words in error["message"]
    if code == "OPERATOR_INSTALL_FAILED":
        assert (error["receiverPackage"], error["install"]["ok"]) == ("<unknown>", False)
        assert error["hint"]
    assert there.world.round_trips.total == 0
    assert RELEASE_PACKAGE not in there.world.packages


async def test_no_file_and_no_download(phone: MakePhone) -> None:
    there = await phone(**EMPTY)
    error = await failure(there)
    assert error["code"] == "OPERATOR_APK_NOT_FOUND"
    assert "https://clawperator.com/operator.apk" in error["hint"]
    assert error["details"]["urls"] == [
        "https://androperator.com/operator.apk",
        "https://clawperator.com/operator.apk",
        "https://downloads.androperator.com/operator/v1.0.0/operator-v1.0.0.apk",
        "https://downloads.clawperator.com/operator/v0.12.5/operator-v0.12.5.apk",
    ]
    assert all(url in error["hint"] for url in error["details"]["urls"])
    assert str(there.home / ".clawperator" / "downloads") in error["message"]
    assert "install" not in error
    missing = await failure(there, "~/none.apk")
    assert (missing["code"], missing["message"]) == (
        "OPERATOR_APK_NOT_FOUND",
        f"APK file not found: {there.home}/none.apk",
    )
    assert there.reported[-1].state == "failed"


async def test_the_chosen_package_must_be_the_files(
    phone: MakePhone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verification, "START_SECONDS", 0.0)
    there = await phone({"receiver_package": DEBUG_PACKAGE}, **EMPTY)
    error = await failure(there, save(tmp_path))
    assert error["code"] == "OPERATOR_INSTALL_FAILED"
    assert f"but --receiver-package says {DEBUG_PACKAGE}" in error["message"]
    assert error["receiverPackage"] == DEBUG_PACKAGE
    named = await phone({"receiver_package": "com.example.operator"}, **EMPTY)
    error = await failure(named, save(tmp_path, apk(manifest("com.example.operator"))))
    assert (error["code"], error["install"]) == ("OPERATOR_VERIFY_FAILED", {"ok": True})  # it has no service


@pytest.mark.parametrize(
    ("version", "force", "installs"), [("0.12.5", False, True), ("0.13.0", False, False), ("0.13.0", True, True)]
)
async def test_a_version_that_is_not_supported_is_not_installed_unless_forced(
    phone: MakePhone, tmp_path: Path, version: str, force: bool, installs: bool
) -> None:
    there = await phone(**EMPTY)
    path = save(tmp_path, apk(manifest(version=version)))
    if installs:
        assert (await there.app.setup(path, force=force)).version_name == version
    else:
        error = await failure(there, path)
        assert (error["code"], version in error["message"]) == ("OPERATOR_INSTALL_FAILED", True)
        assert "--force" in error["hint"]
    assert (RELEASE_PACKAGE in there.world.packages) is installs


async def test_an_app_whose_tree_cannot_be_read_is_not_ready(phone: MakePhone, tmp_path: Path) -> None:
    """As a generation is, which this product does not understand."""
    there = await phone(**EMPTY, faults=[{"kind": "truncated_dump", "entries": 2}])
    error = await failure(there, save(tmp_path))
    assert (error["code"], error["install"], error["permissions"]["accessibility"]["ok"]) == (
        "OPERATOR_VERIFY_FAILED", {"ok": True}, True,
    )  # fmt: skip
    assert error["verification"]["packageInstalled"] is True


async def test_a_screen_that_is_off_says_nothing_of_the_app(phone: MakePhone, tmp_path: Path) -> None:
    there = await phone(**{**EMPTY, "device": {"awake": False}})
    report = await there.app.setup(save(tmp_path))
    assert "the screen cannot be read yet" in report.message


async def test_an_observer_installs_nothing(phone: MakePhone, tmp_path: Path) -> None:
    there = await phone({"read_only": True}, **EMPTY)
    assert (await failure(there, save(tmp_path)))["code"] == "READ_ONLY"
    assert RELEASE_PACKAGE not in there.world.packages


async def test_a_device_that_cannot_be_used(phone: MakePhone, tmp_path: Path) -> None:
    there = await phone({"device_id": "emulator-9999"}, **EMPTY)
    assert (await failure(there, save(tmp_path)))["code"] == "DEVICE_NOT_FOUND"
    assert [stage.name for stage in there.reported] == ["check", "check"]


# -- failing phases


async def test_a_refused_installation(phone: MakePhone, tmp_path: Path) -> None:
    there = await phone(**EMPTY, faults=[{"kind": "install_refused", "message": "signatures do not match"}])
    error = await failure(there, save(tmp_path))
    assert (error["code"], error["receiverPackage"]) == ("OPERATOR_INSTALL_FAILED", RELEASE_PACKAGE)
    said = "INSTALL_FAILED_UPDATE_INCOMPATIBLE: signatures do not match"
    assert error["install"] == {"ok": False, "error": said, "exitCode": 1}
    assert "another key" in error["message"]
    assert f"adb -s emulator-5554 uninstall {RELEASE_PACKAGE}" in error["hint"]
    assert "permissions" not in error
    assert (there.reported[-1].name, there.reported[-1].state) == ("install", "failed")


@pytest.mark.parametrize(
    ("content", "files", "words"),
    [
        (manifest(min_sdk=36), ("classes.dex",), "too old: it needs API level 36"),
        (manifest(), ("lib/arm64-v8a/libx.so",), "its native code (arm64-v8a) is for another CPU architecture"),
    ],
    ids=["sdk", "abi"],
)
async def test_an_apk_for_another_device(
    phone: MakePhone, tmp_path: Path, content: bytes, files: tuple[str, ...], words: str
) -> None:
    there = await phone(**EMPTY)
    error = await failure(there, save(tmp_path, apk(content, files=files)))
    assert error["code"] == "OPERATOR_INSTALL_FAILED"
    assert words in error["message"]


async def test_a_refused_grant_names_the_phases_before(phone: MakePhone, tmp_path: Path) -> None:
    there = await phone(**EMPTY, faults=[{"kind": "settings_refused"}])
    error = await failure(there, save(tmp_path))
    assert (error["code"], error["install"]) == ("OPERATOR_GRANT_FAILED", {"ok": True})
    assert error["permissions"]["accessibility"]["ok"] is False
    assert error["permissions"]["notificationListener"]["ok"] is True
    assert "verification" not in error


async def test_an_app_that_is_not_listed_afterwards(
    phone: MakePhone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def vanished(*_: Any, **__: Any) -> InstallResult:
        return InstallResult(ok=True, code="", message="")

    monkeypatch.setattr(AdbDevice, "install", vanished)
    there = await phone(operator={"package": DEBUG_PACKAGE, "enabled": False})
    error = await failure(there, save(tmp_path))
    assert error["code"] == "OPERATOR_VERIFY_FAILED"
    assert error["verification"] == {"ok": False, "packageInstalled": False, "error": error["message"]}
    assert f"{DEBUG_PACKAGE} is installed" in error["message"]
    assert there.secure.get("enabled_accessibility_services") is None


async def test_a_cancelled_installation_leaves_nothing(
    phone: MakePhone, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Android before 7 gets a copy of the file: it is gone, and nothing is installed."""
    there = await phone(**EMPTY, device={"sdk": 23})
    copying, original = asyncio.Event(), AdbDevice.push

    async def push(self: AdbDevice, *arguments: Any, **more: Any) -> int:
        size = await original(self, *arguments, **more)
        copying.set()
        await asyncio.Event().wait()
        return size

    monkeypatch.setattr(AdbDevice, "push", push)
    installing = asyncio.create_task(there.app.setup(save(tmp_path), on_progress=there.reported.append))
    await copying.wait()
    assert len(there.world.files.list("/data/local/tmp")) == 1
    installing.cancel()
    await asyncio.wait([installing])
    assert installing.cancelled()
    assert there.world.files.list("/data/local/tmp") == ()
    assert RELEASE_PACKAGE not in there.world.packages
    assert (there.reported[-1].name, there.reported[-1].state, there.reported[-1].message) == (
        "install",
        "failed",
        "cancelled",
    )


async def unasked(device: AdbDevice, report: SetupReport) -> SetupReport:
    raise AssertionError(f"{report.package} is not installed on {device.serial}")


async def test_an_installation_that_hangs_ends_at_its_limit(phone: MakePhone, tmp_path: Path) -> None:
    there = await phone(**EMPTY)
    device = await there.engine.device()

    async def resolve() -> AdbDevice:
        return device

    there.world.round_trips.latency_ms = 60_000.0
    with pytest.raises(EngineError) as caught:
        await setup.set_up(
            resolve,
            save(tmp_path),
            package="",
            sha256="",
            env={},
            on_progress=unreported,
            answers=unasked,
            seconds=0.05,
        )
    assert caught.value.code is ErrorCode.OPERATOR_INSTALL_FAILED
    assert "no answer within 0.05 s" in caught.value.message
