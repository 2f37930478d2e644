"""The output of a skill line by line, and the state of its run."""

from __future__ import annotations

from collections.abc import Mapping

from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.skill_runs import Marker, SkillOutputLine, SkillRunState
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.times import duration

_TIME_CELLS = 8
_WITH_TIMES = 44
"""From this width on, a line begins with its time."""
_ROLES: Mapping[Marker, str] = {
    Marker.NONE: "text",
    Marker.RESULT: "strong",
    Marker.PICTURE: "accent",
    Marker.BEGIN: "faint",
    Marker.INSIDE: "node-text",
    Marker.END: "faint",
    Marker.DONE: "ok",
    Marker.FRAME: "accent",
    Marker.HOST: "muted",
}


def output_row(line: SkillOutputLine, began: float, width: int, symbols: Symbols = UNICODE) -> Row:
    """Return one line: seconds since the start, a sign for standard error, the text; ``RESULT`` fields one by one."""
    row = Line(width)
    if width >= _WITH_TIMES:
        row.add(f"{max(0.0, line.at - began):>{_TIME_CELLS - 2}.1f}  ", "faint")
    if line.stream == "stderr":
        row.add("! ", "warn")
    elif line.marker is Marker.HOST:
        row.add(f"{symbols.arrow} ", "faint")
    else:
        row.add(f"{symbols.match_first} " if line.marker in (Marker.RESULT, Marker.FRAME) else "  ", "ok")
    if line.marker is Marker.RESULT:
        _add_fields(row, line.text)
    else:
        row.device(line.text, "warn" if line.stream == "stderr" and line.marker is Marker.NONE else _ROLES[line.marker])
    if line.cut and row.width - row.cells > 20:
        row.add(f" … {line.cut:,} more", "faint")
    return Row(row)


def _add_fields(row: Line, text: str) -> None:
    """Append ``RESULT|price=4.99|unit=kg``: names muted, values strong."""
    for index, part in enumerate(text.strip().split("|")[1:]):
        name, equals, value = part.partition("=")
        if row.width - row.cells < 6:
            return
        row.add("  " if index else "").device(name, "muted" if equals else "strong")
        if equals:
            row.add("=", "faint").device(value, "strong")


def run_row(run: SkillRunState, now: float, width: int, symbols: Symbols = UNICODE, *, named: bool = False) -> Row:
    """Return the state: ``● 3.1 s of 120 s read-price.py C cancel``, ``✓ exit 0 12.3 s``; ``named``: with the skill id."""
    right = Line()
    if run.running:
        right.add("cancelling… " if run.stopping else "C cancel ", "warn" if run.stopping else "muted")
    else:
        right.add(f"{duration(run.seconds(now))} ", "muted")
    line = Line(width - right.cells - 1).add(f" {symbols.sign(run.status)} ", run.status.role)
    if run.running:
        limit = f" of {run.limit:.0f} s" if run.limit else ""
        line.add(f"{duration(run.seconds(now))}{limit} ", "strong")
    else:
        line.add(f"{end_words(run)} ", run.status.role if run.status is not Status.OK else "strong")
    if named:
        line.device(run.subject, "text", before=" ", room=max(8, line.width - line.cells - 20))
    return Row(line.device(run.kind, "muted", before=" "), right)


def end_words(run: SkillRunState) -> str:
    """Return ``exit 0``, ``cancelled`` or ``failed``."""
    if run.status is Status.SKIPPED:
        return "cancelled"
    if run.exit_code is not None:
        return f"exit {run.exit_code}"
    return "done" if run.status is Status.OK else "failed"


def run_words(run: SkillRunState) -> str:
    """Return the skill's short name for the header."""
    return run.subject.rpartition(".")[2] or run.subject
