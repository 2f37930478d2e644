"""The base of every model of the contract: strict about types and keys, and complete about what is wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    ModelWrapValidatorHandler,
    ValidationError,
    ValidationInfo,
    model_validator,
)
from pydantic.config import JsonDict
from pydantic_core import (
    CoreSchema,
    ErrorDetails,
    InitErrorDetails,
    PydanticCustomError,
    PydanticKnownError,
    core_schema,
)

from clawperator.engine.contracts.issues import shown, suggestion

RULES = frozenset(
    (
        "string_pattern_mismatch",
        "literal_error",
        "greater_than_equal",
        "less_than_equal",
        "int_from_float",
        "fault",
        "rule",
        "needed",
    )
)
"""Errors of well-formed values that the device would refuse or ignore; all others are errors of form, and come first."""

_KEYS_TO_NAME = 20
_KEYS_TO_SUGGEST_FOR = 3
_MEANT = {"selector": "matcher", "point": "coordinate"}
"""Arguments of verbs → parameters of a plan."""


class OneOf(NamedTuple):
    """A type for texts from a fixed list."""

    names: tuple[str, ...]

    def __get_pydantic_core_schema__(self, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.literal_schema(list(self.names))


class Strict(BaseModel):
    """A JSON object with known keys, whose fields are named as in JSON.

    Pydantic runs the validators of a model only when all of its fields are valid. Here the unknown keys and the
    ``problems`` between fields are reported together with the invalid fields, so that a caller sees everything at once.
    """

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)

    @classmethod
    def problems(cls, _given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        """What is wrong with the fields together; gets the raw object, whose values may be anything, and the profile."""
        yield from ()

    @classmethod
    def other_keys(cls, given: Mapping[str, Any]) -> Iterator[InitErrorDetails]:
        """What is wrong with the keys of ``given`` that are no fields."""
        return unknown(given, cls.model_fields)

    @classmethod
    def known(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """The part of ``given`` that the fields are read from."""
        return {key: value for key, value in given.items() if key in cls.model_fields}

    @model_validator(mode="wrap")
    @classmethod
    def _everything_at_once(cls, value: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        if not isinstance(value, dict):
            raise PydanticKnownError("dict_type")
        found = [*cls.other_keys(value), *cls.problems(value, info.context)]
        try:
            model = handler(cls.known(value))
        except ValidationError as exc:
            found = [*map(again, exc.errors(include_url=False)), *found]
            raise ValidationError.from_exception_data(cls.__name__, found) from None
        if found:
            raise ValidationError.from_exception_data(cls.__name__, found)
        return model


def problem(kind: str, text: str, *loc: str | int, **context: Any) -> InitErrorDetails:
    """An error at ``loc``, below the object that reports it."""
    return InitErrorDetails(
        type=PydanticCustomError(kind, "{text}", {**context, "text": text}), loc=loc, input=context.get("input")
    )


def unknown(given: Iterable[str], known: Mapping[str, object]) -> Iterator[InitErrorDetails]:
    """One problem for all keys of ``given`` that are not ``known`` (of very many, it names the first)."""
    keys = [shown(str(key)) for key in given if key not in known][:_KEYS_TO_NAME]
    if keys:
        meant = [_MEANT.get(key, key) for key in keys[:_KEYS_TO_SUGGEST_FOR]]
        hints = (suggestion(key, known) for key in meant)
        all_known = f"Known keys: {', '.join(known)}." if len(known) <= _KEYS_TO_NAME else ""
        hint = next(filter(None, hints), all_known)
        names = ", ".join(f"'{key}'" for key in keys)
        words = f"has an unknown key: {names}" if len(keys) == 1 else f"has unknown keys: {names}"
        yield problem("unknown_keys", words, keys=tuple(keys), hint=hint)


def again(error: ErrorDetails) -> InitErrorDetails:
    """An error of one ``ValidationError`` for another one."""
    context = {**error.get("ctx", {}), "text": error.get("ctx", {}).get("text", error["msg"])}
    return InitErrorDetails(
        type=PydanticCustomError(error["type"], "{text}", context), loc=error["loc"], input=error["input"]
    )


ABSENT: JsonDict = {"not": {}}
"""The JSON Schema of a property that must not be there; generators of clients stumble over a plain ``false``."""


def none_of(*schemas: JsonDict) -> JsonDict:
    """The JSON Schema keyword that refuses ``schemas``.

    It is ``not`` because generators of clients take an ``anyOf`` or ``oneOf`` beside ``properties`` for a union of models.
    """
    return {"not": schemas[0] if len(schemas) == 1 else {"anyOf": list(schemas)}}
