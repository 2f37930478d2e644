"""What the bus says about the Operator's signals in a device's log."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence

from clawperator.engine.bus import EventBus
from clawperator.engine.events import CommandProgress, EngineEvent, EnvelopeSeen, SnapshotSeen
from clawperator.engine.executions.outcome import LiveLine, outcome_of
from clawperator.engine.executions.trace import LINES_KEPT
from clawperator.engine.logcat.operator_log import EnvelopeSignal, HierarchySignal, ProgressSignal, Signal

_COMMANDS = 8
"""Commands that may be under way at once; the Operator runs one after the other."""


class OperatorNews:
    """Publishes the signals of one device's log. A result is published with what its command's lines said of the steps."""

    def __init__(self, bus: EventBus, device_id: str) -> None:
        self._bus = bus
        self._device_id = device_id
        self._lines: OrderedDict[str, list[LiveLine]] = OrderedDict()

    def publish(self, signals: Sequence[Signal]) -> None:
        for signal in signals:
            if (event := self.event(signal)) is not None:
                self._bus.publish(event)

    def event(self, signal: Signal) -> EngineEvent | None:
        """``None`` for what only the execution concerned has to know."""
        match signal:
            case EnvelopeSignal():
                envelope = signal.envelope.to_dict() if signal.envelope is not None else None
                lines = self._lines.pop(signal.command_id, [])
                return EnvelopeSeen(
                    device_id=self._device_id,
                    command_id=signal.command_id,
                    envelope=envelope,
                    raw=signal.raw,
                    problem=signal.problem,
                    parts=signal.parts,
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
            self._lines.pop(signal.command_id, None)  # the same id once more
        lines = self._lines.setdefault(signal.command_id, [])
        if len(lines) < LINES_KEPT:
            lines.append((time.time(), signal.kind, signal.fields))
        if len(self._lines) > _COMMANDS:
            self._lines.popitem(last=False)
