"""The screen pane: off, the bounds map, or a screenshot with the same marks.

A screenshot is shown only where it matches the tree; else the map is shown, and ``words`` says why.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Container
from textual.geometry import Offset

from clawperator.widgets.bounds_map import BoundsMap
from clawperator.widgets.format.bounds import Marks
from clawperator.widgets.format.lines import Line
from clawperator.widgets.line_widget import AppValues
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.picture_view import Graphics, Picture, PictureView, seen_size
from clawperator.widgets.text.times import duration

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiNode

MODES = ("off", "map", "picture")
FRESH_SECONDS = 2.0
"""A tree this much newer than the screenshot may be of another screen."""
_TOO_OLD = "the picture is older than the tree"


class ScreenPane(AppValues, Container):
    """The screen pane. The owner passes snapshots with ``show`` and screenshots with ``show_picture``.

    ``mode`` is off, map or picture; in mode picture the map is shown until a screenshot arrives. An outdated screenshot
    changes the mode to map. ``pictures`` false: this terminal has no colours, ``cycle`` skips pictures.
    """

    DEFAULT_CSS = """
    ScreenPane {
        width: 1fr;
        height: 1fr;
    }
    """

    def __init__(
        self,
        *,
        graphics: Graphics | None = None,
        pictures: bool = True,
        mode: str = "map",
        id: str | None = None,  # noqa: A002  # Textual's own name
    ) -> None:
        super().__init__(id=id)
        self.mode = mode
        self.live = False
        """Whether new screenshots come by themselves: then an old one is not dropped."""
        self.pictures = pictures
        self._protocol = graphics.name if graphics is not None else "half blocks"
        self._map = BoundsMap()
        self._view = PictureView(graphics)
        self._view.display = False
        self._snapshot = TreeSnapshot.EMPTY
        self._hits: tuple[Collection[int], frozenset[int]] = ((), frozenset())
        self._picture: Picture | None = None
        self._drawn_of: object = None
        """The tree that the picture was matched to: the picture stays as long as it does."""
        self._why = ""

    def compose(self) -> ComposeResult:
        yield self._map
        yield self._view

    @property
    def showing(self) -> str:
        """Return ``map`` or ``picture``: what is shown unless the mode is off."""
        return "picture" if self._view.display else "map"

    def cycle(self) -> str:
        """Switch to the next mode. The owner shows or hides the pane, and takes the picture."""
        modes = MODES if self.pictures else MODES[:2]
        self.set_mode(modes[(modes.index(self.mode) + 1) % len(modes)])
        return self.mode

    def set_mode(self, mode: str) -> None:
        self.mode = mode
        self._picture, self._why = None, "waiting for the picture" if mode == "picture" else ""
        self._choose()

    def show(self, snapshot: TreeSnapshot, node: UiNode | None, hits: Collection[int] = (), first: int = -1) -> None:
        """``hits`` are indexes of matching nodes, ``first`` is the one that the device takes."""
        if hits is not self._hits[0]:
            self._hits = (hits, frozenset(hits))
        marks = Marks(node, self._hits[1], first)
        changed, self._snapshot = snapshot is not self._snapshot, snapshot
        self._map.show(snapshot, marks)
        self._view.show(snapshot, marks)
        if changed:
            self._choose()

    def show_picture(self, picture: Picture | None) -> None:
        """Show a picture, or none; ignored in the other modes."""
        if self.mode == "picture":
            self._picture, self._drawn_of = picture, None
            self._why = "" if picture is not None else "no picture"
            self._choose()

    def nodes_at(self, place: Offset) -> list[UiNode]:
        """Return the nodes at a cell of what is shown, smallest first."""
        return (self._view if self._view.display else self._map).nodes_at(place)

    def words(self) -> Line:
        """Return what is shown, its age, and why it is not the wanted picture."""
        line = Line()
        if self.mode == "off":
            return line
        if self._picture is None:
            return line.add("map").device(self._why, before=": ") if self._why else line.add("map")
        line.add("live " if self.live else "", "run")
        age = duration(self.clock.now() - self._picture.at)
        line.add(f"screenshot {age} old, {self._protocol}")
        if self._picture.at < self._snapshot.at and self.apart >= 1:
            line.add(f", {duration(self.apart)} older than the tree", "warn")
        return line

    @property
    def apart(self) -> float:
        """Return the seconds between the shown screenshot and the tree; 0 for the map, which is the tree."""
        if self._picture is None or self._snapshot.tree is None:
            return 0.0
        return abs(self._snapshot.at - self._picture.at)

    @property
    def sent(self) -> int:
        """Return about how many bytes the last picture sends to the terminal."""
        return self._view.sent if self._picture is not None else 0

    def _choose(self) -> None:
        """Show picture or map. A rejected picture is dropped: it is the largest object of the console."""
        if self._picture is not None:
            self._why = self._objection(self._picture)
            if self._why:
                self._picture = None
            if self._why is _TOO_OLD and self._drawn_of is not None:  # it was shown: the same key takes another one
                self.mode = "map"
        self._view.show_picture(self._picture)
        self._view.display, self._map.display = self._picture is not None, self._picture is None

    def _objection(self, picture: Picture) -> str:
        """Return why ``picture`` is not shown; empty if it is."""
        tree = self._snapshot.tree
        if picture.image is None:
            return picture.problem
        if tree is None:
            return ""
        if picture.device_id != self._snapshot.device_id:
            return "the picture is of another device"
        if seen_size(tree.screen, picture.size) is None:
            return "the picture has another shape than the tree"
        if not self.live and tree is not self._drawn_of and self._snapshot.at - picture.at > FRESH_SECONDS:
            return _TOO_OLD
        self._drawn_of = tree
        return ""
