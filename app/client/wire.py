"""The shape of what a server sends. Pure.

A server is untrusted, as a device is: texts are cut, wrong types are refused. Unknown keys are ignored, so that a newer
server can send more.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from inspect import signature
from types import UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    create_model,
)
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, core_schema

from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.executions.outcome import ExecutionOutcome, OutcomeStep

_LONGEST_NAME = 1_024
_LONGEST_WORDS = 64 * 1024
"""Limit in characters of a text that is shown: a line of a log, a message."""
_LONGEST_RAW = 4 * 1024 * 1024
_LONGEST_TREE = 16 * 1024 * 1024
_LATEST = 1e12
"""Far beyond any valid time in seconds or milliseconds."""


def _cut(longest: int) -> BeforeValidator:
    return BeforeValidator(lambda value: value[:longest] if isinstance(value, str) else value)


def _as_text(value: Any) -> Any:
    """Convert a step's data to texts (wire.md#envelope)."""
    if not isinstance(value, Mapping):
        return value
    return {
        str(key)[:_LONGEST_NAME]: (item if isinstance(item, str) else json.dumps(item))[:_LONGEST_TREE]
        for key, item in value.items()
    }


def _known(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value) if abs(value) <= _LATEST else math.nan
    return math.nan if value is None else value


Name = Annotated[str, _cut(_LONGEST_NAME)]
LongText = Annotated[str, _cut(_LONGEST_WORDS)]
Raw = Annotated[str, _cut(_LONGEST_RAW)]
Tree = Annotated[str, Field(max_length=_LONGEST_TREE)]
Moment = Annotated[float, BeforeValidator(_known)]
"""Seconds since the epoch by the server's clock; unknown is ``null`` there and NaN here."""
Milliseconds = Moment
Seconds = Annotated[float, Field(ge=0, le=_LATEST)]
Count = Annotated[int, Field(ge=-1, lt=2**62)]
Data = Annotated[dict[str, str], BeforeValidator(_as_text)]


class Wire(BaseModel):
    """Base of all: camelCase keys, strict types."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True, alias_generator=to_camel, populate_by_name=True)


class EngineValue:
    """Annotates a named tuple or dataclass of the engine that is read field by field, camelCase like ``Wire``.

    Types follow from its annotations, and absent fields have its defaults. ``types`` replaces some of them, ``None`` leaves a
    field out; a pair has a ``Field``, too.
    """

    def __init__(self, **types: Any) -> None:
        self._types = types

    def __get_pydantic_core_schema__(self, kind: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        fields: dict[str, Any] = {}
        hints = get_type_hints(kind)
        for name, parameter in signature(kind).parameters.items():
            chosen = self._types.get(name, _bounded(hints[name]))
            default = ... if parameter.default is parameter.empty else None
            if chosen is not None:
                fields[name] = chosen if isinstance(chosen, tuple) else (chosen, default)
        model: Any = create_model(kind.__name__, __base__=Wire, **fields)

        def value(read: Wire) -> Any:
            return kind(**{name: getattr(read, name) for name in read.model_fields_set})

        return core_schema.no_info_after_validator_function(value, handler.generate_schema(model))


def _bounded(hint: Any) -> Any:
    """Return the type by which a value of an engine's type is read."""
    inside = get_args(hint)
    if get_origin(hint) is tuple:
        return Annotated[list[_bounded(inside[0])], Field(max_length=100), AfterValidator(tuple)]  # type: ignore[misc]  # a computed type
    if isinstance(hint, UnionType):
        return Union[tuple(map(_bounded, inside))]  # noqa: UP007 -- of computed members
    return _TYPES.get(hint, hint)


_TYPES: Mapping[Any, Any] = {str: Name, int: Count, float: Moment}

Kind = TypeVar("Kind", bound=BaseModel)


