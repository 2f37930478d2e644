"""What a recording says was done: fields and their texts, keys, scrolls, switches, other apps; and what it does not say."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.recordings.plan import Plan, PlannedStep
from clawperator.engine.recordings.recipe_draft import planned
from clawperator.engine.recordings.replay_script import script_of_plan
from clawperator.engine.recordings.screens import Screens
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
from tests.support import examples

LAUNCHER = "com.android.launcher3"
SCROLL = {"type": "scroll", "packageName": SHOP, "scrollX": 0, "scrollY": 9, "maxScrollX": 0, "maxScrollY": 9}
FIELD = f"{SHOP}:id/query"
GO = f"{SHOP}:id/go"


def plan_of(*events: dict[str, Any]) -> Plan:
    return planned(reading(lines(*events)))


def step_of(plan: Plan, seq: int) -> PlannedStep:
    return next(step for step in plan.steps if step.seq == seq)


def edit(top: int = 0, text: str = "", **more: str) -> str:
    return node(top, cls="android.widget.EditText", text=text, **{"resource_id": FIELD, **more})


def reported(*steps: PlannedStep) -> list[tuple[str, dict[str, str]]]:
    return [(step.kind, dict(step.target.fields) if step.target else {}) for step in steps]


class TestTyping:
    def test_letter_by_letter_is_one_step_and_its_click_is_part_of_it(self) -> None:
        empty, full = screen(edit(), node(100, resource_id=GO)), screen(edit(0, "tea"), node(100, resource_id=GO))
        texts = [typed("t"), typed("te"), typed("tea")]
        plan = plan_of(window(empty), click(0, empty, resourceId=FIELD), *texts, click(100, full, resourceId=GO))
        assert reported(*plan.steps[2:]) == [("enter_text", {"resourceId": FIELD}), ("click", {"resourceId": GO})]
        entered = plan.steps[2]
        assert (entered.text, entered.sign) == ("${inputs.query}", "typed")
        assert entered.confirm is not None
        assert entered.confirm.fields == {"resourceId": FIELD, "textEquals": "${inputs.query}"}
        assert [(each.name, each.value, each.secret) for each in plan.inputs] == [("query", "tea", False)]

    def test_the_field_is_the_one_that_shows_the_text(self) -> None:
        before = screen(edit(resource_id="a:id/one"), edit(100, resource_id="a:id/two"))
        after = screen(edit(resource_id="a:id/one"), edit(100, "tea", resource_id="a:id/two"), node(200, text="Go"))
        plan = plan_of(window(before), typed("tea"), click(200, after, text="Go"))
        assert step_of(plan, 2).target is not None
        assert reported(step_of(plan, 2)) == [("enter_text", {"resourceId": "a:id/two"})]

    def test_where_two_fields_may_be_meant_the_text_is_left_out_and_said_so(self) -> None:
        both = screen(edit(resource_id="a:id/one"), edit(100, resource_id="a:id/two"))
        plan = plan_of(window(both), typed("tea"), window(both))
        assert "enter_text" not in {step.kind for step in plan.steps}
        assert any(warning.startswith("seq 2: a typed text was omitted") for warning in plan.warnings)

    def test_a_password_is_secret_and_is_not_looked_for_on_the_screen(self) -> None:
        empty = screen(edit(password="true"), node(100, resource_id=GO))
        dots = screen(edit(0, "•••", password="true"), node(100, resource_id=GO))
        plan = plan_of(window(empty), click(0, empty, resourceId=FIELD), typed("tea"), click(100, dots, resourceId=GO))
        (secret,) = plan.inputs
        assert (secret.value, secret.secret) == ("tea", True)
        assert step_of(plan, 3).sign == "present"

    def test_dots_in_place_of_a_password_are_no_text(self) -> None:
        empty = screen(edit(), node(100, resource_id=GO))
        plan = plan_of(window(empty), click(0, empty, resourceId=FIELD), typed("•"), typed("••"), click(100, empty))
        (secret,) = plan.inputs
        assert (secret.value, secret.secret) == ("", True)
        with pytest.raises(EngineError) as caught:
            script_of_plan(plan, {})
        assert caught.value.code is ErrorCode.RECIPE_INPUT_MISSING
        assert script_of_plan(plan, {"query": "swordfish"}).steps[2].actions[0]["params"]["text"] == "swordfish"

    def test_an_emptied_field_is_no_step(self) -> None:
        full = screen(edit(0, "tea"), node(100, resource_id=GO))
        plan = plan_of(window(full), click(0, full, resourceId=FIELD), typed(""), click(100, full, resourceId=GO))
        assert [step.kind for step in plan.steps] == ["open_app", "wait_for_node", "click", "click"]
        assert any("emptied" in warning for warning in plan.warnings)

    def test_what_was_typed_is_recognised_later(self) -> None:
        empty = screen(edit(), node(100, resource_id=GO))
        full = screen(edit(0, "green tea"), node(100, resource_id=GO))
        found = screen(node(text="Results for green tea"), node(100, text="green tea"), node(200, text="green teapot"))
        plan = plan_of(
            window(empty),
            click(0, empty, resourceId=FIELD),
            typed("green tea"),
            click(100, full, resourceId=GO),
            window(found),
            click(100, found, text="green tea"),
            click(200, found, text="green teapot"),
        )
        assert reported(*plan.steps[-2:]) == [
            ("click", {"textEquals": "${inputs.query}"}),
            ("click", {"textEquals": "green teapot"}),
        ]


class TestPeople:
    def test_a_way_without_a_persons_text_comes_first(self) -> None:
        mail = screen(node(text="ann@example.com", resource_id="a:id/account"), node(100, text="Other"))
        plan = plan_of(window(mail), click(0, mail, resourceId="a:id/account", text="ann@example.com"))
        assert step_of(plan, 2).target is not None
        assert reported(step_of(plan, 2)) == [("click", {"resourceId": "a:id/account"})]
        assert plan.inputs == ()

    def test_where_there_is_none_it_is_an_input(self) -> None:
        mail = screen(node(text="ann@example.com"), node(100, text="bob@example.com"))
        plan = plan_of(window(mail), click(0, mail, text="ann@example.com"), click(0, mail, text="ann@example.com"))
        assert [step.target.fields for step in plan.steps if step.kind == "click" and step.target] == [
            {"textEquals": "${inputs.email}"},
            {"textEquals": "${inputs.email}"},
        ]
        assert [(each.name, each.value) for each in plan.inputs] == [("email", "ann@example.com")]
        assert not any("ann" in step.id for step in plan.steps)


class TestScreens:
    def test_a_snapshot_that_came_too_late_is_not_taken_for_the_screen_of_the_click(self) -> None:
        """Between the event and its snapshot the next screen may have come."""
        first, second = screen(node(resource_id=GO, text="Go")), screen(node(text="Arrived"))
        plan = plan_of(window(first), click(0, second, resourceId=GO, text="Go"), window(second))
        assert reported(step_of(plan, 2)) == [("click", {"resourceId": GO})]
        assert step_of(plan, 2).notes == ()

    def test_without_any_screen_the_event_speaks_for_itself(self) -> None:
        plan = plan_of(window(), click(0, resourceId=GO, text="Go"))
        (step,) = [step for step in plan.steps if step.kind == "click"]
        assert step.target is not None
        assert (step.target.fields, step.target.unique) == ({"resourceId": GO, "textEquals": "Go"}, False)
        assert any("no snapshot" in note for note in step.notes)

    def test_a_click_on_nothing_known_is_left_out_and_said_so(self) -> None:
        plan = plan_of(window(), click(0))
        assert [step.kind for step in plan.steps] == ["open_app"]
        assert any(warning.startswith("seq 2: a click was omitted") for warning in plan.warnings)

    def test_of_equal_rows_the_first_is_taken_with_a_note(self) -> None:
        rows = screen(*(node(top, resource_id="a:id/row") for top in (0, 100, 200)))
        plan = plan_of(window(rows), click(0, rows, resourceId="a:id/row"), click(100, rows, resourceId="a:id/row"))
        first = step_of(plan, 2)
        assert first.target is not None
        assert not first.target.unique
        assert any("several elements" in note for note in first.notes)
        assert any(warning.startswith("seq 3") for warning in plan.warnings)

    def test_a_damaged_snapshot_is_used_as_far_as_it_goes(self) -> None:
        cut = screen(node(resource_id=GO))[:-30]
        plan = plan_of(window(cut), click(0, cut, resourceId=GO))
        assert reported(step_of(plan, 2)) == [("click", {"resourceId": GO})]
        assert any("damaged" in warning for warning in plan.warnings)
        assert plan_of(window("<!DOCTYPE x><a/>"), click(0, "rubbish", resourceId=GO)).warnings


async def test_signs_are_what_appeared() -> None:
    async def shop(person: Person) -> None:
        person.device.activities.launch(SHOP)
        person.tap("search_bar", "coffee", "Coffee beans 1 kg", "add_to_cart", "menu_cart")

    plan = planned(reading(await record(shop)))
    signs = {step.id: dict(step.confirm.fields) for step in plan.steps if step.confirm}
    assert signs["click_search_bar"] == {"resourceId": f"{SHOP}:id/search_edit_frame"}
    assert signs["click_product_card"] == {"resourceId": f"{SHOP}:id/product_page"}
    assert signs["click_add_to_cart"] == {"contentDescEquals": "Cart, 1 item"}
    assert all(step.sign == "appeared" for step in plan.steps if step.kind == "click")


async def test_switches_scrolls_and_back() -> None:
    async def settings(person: Person) -> None:
        person.device.activities.launch(SETTINGS)
        person.tap("Network & internet", "Airplane mode")
        await person.back()
        person.scroll(2_000)
        person.tap("System")

    plan = planned(reading(await record(settings)))
    assert [(step.id, step.kind) for step in plan.steps[2:]] == [
        ("click_network_internet", "click"),
        ("click_airplane_mode", "click"),
        ("press_back", "press_key"),
        ("click_system", "scroll_and_click"),
    ]
    toggled, back, scrolled = plan.steps[3:]
    assert (toggled.effect, toggled.was_on) == ("toggle", False)
    assert (back.key, back.stand_in is not None) == ("back", True)
    assert scrolled.direction == "down"
    assert scrolled.container is not None
    assert scrolled.container.fields == {"resourceId": f"{SETTINGS}:id/recycler_view"}


async def test_the_way_through_the_launcher_is_opening() -> None:
    async def wander(person: Person) -> None:
        person.tap("Shop")
        person.device.input.key("HOME")
        person.tap("Settings")

    plan = planned(reading(await record(wander)))
    assert [(step.kind, step.package) for step in plan.steps if step.kind != "wait_for_node"] == [
        ("open_app", SHOP),
        ("open_app", SETTINGS),
    ]
    assert (plan.application_id, plan.fresh) == (SHOP, True)


def test_a_recording_that_begins_inside_an_app() -> None:
    here = screen(node(resource_id=GO))
    plan = plan_of(click(0, here, resourceId=GO))
    assert (plan.application_id, plan.fresh) == (SHOP, False)
    assert [step.kind for step in plan.steps] == ["wait_for_node", "click"]
    assert any("starts inside an app" in warning for warning in plan.warnings)


def test_keys_on_the_home_screen_are_no_ones() -> None:
    home = screen(node(text="Apps"), package=LAUNCHER)
    here = screen(node(resource_id=GO))
    back = {"type": "press_key", "key": "back", "snapshot": home}
    plan = plan_of(back, window(home, package=LAUNCHER), window(here), click(0, here, resourceId=GO))
    assert [step.kind for step in plan.steps] == ["open_app", "wait_for_node", "click"]
    assert plan.warnings == ()


def test_buying_is_marked() -> None:
    here = screen(node(text="Place order", resource_id=GO))
    assert step_of(plan_of(window(here), click(0, here, resourceId=GO, text="Place order")), 2).effect == "purchase"


def test_keys_that_no_one_can_press_from_outside() -> None:
    plan = plan_of(window(screen(node(text="x"))), {"type": "press_key", "key": "volume_up", "snapshot": None})
    assert any(warning.startswith("seq 2: a key was omitted") for warning in plan.warnings)


def test_scrolling_without_consequence_is_said() -> None:
    scroll = {"type": "scroll", "packageName": SHOP, "scrollX": 0, "scrollY": 9, "maxScrollX": 0, "maxScrollY": 9}
    assert plan_of(window(), scroll).warnings == ("seq 2: a scroll was omitted: no action followed it",)


def test_an_empty_recording_has_no_steps() -> None:
    plan = plan_of()
    assert (plan.steps, plan.application_id, plan.fresh) == ((), "", False)
    assert plan_of(window(package=LAUNCHER)).steps == ()


def test_a_long_session_does_not_keep_every_tree() -> None:
    shown = [screen(node(0, text=f"row {number}"), node(100, text="Next")) for number in range(120)]
    data = lines(window(shown[0]), *(click(100, here, text="Next") for here in shown))
    screens = Screens(reading(data))
    assert all(screens.of(position) is not None for position in range(121))
    assert len(screens._trees) < 60
    assert sum(step.kind == "click" for step in planned(reading(data)).steps) == 120


HOME_SCREEN = screen(node(text="Apps"), package=LAUNCHER)
EVENTS = st.sampled_from(
    [
        window(screen(node(resource_id=GO))),
        window(),
        window(HOME_SCREEN, package=LAUNCHER),
        click(0, screen(node(resource_id=GO)), resourceId=GO),
        click(0, screen(node()), text=None),
        click(0),
        click(0, HOME_SCREEN, package=LAUNCHER),
        click(0, screen(edit()), resourceId=FIELD),
        typed("tea"),
        typed(""),
        SCROLL,
        {"type": "press_key", "key": "back", "snapshot": screen(node(resource_id=GO))},
        {"type": "press_key", "key": "volume_up", "snapshot": None},
    ]
)


@settings(max_examples=examples(400), deadline=None)
@given(st.lists(EVENTS, max_size=12))
def test_every_event_is_repeated_or_reported(events: list[dict[str, Any]]) -> None:
    """Nothing that somebody did is lost without a word, and each omission is warned of."""
    plan = plan_of(*events)
    steps, omitted = {step.seq for step in plan.steps}, {omission.seq for omission in plan.omitted}
    assert {f"seq {seq}" for seq in omitted} <= {warning.partition(":")[0] for warning in plan.warnings}
    for seq, event in enumerate(events, 1):
        before, later = events[: seq - 1], events[seq:]
        replaced = any(other["type"] in ("click", "press_key") for other in later)
        if event.get("packageName") == LAUNCHER:
            opened = any(step.kind == "open_app" and step.seq > seq for step in plan.steps)
            assert event["type"] != "click" or seq in omitted or opened
        elif event["type"] == "click":
            typed_into = bool(later) and later[0]["type"] == "text_change"
            assert seq in steps | omitted or typed_into
        elif event["type"] == "press_key":
            seen = [other["packageName"] for other in before if other.get("snapshot") and "packageName" in other]
            assert seq in steps | omitted or seen[-1:] == [LAUNCHER]
        elif event["type"] == "text_change":
            run = itertools.takewhile(
                lambda at: events[at - 1]["type"] in ("text_change", "scroll"), range(seq, len(events) + 1)
            )
            assert not (steps | omitted).isdisjoint(run), "the last of a run of texts stands for all"
        elif event["type"] == "scroll":
            assert seq in omitted or replaced or "text_change" in [other["type"] for other in later]


def test_a_click_on_the_home_screen_that_opens_nothing_is_reported() -> None:
    plan = plan_of(window(screen(node(text="x"))), window(HOME_SCREEN, package=LAUNCHER), click(0, package=LAUNCHER))
    assert [(omission.seq, omission.type) for omission in plan.omitted] == [(3, "click")]


def test_texts_of_two_fields_are_not_one() -> None:
    """Whoever presses Next between two fields loses neither text without a word."""
    texts = [{**typed(text), "resourceId": f"a:id/{text}"} for text in ("tea", "milk")]
    plan = plan_of(window(screen(edit())), *texts)
    accounted = {step.seq for step in plan.steps} | {omission.seq for omission in plan.omitted}
    assert {2, 3} <= accounted
