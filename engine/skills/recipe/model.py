"""The model of a recipe's front matter and steps (skills.md#front-matter)."""

# No postponed annotations: pydantic would have to evaluate them again, which slows commands down.

from collections.abc import Iterator, Mapping
from datetime import datetime
from math import isfinite
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import InitErrorDetails, PydanticCustomError

from clawperator.engine.contracts.limits import (
    MAX_EXECUTION_TIMEOUT_MS,
    MIN_EXECUTION_TIMEOUT_MS,
    PACKAGE,
)
from clawperator.engine.contracts.strict import problem, unknown
from clawperator.engine.skills.compiled import Output
from clawperator.engine.skills.recipe.location import Location
from clawperator.engine.skills.recipe.patterns import pattern_problem
from clawperator.engine.skills.recipe.schema import Table
from clawperator.engine.skills.recipe.source import Source
from clawperator.engine.skills.recipe.steps import RecipeStep
from clawperator.engine.skills.recipe.templates import INPUT_NAME

NAME = r"^[A-Za-z0-9._-]+$"
_NUMBER = r"(?:0|[1-9][0-9]*)"
_PART = r"(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)"
SEMVER = rf"^{_NUMBER}\.{_NUMBER}\.{_NUMBER}(?:-{_PART}(?:\.{_PART})*)?(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$"

Capability = Literal["observe", "navigate", "click", "long_click", "type_text", "toggle", "purchase_risk"]
ValueType = Literal["string", "integer", "number", "boolean", "enum"]
Pause = Annotated[int, Field(ge=0, le=MAX_EXECUTION_TIMEOUT_MS)]
NonEmpty = Annotated[str, Field(min_length=1)]

_REDACTED = {"string": "mask", "enum": "mask"}
"""The default redaction by type; numbers and booleans are not redacted (skills.md#outputs)."""


def _once(values: list[Any]) -> list[Any]:
    if len(set(values)) < len(values):
        raise PydanticCustomError("rule", "{text}", {"text": "values must not repeat", "expected": "unique values"})
    return values


def _moment(text: str) -> str:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        rule = {"text": "is not an ISO 8601 date or time", "expected": "a date such as 2026-03-01"}
        raise PydanticCustomError("rule", "{text}", rule) from None
    return text


class AppBuild(Table):
    version_name: NonEmpty
    version_code: int


class TestedOn(Table):
    android_api: Annotated[int, Field(ge=1)]
    device_model: str = ""
    locale: str = ""
    last_verified_at: Annotated[str, AfterValidator(_moment)] = ""


class Compatibility(Table):
    min_version_code: int | None = None
    max_version_code: int | None = None


class Settle(Table):
    after_close_ms: Pause = 0
    after_open_ms: Pause = 0


class DeclaredInput(Table):
    """One input. An empty or missing ``default`` means no default, for any type."""

    name: Annotated[str, Field(pattern=f"^{INPUT_NAME}$")]
    type: ValueType
    required: bool = False
    default: Any = None
    values: Annotated[list[NonEmpty], Field(min_length=1), AfterValidator(_once)] = Field(default_factory=list)

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        kind, default = given.get("type"), given.get("default")
        if kind == "enum" and "values" not in given:
            yield problem("rule", "an enum needs values", "values", expected="a list of strings")
        if kind != "enum" and "values" in given:
            yield problem("rule", "only an enum has values", "values", expected="no values")
        values = given.get("values")
        wanted = (
            value_problem(kind, default, values if isinstance(values, list) else []) if isinstance(kind, str) else ""
        )
        if default not in (None, "") and wanted:
            yield problem("rule", f"is not {wanted}", "default", expected=wanted)


class From(Table):
    step: NonEmpty | None = None
    key: NonEmpty = "text"
    pattern: str = ""

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        pattern = given.get("pattern", "")
        if isinstance(pattern, str) and pattern and (wrong := pattern_problem(pattern, groups=1)):
            yield problem("rule", wrong, "pattern", expected="a regular expression with one group")


