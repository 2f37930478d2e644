"""One execution as a time line: what the host did, then the steps. What nobody saw has no time here."""

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
    "validate": "payload is checked",
    "device": "device is chosen",
    "check": "Operator is there",
    "lock": "device is reserved",
    "close": "apps are closed",
    "attach": "log is opened",
    "dispatch": "command goes out",
    "run": "device does it",
    "parse": "answer is read",
    "pictures": "screenshots are taken",
    "finish": "result is completed",
}
"""The phases of a run in their order, and what happens in each."""

_SCALES = (1, 2, 5, 10, 15, 20, 30, 60, 120, 180)
"""Lengths in seconds of the axis of a run that goes on: it is drawn anew at each of them, not at every moment."""


@dataclass(frozen=True, slots=True)
class Phase:
    """A part of the host's work. ``start`` and ``length`` in milliseconds; ``meaning`` is empty for one without a name here."""

    name: str
    start: float
    length: float
    meaning: str


@dataclass(frozen=True, slots=True)
class TimedStep:
    """A step at its place. ``start``, ``end``, ``until`` and ``ticks`` (its retries) are seconds since the beginning.

    ``start`` is ``nan`` where no timing was seen, ``end`` also while it runs and where its end was not seen: ``until`` is
    when it was over at the latest, or now. ``step`` is ``None`` for an action of the
    payload of which nothing has been reported; its ``status`` then says what is known of it all the same. ``cut_off``: it
    was under way when the run ended without a result.
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
    """``length`` is what the bars are measured by, ``budget`` what the plan may use (0: unknown); all in seconds.

    ``unreported`` counts actions of which not even the name is known.
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
        """Milliseconds of all phases together."""
        return sum(phase.length for phase in self.phases)

    @property
    def timed(self) -> bool:
        """Whether the timing of any step was seen."""
        return any(not math.isnan(step.start) for step in self.steps)

    @property
    def share(self) -> float:
        """The part of the budget that is used: 1.0 is all of it; ``nan`` without a budget."""
        return self.elapsed / self.budget if self.budget else math.nan


def timeline(execution: ExecutionState, now: float) -> Timeline:
    """The time line of ``execution`` as known at ``now``."""
    elapsed = max(0.0, execution.elapsed(now))
    steps = tuple(_steps(execution, now))
    ends = [step.until for step in steps if not math.isnan(step.until)]  # after the end where the result was late
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
    """One after the other, as they happen; those without a name here at the end."""
    start = 0.0
    for name in [*(name for name in PHASES if name in milliseconds), *(milliseconds.keys() - PHASES.keys())]:
        length = max(0.0, milliseconds[name])
        yield Phase(name, start, length, PHASES.get(name, ""))
        start += length


def _steps(execution: ExecutionState, now: float) -> Iterator[TimedStep]:
    """The reported steps in their order, then the actions of the payload that are still to come."""
    planned = tuple(_actions(execution.payload))
    types = {str(action.get("id")): str(action.get("type", "")) for action in planned}
    for number, (step, until) in enumerate(_with_ends(execution, now), 1):
        yield _timed(execution, step, number, types.get(step.id, ""), until)
    rest = _status_of_rest(execution)
    for number, action in enumerate(_left(planned, execution.steps), len(execution.steps) + 1):
        yield TimedStep(number, str(action.get("id", "")), str(action.get("type", "")), rest)


def _with_ends(execution: ExecutionState, now: float) -> Iterator[tuple[StepState, float]]:
    """Each step with the moment at which it was over at the latest: its end, the next one's start, the end of the run."""
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
    """What became of actions without a report: to come, not reached, or nobody knows."""
    if not execution.over:
        return Status.IDLE
    if was_sent(execution) is False:
        return Status.SKIPPED
    broke_off = execution.envelope is not None and any(step.status is Status.FAILED for step in execution.steps)
    return Status.SKIPPED if broke_off else Status.UNKNOWN
