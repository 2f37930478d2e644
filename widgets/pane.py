"""A frame with a title around one or more widgets. Focus shows as a heavier frame and a bar in the title, not as a hue."""

from __future__ import annotations

from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Region
from textual.widget import Widget

from clawperator.widgets.format.lines import Line
from clawperator.widgets.format.symbols import UNICODE, Symbols


class Pane(Vertical):
    """``title`` is ours; ``note`` gives the counts at the bottom edge."""

    DEFAULT_CSS = """
    Pane {
        width: 1fr;
        height: 1fr;
    }
    """

    def __init__(self, title: str, *children: Widget, id: str) -> None:  # noqa: A002  # Textual's own name
        super().__init__(*children, id=id)
        self._pane_title = title
        self._active = False
        self._note = ""
        self._badge = ""

    @property
    def symbols(self) -> Symbols:
        return getattr(self.app, "symbols", UNICODE)

    def on_mount(self) -> None:
        self._show_title()

    def note(self, line: Line) -> None:
        """Counts and states at the bottom edge."""
        text = line.plain
        if text != self._note:
            self._note = text
            # Not ``border_subtitle``: that would paint all of the pane again for the words at its edge.
            self._border_subtitle = Content(text)
            self.refresh(Region(-1, self.content_size.height, self.outer_size.width, 1))

    def badge(self, text: str) -> None:
        """A few words behind the title: where what is shown comes from."""
        if text != self._badge:
            self._badge = text
            self._draw_title()
            self.refresh(Region(-1, -1, self.outer_size.width, 1))

    def on_descendant_focus(self) -> None:
        self._set_active(active=True)

    def on_descendant_blur(self) -> None:
        self._set_active(active=self.has_focus_within)

    def _set_active(self, *, active: bool) -> None:
        if active != self._active:
            self._active = active
            self.set_class(active, "-active")
            self._show_title()

    def _show_title(self) -> None:
        self._draw_title()
        self.refresh()

    def _draw_title(self) -> None:
        sign = self.symbols.cursor if self._active else ""
        badge = f" {self.symbols.dot} {self._badge}" if self._badge else ""
        # Not ``border_title``, which paints all of the pane again.
        self._border_title = Content(f"{sign}{self._pane_title}{badge}")

    @property
    def inner(self) -> Widget | None:
        """The widget in it that takes the focus."""
        return next((child for child in self.query("*") if child.focusable), None)
