"""What a skill prints, line by line: what of it means something looks so; and how its run stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clawperator.widgets.format.jobs import problem_rows
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.skill_runs import Marker, SkillOutputLine, SkillRunState
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.safe import cells, wrap
from clawperator.widgets.text.times import duration

_TIME_CELLS = 8
_WITH_TIMES = 44
"""From this many cells on, a line begins with its moment."""
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
    """One line: seconds since the begin, a sign for standard error, the words; fields of a ``RESULT`` one by one."""
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
    """``RESULT|price=4.99|unit=kg``: names quiet, values loud."""
    for index, part in enumerate(text.strip().split("|")[1:]):
        name, equals, value = part.partition("=")
        if row.width - row.cells < 6:
            return
        row.add("  " if index else "").device(name, "muted" if equals else "strong")
        if equals:
            row.add("=", "faint").device(value, "strong")


def run_row(run: SkillRunState, now: float, width: int, symbols: Symbols = UNICODE, *, named: bool = False) -> Row:
    """How it stands: ``● 3.1 s of 120 s  read-price.py  C cancel``, ``✓ exit 0  12.3 s``; ``named``: which skill, too."""
    right = Line()
    if run.running:
        right.add("cancelling… " if run.stopping else "C cancel ", "warn" if run.stopping else "muted")
    else:
        right.add(f"{duration(run.seconds(now))} ", "muted")
    line = Line(width - right.cells - 1).add(f" {run.status.sign(ascii_only=symbols.ascii)} ", run.status.role)
    if run.running:
        limit = f" of {run.limit:.0f} s" if run.limit else ""
        line.add(f"{duration(run.seconds(now))}{limit} ", "strong")
    else:
        line.add(f"{end_words(run)} ", run.status.role if run.status is not Status.OK else "strong")
    if named:
        line.device(run.skill_id, "text", before=" ", room=max(8, line.width - line.cells - 20))
    return Row(line.device(run.what, "muted", before=" "), right)


def end_words(run: SkillRunState) -> str:
    """``exit 0``, ``cancelled``, ``failed``."""
    if run.status is Status.SKIPPED:
        return "cancelled"
    if run.exit_code is not None:
        return f"exit {run.exit_code}"
    return "done" if run.status is Status.OK else "failed"


def outcome_rows(run: SkillRunState, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Below the output: what came of it, in a sentence, and what can be done about it."""
    if run.running:
        return
    yield Row(Line(width))
    sign = run.status.sign(ascii_only=symbols.ascii)
    role = "text" if run.status is Status.OK else run.status.role
    for index, text in enumerate(wrap(run.words, max(10, width - cells(sign) - 3), limit=8)):
        lead = f" {sign} " if not index else " " * (cells(sign) + 2)
        yield Row(Line(width).add(lead, run.status.role).add(text, role))
    yield from problem_rows(run.code, run.hint, width, symbols)


def run_words(run: SkillRunState) -> str:
    """For the header: the intent says enough."""
    return run.skill_id.rpartition(".")[2] or run.skill_id
