"""How the panes of a screen share it: ``{`` and ``}`` move the border beside the focused pane, per size of terminal."""

from __future__ import annotations

from typing import NamedTuple

from textual.screen import Screen
from textual.widget import Widget

from clawperator.widgets.pane import Pane

STEP = 4
"""Cells by which a border moves sideways; up and down it is a quarter of that."""
_LEAST = {"width": 18, "height": 4}
_LEFT_TO_OTHERS = {"width": 30, "height": 8}
_SIZES = ("-narrow", "-medium", "-wide", "-short", "-normal", "-tall")


class _Border(NamedTuple):
    """What is made larger or smaller, along which axis, and whether growing the focused pane means growing it."""

    widget: Widget
    axis: str
    sign: int


class Shares:
    """Remembers what was changed for each size of terminal, and puts it back when that size returns."""

    def __init__(self, screen: Screen[None]) -> None:
        self._screen = screen
        self._chosen: dict[tuple[str, ...], dict[tuple[Widget, str], int]] = {}

    def change(self, pane: Pane, steps: int) -> bool:
        """Give ``pane`` that many steps more (or less); whether there is a border to move."""
        border = _border_of(pane)
        if border is None:
            return False
        widget, axis, sign = border
        parent = widget.parent
        assert isinstance(parent, Widget)
        whole = getattr(parent.size, axis)
        step = STEP if axis == "width" else STEP // 4
        wanted = getattr(widget.outer_size, axis) + sign * steps * step
        size = max(_LEAST[axis], min(wanted, whole - _LEFT_TO_OTHERS[axis]))
        self._chosen.setdefault(self._size(), {})[widget, axis] = size
        _set(widget, axis, size)
        return True

    def apply(self) -> None:
        """The terminal has another size: what was chosen for it, and the stylesheet's own shares for the rest."""
        here = self._chosen.get(self._size(), {})
        for chosen in self._chosen.values():
            for widget, axis in chosen:
                if (widget, axis) not in here:
                    _set(widget, axis, None)
        for (widget, axis), size in here.items():
            _set(widget, axis, size)

    def _size(self) -> tuple[str, ...]:
        return tuple(name for name in _SIZES if self._screen.has_class(name))


def _set(widget: Widget, axis: str, size: int | None) -> None:
    for rule in (axis, f"max_{axis}"):
        setattr(widget.styles, rule, size)


def _border_of(pane: Pane) -> _Border | None:
    """A border beside ``pane`` or beside a column that it stands in; where there is none, one above or below it."""
    return _along("width", pane) or _along("height", pane)


def _along(axis: str, pane: Pane) -> _Border | None:
    """The nearest box around ``pane`` that has a size of its own, or the neighbour whose size leaves the rest to it."""
    node: Widget = pane
    while isinstance(parent := node.parent, Widget):
        boxes = [child for child in parent.children if child.display and (isinstance(child, Pane) or child.query(Pane))]
        if _axis_of(parent) == axis and len(boxes) > 1:
            if not _takes_the_rest(node, axis):
                return _Border(node, axis, 1)
            fixed = [child for child in boxes if child is not node and not _takes_the_rest(child, axis)]
            if fixed:
                return _Border(fixed[-1], axis, -1)
        node = parent
    return None


def _axis_of(widget: Widget) -> str:
    layout = widget.styles.layout
    return "width" if layout is not None and layout.name == "horizontal" else "height"


def _takes_the_rest(widget: Widget, axis: str) -> bool:
    size = getattr(widget.styles, axis)
    return size is None or size.is_fraction
