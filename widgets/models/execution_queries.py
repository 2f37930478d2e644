"""Facts derived from the live lines of an execution: whether it was sent, the last response, the step. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from clawperator.engine.contracts.read_only import OBSERVING
from clawperator.engine.errors import ErrorCode
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.widgets.models.execution import LiveLine, StepState
    from clawperator.widgets.models.executions import ExecutionLog
    from clawperator.widgets.models.snapshot import TreeSnapshot

_HOST_KINDS = frozenset({"sent", "dispatched", "gave up", "result", "late", "duplicate", "gap", "gone", "silence"})
"""Kinds of lines that are no response of the device. "sent" is the start of the run, not its dispatch."""


def was_sent(execution: ExecutionState) -> bool | None:
    """Return whether the command was dispatched to the device; ``None`` where unknown."""
    if execution.raw or execution.envelope is not None or last_sign(execution) is not None:
        return True
    if any(line.kind == "dispatched" for line in execution.lines):
        return True
    if execution.status is Status.SKIPPED:
        return False
    return False if execution.over and execution.ours and execution.gave_up else None


def acted_since(log: ExecutionLog, snapshot: TreeSnapshot) -> str:
    """Return the newest action that the device of ``snapshot`` ran after it, as ``a click ran since``; else empty.

    An action that changes nothing or found no node does not count, nor one that ran before the snapshot in the same
    execution.
    """
    for run in reversed(log.items):
        if not isinstance(run, ExecutionState) or run.device_id != snapshot.device_id:
            continue
        if run.over and run.ended <= snapshot.at:
            break
        same = run.command_id == snapshot.command_id
        for step in reversed(run.steps):
            if step.ended <= snapshot.at or (same and step.id == snapshot.step_id):
                break
            missed = step.status is Status.FAILED and ErrorCode.NODE_NOT_FOUND in (step.code, run.code)
            if step.type and step.type not in OBSERVING and not missed:
                return f"{'an' if step.type[0] in 'aeiou' else 'a'} {step.type} ran since"
    return ""


def last_sign(execution: ExecutionState) -> LiveLine | None:
    """Return the newest line that the device caused."""
    return next((line for line in reversed(execution.lines) if line.kind not in _HOST_KINDS), None)


def step_at(execution: ExecutionState, moment: float) -> tuple[int, StepState] | None:
    """Return the step that ran at ``moment`` with its number from 1."""
    for number, step in reversed(tuple(enumerate(execution.steps, 1))):
        if not math.isnan(step.started) and step.started <= moment:
            return number, step
    return None


def failed_steps(execution: ExecutionState) -> list[tuple[int, StepState]]:
    """Return the steps known to have failed, with their numbers from 1."""
    return [
        (number, step)
        for number, step in enumerate(execution.steps, 1)
        if step.status is Status.FAILED and not cut_off(execution, step)
    ]


def node_taken(execution: ExecutionState, step: StepState) -> str:
    """Return the node that the step acted on, its bounds and the number of other matches; empty where unknown."""
    steps = execution.outcome.get("steps") or ()
    target = next((result.get("target") or {} for result in steps if result.get("id") == step.id), {})
    if "bounds" not in target:
        return ""
    others = target.get("matched", 1) - 1
    more = f", the first of {others + 1} that matched" if others else ""
    return f"{node_name(target)} {target['bounds']}{more}"


def near_words(nearest: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """Yield nodes that nearly matched with their failing fields; texts that only look alike come first."""
    found = []
    for near in nearest:
        missed = [f"{field['field']}: {field['reason']}" for field in near["fields"] if not field["ok"]]
        reasons = "; ".join([*missed, *([near["offScreen"]] if near.get("offScreen") else [])])
        found.append(f"{node_name(near['node'])} {near['node']['bounds']}{' — ' if reasons else ''}{reasons}")
    yield from sorted(found, key=lambda words: "U+" not in words)


def node_name(node: Mapping[str, Any]) -> str:
    text = node.get("text") or node.get("contentDesc")
    names = (f'"{text}"' if text else "", node.get("resourceId", ""))
    return " ".join(filter(None, names)) or str(node.get("class", "a node"))


def when_given_up(execution: ExecutionState) -> float:
    """Return when this host stopped waiting; ``nan`` where it did not."""
    return next((line.at for line in execution.lines if line.kind in ("gave up", "silence")), math.nan)


def when_answered(execution: ExecutionState) -> float:
    """Return when the first envelope arrived; ``nan`` where none did."""
    return next((line.at for line in execution.lines if line.kind in ("result", "late")), math.nan)


def cut_off(execution: ExecutionState, step: StepState) -> bool:
    """Return whether the step was running when the run ended without a result."""
    if not execution.over or execution.envelope is not None or was_sent(execution) is False:
        return False
    if step.status is Status.FAILED:
        return step.code == execution.code
    return step.status is Status.UNKNOWN and step is execution.steps[-1]


def end_seen(execution: ExecutionState, step: StepState) -> float:
    """Return when the step ended; ``nan`` where unknown: a host timeout is not the end of a step."""
    return math.nan if step.ended == when_given_up(execution) else step.ended
