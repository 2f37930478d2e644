"""Facts derived from the live lines of an execution: whether it was sent, the last response, the step; and which run an
event is about, as a commandId can be used again, also while a run that has it goes on. Pure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Protocol

from clawperator.engine.contracts.limits import (
    DOCTOR_SOURCE,
    ENVELOPE_WAIT_BUFFER_MS,
    FOLLOW_SOURCE,
    MAX_EXECUTION_TIMEOUT_MS,
)
from clawperator.engine.contracts.operator_identity import BRANDS
from clawperator.engine.contracts.read_only import OBSERVING
from clawperator.engine.errors import ErrorCode
from clawperator.widgets.models.execution import ExecutionState, Item
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.widgets.models.execution import LiveLine, StepState
    from clawperator.widgets.models.snapshot import TreeSnapshot

_HOST_KINDS = frozenset(
    {"sent", "locked", "dispatched", "gave up", "result", "late", "duplicate", "gap", "gone", "silence"}
)
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


class Runs(Protocol):
    """What an ``ExecutionLog`` knows of runs."""

    items: list[Item]

    def run_at(self, device_id: str, command_id: str, moment: float) -> ExecutionState | None:
        """Return the run that had the command at ``moment``."""


def acted_since(log: Runs, snapshot: TreeSnapshot) -> str:
    """Return why the screen may have changed since ``snapshot``, as ``a click ran since``; empty where nothing acted.

    An action that changes nothing or found no node does not count, nor one that ran before the snapshot in the same
    run. Another run counts from its start, unless it is known to change nothing.
    """
    owner = log.run_at(snapshot.device_id, snapshot.command_id, snapshot.at)
    possible = ""
    for run in reversed(log.items):
        if not isinstance(run, ExecutionState) or run.device_id != snapshot.device_id:
            continue
        if run.over and run.ended <= snapshot.at:
            if run.started < snapshot.at - _LONGEST_SECONDS:
                break
            continue
        later = _steps_since(run, snapshot, own=run is owner)
        for step in later:
            missed = step.status is Status.FAILED and ErrorCode.NODE_NOT_FOUND in (step.code, run.code)
            if step.type and step.type not in OBSERVING and not missed:
                return f"{'an' if step.type[0] in 'aeiou' else 'a'} {step.type} ran since"
        if run is not owner or any(not step.type for step in later):
            possible = possible or _may_act(run)
    return possible


_LONGEST_SECONDS = (MAX_EXECUTION_TIMEOUT_MS + ENVELOPE_WAIT_BUFFER_MS) / 1000
"""So long after it started a run may still end."""


def _steps_since(run: ExecutionState, snapshot: TreeSnapshot, *, own: bool) -> list[StepState]:
    """Return the steps that ended after ``snapshot``, newest first; ``own``: the run that took it."""
    ended = takewhile(lambda step: not step.ended <= snapshot.at, reversed(run.steps))
    return [*takewhile(lambda step: not (own and step.id == snapshot.step_id), ended)]


def _may_act(run: ExecutionState) -> str:
    """Return why a run of which no action is known may have changed the screen; empty where it did not."""
    if _observes(run):
        return ""
    if not run.over:
        return "an execution is running"
    lost = run.envelope is None and was_sent(run) is not False
    return "an execution ran since, its outcome is unknown" if lost else ""


def _observes(run: ExecutionState) -> bool:
    """Return whether the run is known to change nothing."""
    if run.payload is not None:
        return all(action.get("type") in OBSERVING for action in run.payload.get("actions") or ())
    types = [step.type for step in run.steps]
    return run.source in (FOLLOW_SOURCE, DOCTOR_SOURCE) or (
        0 < run.action_count <= len(types) and all(kind in OBSERVING for kind in types)
    )


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


# -- which run an event is about

START_LINES = tuple(f"[{brand}-Command] start ".encode() for brand in BRANDS)
Key = tuple[str, str]
"""Device and commandId."""


def time_limit(run: ExecutionState) -> float:
    """Return when its result is overdue."""
    return run.started + ((run.timeout_ms or MAX_EXECUTION_TIMEOUT_MS) + ENVELOPE_WAIT_BUFFER_MS) / 1000


class RunIndex:
    """The runs of each command on a device, oldest first. A device runs one after another: what it reports after a start
    line is about the run that this line began.
    """

    def __init__(self) -> None:
        self._runs: dict[Key, list[ExecutionState]] = {}
        self._attempts: dict[Key, ExecutionState] = {}
        """By executionId and commandId: the attempts of this process."""
        self._placed: dict[Key, ExecutionState] = {}
        """The run of the last line in the ring."""

    def add(self, run: ExecutionState, execution_id: str = "") -> None:
        runs = self._runs.setdefault((run.device_id, run.command_id), [])
        run.nth = runs[-1].nth + 1 if runs else 1
        runs.append(run)
        if execution_id:
            run.execution_id = execution_id
            self._attempts[execution_id, run.command_id] = run

    def forget(self, run: ExecutionState) -> None:
        key = run.device_id, run.command_id
        if run in (runs := self._runs.get(key, [])):
            runs.remove(run)
        if not runs:
            self._runs.pop(key, None)
        if self._attempts.get((run.execution_id, run.command_id)) is run:
            del self._attempts[run.execution_id, run.command_id]
        if self._placed.get(key) is run:
            del self._placed[key]

    def attempt(self, execution_id: str, command_id: str, device_id: str) -> ExecutionState | None:
        """Return the attempt of that id."""
        self._resolve(device_id, command_id)
        return self._attempts.get((execution_id, command_id))

    def _resolve(self, device_id: str, command_id: str) -> None:
        """Take attempts for this device's that started before their device was resolved."""
        for run in self._runs.pop(("", command_id), ()) if device_id else ():
            run.device_id = device_id
            self.add(run, run.execution_id)

    def newest(self, device_id: str, command_id: str) -> ExecutionState | None:
        return next(self._newest_first((device_id, command_id)), None)

    def begun_by(self, device_id: str, command_id: str, at: float) -> ExecutionState | None:
        """Return the run that a start line at ``at`` begins; ``None``: one that was not known."""
        self._resolve(device_id, command_id)
        for run in self._newest_first((device_id, command_id)):
            if run.begun:
                return run if not run.over and not run.steps else None  # a second stream of the log repeats its lines
            if not run.raw and was_sent(run) is not False and (not run.over or at <= time_limit(run)):
                return run
        return None

    def about(self, device_id: str, command_id: str, raw: str = "") -> ExecutionState | None:
        """Return the run that another line is about, with the envelope ``raw``: late lines are about the last one that began."""
        self._resolve(device_id, command_id)
        waiting: list[ExecutionState] = []
        for run in self._newest_first((device_id, command_id)):
            if run.begun:
                if not waiting or run.envelope is None or (raw and raw == run.raw):
                    return run
                break
            if was_sent(run) is not False:
                waiting.append(run)
        running = (run for run in waiting if not run.over)
        return next(running, waiting[0] if waiting else self.newest(device_id, command_id))

    def at(self, device_id: str, command_id: str, moment: float) -> ExecutionState | None:
        """Return the run that had the command at ``moment``; the first one for an earlier moment."""
        run = None  # the last one is the oldest
        for run in self._newest_first((device_id, command_id)):
            if run.started <= moment:
                break
        return run

    def of_line(self, device_id: str, command_id: str, *, begins: bool) -> ExecutionState | None:
        """Return the run of the next line in the ring, which may begin one."""
        key = device_id, command_id
        runs = self._runs.get(key, [])
        if key not in self._placed or begins:
            first = runs.index(self._placed[key]) + 1 if key in self._placed else 0
            later = [run for run in runs[first:] if run.begun] or [run for run in runs[first:] if not run.over]
            if later or runs[:1]:
                self._placed[key] = (later or runs[-1:])[0]
        return self._placed.get(key)

    def superseded(self, run: ExecutionState) -> Iterator[ExecutionState]:
        """Yield older runs of its command that were seen running: ``run`` has begun, so they are over."""
        older = self._newest_first((run.device_id, run.command_id))
        yield from (old for old in older if old is not run and old.begun and not old.over and not old.ours)

    def _newest_first(self, key: Key) -> Iterator[ExecutionState]:
        return reversed(self._runs.get(key, []))


def is_newer(since: float, run: ExecutionState) -> bool:
    """Return whether a device lock that is held since ``since`` is of a later run with the same command."""
    if run.over:
        return since > (run.started if math.isnan(run.ended) else run.ended)
    return run.begun and not run.ours and since > run.started
