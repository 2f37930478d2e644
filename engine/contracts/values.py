"""The types of parameters: bounded texts, numbers, enumerations, and two small objects."""

# ruff: noqa: N815 - fields are named as JSON names them
# No postponed annotations here: pydantic would evaluate every string again, which noticeably slows down each command.

import math
from typing import Annotated, Any, Literal, NamedTuple, cast

from pydantic import AfterValidator, BeforeValidator, Field, GetCoreSchemaHandler, ValidationInfo, field_validator
from pydantic.config import JsonDict
from pydantic_core import CoreSchema, PydanticCustomError, PydanticKnownError, core_schema

from clawperator.engine.contracts.limits import (
    MAX_ID_LENGTH,
    MAX_MATCHER_VALUE_LENGTH,
    MAX_NOTIFICATION_KEY_LENGTH,
    MAX_PAYLOAD_BYTES,
    MAX_RETRY_ATTEMPTS_PER_STEP,
    MAX_SHOWN_TEXT_LENGTH,
    MAX_URI_LENGTH,
    PACKAGE,
    utf16_length,
)
from clawperator.engine.contracts.strict import Strict
from clawperator.engine.verbs import Param
from clawperator.engine.verbs.catalogue import CLICK_TYPES

SINCE = "x-since-operator"
"""The JSON Schema key for the first Operator version with a feature."""
NOT_BLANK = r"[^\s\x1c-\x1f]"
"""Something that Java does not take for white space either."""
SESSION_ID = r"^[A-Za-z0-9_-]+$"
COLOR = r"^#(?:[0-9A-Fa-f]{6}|[0-9A-Fa-f]{8})$"
SHOWN_TEXT = r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x08\x0b-\x1f\x7f-\x9f]*$"
"""Not blank, without control characters but line feed and tab."""


class Units(NamedTuple):
    """The maximum length of a text in UTF-16 code units, which pydantic's own limit does not count. Must be the last annotation."""

    limit: int

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        text = {**handler(source), "max_length": self.limit}
        return core_schema.no_info_before_validator_function(self._checked, cast("CoreSchema", text))

    def _checked(self, text: object) -> object:
        if isinstance(text, str) and utf16_length(text) > self.limit:
            raise PydanticKnownError("string_too_long", {"max_length": self.limit})
        return text


Id = Annotated[str, Field(min_length=1, pattern=NOT_BLANK), Units(MAX_ID_LENGTH)]
Value = Annotated[str, Units(MAX_MATCHER_VALUE_LENGTH)]
Text = Annotated[str, Field(pattern=NOT_BLANK), Units(MAX_MATCHER_VALUE_LENGTH)]
Uri = Annotated[str, Field(pattern=NOT_BLANK), Units(MAX_URI_LENGTH)]
Path = Annotated[str, Field(pattern=NOT_BLANK)]
Pattern = Annotated[str, Units(MAX_PAYLOAD_BYTES)]
ApplicationId = Annotated[str, Field(pattern=PACKAGE), Units(MAX_MATCHER_VALUE_LENGTH)]
ShownText = Annotated[str, Field(pattern=SHOWN_TEXT), Units(MAX_SHOWN_TEXT_LENGTH)]
"""Text that the device shows."""
Color = Annotated[str, Field(pattern=COLOR)]
NotificationKey = Annotated[str, Field(min_length=1, pattern=NOT_BLANK), Units(MAX_NOTIFICATION_KEY_LENGTH)]
SessionId = Annotated[str, Field(pattern=SESSION_ID), Units(MAX_ID_LENGTH)]


def _whole(value: object) -> object:
    if not isinstance(value, float) or math.isnan(value):
        return value
    if math.isinf(value):
        raise PydanticKnownError("finite_number")
    if not value.is_integer():
        raise PydanticKnownError("int_from_float")
    return int(value)


def _shortest(value: float) -> float:
    return int(value) if value.is_integer() else value


