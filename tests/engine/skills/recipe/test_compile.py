"""From a recipe to executions: sessions, pauses, limits, ids, optional steps, policy; and always the same bytes."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.config.policy import DEFAULT, Rules
from clawperator.engine.errors import EngineError
from clawperator.engine.executions.validate import validate
from clawperator.engine.skills.compiled import Confirm, Output
from clawperator.engine.skills.recipe.compile import compile_recipe
from tests.engine.skills.recipe.support import (
    APP,
    CLICK,
    CLOSE,
    CONFIRM,
    OPEN,
    READ,
    TYPE,
    actions,
    attempt,
    compiled,
    line_of,
    recipe,
    refusal,
)
from tests.support import table

LAMP = """\
---
recipe_id: com.example.app.lamp-on
recipe_version: 1.0.0
recipe_type: action
application_id: com.example.app
summary: Switch one lamp on and confirm it.
frameworks: [views]
session_policy: fresh
app_build: {version_name: "2.4", version_code: 240}
tested_on: {android_api: 34}
capabilities: [observe, navigate, click, toggle]
inputs:
  - {name: lamp_label, type: string, required: true, default: ""}
outputs:
  - {name: state, type: string, redaction: none, from: {step: press__confirm, key: text}}
---
## Step 1: wait for the list
```yaml
id: list
type: wait_for_node
selector: {resource_id: "com.example.app:id/lamps", annotation: STRUCTURAL}
```
## Step 2: switch it
```yaml
id: press
type: click
effect: toggle
selector: {text_equals: "${inputs.lamp_label}", annotation: USER_SPECIFIC}
confirm: {type: read_text, selector: {resource_id: "com.example.app:id/state"}, expect: {contains: "On"}}
wait: {after_ms: 500}
```
"""
FRESH = {"session_policy": "fresh"}
SLEEP = {"id": "nap", "type": "sleep", "params": {"durationMs": 1000}}


def ids(text: str) -> list[str]:
    return [action["id"] for action in actions(text)]


def test_the_contracts_own_example() -> None:
    answer = compile_recipe(LAMP, {"lamp_label": "Kitchen"}, file="lamp.recipe.md", profile=DEFAULT)
    identity = '{"recipeId":"com.example.app.lamp-on","recipeVersion":"1.0.0","inputs":{"lamp_label":"Kitchen"}}'
    digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
    assert answer.to_dict() == {
        "execution": {
            "commandId": f"cmd-{digest}",
            "taskId": f"task-{digest}",
            "source": "com.example.app.lamp-on",
            "expectedFormat": "android-ui-automator",
            "timeoutMs": 10_000 + 500 + 5 * 8_000,
            "actions": [
                {"id": "__fresh_close", "type": "close_app", "params": {"applicationId": "com.example.app"}},
                {"id": "__fresh_open", "type": "open_app", "params": {"applicationId": "com.example.app"}},
                {
                    "id": "list",
                    "type": "wait_for_node",
                    "params": {"matcher": {"resourceId": "com.example.app:id/lamps"}},
                },
                {"id": "press", "type": "click", "params": {"matcher": {"textEquals": "Kitchen"}}},
                {
                    "id": "press__confirm",
                    "type": "read_text",
                    "params": {"matcher": {"resourceId": "com.example.app:id/state"}},
                },
                {"id": "press__wait_after", "type": "sleep", "params": {"durationMs": 500}},
            ],
            "mode": "artifact_compiled",
        },
        "recipe": {"id": "com.example.app.lamp-on", "version": "1.0.0", "type": "action"},
        "capabilities": ["observe", "navigate", "click", "toggle"],
        "outputs": [
            {"name": "state", "type": "string", "redaction": "none", "from": {"step": "press__confirm", "key": "text"}}
        ],
        "confirms": [
            {"stepId": "press", "actionId": "press__confirm", "type": "read_text", "expect": {"contains": "On"}}
        ],
        "warnings": [],
    }
    assert answer.confirms == (Confirm("press", "press__confirm", "read_text", {"contains": "On"}),)
    assert answer.optional == ()


# -- sessions


def test_a_fresh_session_with_pauses() -> None:
    text = recipe(**FRESH, settle={"after_close_ms": 1500, "after_open_ms": 8000})
    assert ids(text) == ["__fresh_close", "__settle_close", "__fresh_open", "__settle_open", "read"]
    assert [action["params"].get("durationMs") for action in actions(text)][1:4:2] == [1500, 8000]
    assert ids(recipe(**FRESH, settle={"after_close_ms": 0})) == ["__fresh_close", "__fresh_open", "read"]
    assert ids(recipe(session_policy="resume_ok", settle={"after_open_ms": 5})) == ["read"]


OWN = {**FRESH, "fresh_start_injected": False}
SAME = {"params": {"applicationId": APP}}


@pytest.mark.parametrize(
    "steps",
    [
        (CLOSE, OPEN, READ),
        (SLEEP, CLOSE, {**SLEEP, "id": "b"}, OPEN),
        ({**CLOSE, **SAME}, {**OPEN, **SAME, "wait": {"before_ms": 5}}),
    ],
)
def test_a_recipe_that_begins_by_itself(steps: tuple[dict[str, Any], ...]) -> None:
    assert not [name for name in ids(recipe(*steps, **OWN)) if name.startswith("__")]


@table(
    ("steps", "step_id"),
    [
        ((READ,), "read"),
        ((CLOSE,), None),
        ((SLEEP,), None),
        ((OPEN, CLOSE), "open"),
        ((CLOSE, READ, OPEN), "read"),
        ((CLOSE, {**OPEN, "params": {"applicationId": "com.example.other"}}), "open"),
        (({**CLOSE, "params": {"applicationId": "com.example.other"}}, OPEN), "close"),
        ((CLOSE, {**OPEN, "optional": True}), "open"),
    ],
)
def test_a_fresh_session_without_its_first_steps(steps: tuple[dict[str, Any], ...], step_id: str | None) -> None:
    error = refusal(recipe(*steps, **OWN), "RECIPE_SESSION_POLICY_VIOLATED")
    assert error.details.get("stepId") == step_id


# -- times, ids, limits


@pytest.mark.parametrize(
    ("steps", "head", "expected"),
    [
        ((READ,), {}, 18_000),
        ((SLEEP, {**READ, "wait": {"before_ms": 5, "after_ms": 7}, "confirm": CONFIRM}), {}, 10_000 + 1_012 + 16_000),
        (tuple({**READ, "id": f"r{n}"} for n in range(14)), {}, 120_000),
        (({**SLEEP, "params": {"durationMs": 120_000}},), {}, 120_000),
        ((READ,), {"timeout_ms": 1_000}, 1_000),
    ],
)
def test_times(steps: tuple[dict[str, Any], ...], head: dict[str, Any], expected: int) -> None:
    assert compiled(recipe(*steps, **head)).execution["timeoutMs"] == expected


INPUTS = {"inputs": [{"name": "b", "type": "string", "default": "é"}, {"name": "a", "type": "integer"}]}
BOTH = {**READ, "selector": {"text_equals": "${inputs.b} ${inputs.a}"}}


def test_ids_follow_from_recipe_and_inputs() -> None:
    text = recipe(BOTH, **INPUTS)
    identity = '{"recipeId":"com.example.app.read","recipeVersion":"1.0.0","inputs":{"a":"3","b":"é"}}'
    digest = hashlib.sha256(identity.encode()).hexdigest()[:12]
    for variables in ({"a": 3}, {"b": "é", "a": 3.0}, {"a": 3, "b": "", "unused": 1}):
        execution = compiled(text, variables).execution
        assert (execution["commandId"], execution["taskId"]) == (f"cmd-{digest}", f"task-{digest}")
    assert compiled(text, {"a": 4}).execution["commandId"] != f"cmd-{digest}"


def test_ids_may_be_chosen() -> None:
    execution = compiled(recipe(), {"COMMAND_ID": "mine", "TASK_ID": 7}).execution
    assert (execution["commandId"], execution["taskId"]) == ("mine", "7")
    error = refusal(recipe(), "COMPILE_VALIDATION_FAILED", {"COMMAND_ID": "x" * 129})
    assert (error.details["path"], error.details["cause"]) == ("commandId", "EXECUTION_VALIDATION_FAILED")


def test_the_source_is_cut() -> None:
    assert compiled(recipe(recipe_id="x" * 100)).execution["source"] == "x" * 64


def test_fifty_actions_are_enough() -> None:
    steps = [{**READ, "id": f"r{n}"} for n in range(48)]
    assert len(actions(recipe(*steps, **FRESH))) == 50
    text = recipe(*steps, {**READ, "id": "last", "wait": {"after_ms": 1}}, **FRESH)
    error = refusal(text, "RECIPE_LIMIT_EXCEEDED")
    assert (error.details["limit"], error.details["actual"]) == (50, 52)
    assert error.details["stepId"] == "last"
    split = recipe(*({**step, "optional": True, "wait": {"after_ms": 1}} for step in steps[:26]))
    assert refusal(split, "RECIPE_LIMIT_EXCEEDED").details["actual"] == 52, "all executions together"


def test_an_execution_has_a_size() -> None:
    wide = {"text_equals": "é" * 500, "text_contains": "é" * 500, "content_desc_contains": "é" * 500}
    steps = [{**READ, "id": f"r{n}", "selector": wide} for n in range(25)]
    error = refusal(recipe(*steps), "RECIPE_LIMIT_EXCEEDED")
    assert error.details["limit"] == 64_000 < error.details["actual"]


# -- optional steps


def test_optional_steps_have_executions_of_their_own() -> None:
    text = recipe(
        READ,
        {**CLICK, "id": "banner", "optional": True, "wait": {"before_ms": 5, "after_ms": 6}, "confirm": CONFIRM},
        {**CLICK, "id": "tip", "optional": True},
        {**READ, "id": "again"},
        {**READ, "id": "once_more"},
        **FRESH,
    )
    answer = compiled(text)
    assert [[action["id"] for action in execution["actions"]] for execution in answer.executions] == [
        ["__fresh_close", "__fresh_open", "read"],
        ["banner__wait_before", "banner", "banner__confirm", "banner__wait_after"],
        ["tip"],
        ["again", "once_more"],
    ]
    first = answer.execution["commandId"]
    assert [execution["commandId"] for execution in answer.executions] == [
        first,
        f"{first}-p2",
        f"{first}-p3",
        f"{first}-p4",
    ]
    assert len({execution["taskId"] for execution in answer.executions}) == 1
    assert [execution["timeoutMs"] for execution in answer.executions] == [34_000, 26_011, 18_000, 26_000]
    assert answer.optional == ("banner", "tip")
    document = answer.to_dict()
    assert "execution" not in document, "what takes that alone would lose the others without a word"
    assert document["executions"] == list(answer.executions)
    assert document["optional"] == ["banner", "tip"]
    for execution in answer.executions:
        validate(execution)


def test_an_optional_first_step_needs_no_empty_execution() -> None:
    answer = compiled(recipe({**READ, "optional": True}))
    assert [len(execution["actions"]) for execution in answer.executions] == [1]
    assert answer.execution["commandId"].count("-") == 1


def test_warnings_of_a_later_execution_say_where() -> None:
    text = recipe(READ, {**CLICK, "optional": True, "selector": {"text_equals": "100 %"}})
    (warning,) = compiled(text).warnings
    assert (warning["code"], warning["stepId"]) == ("MATCHER_PERCENT", "press")
    assert warning["path"].startswith("executions.1.actions.0.params.matcher")
    assert warning["line"] == line_of(text, 'id: "press"')


# -- outputs


def test_outputs() -> None:
    declared = [
        {"name": "read", "type": "string"},
        {"name": "n", "type": "number", "from": {"step": "read", "key": "value", "pattern": "([0-9]+) °C"}},
        {"name": "b", "type": "boolean", "redaction": "drop", "from": {"step": "read__confirm"}},
        {"name": "e", "type": "enum", "values": ["a"], "redaction": "hash"},
    ]
    answer = compiled(recipe({**READ, "confirm": CONFIRM}, outputs=declared))
    assert answer.outputs == (
        Output("read", "string", "mask", "read", "text", ""),
        Output("n", "number", "none", "read", "value", "([0-9]+) °C"),
        Output("b", "boolean", "drop", "read__confirm", "text", ""),
        Output("e", "enum", "hash", "e", "text", ""),
    )
    assert [(warning["code"], warning["path"]) for warning in answer.warnings] == [("OUTPUT_UNBOUND", "outputs.3")]


# -- policy


def test_a_policy_may_refuse_a_recipe() -> None:
    text = recipe(
        {**CLICK, "effect": "purchase", "confirm": CONFIRM}, capabilities=["click", "observe", "purchase_risk"]
    )
    error = refusal(text, "CAPABILITY_DENIED", profile=DEFAULT)
    assert (error.details["capability"], error.details["line"]) == ("purchase_risk", line_of(text, "capabilities:"))
    text = recipe()
    error = refusal(text, "PACKAGE_DENIED", profile=DEFAULT._replace(packages=Rules(deny=("com.example.*",))))
    assert (error.details["package"], error.details["line"]) == (APP, line_of(text, "application_id:"))


def test_a_policy_may_refuse_what_a_recipe_comes_to() -> None:
    steps = (READ, {**OPEN, "params": {"applicationId": "${inputs.app}"}})
    text = recipe(*steps, inputs=[{"name": "app", "type": "string"}])
    policy = DEFAULT._replace(packages=Rules(deny=("com.example.bank",)))
    assert compiled(text, {"app": "com.example.other"}, profile=policy).recipe
    error = refusal(text, "PACKAGE_DENIED", {"app": "com.example.bank"}, profile=policy)
    assert (error.details["stepId"], error.details["actionId"], error.details["path"]) == (
        "open",
        "open",
        "actions.1.params.applicationId",
    )
    fresh = recipe(**FRESH, capabilities=["observe"])
    error = refusal(fresh, "CAPABILITY_DENIED", profile=DEFAULT._replace(capabilities=Rules(deny=("navigate",))))
    assert error.details["actionId"] == "__fresh_close"


# -- always the same


@given(
    st.permutations(["a", "b", "COMMAND_ID", "x"]), st.permutations(list(range(12))), st.text(min_size=1, max_size=20)
)
def test_the_same_bytes(order: list[str], lines: list[int], word: str) -> None:
    """Neither the order of variables nor that of keys decides, and two compilations never differ."""
    variables = {"a": 3, "b": word, "COMMAND_ID": "c", "x": True}
    head = recipe(BOTH, **INPUTS).split("---\n")
    keys = head[1].splitlines(keepends=True)
    shuffled = "---\n".join(["", "".join(keys[line] for line in lines), *head[2:]])
    reference = attempt(recipe(BOTH, **INPUTS), variables)
    if isinstance(reference, EngineError):
        assert reference.code == "RECIPE_INPUT_INVALID"
        return
    again = compiled(shuffled, {name: variables[name] for name in order})
    assert json.dumps(again.to_dict()) == json.dumps(reference.to_dict())


@given(
    st.dictionaries(
        st.sampled_from(
            [
                "id",
                "type",
                "selector",
                "params",
                "wait",
                "retries",
                "confirm",
                "effect",
                "optional",
                "container",
                "selector_mode",
            ]
        ),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers(-3, 10)
            | st.sampled_from(["read", "click", "sleep", "${inputs.a}", "toggle", "advisory"]),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(
                        [
                            "text_equals",
                            "class",
                            "any_of",
                            "all_of",
                            "count",
                            "after_ms",
                            "selector",
                            "type",
                            "durationMs",
                            "expect",
                        ]
                    ),
                    inner,
                    max_size=3,
                )
            ),
            max_leaves=5,
        ),
        max_size=6,
    )
)
def test_whatever_stands_in_a_step_is_compiled_or_refused_with_its_place(changes: dict[str, Any]) -> None:
    text = recipe({**CLICK, **changes}, READ)
    answer = attempt(text)
    if isinstance(answer, EngineError):
        assert answer.code.startswith(("RECIPE_", "COMPILE_"))
        assert answer.details["file"]
        assert answer.details["line"] > 0
        assert answer.hint
    else:
        assert all(validate(execution).wire for execution in answer.executions)


def test_nothing_is_asked_of_clock_files_or_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once everything is imported: a compilation opens nothing and asks nobody."""
    import builtins
    import os
    import time

    before = compiled(recipe(TYPE, READ)).to_dict()

    def never(*_arguments: object, **_named: object) -> None:
        raise AssertionError

    for module, name in ((builtins, "open"), (os, "open"), (os, "stat"), (time, "time"), (os, "getenv")):
        monkeypatch.setattr(module, name, never)
    assert compiled(recipe(TYPE, READ)).to_dict() == before
