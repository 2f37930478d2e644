"""Events for the Operator's signals in a device's log."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from clawperator.engine.events.bus import EventBus
from clawperator.engine.events.types import CommandProgress, EngineEvent, EnvelopeSeen, SnapshotSeen
from clawperator.engine.executions.outcome import LiveLine, outcome_of
from clawperator.engine.executions.trace import LINE_BYTES_KEPT, LINES_KEPT
from clawperator.engine.logcat.signals import EnvelopeSignal, HierarchySignal, ProgressSignal, Signal

_COMMANDS = 4
"""Commands whose lines are kept; the Operator runs one at a time."""


class LogEventPublisher:
    """Publishes the signals of one device's log; an envelope gets the outcome that its command's lines show."""

    def __init__(self, bus: EventBus, device_id: str) -> None:
        self._bus = bus
        self._device_id = device_id
        self._lines: OrderedDict[str, list[LiveLine]] = OrderedDict()
        self._kept = 0
        """Characters of these lines."""

    def publish(self, signals: Sequence[Signal]) -> None:
        for signal in signals:
            if (event := self.event(signal)) is not None:
                self._bus.publish(event)

    def event(self, signal: Signal) -> EngineEvent | None:
        """Return the event; ``None`` for signals that concern only their own execution."""
        match signal:
            case EnvelopeSignal():
                envelope = signal.envelope.to_dict() if signal.envelope is not None else None
                lines = self._taken(signal.command_id)
                return EnvelopeSeen(
                    device_id=self._device_id,
                    command_id=signal.command_id,
                    envelope=envelope,
                    raw=signal.raw,
                    problem=signal.problem,
                    parts=signal.parts,
                    transport=signal.transport,
                    outcome=outcome_of((), lines, envelope).to_dict() if envelope is not None else None,
                )
            case ProgressSignal():
                self._note(signal)
                return CommandProgress(
                    device_id=self._device_id,
                    kind=signal.kind,
                    command_id=signal.command_id,
                    fields=signal.fields,
                    text=signal.text,
                )
            case HierarchySignal():
                return SnapshotSeen(
                    device_id=self._device_id,
                    command_id=signal.command_id,
                    step_id=signal.captured.step_id,
                    xml=signal.captured.xml,
                    complete=signal.captured.complete,
                )
        return None

    def _note(self, signal: ProgressSignal) -> None:
        if signal.kind == "start":
            self._taken(signal.command_id)  # the id is used again
        lines = self._lines.setdefault(signal.command_id, [])
        size = _characters(signal.fields)
        if len(lines) < LINES_KEPT and self._kept + size <= LINE_BYTES_KEPT:
            self._kept += size
            lines.append((time.time(), signal.kind, signal.fields))
        if len(self._lines) > _COMMANDS:
            self._taken(next(iter(self._lines)))

    def _taken(self, command_id: str) -> list[LiveLine]:
        lines = self._lines.pop(command_id, [])
        self._kept -= sum(_characters(fields) for _, _, fields in lines)
        return lines


def _characters(fields: Mapping[str, str]) -> int:
    return sum(map(len, fields.values()))
