"""What Google's tools say when they fail: which of the known misfortunes it is, and what to do about it."""

from __future__ import annotations

import re
from typing import NamedTuple

from clawperator.engine.emulators.sdk import Ran

_LONGEST = 2000


class Misfortune(NamedTuple):
    """A failure that people can do something about."""

    sentence: str
    hint: str


_KNOWN: tuple[tuple[re.Pattern[str], Misfortune], ...] = tuple(
    (re.compile(pattern, re.IGNORECASE), Misfortune(sentence, hint))
    for pattern, sentence, hint in (
        (
            r"no space left on device|not enough (free |disk )*space|disk (is )?full|ENOSPC",
            "the disk is full",
            "Free several gigabytes in the SDK folder and in the folder of the virtual devices, then run it again.",
        ),
        (
            r"licen[cs]es?\b[^\n]{0,160}\bnot (been )?accepted|skipping[^\n]{0,80}licen[cs]e",
            "the licences were not accepted",
            "Run `sdkmanager --licenses` in a terminal and accept them, then run it again.",
        ),
        (
            r"failed to find package|package path is not valid|no matching package|system image[^\n]{0,80}not (found|installed)",
            "there is no such system image",
            "Look for its id in `sdkmanager --list`; not every API level comes with every ABI.",
        ),
        (
            r"already exists",
            "the name is taken",
            "Choose another name, or overwrite it with --force.",
        ),
        (
            r"failed to download|unknownhost|could not resolve|connection (timed out|refused|reset)|unreachable|sslhandshake",
            "the download failed",
            "Check the network and its proxy, then run it again.",
        ),
        (
            r"JAVA_HOME|unsupportedclassversion|java: (command )?not found",
            "there is no fitting Java",
            "Install a Java runtime that the SDK tools accept (17 or newer), or set JAVA_HOME.",
        ),
    )
)


def misfortune(words: str) -> Misfortune | None:
    """The one that ``words`` tell of; ``None`` where it is none of the known ones."""
    return next((known for pattern, known in _KNOWN if pattern.search(words)), None)


def complaint(tool: str, ran: Ran) -> str:
    """The message for a tool that has failed: its stderr where that is not empty, else what can be told of the rest."""
    if ran.stderr.strip() and not (ran.ok and misfortune(ran.stderr) is None):
        return ran.stderr.strip()[-_LONGEST:]
    lines = ran.stdout.strip().splitlines()
    last = lines[-1].strip()[-_LONGEST:] if lines else f"exit code {ran.exit_code}"
    known = misfortune(ran.stdout)
    return f"{tool}: {known.sentence}: {last}" if known else f"{tool} failed: {last}"


def advice(ran: Ran) -> str | None:
    """The hint for a tool that has failed; ``None`` leaves it to the error's own."""
    known = misfortune(ran.words)
    return known.hint if known else None
