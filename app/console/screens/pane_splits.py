"""Resizing panes: ``{`` and ``}`` move the border beside the focused pane, separately for each size of terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from textual.css.scalar import Scalar
from textual.screen import Screen
from textual.widget import Widget

from clawperator.widgets.pane import Edge, Pane

STEP = 4
"""Cells per step sideways; up and down it is a quarter of that."""
_LEAST = {"width": 18, "height": 4}
_LEFT_TO_OTHERS = {"width": 30, "height": 8}
_NONE = -1
_TRACKS = {"width": "grid_columns", "height": "grid_rows"}
_SIZES = ("-narrow", "-medium", "-wide", "-short", "-normal", "-tall")


class _Border(NamedTuple):
    """What is resized, along which axis, and whether that has the same sign for the focused pane.

    ``widget`` itself, or one of the ``tracks`` of a grid: a column or a row.
    """

    widget: Widget
    axis: str
    sign: int
    track: int = _NONE

    @property
    def size(self) -> int:
        """Current size in cells."""
        if self.track == _NONE:
            return int(getattr(self.widget.outer_size, self.axis))
        return _track_sizes(self.widget, self.axis)[self.track]

    @property
    def most(self) -> int:
        """Maximum size in cells, which leaves space to the others."""
        if self.track == _NONE:
            assert isinstance(self.widget.parent, Widget)
            return int(getattr(self.widget.parent.size, self.axis)) - _LEFT_TO_OTHERS[self.axis]
        sizes, scalars = _track_sizes(self.widget, self.axis), _scalars(self.widget, self.axis)
        kept = sum(
            size
            for track, (size, scalar) in enumerate(zip(sizes, scalars, strict=True))
            if track != self.track and not scalar.is_fraction
        )
        return sum(sizes) - kept - _LEFT_TO_OTHERS[self.axis]


class PaneSplits:
    """Keeps the changed sizes for each size of terminal, and restores them."""

    def __init__(self, screen: Screen[None]) -> None:
        self._screen = screen
        self._chosen: dict[tuple[str, ...], dict[tuple[Widget, str], dict[int, int]]] = {}
        self._held: tuple[_Border, int] | None = None

    def change(self, pane: Pane, steps: int) -> bool:
        """Resize ``pane`` by that many steps; return whether there is a border to move."""
        border = _border_of(pane)
        if border is None:
            return False
        self._resize(border, border.size + border.sign * steps * _step(border.axis))
        return True

    def take(self, edge: Edge) -> None:
        """Start dragging this edge with the mouse."""
        border = _border_at(edge)
        self._held = (border, border.size) if border is not None else None

    def drag(self, cells: int) -> None:
        """Move the dragged edge, so far from where it was."""
        if self._held is not None:
            border, before = self._held
            step = _step(border.axis)
            self._resize(border, before + border.sign * round(cells / step) * step)

    def _resize(self, border: _Border, wanted: int) -> None:
        widget, axis, _, track = border
        size = max(_LEAST[axis], min(wanted, border.most))
        sizes = self._chosen.setdefault(self._size(), {}).setdefault((widget, axis), {})
        sizes[track] = size
        _set(widget, axis, sizes)

    def apply(self) -> None:
        """Apply the sizes kept for the current terminal size, and the stylesheet's for the rest."""
        here = self._chosen.get(self._size(), {})
        for chosen in self._chosen.values():
            for widget, axis in chosen:
                if (widget, axis) not in here:
                    _set(widget, axis, {})
        for (widget, axis), sizes in here.items():
            _set(widget, axis, sizes)

    def _size(self) -> tuple[str, ...]:
        return tuple(name for name in _SIZES if self._screen.has_class(name))


def _step(axis: str) -> int:
    return STEP if axis == "width" else STEP // 4


