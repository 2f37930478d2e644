"""Case folding as on the device.

``contains(ignoreCase = true)`` on the device compares character by character: two are equal when their upper-case forms
are, or the lower-case forms of those. Each character maps to one character, so the length stays: "ß" does not equal
"ss", the dotless and dotted Turkish i equal "i", and U+212A KELVIN SIGN equals "k". Characters beyond the 16-bit plane
are compared exactly, as UTF-16 implementations do.
"""

from __future__ import annotations

_REMEMBERED = 4096
_LAST_UNIT = 0xFFFF


def fold(text: str) -> str:
    """``text`` with one canonical character for each class of characters that are equal but for case; same length."""
    return text.lower() if text.isascii() else text.translate(_FOLDED)


class _Folded(dict[int, int]):
    """Code point → folded code point, computed on first use."""

    def __missing__(self, code: int) -> int:
        folded = _fold_one(code)
        if len(self) < _REMEMBERED:
            self[code] = folded
        return folded


def _fold_one(code: int) -> int:
    if code > _LAST_UNIT:
        return code
    character = chr(code)
    upper = character.upper()
    return ord((upper if len(upper) == 1 else character).lower()[0])


_FOLDED = _Folded()
