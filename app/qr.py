"""A QR code as characters, for the terminal and the console."""

from __future__ import annotations

NARROW = 2
"""Light modules around the code that scanners still accept."""
_BORDERS = (4, NARROW)
_BLACK_ON_WHITE = "\x1b[38;5;16;48;5;231m"
_BLACK, _WHITE = "\x1b[48;5;16m", "\x1b[48;5;231m"
_RESET = "\x1b[0m"
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}

Rows = list[list[bool]]
"""Modules from the top left corner; ``True`` is dark."""


def drawing(payload: str, columns: int, *, blocks: bool, coloured: bool) -> list[str]:
    """Return the code as lines of at most ``columns`` cells, black on white by escapes if ``coloured``; none if they do not fit.

    With ``blocks`` a cell has two modules, else a module two cells. Without colours, the light modules are drawn: correct
    on a dark terminal.
    """
    for border in _BORDERS:
        rows = modules(payload, border)
        if len(rows[0]) * (1 if blocks else 2) <= columns:
            if blocks:
                lines = plain(rows, dark=coloured)
                return [_BLACK_ON_WHITE + line + _RESET for line in lines] if coloured else lines
            return _with_ascii(rows) if coloured else plain(rows, dark=False, blocks=False)
    return []


def plain(rows: Rows, *, dark: bool, blocks: bool = True) -> list[str]:
    """Return lines without escapes that draw the dark modules, or the light ones."""
    drawn = [[module is dark for module in row] for row in rows]
    if not blocks:
        return ["".join("##" if module else "  " for module in row) for row in drawn]
    pairs = zip(drawn[::2], [*drawn[1::2], [not dark] * len(rows[0])], strict=False)
    return ["".join(_HALVES[pair] for pair in zip(upper, lower, strict=True)) for upper, lower in pairs]


def modules(payload: str, border: int) -> Rows:
    """Return the smallest code that holds ``payload``, with as much error correction as fits."""
    import segno

    code = segno.make(payload, error="l", micro=False, boost_error=True)
    return [[bool(module) for module in row] for row in code.matrix_iter(border=border)]


def _with_ascii(rows: Rows) -> list[str]:
    return ["".join(f"{_BLACK if dark else _WHITE}  " for dark in row) + _RESET for row in rows]
