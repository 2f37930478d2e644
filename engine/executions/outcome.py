"""The outcome of an execution, step by step, from the Operator's log lines and envelope. Pure."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

from clawperator.engine.contracts.derived import derived_code
from clawperator.engine.contracts.envelope import code_of
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.logcat.stages import type_of_stage
from clawperator.engine.text.numbers import whole_number

StepStatus = Literal["done", "failed", "not_run", "unknown"]
OutcomeStatus = Literal["succeeded", "partial", "failed", "unknown"]
Status = Literal[OutcomeStatus, "not_run"]
LiveLine = tuple[float, str, Mapping[str, str]]
"""Time of reading (seconds since the epoch), ``kind`` and ``fields`` of a line (``logcat/progress.py``)."""

_COUNT = re.compile(r"[0-9]{1,9}")
_COORDINATE = re.compile(r"-?[0-9]{1,9}(\.[0-9]{1,9})?")
_FLAG = re.compile("true|false")
_WORD = re.compile("[a-z][a-z0-9_]{0,39}")
_SENTENCE = re.compile(r"[ -~]{1,400}")
_PACKAGE = re.compile(r"[A-Za-z][A-Za-z0-9_.]{0,254}")
_FACTS: dict[str, tuple[str, re.Pattern[str]]] = {
    "navigation_elapsed_ms": ("navigationElapsedMs", _COUNT),
    "resolved_package": ("resolvedPackage", _PACKAGE),
    "last_package": ("lastPackage", _PACKAGE),
    "dispatch_method": ("dispatchMethod", _WORD),
    "dispatch_accepted": ("dispatchAccepted", _FLAG),
    "candidate_count": ("candidateCount", _COUNT),
    "elapsed_ms": ("elapsedMs", _COUNT),
    "text_entry": ("textEntry", _WORD),
    "submission": ("submission", _WORD),
    "submit_method": ("submitMethod", _WORD),
    "selection_warning": ("selectionWarning", _SENTENCE),
    "clear": ("clear", _FLAG),
    "dispatched": ("dispatched", _FLAG),
    "submitted": ("submitted", _FLAG),
    "visible": ("visible", _FLAG),
    "rendered": ("rendered", _FLAG),
    "operator_overlay_visible": ("operatorOverlayVisible", _FLAG),
}
"""The data of a step that are passed on as ``facts`` (wire.md#actions-and-how-they-fail): their key there, and the form that they must have."""
_OF_RECEIPTS: dict[str, tuple[str, re.Pattern[str]]] = {
    "scroll_outcome": ("scrollOutcome", _WORD),
    "dispatched": ("inputCommand", re.compile(r"input (?:swipe|draganddrop)(?: [0-9]{1,10}){5}")),
}
"""The same of steps with a receipt: older generations, and the stock backend, have these data too."""
_NODES = {"target": "target", "matched_target": "matchedTarget"}
"""Data with one node as JSON text (operator-0.10, receipts), and their keys in ``facts``."""
_NODE_TEXTS = ("nodePath", "resourceId", "className", "role", "label", "contentDescription")
_NODE_FLAGS = (
    "visibleToUser", "onScreen", "enabled", "clickable", "checkable", "checked", "selected", "scrollable", "accessibilityDataSensitive",
)  # fmt: skip
_PROGRESS_TEXTS = ("beforeSignature", "afterSignature", "reason")
_LONGEST_FACT = 512
_LONGEST_JSON = 16_384
"""Characters: larger texts are not read."""
_ERROR = re.compile(r"[{ ]error=([A-Z][A-Z_]+)[,}]")
_PLAN_OVER = frozenset({"failure", "answered-failure", "service-unavailable"})
"""Lines after which no further step of the command begins."""
_DONE: tuple[StepStatus, str] = ("done", "")
_LEFT_TO_HOST: Mapping[str, tuple[StepStatus, str]] = {
    ErrorCode.UNSUPPORTED_RUNTIME_CLOSE: _DONE,
    ErrorCode.UNSUPPORTED_RUNTIME_SCREENSHOT: ("not_run", ""),
}
"""Meaning of the device's refusals: the host closes apps before the plan and takes screenshots after it."""
_NONE: Mapping[str, tuple[float, float]] = {}
_REFUSALS = {
    "close_app": ErrorCode.UNSUPPORTED_RUNTIME_CLOSE.value,
    "take_screenshot": ErrorCode.UNSUPPORTED_RUNTIME_SCREENSHOT.value,
}
"""The refusals by action type, for lines that say only that the step did not succeed."""
UNNAMED = "FAILED"
"""In place of a code that the line does not have."""
RESULT_LOST_HINT = "Its actions have run: take a snapshot before you decide what to do next."
_UNKNOWN_CODE_HINT = "Take a snapshot, then decide what to do next."
_HINTS_OF_ACTIONS = {
    (
        "open_app",
        "NAVIGATION_TIMEOUT",
    ): "Take a snapshot: the app was started, but another one or a dialog is in front.",
    ("query_ui", "PAYLOAD_TOO_LARGE"): "Narrow the matcher, or lower the limit.",
}
"""Hints of codes that mean something else of an action than usual."""
_FAMILY_HINTS = {
    "NOTIFICATION_": "List the notifications again, then decide what to do next.",
    "MEDIA_": "List the media sessions again, then decide what to do next.",
}
"""Hints of the app's codes that are not in the table of errors, by their beginning."""


@dataclass(slots=True)
class OutcomeStep:
    """One action of a plan, ``index`` from 0. It changes only while the lines of its run are read.

    ``status``: ``not_run`` if the plan ended before it, ``unknown`` if neither log nor envelope shows it. Times are host time in
    seconds since the epoch, ``nan`` if unknown; ``retries`` counts attempts after the first. ``target`` is the node that the
    step acted on: ``resourceId``, ``text``, ``bounds``, ``matched`` (number of matches) and ``tree`` (the source), as known.
    """

    index: int
    id: str
    type: str = ""
    status: StepStatus = "unknown"
    code: str = ""
    started_at: float = math.nan
    ended_at: float = math.nan
    retries: int = 0
    target: Mapping[str, Any] | None = None
    facts: Mapping[str, Any] | None = None
    """What Operator 0.9 and later say that they did (``_facts``)."""

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data; ``durationMs`` is ``null`` if unknown, ``code``, ``target`` and ``facts`` are absent."""
        duration = (self.ended_at - self.started_at) * 1000
        answer: dict[str, Any] = {
            "id": self.id,
            "type": self.type,
            "status": self.status,
            "durationMs": None if math.isnan(duration) else round(duration),
        }
        if self.code:
            answer["code"] = self.code
        if self.target is not None:
            answer["target"] = dict(self.target)
        if self.facts:
            answer["facts"] = dict(self.facts)
        return answer


@dataclass(frozen=True, slots=True)
class ExecutionOutcome:
    """How an execution ended. ``succeeded``: every step is done. ``partial``: the plan ran to its end, but a step failed.

    ``unknown``: no result arrived.

    ``failed_step`` failed first, or ended the plan. ``error`` has ``code``, ``message``, ``hint``, ``retryable`` and possibly
    ``details``.
    """

    status: OutcomeStatus
    steps: tuple[OutcomeStep, ...] = ()
    failed_step: OutcomeStep | None = None
    error: Mapping[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data; ``failedStep`` and ``error`` are absent if ``None``."""
        answer: dict[str, Any] = {"status": self.status, "steps": [step.to_dict() for step in self.steps]}
        if self.failed_step is not None:
            failed = self.failed_step
            answer["failedStep"] = {"id": failed.id, "index": failed.index, "type": failed.type}
        if self.error is not None:
            answer["error"] = dict(self.error)
        return answer


class _Steps(dict[str, OutcomeStep]):
    """Steps by id, in the order of the plan, then of the log."""

    def take(self, step_id: str, step_type: str = "") -> OutcomeStep:
        if step_id not in self:
            self[step_id] = OutcomeStep(len(self), step_id, step_type)
        return self[step_id]

    @property
    def all(self) -> tuple[OutcomeStep, ...]:
        return tuple(self.values())


def outcome_of(
    planned: Iterable[tuple[str, str]],
    lines: Iterable[LiveLine] = (),
    envelope: Mapping[str, Any] | None = None,
    *,
    device_status: str = "",
    error: EngineError | None = None,
    carried_out: Mapping[str, tuple[float, float]] = _NONE,
) -> ExecutionOutcome:
    """Return the outcome of ``planned`` (id and type of each action, if known).

    The finished ``envelope`` (JSON data) decides how steps ended; that of a failed plan has no steps, so the lines decide.
    ``device_status`` is the device's status if the host changed it (flat profile). ``error`` is why there is no envelope.
    ``carried_out`` are the steps that the host did itself, with their begin and end: they are done, whatever the app reports.
    """
    steps = _Steps()
    for step_id, step_type in planned:
        steps.take(step_id, step_type)
    running, over, last_at = _read_lines(steps, lines)
    reasons: dict[str, object] = {}
    for result in (envelope or {}).get("stepResults") or ():
        step = steps.take(str(result["id"]))
        reasons[step.id] = _take_result(step, result)
    for step_id, times in carried_out.items():
        step = steps.take(step_id)
        step.status, step.code, (step.started_at, step.ended_at) = "done", "", times
    if envelope is None:
        return ExecutionOutcome("unknown", steps.all, None, None if error is None else facts_of(error))
    status = device_status or envelope.get("status")
    if status != "success" and not (steps and carried_out.keys() >= steps.keys()):
        return _broken_off(steps, running, envelope, over=over, last_at=last_at)
    failed = next((step for step in steps.all if step.status == "failed"), None)
    if failed is None:
        if all(step.status == "done" for step in steps.all):
            return ExecutionOutcome("succeeded", steps.all)
        code = ErrorCode.RESULT_ENVELOPE_MALFORMED.value
        return ExecutionOutcome("unknown", steps.all, None, _error(code, "The result does not have every step"))
    message = f'Step "{failed.id}" ({failed.type}) failed: {reasons.get(failed.id) or "the device did not say why"}'
    return ExecutionOutcome("partial", steps.all, failed, _error(failed.code, message, failed.type))


def _broken_off(
    steps: _Steps, running: OutcomeStep | None, envelope: Mapping[str, Any], *, over: bool, last_at: float
) -> ExecutionOutcome:
    """Return the outcome of a failed plan: the running step ended it, and steps that never began have not run."""
    message = str(envelope.get("error") or "")
    code = str(envelope.get("errorCode") or derived_code(message) or "")
    failed = running if running is not None and running.status == "unknown" else None
    if failed is None:  # from Operator 0.10 on the envelope has the steps up to the failed one
        failed = next((step for step in reversed(steps.all) if step.status == "failed"), None)
        code = code or (failed.code if failed is not None else "")
    else:
        failed.status, failed.code = "failed", code
        if math.isnan(failed.ended_at):
            failed.ended_at = last_at
    if over or failed is not None:
        for step in steps.all:
            if step.status == "unknown" and math.isnan(step.started_at):
                step.status = "not_run"
    error = _error(code, message or "The plan failed, and the device did not say why")
    return ExecutionOutcome("failed", steps.all, failed, error)


def _read_lines(steps: _Steps, lines: Iterable[LiveLine]) -> tuple[OutcomeStep | None, bool, float]:
    """Read the lines into ``steps``; return the unfinished step, whether the plan ended, and the time of the last line."""
    running: OutcomeStep | None = None
    over, at = False, math.nan
    for at, kind, fields in lines:
        if kind == "step-start":
            running = steps.take(fields.get("id", ""))
            running.started_at = at
        elif kind in _PLAN_OVER:
            over = True
        elif running is None:
            continue
        elif kind == "step-success" and fields.get("id") == running.id:
            running.ended_at = at
            code = step_failure(kind, fields, running.type)
            running.status, running.code = (
                _LEFT_TO_HOST.get(code, ("failed", "" if code == UNNAMED else code)) if code else _DONE
            )
            running = None
        elif kind == "stage-start":
            running.type = running.type or type_of_stage(fields.get("id", ""))
        elif kind == "stage-retry":
            running.retries += 1
        elif kind == "stage-failure":
            running.ended_at = at
    return running, over, at


def step_failure(kind: str, fields: Mapping[str, str], action_type: str = "") -> str:
    """Return the error code in the line of a step that ended: a failed one, too, is a ``step-success`` (wire.md#log-lines).

    From Operator 0.10 on the line only says that the step failed: what the host does itself is known by the ``action_type``,
    anything else is ``UNNAMED``.
    """
    if kind != "step-success":
        return ""
    if fields.get("success") == "false":
        return _REFUSALS.get(action_type, UNNAMED)
    found = _ERROR.search(fields.get("data", ""))
    return found[1] if found else ""


def _take_result(step: OutcomeStep, result: Mapping[str, Any]) -> object:
    """Complete ``step`` by its part of the envelope; return why it failed, as far as the device says so."""
    data = result.get("data") or {}
    step.type = step.type or str(result.get("actionType", ""))
    step.target, step.facts = _target(step.type, data), _facts(data)
    closed_by_host = step.type == "close_app" and data.get("error") == ErrorCode.UNSUPPORTED_RUNTIME_CLOSE
    if result.get("success") or closed_by_host:
        step.status, step.code = "done", ""
        return None
    step.status, step.code = "failed", code_of(data)
    return data.get("capture_error") or data.get("message") or data.get("error") or step.code


def _facts(data: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the step's data say about how it acted and what came of it; a value in another form is left out."""
    found: dict[str, Any] = {}
    for name, (key, form) in (_FACTS | _OF_RECEIPTS if "dispatch_method" in data else _FACTS).items():
        value = data.get(name)
        if isinstance(value, str) and form.fullmatch(value):
            found[key] = whole_number(value) if form is _COUNT else value == "true" if form is _FLAG else value
    found |= {key: node for name, key in _NODES.items() if (node := _node(_object(data.get(name))))}
    progress = _object(data.get("progress"))
    scrolled = _texts(progress, _PROGRESS_TEXTS) | _flags(progress, ("comparable",))
    if scrolled:
        found["progress"] = scrolled
    if (point := _point(_object(data.get("coordinate")))) is not None:
        found["point"] = point
    return found or None


def _object(value: object) -> Mapping[str, Any]:
    """Return the JSON object in a text of the device; empty where there is none."""
    if not isinstance(value, str) or len(value) > _LONGEST_JSON:
        return {}
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


def _node(given: Mapping[str, Any]) -> dict[str, Any]:
    node = _texts(given, _NODE_TEXTS) | _flags(given, _NODE_FLAGS)
    box = given.get("bounds")
    edges = [_pixel(box.get(edge)) for edge in ("left", "top", "right", "bottom")] if isinstance(box, dict) else []
    whole = [edge for edge in edges if edge is not None]
    return node | ({"bounds": whole} if len(whole) == len(edges) > 0 else {})


def _point(given: Mapping[str, Any]) -> dict[str, int] | None:
    x, y = _pixel(given.get("x")), _pixel(given.get("y"))
    return None if x is None or y is None else {"x": x, "y": y}


def _texts(given: Mapping[str, Any], names: Iterable[str]) -> dict[str, str]:
    texts = {name: given[name][:_LONGEST_FACT] for name in names if isinstance(given.get(name), str)}
    return {name: text for name, text in texts.items() if text}


def _flags(given: Mapping[str, Any], names: Iterable[str]) -> dict[str, bool]:
    return {name: given[name] for name in names if isinstance(given.get(name), bool)}


def _pixel(value: object) -> int | None:
    """Return a coordinate as a whole number; ``None`` for anything else."""
    return round(float(str(value))) if _COORDINATE.fullmatch(str(value)) and not isinstance(value, bool) else None


def _target(step_type: str, data: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the step's data say about its node (wire.md#actions-and-how-they-fail)."""
    if step_type == "wait_for_node" and "label" in data:
        found = {"resourceId": data.get("resource_id"), "text": data["label"]}
        return {name: value for name, value in found.items() if value}
    if step_type == "read_text" and data.get("all") == "true" and _COUNT.fullmatch(str(data.get("count", ""))):
        return {"matched": int(data["count"])}
    if step_type == "read_text" and "text" in data and "all" not in data:
        return {"text": data["text"]}
    return None


def _error(code: str, message: str, action_type: str = "") -> dict[str, Any]:
    known = ErrorCode.known(code)
    usual = next((hint for family, hint in _FAMILY_HINTS.items() if code.startswith(family)), _UNKNOWN_CODE_HINT)
    return {
        "code": code or ErrorCode.UNKNOWN.value,
        "message": message,
        "hint": _HINTS_OF_ACTIONS.get((action_type, code)) or (known.hint if known else "") or usual,
        "retryable": known.retryable if known else False,
    }


def facts_of(error: EngineError) -> dict[str, Any]:
    """Return the error of a plan that was sent, without the top-level keys of an answer: to repeat it is not safe."""
    facts = _error(error.code.value, error.message) | {"hint": error.hint or _UNKNOWN_CODE_HINT, "retryable": False}
    return facts | ({"details": error.details} if error.details else {})


def suspended_hint(resumes_ms: int) -> str:
    return (
        "A program that reads the screen, such as `uiautomator dump`, suspends accessibility services, and Android binds them again. "
        f"Retry after {resumes_ms} ms."
    )


def suspended(outcome: ExecutionOutcome, resumes_ms: int) -> ExecutionOutcome:
    """Return the outcome of a plan that a suspended service refused as a whole: nothing has run, and a retry can succeed."""
    error = outcome.error
    if (
        error is None
        or error["code"] != ErrorCode.SERVICE_UNAVAILABLE
        or any(s.status != "not_run" for s in outcome.steps)
    ):
        return outcome
    facts = {
        "hint": suspended_hint(resumes_ms),
        "retryable": True,
        "details": {**error.get("details", {}), "retryAfterMs": resumes_ms},
    }
    return replace(outcome, error={**error, **facts})


def unreadable(problem: str, transport: Mapping[str, int] | None = None) -> EngineError:
    """Return RESULT_ENVELOPE_MALFORMED for a result that cannot be put together.

    ``transport``: of one in chunk records, what arrived. The app writes a result when its plan is over.
    """
    if not transport:
        message = f"The result envelope cannot be read: {problem}"
        return EngineError(ErrorCode.RESULT_ENVELOPE_MALFORMED, message, details={"reason": problem})
    message = f"The Operator app has run the plan, but its result cannot be read: {problem}"
    details = {"bytesCollected": transport["receivedBytes"], "reason": problem, "transport": dict(transport)}
    return EngineError(ErrorCode.RESULT_ENVELOPE_MALFORMED, message, hint=RESULT_LOST_HINT, details=details)


def status_of(answer: Mapping[str, Any]) -> Status:
    """Return the status of an answer: that of its outcome; without one, ``unknown`` if the device may have received the command.

    A report of several executions that failed in the last one has the status of that.
    """
    if "outcome" in answer:
        status: Status = answer["outcome"]["status"]
        return status
    if answer.get("ok"):
        return "succeeded"
    if "executions" in answer:
        ran = answer["executions"]
        last = ran[-1]["outcome"]["status"] if ran and len(ran) == answer.get("planned") else "failed"
        return "failed" if last == "succeeded" else cast("Status", last)
    dispatched = answer.get("error", {}).get("broadcastDispatchStatus", "not_sent")
    return "failed" if dispatched == "not_sent" else "unknown"
