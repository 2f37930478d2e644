"""A run's timeline: the bar of its steps, its events, and words for each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.outcome_block import word_of
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.text.times import precise

if TYPE_CHECKING:
    from clawperator.widgets.models.execution import ExecutionState, StepState
    from clawperator.widgets.models.run_replay import Moment


def columns(moments: Sequence[Moment], room: int) -> list[int]:
    """Return the column of each moment on a bar of ``room`` cells: by time, or evenly where the run took none."""
    span = moments[-1].offset if moments else 0.0
    last = max(0, room - 1)
    if span <= 0:
        return [index * last // max(1, len(moments) - 1) for index in range(len(moments))]
    return [min(last, max(0, round(moment.offset / span * last))) for moment in moments]


def bar_line(
    run: ExecutionState, moments: Sequence[Moment], current: int, room: int, symbols: Symbols = UNICODE
) -> Line:
    """Return the steps as segments with alternating fill and, where there is room, their numbers."""
    line = Line(room)
    cells = _segments(run, moments, room)
    here = moments[current].step if moments else -1
    start = 0
    for end in range(1, room + 1):
        if end < room and cells[end] == cells[start]:
            continue
        step, width = cells[start], end - start
        if step < 0:
            line.add(symbols.bar_idle * width, "guide")
        else:
            role = run.steps[step].status.role
            name = f" {step + 1} "
            filling = (symbols.bar, symbols.bar_run)[step % 2]
            if width >= len(name) + 2:
                line.add(filling, role).add(name, "here" if step == here else "muted").add(
                    filling * (width - len(name) - 1), role
                )
            else:
                line.add(filling * width, role)
        start = end
    return line


def _segments(run: ExecutionState, moments: Sequence[Moment], room: int) -> list[int]:
    """Return for each cell the step that runs there (-1: none); every timed step has a cell."""
    cells = [-1] * room
    if not moments or not room:
        return cells
    began, span = moments[0].at, moments[-1].offset
    for index, step in enumerate(run.steps):
        if span <= 0 or math.isnan(step.started):
            continue
        ended = moments[-1].at if math.isnan(step.ended) else step.ended
        start = min(room - 1, max(0, round((step.started - began) / span * room)))
        end = min(room, max(start + 1, round((ended - began) / span * room)))
        cells[start:end] = [index] * (end - start)
    return cells


def ticks_line(moments: Sequence[Moment], current: int, room: int, symbols: Symbols = UNICODE) -> Line:
    """Return a sign for each moment: the playhead before trees, trees before retries."""
    signs: dict[int, tuple[int, str, str]] = {}
    for index, (moment, at) in enumerate(zip(moments, columns(moments, room), strict=True)):
        tree = moment.what == "tree"
        if index == current:
            sign = 3, symbols.match_first if tree else symbols.thumb, "match-current"
        elif tree:
            sign = 2, symbols.match, "match"
        else:
            sign = (1, "!", "warn") if moment.what == "retry" else (0, symbols.dot, "muted")
        signs[at] = max(signs.get(at, sign), sign)
    line = Line(room)
    for at, (_, glyph, role) in sorted(signs.items()):
        line.pad(at).add(glyph, role)
    return line


def moment_row(
    run: ExecutionState, moments: Sequence[Moment], current: int, width: int, symbols: Symbols = UNICODE
) -> Row:
    """Return number, time and description of the current moment."""
    moment = moments[current]
    line = Line(width).add(" ").add(f"{current + 1}/{len(moments)} ", "strong")
    line.add(f"+{precise(moment.offset)} of {precise(moments[-1].offset)} ", "muted").add(f"{symbols.dot} ", "faint")
    return Row(happening(line, run, moment))


def happening(line: Line, run: ExecutionState, moment: Moment) -> Line:
    """Append what happened at a moment."""
    match moment.what:
        case "begin":
            return line.add("run started")
        case "dispatched":
            return line.add("sent to the device")
        case "result":
            line.add("run ended: ").add(f"{word_of(run)} ", run.status.role)
            return line.device(run.code, run.status.role)
        case "interrupted":
            return line.add("last known event", "warn")
        case "tree":
            return _of_step(line.add("tree captured by "), run, moment)
        case "retry":
            return _of_step(line, run, moment).add(" retries: ", "warn").device(moment.detail, "warn")
        case "step":
            return _of_step(line, run, moment).add(" started")
    step = run.steps[moment.step]
    line = _of_step(line, run, moment).add(f" ended: {step.status.word} ", step.status.role)
    return line.device(step.code, "fail")


def _of_step(line: Line, run: ExecutionState, moment: Moment) -> Line:
    if moment.step < 0:
        return line.add("no known step", "muted")
    return line.add(f"step {moment.step + 1} ", "strong").device(
        _name(run.steps[moment.step]), "text", room=min(24, line.width // 5)
    )


def _name(step: StepState) -> str:
    return step.type or step.id


def tree_words(run: ExecutionState, moment: Moment) -> Line:
    """Return which tree was on screen at a moment, and its age."""
    if not run.trees:
        return Line().add("no tree was recorded", "faint")
    if moment.tree < 0:
        return Line().add("before the first tree", "faint")
    tree = run.trees[moment.tree]
    line = Line().add("tree", "muted")
    index = next((index for index, step in enumerate(run.steps) if tree.step_id and step.id == tree.step_id), -1)
    if index >= 0:
        line.add(f" of step {index + 1}", "muted")
    age = moment.at - tree.at
    line.add(f", {precise(age)} old" if age >= 0.001 else ", just captured", "muted")
    return line if tree.complete else line.add(", incomplete", "warn")
