"""Fixes as text: what ran, step by step, and what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from clawperator.engine.progress import Stage
from clawperator.widgets.format.checks import short_name
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.fix_run import FixRun
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.safe import wrap
from clawperator.widgets.text.times import WallClock, duration

_LINES_OF_OUTPUT = 200
_STAGES = {"running": Status.RUNNING, "done": Status.OK, "failed": Status.FAILED, "skipped": Status.SKIPPED}


def fix_log_rows(fixes: Sequence[FixRun], width: int, clock: WallClock, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """All fixes of the session, the newest last."""
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
            for part in wrap(text, max(10, width - 6), limit=6):
                yield Row(Line(width).add("     ").add(part, "fail" if fix.state == "failed" else "muted"))
        if len(lines) > _LINES_OF_OUTPUT:
            yield Row(Line(width).add(f"     {len(lines) - _LINES_OF_OUTPUT:,} more lines", "faint"))
        yield from _last(fix, width)


def _head(fix: FixRun, width: int, clock: WallClock, symbols: Symbols) -> Row:
    status = fix.status
    right = Line()
    if fix.began:
        right.add(clock.time_of_day(fix.began, tenths=False), "faint")
        right.add(f" {duration((fix.ended or clock.now()) - fix.began)} ", "muted")
    line = Line(width - right.cells - 1).add(f" {status.sign(ascii_only=symbols.ascii)} ", status.role)
    return Row(line.device(short_name(fix.check_id), "strong"), right)


def command_rows(command: str, width: int) -> Iterator[Row]:
    """``$ adb -s emulator-5554 shell …``, folded."""
    for index, part in enumerate(wrap(command, max(10, width - 6), limit=12)):
        yield Row(Line(width).add("   $ " if not index else "     ", "faint").add(part, "accent"))


def _stage(stage: Stage, width: int, symbols: Symbols) -> Row:
    status = _STAGES.get(stage.state, Status.UNKNOWN)
    right = Line().add(f"{duration(stage.elapsed_ms / 1000)} ", "faint") if stage.elapsed_ms else None
    line = Line(width - (right.cells + 1 if right else 0))
    line.add(f"   {status.sign(ascii_only=symbols.ascii)} ", status.role).device(stage.name.replace("_", " "), "text")
    if stage.fraction is not None and stage.state == "running":
        line.add(f" {max(0.0, min(1.0, stage.fraction)):.0%}", "run")
    return Row(line.device(stage.message, "muted", before=" ") if stage.message else line, right)


def _last(fix: FixRun, width: int) -> Iterator[Row]:
    words = {
        "waiting": "waits for the one before",
        "running": "running; C stops it",
        "stopped": "stopped: what it did until then stays done",
    }.get(fix.state, "")
    if not words and not fix.output.strip():
        words = "done, without a word" if fix.state == "ok" else "failed, without a word"
    if words:
        yield Row(Line(width).add(f"     {words}", "faint"))
