"""Which process a row belongs to, and whether it still lives: a number alone may have been given to another one since."""

from __future__ import annotations

import os


def token(pid: int) -> str:
    """What distinguishes this process from others that had or will have its number; empty where the system does not say.

    On Linux the moment of its start in ticks since the machine's, and which start of the machine that was.
    """
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as boot:
            return f"{boot.read(8)}-{_facts(pid)[19].decode()}"
    except (OSError, IndexError, ValueError):
        return ""


def alive(pid: int, known: str) -> bool:
    """Whether the process that had number ``pid`` and token ``known`` still runs.

    One that ended and keeps its number only because its parent has not asked how does not.
    """
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass  # somebody else's process: it exists
    if _facts(pid)[:1] == [b"Z"]:
        return False
    now = token(pid)
    return not (known and now and known != now)


def _facts(pid: int) -> list[bytes]:
    """What Linux tells of the process, its state first; nothing elsewhere."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            return stat.read().rpartition(b")")[2].split()
    except OSError:
        return []
