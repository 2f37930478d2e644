"""Devices as rows, connection states in words, and the steps that make a device usable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from clawperator.engine.adb.mdns import is_network_serial
from clawperator.engine.adb.presence import DeviceState
from clawperator.engine.contracts.operator_identity import OPERATOR_BRANDS
from clawperator.widgets.format.lines import Line, Row, device_name, wrapped
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.safe import cells
from clawperator.widgets.text.times import age

if TYPE_CHECKING:
    from clawperator.engine.adb.presence import DeviceEntry
    from clawperator.widgets.models.doctor_report import DoctorReport


class DeviceSummary(NamedTuple):
    """What the doctor last found on a device, and when (0: never). ``avd`` is the name of its virtual device."""

    api: str = ""
    variant: str = ""
    version: str = ""
    at: float = 0.0
    avd: str = ""
    silent: bool = False
    """Its last command got no answer."""


VARIANTS = {
    package: name
    for brand in OPERATOR_BRANDS
    for package, name in zip(brand.packages, ("release", "debug"), strict=True)
}
"""Short names of the builds of the Operator app, of either brand."""
NO_FACTS = DeviceSummary()


def variant(package: str) -> str:
    """Return ``release``, ``debug``, else the package."""
    return VARIANTS.get(package, package)


def facts_of(report: DoctorReport | None, avd: str = "") -> DeviceSummary:
    """Return the facts in the evidence of the checks."""
    found: dict[str, str] = {}
    for check in report.checks if report is not None else ():
        evidence = check.get("evidence") or {}
        for name in ("sdk", "receiverPackage", "apkVersion"):
            if check.get("status") == "pass" and evidence.get(name):
                found.setdefault(name, str(evidence[name]))
    package = found.get("receiverPackage", "")
    return DeviceSummary(
        found.get("sdk", ""),
        variant(package),
        found.get("apkVersion", ""),
        report.ended if report is not None else 0.0,
        avd,
    )


class StateWords(NamedTuple):
    """A connection state: its status, the next step in short, and the steps in full."""

    status: Status
    next: str
    steps: tuple[str, ...] = ()


DISCONNECTED = "disconnected"
"""The state of a device that adb listed before."""
_REPLUG = "Unplug the cable, wait two seconds and plug it in again."

STATES: dict[str, StateWords] = {
    DeviceState.DEVICE: StateWords(Status.OK, "ready"),
    DeviceState.UNAUTHORIZED: StateWords(
        Status.WARN,
        "confirm the dialog on the phone",
        (
            'Unlock the phone and find the dialog "Allow USB debugging?".',
            'Confirm it. "Always allow from this computer" remembers the choice.',
            "No dialog? In Developer options choose Revoke USB debugging authorisations, then reconnect.",
        ),
    ),
    DeviceState.AUTHORIZING: StateWords(
        Status.WAITING, "wait a moment", ("The phone is verifying this computer's key.",)
    ),
    DeviceState.CONNECTING: StateWords(Status.WAITING, "wait a moment", ("The transport is being set up.",)),
    DeviceState.OFFLINE: StateWords(
        Status.WARN,
        "reconnect or restart it",
        (
            _REPLUG,
            "Emulator: wait until it has booted, or restart it.",
            "Wi-Fi: run adb disconnect, then adb connect.",
        ),
    ),
    DeviceState.NO_PERMISSIONS: StateWords(
        Status.FAILED,
        "no USB permission here",
        (
            "Add a udev rule for the vendor, or install the package android-udev-rules.",
            "Add your user to the group plugdev and log in again.",
            _REPLUG,
        ),
    ),
    DeviceState.RECOVERY: StateWords(
        Status.WARN, "boot into Android", ('The phone is in recovery. Choose "Reboot system now".',)
    ),
    DeviceState.SIDELOAD: StateWords(
        Status.WARN, "finish or leave the sideload", ("The phone is waiting for a sideload.",)
    ),
    DeviceState.RESCUE: StateWords(Status.WARN, "boot into Android", ("The phone is in rescue mode. Reboot it.",)),
    DeviceState.BOOTLOADER: StateWords(
        Status.WARN, "boot into Android", ("The phone is in the bootloader. Run: fastboot reboot",)
    ),
    DISCONNECTED: StateWords(Status.WARN, "reconnect it"),
    DeviceState.HOST: StateWords(Status.WARN, "not a device", ("This entry is a host, not a phone.",)),
    DeviceState.DETACHED: StateWords(
        Status.WARN, "attach it again", ("Another adb server may be using it. Run: adb attach",)
    ),
}

_UNKNOWN = StateWords(Status.UNKNOWN, "unknown state", (_REPLUG,))


_WIDE = 60
"""From this width on, a row has columns."""
_SERIAL_CELLS, _STATE_CELLS = 22, 14
"""Room of serial and state where the row has columns: the longest address of a network device, and ``no permissions``."""


def words_for(device: DeviceEntry) -> StateWords:
    """Return what the device's state means. adb connect alone leaves an offline device of the network offline."""
    words = STATES.get(device.state, _UNKNOWN)
    if device.state != DeviceState.OFFLINE or not is_network_serial(device.serial):
        return words
    again = (f"adb disconnect {device.serial}", f"adb connect {device.serial}")
    return words._replace(next="reconnect it with adb", steps=again)


