"""Drafts: they compile, pass lint, do what was recorded, and hold no text of a person, whatever the device wrote."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from clawperator.engine.config.policy import DEFAULT
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.steps import execution, step
from clawperator.engine.executions.validate import validate
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.recordings.recipe_draft import RecipeDraft, RecipeMetadata, draft, step_block
from clawperator.engine.recordings.typed_texts import is_masked
from clawperator.engine.skills.blocked_terms import read_terms
from clawperator.engine.skills.compiled import Compiled
from clawperator.engine.skills.lint import Finding, LintRules, lint_text
from clawperator.engine.skills.recipe.compile import compile_recipe
from tests.engine.recordings.sessions import (
    SETTINGS,
    SHOP,
    Person,
    click,
    lines,
    node,
    reading,
    record,
    screen,
    typed,
    window,
)

GO = f"{SHOP}:id/go"
BACK = {"type": "press_key", "key": "back"}


def drafted(*events: dict[str, Any], **more: Any) -> RecipeDraft:
    return draft(reading(lines(*events)), **more)


def compiled(made: RecipeDraft, hidden: str = "") -> Compiled:
    """The draft with its own values; ``hidden`` for those that the recording does not tell, as it masks them."""
    values = {each.name: each.value or hidden for each in made.plan.inputs}
    return compile_recipe(made.text, values, file="x.recipe.md")


def findings(made: RecipeDraft, terms: tuple[str, ...] = ()) -> list[Finding]:
    blocked = read_terms(terms)
    return lint_text(made.text, "x.recipe.md", LintRules(date(2023, 12, 1), DEFAULT, blocked))


def matchers(answer: Compiled) -> list[Any]:
    params = [action.get("params", {}) for action in answer.execution["actions"]]
    return [each.get("matcher") or each.get("target") for each in params]


async def shop(person: Person) -> None:
    person.device.activities.launch(SHOP)
    person.tap("search_bar", "search_src_text")
    await person.type("cof", "fee")
    person.tap("search_go_btn", "Coffee beans 1 kg", "add_to_cart", "menu_cart")
    await person.back()


async def wifi(person: Person) -> None:
    person.device.activities.launch(SETTINGS)
    person.tap("Network & internet", "Airplane mode")
    await person.back()
    person.scroll(2_000)
    person.tap("System")


class TestSessions:
    async def test_a_shopping_trip(self) -> None:
        made = draft(reading(await record(shop)), RecipeMetadata("shop.beans", "4.12.0", 41_200, 34))
        answer = compiled(made)
        assert answer.recipe == {"id": "shop.beans", "version": "0.1.0", "type": "action"}
        assert [action["id"] for action in answer.execution["actions"]][:6] == [
            "__fresh_close",
            "__fresh_open",
            "ready_search_plate",
            "click_search_bar",
            "click_search_bar__confirm",
            "type_search_src_text",
        ]
        assert {confirm.step_id for confirm in answer.confirms} == {step.id for step in made.steps[1:]}
        assert [finding for finding in findings(made) if finding.severity != "info"] == []
        assert [(each.name, each.value) for each in made.plan.inputs] == [("search_src_text", "coffee")]
        assert "coffee" not in made.text.replace("Coffee beans", "")

    async def test_a_walk_through_the_settings(self) -> None:
        made = draft(reading(await record(wifi)))
        answer = compiled(made)
        assert answer.capabilities == ("observe", "navigate", "click", "toggle")
        assert [finding for finding in findings(made) if finding.severity != "info"] == []
        scrolled = next(action for action in answer.execution["actions"] if action["type"] == "scroll_and_click")
        assert scrolled["params"]["container"] == {"resourceId": f"{SETTINGS}:id/recycler_view"}
        assert "it was off before the click" in made.text

    async def test_the_same_recording_gives_the_same_draft(self) -> None:
        data = await record(shop)
        assert draft(reading(data)).text == draft(reading(data)).text


class TestWhatRecipesCannotSay:
    def test_a_back_key_without_a_button_is_left_out_aloud(self) -> None:
        first, second = screen(node(resource_id=GO)), screen(node(text="There"))
        made = drafted(
            window(first), click(0, first, resourceId=GO), window(second), {**BACK, "snapshot": second}, window(first)
        )
        assert compiled(made).executions
        assert [step.kind for step in made.steps] == ["wait_for_node", "click"]
        assert any("back key was omitted" in warning for warning in made.warnings)
        assert "back key was omitted" in made.text

    def test_a_button_that_leads_back_stands_for_the_key(self) -> None:
        first = screen(node(resource_id=GO))
        second = screen(node(content_desc="Navigate up", cls="android.widget.ImageButton"), node(100, text="There"))
        made = drafted(
            window(first), click(0, first, resourceId=GO), window(second), {**BACK, "snapshot": second}, window(first)
        )
        assert {"contentDescEquals": "Navigate up"} in matchers(compiled(made))

    @pytest.mark.parametrize("events", [(), (window(),), (window(package="com.android.launcher3"),), (typed("x"),)])
    def test_nothing_to_do_is_no_recipe(self, events: tuple[dict[str, Any], ...]) -> None:
        with pytest.raises(EngineError) as caught:
            drafted(*events)
        assert caught.value.code is ErrorCode.RECORDING_PARSE_FAILED

    def test_too_much_for_one_execution(self) -> None:
        here = screen(node(resource_id=GO))
        with pytest.raises(EngineError) as caught:
            drafted(window(here), *[click(0, here, resourceId=GO)] * 40)
        assert caught.value.code is ErrorCode.RECIPE_LIMIT_EXCEEDED
        assert caught.value.details["limit"] == 50


class TestPeople:
    def test_addresses_and_numbers_are_inputs(self) -> None:
        people = screen(node(text="Ann, ann@example.com"), node(100, text="+49 171 1234567"))
        made = drafted(
            window(people), click(0, people, text="Ann, ann@example.com"), click(100, people, text="+49 171 1234567")
        )
        assert "ann@example.com" not in made.text
        assert "1234567" not in made.text
        assert [finding for finding in findings(made) if finding.severity == "error"] == []
        wanted = [{"textEquals": "Ann, ann@example.com"}, {"textEquals": "+49 171 1234567"}]
        clicks = [
            action["params"]["matcher"] for action in compiled(made).execution["actions"] if action["type"] == "click"
        ]
        assert clicks == wanted

    def test_blocked_terms_are_inputs(self) -> None:
        here = screen(node(text="Lamp of Ann Smith"), node(100, text="Other lamp"))
        made = drafted(window(here), click(0, here, text="Lamp of Ann Smith"), blocked=read_terms(["ann smith"]))
        assert "Smith" not in made.text
        assert findings(made, ("ann smith",)) == findings(made)
        assert {"textEquals": "Lamp of Ann Smith"} in matchers(compiled(made))

    def test_no_input_is_declared_that_no_step_uses(self) -> None:
        first, second = screen(node(resource_id=GO)), screen(node(text="ann@example.com"))
        made = drafted(
            window(first), click(0, first, resourceId=GO), window(first), {**BACK, "snapshot": first}, window(second)
        )
        assert made.plan.inputs == ()
        assert compiled(made).executions


def test_buying_needs_a_policy_that_allows_it() -> None:
    here = screen(node(text="Place order", resource_id=GO))
    made = drafted(window(here), click(0, here, resourceId=GO, text="Place order"))
    assert compiled(made).executions
    with pytest.raises(EngineError) as caught:
        compile_recipe(made.text, {}, profile=DEFAULT)
    assert caught.value.code is ErrorCode.CAPABILITY_DENIED


_AWKWARD = st.text(
    st.sampled_from("ab \t\n\r\\\"'`#-{}$:&*!|>%@\u2028\u202e\u0085\ufeff\ud800\0é漢😀"), min_size=1, max_size=20
) | st.sampled_from(
    ["${inputs.x}", "$${", "---", "```", "## Step 9: x", "null", "true", "1", "- a", "&a *a", "<!-- -->"]
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(label=_AWKWARD, field_text=_AWKWARD, description=_AWKWARD, resource=_AWKWARD)
@example(label="a", field_text="*", description="a", resource="a")  # looks like a masked password
def test_no_text_of_a_device_breaks_out_of_its_place(
    label: str, field_text: str, description: str, resource: str
) -> None:
    """What compiles is the recorded text itself (asked for where it is masked), or the step is left out; never another recipe."""
    here = screen(
        node(0, text=label, content_desc=description, resource_id=resource),
        node(100, cls="android.widget.EditText", text="Name", resource_id="a:id/name"),
    )
    click_it = click(0, here, text=label, contentDesc=description, resourceId=resource)
    events = [
        window(here),
        click_it,
        click(100, here, resourceId="a:id/name", text="Name"),
        typed(field_text),
        window(here),
    ]
    made = drafted(*events)
    answer = compiled(made, hidden="given")
    own = [action for action in answer.execution["actions"] if not action["id"].startswith("__")]
    assert [action["id"] for action in own if not action["id"].endswith("__confirm")] == [
        step.id for step in made.steps
    ]
    entered = [action["params"]["text"] for action in own if action["type"] == "enter_text"]
    assert entered in ([], ["given" if is_masked(field_text) else field_text])
    assert [finding for finding in findings(made) if finding.severity == "error"] == []


RECIPE = """---
recipe_id: x.y
recipe_version: 0.1.0
recipe_type: action
application_id: com.x.y
summary: x
frameworks: [views]
session_policy: resume_ok
app_build: {version_name: "1", version_code: 1}
tested_on: {android_api: 34}
capabilities: [observe, navigate, click, long_click, type_text]
risk_level: medium
tags: []
inputs: []
outputs: []
---

