"""The console: composes bridge, session and screens, and owns nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import events, on
from textual.app import App, InvalidThemeError
from textual.binding import Binding
from textual.worker import Worker, WorkerError

from clawperator.app.console import terminal
from clawperator.app.console.acting import Actor, Executing
from clawperator.app.console.bridge import FOCUSED_TICK_SECONDS, TICK_SECONDS, Bridge, ConsoleEngine
from clawperator.app.console.chips import header_chips
from clawperator.app.console.clipboard import Clipboard, SystemClipboard, last_copy_path
from clawperator.app.console.draft import DraftFile, DraftKeeper, Store, draft_path
from clawperator.app.console.housekeeping import Housekeeping
from clawperator.app.console.messages import DevicesNews, News
from clawperator.app.console.palette import ConsoleCommands
from clawperator.app.console.pictures import choose_graphics, open_graphics
from clawperator.app.console.screens.base import MIN_HEIGHT, MIN_WIDTH, ConsoleScreen
from clawperator.app.console.screens.devices import DevicesScreen
from clawperator.app.console.screens.dialogs import ConfirmDialog, DeviceDialog, HelpDialog, NoticesDialog
from clawperator.app.console.screens.doctor import DoctorScreen
from clawperator.app.console.screens.inspect import InspectScreen
from clawperator.app.console.screens.run import RunScreen
from clawperator.app.console.screens.stream import StreamScreen
from clawperator.app.console.session import Facet, Session
from clawperator.app.console.terminal import PLAIN, Look
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.themes.claw import THEMES, defaults
from clawperator.widgets import keys
from clawperator.widgets.device_list import DeviceList
from clawperator.widgets.doctor_panel import DoctorPanel
from clawperator.widgets.format.status import Status
from clawperator.widgets.format.symbols import ASCII, UNICODE
from clawperator.widgets.format.times import Clock, duration
from clawperator.widgets.header import Header, ModeTab
from clawperator.widgets.info_line import FindLine
from clawperator.widgets.key_bar import KeyBar
from clawperator.widgets.models.snapshot import pack
from clawperator.widgets.picture import Graphics

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.nodes import UiTree
    from clawperator.engine.settings import Settings

MODES: dict[str, type[ConsoleScreen]] = {
    "inspect": InspectScreen,
    "stream": StreamScreen,
    "run": RunScreen,
    "doctor": DoctorScreen,
    "devices": DevicesScreen,
}
WIDTHS = [(0, "-tiny"), (MIN_WIDTH, "-narrow"), (100, "-medium"), (160, "-wide")]
HEIGHTS = [(0, "-low"), (MIN_HEIGHT, "-short"), (30, "-normal"), (50, "-tall")]
"""From this many cells on, the screens get this class (console UX §4)."""

_TABS = (
    ("1", "Inspect", "Inspect"),
    ("2", "Stream", "Stream"),
    ("3", "Run", "Run"),
    ("6", "Doctor", "Doctor"),
    ("7", "Devices", "Dev"),
)


class ConsoleApp(App[int]):
    """``engine`` is open and stays its opener's to close. ``files`` are saved dumps to show instead of a device. ``clock``, ``clipboard`` and ``tick`` are for tests."""

    TITLE = "clawperator"
    CSS_PATH = "../../themes/console.tcss"
    MODES: ClassVar[dict[str, Any]] = dict(MODES)
    DEFAULT_MODE = "inspect"
    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("app")]
    COMMANDS: ClassVar[set[Any]] = {ConsoleCommands}
    COMMAND_PALETTE_BINDING = "ctrl+p"
    HORIZONTAL_BREAKPOINTS = WIDTHS
    VERTICAL_BREAKPOINTS = HEIGHTS

    def __init__(
        self,
        engine: ConsoleEngine,
        *,
        look: Look = PLAIN,
        clock: Clock | None = None,
        clipboard: Clipboard | None = None,
        wanted_device: str = "",
        demo: bool = False,
        files: Sequence[str] = (),
        drafts: Store | None = None,
        graphics: Graphics | None = None,
        pictures: bool = True,
        tick: float | None = None,
    ) -> None:
        super().__init__(ansi_color=True if look.no_colour else None)
        self.clock = clock or Clock()
        self.symbols = ASCII if look.ascii else UNICODE
        self.files = files
        self.session = Session(self.clock, wanted_device=wanted_device, demo=demo, offline=bool(files))
        self.bridge = Bridge(engine, self.post_message, self.clock, tick=TICK_SECONDS if tick is None else tick)
        self.graphics = graphics
        self.pictures_possible = pictures
        self.drafts = DraftKeeper(drafts or DraftFile(draft_path()), self._draft_changed, self._troubled)
        executing = Executing(engine, self.post_message, self.clock, self.bridge.start, self._look_again)
        self.actor = Actor(self, executing, self.drafts)
        self.housekeeping = Housekeeping(time.monotonic)
        self.pasteboard = clipboard or SystemClipboard(self.copy_to_clipboard, last_copy_path(), os.environ)
        self.trees_in_use: Callable[[], Iterable[UiTree]] = tuple
        self.animation_level = "none"
        self._fixed_tick = tick is not None
        self._history: list[str] = []
        self._asked = False
        self._packing = False
        self._bridging: Worker[None] | None = None
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = look.theme
        self.set_class(look.ascii, "-ascii")

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """All of Textual's themes get the console's semantic colours."""
        return defaults(self.current_theme)

    def on_mount(self) -> None:
        self._bridging = self.run_worker(self.bridge.run(self.files), name="bridge", exit_on_error=True)
        self.run_worker(self.drafts.open(), name="draft", exit_on_error=True)
        self.set_interval(1.0, self._second)
        self.call_after_refresh(self.housekeeping.begin)

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
            changed |= self._choose_by_itself()
        self.show(changed)

    def show(self, changed: Facet) -> None:
        """Let the present mode draw what changed; the others catch up when they are looked at."""
        screen = self.mode_screen
        if screen is not None and changed:
            screen.show(changed)

    @property
    def mode_screen(self) -> ConsoleScreen | None:
        """The screen of the present mode, under whatever dialog is open."""
        return next((screen for screen in self.screen_stack if isinstance(screen, ConsoleScreen)), None)

    async def on_event(self, event: events.Event) -> None:
        if isinstance(event, events.InputEvent):
            self.housekeeping.touched()
        await super().on_event(event)

    def _second(self) -> None:
        self.housekeeping.tick(kept=self.session.nodes_kept, dropped=self.session.nodes_dropped)
        if self.session.far() and not self._packing:
            self._packing = True
            self.run_worker(self._pack(), name="packing", exit_on_error=True)
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
            tree.dissolve()

    def on_key(self, event: events.Key) -> None:
        """A letter that was on its way to a pane when ``/`` opened the field belongs to the field."""
        field = self.focused
        if isinstance(field, FindLine) and event.is_printable and event.character is not None:
            event.stop()
            event.prevent_default()
            field.insert_text_at_cursor(event.character)

    # -- the device

    def _choose_by_itself(self) -> Facet:
        """Take the wanted or the only usable device; where that decides nothing ask once; never change a choice."""
        if self.session.device_id:
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
        self.session.device_id = serial
        self.bridge.use_device(serial)
        self.bridge.first_look()
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
            self.say(Status.WAITING, "The checks are running already")

    def say(self, status: Status, text: str, code: str = "") -> None:
        """One line of news in the strip."""
        self.session.say(status, text, code)
        self.show(Facet.NOTICE)

    async def copy(self, text: str, what: str) -> None:
        """Copy, and say how."""
        way = await self.pasteboard.copy(text)
        count = len(text)
        self.say(Status.OK, f"Copied {what}, {count:,} character{'s' * (count != 1)}{way}")

    def _look_again(self) -> None:
        """After an action: what did it do? Whoever looked back at an older tree wants to see the new one now."""
        self.session.trees.back = 0
        self.bridge.take_snapshot()
        screen = self.mode_screen
        if isinstance(screen, InspectScreen):
            screen.renew_picture()

    def _draft_changed(self) -> None:
        self.show(Facet.DRAFT)

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
            self.push_screen(
                ConfirmDialog("Leave the console?", "Nothing on the device is stopped by it."), self._leave
            )

    def _leave(self, yes: bool | None) -> None:
        if yes:
            self.exit(0)

    async def action_quit(self) -> None:
        self.exit(0)

    def action_help(self) -> None:
        self.push_screen(HelpDialog(self.screen.active_bindings, self.symbols))

    def action_notices(self) -> None:
        self.push_screen(NoticesDialog(tuple(self.session.notices), self.clock))

    def action_lock(self) -> None:
        """Who holds the device, in words."""
        lock = self.session.lock
        if not lock:
            self.say(Status.IDLE, f"{self.session.device_id or 'The device'} is free")
            return
        since = lock.get("since")
        held = duration(self.clock.now() - float(since)) if isinstance(since, (int, float)) else "some time"
        parts = [f"{lock.get('commandId') or 'an execution'} holds {self.session.device_id} for {held}"]
        parts += [
            f"{name} {lock[key]}"
            for name, key in (("source", "source"), ("task", "taskId"), ("pid", "pid"))
            if lock.get(key)
        ]
        self.say(Status.RUNNING, ", ".join(parts))

    @on(Header.Pressed)
    async def _chip_pressed(self, message: Header.Pressed) -> None:
        await self.run_action(message.action)

    @on(KeyBar.Pressed)
    def _key_pressed(self, message: KeyBar.Pressed) -> None:
        self.simulate_key(message.key)

    # -- what screens ask

    def tabs(self) -> list[ModeTab]:
        return [ModeTab(digit, name, short, name.lower() == self.current_mode) for digit, name, short in _TABS]

    def chips(self, *, narrow: bool) -> list[Any]:
        return header_chips(self.session, self.symbols, narrow=narrow, draft=len(self.drafts.draft))

    def get_key_display(self, binding: Binding) -> str:
        return binding.key_display or keys.sign(binding.key)


