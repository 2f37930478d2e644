"""What the signs of life of an execution prove: whether it was sent, what was seen last, at which step. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.widgets.models.execution import ExecutionState, LiveLine, StepState

_OF_THE_HOST = frozenset({"sent", "dispatched", "gave up", "result", "late", "duplicate", "gap", "gone", "silence"})
"""Kinds of lines that are no sign of work on the device. "sent" is the beginning of the run, not its way to the device."""


def was_sent(execution: ExecutionState) -> bool | None:
    """Whether the command went out to the device; ``None`` where that is not known (yet)."""
    if execution.raw or execution.envelope is not None or last_sign(execution) is not None:
        return True
    if any(line.kind == "dispatched" for line in execution.lines):
        return True
    if execution.status is Status.SKIPPED:
        return False
    return False if execution.over and execution.ours and execution.gave_up else None


def last_sign(execution: ExecutionState) -> LiveLine | None:
    """The newest line that shows the device at work."""
    return next((line for line in reversed(execution.lines) if line.kind not in _OF_THE_HOST), None)


def step_at(execution: ExecutionState, moment: float) -> tuple[int, StepState] | None:
    """The step that was under way at ``moment``, with its number from 1."""
    for number, step in reversed(tuple(enumerate(execution.steps, 1))):
        if not math.isnan(step.started) and step.started <= moment:
            return number, step
    return None


def failed_steps(execution: ExecutionState) -> list[tuple[int, StepState]]:
    """The steps that are known to have failed, each with its number from 1."""
    return [
        (number, step)
        for number, step in enumerate(execution.steps, 1)
        if step.status is Status.FAILED and not cut_off(execution, step)
    ]


def node_taken(execution: ExecutionState, step: StepState) -> str:
    """The node that the step acted on, with its bounds and how many others matched; empty where that is not known."""
    steps = execution.outcome.get("steps") or ()
    target = next((told.get("target") or {} for told in steps if told.get("id") == step.id), {})
    if "bounds" not in target:
        return ""
    others = target.get("matched", 1) - 1
    more = f", the first of {others + 1} that matched" if others else ""
    return f"{_node_name(target)} {target['bounds']}{more}"


def nodes_near(execution: ExecutionState, step: StepState) -> Iterator[str]:
    """What came near where ``step`` found no node, each with what keeps it from matching."""
    if (execution.outcome.get("failedStep") or {}).get("id") != step.id:
        return
    for near in ((execution.outcome.get("error") or {}).get("details") or {}).get("nearest") or ():
        missed = [f"{field['field']}: {field['reason']}" for field in near["fields"] if not field["ok"]]
        reasons = "; ".join([*missed, *([near["offScreen"]] if near.get("offScreen") else [])])
        yield f"{_node_name(near['node'])} {near['node']['bounds']}{' — ' if reasons else ''}{reasons}"


def _node_name(node: Mapping[str, Any]) -> str:
    text = node.get("text") or node.get("contentDesc")
    names = (f'"{text}"' if text else "", node.get("resourceId", ""))
    return " ".join(filter(None, names)) or str(node.get("class", "a node"))


def when_given_up(execution: ExecutionState) -> float:
    """When this host stopped waiting; ``nan`` where it did not."""
    return next((line.at for line in execution.lines if line.kind in ("gave up", "silence")), math.nan)


def when_answered(execution: ExecutionState) -> float:
    """When the first envelope came; ``nan`` where none did."""
    return next((line.at for line in execution.lines if line.kind in ("result", "late")), math.nan)


def cut_off(execution: ExecutionState, step: StepState) -> bool:
    """Whether the step was under way when the run ended without a result: nobody knows how it went on."""
    if not execution.over or execution.envelope is not None or was_sent(execution) is False:
        return False
    if step.status is Status.FAILED:
        return step.code == execution.code
    return step.status is Status.UNKNOWN and step is execution.steps[-1]


def end_seen(execution: ExecutionState, step: StepState) -> float:
    """When the step ended; ``nan`` where that was not seen: this host giving up is no end of a step."""
    return math.nan if step.ended == when_given_up(execution) else step.ended
