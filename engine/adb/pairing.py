"""Pairing over Wi-Fi (Android 11+): requests, responses, and hints for failures. Pure.

Codes and passwords are secrets: no message, hint, detail or ``repr`` contains them.
"""

from __future__ import annotations

import re
import secrets
import string
from dataclasses import dataclass, field
from typing import Any

from clawperator.engine.errors import EngineError, ErrorCode

_ALPHABET = string.ascii_letters + string.digits
_NAME_LETTERS = 6
"""Few, so that the QR code is small enough for a terminal of 24 lines."""
_PASSWORD_LETTERS = 16
_MAX_CODE = 64
_AGAIN_HINT = (
    "Check address and port, then open 'Pair device with pairing code' again: each code works once. "
    "If it stays so, run `adb kill-server`, and update the platform-tools."
)
_PAIRED = re.compile(r"Successfully paired to (.*?)(?: \[guid=(.*)\])?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class QrOffer:
    """The content of a pairing QR code: the device that scans it announces this name and accepts this password."""

    name: str
    password: str = field(repr=False)

    @classmethod
    def fresh(cls) -> QrOffer:
        """Random; letters and digits only, so that neither the code nor adb needs escapes."""
        return cls(f"clawperator-{_random(_NAME_LETTERS)}", _random(_PASSWORD_LETTERS))

    @property
    def payload(self) -> str:
        """The text of the QR code for Android's scanner. It contains the password."""
        return f"WIFI:T:ADB;S:{self.name};P:{self.password};;"


def _random(length: int) -> str:
    return "".join(secrets.choice(_ALPHABET) for _ in range(length))


@dataclass(frozen=True, slots=True)
class Paired:
    """A device that trusts this computer. ``guid`` is its mDNS name; empty where the server did not return it."""

    address: str
    guid: str

    def to_dict(self) -> dict[str, Any]:
        return {"address": self.address, "guid": self.guid}


def check_code(code: str) -> str:
    """``code`` without blanks. Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) for an invalid one."""
    plain = "".join(code.split())
    if plain and len(plain) <= _MAX_CODE and plain.isascii() and plain.isprintable() and ":" not in plain:
        return plain
    raise EngineError(
        ErrorCode.EXECUTION_VALIDATION_FAILED,
        "the pairing code must be 1 to 64 printable ASCII characters without a colon",
        hint="It is the six-digit number in the device's pairing dialog.",
        details={"path": "code"},
    )


def pair_outcome(words: str, address: str, code: str) -> Paired:
    """Parse the response to ``host:pair``. Raises ``EngineError`` (PAIRING_FAILED) with adb's text otherwise."""
    if match := _PAIRED.fullmatch(" ".join(words.split())):
        return Paired(address, match[2] or "")
    output = " ".join(words.replace(code, "***").split())
    lowered = output.lower()
    details = {"address": address, "adb": output}
    if "protocol fault" in lowered:
        hint = _AGAIN_HINT
    elif "wrong password" in lowered or "connection was dropped" in lowered:
        hint = (
            "Each dialog has a new code: leave it open and enter the code that it shows now. "
            "If the code is right, turn Wireless debugging off and on."
        )
    elif "unable to start pairing client" in lowered or "refused" in lowered or "route" in lowered:
        hint = (
            "No response. Use the address of the pairing dialog, not the one above it: its port differs and "
            "changes each time. Leave the dialog open; computer and device must be in the same network."
        )
    else:
        hint = None
    raise EngineError(
        ErrorCode.PAIRING_FAILED, f"adb: {output or 'no response to the pairing request'}", hint=hint, details=details
    )


def broken_off(target: str) -> EngineError:
    """Return the error for a server that ended the request without an answer, which ``adb pair`` calls a protocol fault."""
    message = f"The adb server broke off the pairing with {target} without an answer (adb calls it a protocol fault)"
    return EngineError(ErrorCode.PAIRING_FAILED, message, hint=_AGAIN_HINT, details={"address": target})


def unanswered(target: str, timeout: float) -> EngineError:
    return EngineError(
        ErrorCode.DEVICE_NOT_FOUND,
        f"{target} did not finish the pairing within {timeout:g} s",
        hint="Leave the pairing dialog open, check the address in it, and that both are in the same network.",
        details={"address": target, "timeoutMs": round(timeout * 1000)},
    )
