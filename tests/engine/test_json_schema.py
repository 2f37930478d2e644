"""The exported JSON Schemas: complete, and of one mind with validation."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter, ValidationError

from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.contracts.aliases import canonical
from clawperator.engine.contracts.envelope import parse_envelope
from clawperator.engine.contracts.payload import action_type, execution_type, step_model
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.outcome import outcome_of
from clawperator.engine.executions.validate import validate
from clawperator.engine.json_schema import DIALECT, SCHEMAS, json_schema
from tests.support import table

NODE = {"resourceId": "a:id/b"}


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(json_schema(name))


def judge(name: str, value: Any) -> list[str]:
    """What an ordinary validator says about ``value``."""
    return [error.message for error in validator(name).iter_errors(value)]


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


@table("name", SCHEMAS)
def test_every_schema_is_complete_json(name: str) -> None:
    schema = json_schema(name)
    assert schema["$schema"] == DIALECT == "https://json-schema.org/draft/2020-12/schema"
    assert schema["description"]
    text = json.dumps(schema, allow_nan=False)
    references = set(re.findall(r'"#/\$defs/([A-Za-z_]+)"', text))
    assert references == set(schema.get("$defs", {}))


@table("name", SCHEMAS)
def test_every_default_satisfies_its_own_schema(name: str) -> None:
    def defaults(value: Any) -> Iterator[dict[str, Any]]:
        if isinstance(value, dict):
            if "default" in value and "type" in value:
                yield value
            value = list(value.values())
        if isinstance(value, list):
            for inner in value:
                yield from defaults(inner)

    schema = json_schema(name)
    for field in defaults(schema):
        Draft202012Validator({**field, "$defs": schema.get("$defs", {})}).validate(field["default"])


@table("name", ACTIONS)
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
    {"type": "click", "params": {"coordinate": {"x": 0, "y": 1}, "clickType": "long_click"}},
    {"type": "click", "params": {"matcher": {"role": "", "textEquals": "x"}}},
    {"type": "long_press", "params": {"matcher": NODE, "clickType": "long_click"}},
    {"type": "long_press", "params": {"matcher": NODE}},
    {"type": "scroll_until", "params": {"clickAfter": True, "matcher": NODE}},
    {"type": "read_text", "params": {"matcher": NODE, "validator": "version", "validatorPattern": ""}},
    {"type": "scroll_and_click", "params": {"target": NODE, "matcher": NODE}},
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


@table("action", SOUND)
def test_the_models_make_one_union_distinguished_by_type(action: dict[str, Any]) -> None:
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
    plan({"type": "snapshot_ui", "params": {"format": "xml"}}),
    plan({"type": "snapshot_ui", "params": None}),
    plan({"type": "click", "params": {"matcher": NODE, "coordinate": {"x": 1, "y": 1}}}),
    plan({"type": "click", "params": {"coordinate": {"x": 1, "y": 1}, "clickType": "focus"}}),
    plan({"type": "long_press", "params": {"matcher": NODE, "clickType": "default"}}),
    plan({"type": "read_text", "params": {"matcher": NODE, "validator": "regex"}}),
    plan({"type": "read_text", "params": {"matcher": NODE, "validator": "regex", "validatorPattern": " "}}),
    plan({"type": "scroll_until", "params": {"clickAfter": True}}),
    plan({"type": "wait_for_navigation", "params": {"timeoutMs": 5, "retry": {}}}),
    plan({"type": "click", "params": {"matcher": {"role": "", "textEquals": ""}}}),
    plan(
        {"type": "sleep", "params": {"durationMs": 1}, "id": "a"},
        {"type": "sleep", "params": {"durationMs": 1}, "id": "a"},
    ),
]


@table("payload", UNSOUND)
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
        "outcome": outcome_of([("s", "click")], (), parse_envelope(text).to_dict()).to_dict(),
    }
    assert judge("result", answer) == []
    assert judge("result", {"ok": False, "error": EngineError(ErrorCode.NO_DEVICES, "m").to_dict()}) == []
