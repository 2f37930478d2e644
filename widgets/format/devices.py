"""Devices as rows, connection states in words, and the steps that make a device usable."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from clawperator.engine.adb.mdns import is_network_serial
from clawperator.engine.adb.presence import DeviceState
from clawperator.engine.contracts.operator_identity import OPERATOR_BRANDS
from clawperator.widgets.format.lines import Line, Row, columns, device_name, wrapped
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.safe import cells
from clawperator.widgets.text.times import age

if TYPE_CHECKING:
    from clawperator.engine.adb.presence import DeviceEntry
    from clawperator.widgets.format.runs import RunFacts
    from clawperator.widgets.models.doctor_report import DoctorReport


class DeviceSummary(NamedTuple):
    """What is known of a device: what the doctor last found, and when (0: never); what it does, and did last.

    ``avd`` is the name of its virtual device, ``name`` its alias. ``activity`` is ``busy``, ``settling`` or ``reading``, ``holder``
    who locks it. ``run`` is its last execution, begun ``ran``; ``seen`` says how old its screen is, ``stale`` why that is out of
    date, ``problem`` why the last reading failed, ``left`` since when it is disconnected.
    """

    api: str = ""
    variant: str = ""
    version: str = ""
    at: float = 0.0
    avd: str = ""
    silent: bool = False
    """Its last command got no answer."""
    name: str = ""
    activity: str = ""
    holder: str = ""
    app: str = ""
    run: RunFacts | None = None
    ran: str = ""
    seen: str = ""
    stale: str = ""
    problem: str = ""
    left: str = ""


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
_MOST_CELLS = (22, 14, 40, 12, 32, 20, 26)
"""Room of the columns at most: the longest address of a network device, ``no permissions``, and what follows these."""
_ACTIVITIES = {"reading": Status.WAITING, "settling": Status.WAITING, "busy": Status.RUNNING}


def words_for(device: DeviceEntry) -> StateWords:
    """Return what the device's state means. adb connect alone leaves an offline device of the network offline."""
    words = STATES.get(device.state, _UNKNOWN)
    if device.state != DeviceState.OFFLINE or not is_network_serial(device.serial):
        return words
    again = (f"adb disconnect {device.serial}", f"adb connect {device.serial}")
    return words._replace(next="reconnect it with adb", steps=again)


def device_columns(devices: Iterable[tuple[DeviceEntry, DeviceSummary]], width: int, *, used: int = 0) -> list[int]:
    """Return the cells of the columns of these devices; ``used`` is what the right edge takes."""
    needs = [0] * len(_MOST_CELLS)
    for device, facts in devices:
        found = [sum(cells(text) for text, _ in spans) for spans in _columns_of(device, facts, UNICODE)]
        needs = [max(pair) for pair in zip(needs, found, strict=True)]
    return columns(map(min, needs, _MOST_CELLS), width - 4 - used)


def _columns_of(device: DeviceEntry, facts: DeviceSummary, symbols: Symbols) -> list[list[tuple[str, str]]]:
    """Return the columns of a row in spans, the most important first. Contains device text."""
    state, status = _state_of(device, facts)
    name = (facts.name or device.serial, "text")
    if not device.usable:
        return [[name], [(state, status.role)], *[[]] * (len(_MOST_CELLS) - 2)]
    run, step = facts.run, []
    if facts.problem:
        step = [(f"{symbols.sign(Status.FAILED)} ", "fail"), (facts.problem, "fail")]
    elif run is not None:
        step = [(f"{symbols.sign(run.status)} ", run.role), (run.action, "text")]
        step += [("  " if run.action else "", "text"), (run.result, run.role)] if run.result else []
    same = f"same phone as {device.other_transports[0]}" if not device.preferred else ""
    return [
        [name],
        [(state, status.role)],
        step,
        [(facts.ran, "muted")],
        [(facts.app, "node-id")],
        [(same or device.model.replace("_", " "), "muted")],
        [(" ".join(filter(None, (facts.api, facts.variant, facts.version))), "muted")],
    ]


def device_row(
    device: DeviceEntry,
    width: int,
    symbols: Symbols = UNICODE,
    *,
    chosen: bool = False,
    facts: DeviceSummary = NO_FACTS,
    room: Sequence[int] = (),
) -> Row:
    """Return serial and state; on a wide pane also the last step, the app and more, in columns of these widths.

    A narrow row leaves out a state without room beside the serial: ``state_row`` has it.
    """
    words, (state, status) = words_for(device), _state_of(device, facts)
    sign = status if status is not Status.OK else Status.RUNNING if chosen else Status.IDLE
    line = Line(width - 1).add(f" {symbols.sign(sign)} ", status.role)
    if width < _WIDE:
        line.device(device_name(device.serial, width - 4), "strong" if chosen else "text", room=width - 4)
        beside = status is not Status.OK and fits_beside(device, width, facts)
        return Row(line.add(" ").device(state, status.role) if beside else line)
    right = right_words(facts, chosen=chosen)
    room = room or device_columns([(device, facts)], width, used=cells(right))
    found = _columns_of(device, facts, symbols)
    found[0] = [(device_name(found[0][0][0], room[0]), "strong" if chosen else "text")]
    line.width -= cells(right) + 2 if right else 0
    last = max(place for place, most in enumerate(room) if most)
    for place, (spans, most) in enumerate(zip(found, room, strict=True)):
        start, part = line.cells, Line(line.width - line.cells if place == last else most)
        for text, role in spans if most else ():
            part.device(text, role)
        line.extend(part).pad(start + most + 2 if most else 0)
        if place == 1 and not device.usable:
            return Row(line.device(facts.left or words.next, "text"))
    end = Line(width).device(right, "run" if facts.holder else "accent", after=" ") if right else None
    return Row(line, end)


