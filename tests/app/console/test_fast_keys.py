"""Keys at any speed: bursts through every dialog, with gaps from nothing to a tenth of a second, and none ends the console."""

from __future__ import annotations

import asyncio
import importlib
import pkgutil
import random
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.keys import _character_to_key
from textual.pilot import Pilot
from textual.screen import ModalScreen
from textual.widgets import Input

import clawperator.app.console
from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.devices.lock_dialog import LockDialog
from clawperator.app.console.devices.pair_dialog import PairDialog
from clawperator.app.console.devices.provisioning_dialogs import CreateForm, DeleteForm, PlanDialog
from clawperator.app.console.devices.setup_screen import SetupDialog
from clawperator.app.console.doctor.fix_dialog import FixDialog, Proposal
from clawperator.app.console.execution.dispatch_dialogs import Dispatch, DispatchDialog, TextForm
from clawperator.app.console.history.actions import ExportForm
from clawperator.app.console.palette.dialog import PaletteDialog
from clawperator.app.console.run.as_sent import AsSentDialog
from clawperator.app.console.run.draft_files import RecentDraftsDialog
from clawperator.app.console.run.step_form import StepForm
from clawperator.app.console.screens.dialogs import (
    BlindSpotsDialog,
    ConfirmDialog,
    DeviceDialog,
    HelpDialog,
    ListDialog,
    NoticesDialog,
    TreeCompareDialog,
    TreesDialog,
)
from clawperator.app.console.screens.forms import FieldsForm, Form, QuestionDialog, not_blank
from clawperator.app.console.screens.live_dialog import AskingDialog, LiveDialog
from clawperator.app.console.screens.menu import Choice, ChoiceDialog, Dialog, MenuDialog
from clawperator.app.console.skills.form import SkillForm
from clawperator.app.console.textual_internals import FilteringScreen
from clawperator.engine.doctor.fix import PlannedFix
from clawperator.widgets import keys
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
from tests.app.console.support import DEVICE, SECOND, FakeEngine, drained, make_app, settings_screen, until
from tests.app.console.test_console_journeys import console
from tests.support import patience, varied

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

MONKEY_KEYS = (
    "enter", "enter", "enter", "escape", "tab", "shift+tab", "up", "down", "home", "end", "pagedown", "space", "backspace",
    "delete", "left", "ctrl+p", "question_mark", "slash", "colon", "j", "k", "r", "v", "y", "a", "x", "1",
)  # fmt: skip

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
@pytest.mark.parametrize("opened", ["colon", pytest.param("ctrl+p", marks=pytest.mark.ci)])
@varied("typed", ["", "x", "stream"])
async def test_a_burst_through_the_palette_does_one_thing(opened: str, typed: str, gap: float) -> None:
    """What ⏎ chooses fits the letters before it, however fast they came; the second ⏎ is not the palette's any more."""
    async with console() as (app, pilot, _):
        keys = [opened, *typed, "enter", "enter"]
        await play(app, pilot, keys, [gap] * len(keys))
        await until(pilot, lambda: app.screen is app.mode_screen or not typed)
        await back_to_the_mode(app, pilot)
        expected = "stream" if typed == "stream" else "inspect"
        await until(pilot, lambda: app.current_mode == expected)


STEP: Mapping[str, Any] = {"id": "tap", "type": "click", "params": {"matcher": {"textEquals": "Wi-Fi"}}}
PAYLOAD: Mapping[str, Any] = {"commandId": "cmd-1", "taskId": "t", "source": "console", "actions": [STEP]}
CHOICES = [Choice(item, item.tooltip, True) for item in keys.MENUS["press"]]
PLAN = PlannedFix("adb", "adb start-server", ("adb start-server",), False)

