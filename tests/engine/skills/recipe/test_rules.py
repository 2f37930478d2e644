"""What steps must be together: capabilities, verification, and nothing that belongs to one person or one device."""

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
    compiled,
    line_of,
    recipe,
    refusal,
)
from tests.support import table

SLEEP = {"id": "nap", "type": "sleep", "params": {"durationMs": 1}}
WAIT = {"id": "wait", "type": "wait_for_node", "selector": {"text_equals": "x"}}
SCROLL = {**CLICK, "id": "scroll", "type": "scroll_and_click"}


@table(
    ("step", "needed"),
    [
        (READ, {"observe"}),
        (WAIT, {"observe"}),
        ({"id": "snap", "type": "snapshot_ui"}, {"observe"}),
        (OPEN, {"navigate"}),
        (CLOSE, {"navigate"}),
        (CLICK, {"click"}),
        ({**CLICK, "params": {"clickType": "focus"}}, {"click"}),
        ({**CLICK, "params": {"clickType": "long_click"}}, {"long_click"}),
        (SCROLL, {"navigate", "click"}),
        ({**SCROLL, "params": {"clickType": "LongClick"}}, {"navigate", "long_click"}),
        ({**SCROLL, "params": {"clickAfter": False}}, {"navigate"}),
        ({**TYPE, "confirm": CONFIRM}, {"type_text", "observe"}),
        ({**CLICK, "confirm": CONFIRM}, {"click", "observe"}),
        ({**CLICK, "effect": "toggle", "confirm": CONFIRM}, {"click", "observe", "toggle"}),
        ({**CLICK, "effect": "purchase", "confirm": CONFIRM}, {"click", "observe", "purchase_risk"}),
        (SLEEP, set()),
    ],
)
def test_capabilities(step: dict[str, Any], needed: set[str]) -> None:
    assert compiled(recipe(step, capabilities=sorted(needed))).capabilities == tuple(sorted(needed))
    for missing in needed:
        error = refusal(recipe(step, capabilities=sorted(needed - {missing})), "RECIPE_CAPABILITY_UNDECLARED")
        assert (error.details["capability"], error.details["stepId"]) == (missing, step["id"])


def test_the_line_of_a_capability() -> None:
    text = recipe({**CLICK, "effect": "toggle"}, capabilities=["click"])
    assert refusal(text, "RECIPE_CAPABILITY_UNDECLARED").details["line"] == line_of(text, "effect:")


def test_a_fresh_session_need_not_declare_what_it_brings() -> None:
    (warning,) = compiled(recipe(session_policy="fresh", capabilities=["observe"])).warnings
    assert warning["code"] == "CAPABILITY_IMPLIED"


ACTION = {"recipe_type": "action", "capabilities": [*HEAD["capabilities"], "type_text", "toggle", "purchase_risk"]}
FLOW = {"recipe_type": "flow", "capabilities": ["observe", "navigate", "click"]}
FLOW_TYPING = {"recipe_type": "flow", "capabilities": [*FLOW["capabilities"], "type_text"]}
FLOW_TOGGLING = {"recipe_type": "flow", "capabilities": [*FLOW["capabilities"], "toggle"]}


@table(
    ("head", "steps"),
    [
        (ACTION, (CLICK, READ)),
        (ACTION, (CLICK, WAIT)),
        (ACTION, (CLICK, SLEEP, OPEN, READ)),
        (ACTION, ({**CLICK, "confirm": CONFIRM},)),
        (ACTION, ({**CLICK, "confirm": CONFIRM}, {**TYPE, "confirm": CONFIRM})),
        (ACTION, ({**SCROLL, "params": {"clickAfter": False}}, CLICK, READ)),
        (ACTION, (READ,)),
        (FLOW, (CLICK, SCROLL)),
        (FLOW_TYPING, ({**TYPE, "confirm": CONFIRM}, CLICK, READ)),
        (FLOW_TYPING, ({**SCROLL, "params": {"clickAfter": False}}, {"id": "snap", "type": "snapshot_ui"})),
        (FLOW_TOGGLING, (CLICK, WAIT, {**SCROLL, "effect": "toggle"}, READ)),
        ({**FLOW, "recipe_type": "probe"}, ({**SCROLL, "params": {"clickAfter": False}}, WAIT, READ, OPEN, SLEEP)),
    ],
)
def test_verified(head: dict[str, Any], steps: tuple[dict[str, Any], ...]) -> None:
    assert compiled(recipe(*steps, **head)).recipe


