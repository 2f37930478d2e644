"""The decision list of device discovery: first hit wins, and a bad neighbour does not stop a usable device."""

from __future__ import annotations

import pytest

from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.doctor.check import Check
from clawperator.engine.doctor.device import discovery
from clawperator.engine.doctor.run import next_actions, report
from clawperator.engine.errors import ErrorCode
from tests.support import table

GOOD = DeviceEntry("emulator-5554", "device")
OTHER = DeviceEntry("R5CT", "device")


@table(
    ("devices", "wanted", "code"),
    [
        ((), "", ErrorCode.NO_DEVICES),
        ((DeviceEntry("A", "unauthorized"),), "", ErrorCode.DEVICE_UNAUTHORIZED),
        ((GOOD, DeviceEntry("A", "unauthorized")), "A", ErrorCode.DEVICE_UNAUTHORIZED),
        ((DeviceEntry("A", "offline"),), "", ErrorCode.DEVICE_OFFLINE),
        (
            (DeviceEntry("A", "no permissions", detail="user in plugdev group; are your udev rules wrong?"),),
            "",
            ErrorCode.ADB_NO_USB_PERMISSIONS,
        ),
        ((DeviceEntry("A", "authorizing"),), "", ErrorCode.DEVICE_UNAUTHORIZED),
        ((DeviceEntry("A", "offline"), DeviceEntry("B", "unauthorized")), "", ErrorCode.DEVICE_UNAUTHORIZED),
        ((DeviceEntry("A", "no permissions"), DeviceEntry("B", "offline")), "", ErrorCode.DEVICE_OFFLINE),
        ((DeviceEntry("A", "no permissions"), DeviceEntry("B", "recovery")), "", ErrorCode.ADB_NO_USB_PERMISSIONS),
        ((DeviceEntry("A", "offline"), DeviceEntry("B", "unauthorized")), "A", ErrorCode.DEVICE_OFFLINE),
        ((GOOD, DeviceEntry("A", "no permissions")), "A", ErrorCode.ADB_NO_USB_PERMISSIONS),
        ((GOOD, OTHER), "", ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED),
        ((GOOD, OTHER, DeviceEntry("A", "offline")), "", ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED),
        (
            (DeviceEntry("A", "recovery"), DeviceEntry("B", "bootloader")),
            "",
            ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED,
        ),
        ((GOOD,), "B", ErrorCode.DEVICE_NOT_FOUND),
        ((DeviceEntry("A", "recovery"),), "A", ErrorCode.DEVICE_NOT_FOUND),
        ((DeviceEntry("A", "bootloader"),), "", ErrorCode.DEVICE_NOT_FOUND),
    ],
)
def test_what_stops_the_run(devices: tuple[DeviceEntry, ...], wanted: str, code: ErrorCode) -> None:
    check, serial = discovery(devices, wanted)
    assert (check.status, check.code, serial) == ("fail", code, "")
    assert check.stops


@pytest.mark.parametrize(
    ("devices", "wanted"),
    [
        ((GOOD,), ""),
        ((GOOD, OTHER), "emulator-5554"),
        ((GOOD, DeviceEntry("A", "unauthorized")), ""),
        ((DeviceEntry("A", "offline"), GOOD), "emulator-5554"),
    ],
)
def test_what_goes_on(devices: tuple[DeviceEntry, ...], wanted: str) -> None:
    check, serial = discovery(devices, wanted)
    assert (check.status, serial) == ("pass", "emulator-5554")
    assert check.to_dict()["evidence"] == {"serial": "emulator-5554"}


@table("state", ["sideload", "rescue", "bootloader", "host", "detached", "connecting", "unknown", "never heard of"])
def test_a_device_in_a_state_without_a_rule_is_not_found(state: str) -> None:
    check, serial = discovery((DeviceEntry("A", state),), "A")
    assert (check.status, check.code, serial) == ("fail", ErrorCode.DEVICE_NOT_FOUND, "")
    assert check.evidence == {"targetState": state}


@pytest.mark.parametrize(
    ("devices", "wanted", "step"),
    [
        ((DeviceEntry("A", "recovery"),), "", "adb -s A reboot"),
        ((DeviceEntry("A", "sideload"), GOOD), "A", "adb -s A reboot"),
        ((DeviceEntry("A", "bootloader"),), "A", "Start Android on the device and reconnect it."),
        ((GOOD, OTHER), "A", "Connect it, or pass --device-id emulator-5554 or R5CT."),
        ((DeviceEntry("B", "recovery"),), "A", "Connect it."),
    ],
)
def test_a_device_that_is_not_found_has_a_next_action(devices: tuple[DeviceEntry, ...], wanted: str, step: str) -> None:
    check, _ = discovery(devices, wanted)
    assert next_actions([check], "") == [step]


def test_several_devices_are_named_with_what_keeps_the_bad_ones() -> None:
    check, _ = discovery((GOOD, OTHER, DeviceEntry("A", "offline")), "")
    assert check.evidence == {"devices": ["emulator-5554", "R5CT", "A"]}
    assert check.detail == "emulator-5554, R5CT, A (offline)"


def test_an_unusable_neighbour_is_mentioned() -> None:
    check, _ = discovery((GOOD, DeviceEntry("A", "unauthorized")), "")
    assert check.detail == "A is unauthorized"


def test_report_names_what_to_do_once() -> None:
    offline, _ = discovery((DeviceEntry("A", "offline"),), "")
    answer = report([offline, offline], device_id="", package="p")
    assert answer["ok"] is answer["criticalOk"] is False
    assert answer["nextActions"] == ["adb kill-server", "adb start-server"]
    assert "deviceId" not in answer
    assert answer["receiverPackage"] == answer["operatorPackage"] == "p"


def test_all_green_points_to_the_next_command() -> None:
    good = Check("readiness.handshake", "pass", "fine")
    assert next_actions([good], "emulator-5554")[-1].endswith("--device-id emulator-5554")
    assert report([good], device_id="emulator-5554", package="p")["ok"] is True


def test_what_is_not_ready_is_not_ok() -> None:
    check = Check("readiness.apk.presence", "fail", "no answer", ErrorCode.DEVICE_SHELL_UNAVAILABLE)
    assert not check.stops
    found = report([check], device_id="d", package="p")
    assert (found["ok"], found["criticalOk"], found["verdict"]) == (False, True, "not_ready")


def test_on_device_steps_name_the_screen() -> None:
    check, _ = discovery((DeviceEntry("A", "unauthorized"),), "")
    assert next_actions([check], "") == ["On device, open Device Dialog and follow the listed steps."]
