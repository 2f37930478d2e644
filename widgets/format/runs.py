"""Runs as rows, live and recorded ones alike; days of a list; facts about a run in words."""

from __future__ import annotations

import math
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from clawperator.engine.executions.headline import LOST, action_words, headline, result_words, short_source
from clawperator.engine.logcat.stages import action_of_stage, brief
from clawperator.widgets.format.lines import Line, Row, column, device_name
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.execution import ExecutionState, StepState
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.safe import cells, wrap
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


class RunFacts(NamedTuple):
    """The text of a row for a run, of this console or another program.

    ``place`` is the step that runs or failed, from 1 (0: none), of ``total``; ``result`` is empty for a success;
    ``detail`` is quoted behind it where there is room.
    """

    status: Status
    source: str
    place: int
    total: int
    action: str
    result: str
    took: str
    command_id: str
    detail: str = ""
    columns: tuple[str, ...] = ()
    """Further columns of wide panes: task, device, mode."""

    @property
    def role(self) -> str:
        status = self.status
        return "warn" if status in (Status.SKIPPED, Status.UNKNOWN) else status.role


def facts_of(run: ExecutionState | RunSummary, clock: WallClock) -> RunFacts:
    """Return the facts of a live or a recorded run."""
    return _of_live(run, clock.now()) if isinstance(run, ExecutionState) else _of_recorded(run, clock.now())


def _of_live(run: ExecutionState, now: float) -> RunFacts:
    place, step = next(
        ((number, step) for number, step in enumerate(run.steps, 1) if step.status not in (Status.OK, Status.SKIPPED)),
        (0, None),
    )
    result = detail = ""
    if run.status is Status.RUNNING:
        place = place or len(run.steps) + 1
        result = f"retry {step.retry}" if step is not None and step.retry else ""
    elif run.status is Status.WAITING:
        result = "waiting for the previous command"
    elif run.status is not Status.OK:
        result = (
            LOST
            if run.lost
            else result_words(run.code) or ("no result" if run.status is Status.UNKNOWN else run.status.word)
        )
        detail = "" if run.code else brief(run.message)
    elif run.follow_snapshots:
        result = f"{run.follow_snapshots:,} follow snapshot{'s' * (run.follow_snapshots != 1)}"
    seconds = math.nan if run.foreign else run.elapsed(now)
    return RunFacts(
        run.status,
        run.source,
        place,
        run.action_count or len(run.steps),
        "" if run.follow_snapshots else action_of(run, step),
        result,
        precise(seconds) if run.over else duration(seconds),
        run.command_id,
        detail,
        (run.task_id, device_name(run.device_id, _COLUMN), run.mode),
    )


def _of_recorded(run: RunSummary, now: float) -> RunFacts:
    status, outcome = state_of(run), run.outcome or {}
    failed = outcome.get("failedStep") or {}
    place = failed["index"] + 1 if failed else 0
    codes = [step.get("code", "") for step in outcome.get("steps", ()) if step["status"] == "failed"]
    result = result_words(run.code or "".join(codes[:1]), outcome)
    if not result and status not in (Status.OK, Status.RUNNING):
        result = f"{run.failed_steps} failed" if run.failed_steps else run.status
    running = run.status == "running"
    return RunFacts(
        status,
        run.source or run.face,
        place,
        run.action_count,
        run.action or ", ".join(step["type"] for step in outcome.get("steps", ())),
        result,
        duration(now - run.started_at) if running else precise(run.duration_ms / 1000),
        run.command_id,
        columns=(run.task_id, device_name(run.device_id, _COLUMN), run.mode),
    )


def action_of(run: ExecutionState, step: StepState | None) -> str:
    """Return ``step`` of a live run in words, without one all its actions; of other programs' runs as the log has it."""
    if step is None and run.payload is None and len(run.steps) == 1:
        step = run.steps[0]
    if step is None or (run.payload is not None and run.payload.get("actions")):
        failed = {"failedStep": {"id": step.id}} if step is not None else None
        return headline(run.payload, failed, ((each.id, each.type) for each in run.steps))
    return action_words({"type": step.type or step.id, **action_of_stage(run.stage)})


def run_row(
    run: RunFacts, start: Line, width: int, symbols: Symbols = UNICODE, *, flags: str = "", wide: bool = False
) -> Row:
    """Return state, source, step, action and target, and the result behind ``start``; duration and id at the right.

    ``flags`` stand before the duration; ``wide`` adds columns.
    """
    right = Line().add(f"{flags} " if flags else "", "warn")
    right.add(f"{run.took:>8} ", run.status.role if run.status is Status.RUNNING else "muted")
    if width >= _WITH_ID:
        right.add(f" {column(run.command_id, _share(width, 12, 24))} ", "faint")
    line = start
    line.width = max(10, width - right.cells - 1)
    line.add(f"{symbols.sign(run.status)} ", run.role)
    if width >= _WITH_SOURCE:
        line.add(column(short_source(run.source) or "unknown", _share(width, 9, 14)), "muted").add(" ")
    for value in run.columns if wide and width >= _WITH_COLUMNS else ():
        line.add(column(value, _COLUMN), "faint").add(" ")
    place = f"{min(run.place, run.total or run.place)}/{run.total or '?'}" if run.place and run.total != 1 else ""
    line.add(f"{place:>5} " if width >= _WITH_ID else f"{place} " if place else "", run.role)
    room = line.width - line.cells
    result_cells = min(cells(run.result), room // 2)
    action = room - (result_cells + 2 if run.result else 0)
    if run.result:
        action = min(action, room * 2 // 5 if run.detail else max(room - 26, room * 3 // 5))
    begin = line.cells
    if run.action:
        line.device(run.action, "text", room=max(1, action))
    if run.result:
        if run.action:
            line.pad(min(begin + action, line.width - result_cells - 2)).add("  ")
        line.device(run.result, run.role)
        if run.detail and line.width - line.cells > _WORTH_CELLS:
            line.add("  ").device(run.detail, "muted")
    return Row(line, right)


_WITH_ID = 88
"""From this width on, a row has the commandId."""
_WITH_SOURCE = 56
_WITH_COLUMNS, _COLUMN = 140, 13
_WORTH_CELLS = 12
"""With less room than this, a message is left out instead of cut."""


def _share(width: int, least: int, most: int) -> int:
    """Return a column width that grows with the pane from 80 cells on."""
    return max(least, min(most, least + (width - 80) // 4))


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
