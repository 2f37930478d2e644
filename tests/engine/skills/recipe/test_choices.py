"""Steps whose node is chosen on a fresh tree: what they compile to, and that it comes back from a file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.validate import validate
from clawperator.engine.skills.compiled_json import read_compiled
from tests.engine.skills.recipe.support import CLICK, CONFIRM, OPEN, READ, TYPE, compiled, recipe, refusal
from tests.support import table

NAME: dict[str, Any] = {"name": "label", "type": "string", "required": False, "default": "Wi-Fi"}
CHOOSE: dict[str, Any] = {**CLICK, "selector": {"text_equals": "Go", "enabled": True}}


def shape(text: str) -> list[list[str]]:
    return [[action["id"] for action in execution["actions"]] for execution in compiled(text).executions]


@table(
    "selector",
    [
        {"clickable": True},
        {"enabled": False, "text_equals": "a"},
        {"selected": True, "annotation": "STRUCTURAL"},
        {"index_in_parent": 0, "resource_id": "a:id/b"},
        {"class": "android.view.View"},
        {"any_of": [{"text_equals": "a"}, {"text_equals": "b", "clickable": True}]},
        {"all_of": [{"class": "TextView"}, {"text_contains": "a"}]},
    ],
)
@table("step", [READ, CLICK, {**TYPE, "confirm": CONFIRM}])
def test_the_extras_are_a_choice(step: dict[str, Any], selector: dict[str, Any]) -> None:
    text = recipe({**step, "selector": selector})
    made = compiled(text)
    document = made.to_dict()
    assert document["choices"] == [{"stepId": step["id"], "selector": selector}]
    assert "execution" not in document
    assert made.warnings == ()
    assert json.dumps(document) == json.dumps(compiled(text).to_dict())
    with pytest.raises(EngineError) as caught:  # alone it does nothing, rather than something else
        validate(made.executions[0])
    assert caught.value.code is ErrorCode.EXECUTION_VALIDATION_FAILED
    assert caught.value.details["path"] == "actions.0.params.matcher"


def test_without_choices_nothing_changes() -> None:
    assert "choices" not in compiled(recipe(READ, CLICK)).to_dict()
    assert "execution" in compiled(recipe(READ, CLICK)).to_dict()


def test_a_choice_begins_an_execution_behind_its_pause() -> None:
    pause = {"before_ms": 5, "after_ms": 7}
    assert shape(recipe(OPEN, {**CHOOSE, "wait": pause, "confirm": CONFIRM}, READ)) == [
        ["open", "press__wait_before"],
        ["press", "press__confirm", "press__wait_after", "read"],
    ]
    assert shape(recipe(OPEN, {**CHOOSE, "wait": pause, "optional": True}, READ)) == [
        ["open", "press__wait_before"],
        ["press", "press__wait_after"],
        ["read"],
    ]
    first, second = compiled(recipe(OPEN, CHOOSE)).executions
    assert second["commandId"] == f"{first['commandId']}-p2"


def test_inputs_are_filled_in() -> None:
    choice = {"any_of": [{"text_equals": "${inputs.label}"}, {"text_equals": "$${x}"}], "enabled": True}
    text = recipe({**CHOOSE, "selector": choice}, inputs=[NAME])
    (made,) = compiled(text, {"label": "a${inputs.label}"}).choices
    assert made.selector["any_of"] == [{"text_equals": "a${inputs.label}"}, {"text_equals": "${x}"}]
    read_compiled(compiled(text, {"label": "a${inputs.label}"}).to_dict())
    empty = recipe({**CHOOSE, "selector": choice}, inputs=[{**NAME, "default": ""}])
    refusal(empty, "RECIPE_INPUT_MISSING")
    refusal(recipe({**CHOOSE, "selector": choice}), "RECIPE_INPUT_UNDECLARED")
    error = refusal(text, "RECIPE_SELECTOR_INVALID", {"label": "x" * 513})
    assert error.details["path"] == "selector.any_of.0.text_equals"


def test_looking_is_a_capability() -> None:
    error = refusal(recipe(CHOOSE, capabilities=["click"]), "RECIPE_CAPABILITY_UNDECLARED")
    assert error.details["capability"] == "observe"


def test_it_comes_back_from_a_file() -> None:
    made = compiled(recipe(OPEN, CHOOSE, READ, {**CHOOSE, "id": "again", "optional": True}))
    read = read_compiled(json.loads(json.dumps(made.to_dict())))
    assert read.to_dict() == made.to_dict()


def test_a_choice_belongs_to_the_first_action() -> None:
    for step, text in (("read", recipe(CLICK, READ)), ("open", recipe(OPEN, READ))):
        choice = {"stepId": step, "selector": {"enabled": True}}
        with pytest.raises(EngineError) as caught:
            read_compiled(compiled(text).to_dict() | {"choices": [choice]})
        assert caught.value.code is ErrorCode.EXECUTION_VALIDATION_FAILED
        assert caught.value.details["path"] == "choices.0.stepId"


@pytest.mark.parametrize("levels", [32, 200, 300])
def test_a_deep_choice_is_refused(levels: int) -> None:
    selector: dict[str, Any] = {"enabled": True}
    for _ in range(levels):
        selector = {"any_of": [selector]}
    with pytest.raises(EngineError, match="EXECUTION_VALIDATION_FAILED"):
        read_compiled(compiled(recipe(CHOOSE)).to_dict() | {"choices": [{"stepId": "press", "selector": selector}]})


@table(
    ("choice", "path"),
    [
        ({"stepId": "read", "selector": {"enabled": True}}, "executions.1.actions.0.params.matcher"),
        ({"stepId": "nothing", "selector": {"enabled": True}}, "executions.1.actions.0.params.matcher"),
        ({"stepId": "press", "selector": {}}, "choices.0.selector"),
        ({"stepId": "press", "selector": {"bounds": "x"}}, "choices.0.selector"),
        ({"stepId": "press", "selector": {"any_of": []}}, "choices.0.selector.any_of"),
        ({"stepId": "press", "selector": {"any_of": [{"text_equals": ""}]}}, "choices.0.selector.any_of.0.text_equals"),
        ({"stepId": "press", "selector": {"index_in_parent": -1}}, "choices.0.selector.index_in_parent"),
    ],
)
def test_a_file_with_a_wrong_choice(choice: dict[str, Any], path: str) -> None:
    document = compiled(recipe(OPEN, CHOOSE, READ)).to_dict() | {"choices": [choice]}
    with pytest.raises(EngineError) as caught:
        read_compiled(document)
    assert caught.value.code is ErrorCode.EXECUTION_VALIDATION_FAILED
    assert caught.value.details["path"].startswith(path)
