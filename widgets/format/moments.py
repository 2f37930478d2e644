"""A run's timeline: the bar of its steps, its events, and words for each."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from clawperator.engine.logcat.stages import brief
from clawperator.widgets.format.lines import Line, Row, column
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.execution import kind_word
from clawperator.widgets.models.run_replay import STEP_STATES
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.times import WallClock, precise

if TYPE_CHECKING:
    from clawperator.engine.history.records import LineRecord, RunRecord, StepRecord
    from clawperator.widgets.models.run_replay import Moment

_LINE_ROLES = {
    "stage-retry": "warn",
    "stage-failure": "fail",
    "failure": "fail",
    "gave up": "fail",
    "step-success": "ok",
    "success": "ok",
    "result": "strong",
}
_QUIET = ("commandId", "taskId", "type")
"""Fields that are equal on every line of a run or internal to the Operator."""
_PLACE = re.compile(r"^\[[\w-]+\] ")
"""The Operator's component tag: the kind of the line says more."""


def columns(moments: Sequence[Moment], room: int) -> list[int]:
    """Return the column of each moment on a bar of ``room`` cells: by time, or evenly where the run took none."""
    span = moments[-1].offset if moments else 0.0
    last = max(0, room - 1)
    if span <= 0:
        return [index * last // max(1, len(moments) - 1) for index in range(len(moments))]
    return [min(last, max(0, round(moment.offset / span * last))) for moment in moments]


def bar_line(record: RunRecord, moments: Sequence[Moment], current: int, room: int, symbols: Symbols = UNICODE) -> Line:
    """Return the steps as segments with alternating fill and, where there is room, their numbers."""
    line = Line(room)
    cells = _segments(record, moments, room)
    here = moments[current].step if moments else -1
    start = 0
    for end in range(1, room + 1):
        if end < room and cells[end] == cells[start]:
            continue
        step, width = cells[start], end - start
        if step < 0:
            line.add(symbols.bar_idle * width, "guide")
        else:
            role = STEP_STATES.get(record.steps[step].status, Status.UNKNOWN).role
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


def _segments(record: RunRecord, moments: Sequence[Moment], room: int) -> list[int]:
    """Return for each cell the step that runs there (-1: none); every timed step has a cell."""
    cells = [-1] * room
    if not moments or not room:
        return cells
    began, span = moments[0].at, moments[-1].offset
    for index, step in enumerate(record.steps):
        if span <= 0 or math.isnan(step.started_at):
            continue
        ended = moments[-1].at if math.isnan(step.ended_at) else step.ended_at
        start = min(room - 1, max(0, round((step.started_at - began) / span * room)))
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
    record: RunRecord, moments: Sequence[Moment], current: int, width: int, symbols: Symbols = UNICODE
) -> Row:
    """Return number, time and description of the current moment."""
    moment = moments[current]
    line = Line(width).add(" ").add(f"{current + 1}/{len(moments)} ", "strong")
    line.add(f"+{precise(moment.offset)} of {precise(moments[-1].offset)} ", "muted").add(f"{symbols.dot} ", "faint")
    return Row(happening(line, record, moment))


def happening(line: Line, record: RunRecord, moment: Moment) -> Line:
    """Append what happened at a moment."""
    match moment.what:
        case "begin":
            return line.add("run started")
        case "dispatched":
            return line.add("sent to the device")
        case "result":
            run = record.summary
            return line.device(run.status, "fail" if run.code else "ok", before="run ended: ", after=" ").device(
                run.code, "fail"
            )
        case "interrupted":
            return line.add("last known event", "warn")
        case "tree":
            return _of_step(line.add("tree captured by "), record, moment)
        case "retry":
            return _of_step(line, record, moment).add(" retries ", "warn").device(moment.detail, "warn")
        case "step":
            return _of_step(line, record, moment).add(" started")
    step = record.steps[moment.step]
    state = STEP_STATES.get(step.status, Status.UNKNOWN)
    return _of_step(line, record, moment).add(f" ended: {state.word} ", state.role).device(step.code, "fail")


def _of_step(line: Line, record: RunRecord, moment: Moment) -> Line:
    if moment.step < 0:
        return line.add("no known step", "muted")
    return line.add(f"step {moment.step + 1} ", "strong").device(
        _name(record.steps[moment.step]), "text", room=min(24, line.width // 5)
    )


def _name(step: StepRecord) -> str:
    return step.type or step.id


def tree_words(record: RunRecord, moment: Moment) -> Line:
    """Return which tree was on screen at a moment, and its age."""
    if not record.trees:
        return Line().add("no tree was recorded", "faint")
    if moment.tree < 0:
        return Line().add("before the first tree", "faint")
    tree = record.trees[moment.tree]
    line = Line().add("tree", "muted")
    index = next((index for index, step in enumerate(record.steps) if tree.step_id and step.id == tree.step_id), -1)
    if index >= 0:
        line.add(f" of step {index + 1}", "muted")
    age = moment.at - tree.at
    line.add(f", {precise(age)} old" if age >= 0.001 else ", just captured", "muted")
    return line if tree.complete else line.add(", incomplete", "warn")


def line_row(
    record: LineRecord, began: float, width: int, *, current: bool, clock: WallClock, symbols: Symbols = UNICODE
) -> Row:
    """Return one live line: offset from the start, kind, content."""
    offset = record.at - began
    line = Line(width).add(" ").add(symbols.closed if current else " ", "match-current").add(" ")
    if width >= _ROOMY:
        line.add(f"{clock.time_of_day(record.at):<10} ", "faint")
    line.add(f"{f'+{precise(offset)}' if not math.isnan(offset) else '':>8}  ", "muted")
    line.add(column(kind_word(record.kind), 13), _LINE_ROLES.get(record.kind, "text")).add("  ")
    return Row(line.device(brief(_content(record)), "match-current" if current else "muted"))


_ROOMY = 64
"""From this width on, the time of day stands beside the offset."""


def _content(record: LineRecord) -> str:
    """Return the line without the fields that all lines share."""
    if not record.fields:
        return _PLACE.sub("", record.text)

    shown = {name: value for name, value in record.fields.items() if name not in _QUIET and value not in ("", "{}")}
    return "  ".join(value if name == "id" else f"{name} {value}" for name, value in shown.items())
