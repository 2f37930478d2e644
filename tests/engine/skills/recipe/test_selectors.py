"""Selectors: what becomes of every key, and the reason why some cannot become anything."""

from __future__ import annotations

from typing import Any

import pytest

from clawperator.engine.contracts.matcher import FIELDS as MATCHER_FIELDS
from clawperator.engine.contracts.roles import ROLE_NAMES
from clawperator.engine.skills.recipe.selectors import FIELDS, ROLES
from tests.engine.skills.recipe.support import CLICK, READ, compiled, line_of, params, recipe, refusal
from tests.support import table

ID = {"resource_id": "com.example.app:id/line"}


WAIT: dict[str, Any] = {**READ, "id": "wait", "type": "wait_for_node"}
"""A step whose node the device has to find by itself."""


def matcher(selector: dict[str, Any], **step: Any) -> dict[str, str]:
    found: dict[str, str] = params(recipe({**READ, "selector": selector, **step}), "read")["matcher"]
    return found


def test_the_tables_speak_of_what_there_is() -> None:
    assert {*FIELDS.values(), "role"} == set(MATCHER_FIELDS)
    assert set(ROLES.values()) <= set(ROLE_NAMES)


def test_texts_go_in_as_they_are() -> None:
    selector = {
        "resource_id": "a:id/b",
        "text_equals": 'He said "é"\n',
        "text_contains": "{{X}}",
        "content_desc_equals": "$${inputs.x}",
        "content_desc_contains": "100",
        "annotation": "STRUCTURAL",
    }
    assert matcher(selector) == {
        "resourceId": "a:id/b",
        "textEquals": 'He said "é"\n',
        "textContains": "{{X}}",
        "contentDescEquals": "${inputs.x}",
        "contentDescContains": "100",
    }


@table(
    ("name", "role"),
    [
        *((name, "textfield") for name in ("EditText", "TextInputEditText", "AutoCompleteTextView")),
        *((name, "button") for name in ("Button", "MaterialButton", "ImageButton", "FloatingActionButton")),
        *((name, "button") for name in ("RadioButton", "ToggleButton")),
        *((name, "switch") for name in ("Switch", "SwitchCompat", "SwitchMaterial")),
        *((name, "list") for name in ("RecyclerView", "ListView")),
        *((name, "tabbar") for name in ("TabLayout", "BottomNavigationView")),
        *((name, "pager") for name in ("ViewPager", "ViewPager2")),
        ("CheckBox", "checkbox"),
        ("GridView", "grid"),
        ("Toolbar", "toolbar"),
        ("Chip", "chip"),
    ],
)
def test_classes_become_roles(name: str, role: str) -> None:
    assert matcher({"class": name}) == {"role": role}
    assert matcher({"class": f"android.widget.{name}"}) == {"role": role}


@table("name", ["TextView", "android.view.View", "edittext", "Buttons", "ScrollView", "x.", "${inputs.x}"])
def test_classes_without_a_role(name: str) -> None:
    error = refusal(recipe({**WAIT, "selector": {"class": name, **ID}}), "RECIPE_SELECTOR_UNSUPPORTED")
    assert error.details["key"] == "class"


def test_all_of_is_merged() -> None:
    nested = {"all_of": [{"text_contains": "a", "annotation": "DERIVED"}, {"all_of": [{"class": "Button"}]}], **ID}
    assert matcher(nested) == {"textContains": "a", "role": "button", "resourceId": ID["resource_id"]}
    assert matcher({"all_of": [{"class": "Button"}, {"class": "ImageButton"}]}) == {"role": "button"}


def test_alternatives_that_are_one_matcher() -> None:
    assert matcher({"any_of": [{"text_equals": "a"}]}) == {"textEquals": "a"}
    buttons = {"any_of": [{"class": "Button"}, {"all_of": [{"class": "ImageButton"}]}], **ID}
    assert matcher(buttons) == {"role": "button", "resourceId": ID["resource_id"]}
    for selector in ({"any_of": [{"clickable": True, **ID}]}, {"text_equals": "b", "any_of": [{"text_equals": "a"}]}):
        error = refusal(recipe({**WAIT, "selector": selector}), "RECIPE_SELECTOR_UNSUPPORTED")
        assert error.details["key"] == "any_of"


