"""The passive tail of ``watch``: engine events to lines."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from clawperator.app.cli import output
from clawperator.engine.events.types import CommandProgress, EnvelopeSeen, LogAttached, LogGap, SnapshotSeen
from clawperator.engine.executions import build

if TYPE_CHECKING:
    from clawperator.engine import Engine
    from clawperator.engine.events.types import EngineEvent


async def follow(engine: Engine, *, limit: int | None, trees: bool, fmt: str) -> None:
    """Print a line per event of the chosen device, for ever or until ``limit`` lines are out."""
    engine.admit(build.snapshot(), "watch a device")  # what happens on a screen is for those who may look at it
    device = await engine.device()
    with engine.events.subscribe() as subscription:
        tail = asyncio.create_task(engine.watch_log(device.serial), name="watch")
        tail.add_done_callback(lambda _: subscription.close())
        shown = 0
        try:
            async for event in subscription:
                if (line := line_of(event, trees=trees)) is not None:
                    await output.write(_bytes(line, fmt))
                    shown += 1
                    if shown == limit:
                        return
        finally:
            tail.cancel()
            await asyncio.gather(tail, return_exceptions=True)
    tail.result()  # for ever, unless something is wrong: then it says what


def _bytes(line: dict[str, Any], fmt: str) -> bytes:
    return output.drawn("event", line) if fmt == "pretty" else output.encode(line) + b"\n"


def line_of(event: EngineEvent, *, trees: bool = True) -> dict[str, Any] | None:
    """The JSON line of an event; ``None`` for those that ``watch`` does not show."""
    line: dict[str, Any] = {"at": event.at, "deviceId": event.device_id}
    match event:
        case CommandProgress():
            return line | {
                "event": "progress",
                "commandId": event.command_id,
                "kind": event.kind,
                "fields": dict(event.fields),
            }
        case EnvelopeSeen(problem=""):
            answer = {"envelope": event.envelope, "outcome": event.outcome}
            return line | {"event": "envelope", "commandId": event.command_id} | answer
        case EnvelopeSeen():
            return line | {
                "event": "unreadable",
                "commandId": event.command_id,
                "problem": event.problem,
                "raw": event.raw,
            }
        case SnapshotSeen():
            text = {"text": event.xml} if trees else {"bytes": len(event.xml.encode())}
            seen = {"commandId": event.command_id, "stepId": event.step_id, "complete": event.complete}
            return line | {"event": "snapshot"} | seen | text
        case LogAttached():
            return line | {"event": "attached"}
        case LogGap():
            return line | {"event": "gap", "reason": event.reason}
        case _:
            return None
