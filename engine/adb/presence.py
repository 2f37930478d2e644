"""The adb server's device list → values. Pure, tolerant, and light: ``clawperator devices`` imports little else.

Ordinary rows are split with string methods, because compiling a regular expression takes longer than the whole request;
expressions handle the others (spaces in a serial or product, ``no permissions``, unknown states).
"""

from __future__ import annotations

import re
from collections import Counter, namedtuple

from clawperator.engine.text.numbers import whole_number


class DeviceState:
    """The connection states that adb prints; an unknown one is kept as its own text in ``DeviceEntry.state``."""

    DEVICE = "device"
    OFFLINE = "offline"
    UNAUTHORIZED = "unauthorized"
    AUTHORIZING = "authorizing"
    CONNECTING = "connecting"
    NO_PERMISSIONS = "no permissions"
    RECOVERY = "recovery"
    SIDELOAD = "sideload"
    RESCUE = "rescue"
    BOOTLOADER = "bootloader"
    HOST = "host"
    DETACHED = "detached"
    UNKNOWN = "unknown"


# Nothing else on this path imports typing, which alone takes longer than the request to adb: no typing.NamedTuple.
class DeviceEntry(
    namedtuple(  # noqa: PYI024 - see above
        "DeviceEntry",
        "serial state product model device transport_id usb features detail shared_serial other_transports preferred",
        defaults=("", "", "", 0, "", "", "", "", (), True),
    )
):
    """One row of the adb server's device list. Text fields are empty and ``transport_id`` is 0 where adb gave none.

    ``serial`` chooses the device. Where adb gives several devices one serial, or one none, it is ``usb:PATH`` or
    ``transport_id:N``, and ``shared_serial`` is what adb gives. ``detail`` is adb's own remark on the state (the reason behind
    ``no permissions``). ``other_transports`` are the serials of other rows that lead to the same phone, as far as the engine knows
    (``phones``); the ``preferred`` one of them is used where no row is chosen.
    """

    __slots__ = ()

    serial: str
    state: str
    product: str
    model: str
    device: str
    transport_id: int
    usb: str
    features: str
    detail: str
    shared_serial: str
    other_transports: tuple[str, ...]
    preferred: bool

    @property
    def usable(self) -> bool:
        """Whether commands can be sent to it."""
        return self.state == DeviceState.DEVICE

    def is_named(self, name: str) -> bool:
        """Whether ``name`` chooses this row: its serial, or the ``usb:PATH`` or ``transport_id:N`` of ``adb devices -l``."""
        kind, _, rest = name.partition(":")
        by_id = kind in _BY_ID and rest == str(self.transport_id) != "0"
        return name == self.serial or by_id or (kind == "usb" and bool(rest) and rest == self.usb)

    def to_dict(self) -> dict[str, str | int | list[str]]:
        """Return the row as JSON data: ``serial`` and ``state``, and the other keys where adb gave a value."""
        more: dict[str, str | int | list[str]] = {
            "model": self.model,
            "product": self.product,
            "device": self.device,
            "transportId": self.transport_id,
            "usb": self.usb,
            "detail": self.detail,
            "sharedSerial": self.shared_serial,
        }
        row = {"serial": self.serial, "state": str(self.state), **{key: value for key, value in more.items() if value}}
        if self.other_transports:
            row |= {"otherTransports": list(self.other_transports), "preferred": self.preferred}
        return row

    @property
    def is_emulator(self) -> bool:
        return self.serial.startswith("emulator-")


_STATES = tuple(value for name, value in vars(DeviceState).items() if name.isupper())
_NOISE = ("*", "List of devices", "adb server ", "adb server:", "adb: ", "adb.exe: ", "error: ", "- waiting", "daemon ")
_LONGEST_ROW = 4096
_BY_ID = ("transport_id", "transport-id")
_NO_SERIAL = "(no serial number)"


