"""A process that is loaded already, for command lines that should start at once (cli.md#the-warm-process). Light."""

from __future__ import annotations

import os

WARM_VARIABLE = "CLAWPERATOR_WARM"
"""``0``: no command runs in the warm process. ``1``: the first command starts it."""
NOT_WARM = frozenset({"", "console", "serve", "mcp", "sim", "demo", "warm"})
"""First words of commands that run for long, or need the terminal as their own: a shorter start is nothing to them."""


def runtime_folder() -> str:
    """Return the folder of the socket: the user's runtime folder, or ``~/.clawperator/run`` where there is none."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(base):
        return os.path.join(base, "clawperator")
    return os.path.join(os.path.expanduser("~"), ".clawperator", "run")


def socket_path() -> str:
    return os.path.join(runtime_folder(), "warm.sock")


def lock_path() -> str:
    """Return the file that the warm process has locked from its start to its end."""
    return os.path.join(runtime_folder(), "warm.lock")
