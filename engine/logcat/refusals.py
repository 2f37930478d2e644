"""Payloads that the Operator could not accept: it logs an error and no envelope (wire.md#log-lines)."""

from __future__ import annotations

from clawperator.engine.logcat.assembly import AssemblyResult
from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.signals import RefusalSignal

_MISSING = b"[Operator-Receiver] Missing required agent payload extra"
_UNREADABLE = (
    b"[Operator-Receiver] Failed to parse agent command payload",
    b"[Operator-Receiver] Accessibility service is not available and failed to parse agent command payload",
)
_LEVEL = "E"
_UNSUPPORTED = "unsupported action type at index="
_MAX_LINES = 200
_PART_TIMEOUT = 0.3
"""Seconds: a stack trace is written at once, and the caller is waiting."""


def begins_refusal(entry: LogEntry) -> bool:
    """Only at the level of errors: the Operator's lines with texts of the screen are below it."""
    return entry.level == _LEVEL and entry.payload.startswith((_MISSING, *_UNREADABLE))


class RefusalAssembly:
    """The message and its stack trace: one record, or one per line."""

    def __init__(self, entry: LogEntry) -> None:
        self.tag, self.level = entry.tag, entry.level
        self.idle_since: float | None = None
        self.timeout = _PART_TIMEOUT
        self._entry = entry
        self._lines: list[str] = []

    def add(self, entry: LogEntry) -> AssemblyResult | None:
        if self._lines and entry.payload.startswith(b"["):
            return AssemblyResult((self._signal(),), (entry,))
        self._lines += entry.message.split("\n")
        complete = len(self._lines) > 1 and (entry is self._entry or _UNSUPPORTED in self._lines[-1])
        if complete or entry.payload.startswith(_MISSING) or len(self._lines) > _MAX_LINES:
            return AssemblyResult((self._signal(),))
        return None

    def abandon(self, problem: str) -> AssemblyResult:  # noqa: ARG002 - what there is of the trace is the reason
        return AssemblyResult((self._signal(),))

    def _signal(self) -> RefusalSignal:
        message, trace = self._lines[0], self._lines[1:]
        reason = next((line.strip() for line in trace if line.strip()), message)
        unsupported = any(_UNSUPPORTED in line for line in trace)
        return RefusalSignal(reason, unsupported, self._entry)
