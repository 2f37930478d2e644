"""Sessions of child processes: signalled as a whole, and ended even when this process is killed.

For the latter, this file runs as a program of its own, one watchdog per process: a pipe tells it the session leaders, and the
end of the pipe tells it that the process is gone. It must import nothing but the standard library.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress

PATIENCE = 5.0
"""Seconds between SIGTERM and SIGKILL (skills.md#running-a-script)."""
_SCANS = 100
_POLL_SECONDS = 0.05
_LOCK = threading.Lock()
_pipe = -1


def register(leader: int) -> None:
    """End the session of ``leader`` when this process ends, where the system supports it."""
    global _pipe  # noqa: PLW0603 -- one watchdog per process
    with _LOCK, suppress(OSError, NotImplementedError, AttributeError):
        if _pipe < 0:
            _pipe = _start()
        os.write(_pipe, b"+%d\n" % leader)


def unregister(leader: int) -> None:
    """Let the session of ``leader`` outlive this process, or note that it has ended."""
    with _LOCK, suppress(OSError):
        if _pipe >= 0:
            os.write(_pipe, b"-%d\n" % leader)


def _start() -> int:
    """Start the watchdog and return our end of its pipe, which no child inherits."""
    theirs, ours = os.pipe()
    try:
        nothing = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_WRONLY, 0) for number in (1, 2)]
        actions = [(os.POSIX_SPAWN_DUP2, theirs, 0), *nothing]
        os.posix_spawn(sys.executable, [sys.executable, "-I", "-S", __file__], {}, file_actions=actions, setsid=True)
    except BaseException:
        os.close(ours)
        raise
    finally:
        os.close(theirs)
    return ours


def members(leader: int) -> set[int]:
    """Return the processes in the session of ``leader``, in any group; empty on systems without ``/proc``."""
    found: set[int] = set()
    with suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with suppress(ProcessLookupError, PermissionError):
                    if os.getsid(int(name)) == leader:
                        found.add(int(name))
    return found


def send(leader: int, number: signal.Signals) -> None:
    """Send the signal once to every process of the session: some programs take a second SIGTERM as an order to hurry."""
    if not hasattr(os, "killpg"):  # Windows has no process groups that can be signalled
        with suppress(OSError):
            os.kill(leader, signal.SIGTERM)
        return
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
    for pid in members(leader):
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(pid) != leader:
                os.kill(pid, number)


def kill(leader: int) -> None:
    """End the session at once, including processes that are being forked meanwhile."""
    seen: set[int] = set()
    for _ in range(_SCANS):
        send(leader, getattr(signal, "SIGKILL", signal.SIGTERM))
        found = members(leader)
        if found <= seen:  # killed processes are listed until they are reaped
            return
        seen |= found


def _watchdog() -> None:
    """Read session leaders until the pipe ends, then end the sessions that are left."""
    leaders: set[int] = set()
    for line in sys.stdin.buffer:
        leader = int(line[1:])
        (leaders.add if line[:1] == b"+" else leaders.discard)(leader)
    for leader in leaders:
        send(leader, signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE
    while any(map(members, leaders)) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)  # they are not our children: polling is the only way
    for leader in leaders:
        kill(leader)


if __name__ == "__main__":
    _watchdog()