## Step 1

"""


@pytest.mark.parametrize("verb", ["tap", "long_press", "read", "wait", "enter_text", "scroll_to", "sleep", "open_app"])
@given(
    value=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1, max_size=9)
    | st.sampled_from(["${inputs.x}", "$${", "yes", "- a: b", "```"]),
    role=st.sampled_from(["", "button", "switch", "list"]),
)
@settings(max_examples=20)
def test_a_step_block_compiles_to_the_action_that_it_was_copied_from(verb: str, value: str, role: str) -> None:
    assume(value.strip())
    matcher = Matcher(text_contains=value, role=role)
    action = step(verb, matcher=matcher, text=value, application_id="com.x.z", duration_ms=70, container=matcher)
    seen = step_block({"id": "seen", "type": "wait_for_node", "params": {"matcher": {"textEquals": "x"}}})
    answer = compile_recipe(f"{RECIPE}{step_block(action)}\n## Step 2\n\n{seen}", {}, file="x.recipe.md")
    assert answer.execution["actions"][:-1] == validate(execution([action])).payload["actions"]


@pytest.mark.parametrize(
    ("verb", "reason"),
    [
        ("scroll_down", "a recipe has no step scroll"),
        ("tap", "no word for the role listitem"),
        ("verify", "express retry"),
    ],
)
def test_what_a_recipe_cannot_say_is_refused(verb: str, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        step_block(step(verb, matcher=Matcher(role="listitem") if verb == "tap" else Matcher(text_equals="x")))
