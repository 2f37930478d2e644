"""Parse the arguments of ``am`` to an Intent, and print one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from clawperator.engine.simulator.command_error import CommandError

_ONE: Final = {
    "-a": "action",
    "-d": "data",
    "-t": "mime",
    "-c": "category",
    "-n": "component",
    "-p": "package",
    "-f": "flags",
}
_TYPED: Final = frozenset(
    {"--es", "--ez", "--ei", "--el", "--ef", "--ed", "--eu", "--ecn", "-e"}
    | {f"--e{letter}{kind}" for letter in "silfd" for kind in ("a", "al")}
)
_WITH_VALUE: Final = frozenset({"--user", "--receiver-permission", "-i", "-R", "--display", "--windowingMode", "-P"})
_SWITCHES: Final = frozenset({"-W", "-S", "-D", "-N", "--async", "--receiver-foreground", "--include-stopped-packages"})

RECEIVER_FOREGROUND: Final = 0x10000000
FROM_SHELL: Final = 0x00400000


@dataclass(slots=True)
class Intent:
    """A parsed command line; ``switches`` are options without a value."""

    action: str = ""
    data: str = ""
    mime: str = ""
    category: str = ""
    component: str = ""
    package: str = ""
    flags: str = ""
    extras: dict[str, str] = field(default_factory=dict)
    switches: set[str] = field(default_factory=set)

    def describe(self, *, flags: int = 0) -> str:
        """``Intent { act=… }`` in the platform's order of fields."""
        fields = [
            f"act={self.action}" if self.action else "",
            f"cat=[{self.category}]" if self.category else "",
            f"dat={self.data}" if self.data else "",
            f"typ={self.mime}" if self.mime else "",
            f"flg=0x{flags:x}" if flags else "",
            f"pkg={self.package}" if self.package else "",
            f"cmp={self.component}" if self.component else "",
            "(has extras)" if self.extras else "",
        ]
        return "Intent { " + " ".join(part for part in fields if part) + " }"


def parse_intent(words: list[str]) -> Intent:
    """Raises CommandError with the text of ``am``."""
    intent = Intent()
    pending = list(words)

    def value(option: str) -> str:
        if not pending:
            raise _bad(f"Argument expected after {option!r}".replace("'", '"'))
        return pending.pop(0)

    while pending:
        word = pending.pop(0)
        if word in _ONE:
            setattr(intent, _ONE[word], value(word))
        elif word in _TYPED:
            key = value(word)
            intent.extras[key] = value(word)
        elif word == "--esn":
            intent.extras[value(word)] = "null"
        elif word in _WITH_VALUE:
            value(word)
        elif word in _SWITCHES or word.startswith(("--activity-", "--grant-", "--exclude-", "--allow-", "--debug-")):
            intent.switches.add(word)
        elif word.startswith("-"):
            raise _bad(f"Unknown option: {word}")
        elif ":" in word:
            intent.data = word
        elif "/" in word:
            intent.component = word
        else:
            intent.package = word
    if intent.component and "/" not in intent.component:
        raise _bad(f"Bad component name: {intent.component}")
    return intent


def _bad(message: str) -> CommandError:
    return CommandError(f"\nException occurred while executing:\njava.lang.IllegalArgumentException: {message}", 255)