@table(
    ("selector", "key"),
    [
        ({"text_equals": "a", "all_of": [{"text_equals": "b"}]}, "text_equals"),
        ({"all_of": [{"class": "Button"}, {"class": "Switch"}]}, "class"),
        ({"any_of": [{"text_equals": "a"}, {"text_equals": "b"}]}, "any_of"),
        ({"clickable": True, "text_equals": "a"}, "clickable"),
        ({"clickable": True, **ID}, "clickable"),
        ({"enabled": False, **ID}, "enabled"),
        ({"selected": True}, "selected"),
        ({"index_in_parent": 0, **ID}, "index_in_parent"),
        ({"all_of": [{"clickable": True}, ID]}, "clickable"),
    ],
)
def test_what_the_device_cannot_match(selector: dict[str, Any], key: str) -> None:
    text = recipe({**WAIT, "selector": selector})
    error = refusal(text, "RECIPE_SELECTOR_UNSUPPORTED")
    assert error.details["key"] == key
    assert error.details["path"].startswith("selector.")
    assert error.details["path"].endswith(key)
    assert (error.details["stepId"], error.details["line"]) == ("wait", line_of(text, "selector: "))
    conflict = key in ("text_equals", "class")
    assert conflict or "the Operator app supports only ids, texts, descriptions and roles" in error.message


@pytest.mark.parametrize(
    "lost",
    [
        {"clickable": True},
        {"enabled": True},
        {"selected": False},
        {"index_in_parent": 3},
        {"any_of": [{"text_equals": "a"}, {"text_equals": "b"}]},
    ],
)
def test_advisory_drops_it_beside_an_id(lost: dict[str, Any]) -> None:
    step = {**READ, "selector": {**ID, "all_of": [lost]}, "selector_mode": "advisory"}
    (warning,) = compiled(recipe(step)).warnings
    assert params(recipe(step), "read")["matcher"] == {"resourceId": ID["resource_id"]}
    assert (warning["code"], warning["stepId"]) == ("SELECTOR_KEY_DROPPED", "read")
    assert warning["path"] == f"selector.all_of.0.{next(iter(lost))}"
    assert warning["line"] > 0
    text = recipe({**READ, "selector": {"text_equals": "a", **lost}, "selector_mode": "advisory"})
    error = refusal(text, "RECIPE_SELECTOR_UNSUPPORTED")
    assert "resource_id" in error.hint


@table(
    ("selector", "key"),
    [
        ({}, "selector"),
        ({"annotation": "STRUCTURAL"}, "selector"),
        ({"all_of": [{}]}, 0),
        ({"text": "a"}, "text"),
        ({"textEquals": "a"}, "textEquals"),
        ({"x-y": "a"}, "x-y"),
        ({"all_of": [{"bounds": "a"}]}, "bounds"),
        ({"any_of": [{"bounds": "a"}]}, "bounds"),
        ({"text_equals": ""}, "text_equals"),
        ({"text_equals": "", **ID}, "text_equals"),
    ],
)
def test_invalid_selectors(selector: dict[str, Any], key: str) -> None:
    error = refusal(recipe({**READ, "selector": selector}), "RECIPE_SELECTOR_INVALID")
    assert (error.details["key"], error.details["stepId"]) == (key, "read")


def test_a_slip_of_the_pen_is_seen() -> None:
    error = refusal(recipe({**READ, "selector": {"text_equal": "a"}}), "RECIPE_SELECTOR_INVALID")
    assert error.hint == "Did you mean 'text_equals'?"


