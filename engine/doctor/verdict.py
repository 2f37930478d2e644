"""The verdict on a doctor run: ready, ready with hints, or not ready. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from clawperator.engine.doctor.check import CRITICAL
from clawperator.engine.errors import ErrorCode

Readiness = Literal["ready", "ready_with_hints", "not_ready"]
READINESS: tuple[Readiness, ...] = ("ready", "ready_with_hints", "not_ready")

_NEEDED = CRITICAL | {"readiness.apk.presence"}
"""Ids that must pass: the check of the Operator app only warns, but executions require the app."""
OPTIONAL = frozenset({"host.node.version"})
"""Ids of tools that only some skills need: their checks are no hints about the device."""
_HANDSHAKE = "readiness.handshake"
_REASONS = {
    ErrorCode.RECEIVER_NOT_INSTALLED.value: "Operator not installed",
    ErrorCode.RECEIVER_VARIANT_MISMATCH.value: "another Operator variant is installed",
    ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING.value: "accessibility service not running",
    ErrorCode.SERVICE_UNAVAILABLE.value: "accessibility service not running",
    ErrorCode.RESULT_ENVELOPE_TIMEOUT.value: "the Operator did not answer",
    ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT.value: "the device is in use",
    ErrorCode.NO_DEVICES.value: "no device connected",
    ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED.value: "several devices connected, none chosen",
}
"""Short reasons for common problems; otherwise the summary of the check is used."""
_SERVICE_OFF = "readiness.accessibility.enabled"


class Verdict(NamedTuple):
    """``hints`` counts the checks that do not pass; ``reason``, and the id of its check, are empty unless not ready."""

    status: Readiness
    hints: int = 0
    reason: str = ""
    check_id: str = ""

    @property
    def ready(self) -> bool:
        """Return whether the device can run executions."""
        return self.status != "not_ready"

    @property
    def summary(self) -> str:
        """Return ``Ready``, ``Ready, 2 hints`` or ``Not ready: Operator not installed``."""
        if not self.ready:
            return f"Not ready: {self.reason}"
        return f"Ready, {self.hints} hint{'' if self.hints == 1 else 's'}" if self.hints else "Ready"

    def to_dict(self) -> dict[str, Any]:
        """Return the report's keys ``verdict`` and ``summary``."""
        return {"verdict": self.status, "summary": self.summary}


def verdict_of(checks: Iterable[Mapping[str, Any]]) -> Verdict:
    """Return the verdict on the checks of one run, each as ``Check.to_dict`` returns it."""
    found = list(checks)
    open_checks = [check for check in found if check.get("status") != "pass"]
    obstacle = next((check for check in open_checks if _is_obstacle(check)), None)
    if obstacle is None:
        if not any(check.get("id") == _HANDSHAKE for check in found):
            return Verdict("not_ready", reason="the Operator was not checked")
        hints = sum(check.get("id") not in OPTIONAL for check in open_checks)
        return Verdict("ready_with_hints" if hints else "ready", hints)
    if obstacle.get("id") == _HANDSHAKE:
        obstacle = next((check for check in open_checks if _explains_silence(check)), obstacle)
    code, summary = str(obstacle.get("code", "")), str(obstacle.get("summary", ""))
    if obstacle.get("id") == _SERVICE_OFF and code in _REASONS:
        return Verdict("not_ready", reason="accessibility service off", check_id=_SERVICE_OFF)
    return Verdict("not_ready", reason=_REASONS.get(code) or summary, check_id=str(obstacle.get("id", "")))


def _is_obstacle(check: Mapping[str, Any]) -> bool:
    name = check.get("id")
    return name in _NEEDED and (check.get("status") == "fail" or name not in CRITICAL)


def _explains_silence(check: Mapping[str, Any]) -> bool:
    """Return whether a check explains a failed handshake."""
    return check.get("code") == ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING.value
