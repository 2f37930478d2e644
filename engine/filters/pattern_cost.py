"""How long a user's regular expression can take, told from its source. Pure.

Python's ``re`` backtracks, and cannot be stopped while it does. A pattern that somebody types must not hang whoever searches
with it, so two things are bounded before it runs:

* what takes exponential time is refused: a repeat of something that itself varies, a reference to a group, many choices;
* what takes polynomial time may look only so far into a text: ``reach`` characters, so that even the worst text for the
  worst such pattern costs about a second. Patterns without ``*`` or ``+`` in their midst see all of any log line.

It errs on the side of refusing: searching for words or for two patterns says the same without the danger.
"""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

STEPS: Final = 2e8
"""Steps of the matcher that one search may take at the very worst."""

MAX_REACH: Final = 1_000_000
MIN_REACH: Final = 200
"""A pattern that could look no farther than this is refused: it would miss too much."""

_PIECES = re.compile(
    r"(?P<reference>\\[1-9]|\(\?P=|\(\?\()"
    r"|(?P<flags>\(\?[a-zA-Z]+\))"
    r"|(?P<open>\((?:\?(?:P<\w+>|[:=!>]|<[=!]|[a-zA-Z-]+:))?)"
    r"|(?P<close>\))"
    r"|(?P<repeat>[*+?]|\{(?:\d+|\d*,\d*)\})[?+]?"
    r"|(?P<or>\|)"
    r"|\\.|\[\^?\]?(?:[^\]\\]|\\.)*\]|.",
    re.DOTALL,
)
SAFER = "look for words instead, each is looked for"


class Cost(NamedTuple):
    """``reach`` is how many characters of a text may be searched; 0 where ``problem`` says at ``column`` why none may."""

    reach: int
    problem: str = ""
    column: int = -1


class _Group:
    """What is known of an open group: its alternatives, and whether what it matches varies."""

    def __init__(self) -> None:
        self.alternatives = 1
        self.varies = False


def cost_of(source: str) -> Cost:
    """What ``source``, a pattern that compiles, may cost."""
    groups = [_Group()]
    varies = False  # whether what stands just before the present place does
    repeats, choices = 0, 1
    for piece in _PIECES.finditer(source):
        before, varies = varies, False
        group = groups[-1]
        if piece["reference"]:
            return Cost(0, f"a pattern that refers to its own groups may never end – {SAFER}", piece.start())
        if piece["open"]:
            groups.append(_Group())
        elif piece["close"] and len(groups) > 1:
            groups.pop()
            choices *= group.alternatives
            varies = group.varies or group.alternatives > 1
            groups[-1].varies |= varies
        elif piece["or"]:
            group.alternatives += 1
        elif piece["repeat"]:
            low, high = _bounds(piece["repeat"])
            if high > 1 and before:
                return Cost(0, f"a repeat of what itself varies may never end – {SAFER}", piece.start())
            varies = low != high
            group.varies |= varies
            if high < math.inf:
                choices *= int(high - low) + 1
            elif piece.end() < len(source):  # at the very end it takes what it gets
                repeats += 1
    reach = _reach(repeats, choices)
    if reach < MIN_REACH:
        return Cost(0, f"too many repeats and choices in one pattern – {SAFER}", 0)
    return Cost(reach)


def _reach(repeats: int, choices: int) -> int:
    """The longest text for which ``choices`` ways times all places of so many open repeats stay within the steps."""
    steps = choices * choices.bit_length()  # each way has so many choices in it
    try:
        ways = STEPS * math.factorial(repeats + 1) / steps
        return min(MAX_REACH, int(ways ** (1 / (repeats + 1))))
    except OverflowError:  # hundreds of either
        return 0


def _bounds(repeat: str) -> tuple[int, float]:
    """How often at least and at most."""
    if repeat in "*+?":
        return (1 if repeat == "+" else 0), (1 if repeat == "?" else math.inf)
    low, comma, high = repeat[1:-1].partition(",")
    if not comma:
        return int(low), int(low)
    return int(low or 0), int(high) if high else math.inf
