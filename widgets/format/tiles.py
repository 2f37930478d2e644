"""Devices as tiles, or as rows where tiles have no space: what is known of each, and the layout. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from clawperator.widgets.format.lines import Line, Row, column, wrapped
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.widgets.format.runs import RunFacts

MIN_WIDTH, MIN_HEIGHT = 36, 9
"""Cells of the smallest tile."""
_MAX_WIDTH, _MAX_HEIGHT = 80, 30
_ROWS_BELOW = 90
"""In a narrower grid each device is a row of one or two lines."""
_WORD_CELLS = 18
"""Columns that a screen leaves to the words beside it."""
_SCREEN_SHAPE = 0.9
"""Columns per row of a phone's screen: a cell is twice as high as wide."""
_LIGHT, _HEAVY, _ASCII, _ASCII_HEAVY = map(tuple, ("╭─╮│╰╯", "┏━┓┃┗┛", "+-+|++", "#=#|##"))


class Tile(NamedTuple):
    """One device: ``state`` and ``advice`` are empty while it is free, ``run`` is its last execution, begun ``ran``.

    ``seen`` says how old ``snapshot`` is, ``stale`` why it is out of date, ``problem`` why the last reading failed.
    """

    serial: str
    name: str
    about: str = ""
    status: Status = Status.OK
    state: str = ""
    advice: str = ""
    run: RunFacts | None = None
    ran: str = ""
    snapshot: TreeSnapshot = TreeSnapshot.EMPTY
    seen: str = ""
    stale: str = ""
    problem: str = ""
    chosen: bool = False

    @property
    def age_role(self) -> str:
        return "stale" if self.stale else "muted"

    @property
    def words(self) -> str:
        """The text that a search sees."""
        action = f"{self.run.action} {self.run.result}" if self.run is not None else ""
        return f"{self.name} {self.serial} {self.about} {self.state} {self.snapshot.package} {action} {self.problem}"


class GridLayout(NamedTuple):
    """Tiles side by side, and the size of each in cells; rows are one or two lines."""

    columns: int
    width: int
    height: int

    @property
    def rows(self) -> bool:
        return self.height <= 2


def grid_layout(count: int, width: int, height: int) -> GridLayout:
    """Return the layout with the largest screens that shows ``count`` tiles at once, else the one of the smallest tiles."""
    most = width // MIN_WIDTH
    if width < _ROWS_BELOW or height < MIN_HEIGHT:
        return GridLayout(1, width, 2 if count * 2 <= height else 1)
    layouts = [
        GridLayout(columns, min(_MAX_WIDTH, width // columns), min(_MAX_HEIGHT, height // -(-max(1, count) // columns)))
        for columns in range(1, min(most, max(1, count)) + 1)
    ]
    fitting = [layout for layout in layouts if layout.height >= MIN_HEIGHT]
    return max(fitting, key=_screen_rows, default=GridLayout(most, width // most, height // (height // MIN_HEIGHT)))


def _screen_rows(layout: GridLayout) -> float:
    return min(layout.height - 2, (layout.width - 3 - _WORD_CELLS) / _SCREEN_SHAPE)


def screen_space(layout: GridLayout) -> tuple[int, int]:
    """Return the cells of a tile that its screen may take."""
    return layout.width - 4 - _WORD_CELLS, layout.height - 2


def tile_edges(tile: Tile, width: int, symbols: Symbols, *, here: bool) -> tuple[Row, str, Row]:
    """Return the upper edge with the name, the side, and the lower edge with the age of the screen."""
    strokes = (_ASCII_HEAVY if here else _ASCII) if symbols.ascii else _HEAVY if here else _LIGHT
    left, flat, right, side, low, last = strokes
    frame = "accent" if here else "guide"
    mark = " in use " if tile.chosen else ""
    head = Line(width - 4 - len(mark)).add(f"{left}{flat} ", frame)
    head.add(f"{symbols.sign(tile.status)} ", tile.status.role).device(tile.name, "strong").add(" ", frame)
    head.add(flat * (width - 2 - len(mark) - head.cells), frame).add(mark, "accent").add(f"{flat}{right}", frame)
    age = Line(width - 6).device(f"{tile.seen}: {tile.stale}" if tile.stale else tile.seen, tile.age_role)
    foot = Line(width).add(low + flat * (width - 5 - age.cells) + " ", frame).extend(age).add(f" {flat}{last}", frame)
    return Row(head), side, Row(foot)


def tile_words(tile: Tile, width: int, symbols: Symbols) -> Iterator[Row]:
    """Yield state, app, last step and what kind of device it is."""
    if tile.state:
        yield from wrapped(tile.state, width, tile.status.role, lead="", limit=3)
        yield from wrapped(tile.advice, width, lead="", limit=3)
    if tile.problem:
        yield from wrapped(
            tile.problem, width, "fail", lead=f"{symbols.sign(Status.FAILED)} ", lead_role="fail", limit=4
        )
    yield from wrapped(tile.snapshot.package, width, "node-id", lead="", limit=2)
    if (run := tile.run) is not None:
        sign = f"{symbols.sign(run.status)} "
        yield from wrapped(run.action or run.result, width, lead=sign, lead_role=run.role, limit=3)
        yield from wrapped(run.result if run.action else "", width, run.role, lead="  ", limit=2)
        yield from wrapped(tile.ran, width, "muted", lead="  ", limit=1)
    yield Row(Line(width).device(tile.about, "faint"))
    if not tile.state and not tile.snapshot.readable:
        yield from wrapped("Press r to read the screen", width, "muted", lead="", limit=2)


def tile_rows(tile: Tile, width: int, symbols: Symbols) -> Iterator[Row]:
    """Yield name, state or app, and age of the screen; below them the last step."""
    right = Line(20).add(f"{tile.seen} ", tile.age_role)
    line = Line(width - right.cells - 1).add(f" {symbols.sign(tile.status)} ", tile.status.role)
    line.add(column(tile.name, max(18, width // 4)), "strong" if tile.chosen else "text").add(" ")
    state = ": ".join(filter(None, (tile.state, tile.advice)))
    if state or tile.problem:
        yield Row(line.device(state or tile.problem, tile.status.role if state else "fail"), right)
    else:
        yield Row(line.device(tile.snapshot.package, "node-id"), right)
    if (run := tile.run) is not None:
        below = Line(width).add("     ").add(f"{symbols.sign(run.status)} ", run.role)
        ran = Line(16).add(f"{tile.ran} ", "muted")
        below.width -= ran.cells + 1
        below.device(run.action, "text", room=max(8, below.width - below.cells - len(run.result) - 2))
        yield Row(below.add("  ").device(run.result, run.role) if run.result else below, ran)
    else:
        yield Row(Line(width).add("     ").device(tile.about, "faint"))
