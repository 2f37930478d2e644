"""Recording while acting, and composing by form, on a simulated device through the real adb: by keys and by mouse."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.execution.dispatch_dialogs import DispatchDialog
from clawperator.app.console.inspect.screen import InspectScreen
from clawperator.app.console.run.screen import RunScreen
from clawperator.app.console.run.step_form import StepForm
from clawperator.app.console.screens.menu import MenuDialog, MenuList
from clawperator.app.console.stream.screen import StreamScreen
from clawperator.widgets.header import HeaderLine
from clawperator.widgets.key_bar import KeyBar
from clawperator.widgets.models.status import Status
from clawperator.widgets.skill_form import OneOf
from tests.app.console.execution.test_dispatcher import text_of
from tests.app.console.support import FakeClipboard, MemoryStore, drained, settled, until

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]
SETTINGS = "com.android.settings"


@asynccontextmanager
async def console(connect: Connect, size: tuple[int, int] = (120, 36)) -> AsyncIterator[tuple[ConsoleApp, Pilot[int]]]:
    """The console on a device that shows the settings, when doctor and tree are there."""
    bench = await connect(start={"package": SETTINGS})
    app = ConsoleApp(bench.engine, clipboard=FakeClipboard(), drafts=MemoryStore(), wanted_device=bench.serial)
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        await until(pilot, lambda: not app.session.lock and not app.session.doctor_busy)
        await drained(pilot)  # the header has its last layout: its tabs stay where they are
        yield app, pilot


def steps(app: ConsoleApp) -> list[tuple[str, dict[str, Any]]]:
    return [(str(step["type"]), dict(step.get("params", {}))) for step in app.drafts.draft.steps]


async def act(pilot: Pilot[int], *keys: str) -> None:
    """Press the keys of an action, confirm it, and wait until its result and its effect were recorded."""
    app = pilot.app
    assert isinstance(app, ConsoleApp)
    before = sum("Recorded as step" in notice.text for notice in app.session.notices)
    await pilot.press(*keys)
    await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
    await pilot.press("enter")
    await until(pilot, lambda: sum("Recorded as step" in notice.text for notice in app.session.notices) > before)


async def act_unrecorded(pilot: Pilot[int], *keys: str) -> None:
    """Run an action, and wait for its result and the tree after it."""
    app = pilot.app
    assert isinstance(app, ConsoleApp)
    shown = app.session.trees.shown.at
    await pilot.press(*keys)
    await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
    await pilot.press("enter")
    await until(pilot, lambda: app.session.trees.shown.at > shown and not app.session.lock)


async def run_draft(pilot: Pilot[int]) -> list[Status]:
    """Run the draft in mode 3; return the state of each step when the device has done all of it."""
    app = pilot.app
    assert isinstance(app, ConsoleApp)
    await until(pilot, lambda: isinstance(app.screen, RunScreen) and app.screen.is_mounted)
    await pilot.press("R")
    await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
    await pilot.press("enter")
    return await run_of_draft(pilot)


async def run_of_draft(pilot: Pilot[int]) -> list[Status]:
    """Wait until the draft's run is over; return the state of each step."""
    app = pilot.app
    assert isinstance(app, ConsoleApp)
    log = app.session.log
    await until(pilot, lambda: (run := log.find(app.drafts.last_run or "–")) is not None and run.over)
    run = log.find(app.drafts.last_run)
    assert run is not None
    return [step.status for step in run.steps]


async def find(pilot: Pilot[int], words: str, label: str) -> None:
    """Search the tree, and wait until its cursor is on the node with that label."""
    await pilot.press("slash", "escape", "slash", *words, "enter")
    await until(pilot, lambda: pilot.app.screen.tree_pane.node.label == label)  # type: ignore[attr-defined]  # mode 1


@pytest.mark.ci
async def test_three_recorded_steps_run_again(connect: Connect) -> None:
    async with console(connect) as (app, pilot):
        await pilot.press("I")
        await until(pilot, lambda: any(chip.id == "recording" for chip in app.chips(narrow=False)))
        await find(pilot, "network", "Network & internet")
        await act(pilot, "a", "t")
        await act(pilot, "a", "k", "b")
        await find(pilot, "battery", "Battery")
        await act(pilot, "a", "t")
        await pilot.press("I")
        await until(pilot, lambda: not app.recorder.on)
        recorded = steps(app)
        assert recorded[0::2] == [
            ("click", {"matcher": {"textEquals": "Network & internet"}}),
            ("press_key", {"key": "back"}),
            ("click", {"matcher": {"textEquals": "Battery"}}),
        ]
        assert [kind for kind, _ in recorded[1::2]] == ["wait_for_node"] * 3
        homepage = {"matcher": {"resourceId": f"{SETTINGS}:id/homepage_title"}}
        assert recorded[3] == ("wait_for_node", homepage), "what was not there before"
        await act_unrecorded(pilot, "a", "k", "b")
        assert steps(app) == recorded
        await pilot.press("3")
        assert await run_draft(pilot) == [Status.OK] * 6


