"""The actions that change nothing on a device, and the check that a plan has no others."""

from __future__ import annotations

from clawperator.engine.contracts.issues import joined
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.verbs import READS
from clawperator.engine.verbs.catalogue import named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.engine.contracts.execution import Execution

INTERNAL = frozenset({"doctor_ping"})
"""The doctor's handshake, which no caller's payload can contain."""
OBSERVING = INTERNAL | {*named(of="action", does=READS)}
"""Canonical types of actions that change nothing on the device."""


def refuse_acting(execution: Execution) -> None:
    """Raises ``EngineError`` (READ_ONLY) for the first action of ``execution`` that would change something."""
    for index, action in enumerate(execution.actions):
        if action.type not in OBSERVING:
            raise EngineError(
                ErrorCode.READ_ONLY,
                f"This session is read-only: it cannot run {action.type}",
                details={
                    "path": joined("actions", index),
                    "actionId": action.id,
                    "actionType": action.type,
                    "observing": sorted(OBSERVING - INTERNAL),
                },
            )
