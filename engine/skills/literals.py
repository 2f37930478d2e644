"""Find literals that identify a person or a device (skills.md#lints). Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass

SERIAL = "L-LITERAL-SERIAL"
EMAIL = "L-LITERAL-EMAIL"
PHONE = "L-LITERAL-PHONE"
PATH = "L-LITERAL-PATH"

WORDS = {
    SERIAL: "looks like a device serial",
    EMAIL: "looks like an email address",
    PHONE: "looks like a phone number",
    PATH: "is a path in a home folder",
}
"""Messages; they do not contain the literal, because reports are shared more widely than files."""

_PATTERNS = (
    # matches "file:///home/…", but not "https://shop.example/home/feed"
    (PATH, re.compile(r"(?:(?<=file://)|(?<![\w./-]))/(?:var/)?(?:home|Users)/[A-Za-z0-9][\w.-]{0,63}")),
    (PATH, re.compile(r"(?i)(?<!\w)[A-Z]:[\\/]{1,2}Users[\\/]{1,2}[A-Z0-9][\w.-]{0,63}")),
    # not "git@host:repository" and "icon@2x.png"
    (
        EMAIL,
        re.compile(
            r"(?<![\w.%+-])(?!git@)[A-Za-z0-9._%+-]{1,64}@(?!\d{1,2}x\.)(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}(?![\w-])"
        ),
    ),
    (SERIAL, re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{16}(?![0-9A-Za-z])")),
    (SERIAL, re.compile(r"(?<!\w)emulator-\d{1,6}(?!\w)")),
    (SERIAL, re.compile(r"(?<!\w)adb-[\w-]{6,64}\._adb[\w-]{0,32}\._tcp")),
    # +49 171 1234567, in any grouping
    (PHONE, re.compile(r"(?<![\w+.])\+[1-9](?:[ ./()-]{0,2}\d){7,14}(?!\d)")),
    # (555) 123-4567
    (PHONE, re.compile(r"(?<![\w.-])(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}(?![\w-]|\.\d)")),
    # 0171 1234567, 030/12345678
    (PHONE, re.compile(r"(?<![\w.-])0\d{2,4}[ /-]\d{5,8}(?![\w-]|\.\d)")),
)


@dataclass(frozen=True, slots=True)
class Literal:
    """A finding: ``text[start:end]`` is of the kind ``code``."""

    code: str
    start: int
    end: int


def literals(text: str) -> list[Literal]:
    """Return the literals in ``text`` in order; of overlapping ones, the first."""
    found = sorted(
        (Literal(code, match.start(), match.end()) for code, pattern in _PATTERNS for match in pattern.finditer(text)),
        key=lambda literal: (literal.start, -literal.end),
    )
    kept: list[Literal] = []
    for literal in found:
        if not kept or literal.start >= kept[-1].end:
            kept.append(literal)
    return kept
