"""Suggestions for misspelt commands and flags. Imported only for those."""

from __future__ import annotations

from clawperator.app.cli.command_table import first_words, subcommands

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

FLAG_SIMILARITY = 0.75
MEANT = {
    "action tap": "action click",
    "app list": "apps",
    "config get": "config show",
    "device list": "devices",
    "device status": "device info",
    "emulator kill": "emulator stop",
    "emulator launch": "emulator start",
    "history get": "history show",
    "skills create": "skills new",
    "skills show": "skills get",
    "capture": "screenshot",
    "check": "doctor",
    "connect": "devices connect",
    "disconnect": "devices disconnect",
    "dump": "snapshot",
    "force-stop": "close",
    "home": "press",
    "grant": "app permissions",
    "keyevent": "input key",
    "kill": "close",
    "launch": "open",
    "list": "devices",
    "logcat": "device logs",
    "pair": "devices pair",
    "recents": "press",
    "run": "skills run",
    "screencap": "screenshot",
    "settings": "config show",
    "start": "open",
    "status": "doctor",
    "stop": "close",
    "tree": "snapshot",
    "ui": "snapshot",
}
"""What other tools call a command → ours; in a group, with the word of the group."""
_PLAIN_VERBS = ("input", "app", "device")
"""Groups whose second words say what they do, also alone."""
_ADB_ONLY = (
    "bugreport",
    "forward",
    "kill-server",
    "pull",
    "push",
    "reboot",
    "reverse",
    "root",
    "shell",
    "start-server",
)
MEANT_FLAGS = {
    "-f": ("--execution", "--from"),
    "-n": ("--lines", "--limit"),
    "-o": ("--path", "--out", "--to"),
    "-p": ("--port",),
    "-s": ("--device-id",),
    "-v": ("--verbose",),
    "--at": ("--coordinate",),
    "--content-desc": ("--desc",),
    "--coordinate": ("--at",),
    "--file": ("--execution", "--input", "--snapshot"),
    "--from": ("--at",),
    "--package": ("--app", "--receiver-package"),
    "--plan": ("--execution",),
    "--point": ("--coordinate", "--at"),
    "--resource-id": ("--id",),
    "--serial": ("--device-id",),
    "--text-equals": ("--text",),
}
"""What other tools call a flag → ours: the first one that the command has."""


def edit_distance(left: str, right: str) -> int:
    """Return the number of insertions, deletions, replacements and swaps of neighbours between two words."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and b == left[i - 2]:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


def meant_command(group: str, word: str) -> tuple[str, str]:
    """Return the command that an unknown word of ``group`` ('' for none) probably means, and a hint; both may be empty."""
    if not group and word in _ADB_ONLY:
        return "", f"Clawperator has no such command. Run: adb {word}"
    known = list(subcommands(group) if group else first_words())
    folded = word.lower()
    begun = next((name for name in known if name == folded or name.startswith(f"{folded}-")), "") if group else ""
    if meant := MEANT.get(f"{group} {folded}".strip()):
        return meant, ""
    elsewhere = next((f"{other} {folded}" for other in _PLAIN_VERBS if folded in subcommands(other)), "")
    if elsewhere and not group:
        return elsewhere, ""
    if near := begun or closest_command(folded, known):
        return f"{group} {near}".strip(), ""
    return MEANT.get(folded, elsewhere or (folded if folded in first_words() else "")), ""


def closest_command(word: str, known: Iterable[str]) -> str:
    """Return the nearest of ``known`` within half of the word's length (at least two edits), else ''."""
    limit = max(2, len(word) // 2)
    distance, name = min(((edit_distance(word[:64], name), name) for name in known), default=(limit + 1, ""))
    return name if distance <= limit else ""


def closest_flag(flag: str, known: Iterable[str]) -> str:
    """Return the one of ``known`` that other tools call ``flag``, else the nearest above ``FLAG_SIMILARITY``, else ''."""
    known = list(known)
    if meant := next((name for name in MEANT_FLAGS.get(flag, ()) if name in known), ""):
        return meant
    best, name = max(((similarity(flag[:64], name), name) for name in known), default=(0.0, ""))
    return name if best > FLAG_SIMILARITY else ""


def similarity(left: str, right: str) -> float:
    return 1 - edit_distance(left, right) / max(len(left), len(right), 1)
