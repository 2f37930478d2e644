"""Fixes as text: the steps that ran, with their output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clawperator.engine.progress import Stage
from clawperator.widgets.format.checks import short_name
from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.fix_run import FixRun
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.times import WallClock, duration

_LINES_OF_OUTPUT = 200
_STAGES = {"running": Status.RUNNING, "done": Status.OK, "failed": Status.FAILED, "skipped": Status.SKIPPED}


def fix_log_rows(fixes: Sequence[FixRun], width: int, clock: WallClock, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Yield all fixes of the session, newest last."""
    for number, fix in enumerate(fixes):
        if number:
            yield Row(Line(width))
        yield _head(fix, width, clock, symbols)
        for command in fix.preview:
            yield from command_rows(command, width)
        for stage in fix.stages:
            yield _stage(stage, width, symbols)
        lines = fix.output.splitlines()
        for text in lines[:_LINES_OF_OUTPUT]:
            yield from wrapped(text or " ", width, "fail" if fix.state == "failed" else "muted", lead="     ", limit=6)
        if len(lines) > _LINES_OF_OUTPUT:
            yield Row(Line(width).add(f"     {len(lines) - _LINES_OF_OUTPUT:,} more lines", "faint"))
        yield from _last(fix, width)


def _head(fix: FixRun, width: int, clock: WallClock, symbols: Symbols) -> Row:
    status = fix.status
    right = Line()
    if fix.began:
        right.add(clock.time_of_day(fix.began, tenths=False), "faint")
        right.add(f" {duration((fix.ended or clock.now()) - fix.began)} ", "muted")
    line = Line(width - right.cells - 1).add(f" {symbols.sign(status)} ", status.role)
    return Row(line.device(short_name(fix.check_id), "strong"), right)


def command_rows(command: str, width: int) -> Iterator[Row]:
    """Yield ``$ adb -s emulator-5554 shell …``, wrapped."""
    return wrapped(command, width, "accent", lead="   $ ", limit=12)


def _stage(stage: Stage, width: int, symbols: Symbols) -> Row:
    status = _STAGES.get(stage.state, Status.UNKNOWN)
    right = Line().add(f"{duration(stage.elapsed_ms / 1000)} ", "faint") if stage.elapsed_ms else None
    line = Line(width - (right.cells + 1 if right else 0))
    line.add(f"   {symbols.sign(status)} ", status.role).device(stage.name.replace("_", " "), "text")
    if stage.fraction is not None and stage.state == "running":
        line.add(f" {max(0.0, min(1.0, stage.fraction)):.0%}", "run")
    return Row(line.device(stage.message, "muted", before=" ") if stage.message else line, right)


def _last(fix: FixRun, width: int) -> Iterator[Row]:
    words = {
        "waiting": "waiting for the previous fix",
        "running": "running · C stop",
        "stopped": "stopped: changes made so far remain",
    }.get(fix.state, "")
    if not words and not fix.output.strip():
        words = "done, no output" if fix.state == "ok" else "failed, no output"
    if words:
        yield Row(Line(width).add(f"     {words}", "faint"))