Whole = Annotated[int, BeforeValidator(_whole)]
"""An integer; a float without a fraction counts as one."""
Number = Annotated[float, Field(allow_inf_nan=False), AfterValidator(_shortest)]


def word(value: object) -> str:
    """How a word is compared: trimmed and in lower case."""
    if not isinstance(value, str):
        raise PydanticKnownError("string_type")
    return value.strip().lower()


def click_word(value: object) -> str:
    """A ``clickType``, by any of its names."""
    given = word(value)
    return {"click": "default", "longclick": "long_click"}.get(given, given)


def optional(description: str, *, default: object = None, since: str = "", **bounds: Any) -> Any:
    """A field that may be absent, but never null. ``default`` is what the device assumes, ``since`` the Operator
    version that first reads the field where that is not the action type's own; ``bounds`` are ``ge`` and ``le``.
    """
    extra: JsonDict | None = {SINCE: since} if since else None
    return Field(default, description=description, json_schema_extra=extra, **bounds)


class RetryParams(Strict):
    """How often the device tries a step again, and how long it waits in between."""

    maxAttempts: Whole = optional(
        "Attempts in all, the first one included; default 1.", ge=1, le=MAX_RETRY_ATTEMPTS_PER_STEP
    )
    initialDelayMs: Whole = optional("Pause before the second attempt, in milliseconds; default 0.", ge=0, le=30_000)
    maxDelayMs: Whole = optional("Longest pause, in milliseconds; default initialDelayMs.", ge=0, le=60_000)
    backoffMultiplier: Number = optional("Factor from one pause to the next; default 1.", ge=1.0, le=5.0)
    jitterRatio: Number = optional("Random share of a pause, up and down; default 0.", ge=0.0, le=1.0)

    @field_validator("maxDelayMs")
    @classmethod
    def _longest_is_not_the_shortest(cls, value: int, info: ValidationInfo) -> int:
        if value < (info.data.get("initialDelayMs") or 0):
            raise PydanticCustomError("fault", "{text}", {"text": "must not be less than initialDelayMs"})
        return value


class Coordinate(Strict):
    """A point of the screen, in pixels."""

    x: Whole = Field(ge=0, le=2**31 - 1, description="Pixels from the left edge of the screen.")
    y: Whole = Field(ge=0, le=2**31 - 1, description="Pixels from the top edge of the screen.")


_KINDS: dict[str, Any] = {
    "int": Whole,
    "number": Number,
    "bool": bool,
    "package": ApplicationId,
    "text": Text,
    "uri": Uri,
    "path": Path,
    "pattern": Pattern,
    "shown": ShownText,
    "color": Color,
    "id": Id,
    "session": SessionId,
    "notification_key": NotificationKey,
    "words": Annotated[str, Units(MAX_SHOWN_TEXT_LENGTH)],
    "key": Annotated[str, Field(max_length=64)],
    "texts": Annotated[dict[str, Text], Field(min_length=1)],
}


def type_of(param: Param, *, face: bool = False) -> Any:
    """The type of a parameter of the catalogue, other than a matcher: in a plan, or on a face."""
    kind = param.face if face else param.kind
    if kind == "choice":
        spelling = click_word if param.choices == CLICK_TYPES else word
        return Annotated[Literal[param.choices], BeforeValidator(spelling)]
    if kind == "point":
        return Coordinate
    return RetryParams if kind == "retry" else _KINDS[kind]


def bounds(param: Param) -> dict[str, Any]:
    """The bounds of a number of the catalogue, as a field of a model has them."""
    return {} if param.low is None else {"ge": param.low, "le": param.high}


def field(param: Param, *, required: bool) -> Any:
    """The field of a parameter of the catalogue; not ``required`` where it is one of a group."""
    if required:
        return Field(description=param.about, **bounds(param))
    return optional(param.about, default=param.default, since=param.since, **bounds(param))
