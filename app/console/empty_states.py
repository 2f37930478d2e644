"""Texts of panes without a device."""

from __future__ import annotations

from clawperator.widgets.format.lines import sentence

NO_DEVICE_HERE = "This console shows saved dumps: it has no device"


def no_device_words(problem: str, *, known: bool, remote: str = "") -> str:
    """Return what an empty device list means, and what to do; ``remote`` is the server that has the list."""
    if remote:
        return _no_remote_device_words(problem, sentence(remote), known=known)
    if problem:
        return f"adb does not respond:\n{problem}\n\nPress 6 for details."
    if not known:
        return "Querying adb for devices…"
    return "No device yet.\n\nPlug in a phone with USB debugging,\nor provision an emulator: 7 P."


def _no_remote_device_words(problem: str, remote: str, *, known: bool) -> str:
    if problem:
        return f"The device list is unavailable:\n{sentence(problem)}.\n\nRetrying."
    if not known:
        return f"Querying {remote} for devices…"
    return f"No device at {remote}.\n\nA device is used as soon as it connects."
