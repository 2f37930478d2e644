"""What a backend dispatches: one command, already validated and written out for the wire."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from clawperator.engine.contracts.limits import ENVELOPE_WAIT_BUFFER_MS

if TYPE_CHECKING:
    from clawperator.engine.executions.validate import Validated


ENVELOPE_WAIT_SECONDS = ENVELOPE_WAIT_BUFFER_MS / 1000
"""How much longer than the device's own budget the host waits for the envelope (execution.md#timeouts)."""


@dataclass(frozen=True, slots=True)
class Command:
    """``wire`` is the compact JSON that leaves for the device; ``last_action`` is ``(id, type)`` of the plan's last step.

    ``spare_seconds`` is how much longer than ``timeout_ms`` the host waits.
    """

    command_id: str
    task_id: str
    source: str
    timeout_ms: int
    wire: str
    last_action: tuple[str, str]
    spare_seconds: float = ENVELOPE_WAIT_SECONDS

    @property
    def wait_seconds(self) -> float:
        return self.timeout_ms / 1000 + self.spare_seconds

    @classmethod
    def of(cls, validated: Validated) -> Self:
        execution = validated.execution
        last = execution.actions[-1]
        return cls(
            execution.command_id,
            execution.task_id,
            execution.source,
            execution.timeout_ms,
            validated.wire,
            (last.id, last.type),
        )

    @classmethod
    def internal(cls, payload: Mapping[str, Any], *, spare_seconds: float = ENVELOPE_WAIT_SECONDS) -> Self:
        """A command of our own that the public contract does not offer (the doctor's ping): not validated."""
        last = payload["actions"][-1]
        wire = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
        return cls(
            payload["commandId"],
            payload["taskId"],
            payload["source"],
            payload["timeoutMs"],
            wire,
            (last["id"], last["type"]),
            spare_seconds,
        )

    @classmethod
    def errand(cls, name: str, *, seconds: float) -> Self:
        """What is no execution but must have the device to itself, as the lock shows it to others; nothing is dispatched."""
        return cls(name, name, "clawperator", round(seconds * 1000), "", (name, name))
