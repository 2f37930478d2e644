"""One resolution for every command, and a hint that fits what is in the way."""

from __future__ import annotations

import pytest

from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.facade import choose_device
from tests.support import table

GOOD, OTHER = DeviceEntry("A", "device"), DeviceEntry("B", "device")


def test_the_only_usable_one_or_the_one_asked_for() -> None:
    assert choose_device((GOOD, DeviceEntry("X", "offline")), "") == GOOD
    assert choose_device((GOOD, OTHER), "B") == OTHER


@table(
    ("devices", "wanted", "code", "hint"),
    [
        ((), "", ErrorCode.NO_DEVICES, ErrorCode.NO_DEVICES),
        ((DeviceEntry("A", "unauthorized"),), "", ErrorCode.DEVICE_UNAUTHORIZED, ErrorCode.DEVICE_UNAUTHORIZED),
        ((GOOD, DeviceEntry("B", "offline")), "B", ErrorCode.DEVICE_OFFLINE, ErrorCode.DEVICE_OFFLINE),
        (
            (GOOD, DeviceEntry("B", "no permissions")),
            "B",
            ErrorCode.ADB_NO_USB_PERMISSIONS,
            ErrorCode.ADB_NO_USB_PERMISSIONS,
        ),
        ((GOOD,), "B", ErrorCode.DEVICE_NOT_FOUND, ErrorCode.DEVICE_NOT_FOUND),
        (
            (GOOD, OTHER),
            "",
            ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED,
            ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED,
        ),
    ],
)
def test_refusals(devices: tuple[DeviceEntry, ...], wanted: str, code: ErrorCode, hint: ErrorCode) -> None:
    with pytest.raises(EngineError) as caught:
        choose_device(devices, wanted)
    assert (caught.value.code, caught.value.hint) == (code, hint.hint)


def test_a_device_with_another_number_is_not_suggested() -> None:
    listed = (DeviceEntry("emulator-5554", "device"), DeviceEntry("192.168.1.7:5555", "device"))
    for wanted, hint in (
        ("emulator-5556", ErrorCode.DEVICE_NOT_FOUND.hint),
        ("emulater-5554", "Did you mean 'emulator-5554'?"),
    ):
        with pytest.raises(EngineError) as caught:
            choose_device(listed, wanted)
        assert caught.value.hint == hint


@pytest.mark.parametrize(
    ("devices", "wanted", "code"),
    [
        ((DeviceEntry("A", "recovery"),), "", ErrorCode.NO_DEVICES),
        ((GOOD, DeviceEntry("B", "sideload")), "B", ErrorCode.DEVICE_NOT_FOUND),
    ],
)
def test_a_device_without_android_is_named(devices: tuple[DeviceEntry, ...], wanted: str, code: ErrorCode) -> None:
    with pytest.raises(EngineError) as caught:
        choose_device(devices, wanted)
    bad = devices[-1]
    assert caught.value.code is code
    assert caught.value.hint == f"{bad.serial} is in the state {bad.state}: start Android on it and reconnect it."
