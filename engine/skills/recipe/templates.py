"""Texts with ``${inputs.name}`` in them (skills.md#selector): what they name, and what becomes of them. One pass."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.recipe.schema import invalid
from clawperator.engine.skills.recipe.site import Site

INPUT_NAME = "[a-z][a-z0-9_]*"
_FORM = "${inputs.<name>}"
_PIECE = re.compile(rf"(?P<escape>\$\$\{{)|\$\{{inputs\.(?P<name>{INPUT_NAME})\}}|(?P<bad>\$\{{)")

Texts = Iterator[tuple[Site, str]]


def names(text: str) -> list[str]:
    """The inputs that ``text`` names, in order."""
    return [piece["name"] for piece in _PIECE.finditer(text) if piece["name"]]


def check(text: str, site: Site) -> None:
    """Raises RECIPE_SCHEMA_INVALID for ``${`` that begins nothing known."""
    if any(piece["bad"] for piece in _PIECE.finditer(text)):
        hint = "Write $${ for a literal ${."
        raise invalid(site, f"${{ must be {_FORM}", _FORM, hint=hint)


def fill(text: str, values: Mapping[str, str]) -> str:
    """``text`` with the values in the places of their names. What a value contains is never looked at again."""
    return _PIECE.sub(lambda piece: values[piece["name"]] if piece["name"] else "${", text)


def fill_in(value: Any, values: Mapping[str, str]) -> Any:
    """The same for every text inside of ``value``."""
    if isinstance(value, str):
        return fill(value, values)
    if isinstance(value, dict):
        return {key: fill_in(inner, values) for key, inner in value.items()}
    return [fill_in(inner, values) for inner in value] if isinstance(value, list) else value


def texts(value: Any, site: Site) -> Texts:
    """Every text inside of ``value``, which stands at ``site``, with its own site."""
    if isinstance(value, str):
        yield site, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from texts(inner, site.at(key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from texts(inner, site.at(index))


def undeclared(name: str, site: Site, declared: Iterable[str]) -> EngineError:
    """The refusal of a name that no input has."""
    known = ", ".join(declared) or "none"
    return site.fault(
        ErrorCode.RECIPE_INPUT_UNDECLARED,
        f"the input {name} is not declared",
        hint=f"Declare it under inputs in the front matter (declared: {known}).",
        input=name,
        path=site.dotted,
    )
