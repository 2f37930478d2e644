"""The top line: mode tabs, then chips for device, lock, tree, doctor and log. Chips that do not fit become ``+n``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from textual.message import Message

from clawperator.widgets.format.lines import Line, Row, Span
from clawperator.widgets.line_widget import OneLineWidget
from clawperator.widgets.text.safe import cells, shorten

_LEAST_MORE = 8
"""Cells for which a cut reason is worth its place."""


class Chip(NamedTuple):
    """A part of the header. ``keep`` chips are never hidden; ``action`` is that of a click."""

    id: str
    spans: tuple[Span, ...]
    keep: bool = False
    action: str = ""
    more: str = ""
    """What follows where there is room, cut to fit."""

    @property
    def width(self) -> int:
        return sum(cells(text) for text, _ in self.spans)


class ModeTab(NamedTuple):
    """A mode: digit, name, and whether it is active."""

    digit: str
    name: str
    current: bool


class HeaderLine(OneLineWidget):
    """Mode tabs and chips; a click posts ``Pressed`` with the action."""

    @dataclass(eq=False)
    class Pressed(Message):
        """A click on a mode or a chip; ``action`` is an app action such as ``mode('stream')``."""

        action: str

    def __init__(self) -> None:
        super().__init__(id="header")
        self._tabs: tuple[ModeTab, ...] = ()
        self._chips: tuple[Chip, ...] = ()

    def show(self, tabs: Sequence[ModeTab], chips: Sequence[Chip]) -> None:
        if (tuple(tabs), tuple(chips)) != (self._tabs, self._chips):
            self._tabs, self._chips = tuple(tabs), tuple(chips)
            self.refresh()

    def line_row(self, width: int) -> Row:
        line = Line(width)
        self._hits = []
        kept = self._width([chip for chip in self._chips if chip.keep], 1)
        named = sum(cells(tab.name) + 3 for tab in self._tabs) + kept <= width
        self._draw_tabs(line, named=named and width >= 100, tight=width < 160)
        room = width - line.cells
        chips, folded = self._fitting(room - sum(cells(chip.more) for chip in self._chips if chip.keep))
        right = self._draw_chips(self._lengthened(chips, room - self._width(chips, folded)), folded, width)
        return Row(line, right)

    def _draw_tabs(self, line: Line, *, named: bool, tight: bool) -> None:
        """Draw the modes. On a small screen only the current one has its name: every digit is visible."""
        for tab in self._tabs:
            start = line.cells
            line.add(f" {tab.digit}", "key" if tab.current else "muted")
            if named or tab.current:
                line.add(f"{tab.name} " if tight else f" {tab.name} ", "strong" if tab.current else "muted")
            self._hits.append((start, line.cells, f"mode('{tab.name.lower()}')"))

    def _fitting(self, room: int) -> tuple[list[Chip], int]:
        """Return the chips that fit, right ones hidden first, and how many are hidden."""
        chips = list(self._chips)
        folded = 0
        while chips and self._width(chips, folded) > room:
            victim = next((chip for chip in reversed(chips) if not chip.keep), None)
            if victim is None:
                break
            chips.remove(victim)
            folded += 1
        return chips, folded

    def _lengthened(self, chips: Sequence[Chip], room: int) -> list[Chip]:
        """Give the room to the chips that have more to say."""
        found = list(chips)
        for place, chip in enumerate(chips):
            if chip.more and room >= _LEAST_MORE:
                more = shorten(chip.more, room)
                found[place] = chip._replace(spans=(*chip.spans, (more, chip.spans[-1][1])))
                room -= cells(more)
        return found

    def _width(self, chips: Sequence[Chip], folded: int) -> int:
        return sum(chip.width + 3 for chip in chips) + (4 if folded else 0)

    def _draw_chips(self, chips: Sequence[Chip], folded: int, width: int) -> Line:
        right = Line(width)
        places: list[tuple[int, int, str]] = []
        for index, chip in enumerate(chips):
            if index:
                right.add(f" {self.symbols.separator} ", "guide")
            start = right.cells
            for text, role in chip.spans:
                right.add(text, role)
            places.append((start, right.cells, chip.action))
        if folded:
            right.add(f" +{folded}", "muted")
        right.add(" ")
        shift = width - right.cells
        self._hits += [(start + shift, end + shift, action) for start, end, action in places if action]
        return right

    def hit(self, what: str) -> None:
        self.post_message(self.Pressed(what))
