"""What the bus says about the Operator's signals in a device's log."""

from __future__ import annotations

from collections.abc import Sequence

from clawperator.engine.bus import EventBus
from clawperator.engine.events import CommandProgress, EngineEvent, EnvelopeSeen, SnapshotSeen
from clawperator.engine.logcat.operator_log import EnvelopeSignal, HierarchySignal, ProgressSignal, Signal


def publish(bus: EventBus, signals: Sequence[Signal], device_id: str) -> None:
    for signal in signals:
        if (event := to_event(signal, device_id)) is not None:
            bus.publish(event)


def to_event(signal: Signal, device_id: str) -> EngineEvent | None:
    """What the bus says about a signal; ``None`` for what only the execution concerned has to know."""
    match signal:
        case EnvelopeSignal():
            return EnvelopeSeen(
                device_id=device_id,
                command_id=signal.command_id,
                envelope=signal.envelope.to_dict() if signal.envelope is not None else None,
                raw=signal.raw,
                problem=signal.problem,
                parts=signal.parts,
            )
        case ProgressSignal():
            return CommandProgress(
                device_id=device_id,
                kind=signal.kind,
                command_id=signal.command_id,
                fields=signal.fields,
                text=signal.text,
            )
        case HierarchySignal():
            return SnapshotSeen(
                device_id=device_id,
                command_id=signal.command_id,
                step_id=signal.captured.step_id,
                xml=signal.captured.xml,
                complete=signal.captured.complete,
            )
    return None
