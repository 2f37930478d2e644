"""The steps of a run, from what was planned, what the live lines told and what the envelope says. Pure."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from clawperator.engine.errors import ErrorCode
from clawperator.engine.history.rows import LineRow, StepRow
from clawperator.engine.logcat.stages import type_of_stage

_ERROR = re.compile(r"[{ ]error=([A-Z][A-Z_]+)[,}]")


class _Step:
    """One step while its story is told."""

    def __init__(self, step_id: str, step_type: str = "") -> None:
        self.id, self.type = step_id, step_type
        self.status, self.code = "unknown", ""
        self.started_at = self.ended_at = math.nan
        self.retries = 0

    def row(self, index: int) -> StepRow:
        return StepRow(index, self.id, self.type, self.status, self.code, self.started_at, self.ended_at, self.retries)


def steps_of(
    planned: Iterable[tuple[str, str]], lines: Sequence[LineRow] = (), envelope: Mapping[str, Any] | None = None
) -> tuple[StepRow, ...]:
    """``planned``: id and type of each action, where that is known; ``envelope`` as the caller got it.

    The envelope decides how a step ended; of a plan that failed it may tell nothing, then the lines do. Where a plan was cut
    short, the step that ran then has failed, with the plan's code.
    """
    steps = {step_id: _Step(step_id, step_type) for step_id, step_type in planned}
    running = _tell_times(steps, lines)
    for result in (envelope or {}).get("stepResults") or ():
        _take_result(steps.setdefault(str(result["id"]), _Step(str(result["id"]))), result)
    if envelope is not None and envelope.get("status") != "success" and running and running.status == "unknown":
        running.status, running.code = "failed", str(envelope.get("errorCode") or "")
        if math.isnan(running.ended_at) and lines:
            running.ended_at = lines[-1].at
    return tuple(step.row(index) for index, step in enumerate(steps.values()))


def _tell_times(steps: dict[str, _Step], lines: Iterable[LineRow]) -> _Step | None:
    """Note what the lines say; the step that was begun last and never reported done."""
    running: _Step | None = None
    for line in lines:
        if line.kind == "step-start":
            step_id = line.fields.get("id", "")
            running = steps.setdefault(step_id, _Step(step_id))
            running.started_at = line.at
        elif running is None:
            continue
        elif line.kind == "step-success" and line.fields.get("id") == running.id:
            running.ended_at = line.at
            _end_as_told(running, line.fields.get("data", ""))
            running = None
        elif line.kind == "stage-start":
            running.type = running.type or type_of_stage(line.fields.get("id", ""))
        elif line.kind == "stage-retry":
            running.retries += 1
        elif line.kind == "stage-failure":
            running.ended_at = line.at
    return running


def _end_as_told(step: _Step, data: str) -> None:
    """Every step that came to its end says ``step_success``, with an error in its data if it failed (wire §5.2)."""
    error = _ERROR.search(data)
    step.status, step.code = ("failed", error[1]) if error else ("success", "")


def _take_result(step: _Step, result: Mapping[str, Any]) -> None:
    data = result.get("data") or {}
    step.type = step.type or str(result.get("actionType", ""))
    closed_by_host = step.type == "close_app" and data.get("error") == ErrorCode.UNSUPPORTED_RUNTIME_CLOSE
    if result.get("success") or closed_by_host:
        step.status, step.code = "success", ""
    else:
        step.status, step.code = "failed", str(data.get("error") or "")
