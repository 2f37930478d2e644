"""A simulated Android device: what its shell commands and its Operator app act on.

``create_device`` makes one from a scenario. A device belongs to one event loop; ``await device.close()`` ends what it does
in the background.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping
from functools import partial
from typing import Any

from clawperator.engine.contracts.operator_identity import DEBUG_PACKAGE, LISTENER_CLASS, RELEASE_PACKAGE, SERVICE_CLASS
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.runtime.plan import Generation
from clawperator.engine.simulator import scenario as faults
from clawperator.engine.simulator.apps.catalogue import APPS
from clawperator.engine.simulator.apps.huge import huge_app
from clawperator.engine.simulator.apps.launcher import PACKAGE as LAUNCHER_PACKAGE
from clawperator.engine.simulator.apps.operator_app import ACTIVITY, operator_app
from clawperator.engine.simulator.clock import DeviceClock
from clawperator.engine.simulator.dropbox import DropBox
from clawperator.engine.simulator.dumpsys import dumpsys
from clawperator.engine.simulator.filesystem import SHELL_UID, FileSystem
from clawperator.engine.simulator.forwarding import Reverses
from clawperator.engine.simulator.logbuffer import LogBuffer
from clawperator.engine.simulator.noise import Noise
from clawperator.engine.simulator.operator import Operator, command_id_of
from clawperator.engine.simulator.packages import FIRST_APP_UID, Package, version_code_of
from clawperator.engine.simulator.pauses import Pauses
from clawperator.engine.simulator.procfs import CPUS, proc_files
from clawperator.engine.simulator.profile import NOTIFICATIONS, packages, properties, settings
from clawperator.engine.simulator.round_trips import RoundTrips
from clawperator.engine.simulator.scenario import Scenario
from clawperator.engine.simulator.ui import Metrics, Ui, Window
from clawperator.engine.version import OPERATOR_RELEASES

OPERATOR_PACKAGES = (RELEASE_PACKAGE, DEBUG_PACKAGE)
IDLE_LIMIT_S = 10
BOOT_MS = 5_000
RESTART_S = 0.1
"""How long adbd takes to end, and to be there again."""
SRGB = 1
"""The platform's number of the colour space that pictures of the screen are in."""
NOT_IDLE = "ERROR: could not get idle state."
NULL_ROOT = "ERROR: null root node returned by UiTestAutomationBridge."
KEYS = {
    3: "HOME",
    4: "BACK",
    26: "POWER",
    61: "TAB",
    66: "ENTER",
    67: "DEL",
    111: "ESCAPE",
    187: "APP_SWITCH",
    223: "SLEEP",
    224: "WAKEUP",
}


class DeviceCommandError(Exception):
    """A command of the device refuses: ``stderr`` is its text, ``exit_code`` its status (0 for those that fail politely)."""

    def __init__(self, stderr: str, exit_code: int = 1) -> None:
        super().__init__(stderr)
        self.stderr = stderr
        self.exit_code = exit_code


def create_device(
    scenario: Scenario | None = None, *, index: int = 0, generation: Generation = "0.3"
) -> SimulatedDevice:
    """A booted device in the state that ``scenario`` describes (default: healthy).

    ``index`` sets devices of one simulation apart (serial, model's AVD name). A generation in the scenario wins over
    ``generation``. Raises ``EngineError`` (SCENARIO_INVALID) when the scenario starts in an app or screen that does not exist.
    """
    return SimulatedDevice(scenario or Scenario(), index, generation)


