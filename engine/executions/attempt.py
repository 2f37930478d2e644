"""One run attempt as the outside sees it: started once, finished exactly once, whatever happens in between."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from clawperator.engine.bus import EventBus
from clawperator.engine.contracts.execution import Execution
from clawperator.engine.errors import EngineError, ErrorCode, interruption
from clawperator.engine.executions.flight import Flight
from clawperator.engine.executions.run import Finished

_UNSETTLED = (ErrorCode.RESULT_ENVELOPE_TIMEOUT, ErrorCode.LOGCAT_UNAVAILABLE)


@dataclass(frozen=True, slots=True)
class ExecutionResult:
    """A terminal envelope and where it came from. ``phases``: durations in milliseconds by phase name."""

    envelope: dict[str, Any]
    device_id: str
    execution_id: str
    mode: str
    backend: str
    warnings: tuple[Mapping[str, Any], ...] = ()
    phases: Mapping[str, float] = field(default_factory=dict)

    @property
    def succeeded(self) -> bool:
        """Whether the plan ran to its end; single steps may have failed all the same."""
        return bool(self.envelope["status"] == "success")

    def to_dict(self) -> dict[str, Any]:
        """The engine result of the execution contract, §12."""
        answer: dict[str, Any] = {
            "ok": True,
            "envelope": self.envelope,
            "deviceId": self.device_id,
            "terminalSource": "clawperator_result",
            "executionId": self.execution_id,
            "mode": self.mode,
            "backend": self.backend,
        }
        if self.warnings:
            answer["warnings"] = [dict(warning) for warning in self.warnings]
        return answer


class Attempt:
    """Publishes the beginning and the one end of an execution; names both in whatever error passes through."""

    def __init__(self, bus: EventBus, payload: object) -> None:
        command_id = payload.get("commandId") if isinstance(payload, Mapping) else None
        self.execution_id = str(uuid.uuid4())
        self.was_dispatched = False
        self.warnings: list[Mapping[str, Any]] = []
        """What the caller should know whatever the outcome: stands in results and in errors."""
        self._bus = bus
        self._command_id = command_id if isinstance(command_id, str) else ""
        self._device_id: str | None = None
        self._mode = "direct"
        self._began = time.monotonic()

    def start(self, execution: Execution, device_id: str) -> None:
        self._command_id, self._device_id, self._mode = execution.command_id, device_id, execution.mode
        if self._bus.watched:
            from clawperator.engine.events import ExecutionStarted

            self._bus.publish(
                ExecutionStarted(
                    device_id=device_id,
                    execution_id=self.execution_id,
                    command_id=execution.command_id,
                    task_id=execution.task_id,
                    source=execution.source,
                    timeout_ms=execution.timeout_ms,
                    action_count=len(execution.actions),
                )
            )

    def dispatched(self) -> None:
        """From here on the device may act, whatever becomes of us."""
        self.was_dispatched = True
        if self._bus.watched:
            from clawperator.engine.events import ExecutionDispatched

            self._bus.publish(
                ExecutionDispatched(
                    device_id=self._device_id, execution_id=self.execution_id, command_id=self._command_id
                )
            )

    def finish(self, finished: Finished, backend: str) -> ExecutionResult:
        assert self._device_id is not None
        result = ExecutionResult(
            finished.envelope,
            self._device_id,
            self.execution_id,
            self._mode,
            backend,
            (*self.warnings, *finished.warnings),
            finished.phases,
        )
        self._end(result.to_dict())
        return result

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
            self._end_with(interruption("sent" if self.was_dispatched else "not_sent"))

    def _name(self, error: EngineError) -> None:
        """What every error of an execution says besides itself, as far as it is known (errors contract §1.1)."""
        error.extra.setdefault("executionId", self.execution_id)
        if error.code is ErrorCode.LOGCAT_UNAVAILABLE and not self.was_dispatched and error.hint == error.code.hint:
            error.hint = "Check the adb connection; nothing was dispatched."
        if self._device_id is not None:
            error.extra.setdefault("broadcastDispatchStatus", "sent" if self.was_dispatched else "not_sent")
            error.extra.setdefault("deviceId", self._device_id)
        if self.warnings:
            error.extra.setdefault("warnings", [dict(warning) for warning in self.warnings])

    def _end_with(self, error: EngineError) -> None:
        self._name(error)
        answer: dict[str, Any] = {"ok": False, "error": error.to_dict(), "executionId": self.execution_id}
        if self._device_id is not None:
            answer["deviceId"] = self._device_id
        self._end(answer)

    def _end(self, result: Mapping[str, Any]) -> None:
        if self._bus.watched:
            from clawperator.engine.events import ExecutionFinished

            self._bus.publish(
                ExecutionFinished(
                    device_id=self._device_id,
                    execution_id=self.execution_id,
                    command_id=self._command_id,
                    result=result,
                    duration_ms=(time.monotonic() - self._began) * 1000,
                )
            )


@contextmanager
def settling(flight: Flight, was_dispatched: Callable[[], bool]) -> Iterator[None]:
    """Keep the device taken a little longer when it is left with an unknown outcome."""
    try:
        yield
    except EngineError as exc:
        if was_dispatched() and exc.code in _UNSETTLED:
            flight.settle()
        raise
    except BaseException:
        if was_dispatched():
            flight.settle()
        raise
