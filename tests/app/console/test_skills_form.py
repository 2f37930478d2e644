"""Mode 5: what a skill is given, said where it is wrong, and hidden where it is personal; lint and the draft."""

from __future__ import annotations

import threading

import pytest

from clawperator.app.console.skills.form import SkillForm
from clawperator.app.console.skills.screen import SkillsScreen
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.widgets.skill_form import InputRow
from tests.app.console.fake_skills import ALERT, PRICE, SETTINGS, THERMOSTAT, FakeLibrary
from tests.app.console.skills_mode import form_of, list_of, press, shown, skills_mode, to_skill
from tests.app.console.support import DEVICE, drained, until

# -- the form


async def test_what_is_missing_is_said_at_its_field() -> None:
    library = FakeLibrary()
    async with skills_mode(library) as (app, pilot, _):
        await to_skill(app, pilot, THERMOSTAT["id"])
        await press(pilot, "R")
        form = await form_of(app, pilot)
        assert form.option is not None
        assert form.option.name == "set.recipe.md"  # only it says what it needs
        assert [row.field.name for row in form.rows] == ["lamp_label", "target", "mode", "notify"]
        await press(pilot, "enter")
        await drained(pilot)
        wrong = [row.field.name for row in form.query(InputRow) if row.has_class("-wrong")]
        assert wrong == ["lamp_label", "target"]
        assert form.focused is form.rows[0].entry
        assert isinstance(app.screen, SkillForm)
        assert not any(call[0] == "play" for call in library.calls)


async def test_personal_values_are_nowhere_on_the_screen() -> None:
    library = FakeLibrary()
    async with skills_mode(library) as (app, pilot, _):
        await to_skill(app, pilot, THERMOSTAT["id"])
        await press(pilot, "R")
        form = await form_of(app, pilot)
        await press(pilot, *"Bedside", "tab", *"21")
        await until(pilot, lambda: form.plan is not None)
        await drained(pilot)
        assert "Bedside" not in shown(app)
        assert "•••" in shown(app)
        await press(pilot, "enter")
        await until(pilot, lambda: app.session.skills.run is not None and not app.session.skills.run.running)
        assert ("play", "set.recipe.md", DEVICE.serial) in library.calls
        run = app.session.skills.run
        assert run is not None
        assert "Bedside" not in run.command
        assert "Bedside" not in shown(app)
        assert "price=*.**" in shown(app)
        await press(pilot, "R")
        again = await form_of(app, pilot)
        assert [row.value for row in again.rows[:2]] == ["", "21"]  # the personal one is asked for again


@pytest.mark.ci
async def test_a_policy_that_forbids_it_is_said_in_the_form() -> None:
    denied = EngineError(ErrorCode.CAPABILITY_DENIED, "The profile default does not allow purchase_risk")
    async with skills_mode(FakeLibrary(compile_error=denied)) as (app, pilot, _):
        await to_skill(app, pilot, PRICE["id"])
        await press(pilot, "i")
        await form_of(app, pilot)
        await press(pilot, *"Milk", "enter")
        await until(pilot, lambda: "CAPABILITY_DENIED" in shown(app))
        assert isinstance(app.screen, SkillForm)
        assert app.drafts.draft.empty


async def test_a_compile_error_names_file_and_line() -> None:
    wrong = EngineError(
        ErrorCode.RECIPE_STEP_UNSUPPORTED,
        "Steps of the type swipe are not allowed",
        details={"file": "skills/x/artifacts/price.recipe.md", "line": 31},
    )
    async with skills_mode(FakeLibrary(compile_error=wrong)) as (app, pilot, _):
        await to_skill(app, pilot, PRICE["id"])
        await press(pilot, "i")
        await form_of(app, pilot)
        await press(pilot, *"Milk", "enter")
        await until(pilot, lambda: "price.recipe.md:31: Steps of the type swipe" in shown(app))


async def test_an_input_that_the_compiler_refuses_is_marked() -> None:
    wrong = EngineError(ErrorCode.RECIPE_INPUT_INVALID, "item_name is too long", details={"input": "item_name"})
    async with skills_mode(FakeLibrary(compile_error=wrong)) as (app, pilot, _):
        await to_skill(app, pilot, PRICE["id"])
        await press(pilot, "i")
        form = await form_of(app, pilot)
        await press(pilot, *"Milk", "enter")
        await until(pilot, lambda: form.rows[0].has_class("-wrong") and "item_name is too long" in shown(app))


async def test_quotes_that_are_never_closed() -> None:
    library = FakeLibrary()
    async with skills_mode(library) as (app, pilot, _):
        await to_skill(app, pilot, SETTINGS["id"])
        await press(pilot, "R")
        form = await form_of(app, pilot)
        await press(pilot, *"--x 'a", "enter")
        await until(pilot, lambda: form.rows[-1].has_class("-wrong"))
        await press(pilot, *"'", "enter")
        await until(pilot, lambda: app.session.skills.run is not None)
        assert ("run", SETTINGS["id"], ("--x", "a"), DEVICE.serial) in library.calls


async def test_keys_on_their_way_reach_the_form_that_they_are_for() -> None:
    """Whoever types fast has typed before the skill's files were read."""
    gate = threading.Event()
    library = FakeLibrary(gate=gate)
    gate.set()
    async with skills_mode(library) as (app, pilot, _):
        gate.clear()
        list_of(app).to_skill(PRICE["id"])
        try:
            await press(pilot, "R", *"oat q", "enter")
            assert isinstance(app.screen, SkillForm)
            assert app.screen.rows == []
        finally:
            gate.set()
        form = await form_of(app, pilot)
        await until(pilot, lambda: form.rows[0].value == "oat q")


async def test_escape_runs_nothing() -> None:
    library = FakeLibrary()
    async with skills_mode(library) as (app, pilot, _):
        await to_skill(app, pilot, SETTINGS["id"])
        await press(pilot, "R")
        await form_of(app, pilot)
        await press(pilot, "escape")
        await drained(pilot)
        assert isinstance(app.screen, SkillsScreen)
        assert not any(call[0] == "run" for call in library.calls)


@pytest.mark.ci
@pytest.mark.parametrize("size", [(60, 16), (80, 24)], ids=["60x16", "80x24"])
async def test_a_form_of_many_fields_keeps_its_keys_on_screen(size: tuple[int, int]) -> None:
    inputs = {f"input_{number}": "a word" for number in range(20)}
    entry = {**ALERT, "contract": {"inputs": inputs}}
    async with skills_mode(FakeLibrary(entries=(entry,)), size=size) as (app, pilot, _):
        await press(pilot, "R")
        form = await form_of(app, pilot)
        await press(pilot, "enter")
        assert sum(row.has_class("-wrong") for row in form.rows) == 20
        assert "⏎ run  esc back" in shown(app)
        form.set_focus(form.rows[-2].entry)
        await until(pilot, lambda: "input_9*" in shown(app))
