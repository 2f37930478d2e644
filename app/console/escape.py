"""What a terminal sends, cut into keys and control sequences: Escape is a key unless the rest of a sequence follows at once. Pure.

A terminal sends Alt+key as Escape and the key, and so it is taken, but for Enter: Escape and Enter at once are Escape.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

ESC = "\x1b"
TAIL_SECONDS = 0.5
"""The rest of a sequence that comes within this time after Escape was reported is not typed as text."""
LONGEST = 32
"""Characters of a sequence; Textual takes a longer one for keys."""
MOST = 4096
"""Characters of an incomplete sequence; longer ones are dropped."""

_PASTE, _PASTE_END = f"{ESC}[200~", f"{ESC}[201~"
_STRING = r"\](?=\d{1,4};)|P(?=[01]?[$+]r|[>!]\|)|_(?=G)"
_COMPLETE = re.compile(
    rf"{ESC}(?:"
    r"\[M[\s\S]{3}"  # a mouse report of old terminals
    r"|\[\[[A-E]"  # F1 to F5 of the Linux console
    r"|\[(?:[378]|2[34])\$"  # rxvt with Shift
    r"|\[[ -?]+[@-~]"
    r"|\[[A-IO-SZa-d~]"
    r"|O[A-DFHMP-Sa-dj-y]"
    rf"|(?:{_STRING})[^\x07{ESC}]*(?:\x07|{ESC}\\)"
    r")"
)
_FIRM = re.compile(rf"{ESC}(?:\[(?:M[\s\S]{{0,2}}\Z|[ -?]+)|(?:{_STRING})[^\x07{ESC}]*(?:{ESC}\Z)?)")
"""The beginning of a sequence that is never typed: it waits for its end, and without one is dropped."""
_PARTIAL = re.compile(rf"{ESC}(?:\[\[?|O|\]\d{{0,4}}|P(?:[01]?[$+]?|[>!])|_)?\Z")
_TAIL = re.compile(rf"{ESC}(?:\[|O[A-DFHMP-Sa-dj-y](?:{ESC}|\Z)|{_STRING})")


class Piece(NamedTuple):
    """Characters that were typed, or one whole ``sequence``; ``late``: its Escape has been reported as a key."""

    text: str
    sequence: bool = False
    late: bool = False


class EscapeSplitter:
    """After ``feed``, where ``waits``, call ``expire`` if nothing more comes at once."""

    def __init__(self) -> None:
        self._rest = ""
        self._late = False
        self._tail: str | None = None
        self._tail_until = 0.0
        self._pasting = False

    @property
    def waits(self) -> bool:
        """Whether what came last may be Escape, or the beginning of a sequence."""
        return not self._pasting and (self._rest.endswith(ESC) or _PARTIAL.fullmatch(self._rest) is not None)

    def feed(self, data: str, now: float) -> Iterator[Piece]:
        """Yield the pieces that ``data`` completes; ``now`` in monotonic seconds."""
        yield from self.tick(now)
        tail, self._tail = self._tail, None
        if tail is not None:
            whole = ESC + tail + data
            if _TAIL.match(whole) and (_COMPLETE.match(whole) or (len(tail + data) > 1 and _FIRM.fullmatch(whole))):
                data, self._late = whole, True
            elif tail:
                yield Piece(tail)
        text, self._rest = self._rest + data, ""
        while text:
            if self._pasting:
                content, end, after = text.partition(_PASTE_END)
                if not end:
                    self._rest = text
                    return
                self._pasting, text = False, after
                yield Piece(_PASTE + content.replace(ESC, "") + _PASTE_END, sequence=True)
                continue
            typed, escape, after = text.partition(ESC)
            if typed:
                yield Piece(typed)
            text = escape + after
            if found := _COMPLETE.match(text):
                text = text[found.end() :]
                if found[0] == _PASTE:
                    self._pasting = True
                elif found[0][1] in "[O" and len(found[0]) <= LONGEST:
                    yield Piece(found[0], sequence=True, late=self._late)
                self._late = False
            elif _PARTIAL.fullmatch(text) or (_FIRM.fullmatch(text) and len(text) <= MOST):
                self._rest = text
                return
            elif firm := _FIRM.match(text):
                text, self._late = text[firm.end() :], False
            elif text:
                yield Piece(ESC)
                text, self._late = after.removeprefix("\r"), False

    def expire(self, now: float) -> Iterator[Piece]:
        """Report Escape; what came with it is kept for a moment, as the rest of its sequence may be late."""
        self._tail, self._tail_until = self._rest.rpartition(ESC)[2], now + TAIL_SECONDS
        self._rest, self._late = "", False
        yield Piece(ESC)

    def tick(self, now: float) -> Iterator[Piece]:
        """Yield what was kept too long."""
        if self._tail is not None and now >= self._tail_until:
            tail, self._tail = self._tail, None
            if tail:
                yield Piece(tail)