def device_row(
    device: DeviceEntry,
    width: int,
    symbols: Symbols = UNICODE,
    *,
    chosen: bool = False,
    lock: str = "",
    facts: DeviceSummary = NO_FACTS,
) -> Row:
    """Return serial and state; on a wide pane also the model and the next step.

    A narrow row leaves out a state without room beside the serial: ``state_row`` has it.
    """
    words, (state, status) = words_for(device), _state_of(device, facts)
    sign = status if status is not Status.OK else Status.RUNNING if chosen else Status.IDLE
    line = Line(width - 1).add(f" {symbols.sign(sign)} ", status.role)
    room = _SERIAL_CELLS if width >= _WIDE else width - 4
    line.device(device_name(device.serial, room), "strong" if chosen else "text", room=room)
    if width < _WIDE:
        beside = status is not Status.OK and fits_beside(device, width, facts)
        return Row(line.add(" ").device(state, status.role) if beside else line)
    line.pad(_SERIAL_CELLS + 3).device(state, status.role, room=_STATE_CELLS).pad(_SERIAL_CELLS + _STATE_CELLS + 4)
    if not device.usable:
        return Row(line.add(words.next, "text"))
    right = Line(30).device(lock, "run") if lock else Line(30).add("in use ", "accent") if chosen else Line(30)
    known = _known_words(facts) if width >= 80 else ""
    if known:
        right = Line(60).device(known, "muted", room=26).add("  ").extend(right)
    line.width = width - right.cells - 2
    if line.cells + 12 <= line.width:
        same = f"same phone as {device.other_transports[0]}" if not device.preferred else ""
        line.device(same or device.model.replace("_", " "), "muted")
    return Row(line, right if right.cells else None)


def _state_of(device: DeviceEntry, facts: DeviceSummary) -> tuple[str, Status]:
    if device.usable and facts.silent:
        return "not responding", Status.WARN
    return device.state, Status.OK if device.usable else words_for(device).status


def fits_beside(device: DeviceEntry, width: int, facts: DeviceSummary = NO_FACTS) -> bool:
    """Return whether ``device_row`` shows the state; a usable device's needs no room in a narrow row."""
    state, status = _state_of(device, facts)
    return status is Status.OK or width >= _WIDE or cells(device.serial) + cells(state) + 5 <= width


def state_row(device: DeviceEntry, width: int, facts: DeviceSummary = NO_FACTS) -> Row:
    """Return the row below a serial that leaves no room for the state."""
    state, status = _state_of(device, facts)
    return Row(Line(width).add("   ").device(state, status.role))


def _known_words(facts: DeviceSummary) -> str:
    """Return ``35 release 0.3.1``: API level and Operator app."""
    return " ".join(filter(None, (facts.api, facts.variant, facts.version)))


def device_detail(
    device: DeviceEntry,
    width: int,
    symbols: Symbols = UNICODE,
    *,
    chosen: bool,
    facts: DeviceSummary = NO_FACTS,
    now: float = 0.0,
) -> Iterator[Row]:
    """Yield all properties of a device, the last doctor findings, and the steps that make it usable."""
    state, status = _state_of(device, facts)
    usable = status is Status.OK
    words = words_for(device if usable or not device.usable else device._replace(state=DeviceState.OFFLINE))
    head = Line(width).add(f" {symbols.sign(status)} ", status.role).device(device.serial, "strong")
    yield Row(head)
    rows = (
        ("state", state if usable else f"{state} – {words.next}", status.role),
        ("adb", device.detail, "warn"),
        ("model", device.model.replace("_", " "), "text"),
        ("product", device.product, "text"),
        ("board", device.device, "text"),
        ("transport", str(device.transport_id or ""), "muted"),
        ("usb", device.usb, "muted"),
        ("adb serial", f"{device.shared_serial}, as another device" if device.shared_serial else "", "warn"),
        ("same phone", ", ".join(device.other_transports), "text"),
        ("emulator", facts.avd, "text"),
    )
    for name, value, role in rows:
        yield from wrapped(value, width, role, lead=f"   {name:<10} ", limit=4)
    yield Row(Line(width))
    if facts.at:
        ago = age(now - facts.at)
        yield Row(Line(width).add(" last checked ", "faint").add("now" if ago == "now" else f"{ago} ago", "faint"))
        yield from wrapped(f"API level {facts.api}" if facts.api else "", width, lead="   Android    ")
        operator = " ".join(filter(None, (facts.variant, facts.version)))
        yield from wrapped(operator or "not found", width, "text" if operator else "warn", lead="   Operator   ")
        yield Row(Line(width))
    if words.steps:
        yield Row(Line(width).add(" next steps", "faint"))
        for number, step in enumerate(words.steps, 1):
            yield from wrapped(step, width, lead=f" {number:>2}. ", lead_role="muted", limit=4)
    elif chosen:
        yield Row(Line(width).add(" this device is in use", "accent"))
    else:
        yield Row(Line(width).add(f" {symbols.enter} ", "key").add("use this device", "muted"))
