"""Why there is no tree: the reason, what to do, and the keys, as the rows of an empty pane."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.status import Status

_WIDEST = 72
"""Cells of the text; in a wider pane it is centred."""


class StartState(NamedTuple):
    """``keys`` are the keys that help, each with what it does. Texts may be a device's."""

    status: Status
    reason: str
    steps: Sequence[str] = ()
    keys: Sequence[tuple[str, str]] = ()


class StartRow(NamedTuple):
    """One row; a click on it presses ``key``."""

    row: Row
    key: str = ""


def start_rows(state: StartState, width: int, symbols: Symbols = UNICODE) -> list[StartRow]:
    """Return the rows for a pane of ``width`` cells."""
    room = min(width - 2, _WIDEST)
    sign = f"{symbols.sign(state.status)} "
    rows = [
        StartRow(row) for row in wrapped(state.reason, room, "strong", lead=sign, lead_role=state.status.role, limit=4)
    ]
    for index, step in enumerate(state.steps):
        lead = f"  {index + 1}. " if len(state.steps) > 1 else "  "
        rows += [StartRow(Row(Line())) for _ in range(not index)]
        rows += [StartRow(row) for row in wrapped(step, room, lead=lead, lead_role="muted", limit=6)]
    for index, (key, action) in enumerate(state.keys):
        rows += [StartRow(Row(Line())) for _ in range(not index)]
        rows.append(StartRow(Row(Line(room).add(f"  {key}  ", "key").device(action)), key))
    left = max(1, (width - max(entry.row.left.cells for entry in rows)) // 2)
    return [StartRow(Row(Line(width).add(" " * left).extend(entry.row.left)), entry.key) for entry in rows]
