"""Compile an artifact for an engine that will play it: its policy decides, and its history gets the audit's row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clawperator.engine.config.policy import load_profile
from clawperator.engine.errors import EngineError
from clawperator.engine.skills.artifact import compile_artifact
from clawperator.engine.skills.compiled import Compiled
from clawperator.engine.skills.registry import Registry

if TYPE_CHECKING:
    from clawperator.engine.facade import Engine


def compile_for(
    engine: Engine, registry: Registry, skill_id: str, artifact: str, vars_json: str | None = None
) -> Compiled:
    """``compile_artifact`` under the engine's policy. Blocks for as long as reading two small files takes.

    Raises what that raises; either way the audit has a row, before those of the executions.
    """
    try:
        profile = load_profile(engine.settings)
        compiled = compile_artifact(registry, skill_id, artifact, vars_json, profile=profile)
    except EngineError as exc:
        _note(engine, skill_id, artifact, error=exc)
        raise
    recipe_id = (compiled.recipe or {}).get("id", "")
    _note(engine, skill_id, compiled.artifact, execution=compiled.execution, recipe_id=recipe_id)
    return compiled


def _note(engine: Engine, skill_id: str, artifact: str, **facts: Any) -> None:
    if engine.history is None:
        return
    from clawperator.engine.history.auditing import compiling

    engine.history.put_audit(compiling(skill_id=skill_id, artifact=artifact, face=engine.face, **facts))
