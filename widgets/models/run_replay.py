"""A finished run as the console shows it: as an execution like a live one, and moment by moment. Pure."""

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
from clawperator.widgets.models.execution import ExecutionState, LiveLine, StepState, TreeMark
from clawperator.widgets.models.executions import ExecutionLog
from clawperator.widgets.models.outcomes import lose
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.engine.history.records import LineRecord, RunRecord, RunSummary, StepRecord

STEP_STATES = {"success": Status.OK, "failed": Status.FAILED}
"""How a step ended, by the words of the history; anything else is not known."""

# -- moments

What = Literal["begin", "dispatched", "step", "retry", "tree", "step end", "result", "interrupted"]


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment of a run at which something happened. ``at`` is host time, ``offset`` seconds since the run began.

    ``step``, ``line`` and ``tree`` are positions in the record: the step that it belongs to, the line that tells of it (else
    the last one before it), the tree that was on screen then; -1 where there is none. ``detail`` is text from outside.
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
    """A moment before it is known what else was the case then. ``rank`` orders what happened at once within a step."""

    at: float
    step: int
    rank: int
    what: What
    line: int = -1
    tree: int = -1
    detail: str = ""


_LAST = 1_000_000
"""Behind every step of a plan."""


def moments(record: RunRecord) -> tuple[Moment, ...]:
    """The moments of a run in their order; of what nobody saw there are none."""
    began = record.summary.started_at
    marks = [mark for mark in _marks(record) if not math.isnan(mark.at)]
    marks.sort(key=lambda mark: (mark.at, mark.step if mark.step >= 0 else -1, mark.rank))
    times = [line.at for line in record.lines]
    shown, found = -1, []
    for mark in marks:
        shown = mark.tree if mark.tree >= 0 else shown
        line = mark.line if mark.line >= 0 else bisect_right(times, mark.at) - 1
        step = mark.step if mark.step < _LAST else -1
        found.append(Moment(mark.at, mark.at - began, mark.what, step, line, shown, mark.detail))
    return tuple(found)


def _marks(record: RunRecord) -> Iterator[_Mark]:
    summary = record.summary
    yield _Mark(summary.started_at, -1, 0, "begin")
    for index, step in enumerate(record.steps):
        yield _Mark(step.started_at, index, 0, "step", _line_of(record, "step-start", step, step.started_at))
        yield _Mark(step.ended_at, index, 3, "step end", _line_of(record, "step-success", step, step.ended_at))
    for place, line in enumerate(record.lines):
        if line.kind == "stage-retry":
            yield _Mark(line.at, _step_at(record, line.at), 1, "retry", place, detail=line.fields.get("attempt", ""))
        elif line.kind == "dispatched":
            yield _Mark(line.at, -1, 1, "dispatched", place)
    for place, tree in enumerate(record.trees):
        yield _Mark(tree.at, _step_of_tree(record, place), 2, "tree", tree=place)
    if summary.status != "running":
        yield _Mark(_end_of(record), _LAST, 4, "interrupted" if summary.status == "interrupted" else "result")


def _end_of(record: RunRecord) -> float:
    """When it ended; an interrupted run is known up to its last sign."""
    signs = [record.summary.ended_at, *(line.at for line in record.lines), *(tree.at for tree in record.trees)]
    signs += [step.ended_at for step in record.steps]
    known = [at for at in signs if not math.isnan(at)]
    return max(known, default=record.summary.started_at)


def _line_of(record: RunRecord, kind: str, step: StepRecord, at: float) -> int:
    """The line that told of it; -1: none did, or it told of another step of that name."""
    near = (
        place
        for place, line in enumerate(record.lines)
        if line.kind == kind and line.fields.get("id") == step.id and abs(line.at - at) < 1.0
    )
    return next(near, -1)


def _step_at(record: RunRecord, at: float) -> int:
    """The step under way at a moment; -1 where none was."""
    started = [place for place, step in enumerate(record.steps) if step.started_at <= at]
    return max(started, key=lambda place: (record.steps[place].started_at, place), default=-1)


def _step_of_tree(record: RunRecord, place: int) -> int:
    tree = record.trees[place]
    named = (index for index, step in enumerate(record.steps) if tree.step_id and step.id == tree.step_id)
    return next(named, _step_at(record, tree.at))


# -- the run as an execution


def execution_of(record: RunRecord) -> ExecutionState:
    """A stored run as the model of a live one: told the same way, by the same events, so that both look alike."""
    summary = record.summary
    log = ExecutionLog(kept=1)
    log.apply(_events(record))
    execution = log.find(summary.command_id) or ExecutionState(
        summary.command_id, summary.device_id, 1, summary.started_at
    )
    _complete(execution, record)
    return execution


def _events(record: RunRecord) -> Iterator[EngineEvent]:
    summary = record.summary
    if summary.origin == "made":
        yield _started(record)
        if not record.lines:  # its process wrote it down when it left for the device, and nothing any more
            yield _dispatched(summary, summary.started_at)
    told = False
    for line in record.lines:
        if line.kind == "result" and not told:
            told = True
            yield from _outcome(record, line.at)
        elif line.kind not in HOST_KINDS:
            yield _progress(summary, line)
        elif line.kind == "dispatched":
            yield _dispatched(summary, line.at)
    if not told:
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
    error = {"code": summary.code, "message": record.message}
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
    """What the record knows beyond its lines."""
    summary = record.summary
    execution.started = summary.started_at
    sent = any(line.kind == "dispatched" for line in execution.lines)
    # Ours is what a console sent; and of what its own host never sent, whoever that was, it is known that it was not.
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
        execution.ended = summary.ended_at if not math.isnan(summary.ended_at) else _end_of(record)
    _complete_steps(execution, record)
    _complete_trees(execution, record)


def _complete_steps(execution: ExecutionState, record: RunRecord) -> None:
    known = {step.id: step for step in execution.steps}
    for told in record.steps:
        step = known.get(told.id)
        if step is None:
            if told.status in ("unknown", "not_run") and math.isnan(told.started_at):
                continue  # nothing has been reported of it
            step = StepState(told.id, status=STEP_STATES.get(told.status, Status.UNKNOWN), data=told.data)
            execution.steps.append(step)
        step.type = step.type or told.type
        step.started, step.ended = told.started_at, told.ended_at
        step.retries = told.retries
        if step.status is Status.FAILED:
            step.code = step.code or told.code


def _complete_trees(execution: ExecutionState, record: RunRecord) -> None:
    execution.snapshots = len(record.trees)
    for tree in record.trees:
        execution.trees.append(TreeMark(tree.step_id, tree.at, tree.digest, tree.characters, tree.complete))
        words = f"snapshot, {tree.characters:,} characters" + ("" if tree.complete else ", incomplete")
        status = Status.OK if tree.complete else Status.WARN
        place = bisect_right(execution.lines, tree.at, key=lambda line: line.at)
        execution.lines.insert(place, LiveLine(tree.at, status, "snapshot", words, tree=tree.digest))


def interrupted_words(run: RunSummary) -> str:
    """Why the end of a run is not known."""
    if run.origin == "seen":
        return "No result was seen: how it ended is not known"
    if not math.isnan(run.ended_at):
        return "Whoever ran it stopped waiting before the result came"
    return "The process that ran it ended before the result came"
