"""Every time limit of the emulator manager in one place (emulators.md#limits)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds. ``poll`` is the interval of polling, the others are upper bounds."""

    tool_help: float = 5.0
    list_names: float = 10.0
    list_images: float = 30.0
    licences: float = 120.0
    install_image: float = 1800.0
    create: float = 120.0
    delete: float = 60.0
    device: float = 30.0
    """One request to a device or to its console."""
    register: float = 60.0
    """From the start of the emulator to its entry in adb."""
    boot: float = 180.0
    poll: float = 2.0
    booting: float = 10.0
    """How long provisioning waits for emulators that adb lists as offline."""
    vanish: float = 20.0
    """How long a stopped emulator's serial may stay in adb's list."""
    end: float = 5.0
    """Between SIGTERM and SIGKILL."""
