"""What a frame changes on the terminal: only the cells that differ from the last frame, with as few colour codes as possible.

Textual repaints whole rows and states all colours for every piece of a row: over a slow connection, a moving cursor would
send tens of kilobytes.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from rich.cells import cell_len, get_character_cell_size
from rich.color import ColorSystem
from rich.style import Style
from textual.strip import Strip

_UNKNOWN = ""
"""The colour codes of a cell whose content is unknown: it is painted whatever it was."""
_CONTINUED = ""
"""The content of a cell in a text of uncertain width, whose first cell holds all of it: no character is equal to either."""
_RESET = "\x1b[0m"
_SHORTEST_MOVE = 6
"""Bytes of a sequence that moves the cursor within a row."""
_UNSEEN = frozenset("123")
"""Attributes that a blank does not show: bold, dim, italic."""
_FOREGROUND = re.compile("3[0-79]|9[0-7]")
_BACKGROUND = re.compile("4[0-79]|10[0-7]")


class _Codes(NamedTuple):
    """The parameters of a colour sequence. Empty: the terminal's default."""

    foreground: str = ""
    background: str = ""
    attributes: frozenset[str] = frozenset()


class _Span(NamedTuple):
    """A text in one colour."""

    certain: bool
    """Whether terminals agree about its width; other texts are sent first, from left to right, so that their neighbours stay whole."""
    ground: str
    codes: str
    y: int
    x: int
    text: str


def _order(span: _Span) -> tuple[bool, str, str]:
    return (True, span.ground, span.codes) if span.certain else (False, "", "")


class TerminalDiff:
    """Holds what the terminal shows. ``write`` returns the sequence for a part of a frame, ``end`` closes the frame."""

    def __init__(self) -> None:
        self._characters: dict[int, list[str]] = {}
        self._codes: dict[int, list[str]] = {}
        self._width = 0
        self._spans: list[_Span] = []
        self._at: tuple[int, int] | None = None
        self._sent = _RESET
        self._out: list[str] = []

    def forget(self) -> None:
        """Paint everything again: something else may have written to the terminal."""
        self._characters.clear()
        self._codes.clear()

    def resize(self, width: int) -> None:
        if width != self._width:
            self._width = width
            self.forget()

    def write(self, x: int, y: int, strips: Iterable[Strip], colours: ColorSystem | None) -> None:
        """Paint ``strips`` side by side from column ``x`` of row ``y``."""
        if y not in self._codes:
            self._characters[y], self._codes[y] = [""] * self._width, [_UNKNOWN] * self._width
        for strip in strips:
            if any(segment.control or "\x1b" in segment.text for segment in strip):
                self._write_raw(x, y, strip, colours)
            else:
                at = x
                for text, style, _ in strip:
                    at += self._write_text(at, y, text, _codes_of(style, colours) if style else _RESET)
            x += strip.cell_length

    def end(self) -> str:
        """Return what has to be sent for everything that was written, and begin the next frame."""
        self._send()
        self._colour(_RESET)
        sequence = "".join(self._out)
        self._out.clear()
        self._at, self._sent = None, _RESET
        return sequence

    def _write_raw(self, x: int, y: int, strip: Strip, colours: ColorSystem | None) -> None:
        """Send a strip with sequences of its own: a picture."""
        self._send()
        self._move(x, y)
        self._colour(_RESET)
        self._out += [
            segment.text if segment.control or not segment.style else segment.style.render(segment.text, color_system=colours)
            for segment in strip
        ]  # fmt: skip
        self._codes[y][x : x + strip.cell_length] = [_UNKNOWN] * strip.cell_length
        self._at = None

    def _write_text(self, x: int, y: int, text: str, codes: str) -> int:
        """Write a piece of a row; return its width."""
        shown, shown_codes = self._characters[y], self._codes[y]
        if not text.isascii() and not _has_certain_width(text):
            width = cell_len(text)
            end = x + width
            cells = [text, *[_CONTINUED] * (width - 1)][:width]
            if shown[x:end] != cells or shown_codes[x:end] != [codes] * width:
                self._spans.append(_Span(False, _ground(codes), codes, y, x, text))
                shown[x:end], shown_codes[x:end] = cells, [codes] * width
                if end < self._width:  # which it covers where the terminal finds it wider
                    shown_codes[end] = _UNKNOWN
            return width
        end = x + len(text)
        if shown_codes[x:end] == [codes] * len(text) and shown[x:end] == list(text):
            return len(text)
        for first, last in self._changes(x, y, text, codes):
            self._spans.append(_Span(True, _ground(codes), codes, y, first, text[first - x : last - x]))
        shown[x:end], shown_codes[x:end] = text, [codes] * len(text)
        return len(text)

    def _changes(self, x: int, y: int, text: str, codes: str) -> list[tuple[int, int]]:
        """Return the spans of columns that have to be written; a gap that is shorter than a move is part of them."""
        ground, spans = _ground(codes), list[tuple[int, int]]()
        old = zip(text, self._characters[y][x:], self._codes[y][x:], strict=False)
        for at in [
            at
            for at, (new, character, code) in enumerate(old, x)
            if new != character or (code != codes and (new != " " or code == _UNKNOWN or _ground(code) != ground))
        ]:
            if spans and at - spans[-1][1] < _SHORTEST_MOVE:
                spans[-1] = (spans[-1][0], at + 1)
            else:
                spans.append((at, at + 1))
        return spans

    def _send(self) -> None:
        """Send the spans, those of one colour together: a move is shorter than a change of colours."""
        for span in sorted(self._spans, key=_order):
            self._move(span.x, span.y)
            if span.text.strip(" ") or span.ground != _ground(self._sent):
                self._colour(span.codes)
            self._out.append(span.text)
            self._at = (span.x + len(span.text), span.y) if span.certain else None
        self._spans.clear()

    def _move(self, x: int, y: int) -> None:
        if self._at != (x, y):
            # behind the last column, terminals differ in where the cursor is
            known = self._at is not None and self._at[0] < self._width
            self._out.append(_shortest_move(self._at if known else None, x, y))
            self._at = (x, y)

    def _colour(self, codes: str) -> None:
        if codes != self._sent:
            self._out.append(_change(self._sent, codes))
            self._sent = codes


