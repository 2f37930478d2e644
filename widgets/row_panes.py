"""Panes of ready-made rows: lists; foldable rows, which keep the place in each content; text that is wrapped to its width."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

from textual import events, on
from textual.geometry import Region, Size
from textual.strip import Strip

from clawperator.widgets.format.lines import Row
from clawperator.widgets.format.slot import Sheet, Slot, ready
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


@dataclass(slots=True)
class FoldState:
    """Cursor and folds of one content."""

    cursor: int = 0
    top: int = 0
    flipped: set[Hashable] = field(default_factory=set)
    """Places whose fold differs from its default."""

    def is_open(self, place: Hashable, *, by_itself: bool) -> bool:
        return by_itself != (place in self.flipped)


class SlotPane(RowList):
    """Subclasses implement ``slots`` and call ``rearrange`` when their content changed."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self._rows_for = self.slots
        self.view = FoldState()

    def slots(self, width: int) -> Iterable[Slot]:
        """Return the rows with the current folds."""
        raise NotImplementedError

    def sheet(self, width: int) -> Sheet:
        return Sheet(width, self.clock, self._is_open, self.symbols)

    def _is_open(self, place: Hashable, by_itself: bool) -> bool:
        return self.view.is_open(place, by_itself=by_itself)

    def _width_to_make(self, width: int) -> int:
        return width if width >= 10 else 0

    def rearrange(self) -> None:
        """Rebuild the rows."""
        self.show_folded(self.slots)

    def show_rows(self, rows: Iterable[Slot]) -> None:
        """Show other rows; the cursor stays on its item and screen row."""
        place, behind = self._anchor()
        line = self.cursor - self.top
        self.rows = tuple(rows)
        found = None if place is None else self._index(lambda slot: slot.place == place)
        if found is not None:
            self._put(found + behind, found + behind - line)
        self.content_changed()

    def visit(self, view: FoldState, *, first: Callable[[Slot], bool] | None = None) -> None:
        """Show other content as it was left; new content from its top, with ``first`` selecting the row of the cursor."""
        new = not (view.cursor or view.top or view.flipped)
        self.view.cursor, self.view.top = self.cursor, self.top
        self.view = view
        self.rows = ()
        self._put(view.cursor, view.top)
        self.rearrange()
        self._put(view.cursor, view.top)
        if new and first is not None and (index := self._index(first)) is not None:
            self._put(index, max(0, index - self.view_height // 2))
        self.content_changed()

    def _put(self, cursor: int, top: int) -> None:
        """Set cursor and view without a message: the rows themselves changed."""
        self.set_reactive(LinePane.cursor, max(0, cursor))
        self.set_reactive(LinePane.top, max(0, top))

    def _anchor(self) -> tuple[Hashable, int]:
        """Return the item under the cursor, and the rows behind its first one."""
        for index in range(min(self.cursor, len(self.rows) - 1), -1, -1):
            if (place := self.rows[index].place) is not None:
                return place, self.cursor - index
        return None, 0

    def _index(self, wanted: Callable[[Slot], bool]) -> int | None:
        return next((index for index, slot in enumerate(self.rows) if wanted(slot)), None)

    @property
    def slot(self) -> Slot | None:
        """Return the row under the cursor."""
        return self.rows[self.cursor] if self.cursor < len(self.rows) else None

    # -- keys

    def action_fold(self) -> None:
        """Expand or collapse the row under the cursor, or the one it belongs to."""
        place, _ = self._anchor()
        index = None if place is None else self._index(lambda slot: slot.place == place)
        if index is not None and self.rows[index].opened is not None:
            self.view.flipped ^= {place}
            self._put(index, self.top)
            self.rearrange()
            self.reveal(index)

    def action_fold_all(self) -> None:
        """Collapse everything; if all is collapsed, restore the defaults."""
        opened = {slot.place for slot in self.rows if slot.opened}
        if opened:
            self.view.flipped ^= opened
        else:
            self.view.flipped.clear()
        self.rearrange()

    def action_attention(self, step: int) -> None:
        self.to_problem(step)

    FOLD_CELLS = 4
    """Width of the click area of the arrow."""

    def clicked(self, index: int, x: int, *, twice: bool) -> None:
        """One click on the arrow, else a double click, opens the row."""
        self.move_to(index)
        if twice or (self.rows[index].opened is not None and x < self.FOLD_CELLS):
            self.action_choose()

    def action_choose(self) -> None:
        self.action_fold()


class WrappedText(RowList):
    """Shows the rows that ``make`` returns for a width, without a cursor: the keys scroll.

    ``empty`` is shown without any. At ``height: auto`` it leaves room for the rest of a dialog, and shows ``most`` rows at most.
    """

    SHOWS_CURSOR = False

    def __init__(
        self,
        make: Callable[[int], Iterable[Row]] = lambda _width: (),
        *,
        id: str | None = None,  # noqa: A002  # Textual's own name
        empty: str | None = None,
        most: int = 0,
    ) -> None:
        super().__init__(id=id)
        self._make = make
        self._most = most
        self._subject: object = None
        if empty is not None:
            self.empty_text = empty

    def on_mount(self) -> None:
        self.fold()

    def show_text(self, make: Callable[[int], Iterable[Row]], subject: object = None) -> None:
        """Show other text; that of another ``subject`` from its top."""
        other, self._subject = subject != self._subject, subject
        self._make = make
        self.fold(from_top=other)

    def folded(self, width: int) -> Iterable[Row]:
        """Return the rows for a width."""
        return self._make(width)

    def fold(self, *, from_top: bool = False) -> None:
        """Draw changed text."""
        if from_top:
            self.set_reactive(LinePane.cursor, 0)
            self.set_reactive(LinePane.top, 0)
        self.show_folded(lambda width: map(ready, self.folded(width)))

    def _width_to_make(self, width: int) -> int:
        return max(10, width) if width else 0

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        limit = min(self._most, max(3, viewport.height // 3)) if self._most else viewport.height * 9 // 10 - 4
        return max(1, min(super().get_content_height(container, viewport, width), limit))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Rows cannot be opened."""
        return False if action == "choose" else super().check_action(action, parameters)

    # Without a visible cursor the keys scroll.

    def action_move(self, rows: int) -> None:
        self.scroll_rows(rows)

    def action_page(self, pages: float) -> None:
        self.scroll_rows(round(pages * max(1, self.view_height - 1)))

    def action_top(self) -> None:
        self.scroll_rows(-self.row_count())

    def action_bottom(self) -> None:
        self.scroll_rows(self.row_count())
