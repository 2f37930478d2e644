"""Start the warm process, as a daemon of this user."""

from __future__ import annotations

import os
import select
import subprocess
import sys

_START_SECONDS = 15.0


IDLE_SECONDS = 600.0
"""How long the warm process waits for the next command."""


def start(idle_seconds: float = IDLE_SECONDS, *, wait: bool = False) -> None:
    """Start the warm process in a session of its own; ``wait`` until commands can use it, or it has ended. Raises ``OSError``."""
    ready, theirs = os.pipe()
    try:
        subprocess.Popen(  # noqa: S603 -- our own program
            [sys.executable, "-m", "clawperator.app.warm_server", str(idle_seconds), str(theirs)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            pass_fds=(theirs,),
            start_new_session=True,
        )
    finally:
        os.close(theirs)
    with open(ready, "rb", buffering=0):
        if wait:
            select.select([ready], [], [], _START_SECONDS)
