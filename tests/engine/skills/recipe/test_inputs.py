"""Inputs: who must be told what, what a value may be, and that no value is ever read as anything but itself."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from clawperator.engine.errors import EngineError
from clawperator.engine.skills.recipe.inputs import Input, inputs_of, is_personal
from clawperator.engine.skills.recipe.model import value_problem
from clawperator.engine.skills.recipe.rules import read_recipe
from clawperator.engine.skills.recipe.source import read_source
from tests.engine.skills.recipe.support import CONFIRM, READ, TYPE, actions, compiled, line_of, params, recipe, refusal
from tests.support import table

WANTED = {"name": "word", "type": "string", "required": True, "default": ""}
LOOK = {**READ, "selector": {"text_contains": "${inputs.word}"}}


def looked_for(declared: dict[str, Any], variables: dict[str, Any]) -> str:
    text: str = params(recipe(LOOK, inputs=[declared]), "read", variables)["matcher"]["textContains"]
    return text


def test_a_value_goes_wherever_it_is_named() -> None:
    text = recipe(
        {**LOOK, "selector": {"text_equals": "<${inputs.word}|${inputs.word}>", "resource_id": "a:id/${inputs.word}"}},
        {**TYPE, "params": {"text": "say ${inputs.word} $${inputs.word} $$$${x}"}, "confirm": CONFIRM},
        inputs=[WANTED],
    )
    assert params(text, "read", {"word": "a"})["matcher"] == {"textEquals": "<a|a>", "resourceId": "a:id/a"}
    assert params(text, "type", {"word": "a"})["text"] == "say a ${inputs.word} $$${x}"


@pytest.mark.parametrize("variables", [{}, {"word": ""}])
def test_a_required_input_must_have_a_value(variables: dict[str, str]) -> None:
    text = recipe(READ, {**LOOK, "id": "look"}, inputs=[WANTED])
    error = refusal(text, "RECIPE_INPUT_MISSING", variables)
    assert (error.details["input"], error.details["stepId"]) == ("word", "look")
    assert error.details["line"] == line_of(text, 'selector: {"text_contains')
    assert looked_for({**WANTED, "default": "usual"}, variables) == "usual"


def test_a_required_input_that_nothing_uses() -> None:
    text = recipe(inputs=[WANTED])
    error = refusal(text, "RECIPE_INPUT_MISSING")
    assert "stepId" not in error.details
    assert error.details["line"] == line_of(text, "inputs:")


def test_no_condition_vanishes_with_an_optional_input() -> None:
    """A matcher of which a part is missing fits other nodes, too."""
    optional = {**WANTED, "required": False}
    selector = {"resource_id": "a:id/b", "text_contains": "${inputs.word}"}
    error = refusal(recipe({**READ, "selector": selector}, inputs=[optional]), "RECIPE_INPUT_MISSING")
    assert (error.details["input"], error.details["stepId"]) == ("word", "read")
    error = refusal(
        recipe({**TYPE, "params": {"text": "${inputs.word}"}, "confirm": CONFIRM}, inputs=[optional]),
        "RECIPE_INPUT_MISSING",
    )
    assert error.details["stepId"] == "type"
    partly = {**READ, "selector": {"text_contains": "Item ${inputs.word}"}}
    assert params(recipe(partly, inputs=[optional]), "read")["matcher"] == {"textContains": "Item "}


@pytest.mark.parametrize(
    ("place", "step"),
    [
        ("selector", LOOK),
        ("params", {**TYPE, "params": {"text": "${inputs.word}"}, "confirm": CONFIRM}),
        ("confirm", {**READ, "confirm": {"selector": {"text_equals": "${inputs.word}"}}}),
        ("confirm", {**READ, "confirm": {**CONFIRM, "type": "read_text", "expect": {"equals": "${inputs.word}"}}}),
        ("container", {**READ, "type": "scroll_and_click", "container": {"resource_id": "${inputs.word}"}}),
    ],
)
def test_only_declared_inputs_are_named(place: str, step: dict[str, Any]) -> None:
    text = recipe(step, inputs=[{"name": "other", "type": "string", "required": True}])
    error = refusal(text, "RECIPE_INPUT_UNDECLARED")
    assert (error.details["input"], error.details["stepId"]) == ("word", step["id"])
    assert error.details["line"] == line_of(text, f"\n{place}:") + 1
    assert "other" in error.hint


@table(
    ("kind", "value", "text"),
    [
        ("string", "a", "a"),
        ("integer", 3, "3"),
        ("integer", 3.0, "3"),
        ("integer", -0.0, "0"),
        ("integer", 0, "0"),
        ("number", 1.5, "1.5"),
        ("number", 2**53 - 1, "9007199254740991"),
        ("number", 1e21, "1e+21"),
        ("number", 1e-7, "0.0000001"),
        ("number", 1.5e-9, "1.5e-9"),
        ("number", 123456789012345680000.0, "123456789012345680000"),
        ("boolean", False, "false"),
        ("boolean", True, "true"),
    ],
)
def test_values_as_text(kind: str, value: Any, text: str) -> None:
    assert looked_for({"name": "word", "type": kind, "required": True}, {"word": value}) == text
    assert looked_for({"name": "word", "type": kind, "default": value}, {}) == text


@table(
    ("declared", "value", "expected"),
    [
        ({"type": "string"}, 5, "text"),
        ({"type": "string"}, True, "text"),
        ({"type": "integer"}, "5", "an integer"),
        ({"type": "integer"}, 5.5, "an integer"),
        ({"type": "integer"}, True, "an integer"),
        ({"type": "number"}, "5", "a number"),
        ({"type": "number"}, False, "a number"),
        ({"type": "boolean"}, "true", "true or false"),
        ({"type": "boolean"}, 1, "true or false"),
        ({"type": "enum", "values": ["on", "off"]}, "On", "one of on, off"),
        ({"type": "enum", "values": ["1", "2"]}, 1, "one of 1, 2"),
    ],
)
def test_values_that_do_not_fit(declared: dict[str, Any], value: Any, expected: str) -> None:
    error = refusal(recipe(LOOK, inputs=[{"name": "word", **declared}]), "RECIPE_INPUT_INVALID", {"word": value})
    assert (error.details["input"], error.details["expected"], error.details["stepId"]) == ("word", expected, "read")


@pytest.mark.parametrize(
    ("step", "value"),
    [
        (LOOK, "x" * 513),
        ({**TYPE, "params": {"text": "${inputs.word}"}, "confirm": CONFIRM}, " \n"),
        ({**READ, "type": "scroll_and_click", "params": {"direction": "${inputs.word}"}}, "sideways"),
        ({"id": "open", "type": "open_app", "params": {"applicationId": "${inputs.word}"}}, "-x"),
        (LOOK, "half of a pair: \ud800"),
    ],
)
def test_values_that_the_device_would_not_take(step: dict[str, Any], value: str) -> None:
    text = recipe({**READ, "id": "first"}, step, inputs=[WANTED])
    error = refusal(text, "RECIPE_INPUT_INVALID", {"word": value})
    assert (error.details["input"], error.details["stepId"]) == ("word", step["id"])
    assert error.details["line"] == line_of(text, "${inputs.word}")


@table("value", [None, [], {}, float("nan"), float("inf"), b"x"])
def test_variables_are_scalars(value: Any) -> None:
    with pytest.raises(EngineError) as caught:
        compiled(recipe(LOOK, inputs=[WANTED]), {"word": value})
    assert caught.value.code == "COMPILE_VARS_PARSE_FAILED"
    assert caught.value.details["variable"] == "word"


def test_variables_that_no_one_uses() -> None:
    answer = compiled(recipe(LOOK, inputs=[WANTED]), {"word": "a", "Wrod": "b", "TASK_ID": "t"})
    assert [(warning["code"], warning["path"]) for warning in answer.warnings] == [("VAR_UNUSED", "Wrod")]


def test_expectations_are_filled_in_and_patterns_quote_them() -> None:
    def expect(**how: str) -> dict[str, str]:
        step = {**READ, "confirm": {**CONFIRM, "type": "read_text", "expect": how}}
        (confirm,) = compiled(recipe(step, inputs=[WANTED]), {"word": "1.5 (a)"}).confirms
        return dict(confirm.expect)

    assert expect(equals="= ${inputs.word}") == {"equals": "= 1.5 (a)"}
    assert expect(matches="^${inputs.word} .*$") == {"matches": r"^1\.5\ \(a\) .*$"}


def test_inputs_for_forms() -> None:
    declared = [
        {"name": "contact_name", "type": "string", "required": True, "default": ""},
        {"name": "count", "type": "integer", "default": 3},
        {"name": "mode", "type": "enum", "values": ["on", "off"]},
    ]
    assert inputs_of(read_recipe(read_source(recipe(inputs=declared)))) == (
        Input("contact_name", "string", required=True, default=None, values=(), personal=True),
        Input("count", "integer", required=False, default=3, values=(), personal=False),
        Input("mode", "enum", required=False, default=None, values=("on", "off"), personal=False),
    )


@table(
    "name",
    [
        "person",
        "first_name",
        "lamp_label",
        "home_address",
        "account",
        "email",
        "e_mail_address",
        "user",
        "contacts",
        "PHONE",
    ],
)
def test_personal(name: str) -> None:
    assert is_personal(name)


@table("name", ["query", "count", "temperature", "personality_x", "filename", "unlabelled", "timeout"])
def test_not_personal(name: str) -> None:
    assert not is_personal(name)


_NASTY = st.text(alphabet=st.sampled_from("{}$\"'\\\n\r\t:#-é\U0001f600 aX\u2028\x7f"), min_size=1, max_size=40)


@given(
    _NASTY | st.sampled_from(["{{X}}", "${inputs.word}", "${inputs.other}", "$${", "\\u0041", '"}]}', "---\n## Step 2"])
)
@example("${inputs.other}")
def test_any_value_arrives_as_it_is(value: str) -> None:
    """Also where it looks like a name of another input: nothing is expanded twice."""
    declared = [{"name": "word", "type": "string"}, {"name": "other", "type": "string"}]
    step = {**READ, "selector": {"text_contains": "[${inputs.word}]", "text_equals": "${inputs.other}"}}
    (action,) = actions(recipe(step, inputs=declared), {"word": value, "other": "{{word}} ${inputs.word}"})
    assert action["params"]["matcher"] == {"textContains": f"[{value}]", "textEquals": "{{word}} ${inputs.word}"}
    assert json.loads(json.dumps(action)) == action


@table("kind", ["integer", "number"])
@table("value", [float("inf"), float("-inf"), float("nan")])
def test_a_value_that_is_not_finite_is_no_number(kind: str, value: float) -> None:
    assert value_problem(kind, value, ())
