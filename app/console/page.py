"""A console whose terminal is a page of a browser: it ends with the server that shows it, however that ended."""

from __future__ import annotations

import os
import select
import signal
import threading


def leave_with_server() -> None:
    """Leave the console when nobody can write to its standard input any more. Nothing is read from it here."""
    threading.Thread(target=_wait_and_leave, name="page", daemon=True).start()


def _wait_and_leave() -> None:
    poller = select.poll()
    poller.register(0, 0)  # the end of the other side is told without being asked for
    poller.poll()
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)  # a farewell to nobody must not fail
    os.kill(os.getpid(), signal.SIGTERM)
