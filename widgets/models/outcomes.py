"""How an execution ends: by its envelope, by a failure, or with an unknown outcome. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from clawperator.engine.contracts.derived import derived_code
from clawperator.widgets.models.execution import ExecutionState, StepState
from clawperator.widgets.models.status import Status

_HOST_CLOSES = "UNSUPPORTED_RUNTIME_CLOSE"
"""The Operator's expected refusal of ``close_app``, which the host does instead:

no failure (wire.md#actions-and-how-they-fail).
"""


def settle(execution: ExecutionState, envelope: Mapping[str, Any], at: float) -> None:
    """Apply the envelope; live timing of its steps is kept."""
    execution.envelope = envelope
    execution.task_id = execution.task_id or str(envelope.get("taskId", ""))
    execution.ended = at if math.isnan(execution.ended) else execution.ended
    results = [result for result in envelope.get("stepResults") or () if isinstance(result, Mapping)]
    _take_results(execution, results, at)
    failed = [step for step in execution.steps if step.status is Status.FAILED]
    if envelope.get("status") == "success":
        execution.status = Status.WARN if failed else Status.OK
        execution.code, execution.message = (failed[0].code, "") if failed else ("", "")
    else:
        reason = str(envelope.get("error") or "")
        code = str(envelope.get("errorCode") or derived_code(reason) or "")  # most codes are derived from the text
        fail(execution, execution.ended, code, reason)
    execution.action_count = execution.action_count or len(results)


def fail(execution: ExecutionState, at: float, code: str, message: str) -> None:
    execution.status, execution.ended = Status.FAILED, at
    execution.code, execution.message = code, message
    for step in execution.steps:
        if step.status is Status.RUNNING:
            step.status, step.ended, step.code = Status.FAILED, at, code


def lose(execution: ExecutionState, at: float, why: str) -> None:
    """End it with an unknown outcome."""
    execution.status, execution.ended, execution.message = Status.UNKNOWN, at, why
    for step in execution.steps:
        if step.status is Status.RUNNING:
            step.status = Status.UNKNOWN


def _take_results(execution: ExecutionState, results: Iterable[Mapping[str, Any]], at: float) -> None:
    known = {step.id: step for step in execution.steps}
    for result in results:
        step = known.get(str(result.get("id")))
        if step is None:
            step = StepState(str(result.get("id", "")))
            execution.steps.append(step)
        data = result.get("data")
        step.type = str(result.get("actionType", ""))
        step.data = data if isinstance(data, Mapping) else {}
        step.code = str(step.data.get("error", "")) if not result.get("success") else ""
        calm = step.type == "close_app" and step.code == _HOST_CLOSES
        step.status = Status.OK if result.get("success") or calm else Status.FAILED
        if calm:
            step.code, step.note = "", "closed by the host"
        if math.isnan(step.ended) and not math.isnan(step.started):
            step.ended = at
