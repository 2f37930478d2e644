"""A recorded run as the console shows it: as an execution, and event by event. Pure."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from clawperator.engine.events.types import (
    CommandProgress,
    EngineEvent,
    EnvelopeSeen,
    ExecutionDispatched,
    ExecutionFinished,
    ExecutionStarted,
)
from clawperator.engine.history.records import HOST_KINDS
from clawperator.engine.logcat.stages import brief
from clawperator.widgets.models.execution import ExecutionState, LiveLine, StepState, TreeMark
from clawperator.widgets.models.executions import ExecutionLog
from clawperator.widgets.models.operator_lines import counted
from clawperator.widgets.models.outcomes import lose
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.engine.history.records import LineRecord, RunRecord, RunSummary

_STEP_STATES = {"success": Status.OK, "failed": Status.FAILED}
"""Step states by their names in the history; others are unknown."""

# -- moments

What = Literal["begin", "dispatched", "step", "retry", "tree", "step end", "result", "interrupted"]


@dataclass(frozen=True, slots=True)
class Moment:
    """An event of a run. ``at`` is host time, ``offset`` seconds since the start.

    ``step``, ``line`` and ``tree`` are positions in the run: its step, its line (else the last one before it), the
    tree on screen then; -1 for none. ``detail`` is untrusted text.
    """

    at: float
    offset: float
    what: What
    step: int = -1
    line: int = -1
    tree: int = -1
    detail: str = ""


@dataclass(frozen=True, slots=True)
class _Mark:
    """A moment without its context. ``rank`` orders simultaneous events of a step."""

    at: float
    step: int
    rank: int
    what: What
    line: int = -1
    tree: int = -1
    detail: str = ""


_LAST = 1_000_000
"""Sorts after every step of a plan."""


def moments(run: ExecutionState) -> tuple[Moment, ...]:
    """Return the known events of a run in order."""
    marks = [mark for mark in _marks(run) if not math.isnan(mark.at)]
    marks.sort(key=lambda mark: (mark.at, mark.step, mark.rank))
    times = [line.at for line in run.lines]
    shown, found = -1, []
    for mark in marks:
        shown = mark.tree if mark.tree >= 0 else shown
        line = mark.line if mark.line >= 0 else bisect_right(times, mark.at) - 1
        step = mark.step if mark.step < _LAST else -1
        found.append(Moment(mark.at, mark.at - run.started, mark.what, step, line, shown, mark.detail))
    return tuple(found)


def _marks(run: ExecutionState) -> Iterator[_Mark]:
    yield _Mark(run.started, -1, 0, "begin")
    for index, step in enumerate(run.steps):
        yield _Mark(step.started, index, 0, "step", _line_of(run, "step-start", step, step.started))
        yield _Mark(step.ended, index, 3, "step end", _line_of(run, "step-success", step, step.ended))
    for place, line in enumerate(run.lines):
        if line.kind == "stage-retry":
            yield _Mark(line.at, _step_at(run, line.at), 1, "retry", place, detail=line.text)
        elif line.kind == "dispatched":
            yield _Mark(line.at, -1, 1, "dispatched", place)
    for place, tree in enumerate(run.trees):
        yield _Mark(tree.at, _step_of_tree(run, tree), 2, "tree", tree=place)
    if run.over:
        events = [run.ended, *(tree.at for tree in run.trees), *(step.ended for step in run.steps)]
        at = max((at for at in [*events, *(line.at for line in run.lines)] if not math.isnan(at)), default=run.started)
        yield _Mark(at, _LAST, 4, "interrupted" if run.status is Status.UNKNOWN else "result")


def _line_of(run: ExecutionState, kind: str, step: StepState, at: float) -> int:
    """Return the line about this event; -1 for none."""
    near = (
        place
        for place, line in enumerate(run.lines)
        if line.kind == kind and line.text == brief(step.id) and abs(line.at - at) < 1.0
    )
    return next(near, -1)


def _step_at(run: ExecutionState, at: float) -> int:
    """Return the step running at ``at``; -1 for none."""
    started = [place for place, step in enumerate(run.steps) if step.started <= at]
    return max(started, key=lambda place: (run.steps[place].started, place), default=-1)


def _step_of_tree(run: ExecutionState, tree: TreeMark) -> int:
    named = (index for index, step in enumerate(run.steps) if tree.step_id and step.id == tree.step_id)
    return next(named, _step_at(run, tree.at))


# -- the run as an execution


def execution_of(record: RunRecord) -> ExecutionState:
    """Return a recorded run as an execution, built from the same events as a live one."""
    summary = record.summary
    log = ExecutionLog(lines_kept=len(record.lines) + 2)
    log.apply(_events(record))
    execution = next(log.executions, None) or ExecutionState(
        summary.command_id, summary.device_id, 1, summary.started_at
    )
    _complete(execution, record)
    return execution


def _events(record: RunRecord) -> Iterator[EngineEvent]:
    summary = record.summary
    if summary.origin == "made":
        yield _started(record)
        if not record.lines:  # recorded at dispatch, and nothing afterwards
            yield _dispatched(summary, summary.started_at)
    done = False
    for line in record.lines:
        if line.kind == "result" and not done:
            done = True
            yield from _outcome(record, line.at)
        elif line.kind not in HOST_KINDS:
            yield _progress(summary, line)
        elif line.kind == "dispatched":
            yield _dispatched(summary, line.at)
    if not done:
        yield from _outcome(record, _end_of(record))


def _started(record: RunRecord) -> ExecutionStarted:
    summary = record.summary
    return ExecutionStarted(
        execution_id=summary.execution_id,
        command_id=summary.command_id,
        task_id=summary.task_id,
        source=summary.source,
        timeout_ms=summary.timeout_ms,
        action_count=summary.action_count,
        payload=record.payload or {},
        mode=summary.mode,
        backend=summary.backend,
        device_id=summary.device_id,
        at=summary.started_at,
    )


def _dispatched(summary: RunSummary, at: float) -> ExecutionDispatched:
    return ExecutionDispatched(
        execution_id=summary.execution_id, command_id=summary.command_id, device_id=summary.device_id, at=at
    )


def _progress(summary: RunSummary, line: LineRecord) -> CommandProgress:
    return CommandProgress(
        kind=line.kind,
        command_id=summary.command_id,
        fields=line.fields,
        text=line.text,
        device_id=summary.device_id,
        at=line.at,
    )


def _end_of(record: RunRecord) -> float:
    """Return when it ended; an interrupted run ends with its last event."""
    signs = [record.summary.ended_at, *(line.at for line in record.lines), *(tree.at for tree in record.trees)]
    signs += [step.ended_at for step in record.steps]
    return max((at for at in signs if not math.isnan(at)), default=record.summary.started_at)


def _outcome(record: RunRecord, at: float) -> Iterator[EngineEvent]:
    summary = record.summary
    if record.envelope is not None:
        yield EnvelopeSeen(
            command_id=summary.command_id,
            envelope=record.envelope,
            raw="".join(record.raw),
            parts=max(1, len(record.raw)),
            device_id=summary.device_id,
            at=at,
        )
    if summary.status in ("running", "interrupted"):
        return
    details = ((summary.outcome or {}).get("error") or {}).get("details")
    error = {"code": summary.code, "message": record.message, "details": details}
    yield ExecutionFinished(
        execution_id=summary.execution_id,
        command_id=summary.command_id,
        result={"ok": False, "error": error} if record.envelope is None else {"envelope": record.envelope},
        duration_ms=summary.duration_ms,
        phases=record.phases,
        warnings=record.warnings,
        device_id=summary.device_id,
        at=at,
    )


def _complete(execution: ExecutionState, record: RunRecord) -> None:
    """Add what the record knows beyond its lines."""
    summary = record.summary
    execution.started = summary.started_at
    for line in execution.lines[:1]:
        if line.kind == "sent":  # the line of the event is of a run of this console
            line.text = f"from {summary.face or 'the engine'}, {counted(summary.action_count, 'action')}"
    sent = any(line.kind == "dispatched" for line in execution.lines)
    # Runs of a console, and runs of this host that were never sent.
    execution.ours = summary.origin == "made" and (summary.face == "console" or not sent)
    execution.task_id, execution.source = summary.task_id, summary.source
    execution.mode, execution.backend = summary.mode, summary.backend
    execution.timeout_ms, execution.action_count = summary.timeout_ms, summary.action_count
    execution.payload, execution.phases, execution.warnings = record.payload, record.phases, record.warnings
    execution.outcome = summary.outcome or {}
    if summary.status == "interrupted":
        lose(execution, _end_of(record), interrupted_words(summary))
        execution.code = summary.code
    elif summary.status != "running":
        took = summary.duration_ms / 1000  # as rows and other programs say; the clock may have been set meanwhile
        execution.ended = _end_of(record) if math.isnan(took) else summary.started_at + took
    _complete_steps(execution, record)
    _complete_trees(execution, record)


def _complete_steps(execution: ExecutionState, record: RunRecord) -> None:
    known = {step.id: step for step in execution.steps}
    for done in record.steps:
        step = known.get(done.id)
        if step is None:
            if done.status in ("unknown", "not_run") and math.isnan(done.started_at):
                continue  # not reported
            step = StepState(done.id, status=_STEP_STATES.get(done.status, Status.UNKNOWN), data=done.data)
            execution.steps.append(step)
        step.type = step.type or done.type
        step.started, step.ended = done.started_at, done.ended_at
        step.retries = done.retries
        if step.status is Status.FAILED:
            step.code = step.code or done.code


def _complete_trees(execution: ExecutionState, record: RunRecord) -> None:
    execution.snapshots = len(record.trees)
    for tree in record.trees:
        execution.trees.append(TreeMark(tree.step_id, tree.at, tree.digest, tree.characters, tree.complete))
        words = f"snapshot, {tree.characters:,} characters" + ("" if tree.complete else ", incomplete")
        status = Status.OK if tree.complete else Status.WARN
        place = bisect_right(execution.lines, tree.at, key=lambda line: line.at)
        execution.lines.insert(place, LiveLine(tree.at, status, "snapshot", words, tree=tree.digest))


def interrupted_words(run: RunSummary) -> str:
    """Return why the end of a run is unknown."""
    if run.origin == "seen":
        return "No result was seen: the outcome is unknown"
    if not math.isnan(run.ended_at):
        return "The caller stopped waiting before the result arrived"
    return "The process that ran it ended before the result arrived"
