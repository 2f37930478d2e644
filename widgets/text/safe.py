"""Untrusted text made safe for a terminal; ``engine/text/invisible.py`` knows the hidden characters.

Device text can contain escape sequences, bidirectional overrides, lone surrogates, a hundred accents on one letter, or
200 KB on one line. All of it passes through ``escape`` or ``shorten`` before it is drawn: then it moves no cursor,
changes no colour, reorders nothing, and is as wide as ``cells`` says. It is never parsed as markup.
"""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len, get_character_cell_size

from clawperator.engine.text.invisible import fold_marks, is_hidden, is_legitimate

_DELETE = 0x7F
_CONTROL_PICTURES = 0x2400
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Categories that are escaped because their width is uncertain."""
_PRESENTATION = {0xFE0E: "", 0xFE0F: ""}
"""Variation selectors are dropped: terminals disagree about their width. Copies keep them."""

_SUBSTITUTE = "␦"
_JOINERS = "\u200c\u200d"

_COUNT_FROM = 100
"""From this many omitted characters on, a cut shows their count."""


class _Pictures(dict[int, str]):
    """Code point → replacement, filled on demand."""

    def __missing__(self, code: int) -> str:
        self[code] = picture = _picture(code)
        return picture


def _picture(code: int) -> str:
    if code < 0x20:
        return chr(_CONTROL_PICTURES + code)
    if code == _DELETE:
        return "␡"
    character = chr(code)
    if is_hidden(character) or unicodedata.category(character) in _INVISIBLE:
        return f"⟨U+{code:04X}⟩"
    return character


_PICTURES = _Pictures(_PRESENTATION)


def cells(text: str) -> int:
    """Return the width of safe text; ASCII has a fast path."""
    if text.isascii() and text.isprintable():
        return len(text)
    head = text[:-1]
    return len(text) if text[-1:] == "…" and head.isascii() and head.isprintable() else cell_len(text)


def escape(text: str) -> str:
    """Return ``text`` with invisible characters shown: ``␛``, ``␊``, ``⟨U+202E⟩`` for a bidi override."""
    if text.isascii() and text.isprintable():
        return text
    return fold_marks(_unjoined(text).translate(_PICTURES), lambda count: f"⟨+{count} marks⟩")


def paragraphs(text: str) -> str:
    """Return ``text`` escaped line by line, for labels that wrap themselves."""
    return "\n".join(map(escape, text.split("\n")))


def pictured(text: str) -> str:
    """Return ``text`` with one glyph per unsafe character, of equal length, for editable fields."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(picture if len(picture := _PICTURES[ord(character)]) == 1 else _SUBSTITUTE for character in text)


def _unjoined(text: str) -> str:
    """Drop the joiners of emoji and letters: terminals disagree about the width of what they join."""
    if not any(joiner in text for joiner in _JOINERS):
        return text
    return "".join(each for index, each in enumerate(text) if not _is_joiner(text, index))


def _is_joiner(text: str, index: int) -> bool:
    return text[index] in _JOINERS and is_legitimate(text, index)


def shorten(text: str, width: int) -> str:
    """Return ``text`` escaped and cut to ``width`` cells; a long rest is counted: ``… 199,840 more``. Only the visible
    part is processed, so that a huge value costs no more than a short one.
    """
    if width <= 0:
        return ""
    head = text[: 2 * width + 64]
    safe = escape(head)
    if len(head) == len(text) and cells(safe) <= width:
        return safe
    return _cut(head, len(text), width)


def _cut(head: str, length: int, width: int) -> str:
    """Return the longest prefix of ``head`` with its ending."""
    ending = "…"
    for _ in range(2):  # the ending's length depends on the count, which depends on the ending's length
        room = width - len(ending)
        kept, shown = _fill(head, room)
        rest = length - shown
        counted = f"… {rest:,} more"
        ending = counted if rest >= _COUNT_FROM and len(counted) <= width // 2 else "…"
        if room + len(ending) <= width:
            return kept + ending
    kept, shown = _fill(head, width - len(ending))
    return kept + ending


def _fill(head: str, room: int) -> tuple[str, int]:
    """Return as much escaped text as fits into ``room`` cells, and its length in characters of ``head``."""
    if head.isascii() and head.isprintable():
        return head[: max(0, room)], min(len(head), max(0, room))
    kept: list[str] = []
    used = 0
    for index, character in enumerate(head):
        picture = "" if _is_joiner(head, index) else _PICTURES[ord(character)]
        used += sum(map(get_character_cell_size, picture))
        if used > room:
            return _without_heaps("".join(kept)), index
        kept.append(picture)
    return _without_heaps("".join(kept)), len(head)


def _without_heaps(text: str) -> str:
    """Drop excess combining marks."""
    return fold_marks(text, lambda _: "")


def take(text: str, width: int) -> str:
    """Return the start of safe text that fits into ``width`` cells, without half of a wide character."""
    if text.isascii():
        return text[: max(0, width)]
    used = 0
    for index, character in enumerate(text):
        used += get_character_cell_size(character)
        if used > width:
            return text[:index]
    return text


def wrap(text: str, width: int, *, limit: int = 50) -> list[str]:
    """Return ``text`` escaped and wrapped at blanks where possible. Line feeds break lines too (and are shown as
    ``␊``). Lines after ``limit`` are counted.
    """
    width = max(1, width)
    budget = width * limit
    lines: list[str] = []
    for part in text[:budget].splitlines(keepends=True) or [""]:
        lines.extend(_wrap_line(escape(part), width))
    hidden = len(text) - budget
    if hidden > 0 or len(lines) > limit:
        shown = lines[: limit - 1]
        rest = max(hidden, 0) + sum(map(len, lines[limit - 1 :]))
        return [*shown, take(f"… {rest:,} more", width)]
    return lines


def _wrap_line(safe: str, width: int) -> list[str]:
    lines = []
    window = 8 * width  # avoids rescanning the whole rest for each line
    at = 0
    while len(safe) - at > window or cells(safe[at:]) > width:
        piece = safe[at : at + window]
        head = take(piece, width) or piece[:1]
        seam = max(head.rfind(mark) for mark in " .,/_:-") if head.rfind(" ") <= width // 3 else head.rfind(" ")
        if seam > width // 3:
            head = head[: seam + 1]
        lines.append(head.rstrip(" "))
        at += len(head)
    lines.append(safe[at:])
    return lines
