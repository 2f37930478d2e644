"""Checks of the connection to the device and of the device itself (doctor.md#checks). Pure."""

from __future__ import annotations

from collections.abc import Sequence

from clawperator.engine.adb.batch import BatchOutput
from clawperator.engine.adb.parse import parse_sdk, parse_wm_density, parse_wm_size
from clawperator.engine.adb.phones import shared_serial_error
from clawperator.engine.adb.presence import DeviceEntry, DeviceState
from clawperator.engine.doctor.check import Check, FixStep, manual, shell
from clawperator.engine.doctor.fix_commands import SERVER_COMMANDS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.text.suggestions import adb_line

_ID = "device.discovery"
_CONNECT = "Connect a device with USB debugging enabled (on Samsung phones, Auto Blocker off), or start an emulator."
_FIRST = (ErrorCode.DEVICE_UNAUTHORIZED, ErrorCode.DEVICE_OFFLINE, ErrorCode.ADB_NO_USB_PERMISSIONS)
"""Of several unusable devices, the order in which one is reported."""


def discovery(devices: tuple[DeviceEntry, ...], wanted: str) -> tuple[Check, str]:
    """Choose the device by doctor.md#checks and return its serial, empty if the check failed.

    An unusable device fails the check only if it is the requested one or no device is usable.
    """
    if not devices:
        code, fix = ErrorCode.NO_DEVICES, manual(_CONNECT)
        return Check(_ID, "fail", "No device is connected", code, fix_title="Connect a device", fix=fix), ""
    usable = [entry.serial for entry in devices if entry.usable]
    if (shared := shared_serial_error(wanted, devices)) is not None:
        return _shared(shared), ""
    concerned = [entry for entry in devices if entry.is_named(wanted)] if wanted else ([] if usable else list(devices))
    wanted = concerned[0].serial if wanted and concerned else wanted
    problems = [problem for entry in concerned if (problem := state_problem(entry)) is not None]
    if problems:
        return min(problems, key=lambda problem: _FIRST.index(problem.code)), ""
    phones = [entry.serial for entry in devices if entry.preferred and (entry.usable or not usable)]
    if not wanted and len(phones) > 1:
        shared_by = {entry.shared_serial for entry in devices if entry.usable}
        error = shared_serial_error(shared_by.pop(), devices) if len(shared_by) == 1 else None
        return (_ambiguous(devices) if error is None else _shared(error)), ""
    serial = wanted or phones[0]
    if serial not in usable:
        state = next((entry.state for entry in devices if entry.serial == serial), "absent")
        summary = f"{serial} is not connected" if state == "absent" else f"{serial} is in the state {state}"
        fix, evidence = _reachable(serial, state, usable), {"targetState": state}
        title = "Make the device available"
        return Check(_ID, "fail", summary, ErrorCode.DEVICE_NOT_FOUND, "", title, fix, evidence=evidence), ""
    others = [f"{entry.serial} is {entry.state}" for entry in devices if not entry.usable]
    also = next((entry.other_transports for entry in devices if entry.serial == serial), ())
    others += [f"it is also connected as {', '.join(also)}"] if also else []
    known: dict[str, object] = {"serial": serial, **({"otherTransports": list(also)} if also else {})}
    return Check(_ID, "pass", f"Device {serial}", detail="; ".join(others), evidence=known), serial


def _reachable(serial: str, state: str, usable: Sequence[str]) -> tuple[FixStep, ...]:
    """Return what makes the chosen device usable."""
    if state in (DeviceState.RECOVERY, DeviceState.SIDELOAD, DeviceState.RESCUE):
        return manual(adb_line(serial, "reboot"))
    if state == "absent":
        return manual("Connect it." if not usable else f"Connect it, or pass --device-id {' or '.join(usable)}.")
    return manual("Start Android on the device and reconnect it.")


def _ambiguous(devices: tuple[DeviceEntry, ...]) -> Check:
    serials = [entry.serial for entry in devices]
    named = (entry.serial if entry.usable else f"{entry.serial} ({entry.state})" for entry in devices)
    return Check(
        _ID,
        "fail",
        f"{len(serials)} devices are connected",
        ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED,
        ", ".join(named),
        "Choose one",
        manual("Pass --device-id with one of the serials."),
        evidence={"devices": serials},
    )


def _shared(error: EngineError) -> Check:
    """Return the finding about several devices with one serial."""
    names = error.details["devices"]
    fixes = (f"Pass --device-id {' or '.join(names)}.", "Or unplug all but one of them.")
    detail = "adb cannot choose between them by their serial."
    return Check(_ID, "fail", error.message, error.code, detail, "Choose one", manual(*fixes), evidence=error.details)


def state_problem(entry: DeviceEntry) -> Check | None:
    """Return what to do about a device that adb lists but cannot use."""
    match entry.state:
        case DeviceState.UNAUTHORIZED | DeviceState.AUTHORIZING:
            return Check(
                _ID,
                "fail",
                f"{entry.serial} has not authorized this computer yet",
                ErrorCode.DEVICE_UNAUTHORIZED,
                guidance_screen="Device Dialog",
                guidance=(
                    "Unlock the device.",
                    "Confirm “Allow USB debugging?”.",
                    "Tick “Always allow” to skip this question next time.",
                ),
            )
        case DeviceState.OFFLINE:
            return Check(
                _ID,
                "fail",
                f"{entry.serial} is offline",
                ErrorCode.DEVICE_OFFLINE,
                "It may still be booting, or the connection is stale.",
                "Restart the adb server",
                shell(*SERVER_COMMANDS),
            )
        case DeviceState.NO_PERMISSIONS:
            return Check(
                _ID,
                "fail",
                f"This user has no permission to open {entry.serial}",
                ErrorCode.ADB_NO_USB_PERMISSIONS,
                entry.detail,
                "Allow access to the USB device",
                manual("Add a udev rule for the vendor, or join the group plugdev.", "Replug the device."),
            )
    return None


def capability(answers: Sequence[BatchOutput] | EngineError, booted: BatchOutput | None = None) -> Check:
    """Check the shell: ``getprop ro.build.version.sdk``, ``wm size`` and ``wm density``, or why they failed.

    ``booted`` is ``getprop sys.boot_completed``.
    """
    check_id, code = "device.capability", ErrorCode.DEVICE_SHELL_UNAVAILABLE
    if booted is not None and booted.ok and booted.text.strip() != "1":
        detail = "sys.boot_completed is not 1. Until then, most of Android does not answer."
        wait = manual("Wait until the device shows its lock screen or home screen, then check again.")
        starts = ErrorCode.DEVICE_BOOTING
        return Check(check_id, "fail", "Android is still starting", starts, detail, "Wait for Android", wait)
    summary = "The device's shell is unavailable"
    if isinstance(answers, EngineError):
        return Check(check_id, "fail", summary, code, answers.message)
    for answer in answers:
        if not answer.ok:
            return Check(check_id, "fail", summary, code, answer.text.strip())
    sdk, size, density = (answer.text.strip() for answer in answers)
    if not parse_sdk(sdk):
        return Check(
            check_id, "fail", "The device did not report its Android version", code, f"It reported {sdk[:80]!r}"
        )
    evidence = {"sdk": sdk, "wmSize": size, "wmDensity": density}
    pixels, dots = parse_wm_size(size), parse_wm_density(density)
    screen = f"{pixels.width}x{pixels.height}, {dots} dpi" if pixels.width and dots else size
    return Check(check_id, "pass", f"Android API {sdk}, {screen}", evidence=evidence)
