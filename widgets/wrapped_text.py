"""A pane of text that is wrapped to its width."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual.geometry import Size

from clawperator.widgets.format.lines import Row
from clawperator.widgets.format.slot import ready
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.row_list import RowList


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
