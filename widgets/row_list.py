"""A list of ready-made rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from textual import events, on
from textual.geometry import Region
from textual.strip import Strip

from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.line_pane import LinePane


class ListRow(NamedTuple):
    """One row: ``draw`` makes it for a width when visible; ``value`` is what it stands for.

    ``role`` colours its scrollbar mark; the cursor skips ``quiet`` rows (headings, rules, continuation lines).
    """

    draw: Callable[[int], Row]
    value: object = None
    role: str = ""
    quiet: bool = False


def heading(text: str) -> ListRow:
    """Return a heading row."""
    return ListRow(lambda width: Row(Line(width).add(f" {text}", "faint")), quiet=True)


def blank() -> ListRow:
    return ListRow(lambda width: Row(Line(width)), quiet=True)


def ready(row: Row, value: object = None, *, quiet: bool = True) -> ListRow:
    """Return a row that was drawn for this width already."""
    return ListRow(lambda _width: row, value=value, quiet=quiet)


class RowList(LinePane):
    """A list of rows. The cursor stays on its row's ``value`` when the rows change."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id, classes=classes)
        self.rows: Sequence[ListRow] = ()
        self._rows_for: Callable[[int], Iterable[ListRow]] | None = None
        self._rows_width = 0

    def show_rows(self, rows: Iterable[ListRow]) -> None:
        value = self.value
        self.rows = tuple(rows)
        self.content_changed()
        if value is not None and value != self.value:
            self.to_value(value)
        self._leave_quiet_row()

    def show_folded(self, make: Callable[[int], Iterable[ListRow]]) -> None:
        """Show the rows that ``make`` returns for the pane's width, and for each new width again."""
        self._rows_for, self._rows_width = make, self.content_size.width or self._rows_width
        self.show_rows(make(max(10, self._rows_width - 1)))

    @on(events.Resize)
    def refold(self, event: events.Resize) -> None:
        """Fold for the event's width: for a moment, the screen's map lacks a pane that appears, which then has no size."""
        self._fold(event.size.width - self.styles.gutter.width)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Fold for the present width first: Textual sends no Resize to a pane whose region was asked for before its first layout."""
        self._fold(self.content_size.width)
        return super().render_lines(crop)

    def _fold(self, width: int) -> None:
        if width > 0 and width != self._rows_width:
            self._rows_width = width
            if self._rows_for is not None:
                self.show_rows(self._rows_for(max(10, width - 1)))

    @property
    def value(self) -> object:
        """Return the value of the cursor's row."""
        return self.rows[self.cursor].value if 0 <= self.cursor < len(self.rows) else None

    def to_value(self, value: object) -> bool:
        """Put the cursor on the row of ``value``; return whether there is one."""
        place = next((index for index, row in enumerate(self.rows) if row.value == value), None)
        if place is not None:
            self.move_to(place)
        return place is not None

    def row_count(self) -> int:
        return len(self.rows)

    def row(self, index: int, width: int) -> Row:
        return self.rows[index].draw(width)

    def marks(self) -> Iterable[tuple[int, str]]:
        return ((index, row.role) for index, row in enumerate(self.rows) if row.role)

    def move_to(self, index: int) -> None:
        """Move to ``index``, or to the next row in that direction that is not quiet."""
        if not self.rows:
            return
        index = max(0, min(index, len(self.rows) - 1))
        step = 1 if index >= self.cursor else -1
        place = self._loud(index, step)
        if place is None:
            place = self._loud(index, -step)
        if place is not None:
            super().move_to(place)
            self._show_edge(place)

    def reveal_whole(self) -> None:
        """Show the rows that belong to the cursor's row too."""
        here = self.cursor
        behind = next((at for at in range(here + 1, len(self.rows)) if not self.rows[at].quiet), len(self.rows))
        self.reveal(behind - 1)
        self.reveal(here)

    def _loud(self, index: int, step: int) -> int | None:
        while 0 <= index < len(self.rows):
            if not self.rows[index].quiet:
                return index
            index += step
        return None

    def _show_edge(self, place: int) -> None:
        """Show the headings above the first row too."""
        if all(row.quiet for row in self.rows[:place]):
            self.top = 0

    def _leave_quiet_row(self) -> None:
        if self.rows and self.rows[self.cursor].quiet:
            self.move_to(self.cursor)
