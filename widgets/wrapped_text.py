"""A pane of text that is wrapped to its width."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from clawperator.widgets.format.lines import Row
from clawperator.widgets.line_pane import LinePane


class WrappedText(LinePane):
    """Subclasses implement ``folded`` and call ``fold`` when their content changed."""

    SHOWS_CURSOR = False

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self._rows: Sequence[Row] = ()
        self._width = -1
        self._make: Callable[[int], Iterable[Row]] = lambda _width: ()

    def folded(self, width: int) -> Iterable[Row]:
        """Return the rows for a width."""
        return self._make(width) if width >= 10 else ()

    def fold(self, *, from_top: bool = False) -> None:
        self._width = self.content_size.width
        self._rows = tuple(self.folded(self._width))
        if from_top:
            self.set_reactive(LinePane.cursor, 0)
            self.set_reactive(LinePane.top, 0)
        self.content_changed()

    def row_count(self) -> int:
        return len(self._rows)

    def row(self, index: int, width: int) -> Row:  # noqa: ARG002  # folded for its width already
        return self._rows[index]

    def on_resize(self) -> None:
        if self._width != self.content_size.width:
            self.fold()

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
