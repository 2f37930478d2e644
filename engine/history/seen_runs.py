"""Executions of other processes, recorded from a device's log. Follow snapshots and the doctor's handshakes are omitted."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from clawperator.engine.contracts.derived import derived_code
from clawperator.engine.contracts.limits import (
    DOCTOR_SOURCE,
    ENVELOPE_WAIT_BUFFER_MS,
    FOLLOW_SOURCE,
    MAX_EXECUTION_TIMEOUT_MS,
)
from clawperator.engine.events.bus import Subscription
from clawperator.engine.events.typed_text import TypedTexts
from clawperator.engine.events.types import (
    CommandProgress,
    EngineEvent,
    EnvelopeSeen,
    ExecutionFinished,
    ExecutionStarted,
    SnapshotSeen,
)
from clawperator.engine.executions.headline import action_words
from clawperator.engine.executions.outcome import outcome_of, unreadable
from clawperator.engine.executions.trace import LINES_KEPT
from clawperator.engine.history.records import LineRecord, RunRecord, RunStatus, RunSummary, step_records
from clawperator.engine.history.trees import keep_trees
from clawperator.engine.history.worker import HistoryWorker
from clawperator.engine.logcat.signals import CapturedHierarchy
from clawperator.engine.logcat.stages import action_of_stage
from clawperator.engine.text.numbers import whole_number

_INTERNAL_SOURCES = (FOLLOW_SOURCE, DOCTOR_SOURCE)
_INTERNAL_IDS = ("follow-", "handshake-")
"""Prefixes of their command ids, for commands whose first line was missed."""
_OPEN = 64
"""Limit of running commands; beyond it, the oldest is written as it is."""
_CHARACTERS = 64_000_000
"""Limit of the trees of running commands."""
_OVER = 500
_EXPIRE_SECONDS = 5.0

OPERATOR_BACKEND = "operator"
"""The only backend that writes to the log."""

Key = tuple[str, str]
_Seen = CommandProgress | SnapshotSeen | EnvelopeSeen


@dataclass(slots=True)
class _SeenRun:
    """What the log shows of one command so far."""

    device_id: str
    command_id: str
    at: float
    last_at: float
    fields: Mapping[str, str] = field(default_factory=dict)
    lines: list[LineRecord] = field(default_factory=list)
    trees: list[tuple[float, CapturedHierarchy]] = field(default_factory=list)

    @property
    def internal(self) -> bool:
        source = self.fields.get("source")
        if source is None:
            return self.command_id.startswith(_INTERNAL_IDS)
        return source in _INTERNAL_SOURCES

    @property
    def timeout_ms(self) -> int:
        return _number(self.fields.get("timeoutMs"))

    @property
    def overdue_at(self) -> float:
        """The end of the wait for its envelope."""
        return self.at + ((self.timeout_ms or MAX_EXECUTION_TIMEOUT_MS) + ENVELOPE_WAIT_BUFFER_MS) / 1000


class SeenRuns:
    """Records runs from the engine's events; call ``expire`` regularly. ``typed`` is that of their bus."""

    def __init__(
        self, worker: HistoryWorker, face: str, typed: TypedTexts, phone_of: Callable[[str], str] = lambda _: ""
    ) -> None:
        self._worker = worker
        self._typed = typed
        self._phone_of = phone_of
        """Returns the identity of the phone that a serial leads to, empty if it is not known."""
        self._face = face
        self._open: OrderedDict[Key, _SeenRun] = OrderedDict()
        self._own: dict[Key, set[str]] = {}
        """The attempts of this process that go on, by executionId: one with the id of another is refused."""
        self._over: OrderedDict[Key, bool] = OrderedDict()
        """Ended commands, and whether a late result may still arrive."""
        self._characters = 0

    @property
    def waiting(self) -> bool:
        """Whether ``expire`` may have a run to end."""
        return bool(self._open)

    def take(self, events: Iterable[EngineEvent]) -> None:
        for event in events:
            match event:
                case ExecutionStarted():
                    self._own.setdefault(_key(event), set()).add(event.execution_id)
                case ExecutionFinished():
                    self._end_own(event)
                case CommandProgress() if event.command_id:
                    self._progress(event)
                case SnapshotSeen() if event.command_id:
                    self._tree(event)
                case EnvelopeSeen() if event.command_id:
                    if self._over.get(_key(event)):
                        self._late(event)
                    elif self._seen(event) is not None:
                        self._end(_key(event), event.at, event)

    def _end_own(self, event: ExecutionFinished) -> None:
        key = _key(event)
        attempts = self._own.get(key, set())
        attempts.discard(event.execution_id)
        if not attempts:
            self._own.pop(key, None)
            if event.dispatched or key not in self._open:  # else it was refused: another process's goes on
                self._note_end(key, unanswered="error" in event.result)

    def expire(self, now: float) -> None:
        """Write runs whose envelope is overdue."""
        for key, seen in list(self._open.items()):
            if now > seen.overdue_at:
                self._end(key, seen.last_at)

    # -- running

    def _progress(self, event: CommandProgress) -> None:
        before = self._open.get(_key(event))
        if event.kind == "start" and before is not None and before.fields:
            self._end(_key(event), before.last_at)  # the id is used again, without an end of the first command
        seen = self._seen(event, begins=event.kind in ("queued", "start"))
        if seen is None:
            return
        if event.kind == "start":
            seen.fields = dict(event.fields)
        if len(seen.lines) < LINES_KEPT:
            seen.lines.append(LineRecord(event.at, event.kind, event.text, event.fields))

    def _tree(self, event: SnapshotSeen) -> None:
        seen = self._seen(event)
        if seen is not None and self._characters + len(event.xml) <= _CHARACTERS:
            self._characters += len(event.xml)
            seen.trees.append((event.at, CapturedHierarchy(event.step_id, event.xml, event.complete)))

    def _seen(self, event: _Seen, *, begins: bool = False) -> _SeenRun | None:
        """Return the run of ``event``; ``None`` for our own and ended commands."""
        key = _key(event)
        if key in self._own or (key in self._over and not begins):
            return None
        seen = self._open.get(key)
        if seen is None:
            if len(self._open) >= _OPEN:
                oldest, first = next(iter(self._open.items()))
                self._end(oldest, first.last_at)
            self._over.pop(key, None)
            seen = self._open[key] = _SeenRun(*key, event.at, event.at)
        seen.last_at = event.at
        return seen

    # -- ended

    def _end(self, key: Key, at: float, event: EnvelopeSeen | None = None) -> None:
        seen = self._open.pop(key)
        self._characters -= sum(len(tree.xml) for _, tree in seen.trees)
        self._note_end(key, unanswered=event is None and not seen.internal)
        if not seen.internal:
            if typed := self._typed.of(seen.command_id):
                seen.trees = [(when, replace(tree, xml=typed.text(tree.xml))) for when, tree in seen.trees]
            phone = self._phone_of(seen.device_id)
            self._worker.write(lambda history: history.put(_complete(seen, at, event, self._face, phone)))

    def _late(self, event: EnvelopeSeen) -> None:
        """Add a late result to the run that ended without one."""
        key = _key(event)
        if key in self._own or event.envelope is None:
            return
        self._over[key] = False
        phone = self._phone_of(key[0])
        row = RunSummary("", event.command_id, device_id=key[0], origin="seen", ended_at=event.at, phone=phone)
        run = RunRecord(row, envelope=event.envelope, raw=(event.raw,) if event.raw else ())
        self._worker.write(lambda history: history.put_late(run))

    def _note_end(self, key: Key, *, unanswered: bool) -> None:
        self._over[key] = unanswered
        if len(self._over) > _OVER:
            self._over.popitem(last=False)


