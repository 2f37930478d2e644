"""The three grants on a device: what is missing is written, what others have stays, and failures say which grant it was."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from clawperator.engine.adb.android_user import settings
from clawperator.engine.adb.batch import BatchOutput
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.contracts.operator_identity import DEBUG_PACKAGE, RELEASE_PACKAGE, listener_of, service_of
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.operator import grants
from tests.engine.operator.conftest import MakePhone, Phone

OURS, LISTENER = service_of(RELEASE_PACKAGE), listener_of(RELEASE_PACKAGE)
FRESH: dict[str, Any] = {"operator": {"enabled": False}}
THEIRS = "com.other/.Service"


async def failure(phone: Phone, **flags: Any) -> EngineError:
    with pytest.raises(EngineError) as caught:
        await phone.app.grant(**flags)
    return caught.value


async def test_everything_missing_is_granted_and_the_second_time_nothing_is_written(phone: MakePhone) -> None:
    there = await phone(**FRESH)
    first = (await there.app.grant(on_progress=there.reported.append)).to_dict()
    assert first["accessibility"] == first["notificationListener"] == {"ok": True, "alreadyEnabled": False}
    assert first["notification"] == {"ok": True, "skipped": False}
    assert (there.secure["enabled_accessibility_services"], there.secure["accessibility_enabled"]) == (OURS, "1")
    assert there.secure["enabled_notification_listeners"] == LISTENER
    assert "android.permission.POST_NOTIFICATIONS" in there.world.packages[RELEASE_PACKAGE].permissions
    assert there.world.accessibility.bound(OURS)
    assert [(stage.name, stage.state) for stage in there.reported] == [
        ("permissions", "running"),
        ("permissions", "done"),
        ("handshake", "running"),
        ("handshake", "done"),
    ]
    before = dict(there.secure)
    second = await there.app.grant()
    assert second.permissions.already_enabled
    assert "already" in second.message
    assert there.secure == before


@pytest.mark.parametrize(
    "theirs", [THEIRS, f":{THEIRS}::", " ", f"{THEIRS}\n", f"{OURS}Two", "null:x/y", "a'b/$(reboot)"]
)
async def test_what_others_have_stays_byte_for_byte(phone: MakePhone, theirs: str) -> None:
    there = await phone(**FRESH)
    there.secure["enabled_accessibility_services"] = there.secure["enabled_notification_listeners"] = theirs
    await there.app.grant()
    assert there.secure["enabled_accessibility_services"] == f"{theirs}:{OURS}"
    assert there.secure["enabled_notification_listeners"] == f"{theirs}:{LISTENER}"


async def test_a_listed_service_behind_a_switch_that_is_off(phone: MakePhone) -> None:
    there = await phone()
    there.secure["accessibility_enabled"] = "0"
    listed = there.secure["enabled_accessibility_services"] = f"{THEIRS}:{OURS}:"
    report = await there.app.grant()
    assert not report.permissions.accessibility.already_enabled
    assert (there.secure["enabled_accessibility_services"], there.secure["accessibility_enabled"]) == (listed, "1")


@pytest.mark.parametrize("force", [False, True])
async def test_a_crashed_service_is_revived_and_answers(phone: MakePhone, force: bool) -> None:
    there = await phone(faults=[{"kind": "service_down", "how": "crashed"}])
    listed = there.secure["enabled_accessibility_services"] = f"{THEIRS}:{OURS}:x/y"
    report = await there.app.grant(force=force)
    assert there.world.accessibility.bound(OURS)
    assert there.secure["enabled_accessibility_services"] == listed
    answer = report.to_dict()
    assert answer["accessibility"] == {"ok": True, "alreadyEnabled": False}
    assert (answer["repaired"], answer["handshake"]["ok"]) == (not force, True)
    assert there.world.commands == 1, "the app was asked"


async def test_no_success_is_claimed_before_the_app_has_answered(
    phone: MakePhone, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is waited for: the service does not start while another program holds UiAutomation."""
    monkeypatch.setattr("clawperator.engine.operator.verification.START_SECONDS", 3_600.0)
    there = await phone(operator={"enabled": False}, faults=[{"kind": "ui_automation_held"}])
    error = await failure(there)
    assert error.hint == "Stop the program that holds UiAutomation: `clawperator doctor` names it."
    assert error.code is ErrorCode.GRANT_DEVICE_PERMISSIONS_FAILED
    assert "UiAutomation is held by another program" in error.message
    assert error.extra["accessibility"]["ok"] is True
    assert there.world.commands == 0


