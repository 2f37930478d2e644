"""The exported JSON Schemas: complete, and of one mind with validation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.contracts.aliases import canonical
from clawperator.engine.contracts.envelope import parse_envelope
from clawperator.engine.contracts.payload import action_type, execution_type, step_model
from clawperator.engine.contracts.schema import DIALECT, SCHEMAS, json_schema
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.validate import validate

NODE = {"resourceId": "a:id/b"}
_TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "number": (int, float),
    "integer": int,
    "null": type(None),
}


def violations(schema: Any, value: Any, root: Any, at: str = "") -> Iterator[str]:
    """A judge for the keywords that the schemas use, written apart from what it judges."""
    if "$ref" in schema:
        yield from violations(root["$defs"][schema["$ref"].removeprefix("#/$defs/")], value, root, at)
    if "type" in schema and not any(_is(value, name) for name in _list(schema["type"])):
        yield f"{at}: not {schema['type']}"
        return
    if "const" in schema and value != schema["const"]:
        yield f"{at}: not {schema['const']}"
    if "enum" in schema and value not in schema["enum"]:
        yield f"{at}: not one of {schema['enum']}"
    if "oneOf" in schema and sum(not any(violations(option, value, root)) for option in schema["oneOf"]) != 1:
        yield f"{at}: not exactly one"
    if "anyOf" in schema and all(any(violations(option, value, root)) for option in schema["anyOf"]):
        yield f"{at}: not any"
    if isinstance(value, str):
        yield from _text(schema, value, at)
    elif isinstance(value, dict):
        yield from _object(schema, value, root, at)
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{at}: length {len(value)}"
        for index, item in enumerate(value):
            yield from violations(schema.get("items", {}), item, root, f"{at}.{index}")
    elif isinstance(value, int | float) and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"{at}: out of range"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _is(value: object, name: str) -> bool:
    if name in ("number", "integer") and isinstance(value, bool):
        return False
    return isinstance(value, _TYPES[name])  # type: ignore[arg-type]  # a table of types and tuples of types


def _text(schema: Any, value: str, at: str) -> Iterator[str]:
    if not schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)):
        yield f"{at}: length"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{at}: pattern"


def _object(schema: Any, value: dict[str, Any], root: Any, at: str) -> Iterator[str]:
    properties = schema.get("properties", {})
    for key in schema.get("required", ()):
        if key not in value:
            yield f"{at}: {key} missing"
    for key, item in value.items():
        if key in properties:
            yield from violations(properties[key], item, root, f"{at}.{key}")
        elif schema.get("additionalProperties") is False:
            yield f"{at}: {key} unknown"
        elif isinstance(schema.get("additionalProperties"), dict):
            yield from violations(schema["additionalProperties"], item, root, f"{at}.{key}")


def judge(name: str, value: Any) -> list[str]:
    schema = json_schema(name)
    return list(violations(schema, value, schema))


def plan(*actions: Any, **root: Any) -> dict[str, Any]:
    return {
        "commandId": "c",
        "taskId": "t",
        "source": "s",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 15000,
        "actions": [{"id": f"{n}", **action} for n, action in enumerate(actions)],
    } | root


def refuses(payload: object) -> bool:
    try:
        validate(payload)
    except EngineError:
        return True
    return False


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_complete_json(name: str) -> None:
    schema = json_schema(name)
    assert schema["$schema"] == DIALECT == "https://json-schema.org/draft/2020-12/schema"
    assert schema["description"]
    text = json.dumps(schema, allow_nan=False)
    references = set(re.findall(r'"#/\$defs/([A-Za-z_]+)"', text))
    assert references == set(schema.get("$defs", {}))


@pytest.mark.parametrize("name", ACTIONS)
def test_every_param_is_described(name: str) -> None:
    schema = json_schema(name)
    params = schema["properties"]["params"]["properties"]
    assert set(params) == set(ACTIONS[name].model_fields)
    assert all(param["description"].endswith(".") for param in params.values())


def test_an_unknown_name_is_a_usage_error_with_the_names() -> None:
    with pytest.raises(EngineError) as caught:
        json_schema("executon")
    assert caught.value.code is ErrorCode.USAGE
    assert caught.value.hint == "Did you mean 'execution'?"
    assert "matcher" in caught.value.details["schemas"]


SOUND = [
    {"type": "open_app", "params": {"applicationId": "a.b", "retry": {"maxAttempts": 3}}},
    {"type": "open_url", "params": {"uri": "x:y"}},
    {"type": "close_app", "params": {"applicationId": "a.b"}},
    {"type": "find", "params": {"matcher": NODE, "timeoutMs": 1}},
    {"type": "tap", "params": {"matcher": NODE, "clickType": "long_click"}},
    {"type": "click", "params": {"coordinate": {"x": 0, "y": 1}}},
    {"type": "read_text", "params": {"matcher": NODE, "validator": "regex", "validatorPattern": "x", "all": False}},
    {"type": "enter_text", "params": {"matcher": NODE, "text": "x", "submit": True}},
    {"type": "snapshot_ui"},
    {"type": "screenshot", "params": {"path": "a.png"}},
    {"type": "sleep", "params": {"durationMs": 0}},
    {"type": "press_key", "params": {"key": "back"}},
    {"type": "scroll", "params": {"direction": "up", "distanceRatio": 0.5, "container": NODE}},
    {"type": "scroll_until", "params": {"maxScrolls": 200, "noPositionChangeThreshold": 1}},
    {"type": "scroll_and_click", "params": {"target": NODE, "scrollRetry": {}, "clickAfter": False}},
    {"type": "wait_for_navigation", "params": {"expectedNode": NODE, "timeoutMs": 30000}},
    {"type": "read_key_value_pair", "params": {"labelMatcher": NODE}},
    {"type": "start_recording", "params": {"sessionId": "a-b"}},
    {"type": "stop_recording"},
]


@pytest.mark.parametrize("action", SOUND)
def test_what_is_valid_satisfies_the_schema_before_and_after(action: dict[str, Any]) -> None:
    payload = plan(action)
    assert judge("execution", payload) == []
    assert judge("execution", validate(payload).payload) == []
    assert judge("action", payload["actions"][0]) == []


@pytest.mark.parametrize("action", SOUND)
def test_the_models_make_one_union_told_apart_by_type(action: dict[str, Any]) -> None:
    model = TypeAdapter(action_type()).validate_python({"id": "a", **action})
    assert isinstance(model, step_model(canonical(action["type"])))
    assert execution_type().model_validate(plan(action)).actions[0].type == action["type"]


UNSOUND = [
    plan(),
    plan({"type": "snapshot_ui"}, timeoutMs=999),
    plan({"type": "snapshot_ui"}, mode="x"),
    plan({"type": "snapshot_ui"}, extra=1),
    plan({"type": "snapshot_ui"}, commandId=" "),
    plan({"type": "doctor_ping"}),
    plan({"type": "open_app"}),
    plan({"type": "open_app", "params": {"applicationId": "a b"}}),
    plan({"type": "open_uri", "params": {"uri": " "}}),
    plan({"type": "click", "params": {}}),
    plan({"type": "click", "params": {"matcher": {}}}),
    plan({"type": "click", "params": {"matcher": {"role": ""}}}),
    plan({"type": "click", "params": {"matcher": {"role": "x" * 513}}}),
    plan({"type": "click", "params": {"matcher": {"text": "x"}}}),
    plan({"type": "click", "params": {"coordinate": {"x": 1}}}),
    plan({"type": "click", "params": {"matcher": NODE, "clickType": "double"}}),
    plan({"type": "click", "params": {"matcher": NODE, "retry": {"maxAttempts": 0}}}),
    plan({"type": "enter_text", "params": {"matcher": NODE, "text": " "}}),
    plan({"type": "sleep", "params": {"durationMs": 120001}}),
    plan({"type": "sleep", "params": {"durationMs": 1.5}}),
    plan({"type": "scroll", "params": {"distanceRatio": 1.5}}),
    plan({"type": "scroll_and_click", "params": {"maxSwipes": 3}}),
    plan({"type": "wait_for_navigation", "params": {"timeoutMs": 5}}),
    plan({"type": "start_recording", "params": {"sessionId": "a b"}}),
    plan({"type": "snapshot_ui", "params": {"format": "ascii"}}),
    plan({"type": "snapshot_ui", "params": None}),
]


@pytest.mark.parametrize("payload", UNSOUND)
def test_the_whole_model_refuses_too(payload: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        execution_type().model_validate(payload)


@pytest.mark.parametrize("payload", UNSOUND)
def test_what_the_schema_refuses_validation_refuses_too(payload: dict[str, Any]) -> None:
    assert judge("execution", payload)
    assert refuses(payload)


def test_envelopes_and_errors_satisfy_their_schemas() -> None:
    text = (
        '{"commandId":"c","taskId":"t","status":"failed","stepResults":'
        '[{"id":"s","actionType":"click","success":false}],"error":"x"}'
    )
    assert judge("envelope", parse_envelope(text).to_dict()) == []
    for code in ErrorCode:
        assert judge("error", EngineError(code, "m", details={"path": ""}, extra={"deviceId": "d"}).to_dict()) == []
    assert judge("error", {"code": "SOMETHING_ELSE", "message": "m", "retryable": False})
    answer = {
        "ok": True,
        "envelope": parse_envelope(text).to_dict(),
        "deviceId": "d",
        "terminalSource": "clawperator_result",
    }
    assert judge("result", answer) == []
    assert judge("result", {"ok": False, "error": EngineError(ErrorCode.NO_DEVICES, "m").to_dict()}) == []
