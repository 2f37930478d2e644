"""Device text made safe for a terminal: the one place where the console does it; ``engine/text/invisible.py`` knows what is hidden.

What a device sends can hold escape sequences, bidirectional overrides, lone surrogates, a hundred accents on one letter,
or 200 KB on one line. Everything that a pane draws and that we did not write ourselves passes through ``escape`` or
``shorten``: afterwards it moves no cursor, changes no colour, reorders nothing, and its width in cells is what
``cells`` says. Nothing here is ever parsed as markup.
"""

from __future__ import annotations

import unicodedata

from rich.cells import cell_len, get_character_cell_size

from clawperator.engine.text.invisible import fold_marks, is_hidden, is_legitimate

__all__ = ["cells", "escape", "paragraphs", "pictured", "shorten", "take", "wrap"]

_DELETE = 0x7F
_CONTROL_PICTURES = 0x2400
_INVISIBLE = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Categories that are spelled beside what is hidden: their width is uncertain."""
_PRESENTATION = {0xFE0E: "", 0xFE0F: ""}
"""Variation selectors: dropped, because terminals disagree about the width of what they modify. Copies keep them."""

_SUBSTITUTE = "␦"
_JOINERS = "\u200c\u200d"

_COUNT_FROM = 100
"""From this many left-out characters on, a cut says how many there are."""


class _Pictures(dict[int, str]):
    """Code point → what stands for it; filled as characters are met."""

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
    """The width of safe text. Nearly all of it is ASCII, cut or not, and need not be looked at letter by letter."""
    if text.isascii() and text.isprintable():
        return len(text)
    head = text[:-1]
    return len(text) if text[-1:] == "…" and head.isascii() and head.isprintable() else cell_len(text)


def escape(text: str) -> str:
    """``text`` with everything invisible made visible: ``␛`` for ESC, ``⟨U+202E⟩`` for a bidi override, and so on.

    One line in, one line out: line feeds become ``␊``.
    """
    if text.isascii() and text.isprintable():
        return text
    return fold_marks(_unjoined(text).translate(_PICTURES), lambda count: f"⟨+{count} marks⟩")


def paragraphs(text: str) -> str:
    """``text`` escaped line by line, for labels that fold lines themselves."""
    return "\n".join(map(escape, text.split("\n")))


def pictured(text: str) -> str:
    """``text`` with one sign for each character that must not reach the terminal: as long as before, for editable fields."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(picture if len(picture := _PICTURES[ord(character)]) == 1 else _SUBSTITUTE for character in text)


def _unjoined(text: str) -> str:
    """``text`` without the joiners that belong to emoji and to letters: terminals disagree about the width of what they join."""
    if not any(joiner in text for joiner in _JOINERS):
        return text
    return "".join(each for index, each in enumerate(text) if not _is_joiner(text, index))


def _is_joiner(text: str, index: int) -> bool:
    return text[index] in _JOINERS and is_legitimate(text, index)


def shorten(text: str, width: int) -> str:
    """``text`` escaped and cut to ``width`` cells; a long rest is counted: ``… 199,840 more``.

    Only the part that can be seen is looked at, so that a huge value costs no more than a short one.
    """
    if width <= 0:
        return ""
    head = text[: 2 * width + 64]
    safe = escape(head)
    if len(head) == len(text) and cells(safe) <= width:
        return safe
    return _cut(head, len(text), width)


def _cut(head: str, length: int, width: int) -> str:
    """The longest start of ``head`` that leaves room for its own ending."""
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
    """As much escaped text as fits into ``room`` cells, and how many characters of ``head`` that is."""
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
    """``text`` in which no character has more marks than are kept."""
    return fold_marks(text, lambda _: "")


def take(text: str, width: int) -> str:
    """The start of already safe text that fits into ``width`` cells, never half of a wide character."""
    if text.isascii():
        return text[: max(0, width)]
    used = 0
    for index, character in enumerate(text):
        used += get_character_cell_size(character)
        if used > width:
            return text[:index]
    return text


def wrap(text: str, width: int, *, limit: int = 50) -> list[str]:
    """``text`` escaped and folded into lines of ``width`` cells, at blanks where possible.

    Line feeds fold too (and stay visible as ``␊``). After ``limit`` lines the rest is counted, not drawn.
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
    window = 8 * width  # more than fits: one line is looked at, never the whole rest again
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
