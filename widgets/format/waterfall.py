"""A time axis as bars: lead-in dim, work solid, retries as ticks, the duration at the right edge."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import groupby

from clawperator.widgets.format.lines import Line, Row, Span, column
from clawperator.widgets.format.slot import fold_sign
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.status import Status
from clawperator.widgets.models.timeline import Phase, TimedStep, Timeline
from clawperator.widgets.text.times import duration, precise

_LEAST_BAR = 6
"""A narrower bar is not drawn."""
_TIME_CELLS = 10
_NEARLY = 0.8
"""From this share of the budget on, its use is a warning."""


def bar(
    room: int,
    start: float,
    end: float,
    length: float,
    role: str,
    *,
    ticks: Iterable[float] = (),
    symbols: Symbols = UNICODE,
) -> Iterator[Span]:
    """Yield ``start`` to ``end`` of ``length`` in ``room`` cells, at least one solid; blank where nothing was timed."""
    if room < _LEAST_BAR or math.isnan(start) or length <= 0:
        yield " " * max(0, room), "text"
        return
    first = min(_cell(start, length, room), room - 1)
    last = max(first + 1, round(max(0.0, min(1.0, end / length)) * room))
    cells = (
        [(symbols.bar_idle, "guide")] * first + [(symbols.bar, role)] * (last - first) + [(" ", "text")] * (room - last)
    )
    for tick in ticks:
        place = _cell(tick, length, room)
        if first < place < last:
            cells[place] = (symbols.guide, "warn")
    for (sign, tone), run in groupby(cells):
        yield sign * len(list(run)), tone


def _cell(moment: float, length: float, room: int) -> int:
    return int(max(0.0, min(1.0, moment / length)) * room)


def _barred(line: Line, room: int, spans: Iterable[Span]) -> Line:
    if room >= _LEAST_BAR:
        for text, role in spans:
            line.add(text, role)
    return line


def total_row(line_of: Timeline, width: int, *, over: bool, symbols: Symbols = UNICODE) -> Row:
    """Return how much of the budget is used."""
    used = duration(line_of.elapsed)
    line = Line(width).add(" ")
    if not line_of.budget:
        return Row(line.add(f"{used} {'total' if over else 'so far'}, budget unknown", "muted"))
    share = line_of.share
    role = "fail" if share >= 1 else "warn" if share >= _NEARLY else "muted" if over else "run"
    line.add(f"{used} of {line_of.budget:g} s", "text" if role == "muted" else role).add(f"  {share:.0%}  ", "muted")
    room = min(60, width - line.cells - 1)
    if room < _LEAST_BAR:
        return Row(line)
    solid = min(room, max(1, round(share * room)))
    return Row(line.add(symbols.bar * solid, role).add(symbols.bar_idle * (room - solid), "guide"))


def step_row(
    step: TimedStep, line_of: Timeline, width: int, *, opened: bool | None = None, symbols: Symbols = UNICODE
) -> Row:
    """Return a step: state, number, type and id, bar, duration."""
    sign = symbols.sign(step.status)
    line = (
        Line(width)
        .add(f" {fold_sign(opened, symbols)} ", "muted")
        .add(f"{sign} ", step.status.role)
        .add(f"{step.number:>2} ", "faint")
    )
    reported = step.step is not None
    line.add(column(step.type or "?", 14 if width < 60 else 19), "strong" if reported else "faint").add(" ")
    line.add(column(step.id, 10 if width < 100 else 18 if width < 160 else 26), "muted" if reported else "faint").add(
        " "
    )
    room = width - line.cells - _TIME_CELLS - 1
    spans = bar(room, step.start, step.until, line_of.length, step.status.role, ticks=step.ticks, symbols=symbols)
    return Row(
        _barred(line, room, spans), Line().add(f"{_time_words(step, line_of)} ", "muted" if reported else "faint")
    )


_REST_WORDS = {Status.IDLE: "pending", Status.SKIPPED: "not run", Status.UNKNOWN: "not seen"}


def _time_words(step: TimedStep, line_of: Timeline) -> str:
    if step.step is None:
        return _REST_WORDS.get(step.status, "")
    if math.isnan(step.start):
        return "not timed" if line_of.timed else ""
    if step.status is Status.RUNNING:
        return duration(step.until - step.start)
    return precise(step.seconds) or "no end"


def phase_row(phase: Phase, line_of: Timeline, width: int, symbols: Symbols = UNICODE) -> Row:
    """Return a phase of the host's work: name, meaning, bar, duration."""
    line = Line(width).add("   ").add(column(phase.name, 9), "strong").add(" ")
    if width >= 60:
        line.add(column(phase.meaning, 21), "muted").add(" ")
    room = width - line.cells - _TIME_CELLS - 1
    role = "run" if phase.name == "run" else "accent"
    spans = bar(room, phase.start, phase.start + phase.length, line_of.phases_length, role, symbols=symbols)
    return Row(_barred(line, room, spans), Line().add(f"{milliseconds(phase.length)} ", "muted"))


def milliseconds(length: float) -> str:
    """Return ``0.3 ms``, ``41 ms``, ``6.4 s``."""
    return f"{length:.1f} ms" if length < 9.95 else precise(length / 1000)
