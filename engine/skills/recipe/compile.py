"""Compile a recipe into executions (skills.md#compilation). Pure: the same text and variables give the same bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from clawperator.engine.config.policy import Profile, admit, admit_recipe
from clawperator.engine.contracts.limits import (
    MAX_EXECUTION_ACTIONS,
    MAX_EXECUTION_TIMEOUT_MS,
    MAX_MATCHER_VALUE_LENGTH,
    MAX_PAYLOAD_BYTES,
    MAX_SOURCE_LENGTH,
)
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.validate import Validated, validate
from clawperator.engine.skills.compiled import Choice, Compiled, Confirm, with_matcher
from clawperator.engine.skills.recipe.drafts import ActionDraft, payload, sleep
from clawperator.engine.skills.recipe.inputs import ResolvedInputs, check_filled, resolve
from clawperator.engine.skills.recipe.model import Recipe
from clawperator.engine.skills.recipe.rules import read_recipe
from clawperator.engine.skills.recipe.selectors import TEXTS
from clawperator.engine.skills.recipe.source import read_source
from clawperator.engine.skills.recipe.steps import CONFIRM, RecipeStep
from clawperator.engine.skills.recipe.templates import fill, fill_in, texts
from clawperator.engine.skills.variables import COMMAND_ID, TASK_ID, checked, in_order, stable_ids

MODE = "artifact_compiled"
_BASE_MS = 10_000
_PER_ACTION_MS = 8_000
"""The default timeout: a base, and a share for every action that is not a sleep."""
_FIRST_STEPS = ("close_app", "open_app")

Part = list[ActionDraft]


def compile_recipe(
    text: str, variables: Mapping[str, Any], *, file: str = "", profile: Profile | None = None
) -> Compiled:
    """Compile the recipe ``text`` with ``variables`` under the policy ``profile``; ``file`` is its name in errors.

    Raises ``EngineError``: all RECIPE_… codes, COMPILE_VARS_PARSE_FAILED for variables that are not scalars,
    COMPILE_VALIDATION_FAILED for an invalid execution, and the policy's codes. All but those of variables have
    ``details.{file, line?, stepId?}``.
    """
    recipe = read_recipe(read_source(text, file))
    if profile is not None:
        _admit_recipe(profile, recipe)
    inputs = resolve(recipe, checked(variables))
    check_filled(recipe, inputs.texts)
    parts = _parts(recipe)
    _check_limit(parts, recipe)
    plans = _validated(recipe, parts, inputs)
    if profile is not None:
        for plan, part in zip(plans, parts, strict=True):
            _admit(profile, plan, part)
    return Compiled(
        skill_id="",
        artifact=file,
        executions=tuple(_payload(plan, part) for plan, part in zip(plans, parts, strict=True)),
        optional=tuple(step.id for step in recipe.steps if step.optional),
        recipe={"id": recipe.recipe_id, "version": recipe.recipe_version, "type": recipe.recipe_type},
        capabilities=tuple(dict.fromkeys(recipe.capabilities)),
        outputs=tuple(output.compiled() for output in recipe.outputs),
        confirms=_confirms(recipe.steps, inputs.texts),
        warnings=tuple(_warnings(recipe, inputs, plans, parts)),
        choices=tuple(_choices(recipe.steps, inputs)),
        private=tuple(_private([block.value for _, block in recipe.source.steps], inputs.texts)),
    )


def _private(value: object, texts: Mapping[str, str], inside: bool = False) -> Iterator[str]:
    """Yield the texts of the selectors below ``value`` that are annotated USER_SPECIFIC, with inputs filled in."""
    if isinstance(value, list):
        for item in value:
            yield from _private(item, texts, inside)
    elif isinstance(value, Mapping):
        inside = inside or value.get("annotation") == "USER_SPECIFIC"
        for key, inner in value.items():
            if isinstance(inner, str):
                yield from [fill(inner, texts)] if inside and key in TEXTS else []
            else:
                yield from _private(inner, texts, inside)


# -- session and steps


def _parts(recipe: Recipe) -> list[Part]:
    """Return the actions of each execution; an optional step has its own, which may fail (skills.md#optional-steps).

    A step with a choice begins an execution, because the snapshot is taken before it; its pause precedes that.
    """
    parts: list[Part] = [_session(recipe)]
    for step in recipe.steps:
        actions = list(step.actions)
        if step.chooses:
            at = actions.index(step.action)
            parts[-1] += actions[:at]
            actions = actions[at:]
            parts.append([])
        if step.optional:
            parts += [actions, []]
        else:
            parts[-1] += actions
    return [part for part in parts if part]


def _session(recipe: Recipe) -> Part:
    """Return the injected actions that start a fresh session."""
    if recipe.session_policy != "fresh":
        return []
    if not recipe.fresh_start_injected:
        _check_first_steps(recipe)
        return []
    location, settle = recipe.location.at("session_policy"), recipe.location.at("settle")
    app = {"applicationId": recipe.application_id}
    return [
        ActionDraft("__fresh_close", "close_app", app, location),
        *sleep("__settle_close", recipe.settle.after_close_ms, settle),
        ActionDraft("__fresh_open", "open_app", app, location),
        *sleep("__settle_open", recipe.settle.after_open_ms, settle),
    ]


def _check_first_steps(recipe: Recipe) -> None:
    first = list(islice((step for step in recipe.steps if not step.sleeps), len(_FIRST_STEPS)))
    for place, kind in enumerate(_FIRST_STEPS):
        step = first[place] if place < len(first) else None
        fits = step and step.type == kind and step.action.params["applicationId"] == recipe.application_id
        if not step or not fits or step.optional:
            location = step.location if step else recipe.location.at("fresh_start_injected")
            raise location.error(
                ErrorCode.RECIPE_SESSION_POLICY_VIOLATED,
                f"a fresh session begins with {' and '.join(_FIRST_STEPS)} of {recipe.application_id}",
                hint="Start with these two steps, or remove fresh_start_injected to have them inserted.",
            )


def _check_limit(parts: Sequence[Part], recipe: Recipe) -> None:
    drafts = [draft for part in parts for draft in part]
    if len(drafts) > MAX_EXECUTION_ACTIONS:
        location = drafts[MAX_EXECUTION_ACTIONS].location
        raise location.error(
            ErrorCode.RECIPE_LIMIT_EXCEEDED,
            f"recipe {recipe.recipe_id} has {len(drafts)} actions; the limit is {MAX_EXECUTION_ACTIONS}",
            limit=MAX_EXECUTION_ACTIONS,
            actual=len(drafts),
        )


# -- executions


def _validated(recipe: Recipe, parts: Sequence[Part], inputs: ResolvedInputs) -> list[Validated]:
    values = {name: text for name, text in inputs.texts.items() if text}
    identity = {"recipeId": recipe.recipe_id, "recipeVersion": recipe.recipe_version, "inputs": in_order(values)}
    ids = stable_ids(identity, inputs.chosen)
    plans = []
    for number, part in enumerate(parts, 1):
        command = ids[COMMAND_ID] + (f"-p{number}" if number > 1 else "")
        names = (command, ids[TASK_ID], recipe.recipe_id[:MAX_SOURCE_LENGTH])
        actions = [draft.filled(inputs.texts) for draft in part]
        try:
            plans.append(validate(payload(actions, recipe.timeout_ms or _time_for(part), names)))
        except EngineError as exc:
            raise _refused(exc, part, recipe) from exc
    return plans


def _payload(plan: Validated, part: Part) -> dict[str, Any]:
    execution = replace(plan.execution, mode=MODE).to_payload()
    return with_matcher(execution, None) if part[0].choice else execution


def _time_for(part: Part) -> int:
    sleeps = [draft.sleep_ms for draft in part if draft.sleep_ms is not None]
    return min(MAX_EXECUTION_TIMEOUT_MS, _BASE_MS + sum(sleeps) + _PER_ACTION_MS * (len(part) - len(sleeps)))


def _refused(exc: EngineError, part: Part, recipe: Recipe) -> EngineError:
    """Return the validator's error as one of the recipe; the values of inputs are the usual reason."""
    if exc.code is ErrorCode.PAYLOAD_TOO_LARGE:
        facts = {"limit": MAX_PAYLOAD_BYTES, "actual": exc.details["actual"]}
        message = f"the execution has more than {MAX_PAYLOAD_BYTES} bytes"
        return recipe.location.error(ErrorCode.RECIPE_LIMIT_EXCEEDED, message, **facts)
    path = str(exc.details["path"])
    draft = _draft_at(path, part)
    location, inputs = draft.place(path) if draft else (recipe.location, ())
    if inputs:
        message = f"the value of the input {inputs[0]} is invalid here: {exc.message}"
        return location.error(ErrorCode.RECIPE_INPUT_INVALID, message, input=inputs[0], expected=exc.message, path=path)
    kept = {key: value for key, value in exc.details.items() if key in ("reason", "invalidKeys", "hint", "actionId")}
    facts = {"path": path, **kept, "cause": exc.code.value}
    return location.error(ErrorCode.COMPILE_VALIDATION_FAILED, exc.message, hint=exc.hint, **facts)


def _draft_at(path: str, part: Part) -> ActionDraft | None:
    """Return the action at a path of the payload (``actions.N…``)."""
    parts = path.split(".")
    return part[int(parts[1])] if parts[0] == "actions" and len(parts) > 1 else None


# -- policy


def _admit_recipe(profile: Profile, recipe: Recipe) -> None:
    try:
        admit_recipe(
            profile,
            capabilities=recipe.capabilities,
            application_id=recipe.application_id,
            risk_level=recipe.risk_level or "",
            recipe_id=recipe.recipe_id,
        )
    except EngineError as exc:
        exc.details |= recipe.location.at(*str(exc.details.get("path", "")).split(".")).where()
        raise


def _admit(profile: Profile, plan: Validated, part: Part) -> None:
    try:
        admit(profile, plan.execution)
    except EngineError as exc:
        if draft := _draft_at(str(exc.details.get("path", "")), part):
            exc.details |= draft.location.where()
        raise


# -- outputs, confirmations, choices, warnings


def _confirms(steps: Sequence[RecipeStep], texts: Mapping[str, str]) -> tuple[Confirm, ...]:
    quoted = {name: re.escape(text) for name, text in texts.items()}
    return tuple(
        Confirm(
            step.id,
            f"{step.id}{CONFIRM}",
            step.confirm_type,
            {how: fill(text, quoted if how == "matches" else texts) for how, text in step.expect.items()},
        )
        for step in steps
        if step.confirm_type
    )


def _choices(steps: Sequence[RecipeStep], inputs: ResolvedInputs) -> Iterator[Choice]:
    for step in steps:
        if (choice := step.action.choice) is None:
            continue
        for location, text in texts(dict(choice), step.location.at("selector")):
            if len(fill(text, inputs.texts)) > MAX_MATCHER_VALUE_LENGTH:
                message = f"the text has more than {MAX_MATCHER_VALUE_LENGTH} characters"
                raise location.error(ErrorCode.RECIPE_SELECTOR_INVALID, message, path=location.dotted)
        yield Choice(step.id, fill_in(dict(choice), inputs.texts))


def _warnings(
    recipe: Recipe, inputs: ResolvedInputs, plans: Sequence[Validated], parts: Sequence[Part]
) -> list[Mapping[str, Any]]:
    """Return the warnings in the order of compilation: steps, outputs, session, variables, executions."""
    found = [warning for step in recipe.steps for warning in step.warnings]
    actions = {draft.id for part in parts for draft in part}
    for index, output in enumerate(recipe.outputs):
        if (output.from_.step or output.name) not in actions:
            message = f"no step has the id {output.name}, and from.step is missing: this output stays empty"
            found.append(recipe.location.at("outputs", index).warning("OUTPUT_UNBOUND", message))
    if recipe.session_policy == "fresh" and "navigate" not in recipe.capabilities:
        message = "a fresh session closes and opens the app: the capability navigate is not declared"
        found.append(recipe.location.at("capabilities").warning("CAPABILITY_IMPLIED", message))
    found += inputs.warnings
    for number, (plan, part) in enumerate(zip(plans, parts, strict=True)):
        for warning in plan.warnings:
            draft = _draft_at(warning.path, part)
            path = f"executions.{number}.{warning.path}" if len(plans) > 1 else warning.path
            where = draft.location.where() if draft else {}
            where.pop("file", None)
            found.append({**warning.to_dict(), "path": path, **where})
    return found
