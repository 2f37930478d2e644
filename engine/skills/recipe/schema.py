"""Validate blocks of a recipe by pydantic models and report errors with their lines: RECIPE_SCHEMA_INVALID."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails, InitErrorDetails

from clawperator.engine.contracts.strict import Strict, unknown
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.recipe.site import Site

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


def read(model: type[Model], value: object, site: Site) -> Model:
    """Return ``value`` at ``site`` as ``model``.

    Raises ``RECIPE_SCHEMA_INVALID`` for the first problem in the file, with ``details.{path, expected}``; several are listed in
    ``details.issues``.
    """
    try:
        return model.model_validate(value)
    except ValidationError as exc:
        found = sorted(
            (_Finding(error, site) for error in exc.errors(include_url=False)), key=lambda finding: finding.site.line
        )
        raise found[0].fault(found) from None


def invalid(site: Site, message: str, expected: str, *, hint: str | None = None) -> EngineError:
    """Return the error for an invalid value at ``site``."""
    said = f"{site.dotted}: {message}" if site.path else message
    return site.fault(ErrorCode.RECIPE_SCHEMA_INVALID, said, hint=hint, path=site.dotted, expected=expected)


class _Finding:
    def __init__(self, error: ErrorDetails, site: Site) -> None:
        context = error.get("ctx", {})
        keys = context.get("keys", ())
        self.kind = error["type"]
        self.site = site.at(*error["loc"], *keys[:1])
        self.message = "is missing" if self.kind == "missing" else context.get("text", error["msg"])
        self.expected = str(context.get("expected") or _EXPECTED.get(self.kind) or self.message)
        self.hint = str(context.get("hint") or "") or None
        if self.kind == "string_type" and isinstance(error["input"], int | float):
            self.hint = _QUOTE

    def fault(self, found: list[_Finding]) -> EngineError:
        error = invalid(self.site, self.message, self.expected, hint=self.hint)
        if len(found) > 1:
            error.details["issues"] = [
                {"path": finding.site.dotted, "line": finding.site.line, "message": finding.message}
                for finding in found[:MAX_ISSUES]
            ]
        return error
