"""The step log: the steps of a recording in the format of other tools (cli.md#commands)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError
from clawperator.engine.recordings.reader import MAX_EVENTS, problem, refuse, unsupported
from clawperator.engine.recordings.records import (
    SCHEMA_VERSION,
    Click,
    Omission,
    Recording,
    SessionId,
    TextChange,
    WindowChange,
)

_DROPPED = {
    "scroll": "a scroll was dropped: step logs do not support scrolling",
    "press_key": "a key was dropped: step logs do not support keys",
    "text_change": "a typed text was dropped: step logs do not support typing",
}
_TYPES = {words: kind for kind, words in _DROPPED.items()}
_WARNING = re.compile(r"seq (\d{1,15}): (.*)", re.ASCII)


def step_log(recording: Recording) -> dict[str, Any]:
    """Return the log as JSON data, with ``_warnings`` if there are any."""
    steps = list(_steps(recording))
    answer: dict[str, Any] = {"sessionId": recording.session_id, "schemaVersion": SCHEMA_VERSION, "steps": steps}
    if warnings := list(_warnings(recording)):
        answer["_warnings"] = warnings
    return answer


def _steps(recording: Recording) -> Iterator[dict[str, Any]]:
    opened = False
    for event in recording.events:
        if isinstance(event, WindowChange) and not opened:
            opened = True
            head = {"seq": event.seq, "type": "open_app", "packageName": event.packageName}
            yield {**head, "uiStateBefore": event.snapshot}
        elif isinstance(event, Click):
            fields = ("packageName", "resourceId", "text", "contentDesc", "bounds")
            head = {"seq": event.seq, "type": "click"}
            yield {**head, **event.model_dump(include=set(fields)), "uiStateBefore": event.snapshot}


def _warnings(recording: Recording) -> Iterator[str]:
    missing = set(recording.missing_snapshots)
    typing = False
    for event in recording.events:
        if isinstance(event, TextChange) and typing:
            continue
        typing = isinstance(event, TextChange)
        if event.type in _DROPPED:
            yield f"seq {event.seq}: {_DROPPED[event.type]}"
        elif event.seq in missing:
            yield f"seq {event.seq}: the {event.type} has no snapshot"


def summary(step: Mapping[str, Any]) -> str:
    """Return one step as a line; the caller escapes texts of the device."""
    if step["type"] == "open_app":
        return f"{step['seq']}: open_app {step['packageName']}"
    name = step["resourceId"] or step["text"] or step["contentDesc"] or _place(step["bounds"])
    return f"{step['seq']}: click {name} in {step['packageName']}"


def _place(bounds: Mapping[str, int]) -> str:
    return f"at {(bounds['left'] + bounds['right']) // 2},{(bounds['top'] + bounds['bottom']) // 2}"


# -- reading


_EVENTS = {"open_app": "window_change", "click": "click"}


def _as_event(step: object) -> object:
    """Return a step as the event of a recording, whose other fields it has."""
    if not isinstance(step, dict):
        return step
    if step.get("type") not in ("open_app", "click"):
        raise ValueError("type must be open_app or click")
    return {**step, "type": _EVENTS[step["type"]], "ts": 0, "snapshot": step.get("uiStateBefore")}


_Step = Annotated[WindowChange | Click, Field(discriminator="type"), BeforeValidator(_as_event)]


class _Log(BaseModel):
    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    sessionId: SessionId  # noqa: N815 - named as in JSON
    schemaVersion: Literal[1]  # noqa: N815 - named as in JSON
    steps: Annotated[list[_Step], Field(max_length=MAX_EVENTS)]
    warnings: Annotated[list[str], Field(max_length=MAX_EVENTS, alias="_warnings")] = []


def read_step_log(data: bytes, file: str = "") -> Recording:
    """Return the recording that a step log describes: its start and its clicks.

    Raises ``EngineError`` as ``reading.read_file``.
    """
    try:
        value = parse_json(data)
    except EngineError as exc:
        refuse(file, 1, f"malformed: {exc.details.get('reason', exc.message)}")
    version = value.get("schemaVersion") if isinstance(value, dict) else None
    if isinstance(version, int) and not isinstance(version, bool) and version != SCHEMA_VERSION:
        raise unsupported(file, version)
    try:
        log = _Log.model_validate(value)
    except ValidationError as exc:
        refuse(file, 1, problem(exc))
    found = (match.groups() for warning in log.warnings if (match := _WARNING.fullmatch(warning)))
    dropped = tuple(Omission(int(seq), _TYPES[words], words) for seq, words in found if words in _TYPES)
    return Recording(log.sessionId, started_at=0, operator_package="", events=tuple(log.steps), dropped=dropped)
