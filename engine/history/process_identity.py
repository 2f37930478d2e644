"""Identifies processes beyond their number, which the system reuses."""

from __future__ import annotations

import os


def token(pid: int) -> str:
    """Return what distinguishes process ``pid`` from others with the same number; empty if unknown.

    On Linux, the boot id and the start time in ticks since boot.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
            return f"{boot.read(8)}-{_facts(pid)[19].decode()}"
    except (OSError, IndexError, ValueError):
        return ""


def alive(pid: int, known: str) -> bool:
    """Return whether the process with number ``pid`` and token ``known`` is running; a zombie is not."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # a process of another user
    if _facts(pid)[:1] == [b"Z"]:
        return False
    now = token(pid)
    return not (known and now and known != now)


def _facts(pid: int) -> list[bytes]:
    """Return the fields of ``/proc/PID/stat`` from the state on; nothing without ``/proc``."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()
    except OSError:
        return []