class DeclaredOutput(Table):
    """One output."""

    name: Annotated[str, Field(pattern=NAME)]
    type: ValueType
    redaction: Literal["none", "hash", "mask", "drop"] | None = None
    values: list[NonEmpty] = Field(default_factory=list)
    from_: Annotated[From, Field(alias="from")] = From.model_construct()

    @classmethod
    def known(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in given.items() if key in cls._names()}

    @classmethod
    def other_keys(cls, given: Mapping[str, Any]) -> Iterator[InitErrorDetails]:
        return unknown([key for key in given if not key.startswith("x-")], cls._names())

    @classmethod
    def _names(cls) -> dict[str, object]:
        """Return the keys as written in the file."""
        return {field.alias or name: field for name, field in cls.model_fields.items()}

    def compiled(self) -> Output:
        """Return it with its defaults."""
        redaction = self.redaction or _REDACTED.get(self.type, "none")
        return Output(self.name, self.type, redaction, self.from_.step or self.name, self.from_.key, self.from_.pattern)


class FrontMatter(Table):
    """The front matter."""

    recipe_id: Annotated[str, Field(pattern=NAME)]
    recipe_version: Annotated[str, Field(pattern=SEMVER)]
    recipe_type: Literal["probe", "flow", "action"]
    application_id: Annotated[str, Field(pattern=PACKAGE)]
    summary: Annotated[str, Field(min_length=1, max_length=200)]
    frameworks: Annotated[
        list[Literal["views", "compose", "react-native", "expo", "flutter", "webview", "hybrid", "unknown"]],
        Field(min_length=1),
        AfterValidator(_once),
    ]
    session_policy: Literal["fresh", "resume_ok"]
    app_build: AppBuild
    tested_on: TestedOn
    capabilities: list[Capability]
    inputs: list[DeclaredInput]
    outputs: list[DeclaredOutput]
    fresh_start_injected: bool = True
    compatibility: Compatibility | None = None
    known_quirks: list[Any] | None = None
    failure_modes: list[Any] | None = None
    maintainers: list[Any] | None = None
    tags: list[Any] | None = None
    risk_level: Literal["low", "medium", "high"] | None = None
    timeout_ms: Annotated[int, Field(ge=MIN_EXECUTION_TIMEOUT_MS, le=MAX_EXECUTION_TIMEOUT_MS)] | None = None
    settle: Settle = Settle.model_construct()

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        if given.get("session_policy") == "resume_ok" and "fresh_start_injected" in given:
            rule = "requires session_policy: fresh"
            yield problem("rule", rule, "fresh_start_injected", expected="session_policy: fresh")
        for key in ("inputs", "outputs"):
            yield from _repeated(given.get(key), key)


class Recipe(FrontMatter):
    """A valid recipe, without values for its inputs."""

    source: Source
    steps: tuple[RecipeStep, ...]

    @property
    def location(self) -> Location:
        """Return the site of the front matter."""
        return Location(self.source.file, self.source.frontmatter)


def _repeated(items: object, key: str) -> Iterator[InitErrorDetails]:
    seen: set[str] = set()
    for index, item in enumerate(items if isinstance(items, list) else ()):
        name = item.get("name") if isinstance(item, dict) else None
        if isinstance(name, str) and name in seen:
            yield problem("rule", "this name is a duplicate", key, index, "name", expected="a unique name")
        seen |= {name} if isinstance(name, str) else set()


def value_problem(kind: str, value: object, values: list[Any] | tuple[str, ...]) -> str:
    """Return what is expected instead of ``value`` for the type ``kind``; empty if it is valid."""
    if kind == "enum":
        return "" if value in values else f"one of {', '.join(map(str, values))}"
    if kind == "string":
        return "" if isinstance(value, str) else "text"
    if kind == "boolean":
        return "" if isinstance(value, bool) else "true or false"
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind == "integer":
        return "" if whole or (isinstance(value, float) and value.is_integer()) else "an integer"
    return "" if whole or (isinstance(value, float) and isfinite(value)) else "a number"
