"""Rows of the stream as JSON objects with the same six keys for every kind."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clawperator.widgets.models.execution import ExecutionState, Item, LiveLine, Mark, StepState

if TYPE_CHECKING:
    from clawperator.engine.logcat.entry import LogEntry

_COMMAND = re.compile(r'commandId(?:=|":\s*")([^\s",}]+)')


def line_object(entry: LogEntry, device_id: str) -> dict[str, Any]:
    """Return a log line: ``raw`` is its message, ``at`` seconds since the epoch by the device's clock, or ``null``."""
    message = entry.message
    named = _COMMAND.search(message)
    fields = {"level": entry.level, "tag": entry.tag, "buffer": entry.buffer, "stamp": entry.stamp}
    numbers = {"pid": entry.pid, "tid": entry.tid, "uid": entry.uid}
    parsed = {name: text or None for name, text in fields.items()}
    parsed |= {name: number if number >= 0 else None for name, number in numbers.items()}  # type: ignore[misc]  # text or number
    return _object(entry.time, device_id, "line", raw=message, command_id=named[1] if named else "", parsed=parsed)


def item_object(item: Item) -> dict[str, Any]:
    """Return an execution or a mark: ``raw`` is the envelope text, ``at`` host time."""
    if isinstance(item, Mark):
        parsed = {"text": item.text, "count": item.count, "column": item.column or None, "until": _known(item.until)}
        return _object(item.at, item.device_id, item.kind, raw=item.raw, parsed=parsed)
    parsed = _execution(item)
    return _object(item.started, item.device_id, "execution", raw=item.raw, command_id=item.command_id, parsed=parsed)


def _object(
    at: float, device_id: str, kind: str, *, raw: str, command_id: str = "", parsed: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "at": _known(at),
        "device": device_id or None,
        "kind": kind,
        "commandId": command_id or None,
        "raw": raw or None,
        "parsed": parsed,
    }


def _known(number: float) -> float | None:
    return None if math.isnan(number) else round(number, 6)


def _execution(item: ExecutionState) -> dict[str, Any]:
    return {
        "taskId": item.task_id,
        "source": item.source,
        "mode": item.mode or None,
        "backend": item.backend or None,
        "status": item.status.word,
        "code": item.code or None,
        "message": item.message or None,
        "problem": item.problem or None,
        "startedAt": _known(item.started),
        "endedAt": _known(item.ended),
        "timeoutMs": item.timeout_ms or None,
        "actionCount": item.action_count or None,
        "ours": item.ours,
        "foreign": item.foreign,
        "late": item.late,
        "duplicates": item.duplicates,
        "runOf": item.run_of or None,
        "phases": dict(item.phases),
        "warnings": [dict(warning) for warning in item.warnings],
        "steps": [_step(step) for step in item.steps],
        "lines": [_line(line) for line in item.lines],
        "envelope": item.envelope,
        "payload": item.payload,
    }


def _step(step: StepState) -> dict[str, Any]:
    return {
        "id": step.id,
        "type": step.type or None,
        "status": step.status.word,
        "code": step.code or None,
        "startedAt": _known(step.started),
        "endedAt": _known(step.ended),
        "retries": step.retries,
        "data": dict(step.data),
    }


def _line(line: LiveLine) -> dict[str, Any]:
    return {"at": _known(line.at), "kind": line.kind, "status": line.status.word, "text": line.text}
