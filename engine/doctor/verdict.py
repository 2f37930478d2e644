"""The one verdict on a doctor run: ready, ready with hints, or not ready. Pure; every face shows this one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from clawperator.engine.doctor.check import CRITICAL
from clawperator.engine.errors import ErrorCode

Readiness = Literal["ready", "ready_with_hints", "not_ready"]
READINESS: tuple[Readiness, ...] = ("ready", "ready_with_hints", "not_ready")

_NEEDED = CRITICAL | {"readiness.apk.presence"}
"""Ids that must not fail; without the Operator app nothing can be executed, although its check only warns."""
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
"""Short words for the usual obstacles; for all others, the summary of the check."""


class Verdict(NamedTuple):
    """``hints`` counts the checks that do not pass; ``reason`` says what is missing, empty unless not ready."""

    status: Readiness
    hints: int = 0
    reason: str = ""

    @property
    def ready(self) -> bool:
        """Whether the device can execute."""
        return self.status != "not_ready"

    @property
    def summary(self) -> str:
        """``Ready``, ``Ready, 2 hints`` or ``Not ready: Operator not installed``."""
        if not self.ready:
            return f"Not ready: {self.reason}"
        return f"Ready, {self.hints} hint{'' if self.hints == 1 else 's'}" if self.hints else "Ready"

    def to_dict(self) -> dict[str, Any]:
        """The keys that reports carry: ``verdict`` and ``summary``."""
        return {"verdict": self.status, "summary": self.summary}


def verdict_of(checks: Iterable[Mapping[str, Any]]) -> Verdict:
    """Return the verdict on the checks of one run, each as its dictionary form (``Check.to_dict``)."""
    found = list(checks)
    open_checks = [check for check in found if check.get("status") != "pass"]
    obstacle = next((check for check in open_checks if _is_obstacle(check)), None)
    if obstacle is None:
        if not any(check.get("id") == _HANDSHAKE for check in found):
            return Verdict("not_ready", reason="the Operator was not checked")
        return Verdict("ready_with_hints" if open_checks else "ready", len(open_checks))
    if obstacle.get("id") == _HANDSHAKE:
        obstacle = next((check for check in open_checks if _explains_silence(check)), obstacle)
    code, summary = str(obstacle.get("code", "")), str(obstacle.get("summary", ""))
    return Verdict("not_ready", reason=_REASONS.get(code) or summary)


def _is_obstacle(check: Mapping[str, Any]) -> bool:
    name = check.get("id")
    return name in _NEEDED and (check.get("status") == "fail" or name not in CRITICAL)


def _explains_silence(check: Mapping[str, Any]) -> bool:
    """Whether a check names the cause of a failed handshake."""
    return check.get("code") == ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING.value
