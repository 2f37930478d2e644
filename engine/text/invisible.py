"""Invisible characters, and those that reorder text. Pure.

Human-readable output shows them: the command line as escapes (``spell``), the console as symbols and code points. JSON keeps them.

Legitimate uses stay: the joiner between two emoji, the joiners between letters of scripts that need them (Arabic to Sinhala, Tibetan
to Khmer), and one presentation selector (U+FE0E, U+FE0F) after another character. Tag characters, which can hide text, are
always shown, also in flags of regions.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_HIDDEN: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0, DEL, C1: steer a terminal
    "\xad\u034f\u061c\u180b-\u180f\u200b-\u200f\u2060-\u206f\ufeff\ufff0-\ufffb"  # zero-width, marks of direction
    "\u2028-\u202e"  # line and paragraph separator, embeddings and overrides
    "\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"  # letters and signs without ink
    "\ud800-\udfff"  # lone surrogates: no UTF-8
    "\ufe00-\ufe0f\U000e0000-\U000e0fff"  # variation selectors, tags
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a]"
)
_EMOJI: Final = re.compile("[\u2190-\u27bf\u2b00-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff]")
_JOINED_LETTER: Final = re.compile("[\u0620-\u065f\u066e-\u06dc\u06fa-\u070d\u0710-\u0dff\u0f00-\u109f\u1780-\u17b3]")
_MARKS: Final = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_MARKS_KEPT = 4
_MARK_RUN: Final = re.compile(f"([{_MARKS}]{{{_MARKS_KEPT}}})([{_MARKS}]+)")


def reveal(text: str, spelled: Callable[[str], str], *, spared: str = "") -> str:
    """Return ``text`` with ``spelled(character)`` for every hidden character, except ``spared`` ones."""
    if text.isascii() and text.isprintable():
        return text

    def replaced(found: re.Match[str]) -> str:
        character = found[0]
        return character if character in spared or is_legitimate(text, found.start()) else spelled(character)

    return _HIDDEN.sub(replaced, text)


def is_hidden(character: str) -> bool:
    """Return whether a character is hidden or reorders text."""
    return _HIDDEN.match(character) is not None


def is_legitimate(text: str, index: int) -> bool:
    """Return whether the hidden character at ``index`` is a legitimate one (see above)."""
    character, before, after = text[index], text[index - 1 : index], text[index + 1 : index + 2]
    if not before:
        return False
    if character in "\ufe0e\ufe0f":
        return not is_hidden(before)
    if character == "\u200d" and _EMOJI.match(after):
        return _EMOJI.match(text[index - 2 : index - 1] if before == "\ufe0f" else before) is not None
    return character in "\u200c\u200d" and bool(_JOINED_LETTER.match(before) and _JOINED_LETTER.match(after))


def fold_marks(text: str, spelled: Callable[[int], str]) -> str:
    """Return ``text`` with ``spelled(count)`` for combining marks beyond four in a row."""
    return _MARK_RUN.sub(lambda found: found[1] + spelled(len(found[2])), text)


def spell(character: str) -> str:
    r"""Return a character as an escape of Python and other languages: ``\x1b``, ``\u202e``, ``\U000e0041``."""
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


def visible(text: str, *, lines: bool = False) -> str:
    """Return ``text`` for a terminal or a plain-text report; ``lines`` keeps line feeds and tabs."""
    shown = reveal(text, spell, spared="\n\t" if lines else "")
    return shown if shown.isascii() else fold_marks(shown, lambda count: f"[+{count} marks]")
