"""The outcome of the console's executions as notices."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.logcat.stages import brief
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
from clawperator.widgets.text.times import duration, precise

_NO_FAILURE = "UNSUPPORTED_RUNTIME_CLOSE"
"""The Operator's expected answer to ``close_app``, which the host does instead (wire.md#actions-and-how-they-fail)."""


def ended(payload: Mapping[str, Any], what: str, envelope: Mapping[str, Any], seconds: float) -> Notice:
    """Describe an answer after ``seconds``: success, failed steps, or a failed execution."""
    took = precise(seconds)
    if envelope.get("status") != "success":
        code = str(envelope.get("errorCode") or "")
        words = brief(str(envelope.get("error") or "the device gave no reason"))
        if is_verify(payload):
            words = f"the device did not find it, {took}" if code == ErrorCode.NODE_NOT_FOUND else words
        return Notice(Status.FAILED, f"{what}: {words}", code)
    results = [result for result in envelope.get("stepResults") or () if isinstance(result, Mapping)]
    failed = [code for code in map(_failure, results) if code is not None]
    if failed:
        if len(results) == 1:
            return Notice(Status.FAILED, f"{what}: failed, {took}", failed[0])
        words = f"the execution completed, {len(failed)} step{'s' * (len(failed) != 1)} failed"
        return Notice(Status.WARN, f"{what}: {words}, {took}", failed[0])
    return Notice(Status.OK, f"{_success(payload, what, results)}, {took}")


def _failure(result: Mapping[str, Any]) -> str | None:
    """Return the code of a failed step; ``None`` for a successful one."""
    from clawperator.engine.contracts.envelope import code_of

    data = result.get("data")
    code = code_of(data) if isinstance(data, Mapping) else ""
    return None if result.get("success") or code == _NO_FAILURE else code


def _success(payload: Mapping[str, Any], what: str, results: list[Mapping[str, Any]]) -> str:
    if is_verify(payload):
        return "the device found it"
    if len(results) == 1 and results[0].get("actionType") == "read_text":
        return f'{what}: "{(results[0].get("data") or {}).get("text", "")}"'
    return f"{what}: ok"


def is_verify(payload: Mapping[str, Any]) -> bool:
    """Return whether the only step is a verify."""
    return [action.get("id") for action in payload["actions"]] == ["verify"]


def refused(what: str, error: EngineError, *, seconds: float, now: float) -> Notice:
    """Describe an execution without a result: refused, or silent for ``seconds``; ``now`` is host time."""
    if error.code is ErrorCode.EXECUTION_CONFLICT_IN_FLIGHT:
        text, status = busy(error.details, now), Status.WAITING
    elif error.code is ErrorCode.RESULT_ENVELOPE_TIMEOUT:
        text, status = _silence(error, seconds), Status.FAILED
    else:
        hint = f". {error.hint}" if error.hint else ""
        text, status = f"{what}: {error.message.rstrip('.')}{hint}", Status.FAILED
    return Notice(status, text, error.code.value)


def busy(details: Mapping[str, Any], now: float) -> str:
    """Describe the holder of the device and its time limit, or how long the device settles."""
    if "retryAfterMs" in details:
        return settling(details)
    holder = details.get("inFlightCommandId") or "another execution"
    source = f" from {details['source']}" if details.get("source") else ""
    since, budget = details.get("since"), details.get("timeoutMs")
    held = f", {duration(now - since)} of {budget / 1000:g} s" if since and budget else ""
    pid = f", pid {details['pid']}" if details.get("pid") else ""
    return f"Device busy: {holder}{source}{held}{pid}. Nothing was sent"


def settling(details: Mapping[str, Any]) -> str:
    """Describe which command the device settles after, and for how long."""
    left = duration(details["retryAfterMs"] / 1000)
    return f"Device settling after {details.get('settlingAfter')}: free in {left}. Nothing was sent"


def snapshot_problem(envelope: Mapping[str, Any]) -> str:
    """Return why a snapshot has no tree, from its envelope; empty where it has one."""
    steps = envelope.get("stepResults") or [{}]
    data = steps[0].get("data") or {}
    if envelope.get("status") == "success" and steps[0].get("success", True):
        return ""
    return str(data.get("message") or data.get("error") or envelope.get("error") or "the Operator reported no reason")


def require_tree(envelope: Mapping[str, Any]) -> None:
    """Raises ``EngineError`` with the reason of the Operator where a snapshot has no tree."""
    if problem := snapshot_problem(envelope):
        failure = next((code for code in map(_failure, envelope.get("stepResults") or ()) if code), "")
        code = ErrorCode.known(str(envelope.get("errorCode") or failure)) or ErrorCode.UI_TREE_UNAVAILABLE
        raise EngineError(code, problem, hint=str(envelope.get("hint") or "") or None)


def _silence(error: EngineError, seconds: float) -> str:
    details = error.details
    sent = {"sent": "yes", "not_sent": "no"}.get(str(error.extra.get("broadcastDispatchStatus")), "unknown")
    stage = details.get("lastStage")
    sign = f" Last progress: {brief(str(stage))}." if stage else " No progress was reported."
    return f"No result within {duration(seconds)}. Sent: {sent}.{sign} Press 6 to check the service"
