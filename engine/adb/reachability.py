"""The outcomes of connecting over the network: adb's texts to values, and errors with hints. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from clawperator.engine.adb.mdns import PAIRING
from clawperator.engine.errors import EngineError, ErrorCode

PLATFORM_TOOLS = "https://developer.android.com/tools/releases/platform-tools"
NEEDED_VERSION = "31.0.0"
"""The first platform-tools with dependable pairing and discovery (30 has an unfinished discovery)."""

_CONNECTED = re.compile(r"(already connected|connected|failed to authenticate) to (.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Connected:
    """A device over the network, as adb lists it; ``state`` is ``device`` when it can be used."""

    serial: str
    state: str
    already: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {"serial": self.serial, "state": self.state, "alreadyConnected": self.already}


def connect_outcome(words: str) -> tuple[str, bool] | None:
    """``(serial, already connected)`` from the server's response to ``host:connect``; ``None`` where it failed.

    "failed to authenticate" is not a failure yet: the device is listed and shows its dialog.
    """
    match = _CONNECTED.fullmatch(" ".join(words.split()))
    return (match[2], match[1].startswith("already")) if match else None


def connect_refusal(words: str, target: str) -> EngineError:
    """The error of ``host:connect`` with a hint. Sources: adb's own texts, 29.0.6 to 35."""
    output = " ".join(words.split())
    lowered = output.lower()
    if "refused" in lowered:
        hint = "Nothing listens on this port. Wireless debugging uses a new port each time it is turned on; `adb tcpip` uses 5555."
    elif any(part in lowered for part in ("no route", "unreachable", "timed out")):
        hint = "Computer and device must be in the same network, without a guest network or VPN between them."
    elif "resolve" in lowered:
        hint = "The name is unknown in this network: use the address that the device shows."
    else:
        hint = (
            "A device with Wireless debugging (Android 11+) must be paired once: `clawperator devices pair`. "
            "Then use the address of its Wireless debugging screen."
        )
    details = {"deviceId": target, "adb": output}
    return EngineError(
        ErrorCode.DEVICE_NOT_FOUND, f"adb: {output or f'{target} cannot be reached'}", hint=hint, details=details
    )


def state_refusal(serial: str, state: str) -> EngineError:
    """The connection exists, but the device cannot be used; ``state`` is adb's state (empty: no longer listed)."""
    details = {"deviceId": serial, "state": state or "absent"}
    if state in ("unauthorized", "authorizing"):
        hint = "Confirm the debugging dialog on the device; then connect again."
        return EngineError(ErrorCode.DEVICE_UNAUTHORIZED, f"{serial} is {state}", hint=hint, details=details)
    if state:
        hint = f"Wake the device and wait, or run `clawperator devices disconnect '{serial}'` and connect again."
        return EngineError(ErrorCode.DEVICE_OFFLINE, f"{serial} is {state}", hint=hint, details=details)
    return EngineError(
        ErrorCode.DEVICE_NOT_FOUND,
        f"{serial} was connected, but has disconnected again",
        hint="Wake the device, and check that Wireless debugging is still on.",
        details=details,
    )


def too_old(where: str, version: str, protocol: int) -> EngineError:
    """The adb server supports neither pairing nor discovery. ``version`` is the adb program's, empty where unknown."""
    known = f"adb {version}" if version else f"protocol version {protocol}"
    return EngineError(
        ErrorCode.PAIRING_UNSUPPORTED,
        f"the adb server at {where} ({known}) cannot pair over Wi-Fi",
        hint=(
            f"Install Android platform-tools {NEEDED_VERSION} or newer ({PLATFORM_TOOLS}), point ADB_PATH to its adb, and run "
            "`adb kill-server`. The device needs Android 11; an older one connects by USB, then `adb tcpip 5555` and "
            "`clawperator devices connect <host>`."
        ),
        details={"server": where, "adbVersion": version, "serverProtocol": protocol, "needed": NEEDED_VERSION},
    )


def no_discovery(reason: str) -> EngineError:
    """The server can pair, but does not discover devices."""
    return EngineError(
        ErrorCode.PAIRING_UNSUPPORTED,
        f"the adb server does not discover devices on the network: {reason}",
        hint=(
            "Give the address that the device shows: `clawperator devices pair <host>:<port>`. For discovery (and QR codes) "
            "restart the adb server without ADB_MDNS=0, on Linux with ADB_MDNS_OPENSCREEN=1."
        ),
        details={"adb": reason},
    )


def nothing_found(kinds: Sequence[str], name: str, timeout: float) -> EngineError:
    what = "pairing dialog" if PAIRING in kinds else "device with Wireless debugging"
    if name and PAIRING in kinds:
        what = "device that scanned the QR code"
    elif name:
        what = f"device named {name}"
    after = f" within {timeout:g} s" if timeout else ""
    return EngineError(
        ErrorCode.DEVICE_NOT_FOUND,
        f"no {what} was found on the network{after}",
        hint=(
            "On the device (Android 11+): Developer options, Wireless debugging, Pair device with QR code or pairing code. "
            "Computer and device must be in the same network; many guest networks block discovery; in that case use <host>:<port>."
        ),
        details={"types": list(kinds)},
    )


def not_connected(serial: str, connected: tuple[str, ...]) -> EngineError:
    return EngineError(
        ErrorCode.DEVICE_NOT_FOUND,
        f"{serial} is not connected",
        hint="List the connected devices: `clawperator devices`.",
        details={"deviceId": serial, "connected": list(connected)},
    )
