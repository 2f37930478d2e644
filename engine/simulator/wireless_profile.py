"""The part of a scenario about Wi-Fi: a device on the network, and the adb server that discovers it.

    wireless:
      host: 192.168.1.86
      guid: adb-0A1B2C3D4E5F6G-a4QqY3   # its name in the network
      pairing_port: 37313               # the pairing dialog is open; 0 = it is not
      code: "924113"                    # the code in the dialog
      connect_port: 39149
      paired: false
    adb_server:
      platform_tools: 35                # 29 = an old server, without pairing and discovery

Only the simulator's own adb server (``sim --server``) uses it: a TLS connection of a real adb cannot be simulated.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Port = Annotated[int, Field(ge=1, le=65_535)]
OptionalPort = Annotated[int, Field(ge=0, le=65_535)]


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class WirelessProfile(_Strict):
    """A device in the network. All texts are what the adb server prints; nothing listens at these addresses."""

    mode: Literal["tls", "tcpip"] = "tls"
    """``tls``: Wireless debugging of Android 11+, with pairing. ``tcpip``: as after ``adb tcpip``, with the dialog."""
    host: Annotated[str, Field(pattern=r"^[A-Za-z0-9.:_-]{0,253}$")] = ""
    """Empty: 192.168.1.86 and its successors, by the device's index."""
    guid: Annotated[str, Field(pattern=r"^[ -~]{0,63}$")] = ""
    """Empty: derived from the serial."""
    connect_port: Port = 39_149
    """Of the older mode it is usually 5555."""
    pairing_port: OptionalPort = 0
    code: Annotated[str, Field(pattern=r"^[0-9]{6}$")] = "924113"
    paired: bool = False
    pairing_ms: Annotated[int, Field(ge=0, le=600_000)] = 300
    """How long the exchange takes, in the device's own milliseconds."""


class AdbServerProfile(_Strict):
    """How the simulator's own adb server behaves."""

    platform_tools: Literal[29, 35, 36] = 35
    """The texts of 29.0.6, of 35 and of 36, where they differ."""
    discovery: bool = True
    """``false``: started with ``ADB_MDNS=0``: it pairs, but discovers nothing."""
    auto_connect: bool = True
    """Paired devices are connected as soon as they are found, as adb does since 31."""
