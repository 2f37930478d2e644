"""An engine without a device, with invented data: what the console's tests and looks are driven with.

Everything it publishes is scripted by the test; nothing happens by itself, and the clock stands still unless moved.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from typing import Any, Self

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.doctor.controller import steps_of
from clawperator.app.console.execution.draft_file import RecentDraft, Store
from clawperator.app.console.terminal import Look
from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.config.policy import CAPABILITIES
from clawperator.engine.config.settings import Settings
from clawperator.engine.doctor.device import discovery
from clawperator.engine.doctor.fix import FixResult, PlannedFix
from clawperator.engine.doctor.host import adb_server
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.bus import EventBus
from clawperator.engine.events.types import (
    AdbServerLost,
    CommandProgress,
    DevicesChanged,
    EngineEvent,
    EnvelopeSeen,
    ExecutionFinished,
    ExecutionStarted,
    LogBatch,
    SnapshotSeen,
)
from clawperator.engine.executions.composition import Composition
from clawperator.engine.follow.follower import FollowState
from clawperator.engine.guard import Guard
from clawperator.engine.hierarchy.serialise import RenderNode, hierarchy_xml, render_node
from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.progress import OnProgress, Stage, unreported
from clawperator.widgets.text.times import WallClock
from tests.app.console.fake_emulators import FakeEmulators, FakeOperatorApp
from tests.app.console.fake_skills import FakeLibrary
from tests.support import patience

NOON = 1_700_000_940.0
"""The moment at which all scripts play: 22:29:00 UTC."""

DEVICE = DeviceEntry("emulator-5554", "device", "sdk_gphone64", "sdk_gphone64_x86_64", "emu64x", 1)
PHONE = DeviceEntry("R5CT20ABCDE", "unauthorized", transport_id=2, usb="3-1")
TABLET = DeviceEntry("10.0.0.7:5555", "offline", transport_id=3)
LOCKED_OUT = DeviceEntry(
    "0123456789ABCDEF", "no permissions", detail="missing udev rules? user is in the plugdev group"
)
SECOND = DeviceEntry("emulator-5556", "device", "sdk_gphone64", "Pixel_7", "emu64x", 4)


class MovableClock:
    """Stands still until moved."""

    def __init__(self, at: float = NOON) -> None:
        self.at = at

    def __call__(self) -> float:
        return self.at

    @property
    def clock(self) -> WallClock:
        return WallClock(self, UTC)


class FakeClipboard:
    def __init__(self) -> None:
        self.texts: list[str] = []

    async def copy(self, text: str) -> str:
        self.texts.append(text)
        return ""


class FakeDoctor:
    """One run over the checks that the engine has at that moment. ``held`` checks come when their event is set."""

    def __init__(self, engine: FakeEngine, *, full: bool = False, has_device: bool = True) -> None:
        self.device_id = ""
        self._engine = engine
        checks = engine.checks if has_device else engine.checks_without_device()
        self._found = {str(check["id"]): check for check in checks}
        ids = engine.check_ids or tuple(self._found)
        self.ids = (*ids, *(FULL_IDS if full else ()))

    async def checks(self, *, only: str = "", since: str = "") -> AsyncIterator[Mapping[str, Any]]:
        for wanted in filter(None, (only, since)):
            if wanted not in self.ids:
                raise EngineError(
                    ErrorCode.USAGE, f"Unknown check: {wanted!r}. Some checks belong to full runs only (--full)"
                )
        engine, begun = self._engine, not since
        engine.running_doctors += 1
        engine.most_doctors = max(engine.most_doctors, engine.running_doctors)
        try:
            for name in self.ids:
                begun = begun or name == since
                if not begun or (only and name != only) or name not in self._found:
                    continue
                if name in engine.held:
                    await engine.held[name].wait()
                yield self._found[name]
            if engine.doctor_error is not None:
                raise engine.doctor_error
        finally:
            engine.running_doctors -= 1


class FakeFixer:
    """Knows the steps that the real one knows by their beginning. A fix that works changes the checks to ``engine.fixed``."""

    def __init__(self, engine: FakeEngine) -> None:
        self._engine = engine

    def plan(self, checks: Sequence[Mapping[str, Any]], device_id: str) -> tuple[PlannedFix, ...]:
        plans: dict[str, PlannedFix] = {}
        for check in checks:
            if check["status"] == "pass":
                continue
            for text in steps_of(check):
                if preview := _preview(text, device_id):
                    plans.setdefault(text, PlannedFix(check["id"], text, preview, "kill-server" in text))
        return tuple(plans.values())

    async def run(self, fix: PlannedFix, on_progress: OnProgress = unreported) -> FixResult:
        engine = self._engine
        engine.calls.append(f"fix {fix.step}")
        stage = "permissions" if fix.step.startswith("clawperator grant") else fix.step.split()[1]
        on_progress(Stage("fix", stage, "running", 0.0, 30_000.0))
        if engine.hold_fix is not None:
            await engine.hold_fix.wait()
        if engine.fix_error is not None:
            raise engine.fix_error
        on_progress(Stage("fix", stage, "done" if engine.fix_ok else "failed", 812.0))
        if engine.fix_ok and engine.fixed:
            engine.checks = engine.fixed
        output = engine.fix_output if engine.fix_output is not None else _OUTPUTS.get(stage, "")
        return FixResult(fix.check_id, fix.step, engine.fix_ok, output)


FULL_IDS = ("readiness.smoke",)
_OUTPUTS = {
    "permissions": "accessibility service: enabled\nnotifications: granted\nnotification listener: enabled",
    "observe": "The Operator answered with a snapshot of the screen",
}


def _preview(step: str, device_id: str) -> tuple[str, ...]:
    service = "com.clawperator.operator/clawperator.operator.accessibilityservice.OperatorAccessibilityService"
    if step.startswith("clawperator grant-device-permissions"):
        return (
            f"adb -s {device_id} shell settings put secure accessibility_enabled 1",
            f"adb -s {device_id} shell settings put secure enabled_accessibility_services {service}",
            f"adb -s {device_id} shell pm grant com.clawperator.operator android.permission.POST_NOTIFICATIONS",
        )
    known = step in ("adb kill-server", "adb start-server") or step.startswith("clawperator observe snapshot")
    return (step,) if known else ()


@dataclass
class Answered:
    """As much of an execution's result as the console reads."""

    envelope: Mapping[str, Any]
    duration_ms: float = 0.0


