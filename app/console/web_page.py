"""A console in a browser page: it ends with the server that shows it."""

from __future__ import annotations

import os
import select
import signal
import threading


def leave_with_server() -> None:
    """Exit when the other end of standard input is closed. Nothing is read from it."""
    threading.Thread(target=_wait_and_leave, name="page", daemon=True).start()


def _wait_and_leave() -> None:
    poller = select.poll()
    poller.register(0, 0)  # a hang-up is reported without a requested event
    poller.poll()
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)  # writing to a closed pipe would fail
    os.kill(os.getpid(), signal.SIGTERM)
