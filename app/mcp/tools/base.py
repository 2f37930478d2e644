"""The type of a tool, and the parts of JSON Schema that tools share."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clawperator.app.mcp.answers import DEFAULT_BYTES, DEFAULT_VIEW, Reply
from clawperator.app.mcp.tools.lenient import understood
from clawperator.app.serve.verbs import Arguments, invalid, meant_verb, misplaced
from clawperator.engine.contracts import limits
from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.engine.contracts.limits import BACKENDS, MAX_DISPLAY, MAX_WAIT_MS, THEN
from clawperator.engine.contracts.matcher import RELATIONS
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.hierarchy.views import VIEWS
from clawperator.engine.json_schema import json_schema
from clawperator.engine.verbs import Param
from clawperator.engine.verbs.catalogue import NTH, STRICT, WITHIN

if TYPE_CHECKING:
    from jsonschema import ValidationError

    from clawperator.app.mcp.service import Call, McpService
    from clawperator.engine.facade import BackendOptions

Schema = dict[str, Any]

MIN_VIEW_BYTES = 1_024
MAX_VIEW_BYTES = 1_048_576
_MAX_REASON = 300


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool with the schemas of its parameters.

    ``also`` are parameters that are accepted but not listed: another tool has them now. A tool that is not ``read_only`` is
    ``destructive`` unless it does no more than a user does at the screen.
    """

    name: str
    title: str
    description: str
    run: Callable[[McpService, Call, Arguments], Awaitable[Reply]]
    parameters: Schema
    required: tuple[str, ...] = ()
    read_only: bool = True
    destructive: bool = True
    open_world: bool = True
    also: Schema = field(default_factory=dict)

    @property
    def accepted(self) -> Schema:
        return {**self.parameters, **self.also}

    @property
    def input_schema(self) -> Schema:
        schema: Schema = {"type": "object", "properties": self.accepted, "additionalProperties": False}
        return {**schema, "required": list(self.required)} if self.required else schema

    def validate(self, arguments: Mapping[str, Any] | None) -> Arguments:
        """Return the arguments without nulls, numbers and JSON in texts understood. Raises ``EngineError`` (INVALID_PARAMETER)."""
        given = {
            name: understood(value, self.accepted.get(name, {}))
            for name, value in (arguments or {}).items()
            if value is not None
        }
        for name in given:
            if name not in self.accepted:
                hint = (misplaced(name) if "selector" in self.parameters else "") or suggestion(name, self.parameters)
                hint = hint or f"It takes {', '.join(self.parameters) or 'nothing'}."
                raise invalid(name, f"{self.name} has no argument '{shown(name)}'", hint)
        for name in self.required:
            if name not in given:
                raise invalid(
                    name, f"{self.name} needs the argument '{name}'", self.parameters[name].get("description")
                )
        for error in _validator(self).iter_errors(given):
            path = ".".join(map(str, error.absolute_path))
            raise invalid(path, *_in_words(path, error))
        return given


_validators: dict[str, Any] = {}


def _validator(tool: Tool) -> Any:
    if tool.name not in _validators:
        from jsonschema import Draft202012Validator

        _validators[tool.name] = Draft202012Validator(tool.input_schema)
    return _validators[tool.name]


_TYPES = {
    "object": "an object",
    "array": "an array",
    "string": "a string",
    "integer": "an integer",
    "boolean": "a boolean",
}
_LIMITS = {"minimum": "at least", "maximum": "at most"}


def _in_words(path: str, error: ValidationError) -> tuple[str, str | None]:
    """Return what is wrong with the argument at ``path``, and a hint, in the words of the other faces."""
    limit: Any = error.validator_value
    value: Any = error.instance
    match error.validator:
        case "type" if isinstance(limit, str) and limit in _TYPES:
            return f"'{path}' must be {_TYPES[limit]}", None
        case "enum":
            return f"'{path}' has no value {shown(repr(value))}", meant_verb(
                str(value), limit
            ) or f"Values: {', '.join(limit)}."
        case "minimum" | "maximum":
            return f"'{path}' must be {_LIMITS[str(error.validator)]} {limit}", None
        case "maxLength":
            return f"'{path}' must not be longer than {limit} characters", None
        case "minProperties" | "minItems":
            return f"'{path}' must not be empty", None
        case "required":
            missing = next(name for name in limit if name not in value)
            return f"'{path}' needs '{missing}'", None
        case "additionalProperties" if limit is False:
            schema: Any = error.schema
            known = schema["properties"]
            unknown = next(name for name in value if name not in known)
            return f"'{path}' has an unknown key: '{shown(unknown)}'", f"Known keys: {', '.join(known)}."
    return f"'{path}': {shown(error.message, _MAX_REASON)}", None


# -- parts of schemas


def string(description: str, max_length: int | None = None) -> Schema:
    bound = {"maxLength": max_length} if max_length else {}
    return {"type": "string", "description": description, **bound}


def integer(description: str, low: int, high: int, default: int | None = None) -> Schema:
    chosen = {} if default is None else {"default": default}
    about = {"description": description} if description else {}
    return {"type": "integer", "minimum": low, "maximum": high, **about, **chosen}


def boolean(description: str) -> Schema:
    return {"type": "boolean", "description": description}


def choice(description: str, values: Iterable[str], default: str | None = None) -> Schema:
    chosen = {} if default is None else {"default": default}
    about = {"description": description} if description else {}
    return {"type": "string", "enum": list(values), **about, **chosen}