async def test_an_app_that_does_not_answer(phone: MakePhone, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("clawperator.engine.doctor.readiness.PING_SPARE_SECONDS", 0.0)
    there = await phone(faults=[{"kind": "silence"}])
    error = await failure(there)
    assert error.code is ErrorCode.GRANT_DEVICE_PERMISSIONS_FAILED
    assert error.details["reason"] == "RESULT_ENVELOPE_TIMEOUT"
    assert error.hint.startswith("clawperator observe snapshot")
    assert "grant-device-permissions" not in error.hint


async def test_force_keeps_what_others_write_meanwhile(phone: MakePhone, monkeypatch: pytest.MonkeyPatch) -> None:
    there = await phone()

    async def meanwhile() -> None:
        there.secure["enabled_accessibility_services"] = THEIRS

    monkeypatch.setattr(grants, "_let_go", meanwhile)
    await there.app.grant(force=True)
    assert there.secure["enabled_accessibility_services"] == f"{THEIRS}:{OURS}"


async def test_a_cancelled_force_puts_the_list_back(phone: MakePhone, monkeypatch: pytest.MonkeyPatch) -> None:
    there = await phone()
    listed = there.secure["enabled_accessibility_services"] = f"{THEIRS}:{OURS}"
    off = asyncio.Event()

    async def forever() -> None:
        off.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(grants, "_let_go", forever)
    granting_it = asyncio.create_task(there.app.grant(force=True))
    await off.wait()
    assert there.secure["enabled_accessibility_services"] == THEIRS
    granting_it.cancel()
    await asyncio.wait([granting_it])
    assert granting_it.cancelled()
    assert there.secure["enabled_accessibility_services"] == listed


async def test_all_grants_are_tried_and_the_first_failing_one_is_the_message(phone: MakePhone) -> None:
    there = await phone(**FRESH, faults=[{"kind": "settings_refused"}])
    error = await failure(there)
    assert error.code is ErrorCode.GRANT_DEVICE_PERMISSIONS_FAILED
    assert "WRITE_SECURE_SETTINGS" in error.message
    document = error.to_dict()
    assert document["receiverPackage"] == RELEASE_PACKAGE
    assert document["accessibility"]["ok"] is False
    assert "WRITE_SECURE_SETTINGS" in document["accessibility"]["error"]
    assert document["notification"] == {"ok": True, "skipped": False}
    assert document["notificationListener"] == {"ok": True, "alreadyEnabled": False}
    assert there.secure["enabled_notification_listeners"] == LISTENER


async def test_an_android_without_the_right_to_notify(phone: MakePhone) -> None:
    report = await (await phone(**FRESH, device={"sdk": 30})).app.grant()
    notification = report.to_dict()["notification"]
    assert (notification["ok"], notification["skipped"]) == (True, True)
    assert "Unknown permission" in notification["error"]


async def test_which_app_is_meant(phone: MakePhone) -> None:
    debug = await phone(operator={"package": DEBUG_PACKAGE, "enabled": False})
    assert (await debug.app.grant()).package == DEBUG_PACKAGE
    debug.world.add_operator(RELEASE_PACKAGE)
    error = await failure(debug)
    assert error.code is ErrorCode.OPERATOR_VERIFY_FAILED
    assert f"--receiver-package {DEBUG_PACKAGE}" in error.hint
    chosen = debug.engine.operator_app(receiver_package=RELEASE_PACKAGE)
    assert (await chosen.grant()).package == RELEASE_PACKAGE
    empty = await phone(operator={"installed": False})
    assert (await failure(empty)).code is ErrorCode.RECEIVER_NOT_INSTALLED


async def test_a_chosen_app_that_is_not_there_is_not_listed(phone: MakePhone) -> None:
    there = await phone({"receiver_package": DEBUG_PACKAGE}, **FRESH)
    error = await failure(there)
    assert error.code is ErrorCode.RECEIVER_NOT_INSTALLED
    assert RELEASE_PACKAGE in error.hint
    assert there.secure.get("enabled_accessibility_services") is None


async def test_an_observer_grants_nothing(phone: MakePhone) -> None:
    there = await phone({"read_only": True}, **FRESH)
    assert (await failure(there)).code is ErrorCode.READ_ONLY
    assert there.secure.get("enabled_accessibility_services") is None


def test_the_preview_shows_every_command() -> None:
    lines = grants.command_lines("emulator-5554", RELEASE_PACKAGE)
    assert lines[0] == "adb -s emulator-5554 shell settings get --user current secure enabled_accessibility_services"
    assert lines[2].endswith(f"settings put --user current secure enabled_accessibility_services <current>:{OURS}")
    assert lines[3].endswith(f"pm grant --user current {RELEASE_PACKAGE} android.permission.POST_NOTIFICATIONS")
    assert len(lines) == 6


# -- answers that are none


class Scripted:
    """A device whose three lists answer as given, and which notes what is written."""

    serial = "s"

    def __init__(self, services: BatchOutput, *, kept: bytes = b"") -> None:
        self.services = services
        self.kept = kept
        self.written: list[Any] = []

    async def ask(self, device: object, commands: Any, **_: Any) -> list[BatchOutput]:
        del device
        answers = []
        for argv in commands:
            if argv[1] != "get":
                self.written.append(argv)
            reading_back = any(line[5:6] == argv[5:6] for line in self.written)
            if argv[1] == "get" and argv[5] == "enabled_accessibility_services":
                answers.append(BatchOutput(self.kept, 0) if reading_back else self.services)
            elif argv[1] == "get":
                answers.append(BatchOutput(f"{LISTENER}\n".encode() if "listeners" in argv[5] else b"1\n", 0))
            else:
                answers.append(BatchOutput(b"", 0))
        return answers


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (BatchOutput(b"", 1), "exit code 1"),
        (BatchOutput(b"cmd: Can't find service: settings\n", 0), "Can't find service"),
        (BatchOutput(b"java.lang.SecurityException: no\n", 0), "SecurityException"),
        (BatchOutput(b"com.other/.\xff\xfe\n", 0), "not UTF-8 text"),
        (BatchOutput(b"com.other/.A" + b"a" * 140_000, 0), "exceeds"),
        (BatchOutput(b"com.other/.A\0\n", 0), "NUL"),
    ],
)
async def test_a_list_that_cannot_be_written_back_is_not_touched(
    monkeypatch: pytest.MonkeyPatch, answer: BatchOutput, words: str
) -> None:
    scripted = Scripted(answer)
    monkeypatch.setattr(grants, "run_commands", scripted.ask)
    found = await grants.grant(scripted, RELEASE_PACKAGE)  # type: ignore[arg-type]  # it is not asked itself
    assert words in found.accessibility.error
    assert (found.notification.ok, found.notification_listener.already_enabled) == (True, True)
    (granted,) = scripted.written
    assert isinstance(granted, str)
    assert "pm grant " in granted


async def test_a_device_that_does_not_keep_what_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    scripted = Scripted(BatchOutput(b"null\n", 0), kept=b"null\n")
    monkeypatch.setattr(grants, "run_commands", scripted.ask)
    found = await grants.grant(scripted, RELEASE_PACKAGE)  # type: ignore[arg-type]  # it is not asked itself
    assert "did not keep" in found.accessibility.error
    assert settings("put", "secure", "enabled_accessibility_services", OURS) in scripted.written


async def test_a_device_that_goes_away_while_writing(phone: MakePhone, monkeypatch: pytest.MonkeyPatch) -> None:
    there = await phone(**FRESH)
    original = AdbDevice.script

    async def script(self: AdbDevice, text: str, **more: Any) -> Any:
        if "settings put" in text:
            there.world.disconnect()
        return await original(self, text, **more)

    monkeypatch.setattr(AdbDevice, "script", script)
    error = await failure(there)
    assert error.code is ErrorCode.GRANT_DEVICE_PERMISSIONS_FAILED
    assert "was disconnected" in error.message
    assert not any(error.extra[name]["ok"] for name in ("accessibility", "notification", "notificationListener"))