class SimulatedDevice:
    """One device. Texts are what the platform's own commands print; pixels are the display's."""

    def __init__(self, scenario: Scenario, index: int, generation: Generation) -> None:
        profile = scenario.device
        self.scenario = scenario
        self.generation: Generation = profile.generation or generation
        self.serial = profile.serial or f"emulator-{5554 + 2 * index}"
        self.sdk = profile.sdk
        self.model = profile.model
        self.avd_name = profile.avd_name or f"{profile.model.replace(' ', '_')}_API_{profile.sdk}"
        self.state: str = scenario.state
        self.debuggable = profile.build != "user"
        self.shell_uid = SHELL_UID
        """As which user adbd, and so every shell of an adb client, runs."""
        self.reverses = Reverses()
        self.clock = DeviceClock(scenario.speed)
        self.round_trips = RoundTrips(scenario.latency_ms.round_trip)
        self.pauses = Pauses()
        self.log = LogBuffer(capacity_bytes=profile.log_buffer_kib * 1024, clock=self._wall_clock)
        self.files = FileSystem(clock=self._wall_clock)
        self.dropbox = DropBox()
        self.locked = profile.locked
        self.props = properties(
            serial=self.serial,
            model=self.model,
            avd_name=self.avd_name,
            sdk=self.sdk,
            density=profile.density,
            build=profile.build,
        )
        self.settings = settings()
        self.ui = self._make_ui()
        self.packages = packages(self.ui.apps.values())
        self.commands = 0
        """How many broadcasts arrived so far."""
        self._pids = 1_200 + 40 * index
        self._tasks: set[asyncio.Task[None]] = set()
        self.files.mount("proc", partial(proc_files, self))
        for number in range(CPUS):
            self.files.mkdir(f"/sys/devices/system/cpu/cpu{number}")
        self.noise = Noise(self.log, scenario.seed)
        self._noise_task: asyncio.Task[None] | None = None
        self._launching: asyncio.Task[None] | None = None
        self._on_disconnect: list[Callable[[], None]] = []
        self._on_connect: list[Callable[[], None]] = []
        self._suppressed_until = 0.0
        self._in_transition_until = 0.0
        self.operators: dict[str, Operator] = {}
        self.ui.listener = self._accessibility_event
        self.ui.awake = profile.awake
        self.crashed_services: set[str] = set()
        """Those that Android has given up until they are switched off and on."""
        if scenario.operator.installed:
            self.add_operator(scenario.operator.package, enabled=scenario.operator.enabled)
        down = scenario.of_device(faults.ServiceDown)
        if down is not None and down.how == "crashed":
            self.crashed_services.update(operator.service for operator in self.operators.values())

    def _wall_clock(self) -> float:
        """Seconds since the epoch, as the device believes."""
        return time.time() + self.scenario.device.clock_skew_ms / 1000

    def _make_ui(self) -> Ui:
        scenario = self.scenario
        metrics = Metrics(scenario.device.width, scenario.device.height, scenario.device.density)
        huge = scenario.of_device(faults.HugeTree)
        apps = [*APPS, huge_app(huge.nodes)] if huge else list(APPS)
        ui = Ui({app.package: app for app in apps}, self.settings, metrics, home=LAUNCHER_PACKAGE)
        start = apps[-1].package if huge else scenario.start.package
        if start != LAUNCHER_PACKAGE or scenario.start.screen:
            screen = "" if huge else scenario.start.screen
            if not ui.show(start, screen):
                where = f"{start} {screen}".strip()
                raise EngineError(
                    ErrorCode.SCENARIO_INVALID, f"the scenario starts in {where!r}, which no simulated app has"
                )
        return ui

    # --- life

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run something in the background until it ends or the device is closed."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            report = {"message": "a simulated device's task failed", "exception": error, "task": task}
            task.get_loop().call_exception_handler(report)

    def start(self) -> None:
        """Begin what the device does by itself (noise). Repeating it does no harm; the first broadcast does it, too."""
        fault = self.scenario.of_device(faults.Noise)
        if fault is not None and self._noise_task is None:
            rate = fault.lines_per_second / (self.scenario.speed or 1.0)
            self._noise_task = asyncio.get_running_loop().create_task(self.noise.keep_on(rate))

    async def close(self) -> None:
        """End all background work."""
        tasks = [*self._tasks, *([self._noise_task] if self._noise_task else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._noise_task = None

    async def idle(self) -> None:
        """Return when no command or other background work is under way (noise aside)."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def shell_pid(self) -> int:
        """The pid of the next process that a shell starts."""
        return self.fresh_pid()

    def fresh_pid(self) -> int:
        self._pids += 3
        return self._pids

    # --- transport

    def on_disconnect(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when the transport drops; the result unsubscribes."""
        self._on_disconnect.append(callback)
        return lambda: self._on_disconnect.remove(callback)

    def on_connect(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when the device is back after a disconnect; the result unsubscribes."""
        self._on_connect.append(callback)
        return lambda: self._on_connect.remove(callback)

    def disconnect(self, reconnect_after_ms: int | None = None) -> None:
        """Drop the transport. The device itself goes on; its state is ``offline`` until it is connected again."""
        self.state = "offline"
        self.reverses.table.clear()
        for callback in tuple(self._on_disconnect):
            callback()
        if reconnect_after_ms is not None:
            self.spawn(self._reconnect(reconnect_after_ms / 1000))

    async def _reconnect(self, seconds: float) -> None:
        await self.clock.sleep(seconds)
        self.connect()

    def reboot(self) -> None:
        """The transport drops; the device is back when it has booted."""
        self.shell_uid = SHELL_UID
        self.disconnect(BOOT_MS)

    async def restart_adbd(self, uid: int) -> None:
        """Let adbd run as another user from now on; its connections end a moment after it has said so."""
        await asyncio.sleep(RESTART_S)
        self.shell_uid = uid
        self.disconnect(int(RESTART_S * 1000))

    def connect(self) -> None:
        self.state = self.scenario.state
        for callback in tuple(self._on_connect):
            callback()

    # --- the Operator

    @property
    def operator(self) -> Operator | None:
        """The installed Operator of this scenario's package."""
        return self.operators.get(self.scenario.operator.package)

    def add_operator(self, name: str, version: str = "", *, enabled: bool = False) -> None:
        """Install the Operator app ``name``; without a version, the scenario's or the generation's."""
        debug = "-d" if name.endswith(".dev") else ""
        version = version or self.scenario.operator.version_name or OPERATOR_RELEASES[self.generation] + debug
        package = Package(
            name,
            FIRST_APP_UID + 190 + OPERATOR_PACKAGES.index(name),
            version,
            version_code_of(version),
            stopped=not enabled,
            requested=(NOTIFICATIONS, "android.permission.QUERY_ALL_PACKAGES"),
            services=(
                ("android.accessibilityservice.AccessibilityService", SERVICE_CLASS),
                ("android.service.notification.NotificationListenerService", LISTENER_CLASS),
            ),
        )
        self.packages[name] = package
        self.ui.add(operator_app(name, package.version_name))
        self.operators[name] = operator = Operator(self, self.generation, name, package.uid)
        if enabled:
            secure = self.settings["secure"]
            secure["accessibility_enabled"] = "1"
            secure["enabled_accessibility_services"] = operator.service
            package.permissions.add(NOTIFICATIONS)

    def service_bound(self, component: str) -> bool:
        """Whether an accessibility service runs: installed, switched on in the secure settings, not suppressed."""
        package = self.packages.get(component.partition("/")[0])
        if package is None or not package.enabled or component in self.crashed_services or self.ui_automation_held:
            return False
        down = self.scenario.of_device(faults.ServiceDown)
        if (down is not None and down.how != "crashed") or self.clock.now() < self._suppressed_until:
            return False
        secure = self.settings["secure"]
        listed = component in secure.get("enabled_accessibility_services", "").split(":")
        bound = listed and secure.get("accessibility_enabled") == "1"
        if bound:
            package.stopped = False  # binding starts the process
        return bound

    @property
    def ui_automation_held(self) -> bool:
        """Whether another program than a passing ``uiautomator dump`` has taken the UiAutomation connection."""
        return self.scenario.of_device(faults.UiAutomationHeld) is not None

    def settings_written(self) -> None:
        """Android reacts to changed settings: a service that is switched off is forgiven its crash."""
        listed = self.settings["secure"].get("enabled_accessibility_services", "").split(":")
        self.crashed_services.intersection_update(listed)

    def disable_service(self, component: str) -> None:
        """Take an accessibility service out of the secure settings, as Android does after a crash."""
        secure = self.settings["secure"]
        rest = [
            entry
            for entry in secure.get("enabled_accessibility_services", "").split(":")
            if entry not in ("", component)
        ]
        secure["enabled_accessibility_services"] = ":".join(rest)
        if not rest:
            secure["accessibility_enabled"] = "0"

    def _accessibility_event(self, kind: str, package: str, node: Any) -> None:
        if kind == "TYPE_WINDOW_STATE_CHANGED":
            self._in_transition_until = self.clock.now() + self.scenario.latency_ms.transition / 1000
        for operator in self.operators.values():
            operator.on_event(kind, package, node)

    async def broadcast(self, action: str, package: str | None, extras: Mapping[str, str]) -> int:
        """``am broadcast``: deliver to the Operator if it is meant and can receive; the result code is 0 whoever listens.

        Raises ``DeviceCommandError`` where the scenario wants the broadcast to fail.
        """
        self.start()
        await self.pauses.at("broadcast")
        self.commands += 1
        number, command_id = self.commands, command_id_of(extras.get("payload", ""))
        refused = self.scenario.of_command(faults.BroadcastFailure, number, command_id)
        if refused is not None:
            raise DeviceCommandError(refused.stderr, refused.exit_code)
        cut = self.scenario.of_command(faults.Disconnect, number, command_id)
        if cut is not None and cut.step == 0:
            self.disconnect(cut.reconnect_after_ms)
        ends = self.scenario.of_command(faults.LogStreamEnds, number, command_id)
        if ends is not None and ends.step == 0:
            self.log.hang_up()
        operator = self.operators.get(package or "")
        if operator is not None:
            await self.clock.sleep(self.scenario.latency_ms.delivery / 1000)
            lost = self.scenario.of_command(faults.LostBroadcast, number, command_id) is not None
            if not lost and (operator.connected or not self.packages[operator.package].stopped):
                operator.receive(action, extras, number)
        await self.pauses.at("delivered")
        return 0

    # --- activities

    def launch(self, package: str) -> bool:
        """Start a package's launcher entry; its window comes after the launch latency."""
        app, installed = self.ui.apps.get(package), self.packages.get(package)
        if app is None or installed is None or not (app.launchable and installed.enabled):
            return False
        installed.stopped = False
        self._soon(lambda: self.ui.launch(package))
        return True

    def view(self, uri: str) -> bool:
        """Show a URI; false when no app handles it."""
        if not any(uri.startswith(prefix) for app in self.ui.apps.values() for prefix in app.uris):
            return False
        self._soon(lambda: self.ui.open_uri(uri))
        return True

    async def launched(self) -> None:
        """Return when the activity that was started last has its window."""
        if self._launching is not None:
            await asyncio.wait({self._launching})

    def _soon(self, act: Callable[[], object]) -> None:
        """After the launch latency; at once where the clock does not wait."""
        if not self.clock.speed:
            act()
            return

        async def later() -> None:
            await self.clock.sleep(self.scenario.latency_ms.launch / 1000)
            act()

        self._launching = self.spawn(later())

    def start_activity(
        self, *, component: str | None = None, uri: str | None = None, package: str | None = None
    ) -> str:
        """``am start``: the text it prints. Raises ``DeviceCommandError`` when nothing matches."""
        if uri is not None:
            intent = f"Intent {{ act=android.intent.action.VIEW dat={uri} }}"
            if not self.view(uri):
                raise DeviceCommandError(f"Starting: {intent}\nError: Activity not started, unable to resolve {intent}")
            return f"Starting: {intent}\n"
        name = package or (component or "").partition("/")[0]
        in_front = name == self.ui.package
        intent = (
            f"Intent {{ cmp={component} }}" if component else f"Intent {{ act=android.intent.action.MAIN pkg={name} }}"
        )
        if not self.launch(name):
            detail = (
                f"Activity class {{{component}}} does not exist."
                if component
                else f"Activity not started, unable to resolve {intent}"
            )
            raise DeviceCommandError(f"Starting: {intent}\nError type 3\nError: {detail}")
        warning = "Warning: Activity not started, intent has been delivered to currently running top-most instance.\n"
        return f"Starting: {intent}\n" + (warning if in_front else "")

    def launcher_activity(self, package: str) -> str:
        """The class that a package's icon starts, empty when it has none."""
        if package in self.operators:
            return ACTIVITY
        app = self.ui.apps.get(package)
        return self.ui.home_activity(app) if app is not None and app.launchable else ""

    def force_stop(self, package: str) -> None:
        """``am force-stop``: the process and its windows go; its accessibility service is switched off."""
        if package in self.packages:
            self.packages[package].stopped = True
        operator = self.operators.get(package)
        if operator is not None:
            self.disable_service(operator.service)
            operator.stop()
        if package in self.ui.apps:
            self.ui.kill(package)

    def clear(self, package: str) -> None:
        """``pm clear``: stopped, and as if freshly installed."""
        self.force_stop(package)
        self.ui.reset(package)
        if package in self.packages:
            self.packages[package].permissions.clear()

    # --- input

    async def tap(self, x: int, y: int) -> None:
        self.ui.tap(x, y)

    async def long_press(self, x: int, y: int, duration_ms: int = 650) -> None:
        await self.clock.sleep(duration_ms / 1000)
        self.ui.hold(x, y)

    async def swipe(self, x1: int, y1: int, x2: int, y2: int, duration_ms: int = 300) -> None:
        """A drag; one that stays in place is a tap, or held for half a second a long press."""
        await self.clock.sleep(duration_ms / 1000)
        if abs(x2 - x1) + abs(y2 - y1) > 16:
            self.ui.swipe(x1, y1, x2, y2)
        elif duration_ms >= 500:
            self.ui.hold(x1, y1)
        else:
            self.ui.tap(x1, y1)

    async def key(self, key: int | str) -> None:
        """A key event by number or by name (``4``, ``BACK``, ``KEYCODE_BACK``); a key that nothing listens to does nothing."""
        word = str(key).upper().removeprefix("KEYCODE_")
        name = KEYS.get(int(word), "") if word.isdigit() and len(word) < 6 else word
        acts: Mapping[str, Callable[[], object]] = {
            "BACK": self._back,
            "HOME": self.ui.go_home,
            "APP_SWITCH": self.ui.recents,
            "ENTER": self.ui.enter,
            "NUMPAD_ENTER": self.ui.enter,
            "SEARCH": self.ui.enter,
            "DEL": self.ui.delete,
            "ESCAPE": self.ui.escape,
            "POWER": lambda: setattr(self.ui, "awake", not self.ui.awake),
            "SLEEP": lambda: setattr(self.ui, "awake", False),
            "WAKEUP": lambda: setattr(self.ui, "awake", True),
        }
        if name in acts:
            acts[name]()

    def _back(self) -> None:
        for operator in self.operators.values():
            operator.recorder.on_back()
        self.ui.back()

    def press_global(self, name: str) -> None:
        """An accessibility global action: ``back``, ``home`` or ``recents``."""
        {"back": self._back, "home": self.ui.go_home, "recents": self.ui.recents}[name]()

    async def type_text(self, text: str) -> None:
        """``input text``: ``%s`` is a space; a character without a key types nothing at all (android-facts 8a)."""
        if not text.isascii() or not text.isprintable():
            raise DeviceCommandError(
                "java.lang.NullPointerException: Attempt to get length of null array\n\tat com.android.commands.input.Input.sendText"
            )
        self.ui.type_text(text.replace("%s", " "))

    def collapse_shade(self) -> None:
        """The Operator closes the notification shade before a command; there is none to close here."""

    # --- screen

    def readable_window(self) -> Window | None:
        """The active window for accessibility; ``None`` when it has no root."""
        if self.clock.now() < self._in_transition_until:
            return None
        return self.ui.readable()

    def dump_hierarchy(self) -> str:
        """XML as ``uiautomator dump`` writes it. Raises ``DeviceCommandError`` (exit 0) as android-facts 7a."""
        window = self.readable_window()
        if window is None:
            raise DeviceCommandError(NULL_ROOT, 0)
        if not window.screen.idle:
            raise DeviceCommandError(NOT_IDLE, 0)
        return window.uiautomator_xml()

    async def uiautomator_dump(self) -> str:
        """The same in its own time: a quiet second, or ten in vain; accessibility services are gone meanwhile (7e)."""
        if self.ui_automation_held:  # one client at a time (android-facts 7f)
            raise DeviceCommandError("Killed", 137)
        latency = self.scenario.latency_ms
        resting = self.ui.window().screen.idle
        needed = latency.uiautomator / 1000 if resting else IDLE_LIMIT_S
        self._suppressed_until = self.clock.now() + needed + latency.rebind / 1000 if self.clock.speed else 0.0
        await self.clock.sleep(needed)
        return self.dump_hierarchy()

    def screenshot_png(self) -> bytes:
        """The display as a PNG; a secure window is black."""
        from clawperator.engine.simulator.render import render_png

        return render_png(self.ui)

    def screenshot_rgba(self) -> tuple[tuple[int, int], bytes]:
        """Its size in pixels, and four bytes for each of them."""
        from io import BytesIO

        from PIL import Image

        with Image.open(BytesIO(self.screenshot_png())) as image:
            return image.size, image.convert("RGBA").tobytes()

    def wm_size(self) -> str:
        return f"Physical size: {self.ui.metrics.width}x{self.ui.metrics.height}"

    def wm_density(self) -> str:
        return f"Physical density: {self.ui.metrics.density}"

    # --- packages

    def install(self, apk: bytes, *, reinstall: bool) -> str:
        """``pm install`` of an APK's bytes: ``Success`` or ``Failure [...]`` (see ``installing``)."""
        from clawperator.engine.simulator.installing import install

        return install(self, apk, reinstall=reinstall)

    def uninstall(self, package: str) -> str:
        if package not in self.packages or self.packages[package].system:
            return "Failure [DELETE_FAILED_INTERNAL_ERROR]"
        operator = self.operators.pop(package, None)
        if operator is not None:
            self.disable_service(operator.service)
            operator.stop()
        del self.packages[package]
        if package in self.ui.apps:
            self.ui.forget(package)
        return "Success"

    def dumpsys(self, service: str, args: list[str] | tuple[str, ...] = ()) -> str:
        """A system service's dump. Raises ``DeviceCommandError`` for one that does not exist."""
        text = dumpsys(self, service, args)
        if text is None:
            raise DeviceCommandError(f"Can't find service: {service}", 0)
        return text