async def pick(pilot: Pilot[int], form: StepForm, words: str, label: str) -> None:
    """Go to the tree and back with the selector of the node with that label."""
    app = pilot.app
    await pilot.press("ctrl+o")
    await until(pilot, lambda: isinstance(app.screen, InspectScreen))
    await find(pilot, words, label)
    await pilot.press("p")
    await until(pilot, lambda: app.screen is form and form.rows[0].value)


async def form_of(pilot: Pilot[int], *keys: str) -> StepForm:
    """Press keys that open the form of a step."""
    app = pilot.app
    await pilot.press(*keys)
    await until(pilot, lambda: isinstance(app.screen, StepForm) and app.screen.rows and app.screen.focused)
    assert isinstance(app.screen, StepForm)
    return app.screen


COMPOSED = [
    ("open_app", {"applicationId": SETTINGS}),
    ("wait_for_node", {"matcher": {"textEquals": "Network & internet"}, "retry": {"maxAttempts": 3}}),
    ("click", {"matcher": {"textEquals": "Battery"}}),
    ("press_key", {"key": "back"}),
    ("snapshot_ui", {}),
]


@pytest.mark.parametrize("size", [(80, 24), pytest.param((120, 36), marks=pytest.mark.ci)])
async def test_a_plan_composed_by_form_from_nothing_runs(connect: Connect, size: tuple[int, int]) -> None:
    async with console(connect, size) as (app, pilot):
        await pilot.press("3")
        await until(pilot, lambda: isinstance(app.screen, RunScreen) and app.screen.is_mounted)
        await form_of(pilot, "i", "o")
        await pilot.press(*SETTINGS, "enter")
        await until(pilot, lambda: len(steps(app)) == 1)
        form = await form_of(pilot, "i", "w")
        await pick(pilot, form, "network", "Network & internet")
        await pilot.press(*["tab"] * 6, *"maxAttempts=3", "enter")
        await until(pilot, lambda: len(steps(app)) == 2)
        await form_of(pilot, "i", "n")
        await pilot.press("enter")
        await until(pilot, lambda: len(steps(app)) == 3)
        form = await form_of(pilot, "i", "t")
        await pick(pilot, form, "battery", "Battery")
        await pilot.press("enter")
        await until(pilot, lambda: len(steps(app)) == 4)
        await form_of(pilot, "i", "k")
        await pilot.press("right", "right", "enter")
        await until(pilot, lambda: len(steps(app)) == 5)
        form = await form_of(pilot, "enter")
        await pilot.press("left", "enter")
        await until(pilot, lambda: steps(app)[4][1] == {"key": "back"})
        run = app.screen
        assert isinstance(run, RunScreen)
        await until(pilot, lambda: run.area.steps.cursor == 4)
        run.area.steps.move_to(2)
        await pilot.press("greater_than_sign", "greater_than_sign")
        await until(pilot, lambda: steps(app) == COMPOSED)
        await form_of(pilot, "i", "z")
        await pilot.press("9", "enter")
        await until(pilot, lambda: len(steps(app)) == 6 and run.area.steps.cursor == 5)
        await pilot.press("delete")
        await until(pilot, lambda: steps(app) == COMPOSED)
        assert await run_draft(pilot) == [Status.OK] * 5


async def click_key(pilot: Pilot[int], key: str) -> None:
    """Click a key of the key bar, when it is shown."""
    app = pilot.app
    await until(pilot, lambda: any(hit[2] == key for hit in app.screen.query_one(KeyBar)._hits))
    bar = app.screen.query_one(KeyBar)
    start = next(start for start, _, name in bar._hits if name == key)
    await pilot.click(bar, offset=(start, 0))