class FakeFollow:
    """Says what the test wants it to say; counts how often a tree was painted."""

    def __init__(self, device_id: str, on_state: Callable[[FollowState], object]) -> None:
        self.device_id = device_id
        self.on_state = on_state
        self.state = FollowState("reading")
        self.commands: set[str] = set()
        self.times_painted = 0
        self.ended = False

    async def run(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            self.ended = True

    def painted(self) -> None:
        self.times_painted += 1

    def owns(self, command_id: str) -> bool:
        return command_id in self.commands


class MemoryStore:
    """A draft's file that is none."""

    def __init__(self, text: str = "") -> None:
        self.text = text
        self.kept: list[RecentDraft] = []

    def load(self) -> str:
        return self.text

    def save(self, text: str) -> str:
        self.text = text
        return ""

    def recent(self) -> list[RecentDraft]:
        return self.kept

    def keep(self, draft: RecentDraft) -> None:
        self.kept = [draft, *self.kept]


@dataclass
class FakeEngine:
    """``calls`` lists what the console asked for. ``screen`` is the XML that a snapshot answers with.

    ``check_ids`` are all ids that a run of the doctor announces; without them, those of ``checks``, its findings.
    """

    screen: str = ""
    present: tuple[DeviceEntry, ...] = (DEVICE,)
    checks: Sequence[Mapping[str, Any]] = ()
    check_ids: tuple[str, ...] = ()
    held: dict[str, asyncio.Event] = field(default_factory=dict)
    fixed: Sequence[Mapping[str, Any]] = ()
    fix_ok: bool = True
    fix_output: str | None = None
    fix_error: EngineError | None = None
    hold_fix: asyncio.Event | None = None
    running_doctors: int = 0
    most_doctors: int = 0
    taken: list[Mapping[str, Any]] = field(default_factory=list)
    now: Callable[[], float] = lambda: NOON
    snapshot_error: EngineError | None = None
    failed_snapshot: Mapping[str, Any] | None = None
    doctor_error: EngineError | None = None
    hold_snapshot: asyncio.Event | None = None
    events: EventBus = field(default_factory=EventBus)
    calls: list[str] = field(default_factory=list)
    executed: list[Mapping[str, Any]] = field(default_factory=list)
    execute_error: EngineError | None = None
    hold_execution: asyncio.Event | None = None
    photo: bytes | EngineError = b""
    follows: list[FakeFollow] = field(default_factory=list)
    watched: list[str] = field(default_factory=list)
    history: Any = None
    backend: str = "operator"
    recording: bool = False
    emulators: FakeEmulators = field(default_factory=FakeEmulators)
    operator: FakeOperatorApp = field(default_factory=FakeOperatorApp)
    network: Any = None
    _commands: int = 0
    _link: AdbServerLost | DevicesChanged = field(default_factory=lambda: DevicesChanged(devices=()))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.calls.append("closed")

    @property
    def wireless(self) -> Any:
        if self.network is None:
            raise EngineError(ErrorCode.BACKEND_UNAVAILABLE, "Phones are paired on the computer of the server")
        return self.network

    async def devices(self) -> tuple[DeviceEntry, ...]:
        return self.present

    async def watch_devices(self) -> None:
        self.publish(DevicesChanged(devices=self.present, at=self.now()))
        await asyncio.Event().wait()

    async def watch_log(self, device_id: str) -> None:
        self.watched.append(device_id)
        await asyncio.Event().wait()

    def backend_of(self, device_id: str) -> str:
        return self.backend

    def use_backend(self, name: str) -> None:
        self.backend = name
        self.calls.append(f"use {name}")

    def locks(self) -> Sequence[Mapping[str, Any]]:
        return tuple(self.taken)

    def doctor(self, *, device_id: str | None = None, full: bool = False) -> FakeDoctor:
        self.calls.append(f"doctor {device_id}{' in full' if full else ''}")
        return FakeDoctor(self, full=full, has_device=bool(device_id))

    def operator_app(self, *, device_id: str | None = None) -> FakeOperatorApp:
        self.calls.append(f"operator {device_id}")
        return self.operator

    def fixer(self) -> FakeFixer:
        return FakeFixer(self)

    async def snapshot(self, *, device_id: str | None = None) -> Any:
        self.calls.append(f"snapshot {device_id}")
        if self.hold_snapshot is not None:
            await self.hold_snapshot.wait()
        if self.snapshot_error is not None:
            raise self.snapshot_error
        if self.failed_snapshot is not None:
            return Answered(self.failed_snapshot)
        self._commands += 1
        command = f"snap-{self._commands}"
        serial = device_id or self.present[0].serial
        at = self.now()
        self.publish(
            ExecutionStarted(
                device_id=serial,
                execution_id=command,
                command_id=command,
                task_id="console",
                source="clawperator-console",
                timeout_ms=30_000,
                action_count=1,
                at=at,
            )
        )
        self.publish(SnapshotSeen(device_id=serial, command_id=command, step_id="s1", xml=self.screen, at=at))
        envelope = make_envelope(command, [("s1", "snapshot_ui", True, {"actual_format": "hierarchy_xml"})])
        self.publish(EnvelopeSeen(device_id=serial, command_id=command, envelope=envelope, raw="{}", at=at))
        self.publish(
            ExecutionFinished(
                device_id=serial,
                execution_id=command,
                command_id=command,
                result={"ok": True, "envelope": envelope},
                duration_ms=412.0,
                at=at,
            )
        )
        return Answered(envelope)

    async def picture(self, *, device_id: str | None = None) -> bytes:
        self.calls.append(f"picture {device_id}")
        if isinstance(self.photo, EngineError):
            raise self.photo
        return self.photo

    async def execute(self, payload: Any, *, device_id: str | None = None) -> Any:
        """Every step succeeds, unless ``execute_error`` says otherwise; ``executed`` keeps what was sent."""
        self.executed.append(payload)
        if self.hold_execution is not None:
            await self.hold_execution.wait()
        if self.execute_error is not None:
            raise self.execute_error
        sent = payload.head if isinstance(payload, Composition) else payload
        steps: list[tuple[str, str, bool, Mapping[str, str]]] = [
            (action["id"], action["type"], True, {}) for action in sent["actions"]
        ]
        return Answered(make_envelope(sent["commandId"], steps))

    async def record_seen(self) -> None:
        self.recording = True

    async def force_stop(self, package: str, *, device_id: str | None = None) -> None:
        self.calls.append(f"force-stop {package} {device_id}")

    def follow(self, device_id: str, on_state: Callable[[FollowState], object]) -> FakeFollow:
        self.follows.append(FakeFollow(device_id, on_state))
        return self.follows[-1]

    def publish(self, *events: EngineEvent) -> None:
        for event in events:
            if isinstance(event, AdbServerLost | DevicesChanged):
                self._link = event
            self.events.publish(event)

    def checks_without_device(self) -> Sequence[Mapping[str, Any]]:
        """As the doctor has them of what was published last."""
        if isinstance(self._link, AdbServerLost):
            error = EngineError(ErrorCode.ADB_SERVER_FAILED, self._link.reason)
            return (*CHECKS_OK[:4], adb_server("tcp:127.0.0.1:5037", error).to_dict())
        return (*CHECKS_OK[:5], discovery(self._link.devices, "")[0].to_dict())

    def show_devices(self, *devices: DeviceEntry) -> None:
        self.present = devices
        self.publish(DevicesChanged(devices=devices, at=self.now()))

    def log(self, entries: Sequence[LogEntry], *, device_id: str = DEVICE.serial, dropped: int = 0) -> None:
        self.publish(LogBatch(device_id=device_id, entries=tuple(entries), dropped=dropped, at=self.now()))


# -- invented screens


def view(cls: str, bounds: str, *children: RenderNode, **attributes: Any) -> RenderNode:
    """A node; ``resource_id="title"`` gets the settings package, ``clickable=True`` and the like are flags."""
    named = {name.replace("_", "-"): value for name, value in attributes.items()}
    if (identifier := named.get("resource-id")) and ":" not in str(identifier):
        named["resource-id"] = f"com.android.settings:id/{identifier}"
    full = cls if "." in cls else f"android.widget.{cls}"
    return render_node({"class": full, "package": "com.android.settings", "bounds": bounds, **named}, children)


def settings_row(top: int, title: str, summary: str = "", *, switch: bool = False, icon: bool = True) -> RenderNode:
    """One row of the settings list."""
    texts = [view("TextView", f"[216,{top + 30}][800,{top + 90}]", text=title, resource_id="android:id/title")]
    if summary:
        texts.append(
            view("TextView", f"[216,{top + 95}][800,{top + 140}]", text=summary, resource_id="android:id/summary")
        )
    children = [view("RelativeLayout", f"[216,{top + 20}][860,{top + 150}]", *texts)]
    if icon:
        children.insert(0, view("ImageView", f"[48,{top + 40}][144,{top + 136}]", resource_id="android:id/icon"))
    if switch:
        children.append(
            view(
                "Switch",
                f"[900,{top + 50}][1040,{top + 120}]",
                resource_id="switch_widget",
                clickable=True,
                checkable=True,
                checked=True,
                content_desc=f"{title} on",
            )
        )
    return view("LinearLayout", f"[0,{top}][1080,{top + 170}]", *children, clickable=True)


ROWS = (
    ("Network & internet", "Mobile, Wi‑Fi, hotspot", False),
    ("Wi‑Fi", "HomeNet", True),
    ("Bluetooth", "Pixel Buds connected", True),
    ("Apps", "Assistant, recent apps, default apps", False),
    ("Notifications", "Notification history, conversations", False),
    ("Battery", "84 % – until tomorrow 10:30", False),
    ("Storage", "61 % used – 49.8 GB free", False),
    ("Sound & vibration", "Volume, haptics, Do Not Disturb", False),
    ("Display", "Dark theme, font size, brightness", False),
    ("Security & privacy", "App security, device lock, permissions", False),
)


def settings_screen(rows: Sequence[tuple[str, str, bool]] = ROWS) -> str:
    """The settings list as the Operator dumps it."""
    items = [settings_row(320 + 180 * index, *row[:2], switch=row[2]) for index, row in enumerate(rows)]
    search = view(
        "LinearLayout",
        "[40,140][1040,290]",
        view("TextView", "[120,180][700,250]", text="Search settings", resource_id="search_action_bar_title"),
        resource_id="search_action_bar",
        clickable=True,
    )
    scroll = view(
        "androidx.recyclerview.widget.RecyclerView",
        "[0,300][1080,2200]",
        *items,
        resource_id="recycler_view",
        scrollable=True,
        focusable=True,
    )
    inner = view(
        "FrameLayout",
        "[0,0][1080,2340]",
        view("FrameLayout", "[0,100][1080,2340]", search, scroll, resource_id="main_content"),
    )
    root = view("FrameLayout", "[0,0][1080,2340]", view("LinearLayout", "[0,0][1080,2340]", inner))
    return hierarchy_xml(root)


def hostile_screen() -> str:
    """Everything a device could do to a terminal."""
    long_text = "lorem ipsum " * 17_000
    rows = [
        view("TextView", "[0,0][1080,100]", text="\x1b[31mred alert\x1b[0m \x1b]0;owned\x07"),
        view("TextView", "[0,100][1080,200]", text="[bold red]markup[/] [link=http://x]click[/link] $state-fail"),
        view("TextView", "[0,200][1080,300]", text="user\u202egpj.exe\u202c and \u2066isolated\u2069"),
        view("TextView", "[0,300][1080,400]", text="中文字幕 日本語テキスト 한국어 👩‍👩‍👧‍👦 ❤️ 🇩🇪"),
        view("TextView", "[0,400][1080,500]", text="مرحبا بالعالم עברית"),
        view("TextView", "[0,500][1080,600]", text="z" + "\u0301" * 60 + "algo"),
        view("TextView", "[0,600][1080,700]", text="line one\nline two\ttabbed\rreturn"),
        view("TextView", "[0,700][1080,800]", text=long_text),
        view("Button", "[0,800][1080,900]", content_desc="zero\u200bwidth and \ue5c4 icon font", clickable=True),
        view(
            "EditText", "[0,900][1080,1000]", text="•••••", password=True, resource_id="a/../../etc/passwd:id/\x1b[2J"
        ),
        view("x" * 300, "[0,1000][1080,1100]", text="quotes \" and ' and <tags> &amp;"),
        view("TextView", "[0,4000][1080,4100]", text="below the screen"),
    ]
    return hierarchy_xml(view("FrameLayout", "[0,0][1080,2340]", *rows))


# -- invented executions


def make_envelope(
    command: str,
    steps: Sequence[tuple[str, str, bool, Mapping[str, str]]],
    *,
    status: str = "success",
    error: str | None = None,
    task: str = "morning-check",
) -> dict[str, Any]:
    return {
        "commandId": command,
        "taskId": task,
        "status": status,
        "stepResults": [
            {"id": step, "actionType": kind, "success": ok, "data": dict(data)} for step, kind, ok, data in steps
        ],
        "error": error,
    }


def progress(kind: str, command: str = "", *, at: float, **fields: str) -> CommandProgress:
    return CommandProgress(device_id=DEVICE.serial, kind=kind, command_id=command, fields=fields, text=kind, at=at)


def agent_run(command: str, at: float, *, source: str = "openclaw") -> list[EngineEvent]:
    """A plan of four steps that another process dispatched, up to its third step's second retry."""
    return [
        progress("start", command, at=at, taskId="morning-check", source=source, timeoutMs="30000", actionCount="4"),
        progress("step-start", at=at + 0.1, id="open"),
        progress("stage-start", command, at=at + 0.1, id="openApp:com.android.settings"),
        progress("stage-success", command, at=at + 0.9, id="openApp:com.android.settings"),
        progress("step-success", at=at + 0.9, id="open"),
        progress("step-start", at=at + 0.9, id="wait"),
        progress("stage-start", command, at=at + 0.9, id="waitForNode(text=Wi‑Fi)"),
        progress("stage-retry", command, at=at + 1.5, id="waitForNode(text=Wi‑Fi)", attempt="2/5", delayMs="1000"),
    ]


def finished_run(command: str, at: float, *, source: str = "openclaw") -> list[EngineEvent]:
    """A plan of three steps that ends well."""
    steps = [
        ("open", "open_app", True, {"application_id": "com.android.settings"}),
        ("wait", "wait_for_node", True, {"resource_id": "android:id/title", "label": "Wi‑Fi"}),
        ("snap", "snapshot_ui", True, {"actual_format": "hierarchy_xml"}),
    ]
    envelope = make_envelope(command, steps)
    return [
        progress("start", command, at=at, taskId="morning-check", source=source, timeoutMs="30000", actionCount="3"),
        progress("step-start", at=at + 0.1, id="open"),
        progress("step-success", at=at + 0.9, id="open"),
        progress("step-start", at=at + 0.9, id="wait"),
        progress("step-success", at=at + 1.6, id="wait"),
        progress("step-start", at=at + 1.6, id="snap"),
        progress("step-success", at=at + 2.0, id="snap"),
        progress("success", command, at=at + 2.1, stepCount="3"),
        EnvelopeSeen(device_id=DEVICE.serial, command_id=command, envelope=envelope, raw=str(envelope), at=at + 2.1),
    ]


def mixed_stream(at: float) -> list[EngineEvent]:
    """One of everything: ok, plan failure, step failure, calm close, duplicate, malformed, gap, running."""
    ok = finished_run("cmd-121", at)
    failed = make_envelope(
        "cmd-122",
        [],
        status="failed",
        error="Task execution failed: No UI node found matching criteria: NodeMatcher(textEquals=Bluetooth settings)",
    )
    partly = make_envelope(
        "cmd-123",
        [
            (
                "close",
                "close_app",
                False,
                {"application_id": "com.android.settings", "error": "UNSUPPORTED_RUNTIME_CLOSE"},
            ),
            ("temp", "read_text", True, {"text": "20.7°C", "validator": "temperature"}),
            (
                "nav",
                "wait_for_navigation",
                False,
                {"error": "NAVIGATION_TIMEOUT", "last_package": "com.android.settings"},
            ),
        ],
    )
    calm = make_envelope(
        "cmd-124",
        [
            (
                "close",
                "close_app",
                False,
                {"application_id": "com.android.settings", "error": "UNSUPPORTED_RUNTIME_CLOSE"},
            )
        ],
    )
    serial = DEVICE.serial
    return [
        *ok,
        EnvelopeSeen(device_id=serial, command_id="cmd-121", envelope=ok[-1].envelope, raw="again", at=at + 2.2),  # type: ignore[attr-defined]  # the last one is the envelope
        progress(
            "start", "cmd-122", at=at + 5, taskId="morning-check", source="openclaw", timeoutMs="20000", actionCount="2"
        ),
        progress("step-start", at=at + 5.1, id="tap"),
        progress("stage-start", "cmd-122", at=at + 5.1, id="click(text=Bluetooth settings)"),
        progress("stage-retry", "cmd-122", at=at + 6.0, id="click", attempt="2/5", delayMs="500"),
        progress("stage-retry", "cmd-122", at=at + 7.5, id="click", attempt="3/5", delayMs="1000"),
        progress("stage-failure", "cmd-122", at=at + 12.2, id="click", reason="No UI node found matching criteria"),
        progress("failure", "cmd-122", at=at + 12.2, reason="No UI node found matching criteria"),
        EnvelopeSeen(device_id=serial, command_id="cmd-122", envelope=failed, raw=str(failed), at=at + 12.2),
        EnvelopeSeen(
            device_id=serial,
            command_id="",
            envelope=None,
            raw='{"commandId":"cmd-1',
            problem="bad JSON at byte 812",
            at=at + 14,
        ),
        progress(
            "start",
            "cmd-123",
            at=at + 15,
            taskId="thermostat",
            source="skill-runner",
            timeoutMs="15000",
            actionCount="3",
        ),
        EnvelopeSeen(device_id=serial, command_id="cmd-123", envelope=partly, raw=str(partly), at=at + 19.4),
        progress(
            "start",
            "cmd-124",
            at=at + 20,
            taskId="thermostat",
            source="skill-runner",
            timeoutMs="5000",
            actionCount="1",
        ),
        EnvelopeSeen(device_id=serial, command_id="cmd-124", envelope=calm, raw=str(calm), at=at + 20.3),
        *agent_run("cmd-125", at + 24),
        progress("queued", "cmd-126", at=at + 25),
    ]


def log_lines(count: int, *, start: int = 0, tag: str = "WifiService") -> list[LogEntry]:
    """Ordinary lines of the device log, every tenth of them the Operator's."""
    lines = []
    for number in range(start, start + count):
        clock = int((NOON + number / 1000) * 1e9)
        if number % 10 == 0:
            message = f"[Clawperator-Command] stage-log commandId=cmd-{number} taskId=t message=line {number}"
            lines.append(LogEntry.create(message, tag="E", level="D", pid=4312, tid=4340, uid=10123, clock=clock))
        else:
            lines.append(
                LogEntry.create(
                    f"scan result {number}: 12 networks",
                    tag=tag,
                    level="DIWEV"[number % 5],
                    pid=612,
                    tid=700,
                    clock=clock,
                )
            )
    return lines


# -- invented checks


def check(identifier: str, status: str, summary: str, **more: Any) -> dict[str, Any]:
    return {"id": identifier, "status": status, "summary": summary, **more}


CHECKS_OK = (
    check("host.python.version", "pass", "Python 3.11.4", evidence={"version": "3.11.4"}),
    check(
        "host.node.version",
        "warn",
        "Node.js was not found",
        code="HOST_DEPENDENCY_MISSING",
        detail="Only needed to run .js skills.",
        fix={
            "title": "Install Node.js 22 or newer",
            "platform": "any",
            "steps": [{"kind": "manual", "value": "https://nodejs.org"}],
        },
        durationMs=7,
    ),
    check("host.git.presence", "pass", "git is there", evidence={"version": "2.39.2"}, durationMs=3),
    check(
        "host.adb.presence",
        "pass",
        "adb is there",
        evidence={"version": "36.0.0", "path": "/opt/sdk/platform-tools/adb"},
        durationMs=4,
    ),
    check("host.adb.server", "pass", "The adb server answers", evidence={"port": 5037}, durationMs=2),
    check("device.discovery", "pass", "One usable device", evidence={"serial": "emulator-5554"}, durationMs=1),
    check(
        "device.capability",
        "pass",
        "The device shell answers",
        evidence={"sdk": "35", "wmSize": "Physical size: 1080x2340", "wmDensity": "Physical density: 440"},
        durationMs=104,
    ),
    check(
        "readiness.apk.presence",
        "pass",
        "The Operator app is installed",
        evidence={"receiverPackage": "com.clawperator.operator"},
        durationMs=112,
    ),
    check(
        "readiness.version.compatibility",
        "pass",
        "Host and app fit together",
        evidence={"apkVersion": "0.3.1", "cliVersion": "0.3.1"},
        durationMs=112,
    ),
    check("readiness.settings.dev_options", "pass", "Developer options are on", durationMs=98),
    check("readiness.settings.usb_debugging", "pass", "USB debugging is on", durationMs=98),
    check("readiness.handshake", "pass", "The Operator answers", evidence={"roundTripMs": 38}, durationMs=438),
)

CHECKS_FAILED = (
    *CHECKS_OK[:-1],
    check(
        "readiness.handshake",
        "fail",
        "The Operator did not answer",
        code="RESULT_ENVELOPE_TIMEOUT",
        detail="No envelope came within 7000 ms. The broadcast went out (result=0) to com.clawperator.operator on emulator-5554.",
        fix={
            "title": "Grant the permissions again, then look once more",
            "platform": "any",
            "steps": [
                {
                    "kind": "shell",
                    "value": "clawperator grant-device-permissions --device-id emulator-5554 --receiver-package com.clawperator.operator",
                },
                {
                    "kind": "shell",
                    "value": "clawperator observe snapshot --device-id emulator-5554 --timeout-ms 5000 --verbose",
                },
            ],
        },
        deviceGuidance={
            "screen": "Accessibility Settings",
            "steps": ["Open Clawperator Operator in the list of services.", "Switch it off and on again."],
        },
        evidence={"broadcast": "result=0", "waitedMs": 7000},
        durationMs=7013,
    ),
)

GRANT = "clawperator grant-device-permissions --device-id emulator-5554 --receiver-package com.clawperator.operator"
LOOK = (
    "clawperator observe snapshot --device-id emulator-5554 --receiver-package com.clawperator.operator "
    "--timeout-ms 5000 --verbose"
)
GUIDANCE = {
    "screen": "Accessibility Settings",
    "steps": ["Find Clawperator under the installed services.", "Turn it on."],
}

CHECKS_OFF = (
    *CHECKS_OK[:-1],
    check(
        "readiness.accessibility.enabled",
        "warn",
        "The Operator's accessibility service is switched off",
        code="DEVICE_ACCESSIBILITY_NOT_RUNNING",
        detail="Android switches it off after a crash, and when the app is stopped or updated.",
        fix={
            "title": "Switch on the accessibility service",
            "platform": "any",
            "steps": [{"kind": "shell", "value": GRANT}],
        },
        deviceGuidance=GUIDANCE,
        evidence={"accessibilityEnabled": "0", "services": []},
        durationMs=98,
    ),
    check(
        "readiness.handshake",
        "fail",
        "The Operator app did not answer: No [Clawperator-Result] envelope within 7000ms",
        code="RESULT_ENVELOPE_TIMEOUT",
        detail="Broadcast: sent; receiver com.clawperator.operator; device emulator-5554.",
        fix={
            "title": "Restart the Operator app's service",
            "platform": "any",
            "steps": [{"kind": "shell", "value": GRANT}, {"kind": "shell", "value": LOOK}],
        },
        deviceGuidance=GUIDANCE,
        durationMs=7013,
    ),
)
"""The service is off: what the real doctor says of a device like that."""

CHECKS_ON = (
    *CHECKS_OK[:-1],
    check(
        "readiness.accessibility.enabled",
        "pass",
        "The accessibility service is switched on",
        evidence={"accessibilityEnabled": "1"},
        durationMs=95,
    ),
    CHECKS_OK[-1],
)

CHECKS_NO_SERVER = (
    *CHECKS_OK[:4],
    check(
        "host.adb.server",
        "fail",
        "The adb server does not respond",
        code="ADB_SERVER_FAILED",
        detail="cannot bind 'tcp:5037': Address already in use",
        fix={
            "title": "Start it anew",
            "platform": "any",
            "steps": [{"kind": "shell", "value": "adb kill-server"}, {"kind": "shell", "value": "adb start-server"}],
        },
        evidence={"address": "tcp:127.0.0.1:5037"},
        durationMs=5012,
    ),
)
"""A critical check ends the run: the others are not made."""

CHECK_IDS = tuple(str(found["id"]) for found in CHECKS_ON)
"""In report order."""


# -- the app


def make_app(
    engine: FakeEngine,
    *,
    theme: str = "claw-dark",
    ascii_only: bool = False,
    no_colour: bool = False,
    clock: MovableClock | None = None,
    demo: bool = False,
    wanted_device: str = "",
    drafts: Store | None = None,
    files: Sequence[str] = (),
    **more: Any,
) -> ConsoleApp:
    """A console over ``engine`` that tells news at once and copies into ``app.clipboard.texts``."""
    clock = clock or MovableClock()
    engine.now = clock
    more.setdefault("skills", FakeLibrary())
    return ConsoleApp(
        engine,
        look=Look(theme, ascii=ascii_only, no_colour=no_colour),
        clock=clock.clock,
        clipboard=FakeClipboard(),
        drafts=drafts or MemoryStore(),
        tick=0.0,
        demo=demo,
        wanted_device=wanted_device,
        files=files,
        **more,
    )


def guard_without(capability: str, folder: Path) -> Guard:
    """The policy of a profile that allows everything else; its file is written to ``folder``."""
    file = folder / f"no-{capability}.toml"
    file.write_text(
        f'version = 1\n[profiles.default.capabilities]\nallow = {list(CAPABILITIES)}\ndeny = ["{capability}"]\n'
    )
    return Guard(Settings.resolve({"policy_path": str(file)}, {}))


async def until(pilot: Any, holds: Callable[[], object], *, seconds: float = 15.0) -> None:
    """Let the console work until ``holds``; fails when it does not within ``seconds``."""
    try:
        async with asyncio.timeout(patience(seconds)):
            pause = 0.0
            while not holds():
                await drained(pilot)
                await asyncio.sleep(pause)  # what is late, a thread or another process makes: it needs the processor
                pause = min(pause + 0.005, 0.05)
    except TimeoutError:
        rows = ("".join(segment.text for segment in line) for line in pilot.app.screen._compositor.render_strips())
        raise AssertionError("\n".join([f"never came true: {holds}; on screen:", *rows])) from None


async def drained(pilot: Any) -> None:
    """Until every widget has handled what was in its queue, and what that led to was painted."""
    await pilot._wait_for_screen()
    painted = asyncio.Event()
    while not painted.is_set():  # a screen that was covered meanwhile does not paint: then the one on top is asked
        pilot.app.screen.call_after_refresh(painted.set)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.1):
                await painted.wait()


async def settled(pilot: Any) -> None:
    """Until the first look at the device is over: tree shown, checks done."""
    app = pilot.app
    await until(pilot, lambda: app.session.trees.shown and app.session.report.ended and not app.session.work)
    tree = app.screen.query_one("#tree") if app.current_mode == "inspect" else None
    if tree is not None:
        await until(pilot, lambda: tree.snapshot.serial == app.session.trees.shown.serial)
        tree._rested()
    await drained(pilot)