# -- starting


EngineFactory = Callable[["Settings"], AbstractAsyncContextManager[Any]]


def default_engine(settings: Settings) -> AbstractAsyncContextManager[Any]:
    from clawperator.engine.facade import Engine

    return Engine(settings)


class Wishes(NamedTuple):
    """How the user wants it drawn; ``None`` and ``auto``: as fits the terminal. ``pictures`` is one of ``pictures.CHOICES``."""

    theme: str | None = None
    ascii: bool | None = None
    pictures: str = "auto"


AS_FITS = Wishes()


def show_files(files: Sequence[str], wishes: Wishes = AS_FITS) -> int:
    """Open the console on saved dumps, without a device and without adb; the exit code. Otherwise as ``run``."""
    from clawperator.app.console.offline import SavedDumps

    return asyncio.run(run_async(SavedDumps(), wishes, files=files))


def run(settings: Settings, wishes: Wishes = AS_FITS, *, engine_factory: EngineFactory = default_engine) -> int:
    """Open the console on this terminal until the user leaves it; the exit code.

    Where nothing full-screen can be drawn (no terminal, ``TERM=dumb``) it says so on standard error and returns 1.
    """

    async def open_and_run() -> int:
        async with engine_factory(settings) as engine:
            return await run_async(engine, wishes, wanted_device=settings.device_id)

    if not _can_draw(os.environ):
        return 1
    return asyncio.run(open_and_run())


