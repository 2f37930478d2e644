"""A line of tabs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from textual.message import Message

from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.info_line import InfoLine


class Tab(NamedTuple):
    """``id`` is returned by a click; ``note`` is a count or state, in ``role``."""

    id: str
    name: str
    note: str = ""
    role: str = "muted"


class TabLine(InfoLine):
    """Tabs; a click posts ``Chosen``."""

    @dataclass(eq=False)
    class Chosen(Message):
        """A tab was clicked."""

        tab: str

    def __init__(self, *, id: str) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)

    def show_tabs(self, tabs: Sequence[Tab], here: str) -> None:
        line = Line(max(10, self.width)).add(" ")
        self._hits = []
        for tab in tabs:
            start = line.cells
            chosen = tab.id == here
            line.add(self.symbols.cursor if chosen else " ", "accent").add(tab.name, "strong" if chosen else "muted")
            if tab.note:
                line.add(" ").add(tab.note, tab.role)
            self._hits.append((start, line.cells, tab.id))
            line.add("  ")
        self.show(Row(line, Line().add(f"{self.symbols.tab} ", "key").add("next ", "faint")))

    def hit(self, what: str) -> None:
        self.post_message(self.Chosen(what))
