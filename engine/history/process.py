"""Which process a row belongs to, and whether it still lives: a number alone may have been given to another one since."""

from __future__ import annotations

import os


def token(pid: int) -> str:
    """What distinguishes this process from others that had or will have its number; empty where the system does not say.

    On Linux the moment of its start in ticks since the machine's, and which start of the machine that was.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot, open(f"/proc/{pid}/stat", "rb") as stat:
            ticks = stat.read().rpartition(b")")[2].split()[19]
            return f"{boot.read(8)}-{ticks.decode()}"
    except (OSError, IndexError, ValueError):
        return ""


def alive(pid: int, known: str) -> bool:
    """Whether the process that had number ``pid`` and token ``known`` still runs."""
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # somebody else's process: it exists
    now = token(pid)
    return not (known and now and known != now)
