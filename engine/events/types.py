"""The events of the engine, published on the bus (``bus.py``)."""

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
    """Base of all events: ``seq`` counts up per bus (0 before publishing), ``at`` is host time in seconds since the epoch."""

    seq: int = 0
    at: float = field(default_factory=time.time)
    device_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DevicesChanged(EngineEvent):
    """The adb server's complete device list, initially and after each change."""

    devices: tuple[DeviceEntry, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AdbServerLost(EngineEvent):
    """Device presence is unknown until the next ``DevicesChanged``; the engine reconnects."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdbCalled(EngineEvent):
    """A command to adb began or, if it has a duration, ended. Published only for the debug log."""

    command: AdbCommand


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionStarted(EngineEvent):
    """An execution of this process passed validation. ``payload`` is normalised; ``execution_id`` is unique per attempt."""

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
    """The command of an execution of this process is sent to the device, which may act from now on."""

    execution_id: str
    command_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionFinished(EngineEvent):
    """The terminal outcome of an execution of this process: ``result`` is the engine result of execution.md#result.

    ``payload`` is normalised, or as given if invalid. ``dispatched``: the device may have acted. ``phases`` are milliseconds
    by phase name (``executions/trace.py``).
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
    """One of the Operator's live lines (wire.md#log-lines), of any process's command.

    ``kind``: queued, start, stage-start, stage-retry, stage-success, stage-failure, step-start, step-success, success,
    failure. ``fields`` holds the line's ``key=value`` pairs; ``command_id`` may be empty.
    """

    kind: str
    command_id: str
    fields: Mapping[str, str]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvelopeSeen(EngineEvent):
    """A terminal envelope in the log, of any process's command.

    ``problem`` says why it could not be read (wire.md#reading-the-envelope); ``envelope`` and ``outcome`` are then ``None``.
    ``outcome`` comes from the log, so it lacks steps that never began. ``transport``: of a result in chunk records that cannot be
    put together, what arrived (``receivedChunks``, ``expectedChunks``, ``receivedBytes``, ``expectedBytes``); its plan is over.
    """

    command_id: str
    envelope: Mapping[str, Any] | None
    raw: str
    problem: str = ""
    parts: int = 1
    outcome: Mapping[str, Any] | None = None
    transport: Mapping[str, int] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSeen(EngineEvent):
    """A UI tree in the log; ``complete`` is false if its end is missing."""

    command_id: str
    step_id: str
    xml: str
    complete: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class LogBatch(EngineEvent):
    """Log entries since the last batch; ``dropped`` counts lines that the host skipped before them."""

    entries: tuple[LogEntry, ...]
    dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class LogAttached(EngineEvent):
    """The device's log is being read: no line is missed from now on until a ``LogGap``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogGap(EngineEvent):
    """The log stream broke and is being reopened: lines may be lost."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryTrouble(EngineEvent):
    """Something could not be recorded, or a damaged history was replaced; ``reason`` is a message for the user."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckFinished(EngineEvent):
    """A doctor check finished; ``check`` has the keys of doctor.md#verdict."""

    check: Mapping[str, Any]
