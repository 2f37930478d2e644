"""A list of ready-made rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from textual import events, on
from textual.geometry import Region, Size
from textual.strip import Strip

from clawperator.widgets.format.lines import Row
from clawperator.widgets.format.slot import Slot
from clawperator.widgets.line_pane import LinePane


class RowList(LinePane):
    """A list of rows. The cursor stays on its row's ``place`` when the rows change."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id, classes=classes)
        self.rows: Sequence[Slot] = ()
        self._rows_for: Callable[[int], Iterable[Slot]] | None = None
        self._rows_width = 0

    def show_rows(self, rows: Iterable[Slot]) -> None:
        value = self.value
        self.rows = tuple(rows)
        self.content_changed()
        if value is not None and value != self.value:
            self.to_value(value)
        self._leave_quiet_row()

    def show_folded(self, make: Callable[[int], Iterable[Slot]]) -> None:
        """Show the rows that ``make`` returns for the pane's width, and for each new width again."""
        self._rows_for, self._rows_width = make, self.content_size.width or self._rows_width
        self._make_rows(make)

    def _make_rows(self, make: Callable[[int], Iterable[Slot]]) -> None:
        width = self._width_to_make(self._rows_width)
        self.show_rows(make(width) if width else ())

    def _width_to_make(self, width: int) -> int:
        """Return the cells of a row, at least what every row can be made for; 0: none is made. One cell is the scrollbar's."""
        return max(10, width - 1)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Fold for this width first, which the pane does not have yet."""
        self._fold(width)
        return super().get_content_height(container, viewport, width)

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
                self._make_rows(self._rows_for)

    @property
    def value(self) -> object:
        """Return what the cursor's row stands for."""
        return self.rows[self.cursor].place if 0 <= self.cursor < len(self.rows) else None

    def to_value(self, value: object) -> bool:
        """Put the cursor on the row of ``value``; return whether there is one."""
        place = next((index for index, row in enumerate(self.rows) if row.place == value), None)
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
