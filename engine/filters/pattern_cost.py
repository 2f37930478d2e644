"""The worst-case time of a user's regular expression, from its source. Pure.

Python's ``re`` backtracks and cannot be interrupted. So before a pattern runs:

* exponential patterns are refused: a repeat of something that varies, a reference to a group, many choices;
* polynomial patterns search only the first ``reach`` characters of a text, about a second in the worst case. Patterns without
  ``*`` or ``+`` before their end search all of a log line.

Some harmless patterns are refused, too; words or two patterns can replace them.
"""

from __future__ import annotations

import math
import re
from typing import Final, NamedTuple

STEPS: Final = 2e8
"""Limit of the matcher's steps in one search."""

MAX_REACH: Final = 1_000_000
MIN_REACH: Final = 200
"""Patterns with a smaller reach are refused."""

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
    """``reach`` is the number of characters that may be searched; 0 with a ``problem`` at ``column``."""

    reach: int
    problem: str = ""
    column: int = -1


class _Group:
    """An open group: the number of alternatives, and whether its length varies."""

    def __init__(self) -> None:
        self.alternatives = 1
        self.varies = False


def cost_of(source: str) -> Cost:
    """Return the cost of ``source``, a valid pattern."""
    groups = [_Group()]
    varies = False  # whether the piece before this one varies
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
            elif piece.end() < len(source):  # at the end it does not backtrack
                repeats += 1
    reach = _reach(repeats, choices)
    if reach < MIN_REACH:
        return Cost(0, f"too many repeats and choices in one pattern – {SAFER}", 0)
    return Cost(reach)


def _reach(repeats: int, choices: int) -> int:
    """Return the longest text for which ``choices`` and ``repeats`` need at most ``STEPS``."""
    steps = choices * choices.bit_length()  # each way has so many choices in it
    try:
        ways = STEPS * math.factorial(repeats + 1) / steps
        return min(MAX_REACH, int(ways ** (1 / (repeats + 1))))
    except OverflowError:  # hundreds of either
        return 0


def _bounds(repeat: str) -> tuple[int, float]:
    """Return the minimum and maximum count."""
    if repeat in "*+?":
        return (1 if repeat == "+" else 0), (1 if repeat == "?" else math.inf)
    low, comma, high = repeat[1:-1].partition(",")
    if not comma:
        return int(low), int(low)
    return int(low or 0), int(high) if high else math.inf
