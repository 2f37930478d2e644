"""The Android system of a simulated device, without the Operator app.

Everything that an adb client or an app can reach is a part of a ``Platform``; ``device.SimulatedDevice`` adds the Operator.
A platform belongs to one event loop.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Coroutine
from itertools import cycle
from typing import Any
from uuid import uuid4

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.nodes import Bounds
from clawperator.engine.runtime.plan import Generation
from clawperator.engine.simulator.accessibility import AccessibilityManager
from clawperator.engine.simulator.activities import ActivityManager
from clawperator.engine.simulator.android_users import AndroidUsers
from clawperator.engine.simulator.app_actions import AppActions
from clawperator.engine.simulator.apps.catalogue import APPS
from clawperator.engine.simulator.apps.conditions import DRAWN, drawn_app, huge_app
from clawperator.engine.simulator.apps.launcher import PACKAGE as LAUNCHER_PACKAGE
from clawperator.engine.simulator.clock import DeviceClock, Pauses, RoundTrips
from clawperator.engine.simulator.dropbox import DropBox
from clawperator.engine.simulator.filesystem import SHELL_UID, FileSystem
from clawperator.engine.simulator.forwarding import Reverses
from clawperator.engine.simulator.input import InputManager
from clawperator.engine.simulator.log_buffer import LogBuffer
from clawperator.engine.simulator.noise import Noise
from clawperator.engine.simulator.profile import packages, properties, settings
from clawperator.engine.simulator.scenario import Scenario
from clawperator.engine.simulator.ui import DisplayMetrics, Ui

BOOT_MS = 5_000
RESTART_S = 0.1
"""How long adbd takes to end, and to start again."""


class Platform:
    """Texts are what the platform's own commands print; pixels are the display's."""

    user_unlocked = True
    """Whether the user has unlocked it since it started: otherwise most apps cannot run."""

    def __init__(self, scenario: Scenario, index: int, generation: Generation) -> None:
        profile = scenario.device
        self.scenario = scenario
        self.generation: Generation = profile.generation or generation
        self.serial = profile.serial or f"emulator-{5554 + 2 * index}"
        self.usb = profile.usb
        self.boot_id = str(uuid4())
        self.sdk = profile.sdk
        self.model = profile.model
        self.avd_name = profile.avd_name or f"{profile.model.replace(' ', '_')}_API_{profile.sdk}"
        self.state: str = scenario.state
        self.debuggable = profile.build != "user"
        self.shell_uid = SHELL_UID
        """The user that adbd, and so every shell of an adb client, runs as."""
        self.reverses = Reverses()
        self.clock = DeviceClock(scenario.speed)
        self.round_trips = RoundTrips(scenario.latency_ms.round_trip)
        self.pauses = Pauses()
        self.props: dict[str, str] = {}
        self.log = LogBuffer(
            capacity_bytes=profile.log_buffer_kib * 1024,
            clock=self._wall_clock,
            least=lambda: self.props.get("log.tag") or self.props.get("persist.log.tag", ""),
        )
        self.noise = Noise(self.log, scenario.seed)
        self._pids = 1_200 + 40 * index
        self._tasks: set[asyncio.Task[None]] = set()
        self._on_disconnect: list[Callable[[], None]] = []
        self._on_connect: list[Callable[[], None]] = []
        self.reset()

    def reset(self) -> None:
        """Put apps, settings, files and the screen into the state that the scenario describes; connections and the log stay."""
        scenario, profile = self.scenario, self.scenario.device
        self.locked = profile.locked
        self.files = FileSystem(clock=self._wall_clock)
        self.dropbox = DropBox()
        self.props = properties(
            serial=self.serial if profile.serialno is None else profile.serialno,
            model=self.model,
            avd_name=self.avd_name,
            sdk=self.sdk,
            density=profile.density,
            build=profile.build,
            booted=profile.booted,
        )
        self.users = AndroidUsers(scenario)
        self.settings = settings()
        self.settings_of_others: dict[int, dict[str, dict[str, str]]] = {}
        """Those of users in the background; ``settings`` are those of the one in the foreground."""
        self.ui = self._make_ui()
        self.ui.awake = profile.awake
        self.packages = packages(self.ui.apps.values())
        self.operator_pids: dict[str, int] = {}
        """The process of each installed Operator app, by package."""
        self.accessibility = AccessibilityManager(scenario, self.clock, self.ui, self.packages)
        launch_ms = scenario.latency_ms.launch
        self.app_actions = AppActions(scenario, self.clock, self.ui, self.packages)
        self.ui.panel = lambda: self.app_actions.panel
        self.activities = ActivityManager(self.ui, self.packages, self.clock, self.spawn, launch_ms=launch_ms)
        self.input = InputManager(self.ui, self.clock, self.before_back)
        self.program_calls: Counter[str] = Counter()
        """How often each program was called in a shell."""
        self.dumps: dict[int, asyncio.Task[None]] = {}
        """The running ``uiautomator dump`` by pid."""
        self.tilts = cycle((0, 1))
        """The rotation that the sensor expects, each time that it is asked: the phone is in someone's hand."""

    def before_back(self) -> None:
        """Hook: the user is about to go back."""

    def _wall_clock(self) -> float:
        """Seconds since the epoch, by the device's clock."""
        return time.time() + self.scenario.device.clock_skew_ms / 1000

    def _make_ui(self) -> Ui:
        scenario = self.scenario
        metrics = DisplayMetrics(scenario.device.width, scenario.device.height, scenario.device.density)
        huge = scenario.of_device("huge_tree")
        extra = [huge_app(huge.nodes)] if huge else [drawn_app(self.unseen)] if self.unseen in DRAWN else []
        apps = [*APPS, *extra]
        ui = Ui({app.package: app for app in apps}, self.settings, metrics, home=LAUNCHER_PACKAGE)
        ui.secure = self.unseen == "secure_window"
        ui.part = self.unseen
        over = scenario.of_device("window_over")
        ui.over = [(over.title, Bounds(*over.bounds))] if over is not None else []
        if self.unseen == "other_window":
            ui.over.append(("NotificationShade", Bounds(0, 0, *ui.display)))
        start = apps[-1].package if extra else scenario.start.package
        if start != LAUNCHER_PACKAGE or scenario.start.screen:
            screen = "" if extra else scenario.start.screen
            if not ui.show(start, screen):
                where = f"{start} {screen}".strip()
                raise EngineError(
                    ErrorCode.SCENARIO_INVALID, f"the scenario starts in {where!r}, which no simulated app has"
                )
        return ui

    @property
    def unseen(self) -> str:
        """What the Operator's trees do not show (a scenario's fault), if anything."""
        fault = self.scenario.of_device("unseen")
        return fault.what if fault is not None else ""

    def calls(self, program: str) -> str:
        """Count a call of ``program`` in a shell and return the fault that hits it: ``killed``, ``reboot`` … or none."""
        self.program_calls[program] += 1
        faults = (fault for fault in self.scenario.faults if fault.kind == "program" and fault.program == program)
        hits = (fault for fault in faults if not fault.calls or self.program_calls[program] in fault.calls)
        return next((fault.how for fault in hits), "")

    # -- background work

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

    async def close(self) -> None:
        """End all background work."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def idle(self) -> None:
        """Return when no command or other background work is in progress (noise aside)."""
        while self._tasks:
            await asyncio.wait(self._tasks)

    def new_pid(self) -> int:
        self._pids += 3
        return self._pids

    # -- transport

    def on_disconnect(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when the transport drops; the result unsubscribes."""
        self._on_disconnect.append(callback)
        return lambda: self._on_disconnect.remove(callback)

    def on_connect(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when the device is back after a disconnect; the result unsubscribes."""
        self._on_connect.append(callback)
        return lambda: self._on_connect.remove(callback)

    def connect(self) -> None:
        self.state = self.scenario.state
        for callback in tuple(self._on_connect):
            callback()

    def disconnect(self, reconnect_after_ms: int | None = None) -> None:
        """Drop the transport. The device keeps running; its state is ``offline`` until it is connected again."""
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
        """Drop the transport until the device has booted."""
        self.shell_uid = SHELL_UID
        for task in self.ui.tasks:
            self.ui.kill(task.app.package)
        self.disconnect(BOOT_MS)

    async def restart_adbd(self, uid: int) -> None:
        """Run adbd as another user; its connections end a moment after its response."""
        await asyncio.sleep(RESTART_S)
        self.shell_uid = uid
        self.disconnect(int(RESTART_S * 1000))
