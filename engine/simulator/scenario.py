"""A scenario: a simulated device's properties and faults, as one small YAML file.

    name: envelope arrives twice, and late
    speed: 0.1                      # one simulated second takes 100 ms; 0 = no waiting at all
    device: {generation: "0.5", sdk: 34}
    start: {package: com.example.shop}
    faults:
      - {kind: duplicate_envelope, copies: 2, commands: [1]}
      - {kind: late_envelope, delay_ms: 2000, command_id: "check-*"}

``wireless`` connects the device over the network instead of USB, ``adb_server`` sets the version of the simulator's own adb
server: see ``wireless_profile``. Each entry of ``faults`` is one fault. Faults of a command take ``commands`` (1-based
numbers of the commands that this device received) and ``command_id`` (a shell pattern); without them, every command is
affected. All times are milliseconds of the device's clock, which runs ``1/speed`` times as fast as the real one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from clawperator.engine.errors import EngineError, ErrorCode, not_readable
from clawperator.engine.runtime.plan import Generation
from clawperator.engine.simulator.wireless_profile import AdbServerProfile, WirelessProfile
from clawperator.engine.skills.recipe.yaml_bounded import Path, YamlError, load

MAX_SCENARIO_BYTES = 256 * 1024

_MESSAGES = {"missing": "is missing"}
"""Own words for pydantic's types of errors."""

