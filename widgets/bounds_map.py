"""The screen pane: a map of the tree's bounds. Drawn from the tree alone; a click chooses the node there."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from textual import events
from textual.geometry import Offset
from textual.message import Message
from textual.strip import Strip

from clawperator.widgets.format.bounds import draw_bounds, frame_for, nodes_at
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.line_pane import LineWidget
from clawperator.widgets.models.snapshot import Snapshot

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiNode


class BoundsMap(LineWidget):
    """``show`` gives it a snapshot, the chosen node and the hits; drawn again only when one of them or its size changed."""

    DEFAULT_CSS = """
    BoundsMap {
        width: 1fr;
        height: 1fr;
    }
    """

    class NodePicked(Message):
        """``node`` was clicked; a click on the same place again picks the next larger one."""

        def __init__(self, node: UiNode) -> None:
            super().__init__()
            self.node = node

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self._snapshot = Snapshot.EMPTY
        self._node: UiNode | None = None
        self._hits: Collection[int] = ()
        self._lines: list[Line] = []
        self._drawn: object = None
        self._picked_at: Offset | None = None

    def show(self, snapshot: Snapshot, node: UiNode | None, hits: Collection[int]) -> None:
        if (snapshot.serial, node, hits) != (self._snapshot.serial, self._node, self._hits):
            self._snapshot, self._node, self._hits = snapshot, node, hits
            self.refresh()

    def render_line(self, y: int) -> Strip:
        size = self.content_size
        self._draw(size.width, size.height)
        if y >= len(self._lines):
            return Strip.blank(size.width, self.base_style)
        return self.paint(Row(self._lines[y]), size.width)

    def _draw(self, width: int, height: int) -> None:
        drawn = (self._snapshot.serial, self._node, self._hits, width, height, self.symbols.ascii)
        if drawn == self._drawn:
            return
        self._drawn = drawn
        tree = self._snapshot.tree
        ascii_only = self.symbols.ascii
        self._lines = (
            [] if tree is None else draw_bounds(tree, self._node, self._hits, (width, height), ascii_only=ascii_only)
        )

    def on_click(self, event: events.Click) -> None:
        tree, offset = self._snapshot.tree, event.get_content_offset(self)
        if tree is None or offset is None:
            return
        frame = frame_for(tree, *self.content_size)
        found = nodes_at(tree, frame, offset.x, offset.y) if frame is not None else []
        if found:
            event.stop()
            again = self._picked_at == offset and self._node in found
            self._picked_at = offset
            place = found.index(self._node) + 1 if again and self._node is not None else 0
            self.post_message(self.NodePicked(found[place % len(found)]))
