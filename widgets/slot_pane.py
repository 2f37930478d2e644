"""A pane of foldable rows that are drawn when visible; the cursor stays with its item."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, field

from clawperator.widgets.format.slot import Sheet, Slot
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.row_list import RowList


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
