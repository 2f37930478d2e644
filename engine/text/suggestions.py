"""Command lines that people and agents are told to run. A serial is a device's own text, so it is quoted for their shell."""

from __future__ import annotations

import shlex


def command_line(command: str, device_id: str, *more: str) -> str:
    """``clawperator <command>`` for one device; ``more`` are further words."""
    device = [f"--device-id={device_id}"] if device_id.startswith("-") else ["--device-id", device_id]
    return f"clawperator {command} {shlex.join([*device, *more])}"


def adb_line(device_id: str, *words: str) -> str:
    """``adb`` on one device; the last word may be a placeholder in angle brackets, which stays as it is."""
    *fixed, last = words
    end = last if last.startswith("<") else shlex.quote(last)
    return f"adb -s {shlex.quote(device_id)} {shlex.join(fixed)} {end}"
