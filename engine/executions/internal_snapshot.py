"""One snapshot that the host takes for itself, outside of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clawperator.engine.contracts.derived import derived_code
from clawperator.engine.contracts.limits import FOLLOW_SOURCE
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions import build
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.finish import too_large
from clawperator.engine.executions.outcome import suspended_hint

if TYPE_CHECKING:
    from clawperator.engine.contracts.envelope import Envelope
    from clawperator.engine.executions.backend import Outcome


def snapshot_command(timeout_ms: int) -> Command:
    """Return the command of one snapshot, which histories and logs do not take for an execution."""
    return Command.internal(
        build.single("follow", "snapshot_ui", action_id="snap", source=FOLLOW_SOURCE, timeout_ms=timeout_ms)
    )


def tree_of(outcome: Outcome) -> str:
    """Return the XML of a snapshot. Raises ``EngineError`` with the device's code if it has none."""
    envelope = outcome.envelope
    step = envelope.step_results[-1] if envelope.step_results else None
    if envelope.status != "success":
        raise _refusal(envelope, outcome.resumes_ms)
    if step is not None and not step.success:
        code = ErrorCode.known(step.data.get("error", "")) or ErrorCode.UI_TREE_UNAVAILABLE
        raise EngineError(code, step.data.get("message") or f"The device returned no tree: {code.value}")
    captured = next((tree.xml for tree in reversed(outcome.hierarchies) if tree.complete), "")
    if text := captured or (step.data.get("text", "") if step is not None else ""):
        return text
    if size := next((tree.size for tree in reversed(outcome.hierarchies) if tree.size), 0):
        raise too_large(size)
    raise EngineError(ErrorCode.SNAPSHOT_EXTRACTION_FAILED, "No complete tree could be read from the device's log")


def _refusal(envelope: Envelope, resumes_ms: int) -> EngineError:
    words = envelope.error or "The device gave no reason"
    code = ErrorCode.known(envelope.error_code or "") or derived_code(words) or ErrorCode.UNKNOWN_RUNTIME_ERROR
    if code is ErrorCode.EXECUTION_TIMEOUT:  # the limit is the host's own
        return EngineError(ErrorCode.UI_TREE_UNAVAILABLE, "The active window provided no UI tree in time")
    if code is ErrorCode.SERVICE_UNAVAILABLE and resumes_ms:  # the app refused it as a whole
        details, extra = {"retryAfterMs": resumes_ms}, {"broadcastDispatchStatus": "not_sent"}
        return EngineError(code, words, hint=suspended_hint(resumes_ms), details=details, extra=extra)
    return EngineError(code, words)
