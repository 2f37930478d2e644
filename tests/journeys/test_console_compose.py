"""Recording while acting, and composing by form, on a simulated device through the real adb: by keys and by mouse."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.pilot import Pilot

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.execution.dispatch_dialogs import DispatchDialog
from clawperator.app.console.run.screen import RunScreen
from clawperator.widgets.models.status import Status
from tests.app.console.support import FakeClipboard, MemoryStore, until

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]
SETTINGS = "com.android.settings"


@asynccontextmanager
async def console(connect: Connect, size: tuple[int, int] = (120, 36)) -> AsyncIterator[tuple[ConsoleApp, Pilot[int]]]:
    """The console on a device that shows the settings, when doctor and tree are there."""
    bench = await connect(start={"package": SETTINGS})
    app = ConsoleApp(bench.engine, clipboard=FakeClipboard(), drafts=MemoryStore(), wanted_device=bench.serial)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: app.session.report.ended and app.session.trees.shown and not app.session.lock)
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