def read(kind: type[Kind], document: str | bytes) -> Kind:
    """Parse a JSON document as ``kind``. Raises ``ValidationError``.

    Unpaired surrogates, which JSON allows, become question marks.
    """
    try:
        return kind.model_validate_json(document)
    except ValidationError as exc:
        if exc.errors(include_url=False, include_input=False)[0]["type"] != "json_invalid":
            raise
        try:
            value = json.loads(document)
        except (ValueError, RecursionError):
            raise exc from None
        return kind.model_validate_json(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


# -- devices


class Devices(Wire):
    """``GET /devices`` and ``clawperator:devices``."""

    devices: Annotated[list[Annotated[DeviceEntry, EngineValue(detail=LongText)]], Field(max_length=10_000)]
    aliases: Annotated[dict[Name, Name], Field(max_length=10_000)] = Field(default_factory=dict)
    """By serial; only ``GET /devices`` has them."""


class Lock(Wire):
    device_id: Name
    state: Literal["held", "settling"]
    pid: Count = 0
    command_id: Name = ""
    task_id: Name = ""
    source: Name = ""
    since: Seconds = 0.0
    timeout_ms: Count = 0
    yields: bool = False
    not_before: Seconds = 0.0

    def here(self, skew: float, **names: str) -> dict[str, Any]:
        """Return the JSON data in local time, with ``names`` replaced."""
        moments = {name: value + skew for name in ("since", "not_before") if (value := getattr(self, name))}
        return self.model_copy(update=moments | names).model_dump(by_alias=True)


class Locks(Wire):
    locks: Annotated[list[Lock], Field(max_length=10_000)]


# -- executions


class Step(Wire):
    id: Name
    action_type: Name
    success: bool
    data: Data = Field(default_factory=dict)


class Envelope(Wire):
    command_id: Name
    task_id: Name
    status: Literal["success", "failed"]
    step_results: Annotated[list[Step], Field(max_length=10_000)]
    error: LongText | None = None
    error_code: Name | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON data in the engine's form."""
        answer = self.model_dump(by_alias=True)
        if self.error_code is None:
            del answer["errorCode"]
        return answer


class StepOutcome(Wire):
    id: Name
    type: Name
    status: Literal["done", "failed", "not_run", "unknown"]
    duration_ms: Milliseconds = math.nan
    code: Name = ""
    target: dict[str, Any] | None = None
    facts: dict[str, Any] | None = None


class FailedStep(Wire):
    index: Count


class Outcome(Wire):
    """The outcome of each step; durations only, without times."""

    status: Literal["succeeded", "partial", "failed", "unknown"]
    steps: Annotated[list[StepOutcome], Field(max_length=10_000)]
    failed_step: FailedStep | None = None
    error: dict[str, Any] | None = None

    def value(self) -> ExecutionOutcome:
        steps = tuple(
            OutcomeStep(
                index,
                step.id,
                step.type,
                step.status,
                step.code,
                0.0,
                step.duration_ms / 1000,
                target=step.target,
                facts=step.facts,
            )
            for index, step in enumerate(self.steps)
        )
        failed = next((step for step in steps if self.failed_step and step.index == self.failed_step.index), None)
        return ExecutionOutcome(self.status, steps, failed, self.error)


class Result(Wire):
    """``POST /execute``."""

    envelope: Envelope
    outcome: Outcome | None = None
    device_id: Name
    execution_id: Name
    mode: Name = ""
    backend: Name = ""
    then: dict[str, Any] | None = None
    warnings: Annotated[list[dict[str, Any]], Field(max_length=1_000)] = Field(default_factory=list)


class Snapshot(Wire):
    """``GET /devices/{id}/snapshot``; ``view`` is absent where the tree is the known one."""

    class View(Wire):
        text: Tree

    digest: Name
    age_ms: Count = 0
    changed: bool
    view: View | None = None


# -- errors


class ErrorBody(Wire):
    """The error object; ``extra`` holds keys beside the standard ones."""

    model_config = ConfigDict(extra="allow")

    code: Name
    message: LongText
    hint: LongText | None = None
    details: dict[str, Any] = Field(default_factory=dict)


class ErrorResponse(Wire):
    error: ErrorBody


# -- events


class ProgressEvent(Wire):
    kind: Name
    fields: Annotated[dict[Name, LongText], Field(max_length=100)] = Field(default_factory=dict)
    text: LongText = ""
    at: Moment = math.nan


class Progress(Wire):
    """``clawperator:event``."""

    device_id: Name | None
    command_id: Name
    event: ProgressEvent


class EnvelopeEvent(Wire):
    """``clawperator:envelope``."""

    device_id: Name | None
    command_id: Name
    envelope: Envelope | None
    raw: Raw
    problem: LongText
    parts: Count
    at: Moment
    transport: Annotated[dict[Name, Count], Field(max_length=8)] | None = None


class SnapshotEvent(Wire):
    """``clawperator:snapshot``."""

    device_id: Name | None
    command_id: Name
    step_id: Name
    digest: Name
    complete: bool
    at: Moment


class LinkEvent(Wire):
    """``clawperator:link``."""

    device_id: Name | None
    state: Literal["adb-lost", "log-broken", "log-followed"]
    reason: LongText
    at: Moment


class FollowEvent(Wire):
    """``clawperator:follow``."""

    device_id: Name
    phase: Literal["reading", "resting", "busy", "away", "failing"]
    command_id: Name
    wait: Annotated[float, Field(ge=0, le=3_600)]
    error: ErrorBody | None


class LogLine(Wire):
    level: Literal["V", "D", "I", "W", "E", "F", "S"]
    tag: Name
    text: LongText
    pid: Count
    tid: Count
    uid: Count
    time: Moment


class LogEvent(Wire):
    """``clawperator:log``."""

    device_id: Name | None
    lines: Annotated[list[LogLine], Field(max_length=100_000)]
    dropped: Count
    at: Moment


# -- checks


class FixStep(Wire):
    kind: Name
    value: LongText


class Fix(Wire):
    title: LongText
    platform: Name = "any"
    steps: Annotated[list[FixStep], Field(max_length=100)]


class Guidance(Wire):
    screen: LongText
    steps: Annotated[list[LongText], Field(max_length=100)]


class Check(Wire):
    id: Name
    status: Literal["pass", "warn", "fail"]
    summary: LongText
    code: Name | None = None
    unknown: bool | None = None
    detail: LongText | None = None
    fix: Fix | None = None
    device_guidance: Guidance | None = None
    evidence: dict[str, Any] | None = None
    duration_ms: Count | None = None

    def to_dict(self) -> dict[str, Any]:
        return self.model_dump(by_alias=True, exclude_none=True)


class Checks(Wire):
    """``GET /doctor``."""

    checks: Annotated[list[Check], Field(max_length=1_000)]
