"""Raw text line by line: cut at the pane with a count, or expanded and wrapped."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from clawperator.widgets.format.json_lines import LINES_OF_TEXT
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.slot import Sheet, Slot, fold_sign, folded, plain
from clawperator.widgets.format.stream import RowLook, log_row
from clawperator.widgets.format.symbols import UNICODE, Symbols

if TYPE_CHECKING:
    from clawperator.engine.logcat.entry import LogEntry
    from clawperator.widgets.models.line_ring import LineRing
    from clawperator.widgets.models.run_lines import RunLines

_BESIDE_MESSAGE = 34
"""Cells for fold sign, time, level and tag before a message."""


def log_slots(lines: RunLines, ring: LineRing, sheet: Sheet) -> Iterator[Slot]:
    """Yield the log lines of an execution with time, level and tag."""
    if lines.gone:
        yield plain("older log lines have left the buffer", "warn")
    elif not lines.numbers:
        yield plain("no log line names this execution", "faint")
    if lines.numbers:
        count = len(lines.numbers)
        yield plain(f"{count:,} log line{'s' * (count != 1)} in order of arrival", "faint")
    for number in lines.numbers:
        if number < ring.first:
            continue  # dropped meanwhile
        entry, place = ring[number], ("line", number)
        text = entry.message.rstrip("\n")
        opened = sheet.is_open(place, False) if len(text) > sheet.width - _BESIDE_MESSAGE or "\n" in text else None
        yield Slot(partial(_log_row, entry, sheet, opened), place, opened)
        if opened:
            yield from folded(text, sheet.width, indent=3, limit=LINES_OF_TEXT)
    if lines.more:
        yield plain("… later lines are not listed. Press t for the device log", "warn", indent=3)


def _log_row(entry: LogEntry, sheet: Sheet, opened: bool | None, width: int) -> Row:
    line = Line(width).add(f" {fold_sign(opened, sheet.symbols)}", "muted")
    look = RowLook(width - line.cells, sheet.clock, sheet.symbols)
    return Row(line.extend(log_row(entry, look).left))


def raw_slots(raw: str, sheet: Sheet, *, hidden: int = 0) -> Iterator[Slot]:
    """Yield one row per line of ``raw``; ``hidden`` further characters were not kept."""
    for number, text in enumerate(raw.split("\n")):
        place = ("raw", number)
        opened = sheet.is_open(place, False) if len(text) > sheet.width - 4 else None
        yield Slot(partial(raw_row, text, opened=opened, symbols=sheet.symbols), place, opened)
        if opened:
            yield from folded(text, sheet.width, indent=3, limit=LINES_OF_TEXT)
    if hidden:
        yield plain(f"… {hidden:,} more characters were not kept", "warn", indent=3)


def raw_row(text: str, width: int, *, opened: bool | None = None, symbols: Symbols = UNICODE) -> Row:
    """Return one line as far as it fits; opened, its length."""
    line = Line(width).add(f" {fold_sign(opened, symbols)} ", "muted")
    return Row(line.add(f"{len(text):,} characters", "faint") if opened else line.device(text, "text"))
