"""Live lines of the Operator: their effect on an execution, and their words."""

from __future__ import annotations

from clawperator.engine.events.types import CommandProgress
from clawperator.engine.logcat.stages import brief, type_of_stage
from clawperator.widgets.models.execution import ExecutionState, LiveLine, StepState
from clawperator.widgets.models.status import Status

REDUNDANT_KINDS = frozenset(
    {"ui-start", "ui-end", "task-start", "task-success", "snapshot-start", "answered", "stage-log"}
)
"""Lines that repeat others; only the log views show them."""


STANDALONE_KINDS = frozenset({"no-window", "action-ignored", "envelope-failure", "service-unavailable", "event"})
"""Lines that are shown even without a known command."""


def apply_progress(execution: ExecutionState, event: CommandProgress) -> None:
    """Apply one live line to its execution."""
    fields = event.fields
    if event.kind == "queued" and not execution.over:
        execution.status = Status.WAITING
    elif event.kind == "start":
        execution.status = execution.status if execution.over else Status.RUNNING
        execution.task_id, execution.source = fields.get("taskId", ""), fields.get("source", "")
        execution.timeout_ms = _number(fields.get("timeoutMs"))
        execution.action_count = _number(fields.get("actionCount"))
    elif event.kind == "step-start":
        if (before := execution.running_step) is not None:  # steps are sequential: its end was not seen
            before.status = Status.UNKNOWN
        execution.steps.append(StepState(fields.get("id", "?"), started=event.at))
        execution.stage = ""  # not every step has one
    elif event.kind == "step-success":
        for step in execution.steps:
            if step.id == fields.get("id") and step.status is Status.RUNNING:
                step.status, step.ended = Status.OK, event.at
    elif event.kind == "stage-start":
        execution.stage = fields.get("id", "")
        if (running := execution.running_step) is not None:
            running.type = running.type or type_of_stage(execution.stage)
    elif event.kind == "stage-retry" and (running := execution.running_step) is not None:
        running.retries += 1
        running.retry = fields.get("attempt", "")
    elif event.kind == "stage-failure":
        execution.message = fields.get("reason", "")
        if (running := execution.running_step) is not None:
            running.status, running.ended = Status.FAILED, event.at


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 12 else 0


def counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


_KIND_STATUS = {
    "queued": Status.WAITING,
    "stage-retry": Status.WARN,
    "stage-success": Status.OK,
    "step-success": Status.OK,
    "success": Status.OK,
    "stage-failure": Status.FAILED,
    "failure": Status.FAILED,
}


def live_line(event: CommandProgress) -> LiveLine:
    fields = event.fields
    what = brief(fields.get("id", ""))
    words = {
        "queued": "waiting for the previous command",
        "start": f"{counted(_number(fields.get('actionCount')), 'action')}, {_number(fields.get('timeoutMs')) / 1000:.1f} s budget",
        "stage-retry": f"{what} {fields.get('attempt', '')} in {_number(fields.get('delayMs')) / 1000:.1f} s",
        "stage-failure": f"{what}: {brief(fields.get('reason', ''))}",
        "failure": brief(fields.get("reason", "")),
        "success": f"plan completed, {counted(_number(fields.get('stepCount')), 'step')}",
    }.get(event.kind, what or event.text)
    return LiveLine(event.at, _KIND_STATUS.get(event.kind, Status.RUNNING), event.kind, words)
