"""The log file: one JSON object per line, one file per local day (cli.md#conventions).

A failure to write is reported once, and then logging stops. Each line is written in one call, so that processes can share a file, and
in ASCII, so that it cannot control a terminal.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from clawperator.engine.files.regular import private_folder, require_regular

if TYPE_CHECKING:
    from clawperator.engine.adb.trace import AdbCommand, AdbTrace
    from clawperator.engine.config.settings import Settings
    from clawperator.engine.events.bus import EventBus
    from clawperator.engine.events.types import EngineEvent
    from clawperator.engine.executions.attempt import Attempt

LEVELS = ("debug", "info", "warn", "error")
OUTPUT = "skills.run.output"
"""The event of a line of a script's output: written at any level."""
LONGEST_TEXT = 8_000
"""Characters of one message or one value."""
LARGEST_FILE = 100_000_000
"""Limit in bytes of the file of one day."""
_EXECUTIONS_KEPT = 1_000
_COMMANDS_KEPT = 20_000
"""Limit of recorded adb commands; the oldest are dropped."""


def today_path(folder: str, at: float | None = None) -> str:
    """Return the file in ``folder`` for the local day of ``at`` (seconds since the epoch; default: now)."""
    return os.path.join(folder, f"clawperator-{time.strftime('%Y-%m-%d', time.localtime(at))}.log")


def known_level(text: str) -> str:
    """Return ``text`` if it is a level, else ``info``: a wrong environment variable is not fatal."""
    return text if text in LEVELS else "info"


@dataclass(frozen=True, slots=True)
class Line:
    """One line; ``at`` in seconds since the epoch, ``fields`` by their names in the file."""

    at: float
    level: str
    event: str
    message: str
    fields: dict[str, Any] = field(default_factory=dict)


def _unheard(_: str) -> None:
    """Ignore the warning."""


class LogFile:
    """Appends lines of at least ``level`` to the file of the day in ``folder``; thread-safe.

    ``safe`` masks texts of screens and scripts. ``warn`` is called once if logging stops.
    """

    def __init__(
        self, folder: str, level: str = "info", safe: bool = False, *, warn: Callable[[str], object] = _unheard
    ) -> None:
        self.folder = folder
        self.level = known_level(level)
        self.safe = safe
        self._warn = warn
        self._off = False
        self._full = ""

    def wants(self, level: str, event: str = "") -> bool:
        """Return whether a line of that level is written."""
        return not self._off and (event == OUTPUT or LEVELS.index(known_level(level)) >= LEVELS.index(self.level))

    def write(self, level: str, event: str, message: str, **fields: Any) -> None:
        """Write one line now. ``fields`` have their names in the file (``commandId=…``); ``None`` is omitted."""
        self.put([Line(time.time(), level, event, message, fields)])

    def put(self, lines: Iterable[Line]) -> None:
        """Write lines. Never raises; blocks on the disk."""
        written: dict[str, list[bytes]] = {}
        for line in lines:
            if self.wants(line.level, line.event):
                written.setdefault(today_path(self.folder, line.at), []).append(encode(line, safe=self.safe))
        for path, encoded in written.items():
            try:
                self._append(path, encoded)
            except (OSError, ValueError) as exc:  # ValueError: a NUL in the folder's name
                self._off = True
                reason = exc.strerror if isinstance(exc, OSError) else str(exc)
                self._warn(f"the log file {path} cannot be written: {reason}; nothing more is logged")
                return

    def _append(self, path: str, lines: Iterable[bytes]) -> None:
        if path == self._full:
            return
        private_folder(self.folder)
        fd = _open(path)
        try:
            if os.fstat(fd).st_size > LARGEST_FILE:
                self._full = path
                self._warn(f"the log file {path} is full; nothing more is logged today")
                return
            for line in lines:
                os.write(fd, line)
        finally:
            os.close(fd)


