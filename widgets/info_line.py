"""A line of facts, and the search or filter field."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widgets import Input

from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.line_widget import AppValues, OneLineWidget
from clawperator.widgets.text.safe import pictured


class InfoLine(OneLineWidget):
    """Draws one given row."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self._row = Row(Line())

    def show(self, row: Row) -> None:
        if (row.left.spans, row.right.spans if row.right else None) != (
            self._row.left.spans,
            self._row.right.spans if self._row.right else None,
        ):
            self._row = row
            self.refresh()

    @property
    def width(self) -> int:
        """Return the cells to compose for."""
        return self.content_size.width

    def line_row(self, width: int) -> Row:  # noqa: ARG002  # composed for its width already
        return self._row


class FindLine(AppValues, Input):
    """The search or filter field: one line, live. Escape clears and closes, enter keeps.

    ``typed`` is called directly at each key, not by message: in a burst of keys the one that leaves the field must find
    the pane updated.
    """

    BINDINGS = keys.binding_list("field")
    OWN: ClassVar[frozenset[str | None]] = frozenset(binding.id for binding in keys.bindings("field"))
    """Ids of bindings that act at once, see ``on_key``."""

    # Input grows its virtual size with each letter, which would lay out the whole screen.
    virtual_size = Reactive(Size(0, 0), layout=False)

    DEFAULT_CSS = """
    FindLine {
        height: 1;
        border: none;
        padding: 0 1;
        display: none;
        &:focus { border: none; }
        &.-open { display: block; }
    }
    """

    def __init__(
        self,
        typed: Callable[[str], object],
        *,
        placeholder: str,
        back_to: str,
        id: str,  # noqa: A002  # Textual's own name
    ) -> None:
        super().__init__(placeholder=placeholder, id=id, select_on_focus=False, compact=True)
        self._typed = typed
        self._back_to = back_to

    @property
    def _value(self) -> Text:
        """Escape what Input draws: pasted or device text must not reach the terminal unchanged."""
        text = Text(pictured(self.value), no_wrap=True, overflow="ignore", end="")
        return text if self.highlighter is None else self.highlighter(text)

    def watch_value(self, value: str) -> None:
        if self.is_attached:
            self._typed(value)

    def open(self) -> None:
        """Show the field with its text selected, so that typing replaces it."""
        self.select_all()
        self.add_class("-open")
        self.screen.set_focus(self)

    def on_key(self, event: events.Key) -> None:
        """Handle keys that leave the field at once; ignore keys of a burst that arrive after that."""
        if not self.is_open:
            event.prevent_default()
            return
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if binding.id in self.OWN:
                event.stop()
                event.prevent_default()
                getattr(self, f"action_{binding.action}")()
                return

    @property
    def is_open(self) -> bool:
        """Return whether it has the focus; ``has_focus`` is updated one message later."""
        return self.screen.focused is self

    def action_leave(self) -> None:
        self.value = ""
        self._close()

    def action_keep(self) -> None:
        self._close()

    def _close(self) -> None:
        """Return the focus first: the next key of a burst belongs to the pane already."""
        self.screen.set_focus(self.screen.query_one(self._back_to))
        self.remove_class("-open")
