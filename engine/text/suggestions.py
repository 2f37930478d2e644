"""Suggested command lines. Serials are untrusted, so they are quoted for the shell."""

from __future__ import annotations

import shlex


def command_line(command: str, device_id: str, *more: str) -> str:
    """Return ``clawperator <command>`` for one device, with ``more`` arguments."""
    device = [f"--device-id={device_id}"] if device_id.startswith("-") else ["--device-id", device_id]
    return f"clawperator {command} {shlex.join([*device, *more])}"


def adb_line(device_id: str, *words: str) -> str:
    """Return an ``adb`` command for one device; a last word in angle brackets is a placeholder and not quoted."""
    *fixed, last = words
    end = last if last.startswith("<") else shlex.quote(last)
    kind, _, number = device_id.partition(":")
    chosen = ("-t", number) if kind == "transport_id" else ("-s", device_id)
    return f"{shlex.join(['adb', *chosen, *fixed])} {end}"
