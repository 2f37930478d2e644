"""Screen views: the map drawn from the tree, and the base that it shares with the picture."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import events
from textual.cache import LRUCache
from textual.geometry import Offset
from textual.message import Message
from textual.strip import Strip

from clawperator.widgets.format.bounds import Canvas, Layers, Marks, ScreenFrame, frame_for, map_line, nodes_at
from clawperator.widgets.format.lines import Row
from clawperator.widgets.line_widget import LineWidget
from clawperator.widgets.models.snapshot import TreeSnapshot

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiNode


class ScreenView(LineWidget):
    """Draws a snapshot with marks, only when visible and changed; a click picks a node."""

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

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.snapshot = TreeSnapshot.EMPTY
        self.marks = Marks()
        self._layers = Layers(overlay=self.OVERLAY)
        self._canvas: Canvas | None = None
        self._drawn: object = None
        self._strips: LRUCache[Hashable, Strip] = LRUCache(256)
        self._picked_at: Offset | None = None

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

    def on_click(self, event: events.Click) -> None:
        tree, frame, offset = self.snapshot.tree, self.frame(), event.get_content_offset(self)
        if tree is None or frame is None or offset is None:
            return
        found = nodes_at(tree, frame, offset.x, offset.y)
        if found:
            event.stop()
            node = self.marks.node
            again = self._picked_at == offset and node in found
            self._picked_at = offset
            place = found.index(node) + 1 if again and node is not None else 0
            self.post_message(self.NodePicked(found[place % len(found)]))


class BoundsMap(ScreenView):
    """The screen as its tree describes it; needs no picture, colour or device."""
