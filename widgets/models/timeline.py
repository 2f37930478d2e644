"""One execution on a time axis: host phases and steps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clawperator.widgets.models.execution_queries import cut_off, end_seen, was_sent, when_answered
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.widgets.models.execution import ExecutionState, StepState

PHASES: Mapping[str, str] = {
    "validate": "validate payload",
    "device": "resolve device",
    "check": "check Operator",
    "lock": "lock device",
    "close": "close apps",
    "attach": "open log",
    "dispatch": "send command",
    "run": "run on device",
    "parse": "parse envelope",
    "pictures": "take screenshots",
    "finish": "build result",
}
"""The phases of a run in order, with their meaning."""

_SCALES = (1, 2, 5, 10, 15, 20, 30, 60, 120, 180)
"""Axis lengths in seconds of a running execution, so that it is redrawn at each of them only."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of the host's work. ``start`` and ``length`` in milliseconds; ``meaning`` is empty for an unknown one."""

    name: str
    start: float
    length: float
    meaning: str


@dataclass(frozen=True, slots=True)
class TimedStep:
    """A step on the axis; times are seconds since the start.

    ``start`` is ``nan`` where unknown, ``end`` also while it runs; ``until`` is when it was over at the latest, or now;
    ``ticks`` are its retries. ``step`` is ``None`` for an unreported action of the payload. ``cut_off``: it ran when
    the run ended without a result.
    """

    number: int
    id: str
    type: str
    status: Status
    start: float = math.nan
    end: float = math.nan
    until: float = math.nan
    ticks: tuple[float, ...] = ()
    step: StepState | None = None
    cut_off: bool = False

    @property
    def seconds(self) -> float:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Timeline:
    """``length`` is the scale of the bars, ``budget`` the time limit (0:

    unknown); in seconds. ``unreported`` counts actions without a name.
    """

    began: float
    elapsed: float
    length: float
    budget: float
    phases: tuple[Phase, ...]
    steps: tuple[TimedStep, ...]
    unreported: int

    @property
    def phases_length(self) -> float:
        """Return the total of all phases in milliseconds."""
        return sum(phase.length for phase in self.phases)

    @property
    def timed(self) -> bool:
        """Return whether any step has a time."""
        return any(not math.isnan(step.start) for step in self.steps)

    @property
    def share(self) -> float:
        """Return the used part of the budget, 1.0 for all of it; ``nan`` without a budget."""
        return self.elapsed / self.budget if self.budget else math.nan


def timeline(execution: ExecutionState, now: float) -> Timeline:
    """Return the time axis of ``execution`` at ``now``."""
    elapsed = max(0.0, execution.elapsed(now))
    steps = tuple(_steps(execution, now))
    ends = [step.until for step in steps if not math.isnan(step.until)]  # past the end where the result was late
    return Timeline(
        began=execution.started,
        elapsed=elapsed,
        length=max(elapsed, *ends, 0.0) if execution.over else _scale(elapsed),
        budget=execution.timeout_ms / 1000,
        phases=tuple(_phases(execution.phases)),
        steps=steps,
        unreported=max(0, execution.action_count - len(steps)),
    )


def _scale(seconds: float) -> float:
    return next((scale for scale in _SCALES if seconds <= scale), seconds)


def _phases(milliseconds: Mapping[str, float]) -> Iterator[Phase]:
    """Yield the phases in order, unknown ones last."""
    start = 0.0
    for name in [*(name for name in PHASES if name in milliseconds), *(milliseconds.keys() - PHASES.keys())]:
        length = max(0.0, milliseconds[name])
        yield Phase(name, start, length, PHASES.get(name, ""))
        start += length


def _steps(execution: ExecutionState, now: float) -> Iterator[TimedStep]:
    """Yield the reported steps in order, then the remaining actions of the payload."""
    planned = tuple(_actions(execution.payload))
    types = {str(action.get("id")): str(action.get("type", "")) for action in planned}
    for number, (step, until) in enumerate(_with_ends(execution, now), 1):
        yield _timed(execution, step, number, types.get(step.id, ""), until)
    rest = _status_of_rest(execution)
    for number, action in enumerate(_left(planned, execution.steps), len(execution.steps) + 1):
        yield TimedStep(number, str(action.get("id", "")), str(action.get("type", "")), rest)


def _with_ends(execution: ExecutionState, now: float) -> Iterator[tuple[StepState, float]]:
    """Yield each step with its latest possible end: its end, the next one's start, the end of the run."""
    ended = when_answered(execution) if execution.late else execution.ended
    last = now if math.isnan(ended) else ended
    starts = [*(step.started for step in execution.steps[1:]), last]
    for step, following in zip(execution.steps, starts, strict=False):
        end = end_seen(execution, step)
        until = following if math.isnan(end) else end
        yield step, last if math.isnan(until) else until


def _timed(execution: ExecutionState, step: StepState, number: int, planned: str, until: float) -> TimedStep:
    began = execution.started
    lost = cut_off(execution, step)
    retries = (line.at for line in execution.lines if line.kind == "stage-retry")
    return TimedStep(
        number=number,
        id=step.id,
        type=step.type or planned,
        status=Status.UNKNOWN if lost else step.status,
        start=step.started - began,
        end=end_seen(execution, step) - began,
        until=until - began,
        ticks=tuple(at - began for at in retries if step.started <= at <= until),
        step=step,
        cut_off=lost,
    )


def _actions(payload: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    actions = payload.get("actions") if payload is not None else None
    for action in actions if isinstance(actions, (list, tuple)) else ():
        if isinstance(action, Mapping):
            yield action


def _left(planned: Iterable[Mapping[str, Any]], reported: Iterable[StepState]) -> Iterator[Mapping[str, Any]]:
    seen = {step.id for step in reported}
    return (action for action in planned if str(action.get("id")) not in seen)


def _status_of_rest(execution: ExecutionState) -> Status:
    """Return the state of unreported actions: pending, skipped or unknown."""
    if not execution.over:
        return Status.IDLE
    if was_sent(execution) is False:
        return Status.SKIPPED
    broke_off = execution.envelope is not None and any(step.status is Status.FAILED for step in execution.steps)
    return Status.SKIPPED if broke_off else Status.UNKNOWN
