"""The screen as its tree describes it: an outline for what can be touched, the labels where they stand. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, NamedTuple

from clawperator.widgets.format.lines import Line
from clawperator.widgets.format.safe import cells, shorten

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import Bounds, UiNode, UiTree

_LIGHT = tuple("┌─┐│└┘")
_HEAVY = tuple("┏━┓┃┗┛")
_ASCII = tuple("+-+|++")
_WIDE_TAIL = ""
"""Stands in the second cell of a wide character."""


Box = tuple[int, int, int, int]


class Frame(NamedTuple):
    """How the screen is laid into a pane: ``pixels`` per column (a row is twice that), size in cells, left margin."""

    pixels: float
    columns: int
    rows: int
    margin: int

    def box(self, bounds: Bounds) -> Box:
        """Cells of a rectangle: left, top, and one behind right and bottom; at least one cell, clipped to the screen."""
        left, top = round(bounds.left / self.pixels), round(bounds.top / self.pixels / 2)
        right, bottom = round(bounds.right / self.pixels), round(bounds.bottom / self.pixels / 2)
        left, top = max(0, min(left, self.columns - 1)), max(0, min(top, self.rows - 1))
        return left, top, max(left + 1, min(right, self.columns)), max(top + 1, min(bottom, self.rows))


def frame_for(tree: UiTree, width: int, height: int) -> Frame | None:
    """The largest frame of the screen's shape in ``width`` × ``height`` cells; ``None`` where there is nothing to frame."""
    screen = tree.screen
    if screen.width <= 0 or screen.height <= 0 or width < 4 or height < 3:
        return None
    pixels = max(screen.width / width, screen.height / 2 / height)
    columns, rows = max(1, round(screen.width / pixels)), max(1, round(screen.height / 2 / pixels))
    return Frame(pixels, min(columns, width), min(rows, height), (width - min(columns, width)) // 2)


class _Canvas:
    """Characters and roles by cell."""

    def __init__(self, frame: Frame) -> None:
        self.glyphs = [[" "] * frame.columns for _ in range(frame.rows)]
        self.roles = [["text"] * frame.columns for _ in range(frame.rows)]

    def outline(self, box: Box, strokes: Sequence[str], role: str) -> None:
        left, top, right, bottom = box
        if right - left < 2 or bottom - top < 2:
            return
        corner, flat, other, upright, low, last = strokes
        for x in range(left, right):
            self._put(x, top, flat, role)
            self._put(x, bottom - 1, flat, role)
        for y in range(top, bottom):
            self._put(left, y, upright, role)
            self._put(right - 1, y, upright, role)
        for x, y, glyph in (
            (left, top, corner),
            (right - 1, top, other),
            (left, bottom - 1, low),
            (right - 1, bottom - 1, last),
        ):
            self._put(x, y, glyph, role)

    def fill(self, box: Box, role: str) -> None:
        left, top, right, bottom = box
        for y in range(top, bottom):
            self.roles[y][left:right] = [role] * (right - left)

    def write(self, box: Box, text: str, role: str) -> None:
        """``text`` in the middle row of a box, cut to it."""
        left, top, right, bottom = box
        inset = 2 if right - left > 8 else int(right - left > 4)
        y, x = (top + bottom - 1) // 2, left + inset
        for character in shorten(text, right - x - min(inset, 1)):
            width = cells(character)
            if width == 0 or x + width > right:
                continue
            self._put(x, y, character, role)
            if width == 2:
                self._put(x + 1, y, _WIDE_TAIL, role)
            x += width

    def _put(self, x: int, y: int, glyph: str, role: str) -> None:
        """Half of a wide character that is written over leaves a blank, so that no column moves."""
        row = self.glyphs[y]
        if row[x] == _WIDE_TAIL and x:
            row[x - 1] = " "
        if x + 1 < len(row) and row[x + 1] == _WIDE_TAIL and glyph != _WIDE_TAIL:
            row[x + 1] = " "
        row[x] = glyph
        self.roles[y][x] = role

    def lines(self, margin: int, width: int) -> list[Line]:
        return [self._line(glyphs, roles, margin, width) for glyphs, roles in zip(self.glyphs, self.roles, strict=True)]

    def _line(self, glyphs: Sequence[str], roles: Sequence[str], margin: int, width: int) -> Line:
        line = Line(width).add(" " * margin)
        start = 0
        for index in range(1, len(glyphs) + 1):
            if index == len(glyphs) or roles[index] != roles[start]:
                line.add("".join(glyphs[start:index]), roles[start])
                start = index
        return line


def draw_bounds(
    tree: UiTree,
    node: UiNode | None,
    hits: Collection[int],
    size: tuple[int, int],
    *,
    ascii_only: bool = False,
) -> list[Line]:
    """The map for a pane of ``size`` cells: touchable nodes outlined, labels in place, hits and the chosen node marked."""
    width, height = size
    frame = frame_for(tree, width, height)
    if frame is None:
        return []
    canvas = _Canvas(frame)
    visible = list(tree.on_screen)
    light = _ASCII if ascii_only else _LIGHT
    for item in visible:
        if item.clickable or item.long_clickable or item.scrollable:
            canvas.outline(frame.box(item.bounds), light, "guide" if item.scrollable else "faint")
    for item in visible:
        if item.label and item.end == item.index + 1:
            canvas.write(frame.box(item.bounds), item.label, "match" if item.index in hits else "muted")
    for item in visible:
        if item.index in hits:
            canvas.outline(frame.box(item.bounds), light, "match")
    if node is not None:
        _mark(canvas, frame, node, _ASCII if ascii_only else _HEAVY)
    return canvas.lines(frame.margin, width)


def _mark(canvas: _Canvas, frame: Frame, node: UiNode, strokes: Sequence[str]) -> None:
    """The chosen node: its area in the cursor's colour, its outline heavy, its label on top."""
    box = frame.box(node.bounds)
    canvas.fill(box, "here")
    canvas.outline(box, strokes, "here")
    if node.label:
        canvas.write(box, node.label, "here")


def nodes_at(tree: UiTree, frame: Frame, column: int, row: int) -> list[UiNode]:
    """The nodes under a cell of the map, smallest first; of equal ones the one drawn last."""
    column -= frame.margin
    found = []
    for item in tree.on_screen:
        left, top, right, bottom = frame.box(item.bounds)
        if left <= column < right and top <= row < bottom:
            found.append((item.bounds.width * item.bounds.height, -item.index, item))
    return [item for _, _, item in sorted(found, key=lambda entry: entry[:2])]
