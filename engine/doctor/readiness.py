"""Checks of the Operator app: is it there, does it fit, may it work, does it answer."""

from __future__ import annotations

import shlex
import time
from collections.abc import Awaitable, Callable

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.parse import parse_packages
from clawperator.engine.contracts.envelope import Envelope
from clawperator.engine.doctor.check import ANSWER_SECONDS, Check, FixStep, manual, shell
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.observe.probe import variants
from clawperator.engine.operator.compatibility import check_compatibility
from clawperator.engine.operator.identity import SERVICE_CLASS
from clawperator.engine.suggestions import adb_line, command_line

Handshake = Callable[[], Awaitable[Envelope]]
"""Sends one ping through the Operator and gives its envelope; raises ``EngineError`` when there is none."""


async def apk_presence(device: AdbDevice, package: str) -> Check:
    check_id = "readiness.apk.presence"
    result = await device.shell(["pm", "list", "packages", package.removesuffix(".dev")], timeout=ANSWER_SECONDS)
    if result.exit_code != 0:
        return Check(
            check_id,
            "fail",
            "The package manager did not answer",
            ErrorCode.DEVICE_SHELL_UNAVAILABLE,
            result.error_text,
            evidence={"receiverPackage": package, "exitCode": result.exit_code},
        )
    installed = parse_packages(result.text)
    if package in installed:
        return Check(check_id, "pass", f"{package} is installed")
    other = variants(package)[1]
    if other in installed:
        return Check(
            check_id,
            "warn",
            f"{other} is installed instead of {package}",
            ErrorCode.RECEIVER_VARIANT_MISMATCH,
            "Release and debug builds of the Operator app have different package names.",
            "Choose the installed variant",
            manual(f"Pass --receiver-package {other}", f"Or install {package}"),
            evidence={"expected": package, "found": other},
        )
    return Check(
        check_id,
        "warn",
        f"{package} is not installed",
        ErrorCode.RECEIVER_NOT_INSTALLED,
        "Without the Operator app nothing can be executed on this device.",
        "Install the Operator app",
        manual(f"adb -s {shlex.quote(device.serial)} install -r <path of operator.apk>"),
        evidence={"receiverPackage": package},
    )


async def version_compatibility(device: AdbDevice, package: str) -> Check:
    check_id = "readiness.version.compatibility"
    found = await check_compatibility(device, package)
    evidence = {
        key: value for key, value in found.to_dict().items() if key not in ("compatible", "error", "remediation")
    }
    if found.error is None:
        return Check(check_id, "pass", f"Operator {found.apk_version} fits", evidence=evidence)
    return Check(
        check_id,
        "fail",
        found.error.message,
        found.error.code,
        fix_title="Make the versions fit",
        fix=manual(*found.remediation),
        evidence=evidence,
    )


async def developer_options(device: AdbDevice) -> Check:
    check_id = "readiness.settings.dev_options"
    if await _is_on(device, "development_settings_enabled"):
        return Check(check_id, "pass", "Developer options are on")
    return Check(
        check_id,
        "warn",
        "Developer options are off",
        ErrorCode.DEVICE_DEV_OPTIONS_DISABLED,
        "In the system settings, open “About phone” and tap the build number seven times.",
    )


async def usb_debugging(device: AdbDevice) -> Check:
    check_id = "readiness.settings.usb_debugging"
    if await _is_on(device, "adb_enabled"):
        return Check(check_id, "pass", "USB debugging is on")
    return Check(
        check_id,
        "warn",
        "USB debugging reads as off",
        ErrorCode.DEVICE_USB_DEBUGGING_DISABLED,
        "Enable it in the developer options.",
    )


async def _is_on(device: AdbDevice, name: str) -> bool:
    result = await device.shell(["settings", "get", "global", name], timeout=ANSWER_SECONDS)
    return result.text.strip() == "1"


async def handshake(ping: Handshake, device_id: str, package: str) -> Check:
    """One ping through the whole way: broadcast, app, log, envelope."""
    check_id = "readiness.handshake"
    began = time.monotonic()
    guidance_screen, guidance = (
        "Accessibility Settings",
        ("Find Clawperator under the installed services.", "Turn it on."),
    )
    grant = enabling(device_id, package)
    try:
        envelope = await ping()
    except EngineError as exc:
        flags = ("--receiver-package", package, "--timeout-ms", "5000", "--verbose")
        look = command_line("observe snapshot", device_id, *flags)
        steps = manual(exc.hint) if exc.hint else ()
        if exc.code is ErrorCode.RESULT_ENVELOPE_TIMEOUT:
            steps = (*grant, *shell(look))
        elif exc.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT:
            steps = manual("Wait until the running execution has ended, then run doctor again.")
        return Check(
            check_id,
            "fail",
            f"The Operator app did not answer: {exc.message}",
            exc.code,
            _dispatch_story(exc, device_id, package),
            "Wake the Operator app",
            steps,
            guidance_screen,
            guidance if exc.code is ErrorCode.RESULT_ENVELOPE_TIMEOUT else (),
        )
    if envelope.status != "success":
        return Check(
            check_id,
            "fail",
            "The Operator's accessibility service is not running",
            ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING,
            envelope.error or "",
            "Switch the accessibility service on",
            grant,
            guidance_screen,
            guidance,
        )
    elapsed = round((time.monotonic() - began) * 1000)
    data = dict(envelope.step_results[0].data) if envelope.step_results else {}
    return Check(
        check_id, "pass", f"The Operator app answered in {elapsed} ms", evidence={**data, "roundTripMs": elapsed}
    )


def enabling(device_id: str, package: str) -> tuple[FixStep, ...]:
    """Two commands that switch the service on. Left to a person: the list of enabled services is replaced by them."""
    put = ("shell", "settings", "put", "secure")
    return manual(
        adb_line(device_id, *put, "enabled_accessibility_services", f"{package}/{SERVICE_CLASS}"),
        adb_line(device_id, *put, "accessibility_enabled", "1"),
    )


def _dispatch_story(exc: EngineError, device_id: str, package: str) -> str:
    status = exc.extra.get("broadcastDispatchStatus", "not_sent")
    more = " It did log something: --verbose shows it." if exc.extra.get("lastCorrelatedEvents") else ""
    return f"Broadcast: {status}; receiver {package}; device {device_id}.{more}"
