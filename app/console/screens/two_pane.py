"""A list and the detail of its row: beside or below it where there is space, over it on small screens."""

from __future__ import annotations

from textual import on
from textual.timer import Timer

from clawperator.app.console.screens.base import ConsoleScreen
from clawperator.widgets.format.lines import Line
from clawperator.widgets.line_pane import SETTLE_SECONDS, LinePane
from clawperator.widgets.pane import Pane


class TwoPaneScreen(ConsoleScreen):
    """Subclasses have ``#panes``, in it ``#list`` in ``#list-pane`` and ``#detail`` in ``#detail-pane``."""

    MAIN = "#list"

    @on(LinePane.RowChosen, "#list")
    def _open_detail(self) -> None:
        self.show_detail()
        self.query_one("#panes").add_class("-detail")
        self.set_focus(self.query_one("#detail"))

    @on(LinePane.CursorMoved, "#list")
    def _moved(self) -> None:
        """Show the position at once, the detail when the cursor rests."""
        self.show_place()
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(SETTLE_SECONDS, self.show_detail)

    _rest: Timer | None = None

    def show_place(self) -> None:
        """Show ``3 of 12`` at the edge of the list."""
        pane = self.query_one("#list", LinePane)
        count = pane.row_count()
        self.query_one("#list-pane", Pane).note(Line().add(f"{pane.cursor + 1:,} of {count:,}" if count else ""))

    def show_detail(self) -> None:
        """Draw the detail of the list's row."""
        raise NotImplementedError

    def open_drawer(self, pane: Pane | None) -> None:
        self.query_one("#panes").set_class(pane is not None and pane.id == "detail-pane", "-detail")

    def close_drawers(self) -> bool:
        """Return from the detail to the list."""
        panes = self.query_one("#panes")
        opened = panes.has_class("-detail")
        panes.remove_class("-detail")
        if opened:
            self.set_focus(self.query_one("#list"))
        return opened
