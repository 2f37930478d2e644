"""A frame with a title. Focus shows as a heavier frame and a bar in the title, not only as a colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from textual import events
from textual.containers import Vertical
from textual.content import Content
from textual.geometry import Offset, Region
from textual.message import Message
from textual.widget import Widget

from clawperator.widgets.format.lines import Line
from clawperator.widgets.line_widget import AppValues


class Edge(NamedTuple):
    """One side of a pane: of ``width`` left (-1) or right (1), of ``height`` top or bottom."""

    pane: Pane
    axis: Literal["width", "height"]
    way: Literal[-1, 1]


class Pane(AppValues, Vertical):
    """A framed pane with a title, and a note with counts at the bottom edge. Its frame can be dragged."""

    @dataclass(eq=False)
    class BorderTaken(Message):
        """The mouse button was pressed on this edge."""

        edge: Edge

    @dataclass(eq=False)
    class BorderDragged(Message):
        """The edge was dragged by ``cells`` to the right, or down."""

        cells: int

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
        self._held: tuple[Edge, Offset] | None = None

    def on_mount(self) -> None:
        self._show_title()

    def note(self, line: Line) -> None:
        """Set counts and states at the bottom edge."""
        text = line.plain
        if text != self._note:
            self._note = text
            # Not ``border_subtitle``, which repaints the whole pane.
            self._border_subtitle = Content(text)
            self.refresh(Region(-1, self.content_size.height, self.outer_size.width, 1))

    def badge(self, text: str) -> None:
        """Set the source behind the title."""
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
        # Not ``border_title``, which repaints the whole pane.
        self._border_title = Content(f"{sign}{self._pane_title}{badge}")

    @property
    def inner(self) -> Widget | None:
        """Return the child that takes the focus."""
        return next((child for child in self.query("*") if child.focusable), None)

    # -- dragging the frame

    def on_mouse_down(self, event: events.MouseDown) -> None:
        edge = self._edge_at(event.screen_offset) if event.button == 1 else None
        if edge is not None:
            event.stop()
            self._held = edge, event.screen_offset
            self.capture_mouse()
            self.post_message(self.BorderTaken(edge))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self._held is not None:
            edge, start = self._held
            moved = event.screen_offset - start
            self.post_message(self.BorderDragged(moved.x if edge.axis == "width" else moved.y))

    def on_mouse_up(self) -> None:
        if self._held is not None:
            self.release_mouse()

    def on_mouse_release(self) -> None:
        self._held = None

    def _edge_at(self, point: Offset) -> Edge | None:
        """Return the side of the frame at ``point``; corners count as left or right."""
        frame = self.region
        if not frame.contains_point(point) or self.content_region.contains_point(point):
            return None
        if point.x in (frame.x, frame.right - 1):
            return Edge(self, "width", -1 if point.x == frame.x else 1)
        if point.y in (frame.y, frame.bottom - 1):
            return Edge(self, "height", -1 if point.y == frame.y else 1)
        return None
