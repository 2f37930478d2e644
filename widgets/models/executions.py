"""Executions as they appear on the bus, folded by command: what ran, how far it got, how it ended.

Fed with engine events in order, whoever dispatched the command; pure. Bad news is kept as a row of its own (``Mark``),
never dropped: an envelope that could not be read, a gap in the log, lines the host had to skip.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from clawperator.engine.contracts.limits import FOLLOW_SOURCE
from clawperator.engine.events import (
    CommandProgress,
    EngineEvent,
    EnvelopeSeen,
    ExecutionDispatched,
    ExecutionFinished,
    ExecutionStarted,
    LogBatch,
    LogGap,
    SnapshotSeen,
)
from clawperator.widgets.format.status import Status

KEPT = 2_000
"""Executions kept; older ones go, and are counted."""

LINES_KEPT = 400
"""Live lines kept per execution."""

RAW_KEPT = 262_144
"""Characters of a raw envelope kept; the rest is counted."""

_SCAFFOLDING = frozenset(
    {"ui-start", "ui-end", "task-start", "task-success", "snapshot-start", "answered", "stage-log"}
)
"""Lines of the Operator that repeat what the lines around them say; its log view shows them all."""

_HOST_CLOSES = "UNSUPPORTED_RUNTIME_CLOSE"
"""The Operator's expected refusal of ``close_app``, which the host does instead (wire §7.4): no failure."""


@dataclass(slots=True)
class Step:
    """One action of an execution. Moments are seconds since the epoch, ``nan`` while unknown."""

    id: str
    type: str = ""
    status: Status = Status.RUNNING
    started: float = math.nan
    ended: float = math.nan
    retries: int = 0
    retry: str = ""
    code: str = ""
    note: str = ""
    data: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class LiveLine:
    """One sign of life of an execution: a moment, a status and what happened."""

    at: float
    status: Status
    kind: str
    text: str


@dataclass(slots=True, eq=False)
class Execution:
    """Everything known of one command. ``code`` is the reason of a failure; ``duplicates`` counts further envelopes."""

    command_id: str
    device_id: str
    number: int
    started: float
    task_id: str = ""
    source: str = ""
    timeout_ms: int = 0
    action_count: int = 0
    status: Status = Status.RUNNING
    ended: float = math.nan
    code: str = ""
    message: str = ""
    stage: str = ""
    steps: list[Step] = field(default_factory=list)
    lines: list[LiveLine] = field(default_factory=list)
    envelope: Mapping[str, Any] | None = None
    raw: str = ""
    raw_hidden: int = 0
    parts: int = 1
    problem: str = ""
    ours: bool = False
    gave_up: bool = False
    late: bool = False
    duplicates: int = 0
    snapshots: int = 0
    looks: int = 0
    """How many looks of a follow mode this row stands for; 0: it is no look."""

    @property
    def over(self) -> bool:
        return self.status not in (Status.RUNNING, Status.WAITING)

    @property
    def steps_done(self) -> int:
        return sum(1 for step in self.steps if step.status is not Status.RUNNING)

    @property
    def running_step(self) -> Step | None:
        return next((step for step in reversed(self.steps) if step.status is Status.RUNNING), None)

    def elapsed(self, now: float) -> float:
        return (now if math.isnan(self.ended) else self.ended) - self.started


@dataclass(slots=True, eq=False)
class Mark:
    """Something that belongs to no known command: ``malformed``, ``gap`` or ``dropped``."""

    kind: str
    at: float
    text: str
    number: int
    raw: str = ""
    device_id: str = ""


Item = Execution | Mark


