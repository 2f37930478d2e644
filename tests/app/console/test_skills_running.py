"""Mode 5: the journey from the search to the result, and a skill at work."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from clawperator.app.console.screens.dialogs import ConfirmDialog
from clawperator.app.console.skills.screen import SkillsScreen
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.widgets.models.status import Status
from clawperator.widgets.skill_output import SkillOutput
from tests.app.console.fake_skills import ALERT, PRICE, SETTINGS, FakeLibrary
from tests.app.console.skills_mode import SIZES, form_of, list_of, notice, press, shown, skills_mode, to_skill
from tests.app.console.support import DEVICE, FakeEngine, drained, make_app, until

# -- the journey


@SIZES
async def test_search_open_run(size: tuple[int, int]) -> None:
    """``5 / name ⏎ R``: the third job beside the twelve."""
    library = FakeLibrary()
    async with skills_mode(library, size=size) as (app, pilot, _):
        await press(pilot, "slash", *"alert", "enter")
        assert list_of(app).skill is not None
        assert list_of(app).skill.id == ALERT["id"]  # type: ignore[union-attr]
        await press(pilot, "R")
        form = await form_of(app, pilot)
        assert [row.field.name for row in form.rows] == ["item", "limit", "arguments"]
        await press(pilot, *"milk", "tab", *"5")
        await until(pilot, lambda: "milk --limit 5" in " ".join(shown(app).replace("┃", " ").split()))
        await press(pilot, "enter")
        await until(pilot, lambda: app.session.skills.run is not None and not app.session.skills.run.running)
        assert ("run", ALERT["id"], ("--item", "milk", "--limit", "5"), DEVICE.serial) in library.calls
        await until(pilot, lambda: "price=4.99" in shown(app) and "exit 0" in shown(app))
        assert app.session.skills.results[ALERT["id"]].status is Status.OK
        assert "done in 3.7 s" in notice(app)


async def test_the_result_that_a_skill_reports_itself() -> None:
    """Checkpoints and result are below the output; a result that is no success fails the run."""
    result = {
        "result": {"kind": "json", "value": {"price": 4.99}},
        "checkpoints": [{"id": "opened", "status": "ok"}, {"id": "found", "status": "skipped", "note": "seen before"}],
    }
    unsure = EngineError(
        ErrorCode.SKILL_VERIFICATION_INDETERMINATE,
        "does not know",
        extra={"skillResult": {"result": None, "checkpoints": [{"id": "login", "status": "failed"}]}, "exitCode": 0},
    )
    library = FakeLibrary(result=result)
    async with skills_mode(library) as (app, pilot, _):
        for fail, last in ((None, 'result: {"price": 4.99}'), (unsure, "failed login")):
            library.fail = fail
            await to_skill(app, pilot, SETTINGS["id"])
            await press(pilot, "R")
            await form_of(app, pilot)
            await press(pilot, "enter")
            await shows(app, pilot, last)
            assert ("ok opened" in shown(app), "skipped found  seen before" in shown(app)) == (fail is None,) * 2
        run = app.session.skills.run
        assert run is not None
        assert (run.status, run.code) == (Status.FAILED, "SKILL_VERIFICATION_INDETERMINATE")


async def shows(app: Any, pilot: Any, text: str) -> None:
    await until(pilot, lambda: text in shown(app))


async def test_a_value_of_another_type_is_marked_at_its_field() -> None:
    entry = {**ALERT, "contract": {"inputs": {"limit": "number", "mode": "below|above", "note": "string?"}}}
    library = FakeLibrary(entries=(entry,))
    async with skills_mode(library) as (app, pilot, _):
        await to_skill(app, pilot, ALERT["id"])
        await press(pilot, "R")
        form = await form_of(app, pilot)
        assert [(row.field.name, row.field.required) for row in form.rows[:3]] == [
            ("limit", True),
            ("mode", True),
            ("note", False),
        ]
        await press(pilot, *"five", "tab", "right", "enter")
        await until(pilot, lambda: form.rows[0].has_class("-wrong") and "Must be of type number." in shown(app))
        assert not any(call[0] == "run" for call in library.calls)
        await press(pilot, *["backspace"] * 4, *"5.5", "enter")
        await until(pilot, lambda: app.session.skills.run is not None)
        assert ("run", ALERT["id"], ("--limit", "5.5", "--mode", "below"), DEVICE.serial) in library.calls


@SIZES
async def test_back_from_the_output_to_the_same_skill(size: tuple[int, int]) -> None:
    async with skills_mode(FakeLibrary(), size=size) as (app, pilot, _):
        await to_skill(app, pilot, PRICE["id"])
        await press(pilot, "g", "o")
        await until(pilot, lambda: isinstance(app.screen.focused, SkillOutput))
        await press(pilot, "escape")
        await drained(pilot)
        if size[0] < 100:
            assert app.screen.focused is list_of(app)
        assert list_of(app).skill is not None
        assert list_of(app).skill.id == PRICE["id"]  # type: ignore[union-attr]


async def test_the_card_opens_over_the_list_on_small_screens() -> None:
    async with skills_mode(FakeLibrary(), size=(80, 24)) as (app, pilot, _):
        await to_skill(app, pilot, PRICE["id"])
        await press(pilot, "enter")
        await until(pilot, lambda: "price.recipe.md" in shown(app))
        await press(pilot, "escape")
        await drained(pilot)
        assert "price.recipe.md" not in shown(app)


async def test_escape_clears_the_search_last() -> None:
    async with skills_mode(FakeLibrary(), size=(80, 24)) as (app, pilot, _):
        await press(pilot, "slash", *"price", "enter")
        assert len(list_of(app).shown) == 2
        assert "2 of 4 skills  / price" in shown(app)
        await press(pilot, "escape")
        await drained(pilot)
        assert len(list_of(app).shown) == 4


async def test_a_search_that_hides_all_says_so() -> None:
    async with skills_mode(FakeLibrary()) as (app, pilot, _):
        await press(pilot, "slash", *"zebra")
        await drained(pilot)
        assert "No skill matches all of: zebra." in shown(app)
        await press(pilot, "escape")
        await drained(pilot)
        assert len(list_of(app).shown) == 4


# -- running


async def test_output_is_live_and_the_run_goes_on_in_other_modes() -> None:
    library = FakeLibrary(hold=asyncio.Event())
    async with skills_mode(library) as (app, pilot, engine):
        await to_skill(app, pilot, SETTINGS["id"])
        await press(pilot, "R")
        await form_of(app, pilot)
        await press(pilot, "enter")
        await until(pilot, lambda: "price=4.99" in shown(app))
        assert "C cancel" in shown(app)
        assert [follow.device_id for follow in engine.follows] == [DEVICE.serial]  # the tree follows
        await press(pilot, "1")
        await drained(pilot)
        assert "● overview" in shown(app)
        library.hold.set()  # type: ignore[union-attr]
        await until(pilot, lambda: app.session.skills.run is not None and not app.session.skills.run.running)
        await until(pilot, lambda: app.session.follow is None and "overview: done" in notice(app))
        assert "● overview" not in shown(app)


async def test_who_follows_already_goes_on_following() -> None:
    async with skills_mode(FakeLibrary()) as (app, pilot, engine):
        app.bridge.toggle_follow()
        await until(pilot, lambda: app.session.follow is not None)
        await to_skill(app, pilot, SETTINGS["id"])
        await press(pilot, "R")
        await form_of(app, pilot)
        await press(pilot, "enter")
        await until(pilot, lambda: app.session.skills.run is not None and not app.session.skills.run.running)
        await drained(pilot)
        assert app.session.follow is not None
        assert len(engine.follows) == 1


@pytest.mark.ci
async def test_one_skill_at_a_time_and_c_ends_it() -> None:
    library = FakeLibrary(hold=asyncio.Event())
    async with skills_mode(library) as (app, pilot, _):
        await to_skill(app, pilot, SETTINGS["id"])
        await press(pilot, "R")
        await form_of(app, pilot)
        await press(pilot, "enter")
        await until(pilot, lambda: app.skills.busy)
        await press(pilot, "R")
        await drained(pilot)
        assert "is already running. C stops it" in notice(app)
        await press(pilot, "C")
        await until(pilot, lambda: not app.skills.busy)
        assert library.calls[-1] == "ended"
        await until(pilot, lambda: "cancelled" in shown(app))
        assert app.session.skills.results[SETTINGS["id"]].status is Status.SKIPPED
        await press(pilot, "C")
        await drained(pilot)
        assert "cancelled" in shown(app)


async def test_a_failure_has_its_exit_code_and_a_next_step() -> None:
    failed = EngineError(
        ErrorCode.SKILL_EXECUTION_FAILED, "Skill x exited with code 3", extra={"exitCode": 3, "stderr": "boom"}
    )
    async with skills_mode(FakeLibrary(fail=failed)) as (app, pilot, _):
        await to_skill(app, pilot, SETTINGS["id"])
        await press(pilot, "R")
        await form_of(app, pilot)
        await press(pilot, "enter")
        await until(pilot, lambda: "✗ exit 3" in shown(app))
        assert "SKILL_EXECUTION_FAILED" in shown(app)
        assert app.session.last_problem is not None
        assert app.session.last_problem.code == "SKILL_EXECUTION_FAILED"


async def test_a_recipe_that_was_not_confirmed_has_failed() -> None:
    errors = ({"code": "VERIFY_FAILED", "message": "press was not confirmed"},)
    async with skills_mode(FakeLibrary(play_errors=errors)) as (app, pilot, _):
        await to_skill(app, pilot, PRICE["id"])
        await press(pilot, "R")
        await form_of(app, pilot)
        await press(pilot, *"Milk", "enter")
        await until(pilot, lambda: "VERIFY_FAILED" in shown(app))
        assert app.session.skills.results[PRICE["id"]].status is Status.FAILED


async def test_without_a_device_nothing_runs() -> None:
    engine = FakeEngine(present=())
    app = make_app(engine, skills=FakeLibrary())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.session.devices_known)
        await press(pilot, "5")
        await until(pilot, lambda: app.session.skills.known)
        await press(pilot, "R")
        await drained(pilot)
        assert "No device is selected" in notice(app)


async def test_a_read_only_console_runs_none() -> None:
    async with skills_mode(FakeLibrary(), read_only=True) as (app, pilot, _):
        await press(pilot, "R")
        await drained(pilot)
        assert "Read-only" in notice(app)
        assert isinstance(app.screen, SkillsScreen)


async def test_leaving_asks_about_what_runs() -> None:
    library = FakeLibrary(hold=asyncio.Event())
    async with skills_mode(library) as (app, pilot, _):
        await to_skill(app, pilot, SETTINGS["id"])
        await press(pilot, "R")
        await form_of(app, pilot)
        await press(pilot, "enter")
        await until(pilot, lambda: app.skills.busy)
        await press(pilot, "ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, ConfirmDialog))
        await drained(pilot)
        text = " ".join(shown(app).replace("┃", " ").split())
        assert "This cancels the skill overview" in text
