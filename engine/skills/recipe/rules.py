"""Read a recipe and check the rules across its steps (skills.md#verification, policy.md#capabilities, skills.md#rules)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clawperator.engine.config.policy import capabilities_of
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.literals import WORDS, literals
from clawperator.engine.skills.recipe.location import Location
from clawperator.engine.skills.recipe.model import FrontMatter, Recipe
from clawperator.engine.skills.recipe.schema import invalid, read
from clawperator.engine.skills.recipe.steps import VERIFYING, RecipeStep, read_step
from clawperator.engine.skills.recipe.templates import names, undeclared

if TYPE_CHECKING:
    from clawperator.engine.skills.recipe.source import Source

_EFFECTS = {"toggle": "toggle", "purchase": "purchase_risk"}
_VERIFIED = frozenset(("toggle", "type_text", "purchase_risk"))
_CLICKING = ("click", "scroll_and_click")


def read_recipe(source: Source) -> Recipe:
    """Return the recipe in ``source``, checked except for its inputs and its session policy (skills.md#rules).

    Raises ``EngineError`` with ``details.{file, line, stepId?}``: RECIPE_SCHEMA_INVALID, RECIPE_STEP_UNSUPPORTED,
    RECIPE_SELECTOR_INVALID, RECIPE_SELECTOR_UNSUPPORTED, RECIPE_CAPABILITY_UNDECLARED, RECIPE_VERIFICATION_MISSING,
    RECIPE_LITERAL_FORBIDDEN, RECIPE_INPUT_UNDECLARED.
    """
    head = read(FrontMatter, source.frontmatter.value, Location(source.file, source.frontmatter))
    steps = tuple(read_step(block, source.file, head.application_id) for _, block in source.steps)
    recipe = Recipe.model_construct(**dict(head), source=source, steps=steps)
    for rule in (
        _check_ids,
        _check_outputs,
        _check_kind,
        _check_capabilities,
        _check_verification,
        _check_literals,
        _check_names,
    ):
        rule(recipe)
    return recipe


def capabilities_of_step(step: RecipeStep) -> Iterator[tuple[str, Location]]:
    """Yield the capabilities that a step needs, with their sites."""
    for action in step.actions:
        params = {name: value for name, value in action.params.items() if name != "submit"}  # part of typing here
        for capability in sorted(capabilities_of(action.type, params)):
            yield capability, action.location if action.location.path else action.location.at("type")
    if step.chooses:
        yield "observe", step.location.at("selector")
    if step.effect:
        yield _EFFECTS[step.effect], step.location.at("effect")


def has_side_effect(step: RecipeStep) -> bool:
    """Return whether ``step`` changes the app, which probes must not do and others must verify (skills.md#verification)."""
    if step.type == "enter_text" or step.effect:
        return True
    return step.type in _CLICKING and step.action.params.get("clickAfter", True) is not False


def _check_ids(recipe: Recipe) -> None:
    seen: set[str] = set()
    for step in recipe.steps:
        for action in step.actions:
            if action.id in seen:
                raise invalid(step.location.at("id"), f"another action has the id '{action.id}'", "a unique id")
            seen.add(action.id)


def _check_outputs(recipe: Recipe) -> None:
    known = {action.id for step in recipe.steps for action in step.actions}
    for index, output in enumerate(recipe.outputs):
        step = output.from_.step
        if step is not None and step not in known:
            location = recipe.location.at("outputs", index, "from", "step")
            raise invalid(location, "no step has this id", "the id of a step, optionally followed by __confirm")


def _check_kind(recipe: Recipe) -> None:
    """Check that a probe only observes."""
    for step in recipe.steps:
        if recipe.recipe_type == "probe" and has_side_effect(step):
            key = "effect" if step.effect else "type"
            raise invalid(step.location.at(key), "a probe has no side effects", "recipe_type: flow or action")


def _check_capabilities(recipe: Recipe) -> None:
    for step in recipe.steps:
        for capability, location in capabilities_of_step(step):
            if capability not in recipe.capabilities:
                raise location.error(
                    ErrorCode.RECIPE_CAPABILITY_UNDECLARED,
                    f"step {step.id} needs the capability {capability}, which the recipe does not declare",
                    hint=f"Add {capability} to capabilities in the front matter, or remove the step.",
                    capability=capability,
                )


def _check_verification(recipe: Recipe) -> None:
    if recipe.recipe_type != "action" and not _VERIFIED & set(recipe.capabilities):
        return
    open_step: RecipeStep | None = None
    for step in recipe.steps:
        if has_side_effect(step):
            if open_step:
                raise _unverified(open_step)
            open_step = None if step.confirm_type else step
        elif step.type in VERIFYING and not step.optional:
            open_step = None
    if open_step:
        raise _unverified(open_step)


def _unverified(step: RecipeStep) -> EngineError:
    hint = "Add a confirm block to the step, or a read_text or wait_for_node after it that is not optional."
    message = f"step {step.id} has a side effect that nothing verifies"
    return step.location.error(ErrorCode.RECIPE_VERIFICATION_MISSING, message, hint=hint)


def _check_literals(recipe: Recipe) -> None:
    """Check that no text identifies a person or a device; the error does not contain the text."""
    blocks = [recipe.location, *(step.location for step in recipe.steps)]
    for block in blocks:
        for location, text in _all_texts(block):
            for found in literals(text):
                raise location.error(
                    ErrorCode.RECIPE_LITERAL_FORBIDDEN,
                    f"this text {WORDS[found.code]}",
                    lint=found.code,
                    path=location.dotted,
                )


def _all_texts(block: Location) -> Iterator[tuple[Location, str]]:
    if block.block is None:
        return
    pending: list[tuple[Location, object]] = [(block, block.block.value)]
    while pending:
        location, value = pending.pop()
        if isinstance(value, str):
            yield location, value
        elif isinstance(value, dict):
            pending += [(location.at(key), inner) for key, inner in reversed(value.items())]
            yield from ((location.at(key), key) for key in value)
        elif isinstance(value, list):
            pending += [(location.at(index), inner) for index, inner in reversed(list(enumerate(value)))]


def _check_names(recipe: Recipe) -> None:
    declared = [item.name for item in recipe.inputs]
    for step in recipe.steps:
        for location, text in step.texts():
            for name in names(text):
                if name not in declared:
                    raise undeclared(name, location, declared)
