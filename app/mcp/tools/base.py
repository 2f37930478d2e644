"""What a tool is, and the pieces that their schemas are made of."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from clawperator.app.mcp.answers import DEFAULT_BYTES, Reply
from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.engine.contracts.limits import MAX_WAIT_MS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.views import VIEWS
from clawperator.engine.json_schema import json_schema

if TYPE_CHECKING:
    from clawperator.app.mcp.service import Call, McpService

Schema = dict[str, Any]
Arguments = Mapping[str, Any]
"""What a client sent, held against the tool's schema already; nulls count as absent."""

LEAST_BYTES = 1_024
MOST_BYTES = 1_048_576
_REASON = 300


@dataclass(frozen=True, slots=True)
class Tool:
    """``takes`` and ``gives`` are the properties of the argument and of the answer, ``needs`` the arguments without which
    nothing goes. The four truths at the end are the protocol's hints.
    """

    name: str
    title: str
    about: str
    run: Callable[[McpService, Call, Arguments], Awaitable[Reply]]
    takes: Schema
    gives: Schema
    needs: tuple[str, ...] = ()
    reads_only: bool = True
    destructive: bool = False
    idempotent: bool = True
    open_world: bool = True

    @property
    def input_schema(self) -> Schema:
        schema: Schema = {"type": "object", "properties": self.takes, "additionalProperties": False}
        return {**schema, "required": list(self.needs)} if self.needs else schema

    @property
    def output_schema(self) -> Schema:
        """A success has ``ok`` and what the tool gives; a failure has ``ok`` and ``error``."""
        properties = {"ok": BOOLEAN, **self.gives, "error": ERROR}
        if "deviceId" in self.gives:
            properties |= {"executionId": TEXT, "interrupted": INTERRUPTED}
        return {"type": "object", "properties": properties, "required": ["ok"]}

    def read(self, arguments: Mapping[str, Any] | None) -> Arguments:
        """The arguments, if they are what the tool takes. Raises ``EngineError`` (INVALID_PARAMETER)."""
        given = {name: value for name, value in (arguments or {}).items() if value is not None}
        for name in given:
            if name not in self.takes:
                hint = suggestion(name, self.takes) or f"It takes {', '.join(self.takes) or 'nothing'}."
                raise wrong(name, f"{self.name} has no argument '{shown(name)}'", hint)
        for name in self.needs:
            if name not in given:
                raise wrong(name, f"{self.name} needs the argument '{name}'", f"{self.takes[name]['description']}")
        for error in _validator(self).iter_errors(given):
            path = ".".join(map(str, error.absolute_path))
            raise wrong(path, f"{path or 'the arguments'}: {shown(error.message, _REASON)}")
        return given


@cache
def _tools_validator() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator


_validators: dict[str, Any] = {}


def _validator(tool: Tool) -> Any:
    if tool.name not in _validators:
        _validators[tool.name] = _tools_validator()(tool.input_schema)
    return _validators[tool.name]


def wrong(path: str, message: str, hint: str | None = None) -> EngineError:
    """An argument that will not do; ``path`` leads to it."""
    return EngineError(ErrorCode.INVALID_PARAMETER, message, hint=hint, details={"path": path})


# -- pieces of schemas


def text(about: str, longest: int | None = None, **more: Any) -> Schema:
    bound = {"maxLength": longest} if longest else {}
    return {"type": "string", "description": about, **bound, **more}


def number(about: str, low: int, high: int, default: int | None = None) -> Schema:
    chosen = {} if default is None else {"default": default}
    return {"type": "integer", "minimum": low, "maximum": high, "description": about, **chosen}


def switch(about: str, *, default: bool = False) -> Schema:
    return {"type": "boolean", "default": default, "description": about}


def choice(about: str, words: Iterable[str], default: str | None = None) -> Schema:
    chosen = {} if default is None else {"default": default}
    return {"type": "string", "enum": list(words), "description": about, **chosen}


def obj(properties: Schema, about: str = "") -> Schema:
    schema: Schema = {"type": "object", "properties": properties}
    return {**schema, "description": about} if about else schema


def listed(items: Schema, about: str = "") -> Schema:
    schema: Schema = {"type": "array", "items": items}
    return {**schema, "description": about} if about else schema


@cache
def _matcher_fields() -> Schema:
    fields: Schema = json_schema("matcher")["properties"]
    return fields


