"""JSON templates: an execution with ``{{NAME}}`` in its texts (skills.md#json-templates). Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from clawperator.engine.config.policy import CAPABILITIES, Profile, admit, capabilities_of
from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.validate import Validated, validate
from clawperator.engine.skills.compiled import Compiled
from clawperator.engine.skills.recipe.compile import MODE
from clawperator.engine.skills.recipe.inputs import Input, is_personal, unused
from clawperator.engine.skills.variables import COMMAND_ID, TASK_ID, Scalar, in_order, stable_ids, text_of

PLACEHOLDER = re.compile(r"\{\{([A-Za-z0-9_]+)\}\}")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_KEPT = ("path", "reason", "actionId", "actionType", "invalidKeys", "supportedTypes", "issues", "hint")


def compile_template(
    text: str,
    variables: Mapping[str, Scalar],
    skill_id: str,
    artifact: str,
    *,
    file: str = "",
    profile: Profile | None = None,
) -> Compiled:
    """Compile the template ``text``; ``artifact`` is its name without suffix.

    Raises COMPILE_VAR_MISSING (``details.{placeholder, skillId, artifactName}``), COMPILE_VALIDATION_FAILED with the details of
    the validator, and the policy's codes.
    """
    names = {"skillId": skill_id, "artifactName": artifact}
    texts = {name: text_of(value) for name, value in variables.items()}
    given = in_order({name: text for name, text in texts.items() if text or name not in (COMMAND_ID, TASK_ID)})
    values = {**given, **stable_ids({**names, "vars": given}, given)}
    used = _placeholders(text)
    for name in used:
        if not values.get(name):
            raise EngineError(
                ErrorCode.COMPILE_VAR_MISSING,
                f"Missing required variable: {name}",
                hint=f'Add it to --vars: {{"{name}":"…"}}.',
                details={"placeholder": name, **names, "file": file},
            )
    filled = PLACEHOLDER.sub(lambda place: _escaped(values[place[1]]), text)
    validated = _validated(text, filled, {**names, "file": file})
    if profile is not None:
        _admit(profile, validated, {**names, "file": file})
    remarks = [warning.to_dict() for warning in validated.warnings]
    return Compiled(
        skill_id=skill_id,
        artifact=artifact,
        executions=(replace(validated.execution, mode=MODE).to_payload(),),
        optional=(),
        recipe=None,
        capabilities=(),
        outputs=(),
        confirms=(),
        warnings=(*(unused(name) for name in given if name not in used), *remarks),
    )


def template_inputs(text: str) -> tuple[Input, ...]:
    """Return the placeholders in file order, without the generated ids."""
    return tuple(
        Input(name, "string", required=True, default=None, values=(), personal=is_personal(name))
        for name in _placeholders(text)
        if name not in (COMMAND_ID, TASK_ID)
    )


def template_capabilities(text: str) -> tuple[str, ...]:
    """Return the capabilities of a template's actions; before it is filled in it is not an execution."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return ()
    actions = document.get("actions") if isinstance(document, dict) else None
    needed: set[str] = set()
    for action in actions if isinstance(actions, list) else ():
        if isinstance(action, dict):
            params = action.get("params")
            needed |= capabilities_of(str(action.get("type", "")), params if isinstance(params, dict) else {})
    return tuple(name for name in CAPABILITIES if name in needed)


def _placeholders(text: str) -> dict[str, None]:
    """Return the names in file order, without duplicates."""
    return dict.fromkeys(PLACEHOLDER.findall(text))


def _escaped(value: str) -> str:
    """Return ``value`` escaped for the inside of a JSON string."""
    return json.dumps(value, ensure_ascii=False)[1:-1]


def _validated(template: str, filled: str, names: Mapping[str, str]) -> Validated:
    outside = next(_outside_strings(template), None)
    try:
        validated = validate(parse_json(filled))
    except EngineError as exc:
        hint = outside[1] if outside else exc.hint
        kept = {key: exc.details[key] for key in _KEPT if key in exc.details}
        kept |= {"hint": hint} if hint else {}
        cause = {"cause": exc.code.value}
        message = f"{names['artifactName']} is not a valid execution: {exc.message}"
        raise EngineError(
            ErrorCode.COMPILE_VALIDATION_FAILED, message, hint=hint, details={**names, **kept, **cause}
        ) from exc
    if outside:
        line, hint = outside
        details = {**names, "line": line, "reason": "a placeholder is outside of a string", "hint": hint}
        message = f"{names['artifactName']}: a placeholder is outside of a string (line {line})"
        raise EngineError(ErrorCode.COMPILE_VALIDATION_FAILED, message, hint=hint, details=details)
    return validated


def _outside_strings(template: str) -> Iterator[tuple[int, str]]:
    """Yield line and hint of each placeholder outside of a string, where a value could add keys or actions."""
    bare = _STRING.sub(lambda string: re.sub(r"[^\n]", " ", string[0]), template)
    for place in PLACEHOLDER.finditer(bare):
        hint = f"Write {{{{{place[1]}}}}} inside a string. Numbers and keys of a template cannot be placeholders."
        yield template.count("\n", 0, place.start()) + 1, hint


def _admit(profile: Profile, validated: Validated, names: Mapping[str, Any]) -> None:
    try:
        admit(profile, validated.execution)
    except EngineError as exc:
        exc.details |= names
        raise
