"""Executions, stream problems and log lines as rows.

A row begins with the cells of the cursor and the fold arrow; then comes the time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from clawperator.widgets.format.lines import Line, Row, column
from clawperator.widgets.format.runs import facts_of, run_row
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.execution import ExecutionState, LiveLine, Mark, kind_word
from clawperator.widgets.text.safe import wrap
from clawperator.widgets.text.times import WallClock, precise

if TYPE_CHECKING:
    from clawperator.engine.logcat.entry import LogEntry

_LEVEL_ROLES = {"E": "fail", "F": "fail", "W": "warn", "I": "text", "D": "muted", "V": "faint"}
_TAG_ROLES = ("accent", "node-class", "node-id", "node-text", "node-desc", "moved", "run")
_TIME_CELLS = 10


class RowLook(NamedTuple):
    """What all rows of a pane share."""

    width: int
    clock: WallClock
    symbols: Symbols = UNICODE
    all_columns: bool = False
    """Whether device and mode have columns too."""

    def begin(self, fold: str = "", *, indent: int = 0) -> Line:
        """Return the cells before the time."""
        return Line(self.width).add(" " * (indent + 1)).add(fold or " ", "muted").add(" ")

    def time(self, at: float) -> str:
        """Return the time of day in exactly ten cells."""
        return f"{self.clock.time_of_day(at):<{_TIME_CELLS}}"

    @property
    def wide(self) -> bool:
        return self.width >= 100


# -- executions


def execution_row(execution: ExecutionState, look: RowLook, *, opened: bool | None = None) -> Row:
    """Return the row of a live run."""
    symbols = look.symbols
    start = look.begin("" if opened is None else symbols.open if opened else symbols.closed)
    start.add(f"{look.time(execution.started)} ", "muted")
    flags = _flags(execution, symbols)
    return run_row(facts_of(execution, look.clock), start, look.width, symbols, flags=flags, wide=look.all_columns)


def _flags(execution: ExecutionState, symbols: Symbols) -> str:
    flags = []
    if execution.late:
        flags.append(f"{symbols.late} late")
    if execution.foreign:
        flags.append(f"{symbols.foreign} foreign")
    if execution.duplicates:
        times = f" ×{execution.duplicates}" if execution.duplicates > 1 else ""
        flags.append(f"{symbols.duplicate} duplicate{times}")
    if execution.problem:
        flags.append(f"{symbols.malformed} malformed")
    return "  ".join(flags)


def live_row(
    live: LiveLine,
    width: int,
    clock: WallClock,
    symbols: Symbols = UNICODE,
    *,
    lead: str = "     ",
    since: float = math.nan,
) -> Row:
    """Return one live line below its execution; ``since``: with the time since then instead of the time of day."""
    at = clock.time_of_day(live.at) if math.isnan(since) else f"+{precise(live.at - since)}"
    line = Line(width).add(lead, "match-current").add(f"{at:<{_TIME_CELLS}}", "faint")
    line.add(f" {symbols.sign(live.status)} ", live.status.role)
    line.add(f"{column(kind_word(live.kind), 14)} ", "muted").device(live.text, "text")
    return Row(line, Line().add(f"{symbols.enter} tree ", "key") if live.tree else None)


def others_row(count: int, look: RowLook) -> Row:
    """Return the count of other log lines during an execution."""
    line = Line(look.width).add(" " * 5).add(f"{'':<{_TIME_CELLS}} {look.symbols.gap} ", "faint")
    line.add(f"{count:,} other log line{'s' * (count != 1)}", "faint")
    return Row(line, Line().add(f"{look.symbols.enter} show ", "key"))


# -- problems


def mark_row(mark: Mark, look: RowLook) -> Row:
    """Return a problem of the stream as a row."""
    symbols = look.symbols
    sign = {"malformed": symbols.malformed, "gap": symbols.gap, "dropped": symbols.dropped, "event": symbols.bullet}
    line = look.begin().add(look.time(mark.at), "muted").add(f" {sign[mark.kind]} ", "warn")
    match mark.kind:
        case "dropped":
            plural = "s" * (mark.count != 1)
            line.add(f"dropped {mark.count:,} message{plural} (burst): ", "warn").add(mark.text, "muted")
        case "gap":
            line.add(_gap_words(mark), "warn").device(mark.text, "muted")
        case "malformed":
            size = len(mark.raw)
            where = f", invalid at column {mark.column:,}" if mark.column else ""
            line.add(f"malformed envelope, {size:,} character{'s' * (size != 1)}{where}: ", "warn")
            line.device(mark.text, "text")
        case "event":
            line.add("Operator: ", "warn").device(mark.text, "text")
            if mark.count > 1:
                line.add(f"  ×{mark.count:,}", "muted")
    return Row(line, Line().add(f"{symbols.enter} raw ", "key") if mark.raw else None)


def _gap_words(mark: Mark) -> str:
    if math.isnan(mark.until):
        return "gap: log interrupted, reconnecting: "
    return f"gap: {precise(mark.until - mark.at)} of the log are missing: "


# -- log lines


@lru_cache(maxsize=4096)
def tag_role(tag: str) -> str:
    """Return the colour of a tag, always the same one."""
    return _TAG_ROLES[crc32(tag.encode("utf-8", "replace")) % len(_TAG_ROLES)]


def log_row(entry: LogEntry, look: RowLook, *, skip: int = 0) -> Row:
    """Return one device log line; ``skip`` characters of its message are scrolled out."""
    role = _LEVEL_ROLES.get(entry.level, "muted")
    stamp = look.clock.time_of_day(entry.time) if entry.time > 0 else entry.stamp[-12:-2]
    line = Line(look.width).add("  ").add(f"{stamp:<{_TIME_CELLS}}", "faint").add(f" {entry.level} ", role)
    if look.wide:
        pid = f"{entry.pid}" if entry.pid >= 0 else ""
        line.add(f"{pid:>6} ", _TAG_ROLES[entry.pid % len(_TAG_ROLES)])
        line.add(column(entry.tag, 18), tag_role(entry.tag)).add(" ")
    else:
        line.device(entry.tag, tag_role(entry.tag), room=14).add(": ", "faint")
    message = entry.message.rstrip("\n")
    if skip:
        line.add("…", "faint")
    return Row(line.device(message[skip:], role))


def entry_rows(entry: LogEntry, width: int, clock: WallClock) -> Iterator[Row]:
    """Yield one device log line in full."""
    role = _LEVEL_ROLES.get(entry.level, "muted")
    yield Row(Line(width).add(f" {entry.level} ", role).device(entry.tag, "strong"))
    line = Line(width).add("   ").add(clock.time_of_day(entry.time) or entry.stamp, "muted")
    for name, number in (("pid", entry.pid), ("tid", entry.tid), ("uid", entry.uid)):
        if number >= 0:
            line.add(f"  {name} ", "faint").add(str(number), "muted")
    yield Row(line.add("  buffer ", "faint").device(entry.buffer, "muted") if entry.buffer else line)
    yield Row(Line(width))
    for text in wrap(entry.message.rstrip("\n"), max(20, width - 2), limit=500):
        yield Row(Line(width).add(" ").add(text, "text"))
