"""The steps of an execution on a time axis, with the data or failure of each."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.slot import BLANK, Sheet, Slot, fold_sign, folded, plain
from clawperator.widgets.format.stream import live_row
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.format.verdict import code_sentences
from clawperator.widgets.format.waterfall import phase_row, step_row, total_row
from clawperator.widgets.models.execution import ExecutionState, StepState
from clawperator.widgets.models.execution_queries import node_taken
from clawperator.widgets.models.failed_matcher import code_of
from clawperator.widgets.models.outline import LONG_TEXT
from clawperator.widgets.models.status import Status
from clawperator.widgets.models.timeline import TimedStep, Timeline, timeline

_FEW = 6
"""With at most this many steps all are expanded at first."""
_INDENT = 8
_LINES_OF_TEXT = 2_000
_CUT_OFF = "It was running when the run ended without a result; its outcome is unknown."


def step_slots(execution: ExecutionState, sheet: Sheet) -> Iterator[Slot]:
    """Yield budget, steps, and the timeline."""
    line_of = timeline(execution, sheet.clock.now())
    if line_of.elapsed > 0:
        yield Slot(partial(total_row, line_of, over=execution.over, symbols=sheet.symbols))
    if execution.over and execution.steps and not line_of.timed:
        yield plain("no timing: only the result is known", "faint")
    if not line_of.steps:
        yield plain(_no_steps(execution), "muted")
    for step in line_of.steps:
        yield from _step(execution, step, line_of, sheet)
    if line_of.unreported and line_of.steps:
        count = line_of.unreported
        yield plain(f"and {count} more step{'s' * (count != 1)} without a report", "faint", indent=3)
    if execution.lines:
        yield from _live(execution, sheet)


def _no_steps(execution: ExecutionState) -> str:
    if not execution.over:
        return "No step has started yet."
    if execution.envelope is not None and execution.status is Status.OK:
        return "The plan had no steps to report."
    return "No step was reported."


def _step(execution: ExecutionState, step: TimedStep, line_of: Timeline, sheet: Sheet) -> Iterator[Slot]:
    place = ("step", step.number)
    role = "fail" if step.status is Status.FAILED else "warn" if step.cut_off else ""
    by_itself = bool(role) or len(line_of.steps) <= _FEW
    taken = node_taken(execution, step.step) if step.step is not None else ""

    has_more = step.step is not None and (_has_details(step.step) or role or taken)
    opened = sheet.is_open(place, by_itself) if has_more else None
    yield Slot(partial(step_row, step, line_of, opened=opened, symbols=sheet.symbols), place, opened, role)
    if opened and step.step is not None:
        if step.cut_off:
            yield from folded(_CUT_OFF, sheet.width, "warn", indent=_INDENT)
        elif role:
            code = code_of(execution, step.step)
            yield from _failure(code, sheet, explained=code == execution.code)
        if taken:
            yield from folded(f"node: {taken}", sheet.width, "muted", indent=_INDENT, limit=2)
        yield from _inside(step.step, step.number, sheet)


def _has_details(step: StepState) -> bool:
    return bool(step.data or step.note or step.retries)


def _failure(code: str, sheet: Sheet, *, explained: bool) -> Iterator[Slot]:
    """Yield the code, and unless the outcome has ``explained`` it, its meaning and the hint."""
    if not code:
        yield plain("No code; the reason is above.", "muted", indent=_INDENT)
        return
    if explained:
        yield Slot(lambda width: Row(Line(width).add(" " * _INDENT).device(code, "fail")))
        return
    first, *more = code_sentences(code)
    fits = _INDENT + len(code) + 2 + len(first.text) <= sheet.width
    words = f"  {first.text}" if fits else ""
    yield Slot(lambda width: Row(Line(width).add(" " * _INDENT).device(code, "fail").add(words, first.role)))
    if not fits:
        yield from folded(first.text, sheet.width, first.role, indent=_INDENT, limit=4)
    for hint in more:
        yield from folded(f"{sheet.symbols.arrow} {hint.text}", sheet.width, indent=_INDENT, limit=4)


def _inside(step: StepState, number: int, sheet: Sheet) -> Iterator[Slot]:
    if step.note:
        yield plain(f"{sheet.symbols.sign(Status.OK)} {step.note}", "muted", indent=_INDENT)
    if step.retries:
        times = "retry" if step.retries == 1 else "retries"
        last = f", the last one {step.retry}" if step.retry else ""
        yield from folded(f"{step.retries} {times}{last}", sheet.width, "warn", indent=_INDENT, limit=1)
    for key, value in step.data.items():
        shown = key == "error" and value == step.code
        if not shown and not (step.note and key in ("error", "message")):
            yield from _datum(str(key), str(value), number, sheet)


def _datum(key: str, text: str, number: int, sheet: Sheet) -> Iterator[Slot]:
    """Yield one value that a step returned: cut to its line, or expanded and wrapped."""
    place = ("datum", number, key)
    opened = sheet.is_open(place, False) if len(text) > LONG_TEXT else None
    yield Slot(partial(datum_row, key, text, opened=opened, symbols=sheet.symbols), place, opened)
    if opened:
        yield from folded(text, sheet.width, indent=_INDENT + 4, limit=_LINES_OF_TEXT)


def datum_row(key: str, text: str, width: int, *, opened: bool | None, symbols: Symbols) -> Row:
    """Return ``label  Wi‑Fi``; opened, the length of the value."""
    line = Line(width).add(" " * (_INDENT - 2)).add(f"{fold_sign(opened, symbols)} ", "muted")
    line.device(key, "faint", room=24).add("  ")
    return Row(line.add(f"{len(text):,} characters", "faint") if opened else line.device(text, "muted"))


def _live(execution: ExecutionState, sheet: Sheet) -> Iterator[Slot]:
    """Yield the timeline, expanded where nothing else is known."""
    place = ("live",)
    opened = sheet.is_open(place, not execution.over or not execution.steps)
    count = len(execution.lines)
    title = f"{fold_sign(opened, sheet.symbols)} timeline, {count:,} line{'s' * (count != 1)}"
    yield BLANK
    yield Slot(lambda width: Row(Line(width).add(f" {title}", "faint")), place, opened)
    if opened:
        for live in execution.lines:
            yield Slot(partial(live_row, live, clock=sheet.clock, symbols=sheet.symbols))


def phase_slots(execution: ExecutionState, sheet: Sheet) -> Iterator[Slot]:
    """Yield the phases of the host's work."""
    line_of = timeline(execution, sheet.clock.now())
    for phase in line_of.phases:
        yield Slot(partial(phase_row, phase, line_of, symbols=sheet.symbols), ("phase", phase.name))
    if line_of.phases:
        return
    if not execution.over:
        yield plain("Phases are available when the run has ended.", "muted")
    elif execution.ours:
        yield plain("No phase was measured: the run ended before the first one.", "muted")
    else:
        yield plain("Another process ran it: its phases are not in the device log.", "muted")
