"""Executions from engine events, one per run: a commandId that is used again is another run.

Fed with events in order, also those of other programs' commands; pure. Problems become rows (``Mark``). No row runs for ever:
when the device, the log or the time budget is gone, an execution ends as unknown.
"""

from __future__ import annotations

import math
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

from clawperator.engine.contracts.limits import ENVELOPE_WAIT_BUFFER_MS, FOLLOW_SOURCE, MAX_EXECUTION_TIMEOUT_MS
from clawperator.engine.events.types import (
    CommandProgress,
    EngineEvent,
    EnvelopeSeen,
    ExecutionDispatched,
    ExecutionFinished,
    ExecutionStarted,
    LogAttached,
    LogBatch,
    LogGap,
    SnapshotSeen,
)
from clawperator.engine.logcat.stages import brief
from clawperator.widgets.models.execution import (
    ExecutionState,
    Item,
    LiveLine,
    Mark,
    MarkKind,
    TreeMark,
    tree_key,
)
from clawperator.widgets.models.execution_queries import START_LINES, RunIndex, is_newer, time_limit
from clawperator.widgets.models.operator_lines import (
    REDUNDANT_KINDS,
    STANDALONE_KINDS,
    apply_progress,
    counted,
    live_line,
)
from clawperator.widgets.models.outcomes import fail, lose, settle
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.times import duration

KEPT = 2_000
"""Executions kept; older ones are dropped and counted."""

LINES_KEPT = 400
"""Live lines kept per execution."""

TREES_KEPT = 200
RAW_KEPT = 262_144
"""Characters kept of a raw envelope; the rest is counted."""

WENT_AWAY = "device disconnected; the run may still act"

_NAMES_KEPT = 1_000
_ERROR_COLUMN = re.compile(r": line \d+ column (\d+) \(char \d+\)")
_NAMED = ((b"commandId=", b" taskId="), (b'"commandId":"', b'"'))