class ExecutionLog:
    """All items in order of appearance. ``generation`` changes with every change that a pane could show."""

    def __init__(self, *, kept: int = KEPT) -> None:
        self.items: list[Item] = []
        self.generation = 0
        self.forgotten = 0
        self._kept = kept
        self._number = 0
        self._by_command: dict[tuple[str, str], Execution] = {}
        self._takes: dict[type[EngineEvent], Callable[[Any], None]] = {
            ExecutionStarted: self._started,
            ExecutionDispatched: self._dispatched,
            ExecutionFinished: self._finished,
            CommandProgress: self._progress,
            EnvelopeSeen: self._envelope,
            SnapshotSeen: self._snapshot,
            LogGap: self._gap,
            LogBatch: self._batch,
        }

    def apply(self, events: Iterable[EngineEvent]) -> bool:
        """Take events in order; whether anything changed."""
        before = self.generation
        for event in events:
            take = self._takes.get(type(event))
            if take is not None:
                take(event)
        return self.generation != before

    @property
    def executions(self) -> Iterator[Execution]:
        return (item for item in self.items if isinstance(item, Execution))

    @property
    def current(self) -> Execution | None:
        """The newest execution that still runs, else the newest of all; looks of follow mode are none."""
        newest: Execution | None = None
        for item in reversed(self.items):
            if isinstance(item, Execution) and not item.looks:
                if not item.over:
                    return item
                newest = newest or item
        return newest

    def find(self, command_id: str) -> Execution | None:
        return next(
            (item for item in reversed(self.items) if isinstance(item, Execution) and item.command_id == command_id),
            None,
        )

    # -- events

    def _started(self, event: ExecutionStarted) -> None:
        execution = self._execution(event, event.command_id)
        execution.ours = True
        execution.task_id, execution.source = event.task_id, event.source
        execution.timeout_ms, execution.action_count = event.timeout_ms, event.action_count
        self._changed(
            execution, LiveLine(event.at, Status.RUNNING, "sent", f"sent from here, {_actions(event.action_count)}")
        )

    def _dispatched(self, event: ExecutionDispatched) -> None:
        execution = self._execution(event, event.command_id)
        self._changed(execution, LiveLine(event.at, Status.RUNNING, "dispatched", "from here on the device may act"))

    def _finished(self, event: ExecutionFinished) -> None:
        execution = self._execution(event, event.command_id)
        execution.ours = True
        envelope = event.result.get("envelope")
        error = event.result.get("error")
        if isinstance(envelope, Mapping):
            self._settle(execution, envelope, event.at)
        elif isinstance(error, Mapping):
            execution.gave_up = True
            self._fail(execution, event.at, str(error.get("code", "")), str(error.get("message", "")))
            self._changed(execution, LiveLine(event.at, Status.FAILED, "gave up", execution.message or execution.code))
        self.generation += 1

    def _progress(self, event: CommandProgress) -> None:
        if event.kind in _SCAFFOLDING:
            return
        execution = self._by_command.get((event.device_id or "", event.command_id)) if event.command_id else None
        if execution is None and not event.command_id:
            execution = self._running_on(event.device_id or "")
            if execution is None:
                return
        execution = execution or self._execution(event, event.command_id)
        _tell(execution, event)
        if event.kind == "start" and execution.source == FOLLOW_SOURCE:
            self._fold_look(execution)
        self._changed(execution, _live_line(event))

    def _envelope(self, event: EnvelopeSeen) -> None:
        if event.problem and not event.command_id:
            self._mark("malformed", event.at, event.problem, raw=event.raw, device_id=event.device_id or "")
            return
        execution = self._execution(event, event.command_id)
        if execution.raw and execution.over:
            execution.duplicates += 1
            self._changed(execution, LiveLine(event.at, Status.WARN, "duplicate", "another envelope of this command"))
            return
        execution.raw, execution.raw_hidden = event.raw[:RAW_KEPT], max(0, len(event.raw) - RAW_KEPT)
        execution.parts = event.parts
        execution.late = execution.gave_up
        if event.envelope is None:
            execution.problem = event.problem
            self._fail(execution, event.at, "RESULT_ENVELOPE_MALFORMED", event.problem)
        else:
            self._settle(execution, event.envelope, event.at)
        words = event.problem or execution.code or brief(execution.message) or "success"
        self._changed(execution, LiveLine(event.at, execution.status, "late" if execution.late else "result", words))

    def _snapshot(self, event: SnapshotSeen) -> None:
        execution = (
            self._execution(event, event.command_id) if event.command_id else self._running_on(event.device_id or "")
        )
        if execution is None:
            return
        execution.snapshots += 1
        words = f"snapshot, {len(event.xml):,} characters" + ("" if event.complete else ", incomplete")
        self._changed(execution, LiveLine(event.at, Status.OK if event.complete else Status.WARN, "snapshot", words))

    def _gap(self, event: LogGap) -> None:
        """A link that stays down is one row, however often it is tried."""
        last = self.items[-1] if self.items else None
        if isinstance(last, Mark) and (last.kind, last.text, last.device_id) == (
            "gap",
            event.reason,
            event.device_id or "",
        ):
            last.at = event.at
            self.generation += 1
            return
        self._mark("gap", event.at, event.reason, device_id=event.device_id or "")

    def _batch(self, event: LogBatch) -> None:
        if event.dropped:
            self.drop(event.dropped, event.at, event.device_id or "")

    def drop(self, count: int, at: float, device_id: str = "") -> None:
        """Say that ``count`` lines or events were lost on the host's side; adjacent losses add up in one row."""
        last = self.items[-1] if self.items else None
        if isinstance(last, Mark) and last.kind == "dropped" and last.text.isdigit():
            last.text, last.at = str(int(last.text) + count), at
            self.generation += 1
        else:
            self._mark("dropped", at, str(count), device_id=device_id)

    # -- records

    def _execution(self, event: EngineEvent, command_id: str) -> Execution:
        key = (event.device_id or "", command_id)
        if key not in self._by_command and event.device_id:
            unplaced = self._by_command.pop(("", command_id), None)
            if unplaced is not None:  # it began before its device was resolved
                unplaced.device_id = event.device_id
                self._by_command[key] = unplaced
        if key not in self._by_command:
            self._number += 1
            execution = Execution(command_id, event.device_id or "", self._number, event.at)
            self._by_command[key] = execution
            self._append(execution)
        return self._by_command[key]

    def _fold_look(self, look: Execution) -> None:
        """Looks follow each other for hours: those that went well and that nothing came between are one row."""
        look.looks = 1
        place = len(self.items) - 2
        before = self.items[place] if place >= 0 and self.items[-1] is look else None
        if isinstance(before, Execution) and (before.device_id, before.status) == (look.device_id, Status.OK):
            look.looks += before.looks
            if before.looks:
                del self.items[place]
                self._by_command.pop((before.device_id, before.command_id), None)

    def _running_on(self, device_id: str) -> Execution | None:
        for item in reversed(self.items[-50:]):
            if isinstance(item, Execution) and item.status is Status.RUNNING and item.device_id == device_id:
                return item
        return None

    def _mark(self, kind: str, at: float, text: str, *, raw: str = "", device_id: str = "") -> None:
        self._number += 1
        self._append(Mark(kind, at, text, self._number, raw[:RAW_KEPT], device_id))

    def _append(self, item: Item) -> None:
        self.items.append(item)
        self.generation += 1
        if len(self.items) > self._kept + self._kept // 10:
            gone, self.items = self.items[: -self._kept], self.items[-self._kept :]
            self.forgotten += len(gone)
            for old in gone:
                if isinstance(old, Execution):
                    self._by_command.pop((old.device_id, old.command_id), None)

    def _changed(self, execution: Execution, line: LiveLine) -> None:
        execution.lines.append(line)
        if len(execution.lines) > LINES_KEPT:
            del execution.lines[1 : len(execution.lines) - LINES_KEPT + 1]
        self.generation += 1

    def _fail(self, execution: Execution, at: float, code: str, message: str) -> None:
        execution.status, execution.ended = Status.FAILED, at
        execution.code, execution.message = code, message
        for step in execution.steps:
            if step.status is Status.RUNNING:
                step.status, step.ended, step.code = Status.FAILED, at, code

    def _settle(self, execution: Execution, envelope: Mapping[str, Any], at: float) -> None:
        """Take over what the envelope says; live timing of its steps stays."""
        execution.envelope = envelope
        execution.task_id = execution.task_id or str(envelope.get("taskId", ""))
        execution.ended = at if math.isnan(execution.ended) else execution.ended
        results = [result for result in envelope.get("stepResults") or () if isinstance(result, Mapping)]
        _take_results(execution, results, at)
        failed = [step for step in execution.steps if step.status is Status.FAILED]
        if envelope.get("status") == "success":
            execution.status = Status.WARN if failed else Status.OK
            execution.code, execution.message = (failed[0].code, "") if failed else ("", "")
        else:
            self._fail(
                execution, execution.ended, str(envelope.get("errorCode") or ""), str(envelope.get("error") or "")
            )
        execution.action_count = execution.action_count or len(results)


