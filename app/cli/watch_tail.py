"""The output of ``watch``: engine events as lines."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from clawperator.app.cli import output
from clawperator.engine.events.typed_text import TypedTrees
from clawperator.engine.events.types import CommandProgress, EnvelopeSeen, LogAttached, LogGap, SnapshotSeen
from clawperator.engine.executions import build

if TYPE_CHECKING:
    from clawperator.engine import Engine
    from clawperator.engine.events.types import EngineEvent


async def follow(engine: Engine, *, limit: int | None, trees: bool, pretty: bool) -> None:
    """Print a line per event of the chosen device until ``limit`` lines are printed; without a limit until it fails."""
    engine.admit(build.snapshot(), "watch a device")  # the policy must allow to read the screen
    device = await engine.device()
    with engine.events.subscribe() as subscription:
        tail = asyncio.create_task(engine.watch_log(device.serial), name="watch")
        tail.add_done_callback(lambda _: subscription.close())
        shown = 0
        try:
            without_typed = TypedTrees(engine.events.typed)
            async for heard in subscription:
                for event in without_typed.take(heard):
                    if (line := line_of(event, trees=trees)) is not None:
                        await output.write(_bytes(line, pretty=pretty))
                        shown += 1
                        if shown == limit:
                            return
        finally:
            tail.cancel()
            await asyncio.gather(tail, return_exceptions=True)
    tail.result()  # it only ends with an error


def _bytes(line: dict[str, Any], *, pretty: bool) -> bytes:
    if not pretty:
        return output.encode(line) + b"\n"
    from clawperator.app.cli.pretty import draw

    return draw("logs.event", line)


def line_of(event: EngineEvent, *, trees: bool = True) -> dict[str, Any] | None:
    """Return the JSON line of an event; ``None`` for those that ``watch`` does not show."""
    line: dict[str, Any] = {"at": event.at, "deviceId": event.device_id}
    match event:
        case CommandProgress():
            fields = {"commandId": event.command_id, "kind": event.kind, "fields": dict(event.fields)}
            return line | {"event": "progress"} | fields
        case EnvelopeSeen(problem=""):
            answer = {"envelope": event.envelope, "outcome": event.outcome}
            return line | {"event": "envelope", "commandId": event.command_id} | answer
        case EnvelopeSeen():
            reason: dict[str, Any] = {"problem": event.problem, "raw": event.raw}
            if event.transport:
                reason["transport"] = dict(event.transport)
            return line | {"event": "unreadable", "commandId": event.command_id} | reason
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
