"""What ``--verbose`` writes to stderr while a command runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clawperator.app.cli import diagnostics
from clawperator.engine.events.types import (
    AdbServerLost,
    CheckFinished,
    CommandProgress,
    ExecutionDispatched,
    ExecutionFinished,
    ExecutionStarted,
    LogGap,
)

if TYPE_CHECKING:
    from clawperator.engine.events.bus import Subscription
    from clawperator.engine.events.types import EngineEvent


async def write_events(subscription: Subscription) -> None:
    """Write one line per event until the subscription is closed."""
    async for event in subscription:
        if line := event_line(event):
            diagnostics.note(line)


def event_line(event: EngineEvent) -> str:
    """Return one line about an event, or '' for events that are too frequent to log."""
    match event:
        case ExecutionStarted():
            return f"{event.command_id}: {event.action_count} actions within {event.timeout_ms} ms on {event.device_id}"
        case ExecutionDispatched():
            return f"{event.command_id}: dispatched"
        case CommandProgress():
            return event.text
        case ExecutionFinished():
            return f"{event.command_id}: finished after {event.duration_ms:.0f} ms"
        case CheckFinished():
            return f"{event.check.get('id')}: {event.check.get('status')}"
        case AdbServerLost() | LogGap():
            return event.reason
        case _:
            return ""