def matcher(about: str, *, explained: bool = True) -> Schema:
    """A matcher; what its fields mean is said once per tool."""
    fields = _matcher_fields()
    if not explained:
        fields = {name: {"type": "string"} for name in fields}
    return {
        "type": "object",
        "description": about,
        "properties": fields,
        "additionalProperties": False,
        "minProperties": 1,
    }


TEXT: Schema = {"type": "string"}
WHOLE: Schema = {"type": "integer"}
BOOLEAN: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
OBJECTS: Schema = {"type": "array", "items": OBJECT}
DEVICE = text("Serial of the device, as `devices` lists it. Needed only when several are ready.", 255)
WHERE = {
    "deviceId": DEVICE,
    "waitMs": number("How long to wait for a device that is in use.", 0, MAX_WAIT_MS, 0),
}
"""Where something is to run, and when at the latest."""
SELECTOR = "The node: all given fields must match; the first match on screen is used."
VIEW = choice(
    "Amount of detail: `interactive` lists what can be acted on or read, each node with a ready `selector`; `compact` is "
    "an indented outline; `full` is the XML dump.",
    ("interactive", "compact", "full"),
    "interactive",
)
BUDGET = number(
    "Maximum bytes of a tree view; `truncated` lists what is missing.", LEAST_BYTES, MOST_BYTES, DEFAULT_BYTES
)
MAX_AGE = number("Accept a cached tree up to this many milliseconds old; 0 always reads a new one.", 0, 3_600_000, 0)
assert set(VIEW["enum"]) == set(VIEWS)
ERROR = obj(
    {
        "code": text("Stable error code; branch on this field only."),
        "message": TEXT,
        "hint": text("What to do next."),
        "details": OBJECT,
        "retryable": {"type": "boolean", "description": "Whether the same call can be retried after a pause."},
        "broadcastDispatchStatus": text("`sent`: the device may have acted; `not_sent`: it has not."),
    },
    "Why there is no usable result.",
)
INTERRUPTED = obj(
    {},
    "A call before this one was cancelled or timed out on this device; broadcastDispatchStatus says whether its command had "
    "been sent and may have acted.",
)
TREE: Schema = {
    "deviceId": TEXT,
    "digest": text("Identifies this state of the tree."),
    "at": {"type": "number", "description": "Time of the snapshot, in seconds since the epoch."},
    "ageMs": WHOLE,
}
STEP = obj(
    {
        "id": TEXT,
        "actionType": TEXT,
        "success": BOOLEAN,
        "data": obj({}, "The step's data; `error` holds the code of a failed one, `view` the tree of a snapshot."),
    }
)
ENVELOPE = obj(
    {
        "commandId": TEXT,
        "taskId": TEXT,
        "status": {"enum": ["success", "failed"], "description": "`failed`: the plan was aborted."},
        "stepResults": listed(STEP, "Empty when the plan was aborted."),
        "error": {"type": ["string", "null"], "description": "Why it was aborted, as text."},
        "errorCode": text("Why it was aborted; branch on this."),
        "hint": TEXT,
    },
    "The device's result.",
)
OUTCOME = obj(
    {
        "status": {"enum": ["succeeded", "partial", "failed", "unknown"]},
        "steps": listed(
            obj(
                {
                    "id": TEXT,
                    "type": TEXT,
                    "status": {"enum": ["done", "failed", "not_run", "unknown"]},
                    "durationMs": {"type": ["integer", "null"]},
                    "code": TEXT,
                    "target": obj({}, "The node that the step acted on."),
                }
            )
        ),
        "failedStep": OBJECT,
        "error": obj({}, "What went wrong: code, message, hint, retryable, details."),
    },
    "The outcome of each step, even if the envelope has no results.",
)
PLAYED: Schema = {"executions": OBJECTS, "outputs": OBJECT, "errors": OBJECTS}
"""What a compiled artifact comes to."""
RESULT: Schema = {
    "envelope": ENVELOPE,
    "outcome": OUTCOME,
    "deviceId": TEXT,
    "executionId": TEXT,
    "terminalSource": TEXT,
    "mode": TEXT,
    "backend": TEXT,
    "warnings": OBJECTS,
    "failure": obj(
        {"code": TEXT, "message": TEXT, "hint": TEXT, "retryable": BOOLEAN}, "Why the call did not fully succeed."
    ),
}