async def add_by_mouse(pilot: Pilot[int], kind: str) -> StepForm:
    """Choose a step's type by clicks; return its form."""
    app = pilot.app
    assert isinstance(app, ConsoleApp)
    await click_key(pilot, "i")
    await until(pilot, lambda: isinstance(app.screen, MenuDialog) and app.screen.query_one(MenuList).rows)
    menu = app.screen.query_one(MenuList)
    place = next(place for place, row in enumerate(menu.rows) if row.place == kind)
    await until(pilot, lambda: menu.size.height > place)
    await pilot.click(menu, offset=(3, place))
    await until(pilot, lambda: isinstance(app.screen, StepForm) and '{"id"' in text_of(app))
    await drained(pilot)  # the form has its height: its keys stay where they are
    assert isinstance(app.screen, StepForm)
    return app.screen


@pytest.mark.ci
async def test_a_plan_composed_by_mouse_runs(connect: Connect) -> None:
    """Only the text of a field is typed."""
    async with console(connect) as (app, pilot):
        header = app.screen.query_one(HeaderLine)
        start = next(start for start, _, action in header._hits if action == "mode('run')")
        await pilot.click(header, offset=(start + 2, 0))
        await until(pilot, lambda: isinstance(app.screen, RunScreen) and app.screen.is_mounted)
        await add_by_mouse(pilot, "open_app")
        await pilot.press(*SETTINGS)
        await click_key(pilot, "enter")
        await until(pilot, lambda: len(steps(app)) == 1)

        form = await add_by_mouse(pilot, "click")
        await click_key(pilot, "ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, InspectScreen))
        inspect = app.screen
        assert isinstance(inspect, InspectScreen)
        tree = inspect.tree_pane
        wanted = next(node for node in tree.snapshot.nodes if node.label == "Network & internet")
        row = next(row for row in range(tree.row_count()) if tree.model.rows[row].node is wanted)
        await pilot.click(tree, offset=(20, row - tree.scroll_offset.y))
        await until(pilot, lambda: tree.node is wanted)
        await click_key(pilot, "p")
        await until(pilot, lambda: app.screen is form and form.rows[0].value)
        await click_key(pilot, "enter")
        await until(pilot, lambda: len(steps(app)) == 2)

        form = await add_by_mouse(pilot, "press_key")
        choice = form.rows[0].entry
        assert isinstance(choice, OneOf)
        await until(pilot, lambda: choice._hits)
        await pilot.click(choice, offset=(choice._hits[choice.words.index("back")][0], 0))
        await until(pilot, lambda: choice.value == "back")
        await click_key(pilot, "enter")
        await until(pilot, lambda: len(steps(app)) == 3)
        assert steps(app) == [
            ("open_app", {"applicationId": SETTINGS}),
            ("click", {"matcher": {"textEquals": "Network & internet"}}),
            ("press_key", {"key": "back"}),
        ]
        await click_key(pilot, "R")
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        await click_key(pilot, "enter")
        assert await run_of_draft(pilot) == [Status.OK] * 3


@pytest.mark.ci
async def test_recording_by_mouse_and_the_steps_of_a_run_of_the_history(connect: Connect) -> None:
    async with console(connect) as (app, pilot):
        await find(pilot, "battery", "Battery")
        app.simulate_key("I")
        await until(pilot, lambda: app.recorder.on)
        await click_key(pilot, "a")
        await until(pilot, lambda: isinstance(app.screen, MenuDialog) and app.screen.query_one(MenuList).rows)
        await pilot.click(app.screen.query_one(MenuList), offset=(3, 0))
        await until(pilot, lambda: isinstance(app.screen, DispatchDialog))
        await click_key(pilot, "enter")
        await until(pilot, lambda: "Recorded as step 1" in app.session.notices[-1].text)
        header = app.screen.query_one(HeaderLine)
        await until(pilot, lambda: any(action == "record" for *_, action in header._hits))
        start = next(start for start, _, action in header._hits if action == "record")
        await pilot.click(header, offset=(start + 1, 0))
        await until(pilot, lambda: not app.recorder.on)
        count = len(steps(app))
        await pilot.press("2")
        await until(pilot, lambda: isinstance(app.screen, StreamScreen) and app.screen.is_mounted)
        stream = app.screen
        assert isinstance(stream, StreamScreen)
        tap = next(run for run in app.session.log.executions if run.command_id.startswith("tap"))
        while stream.stream.execution is not tap:
            await pilot.press("up")
        await pilot.press("i")
        await until(pilot, lambda: len(steps(app)) == count + 1)
        assert [each["id"] for each in app.drafts.draft.steps][-1] == "tap-2"
