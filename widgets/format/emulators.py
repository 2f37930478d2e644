"""Virtual devices as rows, and one in full with the requirements for support."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clawperator.engine.emulators import avds
from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.safe import cells, escape

if TYPE_CHECKING:
    from clawperator.engine.emulators.avds import Avd
    from clawperator.widgets.models.emulators import EmulatorsState

_STATES = {
    "running": (Status.RUNNING, "ok"),
    "booting": (Status.WAITING, "warn"),
    "starting": (Status.WAITING, "warn"),
    "stopping": (Status.WAITING, "warn"),
    "stopped": (Status.IDLE, "muted"),
}
_SHORT = {
    avds.MISSING_PLAY_STORE: "no Play Store",
    avds.UNSUPPORTED_API_LEVEL: "API level",
    avds.UNSUPPORTED_ABI: "ABI",
    avds.UNSUPPORTED_DEVICE_PROFILE: "device profile",
}
_VALUE = 18
"""Column of the values."""


def reason_words(avd: Avd, reason: str) -> str:
    """Return an unsupported reason in short, with the value it is about. Contains device text."""
    value = {
        avds.UNSUPPORTED_API_LEVEL: str(avd.api_level or "unknown"),
        avds.UNSUPPORTED_ABI: avd.abi or "unknown",
        avds.UNSUPPORTED_DEVICE_PROFILE: avd.device_profile or "unknown",
    }.get(reason, "")
    return f"{_SHORT.get(reason, reason)} {value}".strip()


def avd_row(avd: Avd, machines: EmulatorsState, width: int, symbols: Symbols = UNICODE) -> Row:
    """Return name, state, serial, and whether it is supported."""
    state = machines.state_of(avd)
    status, role = _STATES[state]
    line = Line(width - 1).add(f" {symbols.sign(status)} ", role)
    name_cells = 24 if width >= 60 else max(8, width - 20)
    line.device(avd.name, "text" if state == "stopped" else "strong", room=name_cells)
    run = machines.run_of(avd.name)
    if width < 60:
        verdict = Status.OK if avd.supported else Status.FAILED
        right = Line().add(f"{state} ", role).add(f"{symbols.sign(verdict)} ", verdict.role)
        return Row(line, right)
    line.pad(28).add(state, role).pad(37)
    if run is not None and width >= 70:
        line.device(run.serial, "muted", room=14)
    line.pad(51 if width >= 70 else 46).add(" ")
    if avd.supported:
        return Row(line.add(f"{symbols.sign(Status.OK)} supported", "ok"))
    line.add(f"{symbols.sign(Status.FAILED)} ", "fail")
    return Row(line.device(_reasons(avd, line.width - line.cells), "warn"))


def _reasons(avd: Avd, room: int) -> str:
    """Return as many reasons as fit into ``room`` cells, and how many more there are."""
    words = [escape(reason_words(avd, reason)) for reason in avd.unsupported_reasons]
    for shown in range(len(words), 0, -1):
        rest = f" +{len(words) - shown}" if shown < len(words) else ""
        text = ", ".join(words[:shown]) + rest
        if cells(text) <= room:
            return text
    return f"{len(words)} reasons"


def machines_rows(machines: EmulatorsState, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Yield the message in place of an empty table, or above one that could not be read in full."""
    if not machines.known:
        yield Row(Line(width).add("   Searching for virtual devices…", "muted"))
        return
    if machines.problem:
        yield from wrapped(machines.problem, width, lead=f" {symbols.sign(Status.WARN)} ", lead_role="warn", limit=3)
        yield from wrapped(machines.hint, width, "muted", lead=f"   {symbols.arrow} ", lead_role="key", limit=3)
    elif not machines.avds:
        yield Row(Line(width).add("   No virtual devices. ", "muted").add("P", "key").add(" create one.", "muted"))


def avd_detail(avd: Avd, machines: EmulatorsState, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Yield every field of the AVD, with what is required."""
    state = machines.state_of(avd)
    status, role = _STATES[state]
    run = machines.run_of(avd.name)
    head = Line(width).add(f" {symbols.sign(status)} ", role)
    yield Row(head.device(avd.name, "strong", room=max(10, width - 14)).add(f"  {state}", role))
    yield Row(Line(width))
    verdict = Status.OK if avd.supported else Status.FAILED
    line = Line(width).add("   supported".ljust(_VALUE), "faint")
    yield Row(line.add(f"{symbols.sign(verdict)} {'yes' if avd.supported else 'no'}", verdict.role))
    if run is not None:
        yield from _field("serial", run.serial, width)
    yield from _field("exists", "yes" if avd.exists else "no, its files are missing", width)
    yield Row(Line(width))
    checked: Sequence[tuple[str, str, str]] = (
        ("Play Store", "yes" if avd.play_store else "no", avds.MISSING_PLAY_STORE),
        ("API level", str(avd.api_level or "unknown"), avds.UNSUPPORTED_API_LEVEL),
        ("ABI", avd.abi or "unknown", avds.UNSUPPORTED_ABI),
        ("device profile", avd.device_profile or "unknown", avds.UNSUPPORTED_DEVICE_PROFILE),
    )
    for name, value, reason in checked:
        yield from _checked(name, value, _wanted(avd, reason, machines.abis), width, symbols)
    yield from _field("system image", avd.system_image or "unknown", width)
    unknown = [reason for reason in avd.unsupported_reasons if reason not in _SHORT]
    for reason in unknown:
        yield from _checked(reason, "", ("not supported", f"({reason})"), width, symbols)
    yield Row(Line(width))
    if not avd.supported:
        words = "Provisioning (P) ignores it: Clawperator starts and changes supported virtual devices only."
        yield from wrapped(words, width, "muted", lead="   ")
        yield Row(Line(width))
    yield Row(_keys(state, width))


def _keys(state: str, width: int) -> Line:
    line = Line(width).add("   ")
    if state in ("running", "booting"):
        return line.add("S", "key").add(" stop   ", "muted").add("o", "key").add(" operator setup", "muted")
    if state == "stopped":
        line.add("S", "key").add(" start   ", "muted").add("del", "key").add(" delete", "muted")
    return line


def _wanted(avd: Avd, reason: str, abis: Sequence[str]) -> tuple[str, ...]:
    """Return what is required instead and the reason's name; empty where the value is supported."""
    if reason not in avd.unsupported_reasons:
        return ()
    return f"required: {avds.required(reason, abis)}", f"({reason})"


def _checked(name: str, value: str, wanted: Sequence[str], width: int, symbols: Symbols) -> Iterator[Row]:
    """Yield a value, its verdict, and below it what is required."""
    status = Status.FAILED if wanted else Status.OK
    line = Line(width).device(f"   {name}", "faint", room=_VALUE - 1).pad(_VALUE)
    line.add(f"{symbols.sign(status)} ", status.role)
    yield Row(line.device(value, "strong" if wanted else "text"))
    for words, role in zip(wanted, ("warn", "faint"), strict=False):
        yield from wrapped(words, width, role, lead=" " * (_VALUE + 2), limit=3)


def _field(name: str, value: str, width: int) -> Iterator[Row]:
    return wrapped(value, width, lead=f"   {name}".ljust(_VALUE), limit=4)
