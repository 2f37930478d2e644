"""What every drawing of ``--output pretty`` is made of: styles, texts that are safe for a terminal, plain tables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from clawperator.app.cli.output import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import RenderableType

GOOD, BAD, UNSURE, FAINT = "green", "bold red", "yellow", "dim"


def plain_table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0), header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def safe_text(value: object, style: str = "", *, lines: bool = False) -> Text:
    return Text(visible(value, lines=lines), style)


def warnings(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    for warning in data.get("warnings", ()):
        yield safe_text(f"warning: {warning.get('message', '')}", UNSURE)
