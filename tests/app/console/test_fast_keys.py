"""Keys at any speed: bursts through every dialog, with gaps from nothing to a tenth of a second, and none ends the console."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.widgets import Input

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.screens.dialogs import DeviceDialog
from clawperator.app.console.screens.forms import Form
from clawperator.widgets import keys
from tests.app.console.support import DEVICE, SECOND, FakeEngine, drained, settings_screen, until
from tests.app.console.test_console_journeys import console
from tests.support import patience

GAPS = (0.0, 0.0, 0.005, 0.03, 0.1)
"""Seconds between two keys: a paste, a fast hand, a slow one."""

TAILS: Sequence[Sequence[str]] = (
    ("enter", "enter"),
    ("enter", "enter", "enter"),
    ("x", "enter", "enter"),
    ("escape", "escape"),
    ("enter", "escape"),
    ("down", "enter", "up", "enter"),
    ("j", "enter", "escape", "enter"),
    ("tab", "space", "enter", "enter"),
)
BURSTS = 25
"""Of all openers of a mode: enough to come by every kind of dialog, few enough for every run of the suite."""

LEAVING = frozenset({"ctrl+q", "ctrl+z", "q", "ctrl+c"})
"""Keys that end or stop the console, as they should."""


def send(app: ConsoleApp, key: str) -> None:
    """A key as the terminal's reader hands it over: without waiting for what it does."""
    name = _character_to_key(key) if len(key) == 1 else key
    assert app._driver is not None
    app._driver.send_message(events.Key(name, key if len(key) == 1 else None))


async def play(app: ConsoleApp, pilot: Pilot[int], keys: Sequence[str], gaps: Sequence[float]) -> None:
    for key, gap in zip(keys, gaps, strict=True):
        send(app, key)
        await asyncio.sleep(gap)  # the gap is what is tested; nothing is waited for with it
    await until(pilot, lambda: not app._keys.under_way)


async def back_to_the_mode(app: ConsoleApp, pilot: Pilot[int]) -> None:
    for _ in range(20):
        async with asyncio.timeout(patience(20)):
            await drained(pilot)
        if app.screen is app.mode_screen:
            return
        await pilot.press("escape")
    raise AssertionError(f"{app.screen} does not close")


def openers(app: ConsoleApp) -> list[list[str]]:
    """Every key that the first mode has, and of the others what is theirs; with the second keys of the menus."""
    assert app.mode_screen is not None
    first = app.current_mode == "inspect"
    shared = {binding.id for scope in ("app", "screen", "pane") for binding in keys.bindings(scope)}
    active = app.screen.active_bindings.items()
    single = [[key] for key, bound in active if key not in LEAVING and (first or bound.binding.id not in shared)]
    menus = [menu for menu in app.mode_screen.menus() if first or menu.prefix not in "yg"]
    return [*single, *([menu.prefix, choice.item.key] for menu in menus for choice in menu.choices)]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some keys save a file under the name that a form offers."""
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("mode", ["1", *(pytest.param(mode, marks=pytest.mark.ci) for mode in "234567")])
async def test_no_burst_of_keys_ends_the_console(mode: str) -> None:
    chance = random.Random(f"mode {mode}")
    async with console() as (app, pilot, _):
        await pilot.press(mode)
        await drained(pilot)
        began = app.current_mode
        every = openers(app)
        for opener in chance.sample(every, min(len(every), BURSTS)):
            burst = [*opener, *chance.choice(TAILS)]
            await play(app, pilot, burst, [chance.choice(GAPS) for _ in burst])
            await back_to_the_mode(app, pilot)
            if app.current_mode != began:
                await pilot.press(mode)
                await drained(pilot)


@pytest.mark.parametrize("gap", [0.0, *(pytest.param(gap, marks=pytest.mark.ci) for gap in (0.02, 0.1))])
@pytest.mark.parametrize("opened", ["colon", "ctrl+p"])
@pytest.mark.parametrize("typed", ["", "x", "stream"])
async def test_a_burst_through_the_palette_does_one_thing(opened: str, typed: str, gap: float) -> None:
    """What ⏎ chooses fits the letters before it, however fast they came; the second ⏎ is not the palette's any more."""
    async with console() as (app, pilot, _):
        keys = [opened, *typed, "enter", "enter"]
        await play(app, pilot, keys, [gap] * len(keys))
        await until(pilot, lambda: app.screen is app.mode_screen or not typed)
        await back_to_the_mode(app, pilot)
        expected = "stream" if typed == "stream" else "inspect"
        await until(pilot, lambda: app.current_mode == expected)


async def test_a_burst_into_a_dialog_answers_once() -> None:
    """The second ⏎ took away the mode below."""
    async with console(FakeEngine(screen=settings_screen(), present=(DEVICE, SECOND)), look=False) as (app, pilot, _):
        await until(pilot, lambda: isinstance(app.screen, DeviceDialog))
        await play(app, pilot, ["enter"] * 4, [0.0] * 4)
        await until(pilot, lambda: app.session.device_id == DEVICE.serial)
        await back_to_the_mode(app, pilot)


async def test_letters_before_a_form_is_there_are_its_own() -> None:
    async with console() as (app, pilot, _):
        keys = ["a", "o", *"com.example"]
        await play(app, pilot, keys, [0.0] * len(keys))
        await until(pilot, lambda: isinstance(app.screen, Form) and app.screen.is_mounted)
        field = app.screen.query_one("#answer", Input)
        await until(pilot, lambda: field.value == "com.example")
