"""The console: composes bridge, session and screens, and owns nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on
from textual.binding import Binding
from textual.worker import Worker, WorkerError

from clawperator.app.console import modes, navigation
from clawperator.app.console.bridge import FOCUSED_TICK_SECONDS, TICK_SECONDS, Bridge, ConsoleEngine
from clawperator.app.console.chips import header_chips
from clawperator.app.console.clipboard import Clipboard, SystemClipboard, last_copy_path
from clawperator.app.console.crash import CrashReports, Surviving
from clawperator.app.console.devices import provisioning_dialogs
from clawperator.app.console.devices.emulator_controller import Emulating
from clawperator.app.console.devices.lock_dialog import show_lock
from clawperator.app.console.devices.setup_controller import SettingUp
from clawperator.app.console.dispatcher import Actor, Executing, first_acting
from clawperator.app.console.idle_gc import Housekeeping
from clawperator.app.console.inspect import explain
from clawperator.app.console.inspect.screen import InspectScreen
from clawperator.app.console.key_order import KeysInOrder
from clawperator.app.console.messages import DevicesNews, News
from clawperator.app.console.palette import ConsoleCommands, Entry
from clawperator.app.console.palette_commands import Chores
from clawperator.app.console.preferences import AS_FITS, Wishes
from clawperator.app.console.run.draft import DraftFile, DraftKeeper, Store, draft_path
from clawperator.app.console.screens.base import MIN_HEIGHT, MIN_WIDTH, ConsoleScreen
from clawperator.app.console.screens.dialogs import ConfirmDialog, DeviceDialog, HelpDialog, NoticesDialog
from clawperator.app.console.screens.live_dialog import LiveDialog
from clawperator.app.console.screens.menu import Dialog
from clawperator.app.console.screens.palette_dialog import PaletteDialog
from clawperator.app.console.session import Facet, Session
from clawperator.app.console.skills.controller import Skilling
from clawperator.app.console.skills.jobs import Library, library_of
from clawperator.app.console.stylesheet import KeptStylesheet
from clawperator.app.console.terminal import PLAIN, Look
from clawperator.app.console.theme_preview import ThemePreview
from clawperator.app.console.user_themes import UserThemes, wear
from clawperator.engine.config.environment import settings_path
from clawperator.engine.config.settings import Settings
from clawperator.engine.errors import ErrorCode
from clawperator.engine.guard import Guard
from clawperator.themes.claw import THEMES, defaults
from clawperator.widgets import keys
from clawperator.widgets.device_list import DeviceList
from clawperator.widgets.doctor_panel import DoctorPanel
from clawperator.widgets.envelope_log import EnvelopeLog
from clawperator.widgets.execution_detail import ExecutionDetail
from clawperator.widgets.format.jobs import job_words
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.format.skill_output import run_words
from clawperator.widgets.format.symbols import ASCII, UNICODE
from clawperator.widgets.header import HeaderLine, ModeTab
from clawperator.widgets.info_line import FindLine
from clawperator.widgets.json_area import JsonArea
from clawperator.widgets.key_bar import KeyBar
from clawperator.widgets.models.snapshot import pack
from clawperator.widgets.models.status import Status
from clawperator.widgets.picture import Graphics
from clawperator.widgets.text.times import WallClock

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.nodes import UiTree

WIDTHS = [(0, "-tiny"), (MIN_WIDTH, "-narrow"), (100, "-medium"), (160, "-wide")]
HEIGHTS = [(0, "-low"), (MIN_HEIGHT, "-short"), (30, "-normal"), (50, "-tall")]
"""From this many cells on, the screens get this class."""

BELL_SECONDS = 10.0
"""Runs that take longer than this ring when they end, where the settings say so."""

_TABS = (
    ("1", "Inspect", "Inspect"),
    ("2", "Stream", "Stream"),
    ("3", "Run", "Run"),
    ("4", "History", "Hist"),
    ("5", "Skills", "Skills"),
    ("6", "Doctor", "Doctor"),
    ("7", "Devices", "Dev"),
)


class ConsoleApp(Surviving):
    """``engine`` is open and stays its opener's to close. ``files`` are saved dumps to show instead of a device.

    ``remote`` is the server that the engine asks, ``without`` the actions that it does not offer, each with the reason.
    ``clock``, ``clipboard`` and ``tick`` are for tests, and ``crashes`` is absent in them: there a failure fails.
    """

    TITLE = "clawperator"
    CSS_PATH = "../../themes/console.tcss"
    MODES: ClassVar[dict[str, Any]] = dict(modes.MODES)
    DEFAULT_MODE = "inspect"
    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("app")]
    ENABLE_COMMAND_PALETTE = False  # Textual's own; see ``screens/commands.py``
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
        wishes: Wishes = AS_FITS,
        skills: Library | None = None,
        remote: str = "",
        without: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        super().__init__(ansi_color=True if look.no_colour else None)
        self.clock = clock or WallClock()
        self.symbols = ASCII if look.ascii else UNICODE
        self.files = files
        self.session = Session(
            self.clock,
            wanted_device=wanted_device,
            demo=demo,
            offline=bool(files),
            read_only=read_only,
            remote=remote,
            lines_kept=wishes.stream_lines,
        )
        self.bridge = Bridge(engine, self.post_message, self.clock, tick=TICK_SECONDS if tick is None else tick)
        self.graphics = graphics
        self.pictures_possible = pictures
        self.drafts = DraftKeeper(drafts or DraftFile(draft_path()), self._draft_changed, self._troubled)
        executing = Executing(
            engine,
            self.post_message,
            self.clock,
            self.bridge.start,
            self._look_again,
            settle_seconds=wishes.settle_ms / 1000,
            ended=self._run_ended,
        )
        self._bell_wanted = wishes.bell
        self.actor = Actor(self, executing, self.drafts)
        self.engine = engine
        self._without = without
        self.emulating = Emulating(engine, self.post_message, self.clock, self.bridge.start)
        self.setting_up = SettingUp(engine, self.post_message, self.clock, self.bridge.start, self._set_up)
        library = skills or library_of(engine, demo=demo)
        self.skilling = Skilling(library, self.post_message, self.clock, self.bridge.start, self._follow_skill)
        self.chores = Chores(self)
        self._preview = ThemePreview(self)
        self.crashes = crashes
        self.housekeeping = Housekeeping(time.monotonic)
        self.pasteboard = clipboard or SystemClipboard(self.copy_to_clipboard, last_copy_path(), os.environ)
        self.trees_in_use: Callable[[], Iterable[UiTree]] = tuple
        self.animation_level = "none"
        self._fixed_tick = tick is not None
        self._keys = KeysInOrder(self, super().on_event)
        self._history: list[str] = []
        self._asked = False
        self._packing = False
        self._bridging: Worker[None] | None = None
        self.user_themes = UserThemes(Path(wishes.themes), partial(wear, self), self._told) if wishes.themes else None
        for theme in (*THEMES, *(self.user_themes.load() if self.user_themes else ())):
            self.register_theme(theme)
        self.theme = look.theme
        self.stylesheet = KeptStylesheet(variables=self.get_css_variables())
        self.set_keymap(wishes.keymap)
        self.set_class(look.ascii, "-ascii")

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """All of Textual's themes get the console's semantic colours."""
        return defaults(self.current_theme)

    def on_mount(self) -> None:
        self._bridging = self.run_worker(self.bridge.run(self.files), name="bridge", exit_on_error=True)
        self.run_worker(self.drafts.open(), name="draft", exit_on_error=True)
        if self.user_themes is not None:
            self.run_worker(self.user_themes.watch(), name="themes", exit_on_error=True)
        self.set_interval(1.0, self._second)
        self.call_after_refresh(self._painted)

    def _painted(self) -> None:
        """The first frame is there: now there is time for what it did not need."""
        self.housekeeping.begin()
        self.run_worker(asyncio.to_thread(modes.load), name="modes", exit_on_error=True)

    @property
    def guard(self) -> Guard:
        """The policy for files that the user names; that of this computer also where the engine is a server's."""
        found: Guard | None = getattr(self.engine, "guard", None)
        return found or Guard(Settings.resolve(file=settings_path()))

    async def on_unmount(self) -> None:
        """Nothing of the bridge outlives the console: whoever opened the engine closes it next."""
        self.housekeeping.end()
        if self._bridging is not None:
            self._bridging.cancel()
            with contextlib.suppress(WorkerError):
                await self._bridging.wait()
        await self.drafts.close()

    # -- news

    @on(News)
    def _absorb(self, news: News) -> None:
        changed = self.session.absorb(news)
        if isinstance(news, DevicesNews):
            self.emulating.devices_changed()
            changed |= self._choose_by_itself()
        self.show(changed)

    def show(self, changed: Facet) -> None:
        """Let the present mode draw what changed; the others catch up when they are looked at."""
        screen = self.mode_screen
        if screen is not None and changed:
            screen.show(changed)
        for dialog in self.screen_stack:
            if isinstance(dialog, LiveDialog) and changed:
                dialog.show(changed)

    @property
    def mode_screen(self) -> ConsoleScreen | None:
        """The screen of the present mode, under whatever dialog is open."""
        return next((screen for screen in self.screen_stack if isinstance(screen, ConsoleScreen)), None)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.InputEvent):
            if not self.screen_stack:  # the screens are taken down already: there is nothing to type into
                return
            self.housekeeping.touched()
        if isinstance(event, events.Key) and not event.is_forwarded:
            await self._keys.take(event)
        else:
            await super().on_event(event)

    def _second(self) -> None:
        self.housekeeping.tick(kept=self.session.nodes_kept, dropped=self.session.nodes_dropped)
        if self.session.far() and not self._packing:
            self._packing = True
            self.run_worker(self._pack(), name="packing", exit_on_error=True)
        self.show(self.session.pass_time())
        screen = self.mode_screen
        if screen is not None:
            screen.tick()

    async def _pack(self) -> None:
        """Compress the trees that nobody looks at soon."""
        try:
            for trees, snapshot in self.session.far():
                packed = await asyncio.to_thread(pack, snapshot)
                if trees.put(packed) and snapshot.tree is not None:
                    self._drop(snapshot.tree)
        finally:
            self._packing = False

    def _drop(self, tree: UiTree) -> None:
        """Free a tree at once if nobody else has it, else leave it to the garbage collection."""
        if any(used is tree for used in self.trees_in_use()):
            self.session.nodes_dropped += len(tree.nodes)
        else:
            tree.unlink_nodes()

    def on_key(self, event: events.Key) -> None:
        """What no binding took: a dimmed key says why it is dimmed.

        And a letter that was on its way to a pane when ``/`` or ``e`` opened a field, or another key a dialog, belongs to that.
        """
        dimmed = self.screen.active_bindings.get(event.key)
        if dimmed is not None and not dimmed.enabled and (reason := self.why_not(dimmed.binding.action)):
            event.stop()
            self.say(Status.IDLE, reason)
            return
        if isinstance(self.screen, Dialog):
            Dialog.on_key(self.screen, event)
            return
        field = self.focused
        if isinstance(field, FindLine | JsonArea) and event.is_printable and event.character is not None:
            event.stop()
            event.prevent_default()
            insert = field.insert if isinstance(field, JsonArea) else field.insert_text_at_cursor
            insert(event.character)

    # -- the device

    def _choose_by_itself(self) -> Facet:
        """Take the wanted or the only usable device; where that decides nothing ask once; never change a choice."""
        if self.session.device_id or self.session.offline:
            return Facet.NOTHING
        choice = self.session.choice()
        if choice:
            self.use_device(choice)
            return Facet.EVERYTHING
        if self.session.usable and not self._asked:
            self._asked = True
            if self.session.wanted_device:
                self.say(Status.WARN, f"{self.session.wanted_device} is not there. D chooses another device")
            else:
                self.action_choose_device()
        return Facet.NOTHING

    def use_device(self, serial: str) -> None:
        """Make ``serial`` the device of all modes: follow its log, look at its screen, run the checks."""
        if serial == self.session.device_id:
            return
        self.session.device_id, self.session.offline = serial, False
        self.bridge.use_device(serial)
        self.bridge.first_look()
        self.show(Facet.EVERYTHING)

    def look_at_files(self, paths: Sequence[str]) -> None:
        """Saved dumps instead of the device; choosing a device comes back."""
        self.session.leave_device()
        self.bridge.use_device("")
        self.bridge.open_files(paths)
        self.action_mode("inspect")
        self.show(Facet.EVERYTHING)

    @on(DeviceList.DeviceChosen)
    def _device_chosen(self, message: DeviceList.DeviceChosen) -> None:
        device = next((entry for entry in self.session.devices if entry.serial == message.serial), None)
        if device is not None and device.usable:
            self.use_device(message.serial)
            self.say(Status.OK, f"The console works with {message.serial} now")
        elif device is not None:
            self.say(Status.WARN, f"{message.serial} cannot be used: {device.state}")

    def action_choose_device(self) -> None:
        def chosen(serial: str | None) -> None:
            if serial:
                self._device_chosen(DeviceList.DeviceChosen(serial))

        self.push_screen(DeviceDialog(self.session), chosen)

    # -- wishes of the screens

    def take_snapshot(self) -> None:
        if not self.session.device_id:
            self.say(Status.WARN, "No device to read. 7 shows what adb sees, D chooses")
        elif not self.bridge.take_snapshot():
            self.say(Status.WAITING, "A snapshot is on its way already")

    @on(DoctorPanel.RunWanted)
    def run_doctor(self) -> None:
        if not self.bridge.run_doctor():
            self.say(Status.WAITING, self.doctor_busy_words())

    def doctor_busy_words(self) -> str:
        """Why no other run or fix can begin now."""
        return (
            "A fix is running. Press C in Doctor to stop it"
            if self.bridge.doctoring.fixing
            else "The checks are running already"
        )

    def say(self, status: Status, text: str, code: str = "") -> None:
        """One line of news in the strip."""
        self.session.say(status, text, code)
        self.show(Facet.NOTICE)

    async def copy(self, text: str, what: str) -> None:
        """Copy, and say how."""
        way = await self.pasteboard.copy(text)
        count = len(text)
        self.say(Status.OK, f"Copied {what}, {count:,} character{'s' * (count != 1)}{way}")

    def _set_up(self, serial: str) -> None:
        """An Operator app was set up: is everything ready now? Who watches looks again even after a run that is under way."""
        self.bridge.doctoring.changed()
        if serial == self.session.device_id:
            self.bridge.run_doctor()

    def _follow_skill(self, on: bool) -> bool:
        """While a skill runs the tree is kept fresh, and looked at once more when it has ended; whether that changed anything.

        What somebody chose stays as it is.
        """
        if not self.bridge.device_id or (self.session.follow is None) != on:
            return False
        self.bridge.toggle_follow()
        if not on and not self.session.lock:
            self._look_again()
        return True

    def _look_again(self) -> None:
        """After an action: what did it do? Whoever looked back at an older tree wants to see the new one now."""
        self.session.trees.back = 0
        self.bridge.take_snapshot()
        screen = self.mode_screen
        if isinstance(screen, InspectScreen):
            screen.renew_picture()

    def _run_ended(self, seconds: float) -> None:
        """Whoever looked away meanwhile is called back, if they want that."""
        if self._bell_wanted and seconds > BELL_SECONDS:
            self.bell()

    def _draft_changed(self) -> None:
        self.show(Facet.DRAFT)

    def _told(self, status: Status, words: str) -> None:
        self.session.say(status, words)
        if self.is_running:
            self.show(Facet.NOTICE)

    def _troubled(self, words: str) -> None:
        self.say(Status.WARN, words)

    # -- actions

    def action_mode(self, mode: str) -> None:
        if mode != self.current_mode and not isinstance(self.screen, ConsoleScreen):
            return
        if mode != self.current_mode:
            self._history.append(self.current_mode)
            del self._history[:-20]
            self.switch_mode(mode)
            self._set_tick(mode)

    def _set_tick(self, mode: str) -> None:
        """The stream is told more often while it is looked at."""
        if not self._fixed_tick:
            self.bridge.tick = FOCUSED_TICK_SECONDS if mode == "stream" else TICK_SECONDS

    def action_leave_mode(self) -> None:
        """The mode before this one; out of Inspect only after asking."""
        if self._history:
            mode = self._history.pop()
            self.switch_mode(mode)
            self._set_tick(mode)
        elif self.current_mode != "inspect":
            self.switch_mode("inspect")
        else:
            self.push_screen(ConfirmDialog("Leave the console?", self._leaving_words()), self._leave)

    def _leaving_words(self) -> str:
        """What leaving stops."""
        jobs = (self.emulating.job, self.setting_up.job, self.skilling.syncing)
        ends = [job_words(job) for job in jobs if job is not None and job.running]
        if self.skilling.busy and self.skilling.run is not None:
            ends.append(f"the skill {run_words(self.skilling.run)}")
        if not ends:
            return "Nothing on the device is stopped by it."
        return f"{sentence(' and '.join(ends))} is cancelled by it."

    def _leave(self, yes: bool | None) -> None:
        if yes:
            self.exit(0)

    async def action_quit(self) -> None:
        """At once; what is at work is asked about first."""
        at_work = self.emulating.busy or self.setting_up.busy or self.skilling.busy
        if at_work and not isinstance(self.screen, ConfirmDialog):
            self.push_screen(ConfirmDialog("Leave the console?", self._leaving_words()), self._leave)
        else:
            self.exit(0)

    def action_help(self) -> None:
        mode = self.mode_screen
        menus = mode.menus() if mode is not None and mode is self.screen else ()
        self.push_screen(HelpDialog(self.screen.active_bindings, menus, self.symbols))

    def action_notices(self) -> None:
        self.push_screen(NoticesDialog(tuple(self.session.notices), self.clock))

    def action_lock(self) -> None:
        """Who holds the device, what for, and for how long yet."""
        show_lock(self)

    @on(HeaderLine.Pressed)
    async def _chip_pressed(self, message: HeaderLine.Pressed) -> None:
        await self.run_action(message.action)

    @on(KeyBar.Pressed)
    def _key_pressed(self, message: KeyBar.Pressed) -> None:
        self.simulate_key(message.key)

    def action_command_palette(self) -> None:
        commands = ConsoleCommands(self.screen)

        def chosen(entry: Entry | None) -> None:
            self._preview.closed(chosen=entry is not None)
            if entry is not None:
                commands.run(entry)

        self.push_screen(PaletteDialog(commands, self._preview), chosen)

    def report_failure(self, words: str) -> None:
        self.session.say(Status.FAILED, words, ErrorCode.UNKNOWN_RUNTIME_ERROR.value)
        self.call_after_refresh(self.show, Facet.NOTICE)

    # -- what screens ask

    def why_not(self, action: str) -> str:
        """Why ``action`` cannot be done now, in a sentence; empty when it can. Parameters do not matter."""
        name = action.partition("(")[0].rpartition(".")[2]
        if name == explain.ACTION:
            return self._explained().reason
        if name in self._without:
            return self._without[name]
        if self.session.read_only and name in keys.ACTING:
            payload = self.mode_screen.would_send(name) if self.mode_screen is not None else None
            if payload is not None:
                acting = first_acting(payload)
                return f"Read-only: {acting} would act, and this console was started with --read-only" if acting else ""
            return "Read-only: this console was started with --read-only. Nothing is sent to the device"
        return ""

    def action_show_job(self) -> None:
        navigation.to_job(self)

    def action_show_skill(self) -> None:
        navigation.to_skill_output(self)

    def action_show_setup(self) -> None:
        provisioning_dialogs.set_up(self, self.session.setup.serial)

    @on(EnvelopeLog.TreeWanted)
    @on(ExecutionDetail.TreeWanted)
    def _tree_wanted(self, message: EnvelopeLog.TreeWanted | ExecutionDetail.TreeWanted) -> None:
        navigation.to_tree(self, message.key)

    def action_explain_failure(self) -> None:
        """Why the failed step that is looked at found no node."""
        wanted = self._explained()
        if wanted.reason:
            self.say(Status.IDLE, wanted.reason)
        else:
            _: Worker[None] = self.run_worker(
                partial(explain.show, self, wanted), group="explain", exclusive=True, exit_on_error=True
            )

    def _explained(self) -> explain.Explained:
        screen = self.mode_screen
        return explain.explained(self.session, screen.focused if screen is not None else None)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """As on the screens: what cannot be done now is dimmed."""
        return None if self.why_not(action) else super().check_action(action, parameters)

    def tabs(self) -> list[ModeTab]:
        return [ModeTab(digit, name, short, name.lower() == self.current_mode) for digit, name, short in _TABS]

    def chips(self, *, narrow: bool) -> list[Any]:
        return header_chips(self.session, self.symbols, narrow=narrow, draft=len(self.drafts.draft))

    def get_key_display(self, binding: Binding) -> str:
        return binding.key_display or keys.sign(binding.key)