async def run_async(
    engine: ConsoleEngine,
    wishes: Wishes = AS_FITS,
    *,
    demo: bool = False,
    wanted_device: str = "",
    files: Sequence[str] = (),
) -> int:
    """As ``run``, with an engine that is open already, in the running loop: for a demo that simulates the device beside it.

    Raises ``EngineError``: USAGE for a theme that does not exist, HOST_DEPENDENCY_MISSING for pictures that need an extra.
    """
    if not _can_draw(os.environ):
        return 1
    if os.environ.get("NO_COLOR") == "":
        del os.environ["NO_COLOR"]  # empty counts as unset; Textual takes it for set
    encoding = sys.stdout.encoding or "ascii"
    look = terminal.choose_look(os.environ, theme=wishes.theme, ascii_only=wishes.ascii, encoding=encoding)
    choice = choose_graphics(os.environ, wishes.pictures, look=look)
    graphics = open_graphics(choice, asked=wishes.pictures == choice)
    try:
        app = ConsoleApp(
            engine,
            look=look,
            wanted_device=wanted_device,
            demo=demo,
            files=files,
            graphics=graphics,
            pictures=choice != "none",
        )
    except InvalidThemeError as exc:
        raise EngineError(ErrorCode.USAGE, f"Unknown theme: {look.theme}", hint=str(exc)) from exc
    code = await app.run_async()
    return (code or 0) if app.return_code in (None, 0) else app.return_code


def _can_draw(env: Mapping[str, str]) -> bool:
    interactive = sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()  # Textual draws on stderr
    if terminal.refuses(env, interactive=interactive):
        sys.stderr.write(f"{terminal.REFUSAL}\n")
        return False
    return True
