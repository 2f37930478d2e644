"""The front matter and the step blocks: every key and value that is wrong is named, with the line on which it stands."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.skills.recipe.support import (
    CLICK,
    CLOSE,
    CONFIRM,
    HEAD,
    OPEN,
    READ,
    TYPE,
    actions,
    compiled,
    line_of,
    recipe,
    refusal,
)
from tests.support import table

AN_INPUT = {"name": "query", "type": "string"}
AN_OUTPUT = {"name": "read", "type": "string"}


@table("key", list(HEAD))
def test_every_required_key(key: str) -> None:
    error = refusal(recipe(**{key: ...}), "RECIPE_SCHEMA_INVALID")
    assert (error.details["path"], error.details["expected"]) == (key, "a value")
    assert f"{key}: is missing" in error.message


@table(
    ("head", "path"),
    [
        ({"recipe_id": "has space"}, "recipe_id"),
        ({"recipe_id": ""}, "recipe_id"),
        ({"recipe_id": "x\n"}, "recipe_id"),
        ({"recipe_version": "1.0"}, "recipe_version"),
        ({"recipe_version": "01.0.0"}, "recipe_version"),
        ({"recipe_version": "1.0.0-01"}, "recipe_version"),
        ({"recipe_version": 1.0}, "recipe_version"),
        ({"recipe_type": "flows"}, "recipe_type"),
        ({"application_id": "1.2"}, "application_id"),
        ({"application_id": "-x"}, "application_id"),
        ({"application_id": "${inputs.app}"}, "application_id"),
        ({"summary": ""}, "summary"),
        ({"summary": "x" * 201}, "summary"),
        ({"frameworks": []}, "frameworks"),
        ({"frameworks": ["views", "views"]}, "frameworks"),
        ({"frameworks": ["views", "qt"]}, "frameworks.1"),
        ({"frameworks": "views"}, "frameworks"),
        ({"session_policy": "stale"}, "session_policy"),
        ({"session_policy": None}, "session_policy"),
        ({"app_build": {"version_name": "1"}}, "app_build.version_code"),
        ({"app_build": {"version_name": 2.4, "version_code": 1}}, "app_build.version_name"),
        ({"app_build": {"version_name": "1", "version_code": "1"}}, "app_build.version_code"),
        ({"app_build": {"version_name": "1", "version_code": True}}, "app_build.version_code"),
        ({"app_build": {"version_name": "1", "version_code": 1, "code": 2}}, "app_build.code"),
        ({"tested_on": {}}, "tested_on.android_api"),
        ({"tested_on": {"android_api": 34, "last_verified_at": "yesterday"}}, "tested_on.last_verified_at"),
        ({"compatibility": {"min_version_code": "1"}}, "compatibility.min_version_code"),
        ({"capabilities": ["observe", "fly"]}, "capabilities.1"),
        ({"risk_level": "none"}, "risk_level"),
        ({"tags": "x"}, "tags"),
        ({"timeout_ms": 999}, "timeout_ms"),
        ({"timeout_ms": 120_001}, "timeout_ms"),
        ({"timeout_ms": 1500.5}, "timeout_ms"),
        ({"session_policy": "fresh", "settle": {"after_close_ms": -1}}, "settle.after_close_ms"),
        ({"session_policy": "fresh", "settle": {"after_open_ms": 120_001}}, "settle.after_open_ms"),
        ({"fresh_start_injected": True}, "fresh_start_injected"),
        ({"fresh_start_injected": "on", "session_policy": "fresh"}, "fresh_start_injected"),
        ({"unknown": 1}, "unknown"),
        ({"Recipe_id": 1}, "Recipe_id"),
        ({"inputs": {}}, "inputs"),
        ({"inputs": [{"name": "Query", "type": "string"}]}, "inputs.0.name"),
        ({"inputs": [{"name": "query"}]}, "inputs.0.type"),
        ({"inputs": [{**AN_INPUT, "type": "text"}]}, "inputs.0.type"),
        ({"inputs": [{**AN_INPUT, "required": "yes"}]}, "inputs.0.required"),
        ({"inputs": [{**AN_INPUT, "requierd": True}]}, "inputs.0.requierd"),
        ({"inputs": [AN_INPUT, AN_INPUT]}, "inputs.1.name"),
        ({"inputs": [{**AN_INPUT, "values": ["a"]}]}, "inputs.0.values"),
        ({"inputs": [{"name": "kind", "type": "enum"}]}, "inputs.0.values"),
        ({"inputs": [{"name": "kind", "type": "enum", "values": []}]}, "inputs.0.values"),
        ({"inputs": [{"name": "kind", "type": "enum", "values": ["a", "a"]}]}, "inputs.0.values"),
        ({"inputs": [{"name": "kind", "type": "enum", "values": ["a"], "default": "b"}]}, "inputs.0.default"),
        ({"inputs": [{"name": "n", "type": "integer", "default": "1"}]}, "inputs.0.default"),
        ({"inputs": [{"name": "n", "type": "integer", "default": 1.5}]}, "inputs.0.default"),
        ({"inputs": [{"name": "n", "type": "number", "default": True}]}, "inputs.0.default"),
        ({"inputs": [{"name": "n", "type": "boolean", "default": 1}]}, "inputs.0.default"),
        ({"inputs": [{"name": "n", "type": "string", "default": 1}]}, "inputs.0.default"),
        ({"outputs": [AN_OUTPUT, AN_OUTPUT]}, "outputs.1.name"),
        ({"outputs": [{**AN_OUTPUT, "redaction": "blur"}]}, "outputs.0.redaction"),
        ({"outputs": [{**AN_OUTPUT, "from_": {}}]}, "outputs.0.from_"),
        ({"outputs": [{**AN_OUTPUT, "from": {"step": "nowhere"}}]}, "outputs.0.from.step"),
        ({"outputs": [{**AN_OUTPUT, "from": {"stepp": "read"}}]}, "outputs.0.from.stepp"),
        ({"outputs": [{**AN_OUTPUT, "from": {"pattern": "x"}}]}, "outputs.0.from.pattern"),
        ({"outputs": [{**AN_OUTPUT, "from": {"pattern": "(x"}}]}, "outputs.0.from.pattern"),
        ({"outputs": [{**AN_OUTPUT, "from": {"pattern": "((a+)+)"}}]}, "outputs.0.from.pattern"),
        ({"outputs": [{**AN_OUTPUT, "from": {"pattern": "(a)" + "b" * 600}}]}, "outputs.0.from.pattern"),
    ],
)
def test_wrong_front_matter(head: dict[str, Any], path: str) -> None:
    text = recipe(**head)
    error = refusal(text, "RECIPE_SCHEMA_INVALID")
    assert error.details["path"] == path
    assert error.details["expected"]
    assert error.details["line"] == line_of(text, f"\n{path.split('.', maxsplit=1)[0]}:") + 1
    assert "stepId" not in error.details


def test_text_that_yaml_does_not_take_for_text_is_reported_to_be_quoted() -> None:
    assert "Quote" in (refusal(recipe(recipe_version=1.0), "RECIPE_SCHEMA_INVALID").hint)
    assert "Did you mean 'recipe_id'" in refusal(recipe(recipeid="x"), "RECIPE_SCHEMA_INVALID").hint


def test_everything_wrong_is_listed_in_the_order_of_the_file() -> None:
    error = refusal(recipe(recipe_type="x", summary="", nonsense=1, tested_on=...), "RECIPE_SCHEMA_INVALID")
    listed = [issue["path"] for issue in error.details["issues"]]
    assert set(listed) == {"recipe_type", "summary", "nonsense", "tested_on"}
    lines = [issue["line"] for issue in error.details["issues"]]
    assert lines == sorted(lines)


def test_what_is_right() -> None:
    text = recipe(
        recipe_version="1.0.0-rc.1+build.5",
        app_build={"version_name": "1", "version_code": 1, "x-by": "us"},
        compatibility={"min_version_code": 1, "max_version_code": 9},
        tested_on={
            "android_api": 34,
            "device_model": "P",
            "locale": "en-GB",
            "last_verified_at": "2026-03-01T10:00:00Z",
        },
        known_quirks=["slow"],
        failure_modes=[{"a": 1}],
        maintainers=["@us"],
        tags=["x"],
        risk_level="low",
        timeout_ms=5000,
        inputs=[
            {"name": "n", "type": "integer", "default": 3, "required": True},
            {"name": "e", "type": "enum", "values": ["on", "off"], "default": "on"},
            {"name": "s", "type": "string", "default": ""},
            {"name": "b", "type": "boolean", "default": None},
        ],
        **{"x-anything": {"at": ["all"]}},
    )
    assert compiled(text).execution["timeoutMs"] == 5000


# -- steps


@table(
    ("step", "path"),
    [
        ({**READ, "id": ...}, "id"),
        ({**READ, "id": "a b"}, "id"),
        ({**READ, "id": "a" * 101}, "id"),
        ({**READ, "id": "__read"}, "id"),
        ({**READ, "id": 5}, "id"),
        ({**READ, "type": ...}, "type"),
        ({**READ, "type": 5}, "type"),
        ({**READ, "selector": ...}, "selector"),
        ({**READ, "selector": "x"}, "selector"),
        ({**READ, "selector": None}, "selector"),
        ({**OPEN, "selector": {"text_equals": "x"}}, "selector"),
        ({**READ, "container": {"text_equals": "x"}}, "container"),
        ({**READ, "unknown": 1}, "unknown"),
        ({**READ, "x-note": 1}, "x-note"),
        ({**READ, "params": []}, "params"),
        ({**READ, "wait": {"before": 1}}, "wait.before"),
        ({**READ, "wait": {"before_ms": -1}}, "wait.before_ms"),
        ({**READ, "wait": {"after_ms": 120_001}}, "wait.after_ms"),
        ({**READ, "wait": {"after_ms": 1.5}}, "wait.after_ms"),
        ({**READ, "retries": {}}, "retries.count"),
        ({**READ, "retries": {"count": 10}}, "retries.count"),
        ({**READ, "retries": {"count": -1}}, "retries.count"),
        ({**READ, "retries": 3}, "retries"),
        ({"id": "s", "type": "sleep", "params": {"durationMs": 1}, "retries": {"count": 1}}, "retries"),
        ({**READ, "confirm": {}}, "confirm.selector"),
        ({**READ, "confirm": {**CONFIRM, "type": "click"}}, "confirm.type"),
        ({**READ, "confirm": {**CONFIRM, "expect": {"equals": "x"}}}, "confirm.expect"),
        ({**READ, "confirm": {**CONFIRM, "type": "read_text", "expect": {}}}, "confirm.expect"),
        ({**READ, "confirm": {**CONFIRM, "type": "read_text", "expect": {"is": "x"}}}, "confirm.expect.is"),
        ({**READ, "confirm": {**CONFIRM, "type": "read_text", "expect": {"equals": ""}}}, "confirm.expect.equals"),
        (
            {**READ, "confirm": {**CONFIRM, "type": "read_text", "expect": {"equals": "a", "contains": "b"}}},
            "confirm.expect",
        ),
        ({**READ, "confirm": {**CONFIRM, "type": "read_text", "expect": {"matches": "(a"}}}, "confirm.expect.matches"),
        (
            {**READ, "confirm": {**CONFIRM, "type": "read_text", "expect": {"matches": "(a+)+b"}}},
            "confirm.expect.matches",
        ),
        ({**READ, "effect": "delete"}, "effect"),
        ({**READ, "selector_mode": "loose"}, "selector_mode"),
        ({**READ, "optional": "true"}, "optional"),
        ({**CLICK, "params": {"matcher": {}}}, "params.matcher"),
        ({**CLICK, "params": {"coordinate": {"x": 1, "y": 2}}}, "params.coordinate"),
        ({**CLICK, "params": {"retry": {}}}, "params.retry"),
        ({**CLICK, "type": "scroll_and_click", "params": {"target": {}}}, "params.target"),
        ({**CLICK, "type": "scroll_and_click", "params": {"container": {}}}, "params.container"),
        ({**CLICK, "type": "scroll_and_click", "params": {"scrollRetry": {}}}, "params.scrollRetry"),
        ({**CLICK, "type": "scroll_and_click", "params": {"clickRetry": {}}}, "params.clickRetry"),
        # what the runtime says about parameters
        ({**CLICK, "params": {"clickTyp": "focus"}}, "params.clickTyp"),
        ({**CLICK, "params": {"clickType": "twice"}}, "params.clickType"),
        ({**CLICK, "params": {"clickType": "${inputs.kind}"}}, "params.clickType"),
        ({**CLICK, "type": "scroll_and_click", "params": {"direction": "sideways"}}, "params.direction"),
        ({**CLICK, "type": "scroll_and_click", "params": {"maxSwipes": 51}}, "params.maxSwipes"),
        ({"id": "s", "type": "sleep", "params": {"durationMs": 120_001}}, "params.durationMs"),
        ({"id": "s", "type": "sleep", "params": {"durationMs": "5"}}, "params.durationMs"),
        ({"id": "s", "type": "sleep"}, "params.durationMs"),
        ({**TYPE, "params": {"text": ""}}, "params.text"),
        ({**TYPE, "params": {}}, "params.text"),
        ({**TYPE, "params": {"text": ["${inputs.a}", "${foo}"]}}, "params.text.1"),
        ({**OPEN, "params": {"applicationId": "not an app"}}, "params.applicationId"),
        ({"id": "snap", "type": "snapshot_ui", "params": {"format": "xml"}}, "params.format"),
    ],
)
def test_wrong_steps(step: dict[str, Any], path: str) -> None:
    text = recipe({**READ, "id": "first"}, step)
    error = refusal(text, "RECIPE_SCHEMA_INVALID")
    assert error.details["path"] == path
    begin = line_of(text, "## Step 2") + 3
    keys = [key for key, value in step.items() if value is not ...]
    key = path.split(".", maxsplit=1)[0]
    assert error.details["line"] == begin + (keys.index(key) if key in keys else 0)
    if isinstance(step["id"], str):
        assert error.details["stepId"] == step["id"][:100]


@table("kind", ["tap", "Click", "press_key", "open_uri", "scroll", "take_screenshot", "doctor_ping", ""])
def test_types_of_steps(kind: str) -> None:
    text = recipe({**READ, "type": kind, "nonsense": 1})
    error = refusal(text, "RECIPE_STEP_UNSUPPORTED")
    assert error.details["type"] == kind
    assert "scroll_and_click" in error.details["supportedTypes"]
    assert (error.details["stepId"], error.details["line"]) == ("read", line_of(text, "\ntype: ") + 1)


def test_typing_needs_its_capability() -> None:
    error = refusal(recipe({**TYPE, "confirm": CONFIRM}, capabilities=["observe"]), "RECIPE_CAPABILITY_UNDECLARED")
    assert error.details["capability"] == "type_text"


@pytest.mark.parametrize(
    ("steps", "line"),
    [
        (({**READ, "id": "a"}, {**READ, "id": "a"}), 2),
        (({**READ, "id": "a__confirm"}, {**READ, "id": "a", "confirm": CONFIRM}), 2),
        (({**READ, "id": "a", "wait": {"after_ms": 1}}, {**READ, "id": "a__wait_after"}), 2),
    ],
)
def test_ids_are_unique_among_all_actions(steps: tuple[dict[str, Any], ...], line: int) -> None:
    text = recipe(*steps)
    error = refusal(text, "RECIPE_SCHEMA_INVALID")
    assert error.details["path"] == "id"
    assert error.details["line"] == line_of(text, f"## Step {line}") + 3


def test_what_steps_compile_to() -> None:
    steps = (
        CLOSE,
        {**OPEN, "params": {"applicationId": "com.example.other"}, "retries": {"count": 0}},
        {**CLICK, "type": "scroll_and_click", "retries": {"count": 2}, "params": {"direction": "UP", "maxSwipes": 3}},
        {**READ, "id": "seen"},
        {**TYPE, "params": {"text": "shoes", "submit": True}, "wait": {"before_ms": 10, "after_ms": 0}},
        {"id": "nap", "type": "sleep", "params": {"durationMs": 70}},
        {"id": "snap", "type": "snapshot_ui", "retries": {"count": 9}},
        {**READ, "params": {"validator": "regex", "validatorPattern": "[0-9]+"}, "retries": {"count": 1}},
    )
    retry = {"initialDelayMs": 500, "maxDelayMs": 3000, "backoffMultiplier": 2.0, "jitterRatio": 0.0}
    assert actions(recipe(*steps)) == [
        {"id": "close", "type": "close_app", "params": {"applicationId": "com.example.app"}},
        {
            "id": "open",
            "type": "open_app",
            "params": {"applicationId": "com.example.other", "retry": {"maxAttempts": 1, **retry}},
        },
        {
            "id": "press",
            "type": "scroll_and_click",
            "params": {
                "target": {"textEquals": "Go"},
                "direction": "up",
                "maxSwipes": 3,
                "scrollRetry": {"maxAttempts": 3, **retry},
                "clickRetry": {"maxAttempts": 3, **retry},
            },
        },
        {"id": "seen", "type": "read_text", "params": {"matcher": {"resourceId": "com.example.app:id/line"}}},
        {"id": "type__wait_before", "type": "sleep", "params": {"durationMs": 10}},
        {
            "id": "type",
            "type": "enter_text",
            "params": {"matcher": {"role": "textfield"}, "text": "shoes", "submit": True},
        },
        {"id": "nap", "type": "sleep", "params": {"durationMs": 70}},
        {"id": "snap", "type": "snapshot_ui", "params": {"retry": {"maxAttempts": 10, **retry}}},
        {
            "id": "read",
            "type": "read_text",
            "params": {
                "matcher": {"resourceId": "com.example.app:id/line"},
                "validator": "regex",
                "validatorPattern": "[0-9]+",
                "retry": {"maxAttempts": 2, **retry},
            },
        },
    ]
