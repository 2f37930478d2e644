"""Programs in a session of their own: signalled as a whole, and ended even where this process is killed.

For the latter, this file runs as a program of its own, once per process that needs it: a pipe tells it the leaders of the
sessions, and the end of the pipe that we are gone. It must import nothing but the standard library.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress

PATIENCE = 5.0
"""Seconds between being asked to end and being ended (skills.md#running-a-script)."""
_SCANS = 100
_LOOK_SECONDS = 0.05
_LOCK = threading.Lock()
_pipe = -1


def watch(leader: int) -> None:
    """From now on the session of ``leader`` ends when this process does. Does nothing where the system cannot do it."""
    global _pipe  # noqa: PLW0603 -- one watcher per process
    with _LOCK, suppress(OSError, NotImplementedError, AttributeError):
        if _pipe < 0:
            _pipe = _start()
        os.write(_pipe, b"+%d\n" % leader)


def forget(leader: int) -> None:
    """The session of ``leader`` has ended, or may outlive us."""
    with _LOCK, suppress(OSError):
        if _pipe >= 0:
            os.write(_pipe, b"-%d\n" % leader)


def _start() -> int:
    """Start the watcher; its pipe's other end is inherited by nothing that is started later."""
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
    """Return the processes of the session that ``leader`` led, whatever group they are in; empty where there is no ``/proc``."""
    found: set[int] = set()
    with suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit():
                with suppress(ProcessLookupError, PermissionError):
                    if os.getsid(int(name)) == leader:
                        found.add(int(name))
    return found


def send(leader: int, number: signal.Signals) -> None:
    """Send the signal once to every process of the session: some take a second SIGTERM for impatience."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
    for pid in members(leader):
        with suppress(ProcessLookupError, PermissionError):
            if os.getpgid(pid) != leader:
                os.kill(pid, number)


def kill(leader: int) -> None:
    """End the session at once, also what is being forked in these very moments."""
    seen: set[int] = set()
    for _ in range(_SCANS):
        send(leader, signal.SIGKILL)
        found = members(leader)
        if found <= seen:  # what has been killed may be listed until somebody reaps it
            return
        seen |= found


def _attend() -> None:
    """Read which sessions there are until the pipe ends, then end those that are left."""
    leaders: set[int] = set()
    for line in sys.stdin.buffer:
        leader = int(line[1:])
        (leaders.add if line[:1] == b"+" else leaders.discard)(leader)
    for leader in leaders:
        send(leader, signal.SIGTERM)
    deadline = time.monotonic() + PATIENCE
    while any(map(members, leaders)) and time.monotonic() < deadline:
        time.sleep(_LOOK_SECONDS)  # they are not our children: nothing tells when they end
    for leader in leaders:
        kill(leader)


if __name__ == "__main__":
    _attend()
