"""Audit rows of operations that are not executions: compiling (skills.md#audit-of-recipes), and decisions of ``guard.py``."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from clawperator.engine.contracts.limits import MODES
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.history.records import AuditEvent, AuditRecord
from clawperator.engine.history.row_builders import denial, rule_of

if TYPE_CHECKING:
    from clawperator.engine.config.settings import Settings

_DENIALS = (ErrorCode.CAPABILITY_DENIED, ErrorCode.PACKAGE_DENIED, ErrorCode.ACTION_DENIED, ErrorCode.READ_ONLY)
_LONGEST_NAME = 512


def compiling(
    *,
    skill_id: str,
    artifact: str,
    execution: Mapping[str, Any] | None = None,
    recipe_id: str = "",
    error: EngineError | None = None,
    outcome: str = "",
    face: str = "cli",
    caller: str = "",
    duration_ms: float = math.nan,
) -> AuditRecord:
    """Return the row for ``artifact`` of ``skill_id``, compiled to the payload ``execution``, or failed with ``error``.

    ``outcome`` is the error's code without an ``error`` object. A refusal by the policy has the event ``refused``.
    """
    code = error.code.value if error is not None else outcome
    details = error.details if error is not None else {}
    plan = execution or {}
    actions = plan.get("actions") or ()
    types = dict.fromkeys(str(action.get("type", "")) for action in actions if isinstance(action, Mapping))
    row = AuditRecord(
        time.time(),
        "refused" if code in _DENIALS else "compile",
        "",
        _name(plan.get("commandId")),
        _name(plan.get("taskId")),
        mode=MODES[0],
        source=_name(plan.get("source")),
        face=face,
        action_types=tuple(filter(None, types)),
        code=code,
        duration_ms=duration_ms,
        caller=_name(caller),
        skill_id=_name(skill_id),
        recipe_id=_name(recipe_id or details.get("recipeId")),
        artifact=_name(artifact),
    )
    denied = denial(details)
    rule = rule_of(code, details) if row.event == "refused" else ""
    return row._replace(profile=denied.profile, denied=denied.subject, rule=rule)


def operation(event: AuditEvent, what: str, *, device_id: str = "", **facts: Any) -> AuditRecord:
    """Return the row for the operation ``what``; ``facts`` are further columns, whose texts are truncated."""
    cut: dict[str, Any] = {name: _name(value) if isinstance(value, str) else value for name, value in facts.items()}
    return AuditRecord(time.time(), event, "", "", device_id=_name(device_id), operation=_name(what), **cut)


def audit_compile(settings: Settings, *, skill_id: str, artifact: str, **facts: Any) -> Sequence[str]:
    """Write the row of ``compiling``, as ``write_audit`` does."""
    return write_audit(settings, compiling(skill_id=skill_id, artifact=artifact, **facts))


def write_audit(settings: Settings, row: AuditRecord) -> Sequence[str]:
    """Write ``row`` without an engine, if a history is kept. Returns problems as messages instead of raising."""
    if not (settings.history_enabled and settings.history_path):
        return ()
    from clawperator.engine.history.store import History

    try:
        with History.open(settings.history_path, safe=settings.safe_logs) as history:
            history.put_audit(row)
            return tuple(history.remarks)
    except EngineError as exc:
        return (f"Nothing was recorded: {exc.message}",)


def _name(value: object) -> str:
    return value[:_LONGEST_NAME] if isinstance(value, str) else ""
