"""One attempt to run an execution: its start and its one end are published and recorded, whatever happens between them."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Protocol, Self

from clawperator.engine.adb.failures import timed_out
from clawperator.engine.contracts.caller import ANONYMOUS, Caller
from clawperator.engine.contracts.limits import BACKENDS, DEFAULT_MODE
from clawperator.engine.errors import EngineError, ErrorCode, interruption
from clawperator.engine.events.bus import EventBus
from clawperator.engine.events.typed_text import TypedText
from clawperator.engine.executions.device_lock import HeldDevice
from clawperator.engine.executions.outcome import ExecutionOutcome, outcome_of
from clawperator.engine.executions.run import Finished
from clawperator.engine.executions.trace import Trace
from clawperator.engine.executions.validate import Validated
from clawperator.engine.text.sensitive import HIDDEN as SENSITIVE
from clawperator.engine.text.sensitive import hide_in_data, sensitive_texts

_UNSETTLED = (
    ErrorCode.RESULT_ENVELOPE_TIMEOUT,
    ErrorCode.LOGCAT_UNAVAILABLE,
    ErrorCode.SERVICE_UNAVAILABLE,  # a service that starts later may still take the command
)
_PREPARING = {
    "device": "choosing the device",
    "check": "looking for the Operator app on the device",
    "close": "stopping apps",
    "attach": "attaching to the device's log",
    "look": "reading the screen",
}
"""Descriptions of the phases that wait for the device or the adb server."""


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """A terminal envelope and its origin. ``phases``: milliseconds by phase name; ``duration_ms`` of all of it.

    ``outcome`` has the status of each step, also if the envelope of a failed plan has no step results. ``facts`` are the
    result of a composition.
    """

    envelope: dict[str, Any]
    outcome: ExecutionOutcome
    device_id: str
    execution_id: str
    mode: str
    backend: str
    warnings: tuple[Mapping[str, Any], ...] = ()
    phases: Mapping[str, float] = field(default_factory=dict)
    facts: Mapping[str, Any] = field(default_factory=dict)
    then: Mapping[str, Any] | None = None
    """The settled screen after the plan, if ``RunOptions.then`` asked for it."""
    selection: Mapping[str, Any] = field(default_factory=dict)
    """How the host chose nodes, if it did."""
    duration_ms: float = 0.0

    @property
    def succeeded(self) -> bool:
        """Whether everything that was asked for is done."""
        return self.outcome.status == "succeeded"

    def to_dict(self) -> dict[str, Any]:
        """Return the engine result of execution.md#result."""
        answer: dict[str, Any] = {
            "ok": True,
            "envelope": self.envelope,
            "deviceId": self.device_id,
            "terminalSource": "clawperator_result",
            "executionId": self.execution_id,
            "mode": self.mode,
            "backend": self.backend,
            "outcome": self.outcome.to_dict(),
        }
        if self.selection:
            answer["selection"] = dict(self.selection)
        if self.facts:
            answer["result"] = dict(self.facts)
        if self.then is not None:
            answer["then"] = dict(self.then)
        if self.warnings:
            answer["warnings"] = [dict(warning) for warning in self.warnings]
        return answer


class ExecutionRecorder(Protocol):
    """Records executions. Its methods must neither wait nor raise."""

    def dispatched(self, attempt: Attempt) -> None:
        """Called just before the command is sent to the device."""
        ...

    def ended(self, attempt: Attempt, result: Mapping[str, Any], duration_ms: float) -> None:
        """Called exactly once."""
        ...


