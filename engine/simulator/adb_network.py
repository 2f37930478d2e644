"""The network of the simulator's adb server: devices that are discovered, paired and connected, with adb's own texts.

The texts are those of 29.0.6 (observed) and of adb's sources since 30 (``adb_wifi.cpp``, ``transport_mdns.cpp``).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from clawperator.engine.adb.mdns import CONNECT, LEGACY, PAIRING, Endpoint, MdnsService, split_endpoint
from clawperator.engine.simulator.wireless_profile import AdbServerProfile, WirelessProfile

if TYPE_CHECKING:
    from clawperator.engine.simulator.device import SimulatedDevice

UNKNOWN_SERVICE: Final = "unknown host service"
DEFAULT_PORT: Final = 5555
FIRST_HOST: Final = 86
_QR = re.compile(r"WIFI:T:ADB;S:([^;:]+);P:([^;:]+);;")
_PENDING = ("unauthorized", "authorizing")


class Refused(Exception):  # noqa: N818 - a response, not an error
    """The request is answered with FAIL and this text."""


class DeviceTable(Protocol):
    """The adb server's list of devices, as the network changes it."""

    def plug(self, device: SimulatedDevice, serial: str) -> None: ...

    def unplug(self, serial: str) -> None: ...

    def listed(self) -> tuple[str, ...]: ...


class NetworkDevice:
    """One device in the network; ``open_pairings`` are its pairing services, by name: the dialog's, or a scanned code's."""

    def __init__(self, device: SimulatedDevice, profile: WirelessProfile, index: int) -> None:
        self.device = device
        self.mode = profile.mode
        self.host = profile.host or f"192.168.1.{FIRST_HOST + index}"
        self.guid = profile.guid or f"adb-{device.serial}-{index:06d}"
        self.connect_port = profile.connect_port
        self.paired = profile.paired
        self.pairing_seconds = profile.pairing_ms / 1000
        self.open_pairings: dict[str, tuple[int, str]] = {}
        self._last_port = profile.pairing_port or 37_000 + index
        if profile.pairing_port:
            self.open_pairings[self.guid] = (profile.pairing_port, profile.code)

    @property
    def connect_service(self) -> MdnsService:
        kind = CONNECT if self.mode == "tls" else LEGACY
        return MdnsService(self.guid, kind, Endpoint(self.host, self.connect_port))

    @property
    def announcements(self) -> list[MdnsService]:
        pairings = [
            MdnsService(name, PAIRING, Endpoint(self.host, port)) for name, (port, _) in self.open_pairings.items()
        ]
        return [self.connect_service, *pairings]

    def to_dict(self) -> dict[str, object]:
        """The texts on the device's Wireless debugging screen."""
        dialogs = [
            {"address": str(Endpoint(self.host, port)), "code": code} for port, code in self.open_pairings.values()
        ]
        service = self.connect_service
        return {"guid": self.guid, "connect": service.address, "paired": self.paired, "pairing": dialogs}

    def scan(self, name: str, password: str) -> None:
        """Act like a device whose camera has scanned a pairing QR code: open the pairing service that the code names."""
        self._last_port += 1
        self.open_pairings[name] = (self._last_port, password)


