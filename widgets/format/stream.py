"""Executions, marks and log lines as rows of the stream, and the detail of one execution."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from clawperator.widgets.format.lines import Line, Row, column
from clawperator.widgets.format.safe import wrap
from clawperator.widgets.format.status import Status
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.format.times import Clock, duration, precise
from clawperator.widgets.models.executions import brief

if TYPE_CHECKING:
    from clawperator.engine.logcat.entries import LogEntry
    from clawperator.widgets.models.executions import Execution, LiveLine, Mark, Step

_LEVEL_ROLES = {"E": "fail", "F": "fail", "W": "warn", "I": "text", "D": "muted", "V": "faint"}
_BAR_CELLS = 24


def execution_row(
    execution: Execution, width: int, clock: Clock, symbols: Symbols = UNICODE, *, opened: bool | None = None
) -> Row:
    """Folded execution: when, state, command, source, steps done, what it is doing or why it failed; duration right."""
    status = execution.status
    right = Line()
    if flags := _flags(execution, symbols):
        right.add(f"{flags} ", "warn")
    right.add(f"{_elapsed(execution, clock):>8} ", status.role if status is Status.RUNNING else "muted")
    line = Line(width - right.cells - 2).add(" ")
    if opened is not None:
        line.add(f"{symbols.open if opened else symbols.closed} ", "muted")
    line.add(clock.time_of_day(execution.started, tenths=width >= 100), "muted")
    line.add(f" {status.sign(ascii_only=symbols.ascii)} ", status.role)
    if width >= 100:
        line.add(column(execution.command_id, 22), "strong")
        line.add(" ").add(column(execution.source, 14), "muted").add(" ")
        if width >= 160:
            line.add(column(execution.task_id, 18), "muted").add(" ")
    else:
        line.add(column(execution.command_id, 16), "strong").add(" ")
        if width >= 72:
            line.add(column(execution.source, 10), "muted").add(" ")
    _state_words(line, execution, symbols)
    return Row(line, right)


def _elapsed(execution: Execution, clock: Clock) -> str:
    """How long it took, or has taken so far: running ones without milliseconds that nobody can read."""
    seconds = execution.elapsed(clock.now())
    return precise(seconds) if execution.over else duration(seconds)


def _flags(execution: Execution, symbols: Symbols) -> str:
    flags = []
    if execution.late:
        flags.append(f"{symbols.late} late")
    if execution.duplicates:
        flags.append(
            f"{symbols.duplicate} duplicate" + (f" ×{execution.duplicates}" if execution.duplicates > 1 else "")
        )
    if execution.problem:
        flags.append(f"{symbols.malformed} malformed")
    return "  ".join(flags)


def _state_words(line: Line, execution: Execution, symbols: Symbols) -> None:
    """What it does now, or how it ended."""
    total = execution.action_count
    if execution.status is Status.WAITING:
        line.add("waits for the command before it", "muted")
    elif execution.status is Status.RUNNING:
        line.add(f"step {min(execution.steps_done + 1, total or 99)}/{total or '?'} ", "run")
        running = execution.running_step
        if running is not None:
            line.device(running.type or running.id, "text")
            if running.retry:
                line.add(f" {symbols.dot} ", "faint").add("retry ", "warn").device(running.retry, "warn")
    elif execution.code:
        line.device(execution.code, "warn" if execution.status is Status.WARN else "fail")
        if execution.message:
            line.add("  ").device(brief(execution.message), "muted")
    elif execution.message:
        line.add("failed  ", "fail").device(brief(execution.message), "muted")
    elif execution.looks:
        line.add(f"{execution.looks:,} look{'s' * (execution.looks != 1)} of follow mode", "faint")
    else:
        count = total or len(execution.steps)
        line.add(f"{count} step{'s' * (count != 1)}", "muted")
        if execution.snapshots:
            line.add(f" {symbols.dot} {execution.snapshots} snapshot{'s' * (execution.snapshots != 1)}", "muted")


def live_row(live: LiveLine, width: int, clock: Clock, symbols: Symbols = UNICODE) -> Row:
    """One sign of life below its execution."""
    line = Line(width)
    line.add("     ").add(clock.time_of_day(live.at), "faint")
    line.add(f" {live.status.sign(ascii_only=symbols.ascii)} ", live.status.role)
    line.add(f"{live.kind:<14} ", "muted").device(live.text, "text")
    return Row(line)


def mark_row(mark: Mark, width: int, clock: Clock, symbols: Symbols = UNICODE) -> Row:
    """Bad news as a row: it is never a toast and never silent."""
    sign = {"malformed": symbols.malformed, "gap": symbols.gap, "dropped": symbols.dropped}.get(
        mark.kind, symbols.bullet
    )
    line = Line(width).add("   ").add(clock.time_of_day(mark.at, tenths=width >= 100), "muted")
    line.add(f" {sign} ", "warn")
    if mark.kind == "dropped":
        count = int(mark.text) if mark.text.isdigit() else 0
        line.add(f"{count:,} message{'s' * (count != 1)} dropped: this console could not keep up", "warn")
    elif mark.kind == "gap":
        line.add("the log broke off, lines may be missing: ", "warn").device(mark.text, "muted")
    else:
        line.add("malformed envelope: ", "warn").device(mark.text, "muted")
    return Row(line)


def log_row(entry: LogEntry, width: int, clock: Clock) -> Row:
    """One line of the device log."""
    role = _LEVEL_ROLES.get(entry.level, "muted")
    line = Line(width).add(" ")
    line.add(clock.time_of_day(entry.time) or entry.stamp[-12:-2], "faint").add(f" {entry.level} ", role)
    if width >= 100:
        line.add(f"{entry.pid if entry.pid >= 0 else '':>6} ", "faint").add(column(entry.tag, 18), "muted").add(" ")
    else:
        line.device(entry.tag, "muted", room=14).add(": ", "faint")
    return Row(line.device(entry.message.rstrip("\n"), role))


def entry_rows(entry: LogEntry, width: int, clock: Clock) -> Iterator[Row]:
    """One line of the device log in full."""
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


# -- the detail of one execution


def headline(execution: Execution, width: int, clock: Clock, symbols: Symbols = UNICODE) -> list[Row]:
    """What it was and how it ended, in two or three lines."""
    status = execution.status
    first = (
        Line(width)
        .add(f" {status.sign(ascii_only=symbols.ascii)} ", status.role)
        .device(execution.command_id, "strong")
    )
    first.add(f"  {outcome(execution)}", status.role)
    rows = [Row(first, Line().add(f"{_elapsed(execution, clock)} ", "muted"))]
    second = Line(width).add("   ")
    second.add("source ", "faint").device(execution.source or "unknown", "muted", room=24)
    second.add("  task ", "faint").device(execution.task_id or "unknown", "muted", room=30)
    if execution.timeout_ms:
        second.add("  limit ", "faint").add(duration(execution.timeout_ms / 1000), "muted")
    if execution.ours:
        second.add("  sent from here", "faint")
    rows.append(Row(second))
    if execution.code or execution.message:
        rows += _reason(execution, width)
    return rows


def outcome(execution: Execution) -> str:
    """How it stands, in words: a plan that ran to its end although a step failed is its own case."""
    failed = sum(1 for step in execution.steps if step.status is Status.FAILED)
    if execution.status is Status.WARN:
        return f"plan ran to its end, {failed} step{'s' * (failed != 1)} failed"
    return "success" if execution.status is Status.OK else execution.status.word


def _reason(execution: Execution, width: int) -> list[Row]:
    role = "warn" if execution.status is Status.WARN else "fail"
    line = Line(width).add("   ")
    if execution.code:
        line.device(execution.code, role).add("  ")
    texts = wrap(brief(execution.message), max(10, width - line.cells - 1), limit=3) if execution.message else [""]
    first = Row(line.add(texts[0], "text"))
    return [first, *(Row(Line(width).add(" " * 3).add(text, "text")) for text in texts[1:])]


def step_row(step: Step, index: int, span: tuple[float, float], width: int, symbols: Symbols = UNICODE) -> Row:
    """One step: state, type, id, its place on the execution's time line, duration, code."""
    line = Line(width).add(f" {step.status.sign(ascii_only=symbols.ascii)} ", step.status.role)
    line.add(f"{index:>2} ", "faint").add(column(step.type or "?", 20), "strong").add(" ")
    line.add(column(step.id, 14 if width < 100 else 20), "muted").add(" ")
    _bar(line, step, span, min(_BAR_CELLS, max(0, width - line.cells - 24)), symbols)
    seconds = precise(step.ended - step.started)
    line.add(f" {seconds:>7}", "muted")
    if step.retries:
        line.add(f"  {step.retries} retr{'y' if step.retries == 1 else 'ies'}", "warn")
    if step.code:
        line.add("  ").device(step.code, "fail")
    return Row(line)


