"""Start the warm process, as a daemon of this user."""

from __future__ import annotations

import os
import select
import subprocess
import sys
from contextlib import closing, suppress

from clawperator.app.warm import lock_path
from clawperator.engine.files.lock import FileLock

_START_SECONDS = 15.0
_DELAY_SECONDS = 2.0
"""The console and the servers start first: loading takes a core for half a second."""
IDLE_SECONDS = 600.0
"""How long the warm process waits for the next command."""
_KEPT: list[subprocess.Popen[bytes]] = []
"""A child that is not referenced warns of its end in Python's development mode."""


def is_running() -> bool:
    """Whether there is a warm process, of any build, or one that starts. Its socket also stays when it is killed."""
    with suppress(OSError), closing(FileLock(lock_path(), create=False)) as lock:
        return not lock.try_acquire()
    return False


def start(idle_seconds: float = IDLE_SECONDS, *, wait: bool = False) -> None:
    """Start the warm process in a session of its own; ``wait`` until commands can use it, or it has ended. Raises ``OSError``."""
    ready, theirs = os.pipe()
    try:
        _spawn("--idle", idle_seconds, theirs)
    finally:
        os.close(theirs)
    with open(ready, "rb", buffering=0):
        if wait:
            select.select([ready], [], [], _START_SECONDS)


def start_beside() -> None:
    """Start the warm process for as long as this process runs, unless there is one. Raises ``OSError``."""
    theirs, _ours = os.pipe()  # open until this process ends, however it ends
    try:
        _KEPT.append(_spawn("--beside", _DELAY_SECONDS, theirs))
    finally:
        os.close(theirs)


def _spawn(mode: str, seconds: float, descriptor: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 -- our own program
        [sys.executable, "-m", "clawperator.app.warm_server", mode, str(seconds), str(descriptor)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        pass_fds=(descriptor,),
        start_new_session=True,
    )