def point(description: str, low: int, high: int | None = None) -> Schema:
    axis: Schema = {"type": "integer", "minimum": low} | ({} if high is None else {"maximum": high})
    return {
        "type": "object",
        "description": description,
        "properties": {"x": axis, "y": axis},
        "required": ["x", "y"],
        "additionalProperties": False,
    }


_FIELDS = {
    "resourceId": "`package:id/name`; the most stable field.",
    "role": "Such as `button`; no class name.",
    "textEquals": "The text, or else the content description.",
    "textContains": "Part of the label, ignoring case.",
    "contentDescEquals": "",
    "contentDescContains": "",
    "ref": "Alone: `ref@tree` of a view: e12@7f3a1b2c.",
}


def matcher(description: str, *, bounded: bool = True) -> Schema:
    """Return the schema of a matcher; unless ``bounded``, the engine checks the values."""
    fields: Schema = {
        name: {key: value for key, value in {**field, "description": _FIELDS[name]}.items() if value}
        for name, field in json_schema("matcher")["properties"].items()
        if name in _FIELDS
    }
    around = dict.fromkeys(RELATIONS, OBJECT)
    return {
        "type": "object",
        "description": description,
        "properties": {**(fields if bounded else dict.fromkeys(fields, STRING)), **around},
        "additionalProperties": False,
        "minProperties": 1,
    }


STRING: Schema = {"type": "string"}
BOOLEAN: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
WAITS = {"present": "wait_for_node", "gone": "wait_gone", "text_changes": "wait_text_changes"}
"""Verbs of the tool ``wait`` by its argument ``until``."""
DISPLAY: Schema = {"type": "integer", "minimum": 0, "maximum": MAX_DISPLAY}
DEVICE = string("Serial; required if several devices are ready.", 255)
TARGET = {
    "deviceId": DEVICE,
    "waitMs": integer("Maximum wait for a locked device.", 0, MAX_WAIT_MS, 0),
    "backend": choice("", BACKENDS),
}
"""The device that a call runs on, how long it waits for it, and its backend; only the server's settings allow unbinding."""
SELECTOR = matcher(
    "All given fields must match, and only one node. ancestor, descendant: fields of a node around or inside it."
)


def argument(param: Param) -> Schema:
    """Return the schema of an argument of the catalogue of verbs."""
    match param.face:
        case "matcher" if param.name == "selector":
            return SELECTOR
        case "matcher" if param.name == "container":
            return matcher(param.about, bounded=False)
        case "matcher":
            return {**OBJECT, "description": param.about}
        case "point":
            return point(param.about, 0)
        case "bool" if param.name == "strict":  # as ``run_options`` has it
            return {**boolean("false: take the first match."), "default": True}
        case "texts":
            return {**OBJECT, "description": param.about, "minProperties": 1, "additionalProperties": STRING}
    schema: Schema = {"type": _JSON_TYPES.get(param.face, "string")}
    facts: Schema = {"description": param.about, "enum": list(param.choices) if param.face == "choice" else None}
    facts |= {
        "minimum": param.low,
        "maximum": param.high,
        "maxLength": _LENGTHS.get(param.face),
        "default": param.default if param.face == "choice" else None,
    }
    return schema | {key: value for key, value in facts.items() if value is not None}


_JSON_TYPES = {"int": "integer", "number": "number", "bool": "boolean"}
_LENGTHS = {"text": limits.MAX_MATCHER_VALUE_LENGTH, "uri": limits.MAX_URI_LENGTH, "path": limits.MAX_URI_LENGTH, "key": 64,
            "words": limits.MAX_SHOWN_TEXT_LENGTH}  # fmt: skip
CHOICE = {param.name: argument(param) for param in (STRICT, NTH, WITHIN)}
"""Which of several matches is meant."""
VIEW = choice(
    "`compact`: outline; `interactive`: only targets, with their selectors; `full`: XML.",
    ("compact", "interactive", "full"),
    DEFAULT_VIEW,
)
assert set(VIEW["enum"]) == set(VIEWS)
MAX_BYTES = integer("Byte limit of views and script output.", MIN_VIEW_BYTES, MAX_VIEW_BYTES, DEFAULT_BYTES)


def how(arguments: Arguments) -> BackendOptions:
    """Return what ``TARGET`` chooses for the executions of a call."""
    chosen: BackendOptions = {}
    if "waitMs" in arguments:
        chosen["wait_ms"] = int(arguments["waitMs"])  # JSON has one number type: 7.0 is an integer
    if "backend" in arguments:
        chosen["backend"] = arguments["backend"]
    return chosen


def run_options(arguments: Arguments) -> RunOptions:
    """Return what ``ACT`` and ``MAX_BYTES`` choose."""
    most = int(arguments.get("maxBytes", DEFAULT_BYTES))
    return RunOptions(then=arguments.get("then"), then_bytes=most, strict=True)


MAX_AGE = integer("Accept a cached tree up to this age.", 0, 3_600_000, 0)
ACT = {
    "then": choice(
        "Also return the settled screen, in this form; `diff`: unified diff of `compact`; `none`: only whether it changed.",
        THEN,
    ),
    "brief": {**boolean("Only outcome, new data and views."), "default": True},
}
"""How an acting tool replies."""
