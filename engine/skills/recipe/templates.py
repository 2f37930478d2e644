"""Texts with ``${inputs.name}`` (skills.md#selector): find and fill in the inputs in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.recipe.location import Location
from clawperator.engine.skills.recipe.schema import invalid

INPUT_NAME = "[a-z][a-z0-9_]*"
_FORM = "${inputs.<name>}"
_PIECE = re.compile(rf"(?P<escape>\$\$\{{)|\$\{{inputs\.(?P<name>{INPUT_NAME})\}}|(?P<bad>\$\{{)")

Texts = Iterator[tuple[Location, str]]


def names(text: str) -> list[str]:
    """Return the inputs in ``text``, in order."""
    return [piece["name"] for piece in _PIECE.finditer(text) if piece["name"]]


def check(text: str, location: Location) -> None:
    """Raise RECIPE_SCHEMA_INVALID for ``${`` without an input."""
    if any(piece["bad"] for piece in _PIECE.finditer(text)):
        hint = "Write $${ for a literal ${."
        raise invalid(location, f"${{ must be {_FORM}", _FORM, hint=hint)


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return ``text`` with the values of inputs, which are not expanded again."""
    return _PIECE.sub(lambda piece: values[piece["name"]] if piece["name"] else "${", text)


def fill_in(value: Any, values: Mapping[str, str]) -> Any:
    """Return ``value`` with the values of inputs in every text."""
    if isinstance(value, str):
        return fill(value, values)
    if isinstance(value, dict):
        return {key: fill_in(inner, values) for key, inner in value.items()}
    return [fill_in(inner, values) for inner in value] if isinstance(value, list) else value


def texts(value: Any, location: Location) -> Texts:
    """Yield every text in ``value`` at ``location`` with its own site."""
    if isinstance(value, str):
        yield location, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from texts(inner, location.at(key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from texts(inner, location.at(index))


def undeclared(name: str, location: Location, declared: Iterable[str]) -> EngineError:
    """Return the error for an undeclared input."""
    known = ", ".join(declared) or "none"
    return location.error(
        ErrorCode.RECIPE_INPUT_UNDECLARED,
        f"the input {name} is not declared",
        hint=f"Declare it under inputs in the front matter (declared: {known}).",
        input=name,
        path=location.dotted,
    )
