"""Dialogs that are redrawn while they are open."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from textual.geometry import Size

from clawperator.app.console.screens.forms import AskingDialog
from clawperator.app.console.session import Facet
from clawperator.widgets.format.lines import Row
from clawperator.widgets.wrapped_text import WrappedText

TICK_SECONDS = 1.0


class LiveDialog(AskingDialog):
    """``draw`` is called when something changed, and once a second."""

    def show(self, changed: Facet) -> None:
        """Redraw after a change of the session."""
        if self.is_mounted and self.is_running:
            self.draw(changed)

    def draw(self, changed: Facet) -> None:
        raise NotImplementedError

    def on_mount(self) -> None:
        self.set_interval(TICK_SECONDS, self._tick)
        self.call_after_refresh(self.show, Facet.EVERYTHING)

    def _tick(self) -> None:
        self.show(Facet.NOTHING)


class DialogText(WrappedText):
    """Text in a dialog, as high as its rows: ``make`` makes them for a width."""

    def __init__(self, make: Callable[[int], Iterable[Row]], *, id: str) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self._made = make

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002  # Textual's three
        return min(len(list(self.folded(width))), max(1, viewport.height * 9 // 10 - 4))

    def folded(self, width: int) -> Iterable[Row]:
        return self._made(width) if width >= 10 else ()

    def on_mount(self) -> None:
        self.call_after_refresh(self.redraw)

    def redraw(self) -> None:
        """Draw changed text."""
        self.fold()
        self.refresh(layout=True)
