"""A process that is loaded already, for command lines that should start at once (cli.md#the-warm-process). Light."""

from __future__ import annotations

import os

from clawperator.engine.config.environment import runtime_folder

WARM_VARIABLE = "CLAWPERATOR_WARM"
"""``0``: no command runs in the warm process. ``1``: the first command starts it."""
NOT_WARM = frozenset({"", "console", "serve", "mcp", "sim", "demo", "warm"})
"""First words of commands that run for long, or need the terminal as their own: a shorter start is nothing to them."""


def socket_path() -> str:
    return os.path.join(runtime_folder(os.environ), "warm.sock")


def lock_path() -> str:
    """Return the file that the warm process has locked from its start to its end."""
    return os.path.join(runtime_folder(os.environ), "warm.lock")
