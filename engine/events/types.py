"""What happens inside the engine, as frozen values; they travel on the bus (``bus.py``)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.adb.trace import AdbCommand
from clawperator.engine.logcat.entry import LogEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineEvent:
    """Common to all: ``seq`` counts up per bus (0 before publishing), ``at`` is host time in seconds since the epoch."""

    seq: int = 0
    at: float = field(default_factory=time.time)
    device_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicesChanged(EngineEvent):
    """The adb server's whole device list, at first and at each change."""

    devices: tuple[DeviceEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdbServerLost(EngineEvent):
    """Device presence is unknown until the next ``DevicesChanged``; the engine reconnects by itself."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdbCalled(EngineEvent):
    """A command to adb began or, where it has a duration, ended. Told only where the log is to have it."""

    command: AdbCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionStarted(EngineEvent):
    """An execution of this process passed validation; ``executionId`` is the host's, one per run attempt.

    ``payload`` is the normalised one; ``backend`` is the way to the device that the caller chose.
    """

    execution_id: str
    command_id: str
    task_id: str
    source: str
    timeout_ms: int
    action_count: int
    payload: Mapping[str, Any] = field(default_factory=dict)
    mode: str = ""
    backend: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionDispatched(EngineEvent):
    """The command of an execution of this process leaves for the device: from here on it may act."""

    execution_id: str
    command_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFinished(EngineEvent):
    """The one terminal outcome of an execution of this process: ``result`` is execution.md#result's engine result.

    ``payload`` is the normalised one, or what was given where that was not valid. ``dispatched``: it may have acted.
    ``phases`` are milliseconds by phase name (``executions/trace.py``), as far as it came.
    """

    execution_id: str
    command_id: str
    result: Mapping[str, Any]
    duration_ms: float
    phases: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[Mapping[str, Any], ...] = ()
    payload: object = None
    dispatched: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandProgress(EngineEvent):
    """One of the Operator's own live lines (wire.md#log-lines), whoever dispatched the command.

    ``kind``: queued, start, stage-start, stage-retry, stage-success, stage-failure, step-start, step-success, success,
    failure. ``fields`` holds the ``key=value`` pairs of the line as text; ``command_id`` is empty where the line has none.
    """

    kind: str
    command_id: str
    fields: Mapping[str, str]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeSeen(EngineEvent):
    """A terminal envelope in the log, ours or another process's. ``problem`` is empty for a readable one.

    ``problem`` otherwise says why it could not be read (wire.md#reading-the-envelope); ``envelope`` and ``outcome`` are then ``None``.
    ``outcome`` comes from the lines that went by: steps that never began are not in it, the log does not name them.
    """

    command_id: str
    envelope: Mapping[str, Any] | None
    raw: str
    problem: str = ""
    parts: int = 1
    outcome: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSeen(EngineEvent):
    """A hierarchy dump went by in the log; ``complete`` is false where its end never came."""

    command_id: str
    step_id: str
    xml: str
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBatch(EngineEvent):
    """Log entries since the last batch, in order; ``dropped`` counts lines the host had to skip before them."""

    entries: tuple[LogEntry, ...]
    dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogAttached(EngineEvent):
    """The device's log is being followed: nothing logged from here on is missed until a ``LogGap``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogGap(EngineEvent):
    """The log stream broke and is being reopened: lines in between may be lost."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryTrouble(EngineEvent):
    """Something could not be recorded, or the history was found damaged and begun anew; ``reason`` is for people."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinished(EngineEvent):
    """One doctor check has its result; ``check`` has the keys of doctor.md#verdict."""

    check: Mapping[str, Any]
