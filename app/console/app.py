"""The console's app: composes session, bridge, controllers and screens."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on
from textual.binding import Binding

from clawperator.app.console import modes, unbound_keys
from clawperator.app.console.actions import offer_actions
from clawperator.app.console.appearance import Appearance
from clawperator.app.console.availability import Availability
from clawperator.app.console.bridge import TICK_SECONDS, Bridge
from clawperator.app.console.chips import header_chips
from clawperator.app.console.clipboard import Clipboard, SystemClipboard, last_copy_path
from clawperator.app.console.console_engine import ConsoleEngine
from clawperator.app.console.crash import CrashReports, Failures
from clawperator.app.console.device_selection import DeviceSelection
from clawperator.app.console.doctor.controller import DoctorController
from clawperator.app.console.execution.controller import ExecutionController
from clawperator.app.console.execution.dispatcher import Dispatcher
from clawperator.app.console.execution.draft import DraftKeeper
from clawperator.app.console.execution.draft_file import DraftFile, Store, draft_path
from clawperator.app.console.execution.recorder import ActionRecorder
from clawperator.app.console.global_dialogs import GlobalDialogs
from clawperator.app.console.idle_gc import IdleGc
from clawperator.app.console.key_order import KeyQueue
from clawperator.app.console.leaving import Leaving
from clawperator.app.console.messages import DevicesUpdate, SnapshotUpdate, Update
from clawperator.app.console.mode_switcher import ModeSwitcher
from clawperator.app.console.navigation import Destination, EmulatorJobPlace, SkillOutputPlace
from clawperator.app.console.palette.palette import Palette
from clawperator.app.console.preferences import DEFAULTS, Preferences
from clawperator.app.console.screens.base import MIN_HEIGHT, MIN_WIDTH, ConsoleScreen
from clawperator.app.console.screens.live_dialog import LiveDialog
from clawperator.app.console.session import Facet, Session
from clawperator.app.console.startup import Opening, Startup
from clawperator.app.console.terminal import PLAIN, Look, handle_resizes_in_order
from clawperator.app.console.textual_internals import ReportingApp
from clawperator.app.console.tree_packer import TreePacker
from clawperator.engine.config.environment import settings_path
from clawperator.engine.config.settings import Settings
from clawperator.engine.errors import ErrorCode
from clawperator.engine.guard import Guard
from clawperator.engine.hierarchy.nodes import UiTree
from clawperator.themes.claw import defaults
from clawperator.widgets import keys
from clawperator.widgets.device_list import DeviceList
from clawperator.widgets.doctor_panel import DoctorPanel
from clawperator.widgets.envelope_log import EnvelopeLog
from clawperator.widgets.format.symbols import ASCII, UNICODE, Symbols
from clawperator.widgets.header import Chip, HeaderLine, ModeTab
from clawperator.widgets.key_bar import KeyBar
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.line_widget import LineWidget
from clawperator.widgets.models.status import Status
from clawperator.widgets.picture_view import Graphics
from clawperator.widgets.text.times import WallClock

if TYPE_CHECKING:
    from clawperator.app.console.devices.emulator_controller import EmulatorController
    from clawperator.app.console.devices.setup_controller import SetupController
    from clawperator.app.console.screens.menu import PaletteEntry
    from clawperator.app.console.skills.controller import SkillsController
    from clawperator.app.console.skills.jobs import SkillLibrary
    from clawperator.widgets.execution_detail import ExecutionDetail

WIDTHS = [(0, "-tiny"), (MIN_WIDTH, "-narrow"), (100, "-medium"), (160, "-wide")]
HEIGHTS = [(0, "-low"), (MIN_HEIGHT, "-short"), (30, "-normal"), (50, "-tall")]
"""From this many cells on, the screens get this class."""

BELL_SECONDS = 10.0
"""Executions that take longer ring the bell when they end, where the settings say so."""


class ConsoleApp(ReportingApp):
    """``engine`` is open, and its opener closes it; with ``opening`` it opens after the first frame, and keys wait for it. ``files`` are saved dumps to show instead of a device.

    ``remote`` names the server of the engine, ``without`` maps actions that it does not offer to the reason.
    ``clock``, ``clipboard`` and ``tick`` are for tests; without ``crashes`` an exception of a pane ends the app.
    """

    TITLE = "clawperator"
    CSS_PATH = "../../themes/console.tcss"
    MODES: ClassVar[dict[str, Any]] = dict(modes.MODES)
    DEFAULT_MODE = "inspect"
    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("app")]
    ENABLE_COMMAND_PALETTE = False  # the console has its own: palette/dialog.py
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    def __init__(
        self,
        engine: ConsoleEngine,
        *,
        look: Look = PLAIN,
        clock: WallClock | None = None,
        clipboard: Clipboard | None = None,
        wanted_device: str = "",
        demo: bool = False,
        files: Sequence[str] = (),
        drafts: Store | None = None,
        graphics: Graphics | None = None,
        pictures: bool = True,
        tick: float | None = None,
        crashes: CrashReports | None = None,
        read_only: bool = False,
        preferences: Preferences = DEFAULTS,
        skills: SkillLibrary | None = None,
        remote: str = "",
        without: Mapping[str, str] = MappingProxyType({}),
        opening: Opening | None = None,
    ) -> None:
        super().__init__(ansi_color=True if look.no_colour else None)
        self.engine = engine
        self.clock = clock or WallClock()
        self.failures = Failures(crashes, self._show_failure)
        self.graphics = graphics
        self.pictures_possible = pictures
        self.files = files
        self.session = Session(
            self.clock,
            wanted_device=wanted_device,
            demo=demo,
            offline=bool(files),
            read_only=read_only,
            remote=remote,
            lines_kept=preferences.stream_lines,
            backend=engine.backend_of(wanted_device),
        )
        self.bridge = Bridge(
            engine,
            self.post_message,
            self.clock,
            tick=TICK_SECONDS if tick is None else tick,
            probing=tick is None and not remote,
        )
        self._mode_switcher = ModeSwitcher(self, self.bridge, fixed_tick=tick is not None)
        self.system_clipboard = clipboard or SystemClipboard(self.copy_to_clipboard, last_copy_path(), os.environ)
        self.drafts = DraftKeeper(
            drafts or DraftFile(draft_path()),
            partial(self.show, Facet.DRAFT),
            partial(self.say, Status.WARN),
            self.clock.now,
        )
        self._skill_library = skills
        self._demo = demo
        self._compose_controllers(preferences)
        self._compose_parts(without, opening)
        self.appearance = Appearance(self, look, preferences.themes, self.say)
        self.set_keymap(preferences.keymap)

    def _compose_controllers(self, preferences: Preferences) -> None:
        engine, post, clock, start = self.engine, self.post_message, self.clock, self.bridge.start
        controller = ExecutionController(
            engine,
            post,
            clock,
            start,
            self._refresh_tree,
            settle_seconds=preferences.settle_ms / 1000,
            ended=self._run_ended,
        )
        self._bell_wanted = preferences.bell
        self.recorder = ActionRecorder(self, self.drafts, post)
        self.dispatcher = Dispatcher(self, controller, self.drafts, self.recorder, preferences.confirm)

    def _compose_parts(self, without: Mapping[str, str], opening: Opening | None) -> None:
        self._availability = Availability(self, without)
        self._devices = DeviceSelection(self, self.bridge)
        self._packer = TreePacker(self)
        self.palette = Palette(self, self._device_commands)
        self.idle_gc = IdleGc(time.monotonic)
        self.trees_in_use: Callable[[], Iterable[UiTree]] = tuple
        self._keys = KeyQueue(self, super().on_event)
        self._startup = Startup(self, self.bridge, self._keys, self.idle_gc, files=self.files, opening=opening)
        dialogs, leaving = GlobalDialogs(self), Leaving(self, self._mode_switcher)
        self.leaving_cancels: Callable[[], str] = leaving.words
        offer_actions(self, dialogs, leaving, self.palette, self._devices, self._availability, self.recorder)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Give all of Textual's themes the console's semantic colours."""
        return defaults(self.current_theme)

    def refresh_css(self, animate: bool = True) -> None:
        """Skip the refresh that Textual requests at the start."""
        if self.appearance.changed():
            super().refresh_css(animate)

    # -- life

    def on_mount(self) -> None:
        self._startup.begin()
        self.run_worker(self.drafts.open(), name="draft", exit_on_error=True)
        if (themes := self.appearance.user_themes) is not None:
            self.run_worker(themes.watch(), name="themes", exit_on_error=True)
        self.app_resume_signal.subscribe(self, lambda _: self._resumed())
        handle_resizes_in_order()
        self.set_interval(1.0, self._second)

    def _resumed(self) -> None:
        """Draw everything on a terminal that other programs have used."""
        handle_resizes_in_order()
        self.shown.forget()
        self.refresh(layout=True)

    async def on_unmount(self) -> None:
        await self._startup.end()
        await self.drafts.close()

    def _second(self) -> None:
        self.idle_gc.tick(kept=self.session.nodes_kept, dropped=self.session.nodes_dropped)
        self._packer.tick()
        self.show(self.session.pass_time())
        if (mode := self.mode_screen) is not None:
            mode.tick()

    # -- what features use (``Console`` and its extensions); the first frame needs none of these controllers

    @cached_property
    def emulators(self) -> EmulatorController:
        from clawperator.app.console.devices.emulator_controller import EmulatorController

        return EmulatorController(self.engine, self.post_message, self.clock, self.bridge.start)

    @cached_property
    def operator_setup(self) -> SetupController:
        from clawperator.app.console.devices.setup_controller import SetupController

        start = self.bridge.start
        return SetupController(self.engine, self.post_message, self.clock, start, self._operator_changed)

    @cached_property
    def skills(self) -> SkillsController:
        from clawperator.app.console.skills.controller import SkillsController
        from clawperator.app.console.skills.jobs import skill_library

        library = self._skill_library or skill_library(self.engine, demo=self._demo)
        return SkillsController(library, self.post_message, self.clock, self.bridge.start, self._follow_skill)

    @property
    def symbols(self) -> Symbols:
        return self.appearance.symbols

    @property
    def guard(self) -> Guard:
        """The policy for files that the user names; this computer's also where the engine is a server's."""
        found: Guard | None = getattr(self.engine, "guard", None)
        return found or Guard(Settings.resolve(file=settings_path()))

    @property
    def doctor(self) -> DoctorController:
        return self.bridge.doctor

    @property
    def mode_screen(self) -> ConsoleScreen | None:
        """The screen of the current mode, below any dialog."""
        return next((screen for screen in self.screen_stack if isinstance(screen, ConsoleScreen)), None)

    def isolated(self, where: str) -> AbstractContextManager[None]:
        return self.failures.isolated(where)

    @on(LinePane.Failed)
    def _row_failed(self, message: LinePane.Failed) -> None:
        with self.isolated(f"a row of #{message.pane.id}"):
            raise message.error

    def fatal_report(self, error: BaseException) -> str:
        return self.failures.fatal_report(error)

    def show(self, changed: Facet) -> None:
        """Redraw the current mode and the open dialogs; other modes redraw when they are opened."""
        if not changed:
            return
        if (mode := self.mode_screen) is not None:
            mode.show(changed)
        for dialog in self.screen_stack:
            if isinstance(dialog, LiveDialog):
                dialog.show(changed)

    def say(self, status: Status, text: str, code: str = "") -> None:
        self.session.say(status, text, code)
        if self.is_running:  # themes are read before
            self.show(Facet.NOTICE)

    def _show_failure(self, words: str) -> None:
        self.session.say(Status.FAILED, words, ErrorCode.UNKNOWN_RUNTIME_ERROR.value)
        self.call_after_refresh(self.show, Facet.NOTICE)

    async def copy(self, text: str, what: str) -> None:
        way = await self.system_clipboard.copy(text)
        count = len(text)
        self.say(Status.OK, f"Copied {what}, {count:,} character{'s' * (count != 1)}{way}")

    def use_device(self, serial: str) -> None:
        self._devices.use(serial)

    def look_at_files(self, paths: Sequence[str]) -> None:
        self._devices.open_files(paths)

    def take_snapshot(self) -> bool:
        """Request a tree of the device; return whether one comes."""
        if not self.session.device_id:
            self.say(Status.WARN, "No device to read. 7 lists the devices, D chooses one")
        elif not self.bridge.take_snapshot():
            self.say(Status.WAITING, "A snapshot is already being taken")
        else:
            return True
        return False

    @on(DoctorPanel.RunWanted)
    def run_doctor(self) -> None:
        if not self.bridge.run_doctor():
            self.say(Status.WAITING, self.doctor.busy_words)

    def toggle_ascii(self) -> None:
        self.appearance.use(UNICODE if self.symbols.ascii else ASCII)
        super().refresh_css(animate=False)
        for pane in self.screen.query(LineWidget):
            pane.refresh()
        if (mode := self.mode_screen) is not None:
            mode.redraw()

    # -- events

    @on(Update)
    def _absorb(self, update: Update) -> None:
        changed = self.session.absorb(update)
        if isinstance(update, DevicesUpdate):
            self.emulators.devices_changed()
            changed |= self._devices.automatic()
        if isinstance(update, SnapshotUpdate):
            self.recorder.see(update.snapshot)
        self.show(changed)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.InputEvent | events.Paste) and not event.is_forwarded:
            if not self.screen_stack or self._keys.refuse(event):  # the screens are closed already, or hidden
                return
            self.idle_gc.touched()
        if isinstance(event, events.Key) and not event.is_forwarded:
            await self._keys.take(event)
        else:
            await super().on_event(event)

    def on_resize(self) -> None:
        """Draw everything: the terminal may have been smaller for a moment and have cut what it shows."""
        self.shown.forget()
        self.refresh()

    def on_key(self, event: events.Key) -> None:
        unbound_keys.take(self, event)

    @on(DeviceList.DeviceChosen)
    def _device_chosen(self, message: DeviceList.DeviceChosen) -> None:
        self._devices.choose(message.serial)

    @on(HeaderLine.Pressed)
    async def _chip_pressed(self, message: HeaderLine.Pressed) -> None:
        await self.run_action(message.action)

    @on(KeyBar.Pressed)
    def _key_pressed(self, message: KeyBar.Pressed) -> None:
        self.simulate_key(message.key)

    @on(EnvelopeLog.TreeWanted)
    def on_execution_detail_tree_wanted(self, message: EnvelopeLog.TreeWanted | ExecutionDetail.TreeWanted) -> None:
        if self.session.turn_to(message.key):
            self.action_mode("inspect")
            self.show(Facet.TREE)
        else:
            self.say(Status.IDLE, "That tree was discarded. Press 4 to find it in History")

    # -- what controllers report

    def _operator_changed(self, serial: str) -> None:
        """Run the checks after the Operator app was set up."""
        self.doctor.changed()
        if serial == self.session.device_id:
            self.bridge.run_doctor()

    def _follow_skill(self, on: bool) -> bool:
        """Switch follow mode on while a skill runs, unless the user did; return whether that changed anything."""
        if not self.bridge.device_id or (self.session.follow is None) != on:
            return False
        self.bridge.toggle_follow()
        if not on and not self.session.lock:
            self._refresh_tree()
        return True

    def _refresh_tree(self) -> None:
        """Show the effect of an action: the newest tree, and a new picture."""
        self.session.trees.back = 0
        self.recorder.settled()
        self.bridge.take_snapshot()
        if (mode := self.mode_screen) is not None:
            mode.renew_picture()

    def _run_ended(self, seconds: float) -> None:
        if self._bell_wanted and seconds > BELL_SECONDS:
            self.bell()

    # -- modes

    def action_mode(self, mode: str) -> None:
        self._mode_switcher.open(mode)

    def go_to(self, place: Destination) -> None:
        self._mode_switcher.go_to(place)

    # -- other actions

    def _device_commands(self) -> Iterable[PaletteEntry]:
        from clawperator.app.console.devices import provisioning_dialogs

        return provisioning_dialogs.palette_entries(self)

    def action_show_job(self) -> None:
        self.go_to(EmulatorJobPlace())

    def action_show_skill(self) -> None:
        self.go_to(SkillOutputPlace())

    # -- availability, header, keys

    def why_not(self, action: str) -> str:
        return self._availability.why_not(action)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Dim unavailable keys, as the screens do."""
        return None if self.why_not(action) else super().check_action(action, parameters)

    def tabs(self) -> list[ModeTab]:
        return [ModeTab(digit, name, name.lower() == self.current_mode) for digit, name in modes.TABS]

    def chips(self, *, narrow: bool) -> list[Chip]:
        draft, recording = len(self.drafts.draft), self.recorder.on
        return header_chips(self.session, self.symbols, narrow=narrow, draft=draft, recording=recording)

    def get_key_display(self, binding: Binding) -> str:
        return binding.key_display or keys.sign(binding.key)