def _open(path: str) -> int:
    """Open the log file. Raises ``OSError`` for a link, a FIFO or a device, without blocking."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        require_regular(descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def encode(line: Line, *, safe: bool = False) -> bytes:
    """Return the line with its line feed. ``safe`` masks the output of scripts."""
    import json

    message = line.message
    if safe and line.event == OUTPUT:
        from clawperator.engine.diagnostics.safe_logs import mask

        message = mask(message)
    milliseconds = int(line.at * 1000) % 1000
    document = {
        "ts": f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(line.at))}.{milliseconds:03d}Z",
        "level": known_level(line.level),
        "event": line.event,
        "message": message[:LONGEST_TEXT],
    }
    document |= {name: _plain(value) for name, value in line.fields.items() if value is not None}
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float) else str(value)[:LONGEST_TEXT]


def open_log(settings: Settings, *, warn: Callable[[str], object] = _unheard) -> LogFile:
    """Return the log of ``settings``; the first line creates the file."""
    return LogFile(settings.log_dir, settings.log_level, settings.safe_logs, warn=warn)


class LogRecorder:
    """Collects the executions of a process that runs one command, to be written after its result is printed."""

    def __init__(self) -> None:
        self._ends: list[tuple[float, Attempt, Mapping[str, Any], float]] = []
        self._commands: deque[AdbCommand] = deque(maxlen=_COMMANDS_KEPT)

    def heard(self, command: AdbCommand) -> None:
        """Note an adb command: for ``AdbTrace.listener``."""
        self._commands.append(command)

    def dispatched(self, attempt: Attempt) -> None:
        """Do nothing: ``ended`` logs the dispatch, too."""

    def ended(self, attempt: Attempt, result: Mapping[str, Any], duration_ms: float) -> None:
        self._ends.append((time.time(), attempt, result, duration_ms))

    def write(self, log: LogFile) -> None:
        """Write what was collected."""
        lines = [line for end in self._ends for line in _end_lines(*end, safe=log.safe)]
        log.put(sorted([*lines, *map(_adb, self._commands)], key=lambda line: line.at))


def _end_lines(at: float, attempt: Attempt, result: Mapping[str, Any], duration_ms: float, *, safe: bool) -> list[Line]:
    execution = attempt.validated.execution if attempt.validated is not None else None
    names = {
        "commandId": attempt.command_id or None,
        "taskId": execution.task_id if execution is not None else None,
        "deviceId": attempt.device_id,
        "executionId": attempt.execution_id,
    }
    left = _dispatched(attempt.trace.dispatched_at, names) if attempt.trace.was_dispatched else []
    return [*left, _ended(at, names, result, duration_ms, safe=safe)]


# -- events


@asynccontextmanager
async def follow_bus(bus: EventBus, log: LogFile, adb: AdbTrace | None = None) -> AsyncIterator[None]:
    """Log events during the block, at level debug also adb commands; at its end all are written."""
    if adb is not None and log.wants("debug"):
        adb.listener = partial(_publish, bus)
    with bus.subscribe() as subscription:
        event_lines = EventLines(safe=log.safe)

        async def follow() -> None:
            while events := await subscription.batch():
                if lines := [line for event in events for line in event_lines.lines(event)]:
                    await asyncio.to_thread(log.put, lines)

        task = asyncio.create_task(follow(), name="log file")
        try:
            yield
        finally:
            if adb is not None:
                adb.listener = None
            subscription.close()
            await task


def _publish(bus: EventBus, command: AdbCommand) -> None:
    from clawperator.engine.events.types import AdbCalled

    bus.publish(AdbCalled(device_id=command.serial or None, command=command))


class EventLines:
    """Engine events as lines. Keeps the task ids of running executions; ``safe``: codes instead of messages."""

    def __init__(self, *, safe: bool = False) -> None:
        self._safe = safe
        self._tasks: dict[str, str] = {}

    def lines(self, event: EngineEvent) -> list[Line]:
        """Return the lines of one event; most events have none."""
        from clawperator.engine.events.types import (
            AdbCalled,
            CheckFinished,
            ExecutionDispatched,
            ExecutionFinished,
            ExecutionStarted,
        )

        match event:
            case ExecutionStarted():
                if len(self._tasks) >= _EXECUTIONS_KEPT:
                    del self._tasks[next(iter(self._tasks))]
                self._tasks[event.execution_id] = event.task_id
                return []
            case ExecutionDispatched():
                return _dispatched(event.at, self._names(event))
            case ExecutionFinished():
                names = self._names(event)
                self._tasks.pop(event.execution_id, None)
                return [_ended(event.at, names, event.result, event.duration_ms, safe=self._safe)]
            case CheckFinished():
                return [_check(event.at, event.device_id, event.check, safe=self._safe)]
            case AdbCalled():
                return [_adb(event.command)]
        return []

    def _names(self, event: Any) -> dict[str, Any]:
        return {
            "commandId": event.command_id or None,
            "taskId": self._tasks.get(event.execution_id),
            "deviceId": event.device_id,
            "executionId": event.execution_id,
        }


def _dispatched(at: float, names: dict[str, Any]) -> list[Line]:
    return [
        Line(at, "info", "preflight.apk.pass", "the Operator app is installed", names),
        Line(at, "info", "broadcast.dispatched", "the command left for the device", names),
    ]


def _ended(at: float, names: dict[str, Any], result: Mapping[str, Any], duration_ms: float, *, safe: bool) -> Line:
    """Return the line of the end of an execution; ``result`` is the engine result of execution.md#result."""
    facts = {**names, "durationMs": round(duration_ms)}
    envelope = result.get("envelope")
    if envelope is not None:
        status, code = envelope.get("status"), envelope.get("errorCode")
        if (outcome := result.get("outcome") or {}).get("status") == "partial":  # a success with a failed step
            status, code = "partial", outcome["error"]["code"]
        facts |= {"status": status, "code": code}
        level = "info" if status == "success" else "warn"
        return Line(at, level, "envelope.received", f"the result is there: {status}", facts)
    error = result.get("error", {})
    code = str(error.get("code", ""))
    facts |= {"status": "failed", "code": code}
    message = code if safe else str(error.get("message", "")) or code
    return Line(at, "error", _ENDS.get(code, "execution.failed"), message, facts)


_ENDS = {
    "RESULT_ENVELOPE_TIMEOUT": "timeout.fired",
    "RECEIVER_NOT_INSTALLED": "preflight.apk.missing",
}
"""Codes of executions without a result that have their own event."""


def _adb(command: AdbCommand) -> Line:
    fields: dict[str, Any] = {"deviceId": command.serial or None}
    if command.duration_ms is None:
        return Line(command.at, "debug", "adb.command", command.text, fields)
    fields |= {"durationMs": round(command.duration_ms), "exitCode": command.exit_code, "code": command.code or None}
    return Line(command.at, "debug", "adb.complete", command.text, fields)


def _check(at: float, device_id: str | None, check: Any, *, safe: bool) -> Line:
    status = check.get("status")
    level = {"pass": "info", "warn": "warn"}.get(str(status), "error")
    summary = "" if safe else f": {check.get('summary', '')}"
    fields = {"deviceId": device_id, "status": status, "code": check.get("code"), "durationMs": check.get("durationMs")}
    return Line(at, level, "doctor.check", f"{check.get('id')}{summary}", fields)
