"""Long jobs as rows: stages with times and limits, tool output, outcome."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from clawperator.engine.errors import ErrorCode
from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.format.slot import BLANK, Sheet, Slot, fixed, fold_sign, folded
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.job import Job, StageSeen
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.times import duration

STAGES: Mapping[str, str] = {
    "check_tools": "tools",
    "scan_running": "running devices",
    "scan_avds": "existing devices",
    "install_image": "system image",
    "create_avd": "create",
    "start": "start",
    "wait_adb": "adb connection",
    "wait_boot": "boot",
    "enable_settings": "settings",
    "done": "ready",
    "stop": "stop",
    "delete": "delete",
    "install": "install",
    "permissions": "permissions",
    "verify": "verify",
}
"""Names of the stages on screen (emulators.md#provisioning, doctor.md#operator-setup)."""

KINDS: Mapping[str, tuple[str, str]] = {
    "provision": ("provisioning", "a virtual device"),
    "create": ("creating", "a virtual device"),
    "start": ("starting", ""),
    "stop": ("stopping", ""),
    "delete": ("deleting", ""),
    "setup": ("setting up the Operator app on", "the device"),
}
"""What a job does, and the object where the subject has no name yet."""

_NAME_CELLS = max(map(len, STAGES.values())) + 1
_LEAST_BAR = 6
_MOST_BAR = 30
_MINUTES_FROM = 600
_NEARLY = 0.8
"""From this share of a limit on, the time is a warning."""


def stage_word(name: str) -> str:
    return STAGES.get(name, name)


def job_words(job: Job) -> str:
    """Return ``provisioning clawperator-pixel``. Contains device text."""
    doing, nameless = KINDS.get(job.kind, (job.kind, ""))
    return f"{doing} {job.subject or nameless}".strip()


def time_words(stage: StageSeen, now: float) -> str:
    """Return ``48.0 s of 180 s``; the limit only while it runs or where it was reached."""
    words = duration(stage.elapsed(now))
    limited = stage.limit_ms > 0 and stage.status in (Status.RUNNING, Status.FAILED)
    return f"{words} of {_limit_words(stage.limit_ms / 1000)}" if limited else words


def _limit_words(seconds: float) -> str:
    """Return ``180 s`` or ``30 min``."""
    return f"{seconds:.0f} s" if seconds < _MINUTES_FROM else f"{seconds / 60:.0f} min"


def bar_spans(share: float, room: int, role: str, symbols: Symbols) -> Line:
    """Return ``▇▇▇░░`` in ``room`` cells; empty where that is too narrow."""
    line = Line(room)
    if room < _LEAST_BAR:
        return line
    solid = min(room, round(share * room))
    return line.add(symbols.bar * solid, role).add(symbols.bar_idle * (room - solid), "guide")


def job_line(job: Job, now: float, width: int, symbols: Symbols = UNICODE) -> Row:
    """Return the job in one line: ``● boot 48.0 s of 180 s ▇▇▇░░  C cancel``."""
    status = job.status
    line = Line(width).add(f" {symbols.sign(status)} ", status.role)
    if not job.running:
        right = Line().add("g p details ", "faint")
        line.width = width - right.cells - 1
        return Row(line.device(job.words, "text" if status is Status.OK else status.role), right)
    right = Line().add("cancelling… " if job.stopping else "C cancel ", "warn" if job.stopping else "muted")
    stage = job.current
    if stage is None:
        return Row(line.device(job_words(job), "text"), right)
    line.width = width - right.cells - 1
    line.add(stage_word(stage.name) if stage.name in STAGES else "", "strong").device(
        "" if stage.name in STAGES else stage.name, "strong"
    ).add(f" {time_words(stage, now)} ", "muted")
    share = stage.share(now)
    if share is not None:
        if stage.fraction is not None:
            line.add(f"{share:.0%} ", "text")
        line.extend(bar_spans(share, min(_MOST_BAR, line.width - line.cells - 1), _bar_role(stage, now), symbols))
    return Row(line, right)


def job_slots(job: Job, sheet: Sheet) -> Iterator[Slot]:
    """Yield the job in full: stages with foldable tool output, then the outcome."""
    width, symbols, now = sheet.width, sheet.symbols, sheet.clock.now()
    yield fixed(_head(job, now, width, symbols))
    if not job.running:
        yield from map(fixed, outcome_rows(job, width, symbols))
        yield BLANK
    for stage in job.stages:
        if stage.status is Status.WAITING and not job.running:
            continue
        opened = None
        if stage.output:
            opened = sheet.is_open(("stage", stage.name), stage.status in (Status.FAILED, Status.WARN))
        role = stage.status.role if stage.status in (Status.FAILED, Status.WARN) else ""
        row = stage_row(stage, now, width, opened=opened, symbols=symbols)
        yield Slot(lambda _width, row=row: row, ("stage", stage.name), opened, role)  # type: ignore[misc]  # binds the row of this turn
        if opened:
            if stage.dropped:
                yield from folded(f"{stage.dropped:,} earlier lines", width, "faint", indent=5)
            for line in stage.output:
                yield from folded(line, width, "muted", indent=5, limit=4)
        elif stage.output and stage.status is Status.RUNNING:
            yield fixed(Row(Line(width).add("     ").device(stage.output[-1], "faint")))
    yield from map(fixed, not_reached(job, width))


def not_reached(job: Job, width: int) -> Iterator[Row]:
    """Yield the stages that an ended job did not reach."""
    names = [stage_word(stage.name) for stage in job.stages if stage.status is Status.WAITING]
    if names and not job.running:
        yield from wrapped(f"not reached: {', '.join(names)}", width, "faint", lead="     ", limit=3)


def _head(job: Job, now: float, width: int, symbols: Symbols) -> Row:
    right = Line().add(f"{duration(job.seconds(now))} ", "muted")
    line = Line(width - right.cells - 1).add(f" {symbols.sign(job.status)} ", job.status.role)
    line.device(job_words(job), "strong")
    if job.stopping:
        line.add("  cancelling…", "warn")
    return Row(line, right)


def stage_row(
    stage: StageSeen,
    now: float,
    width: int,
    *,
    opened: bool | None = None,
    symbols: Symbols = UNICODE,
) -> Row:
    """Return one stage: status, name, time and limit, and a bar where its length is known."""
    quiet = stage.status in (Status.WAITING, Status.SKIPPED)
    line = Line(width).add(f" {fold_sign(opened, symbols)} ", "muted")
    line.add(f"{symbols.sign(stage.status)} ", stage.status.role)
    known = stage.name in STAGES
    start = line.cells
    line.add(STAGES[stage.name], "faint" if quiet else "text") if known else line.device(
        stage.name, room=_NAME_CELLS - 1
    )
    line.pad(start + _NAME_CELLS)
    if stage.status is Status.WAITING:
        return Row(line)
    if stage.status is Status.SKIPPED:
        return Row(line.add("not needed", "faint"))
    words = time_words(stage, now)
    percent = f" {stage.share(now):>4.0%}" if stage.fraction is not None else ""
    line.add(words, "muted").add(percent, "text")
    share = stage.share(now)
    if share is not None and stage.status is Status.RUNNING:
        room = min(_MOST_BAR, width - line.cells - 3)
        line.add("  ").extend(bar_spans(share, room, _bar_role(stage, now), symbols))
    return Row(line)


def _bar_role(stage: StageSeen, now: float) -> str:
    near = stage.fraction is None and (stage.share(now) or 0.0) >= _NEARLY
    return "warn" if near else "run"


def outcome_rows(job: Job, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Yield the outcome; of a failure also the code, its meaning and the hint."""
    role = job.status.role if job.status in (Status.FAILED, Status.WARN) else "text"
    lead = f" {symbols.sign(job.status)} "
    yield from wrapped(job.words, width, role, lead=lead, lead_role=job.status.role, limit=12)
    yield from problem_rows(job.code, job.hint, width, symbols)


def problem_rows(code: str, hint: str, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Yield an error code, its meaning, and the hint."""
    if code:
        known = ErrorCode.known(code)
        line = Line(width).add("   ").device(code, "warn")
        yield Row(line)
        yield from wrapped(known.meaning if known is not None else "", width, "muted", lead="   ", limit=4)
    yield from wrapped(hint, width, lead=f"   {symbols.arrow} ", lead_role="key", limit=6)
