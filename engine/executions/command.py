"""The command that a backend dispatches: validated and serialised."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from clawperator.engine.contracts.limits import ENVELOPE_WAIT_BUFFER_MS

if TYPE_CHECKING:
    from clawperator.engine.executions.validate import Validated


ENVELOPE_WAIT_SECONDS = ENVELOPE_WAIT_BUFFER_MS / 1000
"""How much longer than the device's time limit the host waits for the envelope (execution.md#timeouts)."""


class Command(NamedTuple):
    """``wire`` is the JSON for the device; ``last_action`` is the ``(id, type)`` of the last step.

    The host waits ``spare_seconds`` longer than ``timeout_ms``.
    """

    command_id: str
    task_id: str
    source: str
    timeout_ms: int
    wire: str
    last_action: tuple[str, str]
    spare_seconds: float = ENVELOPE_WAIT_SECONDS
    background: bool = False
    """The app answers it without its accessibility service."""

    @property
    def wait_seconds(self) -> float:
        return self.timeout_ms / 1000 + self.spare_seconds

    @classmethod
    def of(cls, validated: Validated) -> Self:
        execution = validated.execution
        from clawperator.engine.contracts.actions import ACTIONS

        last, kinds = execution.actions[-1], {action.type for action in execution.actions}
        opens = [action for action in execution.actions if action.type == "open_app"]
        return cls(
            execution.command_id,
            execution.task_id,
            execution.source,
            execution.timeout_ms,
            validated.wire,
            (last.id, last.type),
            ENVELOPE_WAIT_SECONDS + sum(action.params.get("navigationTimeoutMs", 0) for action in opens) / 1000,
            all(kind in ACTIONS and ACTIONS[kind].background for kind in kinds),
        )

    @classmethod
    def internal(cls, payload: Mapping[str, Any], *, spare_seconds: float = ENVELOPE_WAIT_SECONDS) -> Self:
        """Return a command outside of the public contract (the doctor's ping), not validated."""
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
        """Return the description of an operation that holds the device lock without an execution."""
        return cls(name, name, "clawperator", round(seconds * 1000), "", (name, name))
