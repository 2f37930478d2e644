"""All devices at once: tiles, or rows where tiles have no space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING

from rich.segment import Segment
from textual import events
from textual.message import Message
from textual.strip import Strip

from clawperator.widgets import keys
from clawperator.widgets.format.bounds import Marks, draw_bounds, fit, frame_for
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.pixels import half_blocks, segments
from clawperator.widgets.format.roles import CURSOR, CURSOR_BLURRED
from clawperator.widgets.format.tiles import (
    GridLayout,
    Tile,
    grid_layout,
    screen_space,
    tile_edges,
    tile_rows,
    tile_words,
)
from clawperator.widgets.line_widget import LineWidget
from clawperator.widgets.text.safe import wrap

if TYPE_CHECKING:
    from clawperator.widgets.picture_view import Picture


class DeviceGrid(LineWidget, can_focus=True):
    """The owner passes ``Tile`` values with ``show``. The cursor stays on its device; ⏎ or a double click chooses it."""

    BINDINGS = keys.binding_list("grid")
    DEFAULT_CSS = "DeviceGrid { width: 1fr; height: 1fr; }"

    @dataclass(eq=False)
    class Chosen(Message):
        """Go to the device ``serial``."""

        serial: str

    def __init__(self, *, id: str) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.tiles: Sequence[Tile] = ()
        self.cursor = self.top = 0
        """The tile under the cursor, and the first visible row of tiles."""
        self._empty: Sequence[str] = ()
        self._pictures: Mapping[str, Picture] = {}
        self._drawn: dict[int, list[Strip]] = {}
        self._screens: dict[str, tuple[object, list[Strip]]] = {}

    def show(
        self, tiles: Sequence[Tile], empty: Sequence[str] = (), pictures: Mapping[str, Picture] = MappingProxyType({})
    ) -> None:
        """``empty`` are the sentences to show without tiles; a device's picture is shown unless its tree is newer."""
        if (tiles, empty) == (self.tiles, self._empty) and pictures == self._pictures:
            return
        self._pictures = dict(pictures)
        before, serial = self.cursor, self.tile.serial if self.tile is not None else ""
        self.tiles, self._empty = tiles, empty
        self._screens = {tile.serial: kept for tile in tiles if (kept := self._screens.get(tile.serial)) is not None}
        self.cursor = max(0, min(before, len(tiles) - 1))
        if not self.to_serial(serial) or self.cursor == before:
            self._scroll(0)  # it stays where the wheel left it

    @property
    def tile(self) -> Tile | None:
        """Return the tile under the cursor."""
        return self.tiles[self.cursor] if self.cursor < len(self.tiles) else None

    def to_serial(self, serial: str) -> bool:
        """Put the cursor on the tile of a device; return whether there is one."""
        place = next((index for index, tile in enumerate(self.tiles) if tile.serial == serial), None)
        if place is not None and place != self.cursor:
            self.move_to(place)
        return place is not None

    @property
    def arrangement(self) -> GridLayout:
        return grid_layout(len(self.tiles), *self.content_size)

    @property
    def on_screen(self) -> int:
        """Return how many tiles there is space for."""
        layout = self.arrangement
        return layout.columns * max(1, self.content_size.height // layout.height)

    def move_to(self, index: int) -> None:
        """Put the cursor on a tile, clamped, and scroll as little as needed to show it."""
        self.cursor = max(0, min(index, len(self.tiles) - 1))
        layout = self.arrangement
        row, visible = self.cursor // layout.columns, max(1, self.content_size.height // layout.height)
        self.top = max(row - visible + 1, min(self.top, row, self._last_top(layout, visible)))
        self._redraw()

    def _last_top(self, layout: GridLayout, visible: int) -> int:
        return max(0, -(-len(self.tiles) // layout.columns) - visible)

    def _redraw(self) -> None:
        self._drawn.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._screens.clear()
        self._drawn.clear()

    # -- painting

    def render_line(self, y: int) -> Strip:
        width, layout = self.content_size.width, self.arrangement
        if not self.tiles:
            return self.paint(self._empty_row(y, width), width)
        first, line = (self.top + y // layout.height) * layout.columns, y % layout.height
        shown = range(first, min(first + layout.columns, len(self.tiles)))
        if not shown or y - line + layout.height > max(self.content_size.height, layout.height):
            return Strip.blank(width, self.base_style)
        row = Strip.join([self._lines_of(index, layout)[line] for index in shown])
        return row.adjust_cell_length(width, self.base_style)

    def _empty_row(self, y: int, width: int) -> Row:
        texts = [part for text in self._empty for part in wrap(text, max(20, width - 2))]
        return Row(Line(width).add(" ").add(texts[y - 1], "muted") if 1 <= y <= len(texts) else Line(width))

    def _lines_of(self, index: int, layout: GridLayout) -> list[Strip]:
        if index not in self._drawn:
            draw = self._row_lines if layout.rows else self._tile_lines
            self._drawn[index] = draw(self.tiles[index], layout, here=index == self.cursor)
        return self._drawn[index]

    def _row_lines(self, tile: Tile, layout: GridLayout, *, here: bool) -> list[Strip]:
        over = self.overlay_style(CURSOR if self.has_focus else CURSOR_BLURRED) if here else None
        rows = tile_rows(tile, layout.width, self.symbols)
        strips = [self.paint(row, layout.width, over=over) for row in islice(rows, layout.height)]
        if over is None or not self.has_focus:
            return strips
        sign = Strip([Segment(self.symbols.cursor, self.role_style("accent") + over)], 1)
        return [Strip.join((sign, strip.crop(1))) for strip in strips]

    def _tile_lines(self, tile: Tile, layout: GridLayout, *, here: bool) -> list[Strip]:
        head, side, foot = tile_edges(tile, layout.width, self.symbols, here=here)
        edge = Strip([Segment(side, self.role_style("accent" if here else "guide"))], 1)
        screen = self._screen(tile, *screen_space(layout))
        used = screen[0].cell_length if screen else 0
        width, height = layout.width - 3 - used, layout.height - 2
        words = [self.paint(row, width) for row in islice(tile_words(tile, width, self.symbols), height)]
        gap, none, blank = (Strip.blank(cells, self.base_style) for cells in (1, used, width))
        lines = [
            Strip.join([edge, screen[y] if y < len(screen) else none, gap, words[y] if y < len(words) else blank, edge])
            for y in range(height)
        ]
        return [self.paint(head, layout.width), *lines, self.paint(foot, layout.width)]

    def _screen(self, tile: Tile, width: int, height: int) -> list[Strip]:
        """Return the picture, else the map of the tree, in strips of equal width; cached for each device."""
        tree, picture = tile.snapshot.tree, self._pictures.get(tile.serial)
        if picture is not None and picture.at < tile.snapshot.at:
            picture = None
        image = picture.image if picture is not None else None
        key = (tree, picture.digest if picture is not None else b"", width, height, self.symbols.ascii)
        known = self._screens.get(tile.serial)
        if known is not None and known[0] == key:
            return known[1]
        strips: list[Strip] = []
        if image is not None:
            frame = fit(image.size, width, height)
            if frame is not None:
                strips = [Strip(segments(row), frame.columns) for row in half_blocks(image, frame.columns, frame.rows)]
        elif tree is not None and (frame := frame_for(tree, width, height)) is not None:
            lines = draw_bounds(tree, Marks(), (width, height), ascii_only=self.symbols.ascii)
            end = frame.margin + frame.columns
            strips = [self.paint(Row(line), end).crop(frame.margin, end) for line in lines]
        self._screens[tile.serial] = key, strips
        return strips

    # -- keys and mouse

    def action_move(self, columns: int, rows: int) -> None:
        """Move to a neighbour; sideways also into the next or previous row."""
        index = self.cursor + columns + rows * self.arrangement.columns
        if 0 <= index < len(self.tiles):
            self.move_to(index)

    def action_page(self, pages: int) -> None:
        layout = self.arrangement
        self.move_to(self.cursor + pages * layout.columns * max(1, self.content_size.height // layout.height))

    def action_end(self, index: int) -> None:
        """Move to the first (0) or the last (-1) tile."""
        self.move_to(index % max(1, len(self.tiles)))

    def action_choose(self) -> None:
        if self.tile is not None:
            self.post_message(self.Chosen(self.tile.serial))

    def on_focus(self) -> None:
        self._redraw()

    def on_blur(self) -> None:
        self._redraw()

    def on_resize(self) -> None:
        self.move_to(self.cursor)

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        if offset is None:
            return
        event.stop()
        layout = self.arrangement
        column = offset.x // layout.width
        index = (self.top + offset.y // layout.height) * layout.columns + column
        if column < layout.columns and index < len(self.tiles):
            self.move_to(index)
            if event.chain > 1:
                self.action_choose()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        event.stop()
        self._scroll(1)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        event.stop()
        self._scroll(-1)

    def _scroll(self, rows: int) -> None:
        layout = self.arrangement
        visible = max(1, self.content_size.height // layout.height)
        self.top = max(0, min(self.top + rows * (3 if layout.rows else 1), self._last_top(layout, visible)))
        self._redraw()
