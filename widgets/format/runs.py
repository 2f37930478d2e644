"""Past runs as rows of a list, and facts about a run in words."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from clawperator.widgets.format.lines import Line, Row, column
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.safe import wrap
from clawperator.widgets.text.times import WallClock, duration, precise

if TYPE_CHECKING:
    from clawperator.engine.history.records import LateRecord, RunSummary

_STATES = {
    "running": Status.RUNNING,
    "success": Status.OK,
    "failed": Status.FAILED,
    "refused": Status.SKIPPED,
    "interrupted": Status.UNKNOWN,
}


def state_of(run: RunSummary) -> Status:
    """Return the state of a run; a successful plan with a failed step is a state of its own."""
    state = _STATES.get(run.status, Status.UNKNOWN)
    return Status.WARN if state is Status.OK and run.failed_steps else state


def attention(run: RunSummary) -> str:
    """Return the role of a run that failed or whose end is unknown; empty for others."""
    state = state_of(run)
    if state in (Status.OK, Status.RUNNING):
        return ""
    return "fail" if state is Status.FAILED else "warn"


def run_row(run: RunSummary, mark: str, width: int, clock: WallClock, symbols: Symbols = UNICODE) -> Row:
    """Return mark, state, time, command, step count, source, failure; the duration at the right. On a narrow pane the
    failure replaces the source.
    """
    state = state_of(run)
    right = Line().add(f"{_took(run, clock):>8} ", "run" if state is Status.RUNNING else "muted")
    line = Line(max(10, width - right.cells - 1)).add(" ").add(mark or " ", "accent")
    line.add(f"{symbols.sign(state)} ", attention(run) or state.role)
    line.add(f"{clock.time_of_day(run.started_at, tenths=False)[: None if width >= _ROOMY else 5]:<5} ", "muted")
    line.add(column(run.command_id, _share(width, 16, 30)), "strong").add(f"{run.action_count or '':>4}  ", "muted")
    words, role = _words(run, state)
    if not words:
        line.device(run.source or "unknown", "muted", room=_share(width, 12, 20))
    elif width >= _ROOMY:
        line.add(column(run.source or "unknown", _share(width, 12, 20)), "muted").add("  ").device(words, role)
    else:
        line.device(words, role)
    return Row(line, right)


_ROOMY = 72
"""From this width on, source and failure both fit."""


def _words(run: RunSummary, state: Status) -> tuple[str, str]:
    """Return why a run failed, and the role of these words; empty for a success."""
    role = attention(run) or state.role
    if run.failed_steps and not run.code:
        return f"{run.failed_steps} of {run.action_count} failed", role
    return run.code or ("" if state is Status.OK else run.status), role


def _share(width: int, least: int, most: int) -> int:
    """Return a column width that grows with the pane from 80 cells on."""
    return max(least, min(most, least + (width - 80) // 4))


def _took(run: RunSummary, clock: WallClock) -> str:
    if run.status == "running":
        return duration(clock.now() - run.started_at)
    return precise(run.duration_ms / 1000)


def day_row(began: float, width: int, clock: WallClock, symbols: Symbols = UNICODE) -> Row:
    """Return the heading of a day."""
    line = Line(width).add(f" {day_words(began, clock)} ", "faint")
    return Row(line.add(symbols.rule * max(0, width - line.cells - 1), "guide"))


def day_words(at: float, clock: WallClock) -> str:
    """Return ``today``, ``yesterday``, else ``Mon 17 Nov 2025``; ``unknown day`` for an invalid time."""
    try:
        day = datetime.fromtimestamp(at, clock.zone)
        today = datetime.fromtimestamp(clock.now(), clock.zone)
    except (ValueError, OverflowError, OSError):
        return "unknown day"
    ago = (today.date() - day.date()).days
    return {0: "today", 1: "yesterday"}.get(ago, f"{day:%a} {day.day} {day:%b %Y}")


def waiting_row(width: int) -> Row:
    """Return the placeholder of a run that has not been read yet."""
    return Row(Line(width).add("    …", "faint"))


def late_words(run: RunSummary, late: LateRecord) -> str:
    """Return what a late result adds to the outcome."""
    since = "its last log line" if run.origin == "seen" else "its caller stopped waiting"
    return f"A result arrived {duration(late.after_ms / 1000)} after {since}: {late.envelope.get('status')}."


def origin_words(run: RunSummary) -> str:
    """Return who made a run, or that it was only seen in the log."""
    if run.origin == "seen":
        return "seen in the log: payload and host times are unknown"
    face = {"cli": "the command line", "console": "a console", "http": "the HTTP server", "mcp": "an MCP client"}
    return f"made by {face.get(run.face, 'the engine')}" + (f", pid {run.pid}" if run.pid else "")


def folded(words: str, width: int) -> str:
    """Return words for the middle of a pane, escaped and wrapped."""
    return "\n".join(line for part in words.splitlines() for line in wrap(part, max(20, width - 4)))
