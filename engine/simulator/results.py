"""The Operator's results as it writes them: envelopes of each generation, in one line or in chunk records (wire.md#envelope, wire.md#chunk-records)."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping
from hashlib import sha256

from clawperator.engine.runtime.outcome import PlanOutcome, StepReport
from clawperator.engine.runtime.plan import OperatorPlan, PlanStep

LONGEST_LINE = 3_000
"""Bytes of a result with its prefix that are written as one line, from Operator 0.10 on."""
_CHUNK_BYTES = 1_024
_CODES = (
    ("No UI node found matching criteria", "NODE_NOT_FOUND"),
    ("Target node not found after scrolling", "NODE_NOT_FOUND"),
    ("Timeout waiting for node matching", "WAIT_TIMEOUT"),
    ("NODE_AMBIGUOUS", "NODE_AMBIGUOUS"),
    ("CONTAINER_AMBIGUOUS", "CONTAINER_AMBIGUOUS"),
    ("Container not found", "CONTAINER_NOT_FOUND"),
    ("No scrollable container visible", "CONTAINER_NOT_FOUND"),
    ("Click at coordinate", "GESTURE_FAILED"),
    ("GESTURE_FAILED", "GESTURE_FAILED"),
    ("GESTURE_UNSUPPORTED", "GESTURE_UNSUPPORTED"),
    ("SNAPSHOT_HIERARCHY_UNAVAILABLE", "SNAPSHOT_HIERARCHY_UNAVAILABLE"),
    ("UI tree not available", "UI_TREE_UNAVAILABLE"),
    ("Agent command timed out", "COMMAND_TIMEOUT"),
)
"""The codes of the texts with which steps end a plan, from Operator 0.10 on; all others are ACTION_FAILED."""


def success_envelope(plan: OperatorPlan, outcome: PlanOutcome) -> dict[str, object]:
    """wire.md#envelope, in its key order."""
    return {
        **_head(plan),
        "status": "success",
        "stepResults": [step.to_dict() for step in outcome.records],
        "error": None,
    }


def failed_envelope(plan: OperatorPlan, error: str, error_code: str = "") -> dict[str, object]:
    """A failure without steps: up to Operator 0.9 of every plan, later where the service is off."""
    envelope = {**_head(plan), "status": "failed", "stepResults": [], "error": error}
    return {**envelope, "errorCode": error_code} if error_code else envelope


def typed_envelope(plan: OperatorPlan, outcome: PlanOutcome, running: PlanStep | None) -> dict[str, object]:
    """From Operator 0.10 on: failed steps have a code, and a plan that failed in the step ``running`` has all steps up to it."""
    steps = [_typed_step(report) for report in outcome.records]
    if not outcome.reason:
        return {**_head(plan), "status": "success", "stepResults": steps, "error": None}
    code = next((code for text, code in _CODES if outcome.reason.startswith(text)), "ACTION_FAILED")
    if running is not None:
        data = {**outcome.failed_data, "errorCode": code, "error": outcome.reason}
        steps.append({"id": running.id, "actionType": running.type, "success": False, "data": data})
    return {**_head(plan), "status": "failed", "stepResults": steps, "error": outcome.reason, "errorCode": code}


def _typed_step(report: StepReport) -> dict[str, object]:
    step = report.to_dict()
    if not report.outcome.success:
        step["data"] = {
            **report.outcome.data,
            "errorCode": report.outcome.data.get("errorCode") or report.outcome.error or "ACTION_FAILED",
        }
    return step


def _head(plan: OperatorPlan) -> dict[str, object]:
    return {"commandId": plan.command_id, "taskId": plan.task_id}


def json_line(value: Mapping[str, object]) -> str:
    """One line; non-ASCII stays raw, control characters are escaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def chunk_records(line: str, command_id: str, task_id: str) -> Iterator[dict[str, object]]:
    """The records of a result's whole ``line``, with its prefix."""
    raw = line.encode("utf-8", "replace")
    count, digest = -(-len(raw) // _CHUNK_BYTES), sha256(raw).hexdigest()
    for index in range(count):
        piece = raw[index * _CHUNK_BYTES : (index + 1) * _CHUNK_BYTES]
        yield {
            "commandId": command_id,
            "taskId": task_id,
            "index": index,
            "count": count,
            "byteLength": len(raw),
            "sha256": digest,
            "data": base64.b64encode(piece).decode(),
        }
