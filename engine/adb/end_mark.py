"""The line that ends the output of a script on a device, with the script's exit code."""

from __future__ import annotations

import re
import secrets

_BYTES = 8


class EndMark:
    """A line that nothing else on the device prints.

    It is random, and no script contains it in one piece: ``ps`` lists the script that runs it, and logs quote it. It begins with a
    line end, which a shell that traces its commands (``set -x``) quotes.
    """

    def __init__(self) -> None:
        self._pieces = f"clawperator-{secrets.token_hex(_BYTES)}", f"{secrets.token_hex(_BYTES)}:"
        word = "".join(self._pieces)
        self.pattern = re.compile(rb"\n%b(\d{1,3})\r?\n" % word.encode())
        """Matches the line; its group is the exit code."""
        self.longest = len(f"\n{word}255\r\n")

    def echo(self, status: str = "$?") -> str:
        """Return the shell command that prints the line; ``status`` is the shell's word for the exit code."""
        return 'echo "\n{}""{}{}"'.format(*self._pieces, status)
