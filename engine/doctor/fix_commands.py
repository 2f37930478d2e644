"""Parse the commands that the doctor's fix steps consist of. Pure; any other command is rejected."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from clawperator.engine.contracts.limits import PACKAGE
from clawperator.engine.text.numbers import whole_number

_MAX_STEP = 2_000
_FORMS: dict[tuple[str, ...], tuple[frozenset[str], frozenset[str]]] = {
    ("grant-device-permissions",): (frozenset({"--device-id", "--receiver-package"}), frozenset({"--force"})),
    ("observe", "snapshot"): (
        frozenset({"--device-id", "--receiver-package", "--timeout-ms"}),
        frozenset({"--verbose"}),
    ),
    ("operator", "setup"): (frozenset({"--device-id", "--receiver-package", "--apk"}), frozenset()),
}
"""``clawperator`` commands: the allowed flags with a value, and those without."""


@dataclass(frozen=True, slots=True)
class FixCommand:
    """A parsed step. ``verb``: kill-server, start-server, grant-device-permissions, snapshot or setup."""

    verb: str
    device_id: str = ""
    package: str = ""
    timeout_ms: int = 0
    apk: str = ""
    force: bool = False


def parse_fix(step: str) -> FixCommand | None:
    """Parse ``step``; ``None`` for everything that the doctor does not generate. Never raises."""
    if len(step) > _MAX_STEP or not step.isprintable():
        return None
    try:
        words = shlex.split(step)
    except ValueError:
        return None
    match words:
        case ["adb", "kill-server" | "start-server" as verb]:
            return FixCommand(verb)
        case ["clawperator", *rest]:
            return _own(rest)
    return None


def _own(words: list[str]) -> FixCommand | None:
    for command, (values, switches) in _FORMS.items():
        if tuple(words[: len(command)]) == command:
            flags = _flags(words[len(command) :], values, switches)
            return None if flags is None else _made(command[-1], flags)
    return None


def _flags(words: list[str], values: frozenset[str], switches: frozenset[str]) -> dict[str, str] | None:
    """Return the values of known flags; ``None`` for unknown or repeated ones."""
    found: dict[str, str] = {}
    pending = list(words)
    while pending:
        name, equals, value = pending.pop(0).partition("=")
        if name in found:
            return None
        if name in switches and not equals:
            found[name] = "yes"
        elif name in values and (equals or (pending and not pending[0].startswith("-"))):
            found[name] = value if equals else pending.pop(0)
        else:
            return None
    return found


def _made(verb: str, flags: dict[str, str]) -> FixCommand | None:
    package, apk, timeout = (flags.get(name, "") for name in ("--receiver-package", "--apk", "--timeout-ms"))
    if package and not re.fullmatch(PACKAGE, package, re.ASCII):
        return None
    timeout_ms = whole_number(timeout or "0", digits=6)
    if timeout_ms is None:
        return None
    device_id = flags.get("--device-id", "")
    if verb == "grant-device-permissions" and not (package and device_id):
        return None
    if apk.startswith("<"):  # a placeholder
        return None
    return FixCommand(verb, device_id, package, timeout_ms, apk, "--force" in flags)