def device_words(device: DeviceEntry, facts: DeviceSummary) -> str:
    """Return the text that a search sees."""
    return " ".join([device.serial, *(text for spans in _columns_of(device, facts, UNICODE) for text, _ in spans)])


def right_words(facts: DeviceSummary, *, chosen: bool) -> str:
    """Return what the right edge says: who uses the device."""
    return facts.holder[:24] or ("in use" if chosen else "")


def _state_of(device: DeviceEntry, facts: DeviceSummary) -> tuple[str, Status]:
    if device.usable and facts.silent:
        return "not responding", Status.WARN
    if device.usable and facts.activity:
        return facts.activity, _ACTIVITIES.get(facts.activity, Status.RUNNING)
    return device.state, Status.OK if device.usable else words_for(device).status


def fits_beside(device: DeviceEntry, width: int, facts: DeviceSummary = NO_FACTS) -> bool:
    """Return whether ``device_row`` shows the state; a usable device's needs no room in a narrow row."""
    state, status = _state_of(device, facts)
    return status is Status.OK or width >= _WIDE or cells(device.serial) + cells(state) + 5 <= width


def state_row(device: DeviceEntry, width: int, facts: DeviceSummary = NO_FACTS) -> Row:
    """Return the row below a serial that leaves no room for the state."""
    state, status = _state_of(device, facts)
    return Row(Line(width).add("   ").device(state, status.role))


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
    words = words_for(device._replace(state=DeviceState.OFFLINE) if device.usable and facts.silent else device)
    yield from _properties(device, width, symbols, facts, words)
    yield Row(Line(width))
    if facts.at:
        yield from _last_check(width, facts, now)
        yield Row(Line(width))
    if words.steps:
        yield Row(Line(width).add(" next steps", "faint"))
        for number, step in enumerate(words.steps, 1):
            yield from wrapped(step, width, lead=f" {number:>2}. ", lead_role="muted", limit=4)
    elif chosen:
        yield Row(Line(width).add(" this device is in use", "accent"))
    elif device.usable:
        yield Row(Line(width).add(f" {symbols.enter} ", "key").add("use this device", "muted"))


def _properties(
    device: DeviceEntry, width: int, symbols: Symbols, facts: DeviceSummary, words: StateWords
) -> Iterator[Row]:
    state, status = _state_of(device, facts)
    more = f": {facts.holder}" if facts.holder else f" {facts.left}" if facts.left else ""
    if not device.usable or facts.silent:
        more += f" – {words.next}"
    yield Row(Line(width).add(f" {symbols.sign(status)} ", status.role).device(device.serial, "strong"))
    run = facts.run
    rows = (
        ("alias", facts.name, "strong"),
        ("state", state + more, status.role),
        ("adb", device.detail, "warn"),
        ("model", device.model.replace("_", " "), "text"),
        ("product", device.product, "text"),
        ("board", device.device, "text"),
        ("transport", str(device.transport_id or ""), "muted"),
        ("usb", device.usb, "muted"),
        ("adb serial", f"{device.shared_serial}, as another device" if device.shared_serial else "", "warn"),
        ("same phone", ", ".join(device.other_transports), "text"),
        ("emulator", facts.avd, "text"),
        ("app", facts.app, "node-id"),
        ("screen", ": ".join(filter(None, (facts.seen, facts.stale))), "stale" if facts.stale else "text"),
        ("last step", run.action or run.result if run is not None else "", "text"),
        ("", run.result if run is not None and run.action else "", run.role if run is not None else ""),
        ("", facts.ran, "muted"),
        ("not read", facts.problem, "fail"),
    )
    for name, value, role in rows:
        yield from wrapped(value, width, role, lead=f"   {name:<10} ", limit=4)
    if device.usable and not facts.seen:
        yield Row(
            Line(width)
            .add("   screen     ", "faint")
            .add("not read. ", "muted")
            .add("t", "key")
            .add(" reads it", "muted")
        )


def _last_check(width: int, facts: DeviceSummary, now: float) -> Iterator[Row]:
    """Yield what the doctor last found, and when."""
    ago = age(now - facts.at)
    yield Row(Line(width).add(" last checked ", "faint").add("now" if ago == "now" else f"{ago} ago", "faint"))
    yield from wrapped(f"API level {facts.api}" if facts.api else "", width, lead="   Android    ")
    operator = " ".join(filter(None, (facts.variant, facts.version)))
    yield from wrapped(operator or "not found", width, "text" if operator else "warn", lead="   Operator   ")
