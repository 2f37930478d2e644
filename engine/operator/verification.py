"""Verify the Operator app after its permissions were granted: the service is running and the app responds."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.contracts.envelope import Envelope
from clawperator.engine.doctor.blockers import read_blockers
from clawperator.engine.doctor.check import ANSWER_SECONDS, Check
from clawperator.engine.doctor.readiness import handshake
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.attempt import ExecutionResult
from clawperator.engine.executions.command import Command
from clawperator.engine.operator.reports import GrantReport, SetupReport
from clawperator.engine.text.suggestions import command_line

START_SECONDS = 5.0
"""How long Android may take to start a service that was just enabled (doctor.md#operator-setup says 2 to 3 s)."""
_PAUSE_SECONDS = 0.2
_NO_SCREEN = ("UI_TREE_UNAVAILABLE", "SNAPSHOT_HIERARCHY_UNAVAILABLE")


async def stopped_service(device: AdbDevice, package: str, *, wait: bool) -> Check | None:
    """Return the check that explains why the service is not running; ``None`` if it is running, or if that is unknown.

    ``wait`` polls until a service that was just enabled has started: Android has no event for it.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + (START_SECONDS if wait else 0.0)
    while True:
        check = (await read_blockers(device, package, timeout=ANSWER_SECONDS)).service
        if check is None or not check.fix or loop.time() >= deadline:  # without a fix, another program stops it
            return check
        await asyncio.sleep(_PAUSE_SECONDS)


async def answering(
    device: AdbDevice,
    report: SetupReport,
    *,
    send: Callable[[str, str, Command], Awaitable[Envelope]],
    look: Callable[[str, str], Awaitable[ExecutionResult]],
) -> SetupReport:
    """Return ``report`` with what a handshake and a snapshot showed.

    A screen that is off or protected has no tree, which says nothing of the app: it becomes a remark. Raises ``EngineError``
    (OPERATOR_VERIFY_FAILED) where the app does not answer, or its tree cannot be read.
    """
    package = report.package
    check = await stopped_service(device, package, wait=True) or await handshake(
        lambda serial, command: send(serial, package, command), device.serial, package
    )
    reason = f"{check.summary}. {check.detail}".rstrip(". ") if check.status != "pass" else ""
    remark = ""
    if not reason:
        try:
            reason, remark = _seen(await look(device.serial, package))
        except EngineError as exc:
            reason = f"its first snapshot failed: {exc.message}"
    steps = "; ".join(step.value for step in check.fix) if check.status != "pass" else ""
    if not reason:
        return replace(report, round_trip_ms=(check.evidence or {}).get("roundTripMs", 0), remark=remark)
    raise EngineError(
        ErrorCode.OPERATOR_VERIFY_FAILED,
        f"{package} {report.version_name} is installed, but it was not verified: {reason}",
        hint=f"{check.fix_title}: {steps}"
        if steps
        else f"Run `{command_line('doctor', device.serial)}`: it names the cause.",
        details={"checkId": check.id, **({"reason": check.code.value} if check.code else {})},
        extra={
            "receiverPackage": package,
            "install": {"ok": True},
            "permissions": report.permissions.to_dict(),
            "verification": {"ok": False, "packageInstalled": True, "error": reason},
        },
    )


def _seen(taken: ExecutionResult) -> tuple[str, str]:
    """Return what is wrong with the app, and what is wrong with the screen, by a snapshot; both are empty for a tree."""
    error = taken.outcome.error
    if error is None:
        steps = taken.envelope["stepResults"]
        return ("" if steps and steps[0]["data"].get("text") else "the tree of its first snapshot did not arrive"), ""
    if error["code"] in _NO_SCREEN:
        return "", error["message"]
    return f"its first snapshot failed: {error['message']}", ""


async def verified(
    report: GrantReport, stopped: Check | None, send: Callable[[str, str, Command], Awaitable[Envelope]]
) -> GrantReport:
    """Return ``report`` with the duration of a handshake. ``stopped`` is the check of a stopped service.

    Raises ``EngineError``: GRANT_DEVICE_PERMISSIONS_FAILED, or EXECUTION_CONFLICT_IN_FLIGHT while an execution has the device.
    """
    check = stopped or await handshake(
        lambda serial, command: send(serial, report.package, command), report.device_id, report.package
    )
    if check.status == "pass":
        return replace(report, round_trip_ms=(check.evidence or {}).get("roundTripMs", 0))
    granting = "clawperator grant-device-permissions"  # what has just been done
    steps = [step.value for step in check.fix if not step.value.startswith(granting)] or list(check.guidance)
    again = "Restart the device, or reinstall the app: `clawperator operator setup`."
    otherwise = again if check.fix else f"{check.fix_title}: `clawperator doctor` names it."
    busy = check.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT
    why = f"{check.summary}. {check.detail}".rstrip(". ")
    raise EngineError(
        ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT if busy else ErrorCode.GRANT_DEVICE_PERMISSIONS_FAILED,
        f"The permissions are granted, but the app was not verified: {why}",
        hint=" ".join(steps) or otherwise,
        details={"checkId": check.id, **({"reason": check.code.value} if check.code else {})},
        extra={"receiverPackage": report.package, **report.permissions.to_dict()},
    )