DIALOGS: Mapping[type[ModalScreen[Any]], Callable[[ConsoleApp], ModalScreen[Any]]] = {
    AsSentDialog: lambda _: AsSentDialog(PAYLOAD, PAYLOAD),
    BlindSpotsDialog: lambda _: BlindSpotsDialog([]),
    ChoiceDialog: lambda _: ChoiceDialog("stop waiting", "Which?", CHOICES),
    ConfirmDialog: lambda _: ConfirmDialog("Leave?", "Nothing is stopped."),
    CreateForm: lambda _: CreateForm(frozenset({"phone"}), ("x86_64",)),
    DeleteForm: lambda _: DeleteForm("phone"),
    DeviceDialog: lambda app: DeviceDialog(app.session),
    DispatchDialog: lambda app: DispatchDialog(
        Dispatch("tap", DEVICE.serial, "clawperator action click", PAYLOAD), app
    ),
    ExportForm: lambda _: ExportForm("run.zip"),
    FixDialog: lambda _: FixDialog(Proposal("adb", DEVICE.serial, [PLAN], {})),
    Form: lambda _: Form("save", "File:", not_blank("Enter a file name.")),
    HelpDialog: lambda app: HelpDialog(app.screen.active_bindings, ()),
    LockDialog: lambda app: LockDialog(app.session),
    MenuDialog: lambda _: MenuDialog("press", CHOICES),
    NoticesDialog: lambda app: NoticesDialog([Notice(Status.OK, "Copied")]),
    PaletteDialog: lambda app: PaletteDialog(app.palette.search(), app.palette.preview),
    PairDialog: lambda app: PairDialog(app.engine),
    PlanDialog: lambda app: PlanDialog(app.emulators),
    QuestionDialog: lambda _: QuestionDialog("overwrite", "It exists.", "overwrite"),
    RecentDraftsDialog: lambda app: RecentDraftsDialog([]),
    SetupDialog: lambda _: SetupDialog(),
    SkillForm: lambda app: SkillForm(app.session.skills.skills[0], None, app.skills, DEVICE.serial, for_draft=False),
    StepForm: lambda _: StepForm(STEP, 0, new=False),
    TextForm: lambda _: TextForm("a field"),
    TreeCompareDialog: lambda app: TreeCompareDialog(app.session.trees.newest, app.session.trees.newest, []),
    TreesDialog: lambda app: TreesDialog([app.session.trees.newest]),
}
BASES = frozenset({FilteringScreen, Dialog, AskingDialog, FieldsForm, ListDialog, LiveDialog})


def test_every_dialog_has_a_row() -> None:
    for module in pkgutil.walk_packages(clawperator.app.console.__path__, "clawperator.app.console."):
        importlib.import_module(module.name)
    found: set[type[ModalScreen[Any]]] = set()
    waiting: list[type[ModalScreen[Any]]] = [ModalScreen]
    while waiting:
        below: list[type[ModalScreen[Any]]] = type.__subclasses__(waiting.pop())
        waiting += [kind for kind in below if kind.__module__.startswith("clawperator.")]
        found.update(waiting)
    assert found == {*DIALOGS, *BASES}


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, id=kind.__name__, marks=[] if number % 16 == 0 else pytest.mark.ci)
        for number, kind in enumerate(DIALOGS)
    ],
)
async def test_no_keys_at_any_speed_end_a_dialog_badly(kind: type[ModalScreen[Any]]) -> None:
    """Seeded: the same keys and gaps in every run."""
    chance = random.Random(kind.__name__)
    async with console() as (app, pilot, _):
        if kind is SkillForm:
            await pilot.press("5")
            await until(pilot, lambda: bool(app.session.skills.skills))
        for _ in range(3):
            shown = DIALOGS[kind](app)
            app.push_screen(shown)
            burst = [chance.choice(MONKEY_KEYS) for _ in range(12)]
            await play(app, pilot, burst, [chance.choice(GAPS) for _ in burst])
            await back_to_the_mode(app, pilot)


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


async def test_keys_that_come_before_the_engine_is_open_are_handled_in_their_order() -> None:
    """The first frame is there before the engine; what is typed then is neither lost nor done without a device."""
    engine = FakeEngine(screen=settings_screen())
    ready, opened = asyncio.Event(), asyncio.Event()

    async def opening() -> bool:
        opened.set()
        await ready.wait()
        return True

    app = make_app(engine, opening=opening)
    async with app.run_test(size=(120, 36)) as pilot:
        await opened.wait()
        await pilot.press("2", "slash", "w", "i")
        assert app.current_mode == "inspect"
        ready.set()
        await until(pilot, lambda: app.current_mode == "stream" and getattr(app.focused, "value", "") == "wi")
        await until(pilot, lambda: app.session.device_id == DEVICE.serial)


async def test_an_engine_that_cannot_be_opened_ends_the_console() -> None:
    async def opening() -> bool:
        return False

    async with asyncio.timeout(patience(20)):
        assert await make_app(FakeEngine(), opening=opening).run_async(headless=True, size=(80, 24)) == 1
