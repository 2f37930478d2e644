"""The server's events: a subscription that resumes by itself, and what each event means for the engine's bus."""

from __future__ import annotations

import asyncio
import math
import re
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from httpx_sse import ServerSentEvent

from clawperator.app.client import wire
from clawperator.app.client.http_client import Client
from clawperator.app.serve import event_frames
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.types import (
    CommandProgress,
    DevicesChanged,
    EngineEvent,
    EnvelopeSeen,
    LogAttached,
    LogBatch,
    LogGap,
)
from clawperator.engine.logcat.entry import LogEntry

PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0)
"""Seconds before the next attempt, after the first, second, third … failure in a row."""

_ID = re.compile(r"[\x21-\x7e]{1,64}")
"""What can be sent back as ``Last-Event-ID``."""


@dataclass(frozen=True, slots=True)
class Up:
    """Connected: no event is missed until a ``Down``."""


@dataclass(frozen=True, slots=True)
class Down:
    """Disconnected, with the reason; the next attempt follows."""

    error: EngineError


@dataclass(frozen=True, slots=True)
class Missed:
    """Events are lost: the server was restarted, or did not keep them."""


StreamItem: TypeAlias = Up | Down | Missed | ServerSentEvent


async def listen(client: Client, params: Mapping[str, Any]) -> AsyncGenerator[StreamItem]:
    """Yield events until closed (``aclosing``). ``params`` are read again at each attempt."""
    last, failures = "", 0
    while True:
        hasty = False
        error: EngineError
        try:
            async with client.events(params, last) as events:
                async for event in events:
                    last = event.id if _ID.fullmatch(event.id) else last
                    if event.event == event_frames.HEARTBEAT:
                        failures = 0
                        yield Up()
                    elif event.event == event_frames.RESET:
                        yield Missed()
                    elif event.event == event_frames.DROPPED:
                        hasty = "too slow" in event.data  # queued events are sent again
                    else:
                        yield event
            error = client.lost()
        except EngineError as exc:
            error = exc
        if not hasty:
            yield Down(error)
        await asyncio.sleep(PAUSES[min(failures, len(PAUSES) - 1)])
        failures += 1


def is_lost(error: EngineError) -> bool:
    """Return whether the server is unreachable, as opposed to one that refuses."""
    return error.code is ErrorCode.BACKEND_UNAVAILABLE


def words_of(error: EngineError) -> str:
    """Return why the events do not arrive, as a clause with a hint."""
    hint = f". {error.hint}" if error.hint and not is_lost(error) else ""
    message = error.message[:1].lower() + error.message[1:] if error.message.startswith("The ") else error.message
    return f"{message}{hint}".rstrip(".")


# -- conversion


def read_devices(event: ServerSentEvent) -> DevicesChanged:
    """Raises ``ValidationError``, as all of these do."""
    return DevicesChanged(devices=tuple(wire.read(wire.Devices, event.data).devices))


def read_event(event: ServerSentEvent, device_id: str, skew: float) -> EngineEvent | wire.SnapshotEvent | None:
    """Convert one event about ``device_id``; a tree must be fetched first. ``None``: not relevant."""
    match event.event:
        case event_frames.EVENT:
            return _progress(wire.read(wire.Progress, event.data), device_id, skew)
        case event_frames.ENVELOPE:
            seen = wire.read(wire.EnvelopeEvent, event.data)
            return EnvelopeSeen(
                device_id=device_id,
                command_id=seen.command_id,
                envelope=seen.envelope.to_dict() if seen.envelope is not None else None,
                raw=seen.raw,
                problem=seen.problem or ("" if seen.envelope is not None else "the server could not read it"),
                parts=max(1, seen.parts),
                transport=seen.transport,
                at=here(seen.at, skew),
            )
        case event_frames.SNAPSHOT:
            return wire.read(wire.SnapshotEvent, event.data)
        case event_frames.LINK:
            link = wire.read(wire.LinkEvent, event.data)
            if link.state == "log-broken":
                return LogGap(device_id=device_id, reason=link.reason, at=here(link.at, skew))
            return LogAttached(device_id=device_id, at=here(link.at, skew)) if link.state == "log-followed" else None
        case event_frames.LOG:
            return _log(wire.read(wire.LogEvent, event.data), device_id, skew)
    return None


def _progress(progress: wire.Progress, device_id: str, skew: float) -> CommandProgress | None:
    if progress.event.kind == "envelope":
        return None  # it arrives complete as another event
    return CommandProgress(
        device_id=device_id,
        kind=progress.event.kind,
        command_id=progress.command_id,
        fields=progress.event.fields,
        text=progress.event.text,
        at=here(progress.event.at, skew),
    )


def _log(event: wire.LogEvent, device_id: str, skew: float) -> LogBatch:
    lines = tuple(
        LogEntry(
            line.level,
            line.tag,
            line.text.encode("utf-8", "replace"),
            line.pid,
            line.tid,
            line.uid,
            b"" if math.isnan(line.time) else round(line.time * 1e9),
        )
        for line in event.lines
    )
    return LogBatch(device_id=device_id, entries=lines, dropped=max(0, event.dropped), at=here(event.at, skew))


def here(moment: float, skew: float) -> float:
    """Convert a time of the server to the local clock; now, where it is unknown."""
    return time.time() if math.isnan(moment) else moment + skew