def _bar(line: Line, step: Step, span: tuple[float, float], room: int, symbols: Symbols) -> None:
    """Lead-in dim, work solid, the rest blank; nothing where the step was not watched."""
    start, end = span
    if room < 6 or math.isnan(step.started) or end <= start:
        line.add(" " * room)
        return
    ended = end if math.isnan(step.ended) else step.ended
    lead = round((step.started - start) / (end - start) * room)
    work = max(1, round((ended - start) / (end - start) * room) - lead)
    lead = min(lead, room - 1)
    work = min(work, room - lead)
    line.add(symbols.bar_idle * lead, "guide").add(symbols.bar * work, step.status.role).add(" " * (room - lead - work))


def data_rows(step: Step, width: int) -> Iterator[Row]:
    """What a step brought back, one line per key; long values are cut here and whole in the envelope."""
    if step.note:
        yield Row(Line(width).add(" " * 7).add(step.note, "muted"))
    for key, value in step.data.items():
        if step.note and key in ("error", "message"):
            continue
        line = Line(width).add(" " * 7).device(str(key), "faint", room=20).add("  ")
        yield Row(line.device(str(value), "muted"))


def json_rows(value: object, width: int) -> Iterator[Row]:
    """Pretty JSON, keys told from values."""
    for text in json.dumps(value, indent=2, ensure_ascii=False).splitlines():
        yield _json_row(text, width)


def _json_row(text: str, width: int) -> Row:
    line = Line(width).add(" ")
    body = text.lstrip(" ")
    line.add(" " * (len(text) - len(body)))
    if body.startswith('"') and '": ' in body:
        key, _, rest = body.partition('": ')
        line.device(f'{key}"', "node-id").add(": ", "faint")
        body = rest
    return Row(line.device(body, _json_role(body)))


def _json_role(body: str) -> str:
    value = body.rstrip(",")
    if value.startswith('"'):
        return "node-text"
    if value in ("false", "null"):
        return "muted"
    return "accent" if value == "true" or value.lstrip("-")[:1].isdigit() else "faint"


def raw_rows(raw: str, hidden: int, width: int) -> Iterator[Row]:
    """The exact text, folded to the pane."""
    for text in wrap(raw, max(20, width - 2), limit=2_000):
        yield Row(Line(width).add(" ").add(text, "text"))
    if hidden:
        yield Row(Line(width).add(f" … {hidden:,} more characters were not kept", "warn"))
