"""A screenshot as a widget: in half blocks, or in the terminal's graphics protocol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rich.control import Control
from rich.segment import ControlType, Segment
from rich.style import Style
from textual import on
from textual.geometry import Region
from textual.strip import Strip
from textual.worker import Worker, WorkerState

from clawperator.widgets.bounds_map import ScreenView
from clawperator.widgets.format.bounds import CLEAR, Canvas, ScreenFrame, fit
from clawperator.widgets.format.pixels import Cells, Outline, half_blocks, outlined, segments
from clawperator.widgets.text.node_names import name_of

if TYPE_CHECKING:
    from PIL.Image import Image

    from clawperator.engine.hierarchy.tree import Bounds, UiNode

_WHITE = (255, 255, 255)
_NO_CELLS = [(ControlType.CURSOR_FORWARD, 0)]
"""Marks a segment as zero-width."""
_GAP = 4
"""Unchanged cells between changed ones that cost less than moving the cursor."""
_MOVE_BYTES, _STYLE_BYTES, _GLYPH_BYTES = 10, 42, 3
_SHAPE_TOLERANCE = 0.2
"""Share of the height that system bars outside the tree may take."""


@dataclass(frozen=True, slots=True, eq=False)
class Picture:
    """A screenshot. ``at`` is the request time (seconds since the epoch), ``size`` the device's pixels.

    ``image`` (mode RGB) is scaled down for a terminal; ``None`` with a ``problem``.
    """

    device_id: str
    at: float
    size: tuple[int, int] = (0, 0)
    image: Image | None = None
    problem: str = ""
    digest: bytes = b""
    """Of the file: equal screenshots are decoded and drawn once."""


class Drawing(NamedTuple):
    """An image in a graphics protocol.

    ``control`` is sent at its top left cell whenever it is painted; ``rows``, in ``style``, are the characters of its
    cells (none: blanks).
    """

    control: str
    rows: tuple[str, ...] = ()
    style: Style = Style.null()


class Graphics(Protocol):
    """A graphics protocol: its name, the cell size in pixels, and the encoder."""

    @property
    def name(self) -> str: ...
    @property
    def cell(self) -> tuple[int, int]: ...
    def encode(self, image: Image, columns: int, rows: int) -> Drawing:
        """Encode an image; slow, called in a worker thread."""
        ...


class PictureView(ScreenView):
    """The picture in half blocks; with ``graphics`` they are shown until the encoded drawing is ready."""

    OVERLAY = True

    def __init__(self, graphics: Graphics | None = None) -> None:
        super().__init__()
        self.picture: Picture | None = None
        self._graphics = graphics
        self._cells: tuple[object, Cells] | None = None
        self._drawing: tuple[object, ScreenFrame, Drawing] | None = None
        self._wanted: object = None
        self._encoding: tuple[object, ScreenFrame, Picture] | None = None
        self.sent = 0
        """About how many bytes the last picture sends to the terminal."""

    def show_picture(self, picture: Picture | None) -> None:
        """Show a picture, of an equal one only its time; ``None`` releases the last one. Draws the changed cells."""
        before, old = self.picture, self._cells
        self.picture, self.sent = picture, 0
        if picture is before or (picture and before and picture.image is before.image):
            return
        self._cells = self._wanted = None
        if picture is None:
            self._drawing = None
        self._strips.clear()
        frame = self.frame() if self.display else None
        if self._graphics is not None and self._drawing is not None and frame is not None:
            self.sent = len(self._drawing[2].control)
            self._want(self._key(frame))  # the old drawing stays until the new one is ready
            return
        if self._graphics is not None or frame is None:
            self.refresh()
            return
        changes = [*_changes(old[1] if old is not None and old[0] == frame else (), self._pixels(frame))]
        self.sent = sum(cost for *_, cost in changes)
        if changes:
            self.refresh(*(Region(frame.margin + start, y, end - start, 1) for y, start, end, _ in changes))

    def frame(self) -> ScreenFrame | None:
        if self.picture is None or self.picture.image is None:
            return None
        tree = self.snapshot.tree
        size = self.picture.size if tree is None else seen_size(tree.screen, self.picture.size)
        return None if size is None else fit(size, *self.content_size)

    # -- half blocks

    def render_line(self, y: int) -> Strip:
        if self.snapshot.tree is not None:
            return super().render_line(y)
        frame, width = self.frame(), self.content_size.width
        if frame is None or y >= frame.rows:
            return Strip.blank(width, self.base_style)
        return self.line(Canvas(frame, CLEAR), y, frame, width)

    def line(self, canvas: Canvas, y: int, frame: ScreenFrame, width: int) -> Strip:
        spans = canvas.spans(y)
        key = (y, frame, width, *spans)
        strip = self._strips.get(key)
        if strip is None:
            strip = self._strips[key] = self._mixed(canvas, y, frame, width)
        return strip

    def _mixed(self, canvas: Canvas, y: int, frame: ScreenFrame, width: int) -> Strip:
        """Return one row: picture with marks."""
        pixels = self._pixels(frame)[y]
        parts = [Segment(" " * frame.margin, self.base_style)]
        x = 0
        for text, role in canvas.spans(y):
            columns = len(text) if role == CLEAR else Segment(text).cell_length
            parts += segments(pixels[x : x + columns]) if role == CLEAR else [self._segment(text, role)]
            x += columns
        parts.append(Segment(" " * (width - frame.margin - frame.columns), self.base_style))
        return Strip([part for part in parts if part.text], width)

    def _pixels(self, frame: ScreenFrame) -> Cells:
        assert self.picture is not None
        assert self.picture.image is not None
        if self._cells is None or self._cells[0] != frame:
            self._cells = (frame, half_blocks(self.picture.image, frame.columns, frame.rows))
        return self._cells[1]

    # -- graphics protocol

    def render_lines(self, crop: Region) -> list[Strip]:
        """Graphics replace all lines at once, and only while nothing covers them."""
        frame = self.frame()
        if self._graphics is None or frame is None or not self.screen.is_active:
            return super().render_lines(crop)
        key = self._key(frame)
        if self._drawing is None or self._drawing[0] != key:
            self._want(key)
        if self._drawing is None or self._drawing[1] != frame or crop != Region(0, 0, *self.size):
            return super().render_lines(crop)
        return self._painted(self._drawing[2], frame)

    def _key(self, frame: ScreenFrame) -> object:
        """Return what a drawing depends on."""
        image = self.picture.image if self.picture is not None else None
        return (image, self.snapshot.tree, self.marks, frame, *self._colours())

    def _painted(self, drawing: Drawing, frame: ScreenFrame) -> list[Strip]:
        width, height = self.content_size
        left, rest = " " * frame.margin, " " * (width - frame.margin - frame.columns)
        rows = drawing.rows or (" " * frame.columns,) * frame.rows
        base = self.base_style
        strips = [Strip([Segment(left, base), Segment(row, drawing.style), Segment(rest, base)], width) for row in rows]
        strips += [Strip.blank(width, base)] * (height - len(strips))
        place, end = self.content_region.offset, self.content_region.bottom_right
        there = Control.move_to(place.x + frame.margin, place.y).segment.text
        back = Control.move_to(end.x, end.y - 1).segment.text
        control = Segment(there + drawing.control + back, Style.null(), _NO_CELLS)
        strips[-1] = Strip([*strips[-1], control], width)
        return strips

    def _colours(self) -> list[tuple[int, int, int]]:
        """Return the colours of a match, of the first match, and of the chosen node."""
        colours = [self.role_style(role).color for role in ("match", "match-current", "here")]
        return [_WHITE if colour is None else colour.get_truecolor() for colour in colours]

    def _want(self, key: object) -> None:
        """Request a drawing for ``key``. One drawing runs at a time; the latest request is next."""
        self._wanted = key
        if self._encoding is None:
            self._encode()

    def _encode(self) -> None:
        """Start the requested drawing in a thread."""
        frame, picture = self.frame(), self.picture
        if frame is None or picture is None or picture.image is None or self._graphics is None:
            self._wanted = None
            return
        outlines = self._outlines(frame, self._graphics.cell)
        self._encoding = (self._wanted, frame, picture)
        job = partial(_encode, self._graphics, picture.image, frame, outlines)
        self.run_worker(job, group="picture", thread=True)

    @on(Worker.StateChanged)
    def _encoded(self, message: Worker.StateChanged) -> None:
        if not message.worker.is_finished or self._encoding is None:
            return
        (key, frame, picture), self._encoding = self._encoding, None
        drawing = message.worker.result if message.state is WorkerState.SUCCESS else None
        if drawing is not None and self.picture is not None and self.picture.image is picture.image:
            self._drawing = (key, frame, drawing)
            self.refresh()
        if self._wanted == key:
            self._wanted = None
        else:
            self._encode()

    def _outlines(self, frame: ScreenFrame, cell: tuple[int, int]) -> list[Outline]:
        """Return the marks in pixels: matches first, so that nothing covers the chosen node."""
        tree, marks = self.snapshot.tree, self.marks
        if tree is None:
            return []
        match, current, here = self._colours()

        def outline(node: UiNode, colour: tuple[int, int, int], thickness: int, name: str = "") -> Outline:
            return Outline(_in_pixels(node.bounds, frame, cell), colour, thickness, name)

        found = [
            outline(tree.nodes[index], match, 2)
            for index in sorted(marks.hits)
            if index != marks.first and tree.is_on_screen(tree.nodes[index])
        ]
        if 0 <= marks.first < len(tree.nodes):
            found.append(outline(tree.nodes[marks.first], current, 4, "1"))
        if marks.node is not None:
            found.append(outline(marks.node, here, 4, name_of(marks.node, 24)))
        return found


def _encode(graphics: Graphics, image: Image, frame: ScreenFrame, outlines: list[Outline]) -> Drawing:
    size = frame.columns * graphics.cell[0], frame.rows * graphics.cell[1]
    return graphics.encode(outlined(image, size, outlines), frame.columns, frame.rows)


def _in_pixels(bounds: Bounds, frame: ScreenFrame, cell: tuple[int, int]) -> tuple[int, int, int, int]:
    across, down = cell[0] / frame.across, cell[1] / frame.down
    right, bottom = frame.columns * cell[0], frame.rows * cell[1]
    xs = [max(0, min(round(x * across), right)) for x in (bounds.left, bounds.right)]
    ys = [max(0, min(round(y * down), bottom)) for y in (bounds.top, bounds.bottom)]
    return xs[0], ys[0], xs[1], ys[1]


def seen_size(screen: Bounds, picture: tuple[int, int]) -> tuple[float, float] | None:
    """Return the picture's size in the tree's pixels; ``None`` where the two cannot be of the same screen. A tree does
    not contain the display's size: bars may be missing, and a dialog's tree is only its window. With an equal side
    or a smaller tree a pixel is a pixel; else the picture is scaled by its width.
    """
    width, height = picture
    if screen.empty or width <= 0 or height <= 0:
        return None
    inside = screen.width <= width and screen.height <= height
    if inside and (screen.width == width or screen.height == height):
        return picture
    scaled = height * screen.width / width
    if abs(scaled - screen.height) <= _SHAPE_TOLERANCE * screen.height:
        return screen.width, scaled
    return picture if inside else None


def _changes(old: Sequence[Sequence[bytes]], new: Cells) -> Iterator[tuple[int, int, int, int]]:
    """Yield row, first column, one behind the last, and about how many bytes draw it, for each changed stretch."""
    for y, row in enumerate(new):
        before = old[y] if y < len(old) else ()
        if before == row:
            continue
        changed = [x for x, cell in enumerate(row) if x >= len(before) or before[x] != cell]
        stretches = [[changed[0], changed[0]]]
        for x in changed[1:]:
            if x - stretches[-1][1] > _GAP:
                stretches.append([x, x])
            stretches[-1][1] = x
        for first, last in stretches:
            styles = 1 + sum(row[x] != row[x + 1] for x in range(first, last))
            yield y, first, last + 1, _MOVE_BYTES + styles * _STYLE_BYTES + (last - first) * _GLYPH_BYTES
