"""Virtual devices and an Operator app that are only invented: what the console's tests and looks are driven with.

Nothing happens by itself: a job stands still wherever the test holds it, and its times are the ones that the test gives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from clawperator.engine.contracts.operator_identity import RELEASE_PACKAGE
from clawperator.engine.emulators.avds import (
    MISSING_PLAY_STORE,
    UNSUPPORTED_ABI,
    UNSUPPORTED_API_LEVEL,
    UNSUPPORTED_DEVICE_PROFILE,
    Avd,
)
from clawperator.engine.emulators.lifecycle import Stopped
from clawperator.engine.emulators.provision import Provisioned, ProvisionPlan
from clawperator.engine.emulators.running import RunningEmulator
from clawperator.engine.emulators.stages import STAGES as PROVISIONING
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.compatibility import Compatibility
from clawperator.engine.operator.reports import (
    InstalledVariant,
    ListGrant,
    NotificationGrant,
    OperatorStatus,
    Permissions,
    SetupReport,
)
from clawperator.engine.progress import OnProgress, Stage, unreported

IMAGE = "system-images;android-35;google_apis_playstore;arm64-v8a"

PIXEL = Avd("clawperator-pixel", True, False, 35, "arm64-v8a", True, "pixel_7", IMAGE, ())
TABLET_AVD = Avd(
    "Tablet_API_33",
    True,
    False,
    33,
    "x86_64",
    False,
    "pixel_tablet",
    "system-images;android-33;google_apis;x86_64",
    (MISSING_PLAY_STORE, UNSUPPORTED_API_LEVEL, UNSUPPORTED_ABI, UNSUPPORTED_DEVICE_PROFILE),
)
SECOND_AVD = Avd("second", True, False, 35, "arm64-v8a", True, "pixel_7", IMAGE, ())
RUNS = RunningEmulator("second", "emulator-5554", True)

FULL_DISK = EngineError(
    ErrorCode.ANDROID_SYSTEM_IMAGE_INSTALL_FAILED,
    "sdkmanager: the disk is full",
    hint="Free several gigabytes in the SDK folder, then run it again.",
)
NO_SDK = EngineError(
    ErrorCode.ANDROID_SDK_TOOL_MISSING,
    "These tools of the Android SDK were not found: emulator",
    details={"missingTools": ["emulator"]},
)

ProgressEvent = tuple[str, float, float, float | None, tuple[str, ...]]
"""A stage: its name, its seconds, its limit in seconds (0: none), its fraction, what the tool says."""

SCRIPT: tuple[ProgressEvent, ...] = (
    ("check_tools", 0.4, 5, None, ()),
    ("scan_running", 0.2, 0, None, ("no supported emulator is running",)),
    ("scan_avds", 0.6, 10, None, ("no supported emulator is running",)),
    (
        "install_image",
        212.0,
        1800,
        0.42,
        (
            "Loading package information...",
            "[=====               ] 12% Downloading x86_64-35_r08.zip",
            "[==========          ] 42% Downloading x86_64-35_r08.zip",
        ),
    ),
    ("create_avd", 3.1, 120, None, ("Auto-selecting single ABI arm64-v8a",)),
    ("start", 2.0, 0, None, ()),
    ("wait_adb", 9.2, 60, None, ()),
    ("wait_boot", 48.0, 180, None, ("waiting for sys.boot_completed",)),
    ("enable_settings", 0.8, 30, None, ()),
)
"""A provisioning from nothing."""

_JOBS = {
    "create": ("install_image", "create_avd"),
    "start": ("start", "wait_adb", "wait_boot", "enable_settings"),
    "stop": (),
    "delete": (),
}


@dataclass
class FakeEmulators:
    """``EmulatorManager`` without a computer. ``calls`` lists what was asked for.

    A job goes through ``script`` and stands still in the stage ``hold``, until ``go`` is set or it is cancelled. ``fail`` names
    the stage that fails with ``error``. ``list_error`` and ``status_error`` are raised by looking.
    """

    present: tuple[Avd, ...] = (PIXEL, TABLET_AVD)
    up: tuple[RunningEmulator, ...] = ()
    home: str = "/nowhere/at/all/avd"
    supported_abis: tuple[str, ...] = ("arm64-v8a",)
    script: Sequence[ProgressEvent] = SCRIPT
    hold: str = ""
    fail: str = ""
    error: EngineError = FULL_DISK
    list_error: EngineError | None = None
    status_error: EngineError | None = None
    plan_error: EngineError | None = None
    hold_plan: asyncio.Event | None = None
    kept_on_cancel: bool = True
    clock: Any = None
    """A clock that moves by the time that each stage takes."""
    go: asyncio.Event = field(default_factory=asyncio.Event)
    holding: asyncio.Event = field(default_factory=asyncio.Event)
    calls: list[str] = field(default_factory=list)

    # -- looking

    async def avds(self) -> tuple[Avd, ...]:
        self.calls.append("avds")
        if self.list_error is not None:
            raise self.list_error
        return self.present

    async def inspect(self, name: str) -> Avd:
        return next((avd for avd in self.present if avd.name == name), Avd(name))

    async def status(self) -> tuple[RunningEmulator, ...]:
        self.calls.append("status")
        if self.status_error is not None:
            raise self.status_error
        return self.up

    async def plan(self, name: str = "") -> ProvisionPlan:
        self.calls.append("plan")
        if self.hold_plan is not None:
            await self.hold_plan.wait()
        if self.plan_error is not None:
            raise self.plan_error
        running = next((run for run in self.up if run.supported), None)
        if running is not None:
            words = f"reuse running {running.avd_name} ({running.serial})"
            return ProvisionPlan("reuse", running.avd_name, words, running.serial)
        stopped = next((avd for avd in self.present if avd.supported), None)
        if stopped is not None:
            return ProvisionPlan("start", stopped.name, f"start stopped {stopped.name}")
        name = name or "clawperator-pixel"
        words = f"create {name}: download the system image {IMAGE} where it is not installed, accept its licences"
        return ProvisionPlan("create", name, words)

    # -- changing

    async def create(
        self,
        name: str = "",
        *,
        force: bool = False,
        on_progress: OnProgress = unreported,
        api_level: int | None = None,
        device_profile: str | None = None,
        abi: str | None = None,
        play_store: bool | None = None,
    ) -> Avd:
        del force, api_level, device_profile, abi, play_store
        self.calls.append(f"create {name}")
        await self._through("create", on_progress, name)
        return replace(PIXEL, name=name)

    async def start(self, name: str, *, on_progress: OnProgress = unreported, log: str = "") -> RunningEmulator:
        del log
        self.calls.append(f"start {name}")
        await self._through("start", on_progress, name)
        return self._run_of(name)

    async def stop(self, name: str, *, on_progress: OnProgress = unreported) -> Stopped:
        self.calls.append(f"stop {name}")
        on_progress(Stage("stop", "stop", "running", 0, 20_000))
        if self.hold == "stop":
            await self._held()
        serial = next((run.serial for run in self.up if run.avd_name == name), "")
        self.up = tuple(run for run in self.up if run.avd_name != name)
        on_progress(Stage("stop", "stop", "done", 1200, 20_000))
        return Stopped(name, serial, gone=True)

    async def delete(self, name: str) -> None:
        self.calls.append(f"delete {name}")
        self.present = tuple(avd for avd in self.present if avd.name != name)

    async def provision(self, name: str = "", *, on_progress: OnProgress = unreported) -> Provisioned:
        plan = await self.plan(name)
        self.calls.append(f"provision {name}".strip())
        await self._through("provision", on_progress, plan.name, plan.kind)
        run = self._run_of(plan.name)
        on_progress(Stage("provision", "done", "done", 277_000, message=f"{plan.kind} {run.serial}"))
        return Provisioned(run.avd_name, run.serial, plan.kind == "create", plan.kind != "reuse", plan.kind != "create")

    def _run_of(self, name: str) -> RunningEmulator:
        found = next((run for run in self.up if run.avd_name == name), None)
        return found or RunningEmulator(name, f"emulator-{5554 + 2 * len(self.up)}", True)

    async def _through(self, job: str, on_progress: OnProgress, name: str, kind: str = "create") -> None:
        wanted = _JOBS.get(job, PROVISIONING)
        skipped = {"reuse": PROVISIONING[2:8], "start": PROVISIONING[3:5]}.get(kind, ())
        for stage, seconds, limit, fraction, lines in self.script:
            if stage not in wanted:
                continue
            if stage in skipped:
                on_progress(Stage(job, stage, "skipped"))
                continue
            on_progress(Stage(job, stage, "running", 0, limit * 1000))
            if self.clock is not None:
                self.clock.at += seconds
            for line in lines:
                on_progress(Stage(job, stage, "running", seconds * 1000, limit * 1000, fraction, line))
            if not lines:
                on_progress(Stage(job, stage, "running", seconds * 1000, limit * 1000, fraction))
            if stage == self.hold:
                try:
                    await self._held()
                except asyncio.CancelledError:
                    on_progress(Stage(job, stage, "failed", seconds * 1000, limit * 1000, message="cancelled"))
                    if self.kept_on_cancel and stage in ("start", "wait_adb", "wait_boot"):
                        self._made(name)
                    raise
            if stage == self.fail:
                on_progress(Stage(job, stage, "failed", seconds * 1000, limit * 1000, message=self.error.message))
                raise self.error
            if stage == "create_avd":
                self._made(name)
            on_progress(Stage(job, stage, "done", seconds * 1000, limit * 1000))
        if job in ("start", "provision"):
            self.up = (*(run for run in self.up if run.avd_name != name), self._run_of(name))

    def _made(self, name: str) -> None:
        if all(avd.name != name for avd in self.present):
            self.present = (*self.present, replace(PIXEL, name=name))

    async def _held(self) -> None:
        self.holding.set()
        await self.go.wait()


# -- the Operator app

GRANTED = Permissions(ListGrant(True), NotificationGrant(True), ListGrant(True))


def operator_status(
    serial: str = "emulator-5554", version: str = "0.3.0", code: int = 300_900, *, package: str = RELEASE_PACKAGE
) -> OperatorStatus:
    """Installed, granted, running; an empty ``version`` is a device without the app."""
    if not version:
        error = EngineError(ErrorCode.RECEIVER_NOT_INSTALLED, f"{package} is not installed")
        return OperatorStatus(serial, package, (), Compatibility(package, error=error))
    return OperatorStatus(
        serial,
        package,
        (InstalledVariant(package, version, code),),
        Compatibility(package, version, code),
        listed=True,
        enabled=True,
        bound=True,
        notifications=True,
        listener=True,
    )


@dataclass
class FakeOperatorApp:
    """``OperatorApp`` of one device; ``after`` is how it is once a setup succeeded. ``hold`` and ``fail`` as with emulators."""

    now: OperatorStatus = field(default_factory=operator_status)
    after: OperatorStatus = field(default_factory=lambda: operator_status(version="0.3.1", code=301_900))
    status_error: EngineError | None = None
    hold: str = ""
    fail: str = ""
    error: EngineError = EngineError(  # noqa: RUF009  # never changed
        ErrorCode.OPERATOR_INSTALL_FAILED,
        "INSTALL_FAILED_UPDATE_INCOMPATIBLE: signatures do not match the installed version",
    )
    go: asyncio.Event = field(default_factory=asyncio.Event)
    calls: list[str] = field(default_factory=list)

    async def status(self) -> OperatorStatus:
        self.calls.append("status")
        if self.status_error is not None:
            raise self.status_error
        return self.now

    async def setup(
        self, apk: str = "", *, sha256: str = "", force: bool = False, on_progress: OnProgress = unreported
    ) -> SetupReport:
        del sha256
        self.calls.append(f"setup {apk}")
        limits = {"check": 0, "install": 180_000, "permissions": 0, "verify": 0}
        for name, limit in limits.items():
            on_progress(Stage("setup", name, "running", 0, limit))
            if name == "install":
                on_progress(Stage("setup", name, "running", 4_200, limit, 0.46, "5.7 of 12.4 MB sent"))
            if name == self.hold:
                await self.go.wait()
            if name == self.fail:
                on_progress(Stage("setup", name, "failed", 6_400, limit, message=self.error.message))
                raise self.error
            on_progress(Stage("setup", name, "done", {"install": 9_100, "permissions": 640}.get(name, 120), limit))
        self.now = self.after
        return SetupReport(self.now.device_id, self.now.package, apk, self.now.installed[0].version_name, GRANTED)
