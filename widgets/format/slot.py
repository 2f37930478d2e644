"""A row that is not drawn until somebody looks at it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import NamedTuple

from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.text.safe import wrap
from clawperator.widgets.text.times import WallClock


class Slot(NamedTuple):
    """``draw`` makes the row for a width. ``place`` says what it is about: the cursor stays with it when rows come and go.

    ``opened`` tells whether something is unfolded below it, ``None`` that it has nothing to unfold. ``role`` is why it
    deserves attention (the role of its mark on the scrollbar); empty for a row like others.
    """

    draw: Callable[[int], Row]
    place: Hashable = None
    opened: bool | None = None
    role: str = ""


def _as_it_is(_place: Hashable, by_itself: bool) -> bool:
    return by_itself


class Sheet(NamedTuple):
    """What slots are laid out on. ``is_open`` tells of a place whether it is open, given whether it is so by itself."""

    width: int
    clock: WallClock = WallClock()
    is_open: Callable[[Hashable, bool], bool] = _as_it_is
    symbols: Symbols = UNICODE


def fold_sign(opened: bool | None, symbols: Symbols) -> str:
    """The sign before a row that can be opened, or the blank before one that cannot."""
    return " " if opened is None else symbols.open if opened else symbols.closed


def plain(text: str, role: str = "text", *, indent: int = 1) -> Slot:
    """One line of our own words."""
    return Slot(lambda width: Row(Line(width).add(" " * indent).add(text, role)))


def fixed(row: Row) -> Slot:
    """A row that was made for this width already."""
    return Slot(lambda _width: row)


BLANK = Slot(lambda width: Row(Line(width)))


def folded(text: str, width: int, role: str = "text", *, indent: int = 1, limit: int = 50) -> Iterator[Slot]:
    """``text`` from outside or of our own, made safe and folded to the pane; what is beyond ``limit`` lines is counted."""
    for part in wrap(text, max(10, width - indent - 1), limit=limit):
        yield plain(part, role, indent=indent)


def joined(parts: Iterable[tuple[str, str]], width: int, *, indent: int = 1, gap: str = "   ") -> Iterator[Row]:
    """Pairs of a name of ours and a value from outside, as many on a line as fit."""
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