def _shortest_move(at: tuple[int, int] | None, x: int, y: int) -> str:
    """Return the shortest sequence that moves the cursor from ``at`` (``None``: unknown) to column ``x`` of row ``y``."""
    absolute = f"\x1b[{y + 1};{x + 1}H"
    if at is None:
        return absolute
    right, down = x - at[0], y - at[1]
    across = min(_relative(right, "C", "D"), f"\x1b[{x + 1}G", key=len)
    if right < 0:
        across = min(across, "\b" * abs(right), key=len)
    return min(absolute, _relative(down, "B", "A") + across, key=len)


def _relative(by: int, forward: str, back: str) -> str:
    return f"\x1b[{abs(by) if abs(by) > 1 else ''}{forward if by > 0 else back}" if by else ""


@lru_cache(4096)
def _has_certain_width(text: str) -> bool:
    """Return whether each character has exactly one cell. The sum is no sign of it: a mark makes up for a wide letter."""
    return all(get_character_cell_size(each) == 1 and unicodedata.category(each)[0] != "M" for each in text)


@lru_cache(4096)
def _codes_of(style: Style, colours: ColorSystem | None) -> str:
    """Return the sequence that switches from the defaults to ``style``."""
    return style.render("x", color_system=colours).partition("x")[0] or _RESET


@lru_cache(4096)
def _ground(codes: str) -> str:
    """Return what a blank shows of ``codes``: without attributes that it shows too, the background alone."""
    parsed = _parsed(codes)
    return codes if parsed.attributes - _UNSEEN else parsed.background


@lru_cache(4096)
def _change(old: str, new: str) -> str:
    """Return the shortest sequence that switches from ``old`` to ``new``."""
    if new == _RESET:
        return _RESET
    before, after = _parsed(old), _parsed(new)
    if before.attributes - after.attributes:
        return f"\x1b[0;{new[2:]}"
    parts = sorted(after.attributes - before.attributes)
    if after.foreground != before.foreground:
        parts.append(after.foreground or "39")
    if after.background != before.background:
        parts.append(after.background or "49")
    return f"\x1b[{';'.join(parts)}m" if parts else ""


@lru_cache(4096)
def _parsed(codes: str) -> _Codes:
    foreground = background = ""
    attributes = set()
    numbers = iter(codes[2:-1].split(";"))
    for number in numbers:
        if number in ("38", "48"):
            kind = next(numbers)
            colour = ";".join((number, kind, *(next(numbers) for _ in range(3 if kind == "2" else 1))))
            foreground, background = (colour, background) if number == "38" else (foreground, colour)
        elif _FOREGROUND.fullmatch(number):
            foreground = number
        elif _BACKGROUND.fullmatch(number):
            background = number
        elif number.strip("0"):
            attributes.add(number)
    return _Codes(foreground, background, frozenset(attributes))
