"""Validate blocks of a recipe by pydantic models and report errors with their lines: RECIPE_SCHEMA_INVALID."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails

from clawperator.engine.contracts.strict import Strict, unknown
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.recipe.location import Location

MAX_ISSUES = 20

_EXPECTED = {
    "missing": "a value",
    "string_type": "text",
    "bool_type": "true or false",
    "int_type": "an integer",
    "float_type": "a number",
    "list_type": "a list",
    "dict_type": "a mapping",
}
_QUOTE = "Quote the value: YAML does not read it as text."

Model = TypeVar("Model", bound=Strict)


class Table(Strict):
    """A mapping of the front matter, which may have additional keys that begin with ``x-``."""

    @classmethod
    def other_keys(cls, given: Mapping[str, Any]) -> Iterator[InitErrorDetails]:
        return unknown([key for key in given if not key.startswith("x-")], cls.model_fields)


def read(model: type[Model], value: object, location: Location) -> Model:
    """Return ``value`` at ``location`` as ``model``.

    Raises ``RECIPE_SCHEMA_INVALID`` for the first problem in the file, with ``details.{path, expected}``; several are listed in
    ``details.issues``.
    """
    try:
        return model.model_validate(value)
    except ValidationError as exc:
        found = sorted(
            (_Finding(error, location) for error in exc.errors(include_url=False)),
            key=lambda finding: finding.location.line,
        )
        raise found[0].error(found) from None


def invalid(location: Location, message: str, expected: str, *, hint: str | None = None) -> EngineError:
    """Return the error for an invalid value at ``location``."""
    located = f"{location.dotted}: {message}" if location.path else message
    return location.error(ErrorCode.RECIPE_SCHEMA_INVALID, located, hint=hint, path=location.dotted, expected=expected)


class _Finding:
    def __init__(self, error: ErrorDetails, location: Location) -> None:
        context = error.get("ctx", {})
        keys = context.get("keys", ())
        self.kind = error["type"]
        self.location = location.at(*error["loc"], *keys[:1])
        self.message = "is missing" if self.kind == "missing" else context.get("text", error["msg"])
        self.expected = str(context.get("expected") or _EXPECTED.get(self.kind) or self.message)
        self.hint = str(context.get("hint") or "") or None
        if self.kind == "string_type" and isinstance(error["input"], int | float):
            self.hint = _QUOTE

    def error(self, found: list[_Finding]) -> EngineError:
        error = invalid(self.location, self.message, self.expected, hint=self.hint)
        if len(found) > 1:
            error.details["issues"] = [
                {"path": finding.location.dotted, "line": finding.location.line, "message": finding.message}
                for finding in found[:MAX_ISSUES]
            ]
        return error
