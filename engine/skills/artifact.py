"""Compile a skill's JSON template or Markdown recipe into executions (skills.md#json-templates, skills.md#recipes)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.engine.contracts.issues import shown
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.files.regular import read_file
from clawperator.engine.skills.registry import COMPILED, Registry, texts_of

if TYPE_CHECKING:
    from clawperator.engine.config.policy import Profile
    from clawperator.engine.guard import Guard
    from clawperator.engine.skills.compiled import Compiled
    from clawperator.engine.skills.recipe.inputs import Input
    from clawperator.engine.skills.recipe.model import Recipe

TEMPLATE, RECIPE = COMPILED
MAX_ARTIFACT_BYTES = 1024 * 1024
"""Recipes have a lower limit."""
_NAME_SHOWN = 200
_NAMES_SHOWN = 20


class Artifact(NamedTuple):
    """An artifact of a skill: its name without suffix, its path below the registry's root, and its suffix."""

    skill_id: str
    name: str
    path: str
    suffix: str


def compile_artifact(
    registry: Registry,
    skill_id: str,
    artifact: str,
    vars_json: str | None = None,
    *,
    profile: Profile | None = None,
) -> Compiled:
    """Compile the ``artifact`` of a skill with the variables of ``vars_json`` under the policy ``profile``.

    Raises ``EngineError``, in this order: SKILL_NOT_FOUND, ARTIFACT_NOT_FOUND, COMPILE_VARS_PARSE_FAILED, REGISTRY_READ_FAILED,
    and the errors of ``compile_template`` or ``compile_recipe``; ``details`` name the skill and the artifact.
    """
    with registry.named_in_errors(skill_id):
        compiled = _compile(registry, find_artifact(registry, skill_id, artifact), vars_json, profile)
    return replace(compiled, fallback=registry.fallback(skill_id))


def _compile(registry: Registry, found: Artifact, vars_json: str | None, profile: Profile | None) -> Compiled:
    from clawperator.engine.skills.variables import parse_vars

    variables = parse_vars(vars_json)
    text = _read(registry, found)
    if found.suffix == TEMPLATE:
        from clawperator.engine.skills.json_template import compile_template

        return compile_template(text, variables, found.skill_id, found.name, file=found.path, profile=profile)
    from clawperator.engine.skills.recipe.compile import compile_recipe

    try:
        compiled = compile_recipe(text, variables, file=found.path, profile=profile)
    except EngineError as exc:
        exc.details |= {"skillId": found.skill_id, "artifactName": found.name}
        raise
    return replace(compiled, skill_id=found.skill_id, artifact=found.name)


def describe_inputs(registry: Registry, skill_id: str, artifact: str) -> tuple[Input, ...]:
    """Return the inputs of an artifact: those of a recipe, or a template's placeholders in file order.

    Raises the errors of ``compile_artifact`` that do not depend on variables.
    """
    return inputs_at(registry, skill_id, find_artifact(registry, skill_id, artifact).path)


def inputs_at(registry: Registry, skill_id: str, path: str) -> tuple[Input, ...]:
    """Return ``describe_inputs`` of the artifact at ``path``."""
    source = source_at(registry, skill_id, path)
    if isinstance(source, str):
        from clawperator.engine.skills.json_template import template_inputs

        return template_inputs(source)
    from clawperator.engine.skills.recipe.inputs import inputs_of

    return inputs_of(source)


def source_at(registry: Registry, skill_id: str, path: str) -> Recipe | str:
    """Return the recipe at ``path``, or the text of a template. Raises as ``describe_inputs``."""
    name, (suffix, *_) = _split(path.rpartition("/")[2])
    text = _read(registry, Artifact(skill_id, name, path, suffix))
    if suffix == TEMPLATE:
        return text
    from clawperator.engine.skills.recipe.rules import read_recipe
    from clawperator.engine.skills.recipe.source import read_source

    return read_recipe(read_source(text, path))


def sample_variables(registry: Registry, skill_id: str, artifact: str) -> dict[str, Any]:
    """Return a value of the right type for every required input. Raises as ``describe_inputs``."""
    samples = {"integer": 1, "number": 1, "boolean": True}
    inputs = describe_inputs(registry, skill_id, artifact)
    needed = [item for item in inputs if item.required and item.default in (None, "")]
    return {item.name: item.values[0] if item.values else samples.get(item.type, "value") for item in needed}


def find_artifact(registry: Registry, skill_id: str, name: str) -> Artifact:
    """Return the artifact ``name``, with or without suffix; without, a template precedes a recipe.

    Raises ``SKILL_NOT_FOUND``, and ``ARTIFACT_NOT_FOUND`` with ``details.{skillId, artifactName, artifacts}``.
    """
    entry = registry.get(skill_id)
    base, suffixes = _split(name)
    listed = texts_of(entry, "artifacts")
    for suffix in suffixes:
        for path in listed:
            stem = path[: -len(suffix)]
            if path.lower().endswith(suffix) and base and (stem == base or stem.endswith(f"/{base}")):
                return Artifact(skill_id, base, path, suffix)
    names = [path.rpartition("/")[2] for path in listed if path.lower().endswith((TEMPLATE, RECIPE))]
    known = shown(", ".join(names[:_NAMES_SHOWN]), 400)
    raise EngineError(
        ErrorCode.ARTIFACT_NOT_FOUND,
        f"Skill {shown(skill_id, _NAME_SHOWN)} has no artifact {shown(name, _NAME_SHOWN)}",
        hint=f"Available: {known}." if known else "The skill has no artifact that compiles.",
        details={
            "skillId": shown(skill_id, _NAME_SHOWN),
            "artifactName": shown(name, _NAME_SHOWN),
            "artifacts": [shown(each, _NAME_SHOWN) for each in names[:_NAMES_SHOWN]],
        },
    )


def _split(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the name without suffix, and the suffixes to try in order."""
    for suffix in (TEMPLATE, RECIPE):
        if name.lower().endswith(suffix):
            return name[: -len(suffix)], (suffix,)
    return name, (TEMPLATE, RECIPE)


def _read(registry: Registry, artifact: Artifact) -> str:
    """Return the file's text. Raises ``REGISTRY_READ_FAILED``."""
    try:
        return read_file(registry.place(artifact.skill_id, artifact.path), MAX_ARTIFACT_BYTES).decode("utf-8-sig")
    except OSError as exc:
        raise _unreadable(artifact, exc.strerror or str(exc)) from exc
    except UnicodeDecodeError as exc:
        raise _unreadable(artifact, f"it is not UTF-8 at byte {exc.start}") from exc


def _unreadable(artifact: Artifact, reason: str) -> EngineError:
    facts: Mapping[str, str] = {"skillId": artifact.skill_id, "artifactName": artifact.name, "file": artifact.path}
    return EngineError(
        ErrorCode.REGISTRY_READ_FAILED,
        f"Cannot read artifact: {artifact.path}: {reason}",
        hint="Run `clawperator skills validate` for the skill, or reinstall the skills.",
        details={**facts, "reason": reason},
    )


def compile_for(
    guard: Guard, registry: Registry, skill_id: str, artifact: str, vars_json: str | None = None
) -> Compiled:
    """Return ``compile_artifact`` under the policy of ``guard``. Blocks for as long as reading two small files takes.

    Raises what that raises; either way the audit has a row, before those of the executions.
    """
    from clawperator.engine.config.active_profile import load_profile

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

        caller = guard.caller.name
        guard.record(compiling(skill_id=skill_id, artifact=artifact, face=guard.face, caller=caller, **facts))
