"""The screen drawn from its tree: outlines of touchable nodes, labels, and marks of the chosen node and of matches.
Pure.

The map and the overlay (marks only, on a screenshot) share geometry and marks. Both are drawn in layers, so that a
moved cursor redraws one outline and not the tree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil
from typing import TYPE_CHECKING, NamedTuple

from clawperator.widgets.format.lines import Line, Span
from clawperator.widgets.text.node_names import name_of
from clawperator.widgets.text.safe import cells, shorten, take

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import Bounds, UiNode, UiTree

_LIGHT = tuple("┌─┐│└┘[]")
_DOUBLE = tuple("╔═╗║╚╝«»")
_HEAVY = tuple("┏━┓┃┗┛┃┃")
_ASCII = tuple("+-+|++[]")
_ASCII_DOUBLE = tuple("#=#|##<>")
"""Corners and edges of an outline; the last two enclose a box that is too flat for one."""
_HATCH, _ASCII_HATCH = "░", "."
_FILLED_SHARE = 6
"""A match is hatched, and the chosen node filled, if at least so many of its size fit on the screen.

The content of a larger one would be hard to read, and each move of the cursor would send its area over the connection.
"""
_WIDE_TAIL = ""
"""Stands in the second cell of a wide character."""
_NAME_CELLS = 24

CLEAR = ""
"""Role of an overlay cell through which the picture shows."""

Box = tuple[int, int, int, int]


class Marks(NamedTuple):
    """The chosen node, the indexes of all matches, and the one that the device takes (-1: none)."""

    node: UiNode | None = None
    hits: frozenset[int] = frozenset()
    first: int = -1


class ScreenFrame(NamedTuple):
    """Layout of the screen in a pane: pixels per column and row, size in cells, left margin."""

    across: float
    down: float
    columns: int
    rows: int
    margin: int

    def pixel(self, column: int, row: int) -> tuple[int, int]:
        """Return the pixel at the centre of a cell of the pane, or of the nearest one of the screen."""
        column = max(0, min(column - self.margin, self.columns - 1))
        return int((column + 0.5) * self.across), int((max(0, min(row, self.rows - 1)) + 0.5) * self.down)

    def box(self, bounds: Bounds) -> Box:
        """Return left, top, and one behind right and bottom of the cells whose centre is inside; at least one, clipped."""
        left, top, right, bottom = bounds
        left, right = _span(left, right, self.across, self.columns)
        top, bottom = _span(top, bottom, self.down, self.rows)
        return left, top, right, bottom


def _span(start: int, end: int, pixels: float, limit: int) -> tuple[int, int]:
    first, last = ceil(start / pixels - 0.5), ceil(end / pixels - 0.5)
    if last <= first:  # smaller than a cell: the cell that it begins in
        first = int(start // pixels)
        last = first + 1
    if first >= 0 and last <= limit:
        return first, last
    first = max(0, min(first, limit - 1))
    return first, max(first + 1, min(last, limit))


def fit(screen: tuple[float, float], width: int, height: int) -> ScreenFrame | None:
    """Return the largest frame of a screen's shape (px) in ``width`` × ``height`` cells; ``None`` without a size."""
    screen_width, screen_height = screen
    if screen_width <= 0 or screen_height <= 0 or width < 4 or height < 3:
        return None
    pixels = max(screen_width / width, screen_height / 2 / height)
    columns, rows = max(1, round(screen_width / pixels)), max(1, round(screen_height / 2 / pixels))
    return ScreenFrame(screen_width / columns, screen_height / rows, columns, rows, (width - columns) // 2)


def frame_for(tree: UiTree, width: int, height: int) -> ScreenFrame | None:
    return fit((tree.screen.width, tree.screen.height), width, height)


class Canvas:
    """Glyphs and roles by cell. ``spans`` blanks the other half of an overwritten wide character."""

    def __init__(self, frame: ScreenFrame, role: str = "text") -> None:
        self.glyphs = [[" "] * frame.columns for _ in range(frame.rows)]
        self.roles = [[role] * frame.columns for _ in range(frame.rows)]
        self._wide: set[int] = set()
        """Rows with a wide character."""

    def copy(self) -> Canvas:
        other = object.__new__(Canvas)
        other.glyphs = [row.copy() for row in self.glyphs]
        other.roles = [row.copy() for row in self.roles]
        other._wide = self._wide.copy()
        return other

    def outline(self, box: Box, strokes: Sequence[str], role: str) -> None:
        """Draw along the inner edge of a box of at least two by two cells."""
        left, top, right, bottom = box
        corner, flat, other, upright, low, last = strokes[:6]
        inner = right - left - 2
        for y in range(top + 1, bottom - 1):
            self.glyphs[y][left] = self.glyphs[y][right - 1] = upright
            self.roles[y][left] = self.roles[y][right - 1] = role
        self.glyphs[top][left:right] = [corner, *[flat] * inner, other]
        self.glyphs[bottom - 1][left:right] = [low, *[flat] * inner, last]
        self.roles[top][left:right] = self.roles[bottom - 1][left:right] = [role] * (inner + 2)

    def bracket(self, box: Box, strokes: Sequence[str], role: str) -> None:
        """Draw the left and the right edge with their corners: a fourth of what a whole outline sends to the terminal."""
        left, top, right, bottom = box
        for x, edge in (
            (left, strokes[0] + strokes[3] * (bottom - top - 2) + strokes[4]),
            (right - 1, strokes[2] + strokes[3] * (bottom - top - 2) + strokes[5]),
        ):
            for y, stroke in enumerate(edge, top):
                self.glyphs[y][x], self.roles[y][x] = stroke, role

    def enclose(self, box: Box, strokes: Sequence[str], role: str) -> None:
        """As ``outline``; a box of one or two rows is put between two signs, so that its content stays visible."""
        left, top, right, bottom = box
        if right - left > 2 and bottom - top > 2:
            self.outline(box, strokes, role)
            return
        for y in range(top, bottom):
            self.glyphs[y][right - 1], self.roles[y][right - 1] = strokes[7], role
            self.glyphs[y][left], self.roles[y][left] = strokes[6], role

    def fill(self, box: Box, role: str) -> None:
        left, top, right, bottom = box
        for y in range(top, bottom):
            self.roles[y][left:right] = [role] * (right - left)

    def hatch(self, boxes: Iterable[Box], glyph: str, role: str) -> None:
        """Fill the blank cells of all boxes with ``glyph``."""
        covered = [0] * len(self.glyphs)
        for left, top, right, bottom in boxes:
            mask = (1 << right) - (1 << left)
            for y in range(top, bottom):
                covered[y] |= mask
        for y, mask in enumerate(covered):
            if mask:
                glyphs, roles = self.glyphs[y], self.roles[y]
                for x, present in enumerate(glyphs):
                    if present == " " and mask >> x & 1:
                        glyphs[x], roles[x] = glyph, role

    def write_in(self, box: Box, text: str, role: str) -> None:
        self.write_labels({box: text}, role)

    def write_labels(self, labels: dict[Box, str], role: str) -> None:
        """Write device text into the middle row of each box; one that would begin on a later one is left out."""
        taken = [bytearray(len(row)) for row in self.glyphs]
        for (left, top, right, bottom), text in reversed(labels.items()):
            inset = 2 if right - left > 8 else int(right - left > 4)
            row, x, y = taken[(top + bottom - 1) // 2], left + inset, (top + bottom - 1) // 2
            if not row[x]:
                free = row.find(1, x, right)
                end = self.write(x, y, shorten(text, (right if free < 0 else free) - x - min(inset, 1)), role, right)
                row[x:end] = b"\1" * (end - x)

    def write(self, x: int, y: int, safe: str, role: str, end: int) -> int:
        """Write ``safe`` text from column ``x`` up to column ``end``; return where it ended."""
        if safe.isascii():
            safe = safe[: max(0, end - x)]
            self.glyphs[y][x : x + len(safe)] = safe
            self.roles[y][x : x + len(safe)] = [role] * len(safe)
            return x + len(safe)
        self._wide.add(y)
        for character in safe:
            width = cells(character)
            if width == 0 or x + width > end:
                continue
            self.glyphs[y][x : x + width] = [character, _WIDE_TAIL][:width]
            self.roles[y][x : x + width] = [role] * width
            x += width
        return x

    def spans(self, y: int) -> list[Span]:
        """Return row ``y`` as runs of one role."""
        glyphs, roles = self.glyphs[y], self.roles[y]
        if y in self._wide:
            glyphs = _mended(glyphs)
        runs, start = [], 0
        for index in range(1, len(roles) + 1):
            if index == len(roles) or roles[index] != roles[start]:
                runs.append(("".join(glyphs[start:index]), roles[start]))
                start = index
        return runs


def _has_inside(box: Box) -> bool:
    return box[2] - box[0] >= 2 and box[3] - box[1] >= 2


def _mended(glyphs: list[str]) -> list[str]:
    """Blank the halves of overwritten wide characters, so that no column moves."""
    mended = glyphs.copy()
    for x, glyph in enumerate(glyphs):
        if glyph == _WIDE_TAIL:
            if x == 0 or cells(glyphs[x - 1]) != 2:
                mended[x] = " "
        elif cells(glyph) == 2 and (x + 1 == len(glyphs) or glyphs[x + 1] != _WIDE_TAIL):
            mended[x] = " "
    return mended


class Layers:
    """The map or the overlay of one tree; layers are kept until tree, matches or size change."""

    def __init__(self, *, overlay: bool = False) -> None:
        self._overlay = overlay
        self._base: tuple[object, Canvas] | None = None
        self._marked: tuple[object, Canvas] | None = None

    def draw(self, tree: UiTree, marks: Marks, frame: ScreenFrame, *, ascii_only: bool = False) -> Canvas:
        """Return a canvas of all layers, owned by the caller."""
        base_key = (tree, frame, ascii_only)
        if self._base is None or self._base[0] != base_key:
            base = (
                Canvas(frame, CLEAR) if self._overlay else _draw_screen(tree, frame, _ASCII if ascii_only else _LIGHT)
            )
            self._base = (base_key, base)
        marked_key = (base_key, marks.hits, marks.first)
        if self._marked is None or self._marked[0] != marked_key:
            marked = self._base[1].copy()
            _draw_hits(marked, tree, marks, frame, ascii_only=ascii_only, hatched=not self._overlay)
            self._marked = (marked_key, marked)
        canvas = self._marked[1].copy()
        if marks.node is not None:
            strokes = _ASCII if ascii_only else _HEAVY
            (_name_node if self._overlay else _draw_node)(canvas, frame, marks.node, strokes)
        return canvas


def draw_bounds(tree: UiTree, marks: Marks, size: tuple[int, int], *, ascii_only: bool = False) -> list[Line]:
    """Return the map for a pane of ``size`` cells."""
    frame = frame_for(tree, *size)
    if frame is None:
        return []
    canvas = Layers().draw(tree, marks, frame, ascii_only=ascii_only)
    return [map_line(canvas, y, frame) for y in range(frame.rows)]


def map_line(canvas: Canvas, y: int, frame: ScreenFrame) -> Line:
    line = Line(frame.margin + frame.columns).add(" " * frame.margin)
    for text, role in canvas.spans(y):
        line.add(text, role)
    return line


def _draw_screen(tree: UiTree, frame: ScreenFrame, strokes: Sequence[str]) -> Canvas:
    """Draw what no choice changes. Equal boxes are drawn once: a deep tree has many nodes on the same cells."""
    canvas = Canvas(frame)
    visible = [(item, frame.box(item.bounds)) for item in tree.on_screen]
    touchable = {
        box: "guide" if item.scrollable else "faint"
        for item, box in visible
        if _has_inside(box) and (item.clickable or item.long_clickable or item.scrollable)
    }
    for box, role in touchable.items():
        canvas.outline(box, strokes, role)
    labels = {box: item.label for item, box in visible if _bears_label(item)}
    canvas.write_labels(labels, "muted")
    return canvas


def _draw_hits(
    canvas: Canvas, tree: UiTree, marks: Marks, frame: ScreenFrame, *, ascii_only: bool, hatched: bool
) -> None:
    """Draw all matches (hatched on the map, between their side edges); the one that the device takes has a double outline."""
    nodes = [tree.nodes[index] for index in sorted(marks.hits) if index != marks.first]
    boxes = {frame.box(node.bounds): node for node in nodes if tree.is_on_screen(node)}
    first = tree.nodes[marks.first] if 0 <= marks.first < len(tree.nodes) else None
    if hatched:
        small = [box for box in boxes if _is_small(box, frame)]
        canvas.hatch(small, _ASCII_HATCH if ascii_only else _HATCH, "match")
    for box in boxes:
        enclose = canvas.bracket if hatched and box[3] - box[1] > 2 else canvas.enclose
        enclose(box, _ASCII if ascii_only else _LIGHT, "match")
    if hatched:
        canvas.write_labels({box: node.label for box, node in boxes.items() if _bears_label(node)}, "match")
    if first is not None:
        box = frame.box(first.bounds)
        canvas.enclose(box, _ASCII_DOUBLE if ascii_only else _DOUBLE, "match-current")
        if hatched and _bears_label(first):
            canvas.write_in(box, first.label, "match-current")


def _is_small(box: Box, frame: ScreenFrame) -> bool:
    left, top, right, bottom = box
    return (right - left) * (bottom - top) * _FILLED_SHARE <= frame.columns * frame.rows


def _bears_label(node: UiNode) -> bool:
    """Return whether the map shows the node's label: only leaves, because a label may come from a descendant."""
    return bool(node.label) and node.end == node.index + 1


def _draw_node(canvas: Canvas, frame: ScreenFrame, node: UiNode, strokes: Sequence[str]) -> None:
    box = frame.box(node.bounds)
    if _is_small(box, frame):
        canvas.fill(box, "here")
    if _has_inside(box):
        canvas.outline(box, strokes, "here")
    if node.label:
        canvas.write_in(box, node.label, "here")


def _name_node(canvas: Canvas, frame: ScreenFrame, node: UiNode, strokes: Sequence[str]) -> None:
    """Outline the chosen node on a picture with its name in the outline, which covers none of its content."""
    box = frame.box(node.bounds)
    canvas.enclose(box, strokes, "here")
    x, y, end = name_place(box, frame)
    canvas.write(x, y, take(name_of(node, _NAME_CELLS), min(_NAME_CELLS, end - x)), "here", end)


def name_place(box: Box, frame: ScreenFrame) -> tuple[int, int, int]:
    """Return column, row and end of an outlined node's name: in its upper edge, else above, else below."""
    left, top, right, bottom = box
    if bottom - top > 2 and right - left >= 12:
        return left + 1, top, right - 1
    y = top - 1 if top else min(bottom, frame.rows - 1)
    return max(0, min(left, frame.columns - _NAME_CELLS)), y, frame.columns


def nodes_at(tree: UiTree, frame: ScreenFrame, column: int, row: int) -> list[UiNode]:
    """Return the nodes drawn on a cell, smallest first; of equal ones the one drawn last."""
    column -= frame.margin
    found = []
    for item in tree.on_screen:
        left, top, right, bottom = frame.box(item.bounds)
        if left <= column < right and top <= row < bottom:
            found.append((item.bounds.width * item.bounds.height, -item.index, item))
    return [item for _, _, item in sorted(found, key=lambda entry: entry[:2])]
