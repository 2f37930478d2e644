"""Checks of the Operator app: installed, compatible, permitted, responding (doctor.md#checks, doctor.md#versions)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

from clawperator.engine.adb.batch import BatchOutput
from clawperator.engine.adb.parse import package_manager_failure, parse_packages, refusal_hint
from clawperator.engine.contracts.envelope import Envelope
from clawperator.engine.contracts.generation import lacking_words
from clawperator.engine.contracts.limits import DOCTOR_SOURCE
from clawperator.engine.contracts.operator_identity import variants
from clawperator.engine.doctor.check import Check, FixStep, manual, shell, unreadable
from clawperator.engine.doctor.fix_commands import grant_command, look_command
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.compatibility import absence, judge, newer_words
from clawperator.engine.text.suggestions import command_line

_UNREADY = (
    (
        "user_unlocked",
        "false",
        "the device has not been unlocked since it started",
        "Unlock it: most apps do not run before.",
    ),
    ("screen_on", "false", "the screen is off", "Apps cannot be read or operated while the screen is off."),
    ("device_locked", "true", "the device is locked", "Apps cannot be read or operated while the device is locked."),
)
"""What a ping of Operator 0.7 and later can say (wire.md#semantics-on-the-device): key, value, the sentence, what follows."""

Send = Callable[[str, Command], Awaitable[Envelope]]
"""Sends a command to a serial under the device lock and returns its envelope; raises ``EngineError``."""

PING_SPARE_SECONDS = 2.0
"""How much longer than the command's own timeout the host waits for its envelope (doctor.md#checks)."""
SMOKE_MS = 10_000
_SETTINGS_APP = "com.android.settings"
SETTINGS_SCREEN = "Accessibility Settings"
SETTINGS_STEPS = ("Find Clawperator under the installed services.", "Turn it on.")


def apk_presence(package: str, listed: BatchOutput, dump: BatchOutput, device_id: str) -> Check:
    """Check that ``package`` is installed for the Android user in the foreground.

    ``listed`` is the output of ``pm list packages`` for the release id, ``dump`` that of ``dumpsys package PACKAGE``.
    """
    check_id = "readiness.apk.presence"
    if not listed.ok:
        hint = refusal_hint(listed.text)
        return Check(
            check_id,
            "fail",
            package_manager_failure(listed.text, listed.exit_code),
            ErrorCode.DEVICE_SHELL_UNAVAILABLE,
            "" if hint else listed.text.strip(),
            "Correct the device's setting" if hint else "",
            manual(hint) if hint else (),
            evidence={"receiverPackage": package, "exitCode": listed.exit_code},
        )
    installed = parse_packages(listed.text)
    if package in installed:
        return Check(check_id, "pass", f"{package} is installed")
    other = next((name for name in variants(package)[1:] if name in installed), None)
    if other is not None:
        return Check(
            check_id,
            "warn",
            f"{other} is installed instead of {package}",
            ErrorCode.RECEIVER_VARIANT_MISMATCH,
            "Release and debug builds of the Operator app, and the renamed app from 1.0, have different package names.",
            "Choose the installed variant",
            manual(f"Pass --receiver-package {other}.", f"Or install {package}."),
            evidence={"expected": package, "found": other},
        )
    return Check(
        check_id,
        "warn",
        absence(package, dump.text),
        ErrorCode.RECEIVER_NOT_INSTALLED,
        "Executions on this device require the Operator app.",
        "Install the Operator app",
        manual(
            command_line("operator setup --apk <path>", device_id),
            f"Or use the stock backend, which needs no app: {command_line('observe snapshot', device_id, '--backend', 'stock')}",
        ),
        evidence={"receiverPackage": package},
    )


def version_compatibility(
    package: str, listed: BatchOutput, dump: BatchOutput, *, strict: bool = False, accepted: Sequence[str] = ()
) -> Check:
    """Check that the installed version is supported, as ``executions/compatibility.py`` defines it.

    A version that is newer than all supported ones is a warning: executions use it.
    """
    check_id = "readiness.version.compatibility"
    found = judge(package, listed, dump, strict=strict, accepted=accepted)
    evidence = {
        key: value for key, value in found.to_dict().items() if key not in ("compatible", "error", "remediation")
    }
    if found.error is None:
        lacking = lacking_words(found.apk_version)
        detail = f"This generation does not support: {lacking}." if lacking else ""
        return Check(check_id, "pass", f"Operator {found.apk_version} is supported", detail=detail, evidence=evidence)
    newer = "" if strict else newer_words(found.apk_version, package)
    return Check(
        check_id,
        "warn" if newer else "fail",
        newer or found.error.message,
        found.error.code,
        "It is used. Its changes are not known to clawperator." if newer else "",
        fix_title="Install a supported version",
        fix=manual(*found.remediation),
        evidence=evidence,
    )


def value_of(answer: BatchOutput) -> str:
    """Return the value that ``settings get`` printed: the last line, because some devices print warnings before it."""
    lines = answer.text.strip().splitlines()
    return lines[-1].strip() if lines else ""


_SWITCHES = {
    "dev_options": (
        "Developer options are",
        ErrorCode.DEVICE_DEV_OPTIONS_DISABLED,
        "In the system settings, open “About phone” and tap the build number seven times.",
    ),
    "usb_debugging": (
        "USB debugging is",
        ErrorCode.DEVICE_USB_DEBUGGING_DISABLED,
        "Enable it in the developer options.",
    ),
}


def switched_on(name: str, answer: BatchOutput) -> Check:
    """Check that the system setting ``name`` of ``_SWITCHES`` is on."""
    check_id, (subject, code, advice) = f"readiness.settings.{name}", _SWITCHES[name]
    if not answer.ok:
        return unreadable(check_id, subject.rpartition(" ")[0], answer.text)
    if value_of(answer) == "1":
        return Check(check_id, "pass", f"{subject} on")
    return Check(check_id, "warn", f"{subject} off", code, advice, evidence={"value": value_of(answer)[:80]})


def granting(device_id: str, package: str, *, force: bool = False) -> tuple[FixStep, ...]:
    return shell(grant_command(device_id, package, force=force))


async def handshake(send: Send, device_id: str, package: str) -> Check:
    """Send a ping and wait for its envelope."""
    check_id = "readiness.handshake"
    began = time.monotonic()
    try:
        envelope = await send(device_id, Command.internal(build.doctor_ping(), spare_seconds=PING_SPARE_SECONDS))
    except EngineError as exc:
        if exc.code is ErrorCode.SERVICE_UNAVAILABLE:
            return _not_running(exc.message, device_id, package)
        return _unanswered(exc, device_id, package)
    if envelope.status != "success":
        return _not_running(envelope.error or "", device_id, package)
    elapsed = round((time.monotonic() - began) * 1000)
    data = dict(envelope.step_results[0].data) if envelope.step_results else {}
    evidence = {**data, "roundTripMs": elapsed}
    for name, value, trouble, advice in _UNREADY:
        if data.get(name) == value:
            steps = manual(command_line("device wake", device_id)) if name == "screen_on" else ()
            detail = advice
            fix = "Wake the device" if steps else ""
            summary = f"The Operator app answered in {elapsed} ms, but {trouble}"
            return Check(check_id, "pass", summary, detail=detail, fix_title=fix, fix=steps, evidence=evidence)
    return Check(check_id, "pass", f"The Operator app answered in {elapsed} ms", evidence=evidence)


def _not_running(reason: str, device_id: str, package: str) -> Check:
    return Check(
        "readiness.handshake",
        "fail",
        "The Operator's accessibility service is not running",
        ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING,
        reason,
        "Switch on the accessibility service",
        granting(device_id, package),
        SETTINGS_SCREEN,
        SETTINGS_STEPS,
    )


def _unanswered(exc: EngineError, device_id: str, package: str) -> Check:
    """Return the check of a ping without an envelope."""
    silent = exc.code is ErrorCode.RESULT_ENVELOPE_TIMEOUT
    steps = manual(exc.hint) if exc.hint else ()
    if silent:
        steps = (*granting(device_id, package), *shell(look_command(device_id, package)))
    elif exc.code is ErrorCode.RESULT_ENVELOPE_MALFORMED:
        steps = manual(f"Reinstall the Operator app: {command_line('operator setup --apk <path>', device_id)}")
    elif exc.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT:
        steps = manual("Wait until the running execution has finished, then run the doctor again.")
    return Check(
        "readiness.handshake",
        "fail",
        f"The Operator app did not answer: {exc.message}",
        exc.code,
        _dispatch_detail(exc, device_id, package),
        "Restart the Operator app's service"
        if exc.code is not ErrorCode.LOGCAT_UNAVAILABLE
        else "Switch the device's log on",
        steps,
        SETTINGS_SCREEN,
        SETTINGS_STEPS if silent else (),
    )


def _dispatch_detail(exc: EngineError, device_id: str, package: str) -> str:
    status = exc.extra.get("broadcastDispatchStatus", "not_sent")
    more = " It wrote log lines. Pass --verbose to see them." if exc.extra.get("lastCorrelatedEvents") else ""
    return f"Broadcast: {status}; receiver {package}; device {device_id}.{more}"


async def smoke(send: Send, device_id: str) -> Check:
    """Open the settings app and take a snapshot."""
    check_id = "readiness.smoke"
    code, detail = ErrorCode.SMOKE_OPEN_SETTINGS_FAILED, ""
    try:
        envelope = await send(device_id, Command.internal(smoke_payload(), spare_seconds=PING_SPARE_SECONDS))
    except EngineError as exc:
        detail = f"{exc.code}: {exc.message}"
    else:
        if any(step.action_type == "snapshot_ui" and step.success for step in envelope.step_results):
            return Check(check_id, "pass", "The settings app was opened and read")
        failed = [f"{step.id} {step.action_type}" for step in envelope.step_results if not step.success]
        detail = envelope.error or f"Failed: {', '.join(failed) or 'no step returned a result'}"
    return Check(
        check_id,
        "fail",
        "The settings app could not be opened and read",
        code,
        detail,
        "Check the device",
        manual("Check that the screen is on and unlocked, then run the doctor with --full again."),
    )


def smoke_payload() -> dict[str, object]:
    """Return the payload that restarts the settings app and takes a snapshot (doctor.md#checks)."""
    app = {"applicationId": _SETTINGS_APP}
    return {
        "commandId": build.generated_id("smoke"),
        "taskId": "doctor-smoke",
        "source": DOCTOR_SOURCE,
        "expectedFormat": "android-ui-automator",
        "timeoutMs": SMOKE_MS,
        "actions": [
            {"id": "s1", "type": "close_app", "params": app},
            {"id": "s2", "type": "open_app", "params": app},
            {"id": "s3", "type": "snapshot_ui"},
        ],
    }
