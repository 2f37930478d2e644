"""The inputs of a recipe and their values (skills.md#front-matter, skills.md#selector)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clawperator.engine.contracts.issues import shown
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.recipe.location import Location
from clawperator.engine.skills.recipe.model import DeclaredInput, Recipe, value_problem
from clawperator.engine.skills.recipe.templates import fill, names
from clawperator.engine.skills.variables import COMMAND_ID, TASK_ID, Scalar, text_of

_PERSONAL = re.compile(
    r"(?:^|_)(?:person|people|user(?:name)?|name|first|last|nick|label|address|street|city|account|e?mail|phone|contact"
    r"|recipient|owner|login|password|pin|birth\w*)s?(?:_|$)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Input:
    """One input. ``type`` is one of skills.md#front-matter, ``values`` are those of an enum.

    ``personal``: its name suggests personal data, so that forms hide the value.
    """

    name: str
    type: str
    required: bool
    default: Scalar | None
    values: tuple[str, ...]
    personal: bool

    def to_dict(self) -> dict[str, Any]:
        """Return it for answers about a skill; ``default`` and ``values`` where there are any."""
        default = {} if self.default is None else {"default": self.default}
        values = {"values": list(self.values)} if self.values else {}
        return {"name": self.name, "type": self.type, "required": self.required, **default, **values}


@dataclass(frozen=True, slots=True)
class ResolvedInputs:
    """Every input as text, '' for an optional one without value. ``chosen`` are the ids that the caller chose."""

    texts: Mapping[str, str]
    chosen: Mapping[str, str]
    warnings: tuple[Mapping[str, Any], ...]


def is_personal(name: str) -> bool:
    """Return whether an input's name suggests personal data."""
    return _PERSONAL.search(name) is not None


def inputs_of(recipe: Recipe) -> tuple[Input, ...]:
    """Return the declared inputs in order."""
    return tuple(
        Input(
            name=item.name,
            type=item.type,
            required=item.required,
            default=None if item.default == "" else item.default,
            values=tuple(item.values),
            personal=is_personal(item.name),
        )
        for item in recipe.inputs
    )


def resolve(recipe: Recipe, variables: Mapping[str, Scalar]) -> ResolvedInputs:
    """Return the inputs of ``recipe`` from ``variables``. An empty text counts as missing.

    Raises RECIPE_INPUT_MISSING and RECIPE_INPUT_INVALID (``details.{input, stepId?, expected?}``).
    """
    texts: dict[str, str] = {}
    for index, item in enumerate(recipe.inputs):
        value = variables.get(item.name, "")
        if value == "" and item.default is not None:
            value = item.default
        location = _first_use(recipe, item.name, recipe.location.at("inputs", index))
        if value == "" and item.required:
            raise missing(item.name, location)
        texts[item.name] = "" if value == "" else _text(item, value, location)
    chosen = {name: text_of(variables[name]) for name in (COMMAND_ID, TASK_ID) if variables.get(name, "") != ""}
    return ResolvedInputs(
        texts, chosen, tuple(unused(name) for name in variables if name not in (*texts, COMMAND_ID, TASK_ID))
    )


def check_filled(recipe: Recipe, texts: Mapping[str, str]) -> None:
    """Raise RECIPE_INPUT_MISSING for a text that is empty without an optional input: a matcher must not lose a condition."""
    for step in recipe.steps:
        for location, text in step.texts():
            if (named := names(text)) and not fill(text, texts):
                raise missing(named[0], location)


def missing(name: str, location: Location) -> EngineError:
    where = f"step {location.step_id} needs it" if location.step_id else "it is required"
    return location.error(
        ErrorCode.RECIPE_INPUT_MISSING,
        f"the input {name} has no value, and {where}",
        hint=f'Pass it with --vars, such as {{"{name}":"…"}}.',
        input=name,
    )


def unused(name: str) -> dict[str, Any]:
    """Return the warning about an unused variable."""
    named = shown(name)
    return {"code": "VAR_UNUSED", "path": named, "message": f"The variable {named} is not used"}


def _first_use(recipe: Recipe, name: str, declared: Location) -> Location:
    """Return the site of the first use of an input, else its declaration."""
    for step in recipe.steps:
        for location, text in step.texts():
            if name in names(text):
                return location
    return declared


def _text(item: DeclaredInput, value: Scalar, location: Location) -> str:
    expected = value_problem(item.type, value, item.values)
    if expected:
        raise location.error(
            ErrorCode.RECIPE_INPUT_INVALID,
            f"the input {item.name} is not {shown(expected, 200)}",
            input=item.name,
            expected=shown(expected, 200),
        )
    return text_of(value)
