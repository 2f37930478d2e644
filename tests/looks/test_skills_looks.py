"""Pictures of mode 5: list and card, the form with its errors, the plan that comes of it, output, lint, and the empty shelf."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.skills.form import SkillForm
from clawperator.app.console.skills.screen import SkillsScreen
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.describe import SkillIssue
from clawperator.widgets.models.skills import BUILTIN
from clawperator.widgets.skill_list import SkillList
from tests.app.console.fake_skills import FINDINGS, PAST, PRICE, SETTINGS, THERMOSTAT, FakeLibrary
from tests.app.console.support import (
    CHECKS_OK,
    FakeEngine,
    MovableClock,
    drained,
    make_app,
    settings_screen,
    settled,
    until,
)
from tests.looks.poses import AT_SIZES, PINNED, TWO_SIZES, Before, Compare, Typed, at_rest, press

pytestmark = PINNED


def console(library: FakeLibrary | None = None, **more: Any) -> ConsoleApp:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK)
    return make_app(engine, clock=MovableClock(), skills=library or FakeLibrary(past=PAST), **more)


def mode_5(*keys: str, on: str = "", run: bool = False, over: bool = False) -> Before:
    """Mode 5 with the cursor ``on`` a skill, after ``keys``; ``run``: its form is agreed to, ``over``: and it has ended."""

    async def pose(pilot: Any) -> None:
        app = pilot.app
        await settled(pilot)
        await press(pilot, "5")
        await until(pilot, lambda: app.session.skills.known)
        if on:
            app.screen.query_one("#list", SkillList).to_skill(on)
        if app.session.skills.skills:
            await until(pilot, lambda: _read(app))
        await press(pilot, *keys)
        if isinstance(app.screen, SkillForm):
            await until(pilot, lambda: app.screen._known)
        if run:
            await press(pilot, "R")
            await until(pilot, lambda: app.screen._known)
            await press(pilot, "enter")
            await until(pilot, lambda: app.session.skills.run is not None and app.session.skills.run.output.end)
            app.skills._flush()
        if over:
            await until(pilot, lambda: not app.skills.busy)
        await rest(pilot)

    return pose


def _read(app: ConsoleApp) -> bool:
    """Card and lint of the skill under the cursor are there."""
    screen, card = app.screen, app.session.skills.card
    assert isinstance(screen, SkillsScreen)
    screen.show_detail()
    skill = screen.skills.skill
    return card is not None and skill is not None and card.skill_id == skill.id and card.findings is not None


async def rest(pilot: Any) -> None:
    """What was typed has been compiled, and everything is drawn."""
    app = pilot.app
    if isinstance(app.screen, SkillForm):
        await until(pilot, lambda: app.screen._typing is None)
        await until(pilot, lambda: not any(worker.node is app.screen for worker in app.workers))
    for _ in range(2):
        await at_rest(pilot)
        await until(pilot, lambda: not any(widget._layout_required for widget in app.screen.walk_children()))
    await drained(pilot)


@AT_SIZES
def test_list_and_card(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(console(), terminal_size=size, run_before=mode_5(on=PRICE["id"]))


@pytest.mark.ci
def test_card_over_the_list(snap_compare: Compare) -> None:
    assert snap_compare(console(), terminal_size=(80, 24), run_before=mode_5("enter", on=THERMOSTAT["id"]))


@TWO_SIZES
def test_search(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(console(), terminal_size=size, run_before=mode_5("slash", Typed("price")))


@pytest.mark.ci
@TWO_SIZES
def test_form_errors(snap_compare: Compare, size: tuple[int, int]) -> None:
    pose = mode_5("R", Typed("Bedside lamp"), "enter", on=THERMOSTAT["id"])
    assert snap_compare(console(), terminal_size=size, run_before=pose)


@pytest.mark.ci
@TWO_SIZES
def test_compile_preview(snap_compare: Compare, size: tuple[int, int]) -> None:
    pose = mode_5("i", Typed("Oat milk"), on=PRICE["id"])
    assert snap_compare(console(), terminal_size=size, run_before=pose)


@pytest.mark.ci
@TWO_SIZES
def test_compile_error(snap_compare: Compare, size: tuple[int, int]) -> None:
    wrong = EngineError(
        ErrorCode.RECIPE_VERIFICATION_MISSING,
        "Step press clicks in an action, and nothing after it verifies that",
        details={"file": "skills/com.example.shop.read-price/artifacts/price.recipe.md", "line": 31, "stepId": "press"},
    )
    pose = mode_5("i", Typed("Oat milk"), "enter", on=PRICE["id"])
    library = FakeLibrary(past=PAST, compile_error=wrong)
    assert snap_compare(console(library), terminal_size=size, run_before=pose)


@AT_SIZES
def test_output_running(snap_compare: Compare, size: tuple[int, int]) -> None:
    library = FakeLibrary(past=PAST, hold=asyncio.Event())
    assert snap_compare(console(library), terminal_size=size, run_before=mode_5(on=SETTINGS["id"], run=True))


@pytest.mark.ci
@TWO_SIZES
def test_output_failed(snap_compare: Compare, size: tuple[int, int]) -> None:
    failed = EngineError(
        ErrorCode.SKILL_EXECUTION_FAILED,
        "Skill com.android.settings.overview exited with code 3",
        extra={"exitCode": 3, "stderr": "boom"},
    )
    pose = mode_5(on=SETTINGS["id"], run=True, over=True)
    assert snap_compare(console(FakeLibrary(past=PAST, fail=failed)), terminal_size=size, run_before=pose)


@pytest.mark.ci
@TWO_SIZES
def test_lint(snap_compare: Compare, size: tuple[int, int]) -> None:
    library = FakeLibrary(past=PAST, lints=FINDINGS)
    assert snap_compare(console(library), terminal_size=size, run_before=mode_5("v", on=PRICE["id"]))


@pytest.mark.ci
def test_what_comes_along(snap_compare: Compare) -> None:
    none = SkillIssue("No registry is installed.", "REGISTRY_READ_FAILED", "Press U to fetch the repository's skills.")
    library = FakeLibrary(source=BUILTIN, trouble=none)
    assert snap_compare(console(library), terminal_size=(120, 36), run_before=mode_5())


def test_broken_registry(snap_compare: Compare) -> None:
    broken = EngineError(
        ErrorCode.REGISTRY_READ_FAILED,
        "Cannot read the skills registry /home/x/skills/skills-registry.json: Expecting value at line 3, column 1",
        hint="Run `clawperator skills install`, or name a registry with --registry <file>.",
    )
    assert snap_compare(console(FakeLibrary(find_error=broken)), terminal_size=(80, 24), run_before=mode_5())


@pytest.mark.ci
def test_fetching(snap_compare: Compare) -> None:
    library = FakeLibrary(past=PAST, hold=asyncio.Event())

    async def pose(pilot: Any) -> None:
        await mode_5(on=PRICE["id"])(pilot)
        pilot.app.skills.sync("main")
        await until(pilot, lambda: pilot.app.skills.syncing is not None and pilot.app.skills.syncing.current)
        await rest(pilot)

    assert snap_compare(console(library), terminal_size=(120, 36), run_before=pose)


@pytest.mark.ci
def test_running_in_another_mode_in_ascii(snap_compare: Compare) -> None:
    library = FakeLibrary(past=PAST, hold=asyncio.Event())

    async def pose(pilot: Any) -> None:
        await mode_5(on=SETTINGS["id"], run=True)(pilot)
        await press(pilot, "6")

    assert snap_compare(console(library, ascii_only=True), terminal_size=(120, 36), run_before=pose)


@pytest.mark.ci
@pytest.mark.parametrize("theme", ["claw-light", "claw-contrast"])
def test_themes(snap_compare: Compare, theme: str) -> None:
    library = FakeLibrary(past=PAST)
    pose = mode_5(on=SETTINGS["id"], run=True, over=True)
    assert snap_compare(console(library, theme=theme), terminal_size=(120, 36), run_before=pose)


@pytest.mark.ci
def test_without_colour(snap_compare: Compare) -> None:
    pose = mode_5(on=SETTINGS["id"], run=True, over=True)
    app = console(theme="claw-mono", no_colour=True)
    assert snap_compare(app, terminal_size=(120, 36), run_before=pose)


@pytest.mark.ci
def test_in_ascii(snap_compare: Compare) -> None:
    pose = mode_5(on=THERMOSTAT["id"])
    assert snap_compare(console(ascii_only=True), terminal_size=(120, 36), run_before=pose)
