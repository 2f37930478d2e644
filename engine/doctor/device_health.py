"""Advisory checks of the device's screen, log buffer and clock. Pure."""

from __future__ import annotations

import re

from clawperator.engine.adb.batch import BatchOutput
from clawperator.engine.doctor.check import Check, manual, unreadable
from clawperator.engine.text.numbers import whole_number
from clawperator.engine.text.suggestions import adb_line, command_line

SCREEN = (("dumpsys", "power"), ("dumpsys", "window", "policy"))
"""The commands whose output ``screen`` reads."""
SMALLEST_LOG = 256 * 1024
"""Bytes of the main log buffer: the dump of a large screen must fit, with the log lines of other apps."""
CLOCK_SECONDS = 60
"""How far the clocks may differ before log times mislead and certificates are rejected."""

_WAKEFULNESS = re.compile(r"^\s*mWakefulness=(\w{1,20})", re.MULTILINE)
_POWER = re.compile(r"^\s*(?:Display Power: state=|mScreenOn=)(\w{1,20})", re.MULTILINE)
_KEYGUARD = re.compile(
    r"(?:(?:^|[ \t])(?:mShowingLockscreen|isStatusBarKeyguard|mIsShowing|mKeyguardShowing)|^[ \t]*showing)=(true|false)\b",
    re.MULTILINE,
)
_BUFFER = re.compile(
    r"^\S*?main: ring buffer is (\d{1,9})\s?([KMG]?)i?B\s*\((\d{1,9})\s?([KMG]?)i?B consumed",
    re.MULTILINE | re.IGNORECASE,
)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def screen(power: BatchOutput, policy: BatchOutput, device_id: str) -> Check:
    """Check that the screen is on and unlocked: ``dumpsys power`` and ``dumpsys window policy``."""
    check_id = "device.screen"
    wakefulness = _WAKEFULNESS.search(power.text) or _POWER.search(power.text)
    if wakefulness is None:
        return unreadable(check_id, "The screen state", power.text)
    state = wakefulness[1]
    keyguard = {match[1] == "true" for match in _KEYGUARD.finditer(policy.text)}
    locked = any(keyguard) if keyguard else None
    evidence = {"wakefulness": state, **({} if locked is None else {"locked": locked})}
    if state.lower() not in ("awake", "on", "true"):
        return Check(
            check_id,
            "warn",
            f"The screen is off ({state})",
            detail="Apps cannot be read or operated while the screen is off.",
            fix_title="Wake the device",
            fix=manual(command_line("device wake", device_id)),
            evidence=evidence,
        )
    if locked:
        return Check(
            check_id,
            "warn",
            "The device is locked",
            detail="Apps cannot be read or operated while the device is locked.",
            guidance_screen="Lock screen",
            guidance=("Unlock the device.", "Switch off the screen lock on unattended devices."),
            evidence=evidence,
        )
    if locked is None:
        summary = "The screen is on; whether it is locked could not be read"
        evidence |= {"output": policy.text.strip()[:300]}
        return Check(check_id, "warn", summary, evidence=evidence, unknown=True)
    return Check(check_id, "pass", "The screen is on and unlocked", evidence=evidence)


def log_buffer(answer: BatchOutput, device_id: str) -> Check:
    """Check that the log buffer is large enough: ``logcat -b main -g`` of any Android version."""
    check_id = "device.log_buffer"
    match = _BUFFER.search(answer.text)
    if match is None:
        return unreadable(check_id, "The size of the log buffer", answer.text)
    size, used = (int(match[at]) * _UNITS[match[at + 1].lower()] for at in (1, 3))
    evidence = {"sizeBytes": size, "usedBytes": used}
    if size >= SMALLEST_LOG:
        return Check(check_id, "pass", f"The log buffer holds {shown_bytes(size)}", evidence=evidence)
    return Check(
        check_id,
        "warn",
        f"The log buffer holds only {shown_bytes(size)}",
        detail="Results are read from the log. A small buffer may drop a large result before it is read.",
        fix_title="Enlarge the log buffer",
        fix=manual(
            adb_line(device_id, "logcat", "-G", "4M"),
            "To make it permanent, choose a larger “Logger buffer size” in the developer options.",
        ),
        evidence=evidence,
    )


def shown_bytes(size: int) -> str:
    """``256 KiB``, ``4 MiB``."""
    for unit, letter in ((1 << 20, "M"), (1 << 10, "K")):
        if size >= unit:
            return f"{size / unit:.3g} {letter}iB"
    return f"{size} B"


def clock(answer: BatchOutput, host_seconds: float) -> Check:
    """Compare the device's clock (``date +%s``) with the host's, in seconds since the epoch."""
    check_id = "device.clock"
    seconds = whole_number(answer.text.strip(), digits=11)
    if not answer.ok or seconds is None:
        return unreadable(check_id, "The device's clock", answer.text)
    skew = seconds - int(host_seconds)
    evidence = {"skewSeconds": skew}
    if abs(skew) <= CLOCK_SECONDS:
        return Check(check_id, "pass", "The clocks of device and host agree", evidence=evidence)
    direction = "ahead of" if skew > 0 else "behind"
    return Check(
        check_id,
        "warn",
        f"The device's clock is {shown_span(abs(skew))} {direction} this computer's",
        detail="Log times differ from this computer's, and TLS connections of the device may fail.",
        fix_title="Set the clock",
        fix=manual("Switch on automatic date and time in the device's settings."),
        evidence=evidence,
    )


def shown_span(seconds: int) -> str:
    """``90 s``, ``5 min``, ``3 h``, ``2 days``."""
    for unit, word in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * unit:
            return f"{seconds // unit} {word}"
    return f"{seconds} s"
