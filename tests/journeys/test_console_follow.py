"""The console on a real device's worth of bytes: following a screen that never rests, for long, without growing."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.inspect.screen import InspectScreen
from tests.app.console.support import FakeClipboard, MemoryStore, drained, until

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Any]]

SHORT_TREES, LONG_TREES = 50, 2500
MOST_GROWTH = 3_000_000
"""Bytes: a tree that is kept as a tree, and the rings that are not full yet in the short run; fifty trees would be more."""


def widgets(app: ConsoleApp) -> int:
    return sum(1 for _ in app.screen.walk_children())


def memory() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


async def followed(pilot: Any, trees: int) -> None:
    """Follow until ``trees`` more were painted, while keys are pressed."""
    app, tree = pilot.app, pilot.app.screen.tree_pane
    last = tree.snapshot.serial + trees
    while tree.snapshot.serial < last:
        app.simulate_key("j")
        await asyncio.sleep(0.2)
        app.simulate_key("k")
        await drained(pilot)


@pytest.mark.ci
@pytest.mark.soak
@pytest.mark.timeout(1200)
async def test_the_console_follows_for_long_without_growth(connect: Connect, request: pytest.FixtureRequest) -> None:
    trees = LONG_TREES if request.config.getoption("--soak") else SHORT_TREES
    bench = await connect(start={"package": "com.example.spinner"})
    bench.world.log.resize("main", 64 * 1024)  # the simulated device lives in this process, too
    app = ConsoleApp(bench.engine, clipboard=FakeClipboard(), drafts=MemoryStore(), wanted_device=bench.serial)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.session.report.ended and app.session.trees.shown)
        mode = app.screen
        assert isinstance(mode, InspectScreen)
        await pilot.press("f")
        await until(pilot, lambda: app.session.follow is not None)
        tracemalloc.start()
        try:
            await followed(pilot, trees)
            before, used = widgets(app), memory()
            await followed(pilot, trees)
            after, used_now = widgets(app), memory()
        finally:
            tracemalloc.stop()
        assert after == before
        assert used_now - used < MOST_GROWTH, f"memory grew by {used_now - used} bytes over {trees} trees"
        looks = [item for item in app.session.log.executions if item.follow_snapshots]
        assert sum(item.follow_snapshots for item in looks) > trees
        assert len(looks) < 5, "looks that follow each other are one row"


@pytest.mark.ci
async def test_a_device_that_vanishes_while_followed_keeps_its_tree_and_is_followed_again(connect: Connect) -> None:
    bench = await connect(start={"package": "com.example.spinner"})
    app = ConsoleApp(bench.engine, clipboard=FakeClipboard(), drafts=MemoryStore(), wanted_device=bench.serial)
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.session.report.ended and app.session.trees.shown)
        await pilot.press("f")
        await until(pilot, lambda: app.session.trees.shown.source == "follow")
        await bench.engine.server.disconnect_device(bench.serial)
        await until(pilot, lambda: app.session.follow is not None and app.session.follow.phase == "away")
        assert app.session.gone_since
        shown = app.session.trees.shown
        assert shown, "the last tree stays"
        await bench.engine.server.connect_device(bench.serial)
        await until(pilot, lambda: app.session.trees.shown.serial > shown.serial and not app.session.gone_since)
