"""The Android users of a simulated device, and what its programs make of ``--user``."""

from __future__ import annotations

from typing import Final

from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.scenario import Scenario

OWNER: Final = 0
EVERY: Final = -1
CURRENT: Final = -2
IDS_PER_USER: Final = 100_000


class AndroidUsers:
    """``current`` is in the foreground; adb's shell may not access ``closed``; the Operator is installed for ``operator``."""

    def __init__(self, scenario: Scenario) -> None:
        fault = scenario.of_device("android_users")
        self.current: int = fault.current if fault else OWNER
        self.closed: tuple[int, ...] = fault.closed if fault else ()
        self.all = tuple(sorted({OWNER, self.current, *self.closed}))
        self.operator = set((fault and fault.operator) or self.all)

    def require(self, user: int) -> int:
        """Return the user that a service acts for: ``CURRENT`` is translated. Raises ``CommandError`` for a closed one."""
        user = self.current if user == CURRENT else user
        for one in self.all if user == EVERY else (user,):
            if one in self.closed:
                raise CommandError(
                    "\nException occurred while executing:\njava.lang.SecurityException: Shell does not have permission to "
                    f"access user {one}\n com.android.server.am.ActivityManagerService.handleIncomingUser:14983",
                    255,
                )
        return user


def user_number(text: str) -> int:
    """Return the user that ``--user`` names. Raises ``CommandError`` with the platform's text."""
    words = {"all": EVERY, "current": CURRENT, "cur": CURRENT}
    if text in words:
        return words[text]
    if not (text.isascii() and text.isdigit() and len(text) < 9):
        raise CommandError(f"Error: java.lang.IllegalArgumentException: Bad user number: {text}", 255)
    return int(text)


def without_user(words: list[str], default: int) -> tuple[int, list[str]]:
    """Return the user that ``--user`` in ``words`` names, else ``default``, and the other words."""
    rest, user = list(words), default
    while "--user" in rest:
        at = rest.index("--user")
        user = user_number(rest[at + 1] if at + 1 < len(rest) else "")
        del rest[at : at + 2]
    return user, rest