DeviceState = Literal["device", "offline", "unauthorized", "authorizing", "no permissions", "recovery", "sideload"]
Millis = Annotated[int, Field(ge=0, le=600_000)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Latency(_Strict):
    """How long the device takes, in its own milliseconds."""

    delivery: Millis = 4
    """From ``am broadcast`` to the receiver's first line."""
    dump: Millis = 12
    """One reading of the accessibility tree."""
    launch: Millis = 180
    """From starting an activity to its window."""
    transition: Millis = 0
    """After any other change of screen, while the window has no root. 0 = instant."""
    uiautomator: Millis = 1_000
    """The quiet second that ``uiautomator dump`` waits for (android-facts 7a)."""
    input: Millis | None = None
    """From the start of ``input`` to its first event. ``None``: 700 up to Android 11, 40 from 12 on (android-facts 10d)."""
    key: Millis = 0
    """Each key event of ``input`` and each character that it types; phones take 5 to 30."""
    screencap: Millis = 0
    """From the start of ``screencap`` to its first byte; phones take 250 raw, up to 2,000 as PNG (android-facts 10d)."""
    rebind: Millis = 600
    """From the end of a ``uiautomator dump`` to accessibility services being bound again (android-facts 7e)."""
    round_trip: Millis = 0
    """Of the connection: before each response to an adb client. Real milliseconds, whatever the speed."""


class DeviceProfile(_Strict):
    serial: str = ""
    """Empty: ``emulator-5554``, ``emulator-5556`` … by the device's index. Several devices may have one, as cheap phones do."""
    serialno: Annotated[str, Field(max_length=91)] | None = None
    """The property ``ro.serialno``. ``None``: the serial."""
    usb: Annotated[str, Field(max_length=100, pattern="^[A-Za-z0-9.-]*$")] = ""
    """The USB path that the simulator's own adb server lists. With ``wireless`` too, the phone is connected in both ways."""
    model: str = "Pixel 7"
    avd_name: str = ""
    """Empty: derived from the model and the SDK level."""
    sdk: Annotated[int, Field(ge=21, le=36)] = 34
    state: DeviceState = "device"
    build: Literal["userdebug", "user"] = "userdebug"
    """``userdebug``, as emulator images are: ``adb root`` works. ``user``, as phones are sold: it is refused."""
    generation: Generation | None = None
    """Of the Operator APK, each as its release of ``OPERATOR_RELEASES``. ``None``: the caller's choice."""
    width: Annotated[int, Field(ge=320, le=4_320)] = 1_080
    height: Annotated[int, Field(ge=480, le=7_680)] = 2_340
    density: Annotated[int, Field(ge=120, le=640)] = 440
    booted: bool = True
    """Android has started. Without, the shell answers, and no service does, until ``setprop sys.boot_completed 1``."""
    awake: bool = True
    """The screen is on."""
    locked: bool = False
    """Behind the lock screen."""
    clock_skew_ms: Annotated[int, Field(ge=-315_360_000_000, le=315_360_000_000)] = 0
    """How far the device's clock is ahead of the real one."""
    log_buffer_kib: Annotated[int, Field(ge=64, le=262_144)] = 5_120
    """Size of each log buffer."""


class OperatorProfile(_Strict):
    """The Operator app as it is found on the device."""

    package: Literal[
        "",
        "com.clawperator.operator",
        "com.clawperator.operator.dev",
        "com.androperator.operator",
        "com.androperator.operator.dev",
    ] = ""
    """The debug package logs readable tags and has a ``-d`` version. Empty: the release package of the generation."""
    installed: bool = True
    listener: bool = False
    """It has notification access; ``settings put`` can repair ``false``."""
    enabled: bool = True
    """Its accessibility service is switched on in the secure settings; ``settings put`` can repair ``false``."""
    version_name: str = ""
    """Empty: the release of the generation."""


ShortText = Annotated[str, Field(max_length=4_096)]


class NotificationAction(_Strict):
    """A button of a notification."""

    id: Annotated[str, Field(min_length=1, max_length=128)]
    title: ShortText = ""


class Notification(_Strict):
    """A notification; those that are ``ongoing`` cannot be dismissed."""

    package: str
    title: ShortText = ""
    text: ShortText = ""
    id: int = 1
    tag: Annotated[str, Field(max_length=256)] = ""
    ongoing: bool = False
    actions: tuple[NotificationAction, ...] = ()


class MediaSession(_Strict):
    """An app that plays something, or has paused."""

    package: str
    state: Literal["playing", "paused"] = "paused"
    title: ShortText = ""
    artist: ShortText = ""
    position_ms: Annotated[int, Field(ge=0)] = 0
    duration_ms: Annotated[int, Field(ge=0)] = 180_000
    seekable: bool = True


class StartScreen(_Strict):
    """What is in front when the simulation begins."""

    package: str = "com.android.launcher3"
    screen: str = ""


class Fault(_Strict):
    """A fault of a command: which commands are hit."""

    commands: tuple[Annotated[int, Field(ge=1)], ...] = ()
    command_id: str = ""

    def hits(self, number: int, command_id: str) -> bool:
        """Whether the ``number``-th command (from 1) of the device, called ``command_id``, is hit."""
        if self.commands and number not in self.commands:
            return False
        return not self.command_id or fnmatchcase(command_id, self.command_id)


def _whole(least: int, most: int | None = None, *default: object) -> tuple[object, object]:
    """Return the type and the default of a whole number; without a default, the key is required."""
    return Annotated[int, Field(ge=least, le=most)], default[0] if default else ...


def _word(*words: str) -> tuple[object, object]:
    """Return the type and the default of one of ``words``: the first."""
    return Literal[words], words[0]


_MILLIS = _whole(0, 600_000)
_STEP = _whole(0, None, 1)
_SHOP: tuple[object, object] = (str, "com.example.shop")
_DENIED = (
    "Exception occurred while executing 'put':\njava.lang.SecurityException: Permission denial: writing to settings "
    "requires:android.permission.WRITE_SECURE_SETTINGS"
)
RECORD_FAULTS = (
    "corrupt", "doubled", "exchanged", "contradicting", "stalled", "mixed", "forged", "both_brands", "too_many", "wrong_size", "other_digest",
)  # fmt: skip

_Table = Mapping[str, tuple[str, Mapping[str, tuple[object, object]]]]
"""Kind → what it does, and its keys with their types and defaults."""

# fmt: off
_OF_COMMANDS: _Table = {
    "silence": ("The command is done but no envelope is ever logged.", {}),
    "malformed_envelope": (
        "``truncated`` cuts the JSON in the middle; ``not_json`` is prose; ``wrong_types`` is JSON that is no envelope.",
        {"how": _word("truncated", "not_json", "wrong_types")}),
    "duplicate_envelope": ("The envelope is logged ``copies`` times.", {"copies": _whole(2, 10, 2)}),
    "late_envelope": ("The envelope is logged ``delay_ms`` after the command's last step.", {"delay_ms": _MILLIS}),
    "chunked_envelope": (
        ("The envelope is padded to at least ``units`` UTF-16 units, so that logging cuts it into entries of 4,000. ``noise_between`` lines "
        "of another process are logged between the parts."),
        {"units": _whole(4_000, 256_000, 9_000), "noise_between": _whole(0, 100, 1)}),
    "lost_records": (
        "The log loses these records (from 0) of a result, as a busy one does. For Operator 0.10 and later.",
        {"records": (tuple[Annotated[int, Field(ge=0)], ...], (1,))}),
    "changed_records": (
        ("The chunk records of a result, for Operator 0.10 and later, are changed. Those of ``records`` (from 0) are ``doubled``, "
        "``exchanged`` with the one before, ``corrupt``, repeated with other contents (``contradicting``), or the first of them and all "
        "behind it are not written (``stalled``). The other ways concern all records: ``mixed`` with those of another command, or with "
        "those that another app has ``forged`` for this one under the same tag, or under the other brand's name (``both_brands``); "
        "``too_many`` (65,537), a ``wrong_size``, the digest of another result (``other_digest``)."),
        {"how": _word(*RECORD_FAULTS), "records": (tuple[Annotated[int, Field(ge=1)], ...], (1,))}),
    "oversized_envelope": (
        "An envelope beyond what any reader should collect (64 parts of 4,000 units).", {"units": _whole(256_001, 4_000_000, 300_000)}),
    "foreign_envelope": ("An envelope of another command is logged first, damaged or whole.", {"damaged": (bool, False)}),
    "interleaved_dump": (
        "After every ``every`` entries of a hierarchy dump, another process logs one line.", {"every": _whole(1, None, 3)}),
    "truncated_dump": (
        "Only the first ``entries`` log entries of a hierarchy dump are written; the step still succeeds.", {"entries": _whole(1, None, 12)}),
    "slow_action": (
        "``extra_ms`` pass before each step of type ``action`` (empty: every step).", {"action": (str, ""), "extra_ms": _MILLIS}),
    "disconnect": (
        ("The transport drops when step number ``step`` (from 1; 0: as the broadcast arrives) begins. With ``reconnect_after_ms`` the device "
        "reconnects."),
        {"step": _STEP, "reconnect_after_ms": (Millis | None, None)}),
    "log_stream_ends": (
        "Every running ``logcat`` ends when step number ``step`` (from 1; 0: as the broadcast arrives) begins, as when logd dies.",
        {"step": _STEP}),
    "crash": (
        "The Operator's process dies when step number ``step`` (from 1) begins; Android then disables its service.",
        {"step": _whole(1, None, 1)}),
    "broadcast_failure": (
        "``am broadcast`` fails with ``stderr`` and ``exit_code``; nothing is delivered.",
        {"stderr": (str, "Error: Target package not found"), "exit_code": _whole(1, 255, 1)}),
    "lost_broadcast": (
        "The broadcast succeeds and reaches nothing, as that to an app which was stopped or whose process does not come up.", {}),
}
_OF_DEVICES: _Table = {
    "service_down": (
        ("The accessibility service does not connect, whatever the settings are. ``crashed``: Android starts it again only after it was "
        "disabled and enabled. ``binding``: Android keeps waiting for it."),
        {"how": _word("unbound", "crashed", "binding")}),
    "ui_automation_held": (
        "Another program holds UiAutomation, which stops accessibility services; ``command`` is its command line in ``ps``.",
        {"command": (str, "app_process /system/bin com.android.commands.uiautomator.Launcher runtest old.jar"), "user": (str, "shell")}),
    "uiautomator_output": (
        "``uiautomator dump`` prints ``before`` ahead of all else; ``padding_kib`` KiB of text stand in the root of its XML.",
        {"before": (str, "WARNING: linker: /system/lib64/libvendor.so has text relocations\n"), "padding_kib": _whole(0, 65_536, 0)}),
    "program": (
        ("A call of ``program`` in the device's shell is ``killed`` or reboots the device, or the display turns when it ends. ``blocked``: the "
        "maker's settings forbid it with a SecurityException, as for ``input`` on some phones; ``missing``: there is no such program. "
        "``calls`` are the numbers of the calls, from 1; without them, all calls."),
        {"program": (str, "input"), "how": _word("killed", "reboot", "rotate", "blocked", "missing"),
         "calls": (tuple[Annotated[int, Field(ge=1)], ...], ())}),
    "install_refused": (
        "The package manager refuses every installation with this constant of Android's.",
        {"code": (Annotated[str, Field(pattern=r"^[A-Z][A-Z_]{0,80}$")], "INSTALL_FAILED_UPDATE_INCOMPATIBLE"), "message": (str, "")}),
    "settings_refused": (
        "``settings put`` is forbidden for these names, as on devices that require a separate permission for it.",
        {"names": (tuple[str, ...], ("enabled_accessibility_services",)), "stderr": (str, _DENIED)}),
    "unauthorized": ("The device has not accepted this computer's key.", {}),
    "noise": (
        "Other processes log ``lines_per_second`` (of the device's clock; of the real one at speed 0), in bursts ten times a second.",
        {"lines_per_second": (Annotated[float, Field(gt=0, le=100_000)], ...)}),
    "huge_tree": (
        "The app in the foreground has a single screen with exactly ``nodes`` nodes.", {"nodes": _whole(2, 200_000, 5_000)}),
    "unseen": (
        ("The screen has something that the Operator's trees do not show. ``secure_window``: screenshots are black. "
        "``accessibility_data_sensitive``: from Android 14 on, services that are not accessibility tools see the window without its content. "
        "``webview_empty`` and ``canvas``: an app with such a view is in front. ``stale_cache``: the Operator returns the first tree that it "
        "read for ever. ``other_window``: the notification shade is open. ``dialog`` and ``split_screen``: the active window covers a part of "
        "the display. ``other_display``: a second display is on."),
        {"what": _word("secure_window", "accessibility_data_sensitive", "webview_empty", "canvas", "stale_cache", "other_window", "dialog",
                       "split_screen", "other_display")}),
    "foldable": (
        "The device has a second display, which is off; ``screencap`` shows that one unless the command names a display, and warns.", {}),
    "two_launchers": (
        "``package`` has two launcher entries: asked for the one, Android names its dialog that lets the user choose.", {"package": _SHOP}),
    "leanback_only": ("``package`` has no launcher entry but that of a television's home screen.", {"package": _SHOP}),
    "window_over": (
        "A window of another program lies over the app and takes the touches: a toast, a bar, a picture-in-picture window.",
        {"title": (str, "com.example.player/com.example.player.PipActivity"), "bounds": (tuple[int, int, int, int], (0, 0, 1080, 2400))}),
    "android_users": (
        ("The Android user ``current`` is in the foreground, as on a car (10). adb's shell may not access the users ``closed``: a Secure Folder "
        "(150), a work profile. ``operator`` are the users for which the Operator is installed; without them, all."),
        {"current": _whole(0, 999, 0), "closed": (tuple[Annotated[int, Field(ge=1, le=999)], ...], ()),
         "operator": (tuple[Annotated[int, Field(ge=0, le=999)], ...], ())}),
}
# fmt: on


def _models(base: type[BaseModel], table: _Table) -> Iterator[type[BaseModel]]:
    for kind, (about, keys) in table.items():
        fields: Any = {"kind": (Literal[kind], ...), **keys}
        yield create_model(kind, __base__=base, __doc__=about, **fields)


FAULTS = (*_models(Fault, _OF_COMMANDS), *_models(_Strict, _OF_DEVICES))
"""The models of all faults; each is called as its kind."""
if TYPE_CHECKING:
    AnyFault = Any
else:
    AnyFault = Annotated[Union[FAULTS], Field(discriminator="kind")]  # noqa: UP007 - of a tuple


class Scenario(_Strict):
    """One simulated device. ``Scenario()`` is a healthy one."""

    name: str = ""
    speed: Annotated[float, Field(ge=0, le=10)] = 1.0
    """Real seconds per simulated second; 0 waits for nothing, and the device's clock then moves by its waits alone."""
    seed: int = 0
    """Seeds everything random (retry jitter, noise)."""
    device: DeviceProfile = DeviceProfile()
    operator: OperatorProfile = OperatorProfile()
    start: StartScreen = StartScreen()
    notifications: tuple[Notification, ...] = ()
    media: tuple[MediaSession, ...] = ()
    """The media sessions, in Android's order."""
    latency_ms: Latency = Latency()
    faults: tuple[AnyFault, ...] = ()
    wireless: WirelessProfile | None = None
    """The device is not plugged in but in the network of the simulator's own adb server (see ``wireless_profile``)."""
    adb_server: AdbServerProfile = AdbServerProfile()
    """How that server behaves; of several devices, the first one's counts."""

    def of_device(self, kind: str, **having: object) -> Any:
        """Return the first fault of that kind with those values, if any; the kind's keys are its attributes."""
        return _first(self.faults, kind, having)

    def of_command(self, kind: str, number: int, command_id: str, **having: object) -> Any:
        """The same for faults that hit this command."""
        hits = (fault for fault in self.faults if isinstance(fault, Fault) and fault.hits(number, command_id))
        return _first(hits, kind, having)

    @property
    def state(self) -> str:
        """How adb lists the device."""
        return "unauthorized" if self.of_device("unauthorized") else self.device.state


def _first(faults: Iterable[Any], kind: str, having: Mapping[str, object]) -> Any:
    found = (fault for fault in faults if fault.kind == kind)
    return next((each for each in found if all(getattr(each, key) == value for key, value in having.items())), None)


def load_scenario(path: str | PathLike[str]) -> Scenario:
    """The scenario in a YAML file.

    Raises ``EngineError``: FILE_NOT_READABLE, or SCENARIO_INVALID naming file and line for anything too large or not a scenario.
    """
    name = str(path)
    try:
        with open(path, "rb") as stream:
            data = stream.read(MAX_SCENARIO_BYTES + 1)
    except OSError as exc:
        raise not_readable(name, exc) from exc
    return parse_scenario(data, name)


def parse_scenario(data: str | bytes, name: str = "scenario") -> Scenario:
    """Parse a scenario from YAML text; ``name`` is the file's name for messages. Raises as ``load_scenario``."""
    if len(data) > MAX_SCENARIO_BYTES:
        raise EngineError(ErrorCode.SCENARIO_INVALID, f"{name}: larger than {MAX_SCENARIO_BYTES} bytes")
    try:
        content, lines = load(data if isinstance(data, str) else data.decode("utf-8-sig"))
    except YamlError as exc:
        raise EngineError(ErrorCode.SCENARIO_INVALID, f"{name}:{exc.line + 1}: {exc.reason}") from exc
    except UnicodeDecodeError as exc:
        raise EngineError(ErrorCode.SCENARIO_INVALID, f"{name}: {exc}") from exc
    if not isinstance(content, dict | None):
        raise EngineError(ErrorCode.SCENARIO_INVALID, f"{name}:1: a scenario is a mapping")
    try:
        return Scenario.model_validate(content or {})
    except ValidationError as exc:
        raise _refusal(exc, lines, name) from exc


def _refusal(exc: ValidationError, lines: Mapping[Path, int], name: str) -> EngineError:
    """Name the first problem with its line: that of its key or item, else of what holds it."""
    errors = exc.errors(include_url=False, include_context=False)
    issues = [
        {"path": ".".join(map(str, error["loc"])), "message": _MESSAGES.get(error["type"], error["msg"])}
        for error in errors
    ]
    place = errors[0]["loc"]
    if place[0] == "faults":
        place = place[:2] + place[3:]  # without the kind, which pydantic puts behind the index
    line = next(lines[place[:size]] for size in range(len(place), -1, -1) if place[:size] in lines)
    message = f"{name}:{line + 1}: {'.'.join(map(str, place))}: {issues[0]['message']}"
    return EngineError(ErrorCode.SCENARIO_INVALID, message, details={"issues": issues})
