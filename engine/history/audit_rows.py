"""Audit rows of operations that are not executions: compiling (skills.md#audit-of-recipes), and decisions of ``guard.py``."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clawperator.engine.contracts.limits import MODES
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.history.records import AuditEvent, AuditRecord
from clawperator.engine.history.row_builders import denial, rule_of
from clawperator.engine.history.write_ahead import bounded

if TYPE_CHECKING:
    from clawperator.engine.config.settings import Settings

_DENIALS = (ErrorCode.CAPABILITY_DENIED, ErrorCode.PACKAGE_DENIED, ErrorCode.ACTION_DENIED, ErrorCode.READ_ONLY)


def compiling(
    *,
    skill_id: str,
    artifact: str,
    execution: Mapping[str, Any] | None = None,
    recipe_id: str = "",
    error: EngineError | None = None,
    face: str = "cli",
    caller: str = "",
) -> AuditRecord:
    """Return the row for ``artifact`` of ``skill_id``, compiled to the payload ``execution``, or failed with ``error``.

    A refusal by the policy has the event ``refused``.
    """
    code = error.code.value if error is not None else ""
    details = error.details if error is not None else {}
    plan = execution or {}
    actions = plan.get("actions") or ()
    types = dict.fromkeys(str(action.get("type", "")) for action in actions if isinstance(action, Mapping))
    row = AuditRecord(
        time.time(),
        "refused" if code in _DENIALS else "compile",
        "",
        bounded(plan.get("commandId")),
        bounded(plan.get("taskId")),
        mode=MODES[0],
        source=bounded(plan.get("source")),
        face=face,
        action_types=tuple(filter(None, types)),
        code=code,
        caller=bounded(caller),
        skill_id=bounded(skill_id),
        recipe_id=bounded(recipe_id or details.get("recipeId")),
        artifact=bounded(artifact),
    )
    denied = denial(details)
    rule = rule_of(code, details) if row.event == "refused" else ""
    return row._replace(profile=denied.profile, denied=denied.subject, rule=rule)


def operation(event: AuditEvent, what: str, *, device_id: str = "", **facts: Any) -> AuditRecord:
    """Return the row for the operation ``what``; ``facts`` are further columns, whose texts are truncated."""
    cut: dict[str, Any] = {name: bounded(value) if isinstance(value, str) else value for name, value in facts.items()}
    return AuditRecord(time.time(), event, "", "", device_id=bounded(device_id), operation=bounded(what), **cut)


def write_audit(settings: Settings, row: AuditRecord) -> Sequence[str]:
    """Write ``row`` without an engine, if a history is kept. Returns problems as messages instead of raising."""
    if not (settings.history_enabled and settings.history_path):
        return ()
    from clawperator.engine.history.connection import IN_PASSING_SECONDS
    from clawperator.engine.history.store import History

    try:
        with History.open(settings.history_path, safe=settings.safe_logs, busy=IN_PASSING_SECONDS) as history:
            history.put_audit(row)
            return tuple(history.remarks)
    except EngineError as exc:
        return (f"Nothing was recorded: {exc.message}",)
