"""The verdict on a doctor run: ready, ready with hints, or not ready. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple

from clawperator.engine.doctor.check import CRITICAL
from clawperator.engine.errors import ErrorCode

Readiness = Literal["ready", "ready_with_hints", "not_ready"]
READINESS: tuple[Readiness, ...] = ("ready", "ready_with_hints", "not_ready")

_PRESENCE = "readiness.apk.presence"
"""It only warns, but executions by the Operator require the app."""
_STOCK = frozenset({"stock.programs", "stock.uiautomation"})
_OF_OPERATOR = (
    "build.",
    "readiness.apk.",
    "readiness.version.",
    "readiness.accessibility.",
    "readiness.uiautomation",
    "readiness.handshake",
    "readiness.smoke",
)
OPTIONAL = frozenset({"host.node.version"})
"""Ids of tools that only some skills need: their checks are no hints about the device."""
_HANDSHAKE = "readiness.handshake"
_PROOF: Mapping[str, tuple[str, str]] = {
    "operator": (_HANDSHAKE, "the Operator was not checked"),
    "stock": ("stock.programs", "the stock backend was not checked"),
}
"""The check without which nothing is known, and what to say then."""
_REASONS = {
    ErrorCode.RECEIVER_NOT_INSTALLED.value: "Operator not installed",
    ErrorCode.RECEIVER_VARIANT_MISMATCH.value: "another Operator variant is installed",
    ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING.value: "accessibility service not running",
    ErrorCode.SERVICE_UNAVAILABLE.value: "accessibility service not running",
    ErrorCode.RESULT_ENVELOPE_TIMEOUT.value: "the Operator did not answer",
    ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT.value: "the device is in use",
    ErrorCode.ADB_SERVER_FAILED.value: "the adb server cannot be reached",
    ErrorCode.DEVICE_SHELL_UNAVAILABLE.value: "the device's shell is unavailable",
    ErrorCode.DEVICE_BOOTING.value: "Android is still starting",
    ErrorCode.LOGCAT_UNAVAILABLE.value: "the device's log cannot be read",
    ErrorCode.NO_DEVICES.value: "no device connected",
    ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED.value: "several devices connected, none chosen",
}
"""Short reasons for common problems; otherwise the summary of the check is used."""
_SERVICE_OFF = "readiness.accessibility.enabled"


class Verdict(NamedTuple):
    """``hints`` counts the checks that do not pass; ``reason``, and the id of its check, are empty unless not ready.

    ``unknown``: the ids of checks that could not run.
    """

    status: Readiness
    hints: int = 0
    reason: str = ""
    check_id: str = ""
    unknown: tuple[str, ...] = ()

    @property
    def ready(self) -> bool:
        """Return whether the device can run executions."""
        return self.status != "not_ready"

    @property
    def summary(self) -> str:
        """Return ``Ready``, ``Ready, 2 hints; not checked: device.screen`` or ``Not ready: Operator not installed``."""
        if not self.ready:
            return f"Not ready: {self.reason}"
        words = f"Ready, {self.hints} hint{'' if self.hints == 1 else 's'}" if self.hints else "Ready"
        return f"{words}; not checked: {', '.join(self.unknown)}" if self.unknown else words

    def to_dict(self) -> dict[str, Any]:
        """Return the report's keys ``verdict``, ``summary`` and ``unknown``, which is absent where it would be empty."""
        unknown = {"unknown": list(self.unknown)} if self.unknown else {}
        return {"verdict": self.status, "summary": self.summary, **unknown}


def concerns(check_id: str, backend: str) -> bool:
    """Return whether a check matters to executions by ``backend``."""
    return not check_id.startswith(_OF_OPERATOR if backend == "stock" else "stock.")


def verdict_of(checks: Iterable[Mapping[str, Any]], backend: str = "operator") -> Verdict:
    """Return the verdict on executions by ``backend``; ``checks`` are those of one run, as ``Check.to_dict`` returns them."""
    found = [check for check in checks if concerns(str(check.get("id", "")), backend)]
    proof, unexamined = _PROOF[backend]
    open_checks = [check for check in found if check.get("status") != "pass"]
    unknown = tuple(str(check.get("id")) for check in open_checks if check.get("unknown"))
    obstacle = next((check for check in open_checks if _is_obstacle(check)), None)
    if obstacle is None:
        if proof in unknown or not any(check.get("id") == proof for check in found):
            return Verdict("not_ready", reason=unexamined, unknown=unknown)
        hints = sum(check.get("id") not in OPTIONAL and check.get("id") not in unknown for check in open_checks)
        return Verdict("ready_with_hints" if hints or unknown else "ready", hints, unknown=unknown)
    if obstacle.get("id") == _HANDSHAKE:
        obstacle = next((check for check in open_checks if _explains_silence(check)), obstacle)
    code, summary = str(obstacle.get("code", "")), str(obstacle.get("summary", ""))
    if obstacle.get("id") == _SERVICE_OFF and code in _REASONS:
        return Verdict("not_ready", reason="accessibility service off", check_id=_SERVICE_OFF, unknown=unknown)
    answered = obstacle.get("id") == _PRESENCE and code == ErrorCode.DEVICE_SHELL_UNAVAILABLE.value
    reason = summary if answered else _REASONS.get(code) or summary
    return Verdict("not_ready", 0, reason, str(obstacle.get("id", "")), unknown)


def _is_obstacle(check: Mapping[str, Any]) -> bool:
    name = check.get("id")
    return name == _PRESENCE or (check.get("status") == "fail" and (name in CRITICAL or name in _STOCK))


def _explains_silence(check: Mapping[str, Any]) -> bool:
    """Return whether a check explains a failed handshake."""
    return check.get("code") == ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING.value
