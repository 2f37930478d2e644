"""Rows that are drawn only when they are on screen."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import Any, NamedTuple

from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.text.safe import wrap
from clawperator.widgets.text.times import WallClock


class Slot(NamedTuple):
    """``draw`` makes the row for a width. ``place`` is what it stands for: the cursor stays with it when rows change.

    ``opened`` tells whether it is expanded, ``None`` that it cannot be. ``role`` marks a row that needs attention, on the scrollbar.
    The cursor of a list skips ``quiet`` rows: headings, rules, continuation lines.
    """

    draw: Callable[[int], Row]
    place: Any = None
    opened: bool | None = None
    role: str = ""
    quiet: bool = False


def _as_it_is(_place: Hashable, by_itself: bool) -> bool:
    return by_itself


class Sheet(NamedTuple):
    """The context of slots. ``is_open`` returns whether a place is open, given its default."""

    width: int
    clock: WallClock = WallClock()
    is_open: Callable[[Hashable, bool], bool] = _as_it_is
    symbols: Symbols = UNICODE


def fold_sign(opened: bool | None, symbols: Symbols) -> str:
    """Return the fold sign of a row, or a blank."""
    return " " if opened is None else symbols.open if opened else symbols.closed


def plain(text: str, role: str = "text", *, indent: int = 1) -> Slot:
    """Return one line of our own words."""
    return Slot(lambda width: Row(Line(width).add(" " * indent).add(text, role)))


def fixed(row: Row) -> Slot:
    """Return a row that was made for this width already."""
    return Slot(lambda _width: row)


BLANK = Slot(lambda width: Row(Line(width)), quiet=True)


def heading(text: str) -> Slot:
    """Return a heading row."""
    return Slot(lambda width: Row(Line(width).add(f" {text}", "faint")), quiet=True)


def ready(row: Row, place: object = None, *, quiet: bool = True) -> Slot:
    """Return a row of a list that was drawn for this width already."""
    return Slot(lambda _width: row, place, quiet=quiet)


def folded(text: str, width: int, role: str = "text", *, indent: int = 1, limit: int = 50) -> Iterator[Slot]:
    """Yield text, escaped and wrapped; lines beyond ``limit`` are counted."""
    for part in wrap(text, max(10, width - indent - 1), limit=limit):
        yield plain(part, role, indent=indent)


def joined(parts: Iterable[tuple[str, str]], width: int, *, indent: int = 1, gap: str = "   ") -> Iterator[Row]:
    """Yield pairs of our name and an untrusted value, as many on a line as fit."""
    line = Line(width).add(" " * indent)
    for name, value in parts:
        room = max(12, width - indent - len(name) - 2)
        pair = Line(width - indent).add(f"{name} ", "faint").device(value, "muted", room=room)
        if line.cells > indent and line.cells + len(gap) + pair.cells >= width:
            yield Row(line)
            line = Line(width).add(" " * indent)
        if line.cells > indent:
            line.add(gap)
        line.extend(pair)
    if line.cells > indent:
        yield Row(line)
