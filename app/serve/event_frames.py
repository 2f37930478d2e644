"""Engine events as server-sent events: name, data and the JSON Schema of the data. Pure.

Names and data are versioned together by ``VERSION``; data only ever gain keys (http.md#events).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from clawperator.engine.events.types import (
    AdbServerLost,
    CommandProgress,
    DevicesChanged,
    EngineEvent,
    EnvelopeSeen,
    ExecutionFinished,
    LogAttached,
    LogBatch,
    LogGap,
    SnapshotSeen,
)
from clawperator.engine.follow.follower import FollowState
from clawperator.engine.follow.trees import digest_of

VERSION = 1
HEARTBEAT = "heartbeat"
RESULT = "clawperator:result"
EXECUTION = "clawperator:execution"
EVENT = "clawperator:event"
DEVICES = "clawperator:devices"
SNAPSHOT = "clawperator:snapshot"
ENVELOPE = "clawperator:envelope"
LINK = "clawperator:link"
FOLLOW = "clawperator:follow"
LOG = "clawperator:log"
RESET = "clawperator:reset"
DROPPED = "clawperator:dropped"
TYPES = (RESULT, EXECUTION, EVENT, DEVICES, SNAPSHOT, ENVELOPE, LINK, FOLLOW, LOG)
"""Types that a client can select; events about the stream itself are always sent."""
OPT_IN = frozenset({ENVELOPE, LINK, FOLLOW, LOG})
"""Types that a client receives only if it subscribes to them by name."""
EPHEMERAL = frozenset({LOG})
"""Types that are not encoded without a subscriber and not replayed after a reconnect: they have no id."""


class StreamEvent(NamedTuple):
    """One event before it is encoded; ``device_id`` is ``None`` if it is not about one device."""

    name: str
    device_id: str | None
    data: Mapping[str, Any]


def stream_events(event: EngineEvent) -> Iterator[StreamEvent]:
    """Yield the stream events of an engine event; for a finished execution, the result first."""
    encode = _ENCODERS.get(type(event))
    if encode is not None:
        yield from encode(event)


def _finished(event: ExecutionFinished) -> Iterator[StreamEvent]:
    result, device = event.result, event.device_id
    if event.dispatched and device is not None:
        envelope = result["envelope"] if result.get("ok") else _synthetic(event)
        data = {"deviceId": device, "envelope": envelope, "executionId": event.execution_id}
        yield StreamEvent(RESULT, device, data | {"outcome": result.get("outcome")})
    yield StreamEvent(EXECUTION, device, {"deviceId": device, "input": event.payload, "result": dict(result)})


def _synthetic(event: ExecutionFinished) -> dict[str, Any]:
    """Return the envelope of an execution that returned none (execution.md#result)."""
    payload = event.payload if isinstance(event.payload, Mapping) else {}
    return {
        "commandId": event.command_id,
        "taskId": payload.get("taskId", ""),
        "status": "failed",
        "stepResults": [],
        "error": event.result.get("error", {}).get("code", ""),
    }


def _progress(event: CommandProgress) -> Iterator[StreamEvent]:
    data = {"kind": event.kind, "fields": dict(event.fields), "text": event.text, "at": event.at}
    yield StreamEvent(
        EVENT, event.device_id, {"deviceId": event.device_id, "commandId": event.command_id, "event": data}
    )


def _envelope(event: EnvelopeSeen) -> Iterator[StreamEvent]:
    names = {"deviceId": event.device_id, "commandId": event.command_id}
    data = {"status": (event.envelope or {}).get("status"), "problem": event.problem, "at": event.at}
    yield StreamEvent(EVENT, event.device_id, {**names, "event": {"kind": "envelope", **data}})
    whole = {"envelope": event.envelope, "raw": event.raw, "problem": event.problem, "parts": event.parts}
    more = {"outcome": event.outcome, "transport": event.transport and dict(event.transport), "at": event.at}
    yield StreamEvent(ENVELOPE, event.device_id, {**names, **whole, **more})


def _snapshot(event: SnapshotSeen) -> Iterator[StreamEvent]:
    data = event.xml.encode("utf-8", "surrogatepass")
    facts = {
        "deviceId": event.device_id,
        "commandId": event.command_id,
        "stepId": event.step_id,
        "digest": digest_of(data),
        "bytes": len(data),
        "complete": event.complete,
        "at": event.at,
    }
    yield StreamEvent(SNAPSHOT, event.device_id, facts)


def _devices(event: DevicesChanged) -> Iterator[StreamEvent]:
    yield StreamEvent(DEVICES, None, {"devices": [entry.to_dict() for entry in event.devices]})


_LINK_STATES = {AdbServerLost: "adb-lost", LogGap: "log-broken", LogAttached: "log-followed"}


def _link(event: AdbServerLost | LogGap | LogAttached) -> Iterator[StreamEvent]:
    reason = "" if isinstance(event, LogAttached) else event.reason
    facts = {"deviceId": event.device_id, "state": _LINK_STATES[type(event)], "reason": reason, "at": event.at}
    yield StreamEvent(LINK, event.device_id, facts)


def _log(event: LogBatch) -> Iterator[StreamEvent]:
    lines = [
        {
            "level": entry.level,
            "tag": entry.tag,
            "text": entry.message,
            "pid": entry.pid,
            "tid": entry.tid,
            "uid": entry.uid,
            "time": None if math.isnan(entry.time) else entry.time,
        }
        for entry in event.entries
    ]
    facts = {"deviceId": event.device_id, "lines": lines, "dropped": event.dropped, "at": event.at}
    yield StreamEvent(LOG, event.device_id, facts)


def following(device_id: str, state: FollowState) -> StreamEvent:
    """Return the state of follow mode on a device as an event."""
    error = None if state.error is None else state.error.to_dict()
    facts = {"deviceId": device_id, "phase": state.phase, "commandId": state.command_id, "wait": state.wait}
    return StreamEvent(FOLLOW, device_id, {**facts, "error": error})


_ENCODERS: dict[type[EngineEvent], Callable[[Any], Iterator[StreamEvent]]] = {
    ExecutionFinished: _finished,
    CommandProgress: _progress,
    EnvelopeSeen: _envelope,
    SnapshotSeen: _snapshot,
    DevicesChanged: _devices,
    **dict.fromkeys(_LINK_STATES, _link),
    LogBatch: _log,
}
FLEETING_EVENTS: Mapping[type[EngineEvent], str] = {LogBatch: LOG}
"""The type of each of these engine events."""


def encoded(name: str, data: Mapping[str, Any], event_id: str = "") -> bytes:
    """Return one event in the format of the stream. ASCII JSON contains no line breaks."""
    lines = f"id: {event_id}\n" if event_id else ""
    return f"{lines}event: {name}\ndata: {_compact(data)}\n\n".encode("ascii")


def _compact(data: Mapping[str, Any]) -> str:
    try:
        return json.dumps(data, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):  # a refused payload can be any object
        return json.dumps({**data, "input": None}, separators=(",", ":"))


# -- schemas

_TEXT = {"type": "string"}
_COUNT = {"type": "integer"}
_MOMENT = {"type": "number", "description": "Seconds since the epoch, by the server's clock."}
_DEVICE = {"type": ["string", "null"], "description": "The device's serial, where one is known."}


def _object(properties: Mapping[str, Any], *optional: str) -> dict[str, Any]:
    required = [name for name in properties if name not in optional]
    return {"type": "object", "properties": dict(properties), "required": required}


_DATA = _object(
    {"kind": _TEXT, "at": _MOMENT, "fields": {"type": "object"}, "text": _TEXT, "problem": _TEXT},
    *("fields", "text", "problem"),
)
_ENTRY = _object(
    {
        **dict.fromkeys(("serial", "state", "product", "model", "detail", "sharedSerial"), _TEXT),
        "transportId": _COUNT,
        "otherTransports": {"type": "array", "items": _TEXT},
        "preferred": {"type": "boolean"},
    },
    *("product", "model", "transportId", "detail", "sharedSerial", "otherTransports", "preferred"),
)
_LINE = {"level": _TEXT, "tag": _TEXT, "text": _TEXT, "pid": _COUNT, "tid": _COUNT, "uid": _COUNT}
_TRANSPORT = {
    "type": ["object", "null"],
    "description": "Of a result in chunk records that cannot be put together, what arrived.",
    "additionalProperties": _COUNT,
}
_AS_READ = {"description": "As it was read; null where it could not be."}
_AS_SENT = {"description": "As it was sent, or as it was given."}


# fmt: off
def schemas(ref: Callable[[str], Mapping[str, Any]]) -> dict[str, Any]:
    """Return the JSON Schema of the data of every event by name; ``ref`` returns the schema of a contract."""
    fields: dict[str, dict[str, Any]] = {
        HEARTBEAT: {"code": {"const": "CONNECTED"}, "message": _TEXT, "version": {"const": VERSION}},
        RESULT: {"deviceId": _TEXT, "envelope": ref("envelope"), "executionId": _TEXT, "outcome": ref("outcome")},
        EXECUTION: {"deviceId": _DEVICE, "input": _AS_SENT, "result": ref("result")},
        EVENT: {"deviceId": _DEVICE, "commandId": _TEXT, "event": _DATA},
        DEVICES: {"devices": {"type": "array", "items": _ENTRY}},
        SNAPSHOT: {
            "deviceId": _DEVICE, "commandId": _TEXT, "stepId": _TEXT, "digest": _TEXT, "bytes": _COUNT,
            "complete": {"type": "boolean"}, "at": _MOMENT,
        },
        ENVELOPE: {
            "deviceId": _DEVICE, "commandId": _TEXT, "envelope": _AS_READ, "raw": _TEXT, "problem": _TEXT, "parts": _COUNT,
            "outcome": {"anyOf": [ref("outcome"), {"type": "null"}]}, "transport": _TRANSPORT, "at": _MOMENT,
        },
        LINK: {"deviceId": _DEVICE, "state": {"enum": list(_LINK_STATES.values())}, "reason": _TEXT, "at": _MOMENT},
        FOLLOW: {
            "deviceId": _TEXT, "phase": {"enum": ["reading", "resting", "busy", "away", "failing"]}, "commandId": _TEXT,
            "wait": {"type": "number"}, "error": {"anyOf": [ref("error"), {"type": "null"}]},
        },
        LOG: {
            "deviceId": _DEVICE,
            "lines": {"type": "array", "items": _object({**_LINE, "time": {"type": ["number", "null"]}})},
            "dropped": _COUNT, "at": _MOMENT,
        },
        RESET: {"reason": {"enum": ["expired", "unknown"]}, "message": _TEXT},
        DROPPED: {"reason": _TEXT, "lastEventId": _TEXT},
    }
    return {name: _object(properties) for name, properties in fields.items()}
# fmt: on