class Attempt:
    """Publishes the start and the one end of an execution, and adds its ids to errors that pass through.

    ``payload`` is as given; ``validated`` holds the normalised one. ``device_id`` is known from ``start`` on. ``at`` is the
    start in seconds since the epoch. Unless ``recorded``, only a failure is.
    """

    def __init__(
        self,
        bus: EventBus,
        payload: object,
        recorders: Sequence[ExecutionRecorder] = (),
        caller: Caller = ANONYMOUS,
        *,
        recorded: bool = True,
    ) -> None:
        command_id = payload.get("commandId") if isinstance(payload, Mapping) else None
        self.execution_id = str(uuid.uuid4())
        self.at = time.time()
        self.payload = payload
        steps = getattr(payload, "actions", ())  # of a composition
        self.typed = TypedText.of(payload if not steps else {"actions": [step.to_payload() for step in steps]})
        """What recorders take out of what they keep: what the payload types, and what earlier ones did that is like a secret."""
        self.validated: Validated | None = None
        """What was admitted; then what is dispatched in its place, without references."""
        self.command_id = command_id if isinstance(command_id, str) else ""
        self.device_id: str | None = None
        self.phone = ""
        """The identity of the phone (``adb.phones``), if it is known."""
        self.mode = DEFAULT_MODE
        self.backend = ""
        self.package = ""
        self.caller = caller
        self.warnings: list[Mapping[str, Any]] = []
        """Part of results and errors."""
        self.outcome: ExecutionOutcome | None = None
        """Set at the end; ``None`` if nothing was dispatched."""
        self.trace = Trace()
        self.trace.before_dispatch.append(self._dispatched)
        self._bus = bus
        self._recorders = recorders
        self._recorded = recorded
        self._preparation: asyncio.Timeout | None = None
        self._left = 0.0
        self._began = time.monotonic()
        self.trace.enter("validate")

    def admit(self, validated: Validated, backend: str, package: str) -> None:
        """Note the valid payload, for the Operator app ``package`` through ``backend``."""
        self.validated, self.backend, self.package = validated, backend, package
        own = TypedText.of(validated.payload)
        self._bus.typed.note(validated.execution.command_id, own)
        self.typed = self._bus.typed.beside(own)
        self.command_id, self.mode = validated.execution.command_id, validated.execution.mode
        self.trace.enter("device")

    @asynccontextmanager
    async def prepared_within(self, timeout_ms: int) -> AsyncIterator[None]:
        """Limit everything before the dispatch, except the wait for the device lock, to ``timeout_ms``.

        The wait for the envelope has its own limit. Raises ``AdbTimeoutError``.
        """
        seconds = timeout_ms / 1000
        self._preparation = limit = asyncio.timeout(seconds)
        try:
            async with limit:
                yield
        except TimeoutError as exc:
            if not limit.expired():
                raise
            if self.trace.phase == "attach" and self.backend == BACKENDS[0]:
                from clawperator.engine.executions.log_stream import silent_log

                raise silent_log(self.device_id or "", f"not within {seconds:g} s") from exc
            doing = _PREPARING.get(self.trace.phase, "preparing the execution")
            error = timed_out(f"{doing} before the dispatch", seconds, serial=self.device_id or "")
            error.details["phase"] = self.trace.phase
            raise error from exc

    def await_lock(self) -> None:
        """Pause the time limit: the wait for the device lock has its own."""
        self.trace.enter("lock")
        if self._preparation is not None:
            self._left = (self._preparation.when() or 0.0) - asyncio.get_running_loop().time()
            self._preparation.reschedule(None)

    def locked(self) -> None:
        """Resume the time limit: the lock is held."""
        if self._preparation is not None:
            self._preparation.reschedule(asyncio.get_running_loop().time() + self._left)

    def start(self, device_id: str) -> None:
        """Publish the start on ``device_id``."""
        assert self.validated is not None
        self.device_id = device_id
        self.warnings += [warning.to_dict() for warning in self.validated.warnings]
        self.trace.enter("check")
        if self._bus.watched:
            from clawperator.engine.events.types import ExecutionStarted

            execution = self.validated.execution
            self._bus.publish(
                ExecutionStarted(
                    device_id=device_id,
                    execution_id=self.execution_id,
                    command_id=execution.command_id,
                    task_id=execution.task_id,
                    source=execution.source,
                    timeout_ms=execution.timeout_ms,
                    action_count=len(execution.actions),
                    payload=self.shown_payload,
                    mode=execution.mode,
                    backend=self.backend,
                )
            )

    @property
    def shown_payload(self) -> Any:
        """The normalised payload without typed text, or what was given if that was invalid."""
        given = getattr(self.payload, "head", self.payload) if self.validated is None else self.validated.payload
        return self.typed.payload(given)

    def _dispatched(self) -> None:
        if self._preparation is not None:
            self._preparation.reschedule(None)
        if self._bus.watched:
            from clawperator.engine.events.types import ExecutionDispatched

            self._bus.publish(
                ExecutionDispatched(
                    device_id=self.device_id, execution_id=self.execution_id, command_id=self.command_id
                )
            )
        for recorder in self._recorders if self._recorded else ():
            recorder.dispatched(self)

    def finish(self, finished: Finished) -> ExecutionResult:
        assert self.device_id is not None
        self.trace.enter("")
        self.warnings += (*self.trace.warnings, *finished.warnings)
        self.outcome = finished.outcome
        result = ExecutionResult(
            finished.envelope,
            finished.outcome,
            self.device_id,
            self.execution_id,
            self.mode,
            self.backend,
            tuple(self.warnings),
            self.trace.phases,
            finished.facts,
            finished.then,
            finished.selection,
        )
        return replace(result, duration_ms=self._end(result.to_dict()))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if error is None:
            return
        if isinstance(error, EngineError):
            self._end_with(error)
        elif isinstance(error, Exception):
            fault = EngineError(ErrorCode.UNKNOWN_RUNTIME_ERROR, f"{type(error).__name__}: {error}")
            self._end_with(fault)
            raise fault from error
        else:
            error.__cause__ = interrupt = interruption("sent" if self.trace.was_dispatched else "not_sent")
            self._end_with(interrupt)

    def _name(self, error: EngineError) -> None:
        """Add what is known of the execution to ``error`` (errors.md#shape)."""
        error.extra.setdefault("executionId", self.execution_id)
        if self.backend not in ("", BACKENDS[0]):
            error.extra.setdefault("backend", self.backend)
        dispatched = self.trace.was_dispatched
        if error.code is ErrorCode.LOGCAT_UNAVAILABLE and not dispatched and error.hint == error.code.hint:
            error.hint = "Check the adb connection; nothing was dispatched."
        if self.device_id is not None:
            error.extra.setdefault("broadcastDispatchStatus", "sent" if dispatched else "not_sent")
            error.extra.setdefault("deviceId", self.device_id)
        if self.warnings:
            error.extra.setdefault("warnings", [dict(warning) for warning in self.warnings])
        carried_out = self.trace.carried_out
        if (dispatched or carried_out) and self.validated is not None:
            steps, lines = self.validated.execution.steps, self.trace.live_lines
            known = self.trace.stopped
            self.outcome = known or outcome_of(steps, lines, error=error, carried_out=carried_out)
            error.extra.setdefault("outcome", self.outcome.to_dict())
            if any(step.status == "done" and step.type != "close_app" for step in self.outcome.steps):
                error.extra["broadcastDispatchStatus"] = "sent"  # an earlier part of a composition was, at least

    def _end_with(self, error: EngineError) -> None:
        self.trace.enter("")
        self.warnings += self.trace.warnings
        self._recorded = True
        self._name(error)
        self._end(error.to_answer())

    def _end(self, result: Mapping[str, Any]) -> float:
        """Publish and record the end, without typed and sensitive text; return the duration in milliseconds."""
        shown = TypedText((text for _, tree in self.trace.trees for text in sensitive_texts(tree.xml)), SENSITIVE)
        result = shown.value(hide_in_data(self.typed.result(result)))
        duration_ms = (time.monotonic() - self._began) * 1000
        if self._bus.watched:
            from clawperator.engine.events.types import ExecutionFinished

            self._bus.publish(
                ExecutionFinished(
                    device_id=self.device_id,
                    execution_id=self.execution_id,
                    command_id=self.command_id,
                    result=result,
                    duration_ms=duration_ms,
                    phases=dict(self.trace.phases),
                    warnings=tuple(self.typed.value(self.warnings)),
                    payload=self.shown_payload,
                    dispatched=self.trace.was_dispatched,
                )
            )
        for recorder in self._recorders if self._recorded else ():
            recorder.ended(self, result, duration_ms)
        return duration_ms


@contextmanager
def settling(held: HeldDevice, trace: Trace) -> Iterator[None]:
    """Let the device settle if the block ends with an unknown outcome, also if this process is killed."""
    trace.before_dispatch.insert(0, held.dispatching)
    try:
        yield
    except EngineError as exc:
        refused = exc.extra.get("broadcastDispatchStatus") == "not_sent"
        if trace.was_dispatched and exc.code in _UNSETTLED and not refused:
            held.settle()
        raise
    except BaseException:
        if trace.was_dispatched:
            held.settle()
        raise