@table(
    ("selector", "path"),
    [
        ({"text_equals": 5}, "selector.text_equals"),
        ({"text_equals": None}, "selector.text_equals"),
        ({"text_equals": ["a"]}, "selector.text_equals"),
        ({"class": True}, "selector.class"),
        ({"annotation": "structural", **ID}, "selector.annotation"),
        ({"clickable": "yes", **ID}, "selector.clickable"),
        ({"index_in_parent": -1, **ID}, "selector.index_in_parent"),
        ({"index_in_parent": True, **ID}, "selector.index_in_parent"),
        ({"all_of": {}}, "selector.all_of"),
        ({"all_of": []}, "selector.all_of"),
        ({"all_of": ["a"]}, "selector.all_of.0"),
        ({"any_of": []}, "selector.any_of"),
        ({"text_equals": "${foo}"}, "selector.text_equals"),
        ({"text_equals": "${inputs.Foo}"}, "selector.text_equals"),
        ({"text_equals": "${env.HOME}"}, "selector.text_equals"),
        ({"text_equals": "a ${inputs.x"}, "selector.text_equals"),
        ({"text_equals": "x" * 513}, "selector"),
    ],
)
def test_wrong_values(selector: dict[str, Any], path: str) -> None:
    error = refusal(recipe({**READ, "selector": selector}), "RECIPE_SCHEMA_INVALID")
    assert (error.details["path"], error.details["stepId"]) == (path, "read")


def scrolling(container: Any, **step: Any) -> str:
    return recipe({**CLICK, "type": "scroll_and_click", "container": container, **step})


@pytest.mark.parametrize("name", ["ScrollView", "androidx.core.widget.NestedScrollView", "HorizontalScrollView"])
def test_a_scroll_view_is_found_by_the_device(name: str) -> None:
    text = scrolling({"class": name, "annotation": "STRUCTURAL"})
    assert params(text, "press") == {"target": {"textEquals": "Go"}}
    (warning,) = compiled(text).warnings
    assert (warning["code"], warning["path"]) == ("CONTAINER_OMITTED", "container")
    error = refusal(scrolling({"class": name, **ID}), "RECIPE_SELECTOR_UNSUPPORTED")
    assert error.details["key"] == "class"


def test_a_recycler_view_may_be_a_grid() -> None:
    text = scrolling({"class": "androidx.recyclerview.widget.RecyclerView"})
    assert params(text, "press")["container"] == {"role": "list"}
    (warning,) = compiled(text).warnings
    assert warning["code"] == "SELECTOR_CLASS_APPROXIMATE"
    assert "grid" in warning["message"]


def test_containers_follow_the_same_rules() -> None:
    assert params(scrolling(ID), "press")["container"] == {"resourceId": ID["resource_id"]}
    advisory = scrolling({**ID, "clickable": True}, selector_mode="advisory")
    assert params(advisory, "press")["container"] == {"resourceId": ID["resource_id"]}
    assert refusal(scrolling({}), "RECIPE_SELECTOR_INVALID").details["key"] == "container"
    error = refusal(scrolling({"class": "ScrollView", "annotation": "x"}), "RECIPE_SELECTOR_UNSUPPORTED")
    assert error.details["key"] == "class"


def test_a_container_is_never_chosen() -> None:
    error = refusal(scrolling({"clickable": True, **ID}), "RECIPE_SELECTOR_UNSUPPORTED")
    assert "click, read_text and enter_text" in error.hint
    scrolled = {**CLICK, "type": "scroll_and_click", "selector": {"selected": True, **ID}}
    assert refusal(recipe(scrolled), "RECIPE_SELECTOR_UNSUPPORTED").details["key"] == "selected"
    confirm = {"selector": {"enabled": True, **ID}}
    error = refusal(recipe({**READ, "confirm": confirm}), "RECIPE_SELECTOR_UNSUPPORTED")
    assert error.details["path"] == "confirm.selector.enabled"


def test_confirms_follow_the_same_rules() -> None:
    text = recipe({**READ, "confirm": {"selector": {"foo": "x"}}})
    error = refusal(text, "RECIPE_SELECTOR_INVALID")
    assert (error.details["key"], error.details["line"]) == ("foo", line_of(text, "confirm: "))
