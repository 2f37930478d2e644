"""JSON Schema (draft 2020-12) of everything that crosses the border; what callers send comes from the models that validate.

The schemas describe the form to write, which is narrower than what is accepted: parameters that an action does not use and
other spellings of a word pass validation, but are not in the schema. It is wider where JSON Schema has no word for a rule:
unique ids, ``maxDelayMs`` not below ``initialDelayMs``, ``target`` equal to ``matcher``, a pattern that compiles, lengths in
UTF-16 units, the size of the whole. To show a schema in an OpenAPI document, annotate a
plain ``dict`` with pydantic's ``WithJsonSchema(json_schema("execution"))``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode
from pydantic_core import core_schema

from clawperator.engine.contracts import limits
from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.contracts.envelope import STATUSES
from clawperator.engine.contracts.issues import suggestion
from clawperator.engine.contracts.matcher import NodeMatcher
from clawperator.engine.contracts.payload import action_type, execution_type, step_model
from clawperator.engine.contracts.values import Coordinate, RetryParams
from clawperator.engine.errors import EngineError, ErrorCode

DIALECT = GenerateJsonSchema.schema_dialect
_REFERENCE = "#/$defs/"

Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_NUMBER: Schema = {"type": "integer", "minimum": 0}


def json_schema(name: str) -> Schema:
    """The complete schema called ``name``, with every definition that it refers to.

    Raises ``USAGE`` for a name that is not in ``SCHEMAS``, with ``details.schemas``.
    """
    if name not in SCHEMAS:
        raise EngineError(
            ErrorCode.USAGE,
            f"Unknown schema '{name}'",
            hint=suggestion(name, SCHEMAS) or f"Schemas: {', '.join(SCHEMAS)}.",
            details={"schemas": list(SCHEMAS)},
        )
    return {"$schema": DIALECT, "$id": f"urn:clawperator:{name}", "title": name, **SCHEMAS[name]()}


_DEFINITIONS = {
    "NodeMatcher": "matcher",
    "NodeFields": "node",
    "RetryParams": "retry",
    "Coordinate": "coordinate",
    "Skill": "skill",
    "SkillAgent": "skill_agent",
    "SkillContract": "skill_contract",
}


class _Generator(GenerateJsonSchema):
    """No titles, which only repeat names; no null defaults, which mean absence; parameters inside of their action."""

    def generate(self, schema: core_schema.CoreSchema, mode: JsonSchemaMode = "validation") -> Schema:
        answer = super().generate(schema, mode)
        definitions = answer.get("$defs", {})
        for action in (answer, *(definitions[name] for name in ACTIONS if name in definitions)):
            properties = action.get("properties", {})
            if "$ref" in properties.get("params", {}):
                properties["params"] = definitions.pop(properties["params"]["$ref"].removeprefix(_REFERENCE))
                del properties["params"]["description"]
        if not definitions:
            answer.pop("$defs", None)
        return answer

    def normalize_name(self, name: str) -> str:
        return _DEFINITIONS.get(name, name)

    def model_schema(self, schema: core_schema.ModelSchema) -> Schema:
        answer = super().model_schema(schema)
        del answer["title"]
        return answer

    def field_title_should_be_set(self, schema: object) -> bool:  # noqa: ARG002 - of no field
        return False

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> Schema:
        absent = schema.get("default", ...) is None
        return self.generate_inner(schema["schema"]) if absent else super().default_schema(schema)


def _of(model: Callable[[], Any]) -> Callable[[], Schema]:
    return lambda: TypeAdapter(model()).json_schema(schema_generator=_Generator)


def _ref(name: str) -> Schema:
    return {"$ref": f"{_REFERENCE}{name}"}


def _object(properties: Schema, required: list[str], description: str) -> Schema:
    return {"type": "object", "description": description, "properties": properties, "required": required}


def _envelope() -> Schema:
    step = _object(
        {
            "id": _TEXT,
            "actionType": _TEXT,
            "success": {"type": "boolean"},
            "data": {
                "type": "object",
                "additionalProperties": _TEXT,
                "description": "The step's data; `error` holds the code of a failed step.",
            },
        },
        ["id", "actionType", "success", "data"],
        "The outcome of one step.",
    )
    properties: Schema = {
        "commandId": _TEXT,
        "taskId": _TEXT,
        "status": {
            "type": "string",
            "enum": list(STATUSES),
            "description": "`success`: the plan ran to its end, even if steps failed.",
        },
        "stepResults": {"type": "array", "items": step, "description": "Empty when the plan was aborted."},
        "error": {"type": ["string", "null"], "description": "Why the plan was aborted, as text; branch on codes."},
        "errorCode": {"type": "string", "description": "Why the plan was aborted, as a code."},
        "errorCodeSource": {
            "type": "string",
            "const": "host",
            "description": "The host derived `errorCode` from `error`.",
        },
        "hint": _TEXT,
    }
    required = ["commandId", "taskId", "status", "stepResults", "error"]
    return _object(properties, required, "The device's result, completed by the host.")


def _target() -> Schema:
    return {
        "type": "object",
        "description": "The node that the step acted on, if the log or a tree of the run shows it.",
        "properties": {
            "resourceId": _TEXT,
            "text": _TEXT,
            "bounds": {"type": "array", "items": {"type": "integer"}, "description": "Left, top, right, bottom."},
            "matched": {**_NUMBER, "description": "How many nodes on screen satisfied the matcher."},
            "tree": {"type": "object", "description": "The tree in which it was found."},
        },
    }


def _facts() -> Schema:
    node = {
        "type": "object",
        "description": "A node as the app describes it: `resourceId`, `className`, `role`, `label`, `bounds`, states.",
    }
    return {
        "type": "object",
        "description": "What the app says that it did; Operator 0.9 and later. Android accepted it, no effect is proved.",
        "properties": {
            "navigationElapsedMs": {**_NUMBER, "description": "How long `open_app` waited for its app."},
            "resolvedPackage": {**_TEXT, "description": "The app that was then in front."},
            "lastPackage": {**_TEXT, "description": "The app that was in front when the wait ended without it."},
            "dispatchMethod": {
                **_TEXT,
                "description": "`accessibility_action`, `coordinate_gesture` or `none`; `input` where Android's input did it.",
            },
            "dispatchAccepted": {"type": "boolean"},
            "inputCommand": {**_TEXT, "description": "The command of Android's input."},
            "dispatched": {
                "type": "boolean",
                "description": "Whether the app passed it on to the notification or the player.",
            },
            "elapsedMs": {**_NUMBER, "description": "How long the app needed."},
            "target": {**node, "description": f"What was acted on. {node['description']}"},
            "matchedTarget": {**node, "description": f"What matched. {node['description']}"},
            "point": {"type": "object", "description": "The point of a click at a point."},
            "candidateCount": {**_NUMBER, "description": "How many nodes the app found for the selector."},
            "textEntry": _TEXT,
            "submission": {**_TEXT, "description": "`not_requested`, `accepted` or `unavailable`."},
            "submitMethod": _TEXT,
            "clear": {"type": "boolean"},
            "scrollOutcome": {**_TEXT, "description": "`moved`, `no_movement` or `unknown`."},
            "progress": {
                "type": "object",
                "description": "Of a scroll: whether its signatures could be compared, and why not.",
            },
            "submitted": {"type": "boolean", "description": "The system took the toast."},
            "visible": {"type": "boolean", "description": "Whether the on-screen log is shown."},
            "rendered": {"type": "boolean"},
            "operatorOverlayVisible": {
                "type": "boolean",
                "description": "Whether a panel of the app covers the screen.",
            },
        },
    }


def _outcome() -> Schema:
    step = _object(
        {
            "id": _TEXT,
            "type": _TEXT,
            "status": {
                "type": "string",
                "enum": ["done", "failed", "not_run", "unknown"],
                "description": "`unknown`: neither the device's log nor its result shows it.",
            },
            "durationMs": {"type": ["integer", "null"], "minimum": 0},
            "code": {**_TEXT, "description": "Why it failed."},
            "target": _target(),
            "facts": _facts(),
        },
        ["id", "type", "status", "durationMs"],
        "The outcome of one action.",
    )
    named = {"id": _TEXT, "index": _NUMBER, "type": _TEXT}
    error = dict.fromkeys(("code", "message", "hint"), _TEXT)
    properties: Schema = {
        "status": {
            "type": "string",
            "enum": ["succeeded", "partial", "failed", "unknown"],
            "description": "`partial`: the plan ran to its end, and a step of it failed; `unknown`: no result arrived.",
        },
        "steps": {"type": "array", "items": step},
        "failedStep": _object(named, list(named), "The step that failed first, or that ended the plan."),
        "error": _object(
            {**error, "retryable": {"type": "boolean"}, "details": {"type": "object"}},
            [*error, "retryable"],
            "What went wrong; codes that only the device knows are passed through.",
        ),
    }
    return _object(properties, ["status", "steps"], "The outcome of an execution, step by step.")


def _error() -> Schema:
    properties: Schema = {
        "code": {
            "type": "string",
            "enum": [code.value for code in ErrorCode],
            "x-enumDescriptions": {code.value: code.meaning for code in ErrorCode},
            "description": "Stable error code; branch on this field only.",
        },
        "message": _TEXT,
        "hint": {"type": "string", "description": "What to do next."},
        "details": {"type": "object"},
        "retryable": {"type": "boolean", "description": "Whether the same call can be retried after a pause."},
        "deviceId": _TEXT,
        "receiverPackage": _TEXT,
        "backend": {**_TEXT, "description": "The backend, if it is not the Operator app."},
        "broadcastDispatchStatus": {**_TEXT, "description": "`not_sent`, `sent`, or `failed: …` and `error: …`."},
        "lastCorrelatedEvents": {"type": "array", "items": _TEXT, "description": "The Operator's last lines about it."},
        "skillId": _TEXT,
        "exitCode": {"type": "integer", "description": "Of a skill's script."},
        "stdout": _TEXT,
        "stderr": _TEXT,
    }
    return _object(properties, ["code", "message", "retryable"], "Why there is no usable result.")


def _warning() -> Schema:
    properties: Schema = dict.fromkeys(("code", "path", "message"), _TEXT)
    return _object(properties, ["code", "message"], "A part of the payload that probably does not work as intended.")


def _then() -> Schema:
    properties: Schema = {
        "changed": {"type": ["boolean", "null"], "description": "Null: the screen before is unknown."},
        "settled": {"type": "boolean", "description": "Whether two trees in a row were equal."},
        "settledMs": {"type": "integer", "minimum": 0},
        "tree": {**_TEXT, "description": "The id of the tree."},
        "view": {
            **_TEXT,
            "description": "The view, whose keys follow: `diff` only if it is no longer than `compact`. Absent for `diff` if nothing changed.",
        },
        "error": {"type": "object", "description": "Why there is no tree or no view."},
    }
    return _object(properties, [], "The screen after the plan, if `then` asked for it.")


def _result() -> Schema:
    common: Schema = {"deviceId": _TEXT, "executionId": _TEXT}
    success: Schema = {
        "ok": {"type": "boolean", "const": True},
        "envelope": _ref("envelope"),
        **common,
        "terminalSource": {"type": "string", "const": "clawperator_result"},
        "mode": {"type": "string", "enum": list(limits.MODES)},
        "backend": _TEXT,
        "outcome": _ref("outcome"),
        "then": _then(),
        "warnings": {"type": "array", "items": _ref("warning")},
    }
    failure: Schema = {
        "ok": {"type": "boolean", "const": False},
        "error": _ref("error"),
        **common,
        "outcome": _ref("outcome"),
    }
    required = ["ok", "envelope", "deviceId", "terminalSource", "outcome"]
    return {
        "description": "The result of an execution.",
        "oneOf": [_ref("success"), _ref("failure")],
        "$defs": {
            "success": _object(success, required, "The device returned a result; the plan may have failed."),
            "failure": _object(failure, ["ok", "error"], "The device returned no usable result."),
            "envelope": _envelope(),
            "outcome": _outcome(),
            "error": _error(),
            "warning": _warning(),
        },
    }


def _skill() -> Any:
    from clawperator.engine.contracts import skill

    return skill


def _settings() -> Any:
    from clawperator.engine.config.settings_file import SettingsFile

    return SettingsFile


def _policy() -> Any:
    from clawperator.engine.config.policy_file import PolicyFile

    return PolicyFile


SCHEMAS: dict[str, Callable[[], Schema]] = {
    "execution": _of(execution_type),
    "action": _of(action_type),
    "matcher": _of(lambda: NodeMatcher),
    "coordinate": _of(lambda: Coordinate),
    "retry": _of(lambda: RetryParams),
    "envelope": _envelope,
    "outcome": _outcome,
    "result": _result,
    "error": _error,
    "warning": _warning,
    "skill": _of(lambda: _skill().Skill),
    "skills-registry": _of(lambda: _skill().SkillRegistry),
    "settings": _of(_settings),
    "policy": _of(_policy),
    **{name: _of(partial(step_model, name)) for name in ACTIONS},
}
"""Every schema by name; the names of action types are among them."""
