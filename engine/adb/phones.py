"""The phone behind a transport: one phone can be connected by USB and over the network, or under two addresses, at once.

Its identity is ``ro.serialno`` and the boot id of its kernel. Cheap phones share serial numbers, and containers share a kernel, of
which each has another root mount. Emulators that were started from one snapshot share all of that, and their serial numbers say
nothing: there the address of a network transport is part of it. A phone that does not say is known by its transport only.

An identity is remembered per transport, whose id changes with each reconnect: the next phone at an address is another one.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.text.numbers import whole_number

if TYPE_CHECKING:
    from clawperator.engine.adb.presence import DeviceEntry


class Output(Protocol):
    """What a script has printed."""

    @property
    def text(self) -> str: ...


class Device(Protocol):
    """An ``AdbDevice``."""

    serial: str
    transport_id: int

    async def script(self, script: str, *, timeout: float | None) -> Output: ...


IDENTITY_SCRIPT = (
    'echo "clawperator-phone $(getprop ro.serialno)"; { read -r B </proc/sys/kernel/random/boot_id; '
    'read -r M R </proc/self/mountinfo; } 2>/dev/null; echo "clawperator-boot $B $M"; '
    'echo "clawperator-booted $(getprop sys.boot_completed)"'
)
"""Prints three lines that begin with ``clawperator-``. Reading the files starts no program."""
SHELL_SECONDS = 30.0
ASK_SECONDS = 1.0
"""For a question whose answer is only needed for the choice of a device."""
REMEMBER_SECONDS = 60.0
"""As for other facts about a device: an adb server that was restarted counts its transports from 1."""

_SERIAL = re.compile(r"^clawperator-phone ?([^\r\n]{0,200})\r?$", re.MULTILINE)
_BOOT = re.compile(r"^clawperator-boot ([0-9a-f-]{36}) ?(\d{0,12})\r?$", re.MULTILINE | re.ASCII)
_BOOTED = re.compile(r"^clawperator-booted ?([^\r\n]{0,20})\r?$", re.MULTILINE)
_OURS = re.compile(r"^clawperator-(?:phone|boot)[^\n]*\n?", re.MULTILINE)
_LOCAL = ("localhost", "[::1]", "ip6-localhost")
_NO_NUMBER = re.compile(r"(?:unknown|null|emulator\w*)?", re.IGNORECASE)
"""``ro.serialno`` of emulators and of systems that have none."""


def identity_of(text: str, serial: str) -> str:
    """Return the identity in the output of ``IDENTITY_SCRIPT``; empty if it is not known. ``serial`` is adb's.

    It is a digest: serial numbers do not belong into histories and reports.
    """
    number, boot = _SERIAL.search(text), _BOOT.search(text)
    if number is None or boot is None:
        return ""
    import hashlib

    name = number[1].strip()
    address = _address(serial) if _NO_NUMBER.fullmatch(name) else ""
    parts = "\n".join((name, boot[1], boot[2], address))
    return f"phone-{hashlib.sha256(parts.encode(errors='replace')).hexdigest()[:24]}"


def booting(text: str, serial: str) -> EngineError | None:
    """Return DEVICE_BOOTING if the output of ``IDENTITY_SCRIPT`` says that Android is still starting."""
    found = _BOOTED.search(text)
    if found is None or found[1].strip() == "1":
        return None
    message = f"{serial} is still starting: Android has not finished booting (sys.boot_completed)"
    return EngineError(ErrorCode.DEVICE_BOOTING, message)


def without_identity(text: str) -> str:
    """Return ``text`` without the lines of ``IDENTITY_SCRIPT``."""
    return _OURS.sub("", text)


def _address(serial: str) -> str:
    """Return the address of a network device or an emulator, the same for all names of this computer."""
    if serial.startswith("emulator-"):
        console = whole_number(serial.removeprefix("emulator-"), digits=5)
        return serial if console is None else f"local-{console + 1}"
    host, colon, port = serial.rpartition(":")
    if not colon or not port.isdigit():
        return ""  # by USB, or by its announcement
    local = host.lower() in _LOCAL or host.startswith("127.")
    return f"local-{port}" if local else serial.lower()


class Phones:
    """The identities of the phones behind the transports of one adb server."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, int], tuple[float, str]] = {}
        self.silent: set[tuple[str, int]] = set()
        """Those that did not answer in time for a device list, and are not asked for the next one."""

    def known(self, serial: str, transport_id: int) -> str | None:
        """Return the identity; empty if the phone does not say, ``None`` if it was not asked."""
        at, identity = self._known.get((serial, transport_id), (0.0, ""))
        return identity if at and time.monotonic() - at < REMEMBER_SECONDS else None

    def newest(self, serial: str) -> str:
        """Return the identity last learnt from a device with this serial, however long ago; empty if none is known."""
        seen = [known for (name, _), known in self._known.items() if name == serial]
        return max(seen)[1] if seen else ""

    def transports(self, identity: str) -> list[str]:
        """Return the serials that lead to a phone."""
        return [serial for serial in {name for name, _ in self._known} if identity and self.newest(serial) == identity]

    def learn(self, serial: str, transport_id: int, identity: str) -> None:
        if transport_id:  # old adb servers: another phone may be there at any time
            self._known[serial, transport_id] = time.monotonic(), identity

    def keep_only(self, entries: Iterable[DeviceEntry]) -> None:
        """Forget all transports that adb does not list any more."""
        listed = {(entry.serial, entry.transport_id) for entry in entries}
        self._known = {key: known for key, known in self._known.items() if key in listed}
        self.silent &= listed

    def forget(self) -> None:
        """Forget all: the adb server ended."""
        self._known.clear()
        self.silent.clear()

    async def of(self, device: Device, *, timeout: float | None = SHELL_SECONDS, booted: bool = False) -> str:
        """Return the identity of the phone behind ``device``, which is asked unless it is known. Raises ``EngineError``.

        A phone that is still starting is asked again the next time; DEVICE_BOOTING is raised if it has to be ``booted``.
        """
        known = self.known(device.serial, device.transport_id)
        if known is None:
            text = (await device.script(IDENTITY_SCRIPT, timeout=timeout)).text
            known = identity_of(text, device.serial)
            if (starts := booting(text, device.serial)) is None:
                self.learn(device.serial, device.transport_id, known)
            elif booted:
                raise starts
        return known

    # -- the device list

    def marked(self, entries: Iterable[DeviceEntry]) -> tuple[DeviceEntry, ...]:
        """Return the rows with the other transports to the same phone, as far as they are known."""
        rows = tuple(entries)
        groups: dict[str, list[DeviceEntry]] = {}
        for entry in rows:
            if entry.usable and (identity := self.known(entry.serial, entry.transport_id)):
                groups.setdefault(identity, []).append(entry)
        marks: dict[str, DeviceEntry] = {}
        for group in groups.values():
            if len(group) > 1:
                best = min(group, key=rank)
                for entry in group:
                    others = tuple(other.serial for other in group if other is not entry)
                    marks[entry.serial] = entry._replace(other_transports=others, preferred=entry is best)
        return tuple(marks.get(entry.serial, entry) for entry in rows)

    def unknown(self, entries: Iterable[DeviceEntry]) -> list[DeviceEntry]:
        """Return the rows that may lead to the same phone as another one, of which that is not known."""
        keys = ((entry, (entry.serial, entry.transport_id)) for entry in suspects(entries) if entry.transport_id)
        return [entry for entry, key in keys if key not in self.silent and self.known(*key) is None]


def rank(entry: DeviceEntry) -> int:
    """Return 0 for USB, which is preferred, 1 for an emulator, 2 for the network."""
    return 0 if entry.usb else 1 if entry.is_emulator else 2


def suspects(entries: Iterable[DeviceEntry]) -> list[DeviceEntry]:
    """Return the usable rows that may lead to the same phone as another one: of one model, and not all by USB."""
    groups: dict[tuple[str, str, str], list[DeviceEntry]] = {}
    for entry in entries:
        if entry.usable:
            groups.setdefault((entry.product, entry.model, entry.device), []).append(entry)
    return [entry for group in groups.values() if len(group) > 1 and max(map(rank, group)) == 2 for entry in group]


def shared_serial_error(serial: str, entries: Iterable[DeviceEntry]) -> EngineError | None:
    """Return the error about a serial by which adb lists several of ``entries``; ``None`` for any other."""
    names = [entry.serial for entry in entries if serial and entry.shared_serial == serial]
    if not names:
        return None
    return EngineError(
        ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED,
        f"{len(names)} devices have the serial {serial}: {', '.join(names)}",
        hint=f"Choose one with --device-id {names[0]}, or unplug the others.",
        details={"devices": names, "sharedSerial": serial},
    )