@table(
    ("head", "steps", "step_id"),
    [
        (ACTION, (CLICK,), "press"),
        (ACTION, (READ, CLICK, SLEEP, OPEN), "press"),
        (ACTION, (SCROLL, READ, CLICK), "press"),
        (ACTION, (SCROLL, CLICK, READ), "scroll"),
        (ACTION, (TYPE, CLICK, READ), "type"),
        (ACTION, (CLICK, {**READ, "optional": True}), "press"),
        (ACTION, ({**SLEEP, "effect": "toggle"},), "nap"),
        (FLOW_TYPING, (TYPE,), "type"),
        (FLOW_TYPING, (TYPE, {"id": "snap", "type": "snapshot_ui"}), "type"),
        (FLOW_TYPING, (TYPE, CLICK, READ), "type"),
        (FLOW_TYPING, (CLICK, SCROLL), "press"),
        (FLOW_TOGGLING, (READ, CLICK), "press"),
        ({**FLOW, "capabilities": [*FLOW["capabilities"], "purchase_risk"]}, (CLICK,), "press"),
        (FLOW_TOGGLING, ({**CLICK, "effect": "toggle"}, SCROLL), "press"),
    ],
)
def test_not_verified(head: dict[str, Any], steps: tuple[dict[str, Any], ...], step_id: str) -> None:
    text = recipe(*steps, **head)
    error = refusal(text, "RECIPE_VERIFICATION_MISSING")
    assert error.details["stepId"] == step_id
    assert error.details["line"] == line_of(text, f'id: "{step_id}"')


@pytest.mark.parametrize(
    ("step", "path"),
    [
        (TYPE, "type"),
        (CLICK, "type"),
        ({**CLICK, "confirm": CONFIRM}, "type"),
        (SCROLL, "type"),
        ({**CLICK, "effect": "toggle", "confirm": CONFIRM}, "effect"),
    ],
)
def test_a_probe_only_looks(step: dict[str, Any], path: str) -> None:
    text = recipe(step, READ, recipe_type="probe", capabilities=ACTION["capabilities"])
    error = refusal(text, "RECIPE_SCHEMA_INVALID")
    assert (error.details["path"], error.details["stepId"]) == (path, step["id"])


@pytest.mark.parametrize("place", ["selector", "confirm", "container", "all_of"])
def test_what_belongs_to_one_user_is_no_literal(place: str) -> None:
    mine = {"text_contains": "Anna's lamp", "annotation": "USER_SPECIFIC"}
    steps = {
        "selector": {**CLICK, "selector": mine},
        "confirm": {**CLICK, "confirm": {"selector": mine}},
        "container": {**SCROLL, "container": mine},
        "all_of": {**CLICK, "selector": {"all_of": [{"resource_id": "a:id/b"}, mine]}},
    }
    error = refusal(recipe(steps[place], READ), "RECIPE_LITERAL_FORBIDDEN")
    assert error.details["lint"] == "L-ANNOTATION-USER"
    assert error.details["path"].endswith("text_contains")
    assert "Anna" not in error.message + str(error.details)
    for fine in ({**mine, "text_contains": "${inputs.lamp}"}, {**mine, "annotation": "VARIABLE"}):
        named = recipe({**CLICK, "selector": fine}, READ, inputs=[{"name": "lamp", "type": "string", "required": True}])
        assert compiled(named, {"lamp": "x"}).recipe


@pytest.mark.parametrize(
    ("literal", "lint"),
    [
        ("emulator-5554", "L-LITERAL-SERIAL"),
        ("0123456789abcdef", "L-LITERAL-SERIAL"),
        ("someone@example.com", "L-LITERAL-EMAIL"),
        ("+49 171 1234567", "L-LITERAL-PHONE"),
        ("/home/someone/x", "L-LITERAL-PATH"),
    ],
)
def test_literals_of_one_person_or_device(literal: str, lint: str) -> None:
    """Wherever they stand in a block, however they are written, and never in the answer."""
    texts = {
        "summary": recipe(summary=f"For {literal}."),
        "maintainers": recipe(maintainers=["@us", literal]),
        "x-note": recipe(**{"x-note": {"deep": [literal]}}),
        "selector": recipe({**WAIT, "selector": {"text_contains": f"a {literal} b"}}, READ),
        "params": recipe({**TYPE, "params": {"text": literal}, "confirm": CONFIRM}),
        "inputs": recipe(inputs=[{"name": "who", "type": "string", "default": literal}]),
        "confirm": recipe({**READ, "confirm": {"selector": {"text_equals": literal}}}),
    }
    for key, text in texts.items():
        error = refusal(text, "RECIPE_LITERAL_FORBIDDEN")
        assert error.details["lint"] == lint
        assert error.details["line"] == line_of(text, f"\n{key}: ") + 1
        assert literal not in str(error.to_dict())
    escaped = recipe(summary="PLACE").replace("PLACE", "".join(f"\\x{ord(letter):02x}" for letter in literal))
    assert refusal(escaped, "RECIPE_LITERAL_FORBIDDEN").details["lint"] == lint


def test_prose_comments_and_inputs_are_no_literals() -> None:
    text = recipe({**READ, "selector": {"text_equals": "${inputs.who}"}}, inputs=[{"name": "who", "type": "string"}])
    text = text.replace("Prose.", "Ask someone@example.com on emulator-5554.")
    assert compiled(text, {"who": "someone@example.com"}).recipe
