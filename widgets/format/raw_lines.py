"""Raw text line by line, exactly as it was: cut at the pane with a count, or opened and folded."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from clawperator.widgets.format.json_lines import LINES_OF_TEXT
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.slot import Sheet, Slot, fold_sign, folded, plain
from clawperator.widgets.format.symbols import UNICODE, Symbols


def raw_slots(raw: str, sheet: Sheet, *, hidden: int = 0) -> Iterator[Slot]:
    """One row per line of ``raw``; ``hidden`` characters behind it were not kept."""
    for number, text in enumerate(raw.split("\n")):
        place = ("raw", number)
        opened = sheet.is_open(place, False) if len(text) > sheet.width - 4 else None
        yield Slot(partial(raw_row, text, opened=opened, symbols=sheet.symbols), place, opened)
        if opened:
            yield from folded(text, sheet.width, indent=3, limit=LINES_OF_TEXT)
    if hidden:
        yield plain(f"… {hidden:,} more characters were not kept", "warn", indent=3)


def raw_row(text: str, width: int, *, opened: bool | None = None, symbols: Symbols = UNICODE) -> Row:
    """One line as it is, as far as it fits; opened, its length."""
    line = Line(width).add(f" {fold_sign(opened, symbols)} ", "muted")
    return Row(line.add(f"{len(text):,} characters", "faint") if opened else line.device(text, "text"))