def _take_results(execution: Execution, results: Iterable[Mapping[str, Any]], at: float) -> None:
    known = {step.id: step for step in execution.steps}
    for result in results:
        step = known.get(str(result.get("id")))
        if step is None:
            step = Step(str(result.get("id", "")))
            execution.steps.append(step)
        data = result.get("data")
        step.type = str(result.get("actionType", ""))
        step.data = data if isinstance(data, Mapping) else {}
        step.code = str(step.data.get("error", "")) if not result.get("success") else ""
        calm = step.type == "close_app" and step.code == _HOST_CLOSES
        step.status = Status.OK if result.get("success") or calm else Status.FAILED
        if calm:
            step.code, step.note = "", "closed by the host"
        if math.isnan(step.ended) and not math.isnan(step.started):
            step.ended = at


def _tell(execution: Execution, event: CommandProgress) -> None:
    """What one live line changes in its execution."""
    fields = event.fields
    if event.kind == "queued" and not execution.over:
        execution.status = Status.WAITING
    elif event.kind == "start":
        execution.status = execution.status if execution.over else Status.RUNNING
        execution.task_id, execution.source = fields.get("taskId", ""), fields.get("source", "")
        execution.timeout_ms = _number(fields.get("timeoutMs"))
        execution.action_count = _number(fields.get("actionCount"))
    elif event.kind == "step-start":
        execution.steps.append(Step(fields.get("id", "?"), started=event.at))
    elif event.kind == "step-success":
        for step in execution.steps:
            if step.id == fields.get("id") and step.status is Status.RUNNING:
                step.status, step.ended = Status.OK, event.at
    elif event.kind == "stage-start":
        execution.stage = fields.get("id", "")
        if (running := execution.running_step) is not None:
            running.type = running.type or _stage_type(execution.stage)
    elif event.kind == "stage-retry" and (running := execution.running_step) is not None:
        running.retries += 1
        running.retry = fields.get("attempt", "")
    elif event.kind == "stage-failure":
        execution.message = fields.get("reason", "")
        if (running := execution.running_step) is not None:
            running.status, running.ended = Status.FAILED, event.at


