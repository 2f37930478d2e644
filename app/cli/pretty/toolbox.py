"""What every drawing of ``--output pretty`` is made of: texts that are safe for a terminal, plain tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from clawperator.app.cli.output import is_terminal, visible
from clawperator.app.cli.pretty.styles import UNSURE

_UNBOUNDED = 10_000_000
"""Columns without a terminal: rows stay whole for ``grep``."""

Data = Mapping[str, Any]
Drawing = Iterator[RenderableType]
Part = object
"""Text with hidden characters (``visible`` spells them out), such text with a style, or text that is safe already."""

Columns = Mapping[str, str | Callable[[Any], Part]]
"""Header → the key or attribute of a row, or a function of the row."""


def safe_text(value: object, style: str = "", *, lines: bool = False) -> Text:
    """Return text with hidden characters spelled out; ``lines`` keeps line feeds and tabs."""
    return Text(visible(value, lines=lines), style)


def part(value: Part) -> Text:
    """Return one part of a line, or one cell of a table."""
    if isinstance(value, Text):
        return value
    return safe_text(*value) if isinstance(value, tuple) else safe_text(value)


def line(*parts: Part) -> Text:
    """Return the parts as one line."""
    return Text.assemble(*map(part, parts))


def plain_table(columns: Iterable[str], rows: Iterable[Iterable[Part]]) -> Table:
    """Return a table without borders."""
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*map(part, row))
    return table


def records(rows: Iterable[Any], columns: Columns) -> Table:
    """Return a table of mappings or objects."""

    def cell(row: Any, column: str | Callable[[Any], Part]) -> Part:
        if callable(column):
            return column(row)
        return row.get(column, "") if isinstance(row, Mapping) else getattr(row, column)

    return plain_table(columns, ((cell(row, column) for column in columns.values()) for row in rows))


class FittingRecords:
    """The table of ``records``; columns of ``spare`` are left out, in this order, until it fits the terminal."""

    def __init__(self, rows: Sequence[Any], columns: Columns, *, spare: Sequence[str]) -> None:
        self._rows, self._columns, self._spare = rows, dict(columns), spare

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        table, unbounded = records(self._rows, self._columns), options.update(width=_UNBOUNDED)
        for name in self._spare:
            if console.measure(table, options=unbounded).maximum <= options.max_width:
                break
            del self._columns[name]
            table = records(self._rows, self._columns)
        yield table


def warnings(data: Data) -> Drawing:
    """Draw the warnings of a document."""
    for warning in data.get("warnings", ()):
        yield safe_text(f"warning: {warning.get('message', '')}", UNSURE)


def as_json(value: object) -> str:
    """Return compact JSON for people."""
    return json.dumps(value, ensure_ascii=False)


def cut(text: str, length: int) -> str:
    """Return at most ``length`` characters, the last of which says that there are more."""
    return text if len(text) <= length else text[: length - 1] + "…"


def render(renderables: Iterable[RenderableType]) -> bytes:
    """Return what is to be written to stdout; with colours only on a terminal that wants them."""
    canvas = StringIO()
    terminal = is_terminal()
    console = Console(
        file=canvas,
        force_terminal=terminal,
        width=None if terminal else _UNBOUNDED,
        markup=False,
        highlight=False,
        emoji=False,
    )
    for renderable in renderables:
        console.print(renderable)
    text = canvas.getvalue()
    if not terminal:
        text = "".join(f"{line.rstrip()}\n" for line in text.splitlines())
    return text.encode(errors="backslashreplace")
