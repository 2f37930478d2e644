"""The commands that the doctor's fix steps consist of: what each does, by its text. Pure; any other command is left to the user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from clawperator.engine.text.suggestions import command_line

LOOK_MS = 5_000
SERVER_COMMANDS = ("adb kill-server", "adb start-server")


@dataclass(frozen=True, slots=True)
class FixCommand:
    """What a step does: with the adb server, or on a device with the Operator app ``package``."""

    verb: Literal["kill-server", "start-server", "grant-device-permissions", "snapshot"]
    device_id: str = ""
    package: str = ""
    force: bool = False


def grant_command(device_id: str, package: str, *, force: bool = False) -> str:
    """Return the command that grants the Operator its permissions; ``force`` restarts a service that is already listed."""
    more = ("--receiver-package", package, *(("--force",) if force else ()))
    return command_line("grant-device-permissions", device_id, *more)


def look_command(device_id: str, package: str) -> str:
    """Return the command that reads the screen once."""
    more = ("--receiver-package", package, "--timeout-ms", str(LOOK_MS), "--verbose")
    return command_line("observe snapshot", device_id, *more)


def fix_commands(device_id: str, packages: Iterable[str]) -> Mapping[str, FixCommand]:
    """Return every step that can be run for this device, by its text."""
    kill, start = SERVER_COMMANDS
    known = {kill: FixCommand("kill-server"), start: FixCommand("start-server")}
    for package in packages if device_id else ():
        for force in (False, True):
            text = grant_command(device_id, package, force=force)
            known[text] = FixCommand("grant-device-permissions", device_id, package, force)
        known[look_command(device_id, package)] = FixCommand("snapshot", device_id, package)
    return known
