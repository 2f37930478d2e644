"""Screen views: the map drawn from the tree, and the base that it shares with the picture."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.cache import LRUCache
from textual.geometry import Offset
from textual.message import Message
from textual.strip import Strip

from clawperator.widgets import keys
from clawperator.widgets.format.bounds import Canvas, Layers, Marks, ScreenFrame, frame_for, map_line, nodes_at
from clawperator.widgets.format.lines import Row
from clawperator.widgets.line_widget import LineWidget
from clawperator.widgets.models.snapshot import TreeSnapshot

if TYPE_CHECKING:
    from textual.binding import BindingType

    from clawperator.engine.hierarchy.tree import UiNode

_DRAG_ROWS, _DRAG_COLUMNS = 2, 4
"""A shorter drag is a click."""


class ScreenView(LineWidget):
    """Draws a snapshot with marks, only when visible and changed; a click picks a node, two clicks or ⏎ tap it."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings("screen_view")]
    ALLOW_SELECT = False
    can_focus = True

    DEFAULT_CSS = """
    ScreenView {
        width: 1fr;
        height: 1fr;
    }
    """
    OVERLAY = False

    @dataclass(eq=False)
    class NodePicked(Message):
        """``node`` was clicked; a further click on the same place picks the next larger one."""

        node: UiNode

    @dataclass(eq=False)
    class TapWanted(Message):
        """The node at ``place`` is to be tapped; without a place the chosen one."""

        place: Offset | None = None

    @dataclass(eq=False)
    class SwipeWanted(Message):
        """The pointer was dragged from ``place``: from the pixel ``start`` of the screen to ``end``."""

        place: Offset
        start: tuple[int, int]
        end: tuple[int, int]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.snapshot = TreeSnapshot.EMPTY
        self.marks = Marks()
        self._layers = Layers(overlay=self.OVERLAY)
        self._canvas: Canvas | None = None
        self._drawn: object = None
        self._strips: LRUCache[Hashable, Strip] = LRUCache(256)
        self._picked_at: Offset | None = None
        self._pressed: Offset | None = None
        self._swiped = False

    def show(self, snapshot: TreeSnapshot, marks: Marks) -> None:
        if snapshot.tree is not self.snapshot.tree or marks != self.marks:
            self.refresh()
        self.snapshot, self.marks = snapshot, marks

    def frame(self) -> ScreenFrame | None:
        """Return the current layout of the screen in the pane."""
        tree = self.snapshot.tree
        return None if tree is None else frame_for(tree, *self.content_size)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._strips.clear()

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        frame = self.frame()
        canvas = self._draw(frame) if frame is not None else None
        if frame is None or canvas is None or y >= frame.rows:
            return Strip.blank(width, self.base_style)
        return self.line(canvas, y, frame, width)

    def line(self, canvas: Canvas, y: int, frame: ScreenFrame, width: int) -> Strip:
        """Return one row of cells, cached by its spans."""
        line = map_line(canvas, y, frame)
        key = (width, *line.spans)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self.paint(Row(line), width)
        return strip

    def _draw(self, frame: ScreenFrame) -> Canvas | None:
        tree, ascii_only = self.snapshot.tree, self.symbols.ascii
        drawn = (tree, self.marks, frame, ascii_only)
        if tree is not None and drawn != self._drawn:
            self._canvas = self._layers.draw(tree, self.marks, frame, ascii_only=ascii_only)
            self._drawn = drawn
        return self._canvas

    def nodes_at(self, place: Offset) -> list[UiNode]:
        """Return the nodes drawn on a cell, smallest first."""
        tree, frame = self.snapshot.tree, self.frame()
        return [] if tree is None or frame is None else nodes_at(tree, frame, place.x, place.y)

    def action_tap(self) -> None:
        self.post_message(self.TapWanted())

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self._pressed, self._swiped = event.get_content_offset(self) if event.button == 1 else None, False
        self.capture_mouse()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self.release_mouse()
        start, self._pressed = self._pressed, None
        frame = self.frame()
        if start is None or frame is None:
            return
        end = event.screen_offset - self.content_region.offset
        if abs(end.y - start.y) >= _DRAG_ROWS or abs(end.x - start.x) >= _DRAG_COLUMNS:
            self._swiped = True
            self.post_message(self.SwipeWanted(start, frame.pixel(*start), frame.pixel(*end)))

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        swiped, self._swiped = self._swiped, False
        if offset is None or swiped:
            return
        found = self.nodes_at(offset)
        if not found:
            return
        event.stop()
        if event.chain > 1 and event.button == 1:
            self.post_message(self.TapWanted(offset))
            return
        node = self.marks.node
        again = self._picked_at == offset and node in found
        self._picked_at = offset
        place = found.index(node) + 1 if again and node is not None else 0
        self.post_message(self.NodePicked(found[place % len(found)]))


class BoundsMap(ScreenView):
    """The screen as its tree describes it; needs no picture, colour or device."""