class Network:
    """Implements the network services of an adb server. Raises Refused for a FAIL."""

    def __init__(self, devices: Sequence[SimulatedDevice], table: DeviceTable) -> None:
        profiles = [device.scenario.wireless for device in devices]
        self.phones = tuple(
            NetworkDevice(device, profile, index)
            for index, (device, profile) in enumerate(zip(devices, profiles, strict=True))
            if profile is not None
        )
        self._server = devices[0].scenario.adb_server if devices else AdbServerProfile()
        self._table = table
        self._lost: dict[SimulatedDevice, tuple[str, ...]] = {}

    def has(self, device: SimulatedDevice) -> bool:
        """Whether the device is on the network instead of USB."""
        return any(phone.device is device for phone in self.phones)

    @property
    def refuses_pairing_after_okay(self) -> bool:
        """Whether a failed pairing is an OKAY and then a FAIL, as in servers from 36 on."""
        return self._server.platform_tools >= 36

    async def answer(self, verb: str) -> str:
        """``mdns:check``, ``pair:CODE:ADDRESS``, ``connect:ADDRESS`` …"""
        name, _, rest = verb.partition(":")
        old = self._server.platform_tools < 30
        if old and name in ("mdns", "pair"):
            raise Refused(UNKNOWN_SERVICE)
        if name == "pair":
            return await self._pair(*_code_and_address(rest))
        handlers: dict[str, Callable[[str], str]] = {
            "mdns": self._mdns,
            "connect": self._connect,
            "disconnect": self._disconnect,
            "scan": self._scan,
        }
        return handlers[name](rest)

    # -- devices connect and disconnect

    def lost(self, device: SimulatedDevice, serials: tuple[str, ...]) -> None:
        """The device has left the network; it was connected under these names."""
        self._lost[device] = serials

    def back(self, device: SimulatedDevice) -> None:
        """The device is back: the server reconnects, where it does so automatically."""
        for serial in self._lost.pop(device, ()):
            self._table.plug(device, serial)
        for phone in self.phones:
            if phone.device is device:
                self._auto_connect(phone)

    def start(self) -> None:
        for phone in self.phones:
            self._auto_connect(phone)

    def _auto_connect(self, phone: NetworkDevice) -> None:
        server = self._server
        wanted = server.auto_connect and server.discovery and server.platform_tools >= 30
        serial = phone.connect_service.serial
        if wanted and phone.paired and phone.mode == "tls" and serial not in self._table.listed():
            self._table.plug(phone.device, serial)

    # -- services

    def _mdns(self, question: str) -> str:
        if question == "check":
            found = "mdns daemon version [Openscreen discovery 0.0.0]"
            return found if self._server.discovery else "ERROR: mdns discovery disabled"
        if question != "services":
            raise Refused(UNKNOWN_SERVICE)
        seen = [phone for phone in self.phones if self._server.discovery and phone.device not in self._lost]
        rows = [service for phone in seen for service in phone.announcements]
        return "".join(f"{row.name}\t{row.kind}\t{row.address}\n" for row in rows)

    def _scan(self, payload: str) -> str:
        """Not a service of adb: scan a QR code, without a camera, on the first device with Wireless debugging."""
        match = _QR.fullmatch(payload)
        phone = next((phone for phone in self.phones if phone.mode == "tls"), None)
        if not match or phone is None:
            raise Refused("no simulated device reads this code")
        phone.scan(match[1], match[2])
        return f"{phone.guid} reads the code"

    async def _pair(self, code: str, address: str) -> str:
        endpoint = split_endpoint(address)
        if endpoint is None:
            if ":" in address:
                return f"Failed to parse address for pairing: bad port number in '{address}'"
            return f"Invalid port while parsing address [{address}]"
        for phone in self.phones:
            for name, (port, secret) in phone.open_pairings.items():
                if endpoint == Endpoint(phone.host, port):
                    await phone.device.clock.sleep(phone.pairing_seconds)
                    if secret != code:
                        return "Failed: Wrong password or connection was dropped."
                    phone.open_pairings.pop(name, None)
                    phone.paired = True
                    self._auto_connect(phone)
                    return f"Successfully paired to {address} [guid={phone.guid}]"
        return "Failed: Unable to start pairing client."

    def _connect(self, address: str) -> str:
        if not address:
            return "empty address"
        phone, serial = self._dial(address)
        if phone is None:
            return serial
        if serial in self._table.listed():
            return f"already connected to {serial}"
        if phone.device in self._lost:
            return f"failed to connect to '{serial}': No route to host"
        if phone.mode == "tls" and (self._server.platform_tools < 30 or not phone.paired):
            return f"failed to connect to {serial}"  # the device refuses an unpaired computer
        self._table.plug(phone.device, serial)
        if phone.device.state in _PENDING:
            return f"failed to authenticate to {serial}"
        return f"failed to connect to {serial}" if phone.device.state == "offline" else f"connected to {serial}"

    def _dial(self, address: str) -> tuple[NetworkDevice | None, str]:
        """The device at an address or name with its new serial, or none with adb's text."""
        for phone in self.phones:
            named = address in (phone.guid, phone.connect_service.serial)
            if named and self._server.platform_tools >= 30 and self._server.discovery:
                return phone, phone.connect_service.serial
        endpoint = split_endpoint(address) or split_endpoint(f"{address}:{DEFAULT_PORT}")
        if endpoint is None:
            return None, f"bad port number '{address.rpartition(':')[2]}' in '{address}'"
        host, port = endpoint.host, endpoint.port
        known = [phone for phone in self.phones if phone.host == host]
        for phone in known:
            if phone.connect_port == port:
                return phone, str(endpoint)
        if not known and not re.fullmatch(r"[0-9.]+|.*:.*", host):
            return None, f"failed to resolve host: '{host}': Name or service not known"
        reason = "Connection refused" if known or host.startswith("127.") else "No route to host"
        return None, f"failed to connect to '{host}:{port}': {reason}"

    def _disconnect(self, address: str) -> str:
        ours = [serial for serial in self._table.listed() if self._is_ours(serial)]
        if not address:
            for serial in ours:
                self._table.unplug(serial)
            return "disconnected everything"
        wanted = address
        if wanted not in ours:
            endpoint = split_endpoint(address) or split_endpoint(f"{address}:{DEFAULT_PORT}")
            wanted = str(endpoint) if endpoint else address
        if wanted not in ours:
            raise Refused(f"no such device '{wanted}'")
        self._table.unplug(wanted)
        return f"disconnected {wanted}"

    def _is_ours(self, serial: str) -> bool:
        addresses = ((phone.connect_service.serial, phone.connect_service.address) for phone in self.phones)
        return any(serial in both for both in addresses)


def _code_and_address(rest: str) -> tuple[str, str]:
    """The text between the first two colons; a code contains none."""
    code, _, address = rest.partition(":")
    return code, address
