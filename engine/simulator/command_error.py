"""The error of commands on the simulated device."""

from __future__ import annotations


class CommandError(Exception):
    """The command ends: ``message`` goes to stderr (nothing if empty), ``status`` is its exit code, which may be 0."""

    def __init__(self, message: str = "", status: int = 1) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
