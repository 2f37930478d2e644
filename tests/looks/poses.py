"""What the pictures have in common: sizes, the engine behind them, and what happens before one is taken."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

import pytest
from textual import events

from clawperator.app.console.devices.screen import DevicesScreen
from clawperator.app.console.history.screen import HistoryScreen
from clawperator.app.console.inspect.screen import InspectScreen
from clawperator.app.console.run.screen import RunScreen
from clawperator.app.console.screens.two_pane import TwoPaneScreen
from clawperator.widgets.row_panes import RowList
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

SIZES = [
    pytest.param((80, 24), id="80x24", marks=pytest.mark.ci),
    pytest.param((120, 36), id="120x36"),
    pytest.param((200, 60), id="200x60", marks=pytest.mark.ci),
]
"""CI takes the pictures at every size; other runs take those at the middle one. The largest is for another arrangement of panes."""
AT_SIZES = pytest.mark.parametrize("size", SIZES)
TWO_SIZES = pytest.mark.parametrize("size", SIZES[:2])
Compare = Callable[..., bool]
Before = Callable[[Any], Awaitable[None]]


class Typed(str):
    """Words for the field that has the focus: one event instead of one for each letter, which takes its time."""

    __slots__ = ()


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
            engine.now.at = NOON + 31  # type: ignore[attr-defined]  # the movable clock
            engine.publish(*mixed_stream(NOON + 1))
            engine.log(log_lines(300))
            await until(pilot, lambda: app.session.lines.end == 300 and len(app.session.log.items) > 7)
        if on:
            tree = app.screen.tree_pane
            tree.reveal_node(next(node for node in tree.snapshot.nodes if node.label == on))
            tree._rested()
            await drained(pilot)
        await press(pilot, *keys)

    return run


async def press(pilot: Any, *keys: str) -> None:
    """These keys one after the other, and all that follows from them."""
    for key in keys:
        if isinstance(key, Typed):
            pilot.app.screen.focused.post_message(events.Paste(key))
        else:  # the pilot's own way looks whether the processor rests, which costs most of the time of a picture
            pilot.app.post_message(events.Key(key, key if len(key) == 1 else None))
        await quiet(pilot)  # the next key meets the panes in their new places
        if isinstance(pilot.app.mode_screen, HistoryScreen):
            await recalled(pilot, pilot.app.mode_screen)  # and the rows that the one before has asked the disk for
    await at_rest(pilot)


async def quiet(pilot: Any) -> None:
    """Nobody has anything left to do: app → screen → pane → layout → what another size leads to."""
    for _ in range(4):
        await drained(pilot)
    await until(pilot, lambda: not any(_unfinished(widget) for widget in pilot.app.screen.walk_children()))
    for _ in range(3):
        await drained(pilot)


def _unfinished(widget: Any) -> bool:
    """Return whether the widget waits for its layout, or its rows are still those of another width."""
    if widget._layout_required:
        return True
    folds = isinstance(widget, RowList) and widget._rows_for is not None and widget.content_size.width > 0
    return folds and widget._rows_width != widget.content_size.width


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
        await quiet(pilot)
        screen.tree_pane.top = (
            0  # how far it has scrolled depends on which came first, a line that opened or the cursor
        )
        screen.tree_pane.reveal(screen.tree_pane.cursor)
    if isinstance(screen, DevicesScreen):
        await until(pilot, lambda: pilot.app.session.machines.known)
    if isinstance(screen, TwoPaneScreen):
        await drained(pilot)
        screen.show_detail()
    if isinstance(screen, RunScreen):
        screen.area.editor.settle()  # what was typed is read when that rests
    if isinstance(screen, HistoryScreen):
        await recalled(pilot, screen)
    await quiet(pilot)  # a message may travel pane → screen → app → screen → pane
    await quiet(pilot)


async def recalled(pilot: Any, screen: HistoryScreen) -> None:
    """The page, the run under the cursor and the tree of its moment have been read from the disk."""

    def shown() -> bool:
        run, record, moment = screen.runs.run, screen.record, screen.scrubber.moment
        if screen.area.page is None or run is None or record is None:
            return screen.past.history is None or (screen.area.page is not None and run is None and record is None)
        tree_wanted = screen.moment_area.display and moment is not None and moment.tree >= 0
        return record.summary.number == run.number and (not tree_wanted or bool(screen.tree_pane.snapshot))

    await drained(pilot)
    screen.draw_ages()
    await until(pilot, shown)
    await until(pilot, lambda: not any(worker.node is screen for worker in screen.workers))
    await drained(pilot)