_STAGES = {
    "openApp": "open_app",
    "openUri": "open_uri",
    "pause": "sleep",
    "logUiTree": "snapshot_ui",
    "waitForNode": "wait_for_node",
    "getText": "read_text",
    "getValidatedText": "read_text",
    "click": "click",
    "enterText": "enter_text",
    "scrollUntil": "scroll_and_click",
    "scrollOnce": "scroll",
}
"""Stage names of the Operator (wire §5.2) → the action type that they serve."""


def _stage_type(stage: str) -> str:
    return _STAGES.get(stage.partition("(")[0].partition(":")[0], "")


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 12 else 0


def _actions(count: int) -> str:
    return f"{count} action" if count == 1 else f"{count} actions"


_KIND_STATUS = {
    "queued": Status.WAITING,
    "stage-retry": Status.WARN,
    "stage-success": Status.OK,
    "step-success": Status.OK,
    "success": Status.OK,
    "stage-failure": Status.FAILED,
    "failure": Status.FAILED,
}


_MATCHER = re.compile(r"NodeMatcher\((resourceId=.*?, contentDescContains=.*?)\)")
_FIELD_EDGE = re.compile(r", (?=(?:role|textEquals|textContains|contentDescEquals|contentDescContains)=)")


def brief(text: str) -> str:
    """Matchers as the Operator prints them, without the fields that are not set. For reading; the raw text stays as it is.

    ``click(NodeMatcher(resourceId=null, role=null, textEquals=OK, …))`` → ``click(textEquals=OK)``.
    """
    return _MATCHER.sub(_set_fields, text) if "NodeMatcher(" in text else text


def _set_fields(match: re.Match[str]) -> str:
    return ", ".join(field for field in _FIELD_EDGE.split(match[1]) if not field.endswith("=null"))


def _live_line(event: CommandProgress) -> LiveLine:
    fields = event.fields
    what = brief(fields.get("id", ""))
    words = {
        "queued": "waits for the command before it",
        "start": f"{_actions(_number(fields.get('actionCount')))}, {_number(fields.get('timeoutMs')) / 1000:.1f} s at most",
        "stage-retry": f"{what} {fields.get('attempt', '')} in {_number(fields.get('delayMs')) / 1000:.1f} s",
        "stage-failure": f"{what}: {brief(fields.get('reason', ''))}",
        "failure": brief(fields.get("reason", "")),
        "success": f"plan ran to its end, {fields.get('stepCount', '?')} steps",
    }.get(event.kind, what or event.text)
    return LiveLine(event.at, _KIND_STATUS.get(event.kind, Status.RUNNING), event.kind, words)