def _key(event: ExecutionStarted | ExecutionFinished | _Seen) -> Key:
    return event.device_id or "", event.command_id


def _complete(seen: _SeenRun, at: float, event: EnvelopeSeen | None, face: str, phone: str) -> RunRecord:
    """Return the rows of the run that ended at ``at``. Runs in the history's thread."""
    envelope = event.envelope if event is not None else None
    status, code, message = _outcome(event)
    lines = tuple(seen.lines)
    error = unreadable(event.problem, event.transport) if event is not None and envelope is None else None
    outcome = outcome_of((), ((line.at, line.kind, line.fields) for line in lines), envelope, error=error)
    steps = step_records(outcome.steps)
    trees, kept = keep_trees(seen.trees, envelope, at)
    fields = seen.fields
    row = RunSummary(
        execution_id=str(uuid.uuid4()),
        command_id=seen.command_id,
        task_id=fields.get("taskId") or str((envelope or {}).get("taskId", "")),
        source=fields.get("source", ""),
        device_id=seen.device_id,
        phone=phone,
        backend=OPERATOR_BACKEND,
        face=face,
        origin="seen",
        status=status,
        code=code,
        started_at=seen.at,
        ended_at=at,
        duration_ms=(at - seen.at) * 1000,
        action_count=_number(fields.get("actionCount")) or len(steps),
        failed_steps=sum(step.status == "failed" for step in steps),
        timeout_ms=seen.timeout_ms,
        action=_action(lines) if len(steps) == 1 or status == "failed" else "",
        outcome=outcome.to_dict(),
    )
    raw = (event.raw,) if event is not None and event.raw else ()
    return RunRecord(row, message, None, kept, raw, steps, lines, trees)


def _action(lines: Sequence[LineRecord]) -> str:
    """Return the last action in words, as far as the log has it."""
    last = next((line for line in reversed(lines) if line.kind in ("step-start", "stage-start")), None)
    if last is None or last.kind != "stage-start":
        return ""
    return action_words(action_of_stage(last.fields.get("id", "")))


def _outcome(event: EnvelopeSeen | None) -> tuple[RunStatus, str, str]:
    """Return status, code and message, as the run's own process would."""
    if event is None:
        return "interrupted", "", "The log does not show its end."
    if event.envelope is None:
        error = unreadable(event.problem, event.transport)
        return "failed", error.code, error.message
    if event.envelope["status"] == "success":
        return "success", "", ""
    message = str(event.envelope.get("error") or "")
    return "failed", str(event.envelope.get("errorCode") or derived_code(message) or ""), message


def _number(text: str | None) -> int:
    return whole_number(text or "", digits=11) or 0


async def record(subscription: Subscription, seen_runs: SeenRuns) -> None:
    """Feed ``seen_runs`` from the bus until cancelled."""
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(_EXPIRE_SECONDS if seen_runs.waiting else None):
                seen_runs.take(await subscription.batch())
        seen_runs.expire(time.time())
