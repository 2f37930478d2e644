"""Replays on simulated devices: nothing is done where the screen is another one, and what differs is told."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import Engine, EngineError, ErrorCode, Settings
from clawperator.engine.recordings.recipe_draft import draft, planned
from clawperator.engine.recordings.replay import ReplayOptions, ReplayReport, StepReport, replay
from clawperator.engine.recordings.replay_script import ReplayScript, script_of_compiled, script_of_plan
from clawperator.engine.simulator.device import SimulatedDevice, create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.engine.simulator.scenario import Scenario
from clawperator.engine.skills.recipe.compile import compile_recipe
from tests.engine.recordings.sessions import SETTINGS, SHOP, Person, click, lines, node, reading, record, screen, window
from tests.engine.skills.recipe.support import CLICK, OPEN, READ, compiled, recipe

Start = Callable[..., Awaitable[tuple[Engine, SimulatedDevice]]]


@pytest.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """A fresh device and an engine that sees only it; call it with keys of a scenario."""
    async with AsyncExitStack() as stack:

        async def make(**scenario: Any) -> tuple[Engine, SimulatedDevice]:
            world = create_device(Scenario.model_validate({"speed": 0, **scenario}), generation="0.5")
            simulation = await stack.enter_async_context(Simulation([world], mode="server"))
            settings = Settings.resolve({"history_enabled": False}, {**simulation.env(), "HOME": str(tmp_path)})
            return await stack.enter_async_context(Engine(settings)), world

        yield make


async def script_of(act: Callable[[Person], Awaitable[None]], **values: str) -> ReplayScript:
    return script_of_plan(planned(reading(await record(act))), values)


async def diverged(engine: Engine, script: ReplayScript, **more: Any) -> dict[str, Any]:
    with pytest.raises(EngineError) as caught:
        await replay(engine, script, **more)
    assert caught.value.code is ErrorCode.REPLAY_DIVERGED
    return {**caught.value.details, "message": caught.value.message}


async def beans(person: Person) -> None:
    person.device.activities.launch(SHOP)
    person.tap("search_bar", "search_src_text")
    await person.type("coffee")
    person.tap("search_go_btn", "Coffee beans 1 kg", "add_to_cart")


async def airplane(person: Person) -> None:
    person.device.activities.launch(SETTINGS)
    person.tap("Network & internet", "Airplane mode")
    await person.back()


async def test_everything_again_on_a_fresh_device(start: Start) -> None:
    engine, world = await start()
    reported: list[StepReport] = []
    report = await replay(engine, await script_of(beans), on_step=reported.append)
    assert isinstance(report, ReplayReport)
    assert world.ui.state["cart"] == ["Coffee beans 1 kg"]
    assert [step.id for step in reported] == [step.id for step in report.steps]
    assert (report.first, report.steps[-1].id) == (1, "click_add_to_cart")
    assert report.to_dict()["deviceId"] == world.serial


async def test_other_values_for_the_inputs(start: Start) -> None:
    engine, world = await start()
    details = await diverged(engine, await script_of(beans, search_src_text="desk"))
    assert (details["step"], details["reason"]) == ("click_product_card", "NODE_NOT_FOUND")
    assert "Desk lamp" in details["seen"]["labels"]
    assert world.ui.state["query"] == "desk"
    with pytest.raises(EngineError) as caught:
        await script_of(beans, query="desk")
    assert caught.value.code is ErrorCode.RECIPE_INPUT_UNDECLARED
    assert caught.value.details["inputs"] == ["search_src_text"]


async def test_the_device_is_free_between_the_steps(start: Start) -> None:
    engine, _ = await start()
    taken: list[int] = []
    await replay(engine, await script_of(beans), on_step=lambda _: taken.append(len(engine.locks())))
    assert taken == [0] * 7


async def test_what_was_single_and_is_not_any_more_is_not_clicked(start: Start) -> None:
    """The device would take the first of them and not say so."""

    async def add_one(person: Person) -> None:
        person.device.activities.launch(SHOP)
        person.tap("search_bar", "search_src_text")
        await person.type("beans")
        person.tap("search_go_btn", "product_card")

    engine, world = await start()
    details = await diverged(engine, await script_of(add_one, search_src_text="coffee"))
    assert (details["step"], details["phase"], details["reason"]) == ("click_product_card", "before", "AMBIGUOUS")
    assert details["seen"]["matches"] > 1
    assert len(details["nearest"]) == 3
    assert world.ui.front.frames[-1].screen == "results"


async def test_a_switch_that_is_turned_already_is_not_turned_back(start: Start) -> None:
    engine, world = await start()
    script = await script_of(airplane)
    await replay(engine, script)
    assert world.settings["global"]["airplane_mode_on"] == "1"
    details = await diverged(engine, script)
    assert (details["step"], details["phase"], details["reason"]) == ("click_airplane_mode", "before", "STATE_DIFFERS")
    assert "already on" in details["message"]
    assert world.settings["global"]["airplane_mode_on"] == "1"


async def test_going_on_where_it_stopped(start: Start) -> None:
    engine, world = await start()
    script = await script_of(airplane)
    world.settings["global"]["airplane_mode_on"] = "1"
    details = await diverged(engine, script)
    assert details["resume"] == "click_airplane_mode"
    assert details["done"] == ["open_com_android_settings", "ready_homepage_title", "click_network_internet"]
    world.settings["global"]["airplane_mode_on"] = "0"
    report = await replay(engine, script, start=details["resume"])
    assert [step.number for step in report.steps] == [4, 5]
    assert world.settings["global"]["airplane_mode_on"] == "1"


async def test_a_step_by_number_and_one_that_does_not_exist(start: Start) -> None:
    engine, world = await start()
    script = await script_of(airplane)
    with pytest.raises(EngineError) as caught:
        await replay(engine, script, start="6")
    assert caught.value.code is ErrorCode.USAGE
    assert caught.value.details["steps"][0] == "open_com_android_settings"
    assert world.commands == 0
    assert [step.number for step in (await replay(engine, script, start="1")).steps] == [1, 2, 3, 4, 5]


async def test_a_sign_that_does_not_come(start: Start) -> None:
    """The step was done: going on means going on with the next one."""

    async def two(person: Person) -> None:
        person.device.activities.launch(SHOP)
        person.tap("search_bar", "coffee", "Coffee beans 1 kg", "add_to_cart", "menu_cart")

    engine, world = await start()
    world.ui.state_of(world.ui.apps[SHOP])["cart"] = ["Desk lamp"]
    details = await diverged(engine, await script_of(two))
    assert (details["step"], details["phase"]) == ("click_add_to_cart", "after")
    assert details["expected"] == {"selector": {"contentDescEquals": "Cart, 1 item"}}
    assert details["nearest"][0]["node"]["contentDesc"] == "Cart, 2 items"
    assert details["resume"] == "click_menu_cart"
    assert world.ui.state["cart"] == ["Desk lamp", "Coffee beans 1 kg"]


async def test_the_last_step_leaves_nothing_to_go_on_with(start: Start) -> None:
    engine, world = await start()
    world.ui.state_of(world.ui.apps[SHOP])["cart"] = ["Desk lamp"]
    script = await script_of(beans)
    script = ReplayScript(script.kind, script.application_id, (*script.steps[:-1], with_sign(script)))
    assert (await diverged(engine, script))["resume"] == ""


def with_sign(script: ReplayScript) -> Any:
    """The last step, with a sign that no screen shows."""
    from dataclasses import replace as changed

    from clawperator.engine.hierarchy.matcher import Matcher

    sign = Matcher(text_equals="Never")
    action = {"id": "never", "type": "wait_for_node", "params": {"matcher": sign.fields()}}
    return changed(script.steps[-1], sign=sign, confirm=action)


async def test_another_app_in_front_is_said(start: Start) -> None:
    engine, world = await start()
    script = await script_of(beans)
    world.activities.launch(SETTINGS)
    details = await diverged(engine, script, start="click_search_bar")
    assert "another app is in the foreground" in details["message"]
    assert (details["expected"]["package"], details["seen"]["package"]) == (SHOP, SETTINGS)


async def test_a_screen_without_a_tree_is_no_guesswork(start: Start) -> None:
    engine, world = await start()
    script = await script_of(beans)
    world.ui.show("com.example.vault", "login")
    details = await diverged(engine, script, start="click_search_bar")
    assert details["reason"] == "UI_TREE_UNAVAILABLE"
    assert "problem" in details["seen"]
    assert details["nearest"] == []


async def test_a_click_that_leads_to_a_secure_screen_was_done(start: Start) -> None:
    async def sign_in(person: Person) -> None:
        person.device.activities.launch("com.example.vault")
        person.tap("sign_in")

    engine, world = await start()
    script = await script_of(sign_in)
    details = await diverged(engine, script)
    assert (details["step"], details["phase"]) == ("click_sign_in", "after")
    assert world.ui.front.frames[-1].screen == "login"


async def test_no_service_is_no_divergence(start: Start) -> None:
    engine, _ = await start(faults=[{"kind": "service_down"}])
    with pytest.raises(EngineError) as caught:
        await replay(engine, await script_of(beans))
    assert caught.value.code is ErrorCode.SERVICE_UNAVAILABLE
    assert (caught.value.details["step"], caught.value.details["done"]) == ("open_com_example_shop", [])


async def test_an_unreadable_answer_is_no_divergence_and_the_step_is_named(start: Start) -> None:
    engine, _ = await start(faults=[{"kind": "malformed_envelope", "commands": [3]}])
    with pytest.raises(EngineError) as caught:
        await replay(engine, await script_of(beans))
    assert caught.value.code is ErrorCode.RESULT_ENVELOPE_MALFORMED
    assert (caught.value.details["step"], caught.value.details["resume"]) == ("click_search_bar", "click_search_bar")


async def test_what_spends_money_needs_a_policy_that_allows_it(start: Start) -> None:
    """The execution of the click itself would not tell: it is a click like any other."""
    engine, world = await start()
    here = screen(node(text="Place order", resource_id=f"{SHOP}:id/go"))
    bought = lines(window(here), click(0, here, resourceId=f"{SHOP}:id/go", text="Place order"))
    with pytest.raises(EngineError) as caught:
        await replay(engine, script_of_plan(planned(reading(bought)), {}))
    assert caught.value.code is ErrorCode.CAPABILITY_DENIED
    assert world.commands == 0


async def test_a_recipe_is_replayed_step_by_step(start: Start) -> None:
    engine, world = await start()
    made = draft(reading(await record(beans)))
    made_of_it = compile_recipe(made.text, {"search_src_text": "coffee"})
    script = script_of_compiled(made_of_it, SHOP)
    assert [step.id for step in script.steps] == ["open", *(step.id for step in made.steps)]
    report = await replay(engine, script)
    assert (report.to_dict()["kind"], world.ui.state["cart"]) == ("recipe", ["Coffee beans 1 kg"])
    details = await diverged(engine, script_of_compiled(compile_recipe(made.text, {"search_src_text": "desk"}), SHOP))
    assert (details["step"], details["phase"], details["resume"]) == (
        "click_product_card",
        "before",
        "click_product_card",
    )


def incomplete() -> ReplayScript:
    """One click of three, on what no selector finds, is omitted."""
    here = screen(node(resource_id=f"{SHOP}:id/search_bar"))
    events = (window(here), click(0, here, resourceId=f"{SHOP}:id/search_bar"), click(500, screen(node())))
    return script_of_plan(planned(reading(lines(*events))), {})


async def test_a_recording_with_an_event_that_no_step_repeats_is_refused_before_it_starts(start: Start) -> None:
    engine, world = await start()
    before = world.ui.front.frames[-1].screen
    with pytest.raises(EngineError) as caught:
        await replay(engine, incomplete())
    assert caught.value.code is ErrorCode.RECORDING_PARSE_FAILED
    assert [omission["seq"] for omission in caught.value.details["omitted"]] == [3]
    assert world.ui.front.frames[-1].screen == before


async def test_what_was_omitted_stands_in_the_report_which_is_not_ok(start: Start) -> None:
    engine, _ = await start()
    report = (await replay(engine, incomplete(), ReplayOptions(allow_partial=True))).to_dict()
    assert (report["ok"], report["outcome"]) == (False, {"status": "partial"})
    (omission,) = report["omitted"]
    assert (omission["seq"], omission["type"]) == (3, "click")
    assert "a click was omitted" in omission["reason"]


async def test_events_before_the_first_step_of_a_replay_do_not_count(start: Start) -> None:
    engine, world = await start()
    world.activities.launch(SHOP)
    script = incomplete()
    late = replace(script, omitted=(script.omitted[0]._replace(seq=1),))
    report = await replay(engine, late, start=script.steps[-1].id)
    assert report.to_dict()["ok"] is True


async def test_a_recording_without_a_step_is_no_success(start: Start) -> None:
    engine, _ = await start()
    with pytest.raises(EngineError) as caught:
        await replay(engine, script_of_plan(planned(reading(lines())), {}))
    assert caught.value.code is ErrorCode.RECORDING_PARSE_FAILED


def test_a_recipe_whose_nodes_are_chosen_is_refused_before_its_first_step() -> None:
    """Without the choice the step would have no matcher: the steps before it would have acted by then."""
    chosen = compiled(recipe(OPEN, {**CLICK, "selector": {"text_equals": "Go", "enabled": True}}, READ))
    with pytest.raises(EngineError) as caught:
        script_of_compiled(chosen, SHOP)
    assert caught.value.code is ErrorCode.RECIPE_SELECTOR_UNSUPPORTED
    assert caught.value.details == {"steps": [CLICK["id"]]}
