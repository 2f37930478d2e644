"""Base of widgets that are painted in lines: from roles to the theme's styles."""

from __future__ import annotations

from collections.abc import Mapping

from rich.segment import Segment
from rich.style import Style
from textual import events, on
from textual.color import Color
from textual.message_pump import MessagePump
from textual.strip import Strip
from textual.widget import Widget

from clawperator.widgets.format.lines import Line, Row, Span
from clawperator.widgets.format.roles import ROLES, RoleStyle
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.text.safe import cells, take
from clawperator.widgets.text.times import WallClock

_PLAIN = str.maketrans({"…": "~", "–": "-", "≈": "~", "×": "x", "·": "-", "⟨": "<", "⟩": ">", "−": "-", "␊": " "})
"""Replacements of our own non-ASCII characters, one cell each, for ASCII terminals."""


_CLOCK = WallClock()


class AppValues(MessagePump):
    """What widgets and dialogs take from their app."""

    @property
    def symbols(self) -> Symbols:
        """Return the glyphs of this terminal."""
        return getattr(self.app, "symbols", UNICODE)

    @property
    def clock(self) -> WallClock:
        return getattr(self.app, "clock", _CLOCK)


class LineWidget(AppValues, Widget):
    """A widget that paints ``Line`` values in the theme's styles."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id, classes=classes)
        self._styles_by_role: dict[str | RoleStyle, Style] = {}

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles_by_role.clear()

    @property
    def base_style(self) -> Style:
        """Return ``rich_style``, cached per generation of styles: it walks up to the app."""
        style = self._styles_by_role.get("")
        if style is None:
            style = self._styles_by_role[""] = self.rich_style
        return style

    def role_style(self, role: str) -> Style:
        """Return the style of a role on this widget's background."""
        style = self._styles_by_role.get(role)
        if style is None:
            style = self._styles_by_role[role] = self.base_style + style_of(ROLES[role], self.app.theme_variables)
        return style

    def overlay_style(self, look: RoleStyle) -> Style:
        """Return a style to lay over a painted row."""
        style = self._styles_by_role.get(look)
        if style is None:
            style = self._styles_by_role[look] = style_of(look, self.app.theme_variables)
        return style

    def paint(self, row: Row, width: int, *, over: Style | None = None) -> Strip:
        """Return ``row`` as a strip of exactly ``width`` cells, with ``over`` laid over it."""
        base = self.base_style
        right = row.right
        room = width - (right.cells + 1 if right is not None and right.cells else 0)
        spans = _fitted(row.left, max(0, room))
        used = sum(cells(text) for text, _ in spans)
        segments = [self._segment(text, row.tone or role) for text, role in spans]
        if right is not None and right.cells and right.cells < width:
            segments.append(Segment(" " * (width - used - right.cells), base))
            segments += [self._segment(text, role) for text, role in right.spans]
        elif used < width:
            segments.append(Segment(" " * (width - used), base))
        if over is not None:
            segments = [Segment(text, (style or base) + over) for text, style, _ in segments]
        return Strip(segments, width)

    def _segment(self, text: str, role: str) -> Segment:
        return Segment(text.translate(_PLAIN) if self.symbols.ascii else text, self.role_style(role))


class OneLineWidget(LineWidget):
    """A line of one row. While it composes the row, a subclass notes in ``_hits`` which columns can be clicked."""

    DEFAULT_CSS = """
    OneLineWidget { height: 1; width: 1fr; }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self._hits: list[tuple[int, int, str]] = []

    def line_row(self, width: int) -> Row:
        raise NotImplementedError

    def hit(self, what: str) -> None:
        """Take a click on one of the ``_hits`` (start, end, what)."""

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        return Strip.blank(width, self.base_style) if y else self.paint(self.line_row(width), width)

    @on(events.Click)
    def _click(self, event: events.Click) -> None:
        for start, end, what in self._hits:
            if start <= event.x < end:
                event.stop()
                self.hit(what)
                return


def _fitted(line: Line, room: int) -> list[Span]:
    """Return the spans of ``line`` cut to ``room`` cells with an ellipsis."""
    if line.cells <= room:
        return line.spans
    spans: list[Span] = []
    left = room - 1
    for text, role in line.spans:
        width = cells(text)
        if width > left:
            spans.append((take(text, left) + "…", role))
            return spans
        spans.append((text, role))
        left -= width
    return spans


def style_of(look: RoleStyle, variables: Mapping[str, str]) -> Style:
    """Return a role's style for these theme variables."""
    style = Style.parse(variables[look.style]) if look.style else Style.null()
    colour = Color.parse(variables[look.colour]).rich_color if look.colour else None
    background = Color.parse(variables[look.background]).rich_color if look.background else None
    return style + Style(color=colour, bgcolor=background)
