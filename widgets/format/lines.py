"""Lines of spans that name a *role*, never a colour.

A role is a semantic name (``ok``, ``node-id``, ``muted``) in ``roles.py``; the theme gives it a style. ``Line.add``
appends our own words, ``Line.device`` untrusted text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from clawperator.widgets.text.safe import cells, escape, shorten, wrap

Span = tuple[str, str]


class Line:
    """Spans of one line, from left to right. Device text is cut to what is left of ``width``."""

    __slots__ = ("cells", "spans", "width")

    def __init__(self, width: int = 10_000) -> None:
        self.spans: list[Span] = []
        self.cells = 0
        self.width = width

    def add(self, text: str, role: str = "text") -> Line:
        if text:
            self.spans.append((text, role))
            self.cells += cells(text)
        return self

    def device(self, text: str, role: str = "text", *, before: str = "", after: str = "", room: int = 0) -> Line:
        """Append untrusted text, escaped and cut to the room left, or to ``room`` cells."""
        room = min(room or self.width, self.width - self.cells) - len(before) - len(after)
        return self.add(f"{before}{shorten(text, max(room, 1))}{after}", role)

    def pad(self, to: int) -> Line:
        """Append blanks up to column ``to``."""
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
    """One row of a pane: the line, the part at its right edge, and a role for the whole (``""``: none)."""

    left: Line
    right: Line | None = None
    tone: str = ""


def wrapped(
    text: str, width: int, role: str = "text", *, lead: str = " ", lead_role: str = "faint", limit: int = 50
) -> Iterator[Row]:
    """Wrap text to ``width`` cells behind ``lead``; further rows are indented as far. Empty text gives no row."""
    indent = cells(lead)
    for index, part in enumerate(wrap(text, max(10, width - indent - 1), limit=limit) if text else ()):
        yield Row(Line(width).add(" " * indent if index else lead, lead_role).add(part, role))


def ruled(text: str, width: int, rule: str) -> Row:
    """Return a heading with a rule to the right edge."""
    line = Line(width).add(f" {rule} {text} ", "faint")
    return Row(line.add(rule * max(0, width - line.cells - 1), "guide"))


def column(text: str, width: int) -> str:
    """Return untrusted text in exactly ``width`` cells."""
    safe = shorten(text, width)
    return safe + " " * (width - cells(safe))


def columns(needs: Iterable[int], width: int) -> list[int]:
    """Return the cells of columns with two blanks between them, the most important first: what each needs, while ``width`` lasts.

    A column that would be cut to less than ``_LEAST_COLUMN`` is left out: 0.
    """
    given = []
    for need in needs:
        room = min(need, max(0, width))
        given.append(room if room == need or room >= _LEAST_COLUMN else 0)
        width -= given[-1] + 2 if given[-1] else 0
    return given


_LEAST_COLUMN = 10


def device_name(serial: str, room: int) -> str:
    """Return ``serial``, and the end of a longer ``host/serial``: of the devices of a host, the ends differ."""
    return f"…{serial[1 - room :]}" if "/" in serial and len(serial) > room else serial


def sentence(text: str) -> str:
    """Return untrusted text, escaped, for a place without a width, such as a toast."""
    return escape(text)
