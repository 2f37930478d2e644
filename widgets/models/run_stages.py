"""An execution of this console in seven stages with state and time. Pure.

While it runs they follow from its live lines, afterwards from the measured phases.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.status import Status

STAGES: dict[str, tuple[str, ...]] = {
    "validate": ("validate",),
    "device": ("device", "check"),
    "lock": ("lock",),
    "broadcast": ("close", "attach", "dispatch"),
    "steps": ("run",),
    "snapshot": (),
    "result": ("parse", "pictures", "finish"),
}
"""Each stage with its host phases (``engine/executions/trace.py``)."""

_COUNTDOWN = re.compile(r" in ([0-9.]+) s$")


class RunStage(NamedTuple):
    """``seconds`` is ``nan`` where not measured; ``words`` are details."""

    name: str
    status: Status
    seconds: float = math.nan
    words: str = ""


def stages(execution: ExecutionState, now: float) -> Iterator[RunStage]:
    """Yield all stages in order, unreached ones included."""
    reached = _reached(execution)
    names = list(STAGES)
    for place, name in enumerate(names):
        if name == "snapshot":
            if _takes_trees(execution):
                yield _snapshot(execution)
            continue
        if place < reached:
            status = Status.OK
        elif place > reached:
            status = Status.SKIPPED if execution.over else Status.IDLE
        else:
            status = _present(execution)
        status = _of_steps(execution, status) if name == "steps" else status
        yield RunStage(name, status, _seconds(execution, name, now, here=place == reached), _words(execution, name))


def _reached(execution: ExecutionState) -> int:
    """Return the index of the current or last stage; past the end when all succeeded."""
    names = list(STAGES)
    if execution.envelope is not None or execution.problem:
        return len(names)
    if execution.phases:
        last = list(execution.phases)[-1]
        return next((place for place, name in enumerate(names) if last in STAGES[name]), names.index("result"))
    kinds = {line.kind for line in execution.lines}
    if kinds - {"sent", "dispatched", "gave up"}:
        return names.index("steps")
    return names.index("broadcast") if "dispatched" in kinds else names.index("lock")


def _present(execution: ExecutionState) -> Status:
    if not execution.over:
        return Status.RUNNING
    return execution.status if execution.status is not Status.OK else Status.FAILED


def _of_steps(execution: ExecutionState, status: Status) -> Status:
    """Return the state of the steps: a plan can complete although a step failed."""
    if execution.envelope is None or status is not Status.OK:
        return status
    return execution.status if execution.status in (Status.WARN, Status.FAILED) else Status.OK


def _takes_trees(execution: ExecutionState) -> bool:
    planned = execution.payload.get("actions", ()) if execution.payload is not None else ()
    types = [step.type for step in execution.steps] + [str(action.get("type")) for action in planned]
    return bool(execution.trees) or "snapshot_ui" in types


def _snapshot(execution: ExecutionState) -> RunStage:
    if not execution.trees:
        return RunStage(
            "snapshot",
            Status.SKIPPED if execution.over else Status.IDLE,
            words="no tree received" if execution.over else "",
        )
    count, last = len(execution.trees), execution.trees[-1]
    words = f"{last.characters:,} characters" if count == 1 else f"{count} trees"
    status = Status.OK if all(tree.complete for tree in execution.trees) else Status.WARN
    return RunStage("snapshot", status, words=words if status is Status.OK else f"{words}, incomplete")


def _seconds(execution: ExecutionState, name: str, now: float, *, here: bool) -> float:
    if execution.phases:
        took = [execution.phases[phase] for phase in STAGES[name] if phase in execution.phases]
        return sum(took) / 1000 if took else math.nan
    if not here or execution.over:
        return math.nan
    return now - max(
        (line.at for line in execution.lines if line.kind in ("sent", "dispatched")), default=execution.started
    )


def _words(execution: ExecutionState, name: str) -> str:
    if name == "device":
        return execution.device_id
    if name == "steps" and execution.action_count:
        done = sum(1 for step in execution.steps if step.status is Status.OK)
        return f"{done} of {execution.action_count} done"
    return ""


def retry_countdown(execution: ExecutionState, now: float) -> float:
    """Return the seconds until the waiting step is retried; 0 without a retry."""
    last = execution.lines[-1] if execution.lines else None
    if execution.over or last is None or last.kind != "stage-retry":
        return 0.0
    found = _COUNTDOWN.search(last.text)
    return max(0.0, last.at + float(found[1]) - now) if found is not None else 0.0
