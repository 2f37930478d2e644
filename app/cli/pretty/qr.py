"""A QR code drawn with characters, in black on white whatever the colours of the terminal are."""

from __future__ import annotations

import os
import shutil

from clawperator.app.cli import diagnostics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_BORDERS = (4, 2)
"""Light modules around the code: what the standard requires, and what scanners still accept."""
_BLACK_ON_WHITE = "\x1b[38;5;16;48;5;231m"
_BLACK, _WHITE = "\x1b[48;5;16m", "\x1b[48;5;231m"
_RESET = "\x1b[0m"
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}

Rows = list[list[bool]]
"""Modules from the top left corner; ``True`` is dark."""


def for_terminal(payload: str, env: Mapping[str, str] = os.environ) -> list[str]:
    """Return lines for the terminal at stderr; none if it is too narrow for a code that can be scanned."""
    coloured = not env.get("NO_COLOR") and env.get("TERM") != "dumb"
    columns = shutil.get_terminal_size().columns
    return drawing(payload, columns, blocks=diagnostics.takes("▀"), coloured=coloured)


def drawing(payload: str, columns: int, *, blocks: bool, coloured: bool) -> list[str]:
    """Return the code as lines of at most ``columns`` cells: with ``blocks`` a cell has two modules, else a module two cells.

    Without colours, the light modules are drawn: correct on a dark terminal.
    """
    for border in _BORDERS:
        rows = modules(payload, border)
        if len(rows[0]) * (1 if blocks else 2) <= columns:
            return _with_blocks(rows, coloured) if blocks else _with_ascii(rows, coloured)
    return []


def modules(payload: str, border: int) -> Rows:
    """Return the smallest code that holds ``payload``, with as much error correction as fits."""
    import segno

    code = segno.make(payload, error="l", micro=False, boost_error=True)
    return [[bool(module) for module in row] for row in code.matrix_iter(border=border)]


def _with_blocks(rows: Rows, coloured: bool) -> list[str]:
    pairs = zip(rows[::2], [*rows[1::2], [False] * len(rows[0])], strict=False)
    if coloured:
        return [_BLACK_ON_WHITE + _halves(upper, lower) + _RESET for upper, lower in pairs]
    return [_halves([not dark for dark in upper], [not dark for dark in lower]) for upper, lower in pairs]


def _halves(upper: Sequence[bool], lower: Sequence[bool]) -> str:
    return "".join(_HALVES[above, below] for above, below in zip(upper, lower, strict=True))


def _with_ascii(rows: Rows, coloured: bool) -> list[str]:
    if not coloured:
        return ["".join("  " if dark else "##" for dark in row) for row in rows]
    return ["".join(f"{_BLACK if dark else _WHITE}  " for dark in row) + _RESET for row in rows]