class ExecutionLog:
    """All items in order of appearance.

    ``generation`` changes with every visible change. ``reruns`` maps a commandId to the command that it repeats, set
    before it is sent.
    """

    def __init__(self, *, kept: int = KEPT, lines_kept: int = LINES_KEPT) -> None:
        self.items: list[Item] = []
        self.generation = 0
        self.reruns: dict[str, str] = {}
        self.line = 0
        """The number of the next log line, kept by the owner of the ring."""
        self._kept, self._lines_kept = kept, lines_kept
        self._number = 0
        self._runs = RunIndex()
        self._locked: dict[str, tuple[float, ExecutionState | None]] = {}
        """By device: since when it is locked, and the run that only the lock announced."""
        self._held: deque[str] = deque(maxlen=_NAMES_KEPT)
        self._takes: dict[type[EngineEvent], Callable[[Any], None]] = {
            ExecutionStarted: self._started,
            ExecutionDispatched: self._dispatched,
            ExecutionFinished: self._finished,
            CommandProgress: self._progress,
            EnvelopeSeen: self._envelope,
            SnapshotSeen: self._snapshot,
            LogGap: self._gap,
            LogAttached: self._attached,
            LogBatch: self._batch,
        }

    def apply(self, events: Iterable[EngineEvent]) -> bool:
        """Apply events in order; return whether anything changed."""
        before = self.generation
        for event in events:
            take = self._takes.get(type(event))
            if take is not None:
                take(event)
        return self.generation != before

    @property
    def last_number(self) -> int:
        return self._number

    @property
    def executions(self) -> Iterator[ExecutionState]:
        return (item for item in self.items if isinstance(item, ExecutionState))

    @property
    def current(self) -> ExecutionState | None:
        """Return the newest running execution, else the newest one; follow snapshots are skipped."""
        newest: ExecutionState | None = None
        for item in reversed(self.items):
            if isinstance(item, ExecutionState) and not item.follow_snapshots:
                if not item.over:
                    return item
                newest = newest or item
        return newest

    def find(self, command_id: str, device_id: str = "", *, after: int = 0) -> ExecutionState | None:
        """Return the newest run of a command: on this device, with a number after ``after``."""
        return next(
            (
                item
                for item in reversed(self.items)
                if isinstance(item, ExecutionState)
                and item.command_id == command_id
                and item.number > after
                and device_id in ("", item.device_id)
            ),
            None,
        )

    def run_at(self, device_id: str, command_id: str, moment: float) -> ExecutionState | None:
        """Return the run that had the command at ``moment``."""
        return self._runs.at(device_id, command_id, moment)

    def before(self, execution: ExecutionState) -> ExecutionState | None:
        """Return the run that ``execution`` repeats, if it is known; else the previous one of its command or task."""
        earlier = (
            item for item in reversed(self.items) if isinstance(item, ExecutionState) and item.number < execution.number
        )
        if execution.run_of:
            return next((item for item in earlier if item.command_id == execution.run_of), None)
        names = {execution.command_id, execution.task_id} - {""}
        return next((item for item in earlier if not names.isdisjoint((item.command_id, item.task_id))), None)

    # -- events

    def _started(self, event: ExecutionStarted) -> None:
        execution = self._open(event, event.command_id, event.execution_id)
        execution.ours = True
        execution.task_id, execution.source = event.task_id, event.source
        execution.timeout_ms, execution.action_count = event.timeout_ms, event.action_count
        execution.payload = event.payload or None
        execution.mode, execution.backend = event.mode, event.backend
        execution.run_of = self.reruns.pop(event.command_id, "")
        words = f"started by this console, {counted(event.action_count, 'action')}"
        self._changed(execution, LiveLine(event.at, Status.RUNNING, "sent", words))

    def _dispatched(self, event: ExecutionDispatched) -> None:
        execution = self._attempt(event)
        self._changed(
            execution, LiveLine(event.at, Status.RUNNING, "dispatched", "dispatched; the device may act from now on")
        )

    def _finished(self, event: ExecutionFinished) -> None:
        execution = self._attempt(event)
        execution.ours = True
        execution.phases, execution.warnings = event.phases, event.warnings
        execution.outcome = event.result.get("outcome") or execution.outcome
        envelope = event.result.get("envelope")
        error = event.result.get("error")
        if isinstance(envelope, Mapping):
            settle(execution, envelope, event.at)
            if not execution.late:
                execution.ended = execution.started + event.duration_ms / 1000  # as the history and other programs say
        elif isinstance(error, Mapping):
            execution.gave_up = True
            details = error.get("details")
            if isinstance(details, Mapping) and "transport" in details:
                execution.lost, execution.problem = True, execution.problem or str(details.get("reason", ""))
            fail(execution, event.at, str(error.get("code", "")), str(error.get("message", "")))
            self._changed(execution, LiveLine(event.at, Status.FAILED, "gave up", execution.message or execution.code))
        self._touched(execution)

    def _progress(self, event: CommandProgress) -> None:
        if event.kind in REDUNDANT_KINDS:
            return
        execution = self._of_line(event) if event.command_id else self._running_on(event.device_id or "")
        if execution is None:
            self._standalone(event)
            return
        if execution.status is Status.UNKNOWN and not execution.raw:  # it was given up too early
            execution.status, execution.ended, execution.message = Status.RUNNING, math.nan, ""
        apply_progress(execution, event)
        if event.kind == "start" and execution.source == FOLLOW_SOURCE:
            self._fold_follow(execution)
        self._changed(execution, live_line(event))

    def _standalone(self, event: CommandProgress) -> None:
        """Add a row of its own for an event without a command; a repeated one is counted."""
        if event.kind not in STANDALONE_KINDS:
            return
        last = self._last_mark("event", event.device_id or "")
        if last is not None and last.text == event.text:
            last.count, last.at = last.count + 1, event.at
            self._touched(last)
        else:
            self._mark("event", event, event.text)

    def _envelope(self, event: EnvelopeSeen) -> None:
        if event.problem and not event.command_id:
            self._mark("malformed", event, event.problem, raw=event.raw)
            return
        raw = event.raw[:RAW_KEPT]
        execution = self._runs.about(event.device_id or "", event.command_id, raw)
        unknown = execution is None
        execution = execution or self._open(event, event.command_id)
        execution.begun = True
        if unknown and not execution.ours and event.command_id not in self._held:
            execution.foreign = True
        if execution.raw and execution.over:
            self._duplicate(execution, event)
            return
        if execution.status is Status.UNKNOWN:
            execution.ended = math.nan
        execution.raw, execution.raw_hidden = raw, max(0, len(event.raw) - RAW_KEPT)
        execution.parts = event.parts
        execution.problem, execution.lost = event.problem, event.transport is not None
        execution.late = execution.gave_up
        if event.envelope is None:
            from clawperator.engine.executions.outcome import unreadable

            error = unreadable(event.problem, event.transport)
            fail(execution, event.at, error.code, error.message)
        else:
            settle(execution, event.envelope, event.at)
            execution.outcome = execution.outcome or event.outcome or {}
        words = event.problem or execution.code or brief(execution.message) or "success"
        self._changed(execution, LiveLine(event.at, execution.status, "late" if execution.late else "result", words))

    def _duplicate(self, execution: ExecutionState, event: EnvelopeSeen) -> None:
        """Count a further envelope: the first one counts (wire.md#identifiers)."""
        execution.duplicates += 1
        if event.envelope is None:
            words = f"duplicate envelope, unreadable: {event.problem}"
        elif event.envelope == execution.envelope:
            words = "duplicate envelope, identical"
        else:
            words = f"duplicate envelope with status {event.envelope.get('status')}; the first one counts"
        self._changed(execution, LiveLine(event.at, Status.WARN, "duplicate", words))

    def _snapshot(self, event: SnapshotSeen) -> None:
        execution = self._of_line(event) if event.command_id else self._running_on(event.device_id or "")
        if execution is None:
            return
        execution.snapshots += 1
        key = tree_key(execution.key, event.step_id)
        execution.trees.append(TreeMark(event.step_id, event.at, key, len(event.xml), event.complete))
        del execution.trees[:-TREES_KEPT]
        words = f"snapshot, {len(event.xml):,} characters" + ("" if event.complete else ", incomplete")
        status = Status.OK if event.complete else Status.WARN
        self._changed(execution, LiveLine(event.at, status, "snapshot", words, tree=key))

    def _gap(self, event: LogGap) -> None:
        """Add or update a gap: an interrupted log is one row, however often it reconnects."""
        device_id = event.device_id or ""
        gap = self._open_gap(device_id)
        if gap is not None:
            gap.text = event.reason
            self._touched(gap)
            return
        self._mark("gap", event, event.reason)
        for execution in self._running(device_id):
            words = f"log interrupted, lines may be missing: {event.reason}"
            self._changed(execution, LiveLine(event.at, Status.WARN, "gap", words))

    def _attached(self, event: LogAttached) -> None:
        """Close the gap."""
        gap = self._open_gap(event.device_id or "")
        if gap is not None:
            gap.until = event.at
            self._touched(gap)

    def _batch(self, event: LogBatch) -> None:
        if event.dropped:
            self.drop(event.dropped, event.at, event.device_id or "")

    # -- changes from outside the bus

    def drop(self, count: int, at: float, device_id: str = "") -> None:
        """Count lost lines or events of this host; adjacent losses add up in one row."""
        last = self._last_mark("dropped", device_id)
        if last is not None:
            last.count, last.at = last.count + count, at
            self._touched(last)
        else:
            self._mark("dropped", EngineEvent(at=at, device_id=device_id), "this console was too slow", count=count)

    def held(self, command_ids: Iterable[str]) -> None:
        """Note commands that hold a device lock on this machine: their results are not foreign."""
        self._held.extend(command_id for command_id in command_ids if command_id not in self._held)

    def locked(self, locks: Iterable[Mapping[str, Any]], now: float) -> bool:
        """Open a run for a lock by which another process uses a command again; return whether anything changed.

        The run is over with its lock where no line of it was seen: its backend does not write to the log.
        """
        before, held = self.generation, {str(lock.get("deviceId", "")): lock for lock in locks}
        for device_id, (since, announced) in [*self._locked.items()]:
            if held.get(device_id, {}).get("since") != since:
                del self._locked[device_id]
                if announced is not None and not announced.over and not announced.begun:
                    self._lose(announced, now, "gone", "its device lock was released; the log shows no result")
        for device_id, lock in held.items():
            since, known = float(lock.get("since") or 0.0), self._runs.newest(device_id, str(lock.get("commandId")))
            if device_id in self._locked:
                continue
            if known is None or not is_newer(since, known):
                self._locked[device_id] = since, None
                continue
            run = self._open(EngineEvent(at=since, device_id=device_id), known.command_id)
            run.task_id, run.source = str(lock.get("taskId", "")), str(lock.get("source", ""))
            run.timeout_ms = int(lock.get("timeoutMs") or 0)
            self._locked[device_id] = since, run
            self._changed(
                run, LiveLine(since, Status.RUNNING, "locked", "another process has locked the device for it")
            )
        return self.generation != before

    def present(self, serials: Collection[str], at: float) -> None:
        """End the executions on devices that are not connected any more."""
        for item in self._running():
            if item.device_id and item.device_id not in serials and not item.ours:
                self._lose(item, at, "gone", WENT_AWAY)

    def expire(self, now: float) -> bool:
        """End executions of others whose time budget is over; return whether there were any."""
        before = self.generation
        for item in self._running():
            end = time_limit(item)
            if now > end and not item.ours:
                budget = (item.timeout_ms or MAX_EXECUTION_TIMEOUT_MS) / 1_000
                words = f"no result within {duration(budget)} plus {ENVELOPE_WAIT_BUFFER_MS // 1_000} s"
                item.gave_up = True
                self._lose(item, end, "silence", words)
        return self.generation != before

    def place(self, device_id: str, number: int, payload: bytes) -> None:
        """Note that line ``number`` of the ring, an Operator line, names a command."""
        for begin, end in _NAMED:
            _, found, rest = payload.partition(begin)
            if found:
                command_id = rest.partition(end)[0].decode("utf-8", "replace")
                execution = self._runs.of_line(device_id, command_id, begins=payload.startswith(START_LINES))
                if execution is not None:
                    execution.log = execution.log.with_line(number)
                return

    # -- records

    def _open(self, event: EngineEvent, command_id: str, execution_id: str = "") -> ExecutionState:
        """Add a run."""
        self._number += 1
        run = ExecutionState(command_id, event.device_id or "", self._number, event.at, line=self.line)
        self._runs.add(run, execution_id)
        self._append(run)
        return run

    def _attempt(self, event: ExecutionDispatched | ExecutionFinished) -> ExecutionState:
        """Return the run of an attempt of this process."""
        device_id = event.device_id or ""
        return (
            self._runs.attempt(event.execution_id, event.command_id, device_id)
            or self._runs.newest(device_id, event.command_id)
            or self._open(event, event.command_id, event.execution_id)
        )

    def _of_line(self, event: CommandProgress | SnapshotSeen) -> ExecutionState:
        """Return the run that a log line is about; a start line of a command that has begun is another run's."""
        device_id, command_id = event.device_id or "", event.command_id
        kind = event.kind if isinstance(event, CommandProgress) else ""
        starts = kind in ("queued", "start")
        runs = self._runs
        run = runs.begun_by(device_id, command_id, event.at) if starts else runs.about(device_id, command_id)
        run = run or self._open(event, command_id)
        if kind != "queued" and not run.begun:
            run.begun = True
            for old in self._runs.superseded(run):
                self._lose(old, event.at, "gone", "its commandId was used again; the log shows no result")
        return run

    def _fold_follow(self, run: ExecutionState) -> None:
        """Merge adjacent successful follow snapshots into one row."""
        run.follow_snapshots = 1
        place = len(self.items) - 2
        before = self.items[place] if place >= 0 and self.items[-1] is run else None
        if isinstance(before, ExecutionState) and (before.device_id, before.status) == (run.device_id, Status.OK):
            run.follow_snapshots += before.follow_snapshots
            if before.follow_snapshots:
                del self.items[place]
                self._runs.forget(before)

    def _running(self, device_id: str = "") -> Iterator[ExecutionState]:
        """Yield what is not over, newest first; of one device where given."""
        for item in reversed(self.items):
            if isinstance(item, ExecutionState) and not item.over and device_id in ("", item.device_id):
                yield item

    def _running_on(self, device_id: str) -> ExecutionState | None:
        for item in reversed(self.items[-50:]):
            if isinstance(item, ExecutionState) and item.status is Status.RUNNING and item.device_id == device_id:
                return item
        return None

    def _open_gap(self, device_id: str) -> Mark | None:
        """Return the gap of a device whose log is still interrupted."""
        for item in reversed(self.items):
            if isinstance(item, Mark) and (item.kind, item.device_id) == ("gap", device_id):
                return item if math.isnan(item.until) else None
        return None

    def _last_mark(self, kind: MarkKind, device_id: str) -> Mark | None:
        """Return the newest item if it is such a mark."""
        last = self.items[-1] if self.items else None
        return last if isinstance(last, Mark) and (last.kind, last.device_id) == (kind, device_id) else None

    def _mark(self, kind: MarkKind, event: EngineEvent, text: str, *, raw: str = "", count: int = 1) -> None:
        self._number += 1
        found = _ERROR_COLUMN.search(text) if kind == "malformed" else None
        mark = Mark(kind, event.at, text, self._number, raw[:RAW_KEPT], event.device_id or "", count, line=self.line)
        if found is not None:
            mark.column, mark.text = int(found[1]), text[: found.start()]
        self._append(mark)

    def _append(self, item: Item) -> None:
        self.items.append(item)
        self._touched(item)
        if len(self.items) > self._kept + self._kept // 10:
            gone, self.items = self.items[: -self._kept], self.items[-self._kept :]
            for old in gone:
                if isinstance(old, ExecutionState):
                    self._runs.forget(old)

    def _touched(self, item: Item) -> None:
        self.generation += 1
        item.version = self.generation

    def _changed(self, execution: ExecutionState, line: LiveLine) -> None:
        execution.lines.append(line)
        if len(execution.lines) > self._lines_kept:
            del execution.lines[1 : len(execution.lines) - self._lines_kept + 1]
        self._touched(execution)

    def _lose(self, execution: ExecutionState, at: float, kind: str, words: str) -> None:
        lose(execution, at, words)
        self._changed(execution, LiveLine(at, Status.UNKNOWN, kind, words))
