"""Compile an artifact under a caller's policy, and record it in the audit."""

from __future__ import annotations

from typing import Any

from clawperator.engine.config.active_profile import load_profile
from clawperator.engine.errors import EngineError
from clawperator.engine.guard import Guard
from clawperator.engine.skills.artifact import compile_artifact
from clawperator.engine.skills.compiled import Compiled
from clawperator.engine.skills.registry import Registry


def compile_for(
    guard: Guard, registry: Registry, skill_id: str, artifact: str, vars_json: str | None = None
) -> Compiled:
    """Return ``compile_artifact`` under the policy of ``guard``. Blocks for as long as reading two small files takes.

    Raises what that raises; either way the audit has a row, before those of the executions.
    """
    try:
        profile = load_profile(guard.settings)
        compiled = compile_artifact(registry, skill_id, artifact, vars_json, profile=profile)
    except EngineError as exc:
        _record(guard, skill_id, artifact, error=exc)
        raise
    recipe_id = (compiled.recipe or {}).get("id", "")
    _record(guard, skill_id, compiled.artifact, execution=compiled.execution, recipe_id=recipe_id)
    return compiled


def _record(guard: Guard, skill_id: str, artifact: str, **facts: Any) -> None:
    if guard.audited:
        from clawperator.engine.history.audit_rows import compiling

        guard.record(compiling(skill_id=skill_id, artifact=artifact, face=guard.face, **facts))
