"""What formatters hand to panes: lines made of spans that name a *role*, never a colour.

A role is a semantic name (``ok``, ``node-id``, ``muted``) of the table in ``roles.py``; the theme gives it a style.
Two ways in, so that nobody confuses them: ``Line.add`` for our own words, ``Line.device`` for text from outside.
"""

from __future__ import annotations

from typing import NamedTuple

from clawperator.widgets.text.safe import cells, escape, shorten

Span = tuple[str, str]


class Line:
    """Spans of one line, built left to right. ``width`` is what the pane has; device text is cut to what is left of it."""

    __slots__ = ("cells", "spans", "width")

    def __init__(self, width: int = 10_000) -> None:
        self.spans: list[Span] = []
        self.cells = 0
        self.width = width

    def add(self, text: str, role: str = "text") -> Line:
        """Append words of our own."""
        if text:
            self.spans.append((text, role))
            self.cells += cells(text)
        return self

    def device(self, text: str, role: str = "text", *, before: str = "", after: str = "", room: int = 0) -> Line:
        """Append text from outside, made safe and cut to the room left (or to ``room`` cells), between two quotes."""
        room = min(room or self.width, self.width - self.cells) - len(before) - len(after)
        return self.add(f"{before}{shorten(text, max(room, 1))}{after}", role)

    def pad(self, to: int) -> Line:
        """Blanks up to column ``to``."""
        return self.add(" " * (to - self.cells)) if to > self.cells else self

    def extend(self, other: Line) -> Line:
        self.spans.extend(other.spans)
        self.cells += other.cells
        return self

    @property
    def plain(self) -> str:
        return "".join(text for text, _ in self.spans)

    def __repr__(self) -> str:
        return f"Line({self.plain!r})"


class Row(NamedTuple):
    """One row of a pane: the line itself, what stands at its right edge, and a role for the whole (``""``: none)."""

    left: Line
    right: Line | None = None
    tone: str = ""


def column(text: str, width: int) -> str:
    """``text`` from outside in exactly ``width`` cells."""
    safe = shorten(text, width)
    return safe + " " * (width - cells(safe))


def sentence(text: str) -> str:
    """Text from outside for a place without a width, such as a toast."""
    return escape(text)
