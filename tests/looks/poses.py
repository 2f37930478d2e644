"""What the pictures have in common: sizes, the engine behind them, and what happens before one is taken."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

import pytest

from clawperator.app.console.screens.inspect import InspectScreen
from clawperator.app.console.screens.two_pane import TwoPaneScreen
from tests.app.console.support import (
    CHECKS_OK,
    NOON,
    FakeEngine,
    drained,
    log_lines,
    mixed_stream,
    settings_screen,
    settled,
    until,
)

PINNED = [
    pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="looks are pinned on Python 3.11"),
    pytest.mark.skipif(version("textual") != "8.2.8", reason="looks are pinned on Textual 8.2.8"),
]

SIZES = [(80, 24), (120, 36), (200, 60)]
SIZE_IDS = ["80x24", "120x36", "200x60"]
Compare = Callable[..., bool]
Before = Callable[[Any], Awaitable[None]]


def plain_engine() -> FakeEngine:
    return FakeEngine(screen=settings_screen(), checks=CHECKS_OK)


def before(
    *keys: str, engine: FakeEngine | None = None, busy: bool = False, first_look: bool = True, on: str = ""
) -> Before:
    """What happens before the picture is taken: the first look, some traffic, the cursor ``on`` a label, some keys."""

    async def run(pilot: Any) -> None:
        app = pilot.app
        if first_look:
            await settled(pilot)
        else:
            await until(pilot, lambda: app.session.devices_known)
        if busy and engine is not None:
            engine.publish(*mixed_stream(NOON - 30))
            engine.log(log_lines(300))
            await until(pilot, lambda: app.session.lines.end == 300 and len(app.session.log.items) > 7)
        if on:
            tree = app.screen.tree_pane
            tree.reveal_node(next(node for node in tree.snapshot.nodes if node.label == on))
            tree._rested()
            await drained(pilot)
        for key in keys:
            await pilot.press(key)
        await at_rest(pilot)

    return run


async def at_rest(pilot: Any) -> None:
    """Everything that follows the cursor has followed; the key bar shows the keys of the focused pane."""
    screen = pilot.app.mode_screen
    pilot.app._second()  # what is told once a second is told now, not whenever this machine gets there
    if isinstance(screen, InspectScreen):
        await until(pilot, lambda: not pilot.app.session.trees.shown.coming)
        screen.tree_pane._rested()
        await drained(pilot)
        screen.bench_pane.draw()  # it follows typing when that rests
        screen._draw_bench()
    if isinstance(screen, TwoPaneScreen):
        await drained(pilot)
        screen.show_detail()
    for _ in range(6):  # a message may travel pane → screen → app → screen → pane
        await drained(pilot)