def parse_devices(text: str) -> list[DeviceEntry]:
    """Rows of ``adb devices``, ``adb devices -l`` or the ``host:devices-l`` service, in adb's order."""
    rows = [entry for line in text.splitlines() if (entry := _device_row(line.strip(" \r"))) is not None]
    serials = Counter(entry.serial for entry in rows)
    if len(serials) == len(rows) and _NO_SERIAL not in serials:
        return rows
    paths = Counter(entry.usb for entry in rows)
    return [_named(entry, paths) if _unclear(entry, serials) else entry for entry in rows]


def _unclear(entry: DeviceEntry, serials: Counter[str]) -> bool:
    return serials[entry.serial] > 1 or (entry.serial == _NO_SERIAL and entry.usable)


def _named(entry: DeviceEntry, paths: Counter[str]) -> DeviceEntry:
    """Return a row whose serial chooses no device, with one that does: by its USB path, or else by its transport id."""
    if entry.usb and paths[entry.usb] == 1:
        return entry._replace(serial=f"usb:{entry.usb}", shared_serial=entry.serial)
    if entry.transport_id:
        return entry._replace(serial=f"transport_id:{entry.transport_id}", shared_serial=entry.serial)
    return entry


def _device_row(line: str) -> DeviceEntry | None:
    if not line or len(line) > _LONGEST_ROW or line.startswith(_NOISE):
        return None
    words = line.split()
    if len(words) > 1 and words[1] in _STATES and all(word.find(":") > 0 for word in words[2:]):
        return _entry(words[0], words[1], dict(word.split(":", 1) for word in reversed(words[2:])))
    found = _tabbed_row(line) if "\t" in line else _spaced_row(line)
    if not found:
        return None
    serial, state, rest = (part.strip() for part in found)
    return _entry(serial, state, *_attributes(state, rest)) if serial else None


def _tabbed_row(line: str) -> tuple[str, str, str] | None:
    """A tab ends the serial, whatever is in it; any first word after it is a state."""
    serial, _, rest = line.partition("\t")
    match = re.match(rf"\s*({'|'.join(_STATES)})(?=[\s(;]|$)(.*)", rest) or re.match(r"\s*(\S+)(.*)", rest)
    return (serial, match[1], match[2]) if match else None


def _spaced_row(line: str) -> tuple[str, str, str] | None:
    """Split at the padding: adb pads the serial to 22 columns, so a single space ends it only where no padding fits.

    A serial may contain spaces ("adb-… (2)._adb-tls-connect._tcp", "(no serial number)"); an unknown state must follow
    padding, or any sentence would be a device.
    """
    state = rf"({'|'.join(_STATES)})(?=[\s(;]|$)(.*)"
    match = (
        re.match(rf"(\S+)\s+{state}", line)
        or re.match(rf"(\S.{{20,}}?|\S.*?(?= {{2}}))\s+{state}", line)
        or re.match(r"(\S+) {2,}([a-z][a-z -]*?)(?=$| {2}| \w+:)(.*)", line)
    )
    return (match[1], match[2], match[3]) if match else None


def _attributes(state: str, rest: str) -> tuple[dict[str, str], str]:
    """``key:value`` pairs, whose values may hold spaces, and adb's remark before them."""
    parts = re.split(r"(?:^|\s)(\w+):", rest)
    fields: dict[str, str] = {}
    for key, value in zip(parts[1::2], parts[2::2], strict=True):
        fields.setdefault(key, value.strip())
    remark = parts[0].strip(" \t;")
    if remark and state != DeviceState.NO_PERMISSIONS and "usb" not in fields:
        return fields | {"usb": remark}, ""  # newer kernels: a bare "3-1" in the place of "usb:3-1"
    return fields, remark


def _entry(serial: str, state: str, fields: dict[str, str], detail: str = "") -> DeviceEntry:
    return DeviceEntry(
        serial=serial,
        state=state,
        product=fields.get("product", ""),
        model=fields.get("model", ""),
        device=fields.get("device", ""),
        transport_id=whole_number(fields.get("transport_id", ""), digits=18) or 0,
        usb=fields.get("usb", ""),
        features=fields.get("features", ""),
        detail=detail,
    )
