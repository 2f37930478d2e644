"""Run ``operator setup``: check, install, grant, verify; a failed phase ends it (doctor.md#operator-setup)."""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any

from clawperator.engine.adb.batch import run_commands
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.parse import refusal_hint
from clawperator.engine.contracts.operator_identity import OPERATOR_PACKAGES
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import probe
from clawperator.engine.executions.compatibility import refusal
from clawperator.engine.operator.apk import ApkFacts, read_apk, refused, sha256_of
from clawperator.engine.operator.grants import grant
from clawperator.engine.operator.installation import INSTALL_SECONDS, install
from clawperator.engine.operator.local_apks import choose_apk
from clawperator.engine.operator.package_choice import installed, list_command
from clawperator.engine.operator.reports import UNKNOWN_PACKAGE, Permissions, SetupReport
from clawperator.engine.progress import JobProgress, OnProgress

_DIGEST = re.compile(r"[0-9a-f]{64}")
_INSTALLED = {"ok": True}


async def set_up(
    resolve: Callable[[], Awaitable[AdbDevice]],
    apk: str,
    *,
    package: str,
    sha256: str,
    env: Mapping[str, str],
    on_progress: OnProgress,
    answers: Callable[[AdbDevice, SetupReport], Awaitable[SetupReport]],
    accepted: Collection[str] | None = (),
    hold: Callable[[AdbDevice], AbstractAsyncContextManager[object]] = nullcontext,
    seconds: float = INSTALL_SECONDS,
) -> SetupReport:
    """Set up the Operator app as ``OperatorApp.setup`` does; ``package`` '' accepts any of them.

    ``accepted`` are further supported versions, ``None`` all. ``answers`` verifies that the app answers, and completes the report.
    """
    wanted = checked_digest(sha256)
    with JobProgress("setup", on_progress).stage("check"):
        try:
            facts = await asyncio.to_thread(_checked, apk, package, wanted, env, accepted)
        except EngineError as exc:
            raise _with_phases(exc, package or UNKNOWN_PACKAGE, {"ok": False, "error": exc.message}) from exc
        device = await resolve()
    async with hold(device):
        report = await _install_and_grant(device, facts, on_progress, seconds)
    with JobProgress("setup", on_progress).stage("verify"):
        await _verify(device, facts.package, report.permissions)
        return await answers(device, report)


async def _install_and_grant(
    device: AdbDevice, facts: ApkFacts, on_progress: OnProgress, seconds: float
) -> SetupReport:
    try:
        target = f"{facts.package} {facts.version_name} to {device.serial}"
        with JobProgress("setup", on_progress).stage("install", seconds, target) as stage:
            await install(device, facts, stage, seconds=seconds)
    except EngineError as exc:
        raise _with_phases(exc, facts.package) from exc
    finally:
        probe.forget(device.serial)  # even a cancelled or failed installation may have changed the app
    with JobProgress("setup", on_progress).stage("permissions"):
        await _verify(device, facts.package)
        try:
            permissions = await grant(device, facts.package)
        except EngineError as exc:
            raise _phase_error(ErrorCode.OPERATOR_GRANT_FAILED, exc.message, facts.package, None) from exc
        if not permissions.ok:
            failed = _phase_error(ErrorCode.OPERATOR_GRANT_FAILED, permissions.error, facts.package, permissions)
            failed.hint = refusal_hint(permissions.error) or failed.hint
            raise failed
    return SetupReport(device.serial, facts.package, facts.path, facts.version_name, permissions)


def checked_digest(text: str) -> str:
    """Return a SHA-256 in lower-case hex, or ''. Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED)."""
    digest = text.strip().lower().removeprefix("sha256:")
    if not digest or _DIGEST.fullmatch(digest):
        return digest
    reason = "sha256 must be 64 hexadecimal digits"
    raise EngineError(
        ErrorCode.EXECUTION_VALIDATION_FAILED,
        reason,
        details={"path": "sha256", "reason": f"{reason}, got {text[:80]!r}"},
    )


def _checked(apk: str, package: str, digest: str, env: Mapping[str, str], accepted: Collection[str] | None) -> ApkFacts:
    """Return the verified file to install; blocks. Raises ``EngineError`` (OPERATOR_APK_NOT_FOUND, OPERATOR_INSTALL_FAILED)."""
    facts = read_apk(os.path.abspath(_expanded(apk, env))) if apk else choose_apk(env, package)
    if package and facts.package != package:
        error = refused(facts.path, f"it is {facts.package}, but --receiver-package says {package}")
        error.hint = f"Nothing was installed. Pass the APK of {package}, or --receiver-package {facts.package}."
        raise error
    if not package and facts.package not in OPERATOR_PACKAGES:
        reason = f"it is {facts.package}, not the Operator app ({' or '.join(OPERATOR_PACKAGES)})"
        error = refused(facts.path, reason)
        error.hint = f"Nothing was installed. To install it anyway, pass --receiver-package {facts.package}."
        raise error
    known = accepted is None or not facts.version_name or facts.package not in OPERATOR_PACKAGES
    if not known and (unsupported := refusal(facts.version_name, facts.package, accepted=accepted or ())) is not None:
        error = refused(facts.path, unsupported.message)
        error.hint = (
            "Nothing was installed. Use the APK of a supported version, or install this one anyway with --force."
        )
        raise error
    if digest and (found := sha256_of(facts.path)) != digest:
        raise refused(facts.path, f"its SHA-256 is {found}, not {digest}")
    return facts


def _expanded(path: str, env: Mapping[str, str]) -> str:
    """Expand ``~`` by the HOME of ``env``."""
    home = env.get("HOME", "")
    if home and (path == "~" or path.startswith("~/")):
        return home + path[1:]
    return os.path.expanduser(path)


async def _verify(device: AdbDevice, package: str, permissions: Permissions | None = None) -> None:
    """Check that ``package`` is installed. Raises ``EngineError`` (OPERATOR_VERIFY_FAILED)."""
    try:
        (listed,) = await run_commands(device, [list_command(package)])
        found = installed(listed, device.serial)
    except EngineError as exc:
        message = f"Could not check whether {package} is installed: {exc.message}"
        raise _phase_error(ErrorCode.OPERATOR_VERIFY_FAILED, message, package, permissions, verified=False) from exc
    if package in found:
        return
    others = [name for name in OPERATOR_PACKAGES if name in found]
    there = f"; {' and '.join(others)} is installed" if others else ""
    message = f"{package} is not listed on {device.serial} after the installation{there}"
    raise _phase_error(ErrorCode.OPERATOR_VERIFY_FAILED, message, package, permissions, verified=False)


def _phase_error(
    code: ErrorCode, message: str, package: str, permissions: Permissions | None, *, verified: bool = True
) -> EngineError:
    """Return an error after the installation, with the objects of the completed phases (cli.md#commands)."""
    extra: dict[str, Any] = {"receiverPackage": package, "install": _INSTALLED}
    if permissions is not None:
        extra["permissions"] = permissions.to_dict()
    if not verified:
        extra["verification"] = {"ok": False, "packageInstalled": False, "error": message}
    return EngineError(code, message, extra=extra)


def _with_phases(exc: EngineError, package: str, phase: Mapping[str, Any] | None = None) -> EngineError:
    """Return the error with the package and the object of its phase."""
    extra: dict[str, Any] = {"receiverPackage": package}
    if phase is not None and exc.code is ErrorCode.OPERATOR_INSTALL_FAILED:
        extra["install"] = phase
    return EngineError(exc.code, exc.message, hint=exc.hint, details=exc.details, extra={**extra, **exc.extra})
