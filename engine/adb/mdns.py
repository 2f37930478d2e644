"""Parse the adb server's list of devices that announce themselves by mDNS. Pure; no input raises.

The rows of ``host:mdns:services`` (and of ``adb mdns services``, which adds a headline) are name, service type and
address between tabs; some servers pad with spaces, end the type with a dot, or end lines with CR LF.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import AddressValueError, IPv6Address
from typing import Any

from clawperator.engine.text.numbers import whole_number

PAIRING = "_adb-tls-pairing._tcp"
"""Announced while a device shows its pairing dialog, or has scanned a pairing QR code (Android 11+)."""
CONNECT = "_adb-tls-connect._tcp"
"""Announced while Wireless debugging is on; only computers that are paired get in."""
LEGACY = "_adb._tcp"
"""Announced by devices in the older ``adb tcpip`` mode; no pairing, but the dialog on the device."""
CONNECTABLE = (CONNECT, LEGACY)

_LONGEST_ROW = 1024
_ROW = re.compile(r"(\S.*?)\s+(_[A-Za-z0-9-]+\._(?:tcp|udp))\.?(?:local\.?)?\s+(\S+)(?:\s.*)?")
_IPV6 = re.compile(r"[0-9A-Fa-f:.]{2,45}(?:%[A-Za-z0-9_.-]{1,32})?")
_NOWHERE = ("0.0.0.0", "::")  # noqa: S104 - recognised, never listened on


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A host (name, IPv4, or IPv6 without brackets) and a TCP port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class MdnsService:
    """One announcement. ``name`` is the instance (``adb-<serial>-<random>``, or the name from a scanned QR code)."""

    name: str
    kind: str
    endpoint: Endpoint

    @property
    def address(self) -> str:
        return str(self.endpoint)

    @property
    def serial(self) -> str:
        """How adb lists the device when it was connected by this announcement, not by address."""
        return f"{self.name}.{self.kind}"

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "type": self.kind, "address": self.address}


def parse_services(text: str) -> tuple[MdnsService, ...]:
    """Announcements in adb's order, each once; headlines, noise and rows without a usable address are left out."""
    found = (_service(line) for line in text.splitlines())
    return tuple(dict.fromkeys(service for service in found if service is not None))


def _service(line: str) -> MdnsService | None:
    if len(line) > _LONGEST_ROW or not (match := _ROW.fullmatch(line.strip())):
        return None
    endpoint = split_endpoint(match[3])
    return MdnsService(match[1], match[2], endpoint) if endpoint and endpoint.host not in _NOWHERE else None


def split_endpoint(text: str) -> Endpoint | None:
    """``host:port``; ``None`` where there is no port from 1 to 65535. IPv6 is taken with and without brackets."""
    host, colon, digits = text.rpartition(":")
    port = whole_number(digits, digits=5) or 0
    if not (colon and host and 0 < port < 65536):
        return None
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
        return Endpoint(host, port) if is_ipv6(host) else None
    return Endpoint(host, port) if ":" not in host or is_ipv6(host) else None


def is_ipv6(text: str) -> bool:
    """With or without a zone, as in ``fe80::1%wlan0``; the zone is a plain name here, though the standard allows anything."""
    if not _IPV6.fullmatch(text):
        return False
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True


def discovery_problem(answer: str) -> str:
    """Why the server discovers nothing, from its response to ``host:mdns:check``; empty where it does."""
    words = " ".join(answer.split())
    return words.partition(":")[2].strip() or "no reason given" if words.upper().startswith("ERROR") else ""


def is_network_serial(serial: str) -> bool:
    """Whether adb reaches a device with this serial over the network, other than an emulator."""
    return split_endpoint(serial) is not None or is_announced_serial(serial)


def is_announced_serial(serial: str) -> bool:
    """Whether the device was connected by its announcement: ``adb-…._adb-tls-connect._tcp``."""
    return serial.endswith(tuple(f".{kind}" for kind in CONNECTABLE))