def _set(widget: Widget, axis: str, sizes: Mapping[int, int]) -> None:
    """Set these sizes of a widget or its tracks; without any, those of the stylesheet."""
    if _is_grid(widget):
        _set_tracks(widget, axis, {track: size for track, size in sizes.items() if track != _NONE})
    for rule in (axis, f"max_{axis}") if _NONE in sizes or not sizes else ():
        setattr(widget.styles, rule, sizes.get(_NONE))


def _set_tracks(grid: Widget, axis: str, sizes: Mapping[int, int]) -> None:
    rule = _TRACKS[axis]
    own = getattr(grid.styles.base, rule) or ()
    setattr(grid.styles, rule, [sizes.get(track, scalar) for track, scalar in enumerate(own)] if sizes else None)


def _border_of(pane: Pane) -> _Border | None:
    """Return what the keys resize: the border at its right, else left, below, above; a step enlarges ``pane``."""
    for axis in ("width", "height"):
        for way in (1, -1):
            if border := _border_at(Edge(pane, axis, way)):
                return border._replace(sign=border.sign * way)
    return None


def _border_at(edge: Edge) -> _Border | None:
    """Return what can be resized at that edge; ``None`` without anything."""
    node: Widget = edge.pane
    while isinstance(parent := node.parent, Widget):
        if _is_grid(parent):
            if border := _between_tracks(node, parent, edge):
                return border
        elif _axis_of(parent) == edge.axis and (beside := _beside(node, parent, edge)):
            for widget, sign in ((node, edge.way), (beside, -edge.way)):
                if not _takes_the_rest(widget, edge.axis):
                    return _Border(widget, edge.axis, sign)
            return None
        node = parent
    return None


def _beside(node: Widget, parent: Widget, edge: Edge) -> Widget | None:
    """Return the box that begins where ``node`` ends."""
    start, length = _place(node, parent, edge.axis)
    for box in parent.children:
        if box.display and (isinstance(box, Pane) or box.query(Pane)):
            begin, cells = _place(box, parent, edge.axis)
            if (begin == start + length) if edge.way > 0 else (begin + cells == start):
                return box
    return None


def _between_tracks(node: Widget, grid: Widget, edge: Edge) -> _Border | None:
    scalars, begins = _scalars(grid, edge.axis), _begins(grid, edge.axis)
    start, length = _place(node, grid, edge.axis)
    at = start + length if edge.way > 0 else start
    if len(scalars) != len(begins) or at not in begins[1:]:
        return None
    after = begins.index(at)
    if not scalars[after].is_fraction and scalars[after - 1].is_fraction:
        return _Border(grid, edge.axis, -1, after)
    return _Border(grid, edge.axis, 1, after - 1)


def _is_grid(widget: Widget) -> bool:
    return widget.styles.layout is not None and widget.styles.layout.name == "grid"


def _scalars(grid: Widget, axis: str) -> Sequence[Scalar]:
    """Return the size of each column or row."""
    return getattr(grid.styles, _TRACKS[axis]) or ()


def _place(node: Widget, grid: Widget, axis: str) -> tuple[int, int]:
    """Return where ``node`` begins in the grid, and its length, in cells."""
    here, whole = node.region, grid.content_region
    return (here.x - whole.x, here.width) if axis == "width" else (here.y - whole.y, here.height)


def _begins(grid: Widget, axis: str) -> list[int]:
    """Return where columns or rows begin."""
    return sorted({_place(child, grid, axis)[0] for child in grid.children if child.display})


def _track_sizes(grid: Widget, axis: str) -> list[int]:
    begins = _begins(grid, axis)
    ends = [*begins[1:], getattr(grid.size, axis)]
    return [end - begin for begin, end in zip(begins, ends, strict=True)]


def _axis_of(widget: Widget) -> str:
    layout = widget.styles.layout
    return "width" if layout is not None and layout.name == "horizontal" else "height"


def _takes_the_rest(widget: Widget, axis: str) -> bool:
    size = getattr(widget.styles, axis)
    return size is None or size.is_fraction
