"""Compose the header's chips and the facts lines of the panes from the session. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from clawperator.widgets.format.checks import verdict_line
from clawperator.widgets.format.jobs import stage_word
from clawperator.widgets.format.lines import Line, Span
from clawperator.widgets.format.skill_output import run_words
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.header import Chip
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.times import age, duration, rate

if TYPE_CHECKING:
    from clawperator.app.console.session import Session


def header_chips(
    session: Session, symbols: Symbols, *, narrow: bool, draft: int = 0, recording: bool = False
) -> list[Chip]:
    """Return the chips; the first ones fold last."""
    chips = [_device_chip(session, symbols, narrow=narrow)]
    if session.device_id and not session.offline and not (session.gone_since and not session.lock):
        chips.append(_lock_chip(session, symbols, narrow=narrow))
    chips += _job_chips(session, symbols, narrow=narrow)
    if session.device_id and not session.offline:
        chips.append(_tree_chip(session))
    report = session.report
    if (report.checks or report.running) and (report.device_id or not session.device_id):
        chips.append(_doctor_chip(session, symbols, narrow=narrow))
    if session.dropped:
        text = f"{symbols.dropped} {session.dropped:,} dropped"
        chips.append(Chip("dropped", ((text, "warn"),), keep=True, action="mode('stream')"))
    if speed := rate(session.lines_per_second):
        chips.append(Chip("rate", ((speed, "muted"),), action="mode('stream')"))
    if recording:
        words = f"{symbols.sign(Status.RUNNING)} {'rec' if narrow else 'recording'}"
        chips.append(Chip("recording", ((words, "fail"),), keep=True, action="record"))
    if draft:
        chips.append(Chip("draft", ((f"draft {draft}", "accent"),), action="mode('run')"))
    if session.backend == "stock":
        words = "stock" if narrow else "stock backend"
        chips.append(Chip("backend", ((words, "warn"),), keep=True, action="choose_backend"))
    if session.read_only:
        chips.append(Chip("read-only", (("read-only", "warn"),), keep=True))
    if session.remote:
        host = Line(40).add("at ", "muted").device(session.remote, "accent")
        chips.append(Chip("remote", (("remote", "accent"),) if narrow else tuple(host.spans), keep=True))
    if session.demo:
        chips.append(Chip("demo", (("demo", "accent"),), keep=True))
    return chips


def count_words(count: int, noun: str) -> str:
    """Return ``1 device``, ``3 devices``."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _device_chip(session: Session, symbols: Symbols, *, narrow: bool) -> Chip:
    spans: list[Span]
    if session.device_id:
        device = session.device
        line = Line(24 if narrow else 40).device(session.device_id, "strong")
        if session.gone_since:
            state = "away" if device is None or device.usable else device.state
            line.add(f" {state} {age(session.clock.now() - session.gone_since)}", "warn")
        elif session.device_id in session.silent:
            line.add(f" {symbols.sign(Status.WARN)} not responding", "warn")
        elif device is not None:
            ready = session.verdict is None or session.verdict.ready
            status = Status.OK if ready else Status.FAILED
            line.add(f" {symbols.sign(status)}", status.role)
        spans = line.spans
    elif session.offline:
        spans = [(count_words(len(session.trees), "saved dump"), "strong")]
    elif session.adb_problem:
        spans = [(f"{symbols.sign(Status.FAILED)} {'server' if session.remote else 'adb'}", "fail")]
    elif not session.devices_known:
        asked = "the server" if session.remote else "adb"
        spans = [(f"{symbols.sign(Status.WAITING)} asking {asked}", "muted")]
    elif session.usable:
        spans = [(f"{count_words(len(session.usable), 'device')}: D chooses", "warn")]
    elif len(session.devices) == 1:
        entry = session.devices[0]
        spans = Line(24 if narrow else 40).device(entry.serial, "strong").add(f" {entry.state}", "warn").spans
    elif session.devices:
        spans = [(f"0 of {len(session.devices)} devices usable", "warn")]
    else:
        spans = [("no device", "warn")]
    return Chip("device", tuple(spans), keep=True, action="choose_device")


def _lock_chip(session: Session, symbols: Symbols, *, narrow: bool) -> Chip:
    lock = session.lock
    if not lock:
        return Chip("lock", ((f"{symbols.sign(Status.IDLE)} free", "muted"),), keep=True, action="lock")
    now = session.clock.now()
    if lock.get("state") == "settling":
        left = max(0.0, float(lock.get("notBefore") or now) - now)
        spans: tuple[Span, ...] = ((f"{symbols.sign(Status.WAITING)} settling {duration(left)}", "warn"),)
        return Chip("lock", spans, keep=True, action="lock")
    line = Line(26 if narrow else 44).add(f"{symbols.sign(Status.RUNNING)} ", "run")
    line.device(str(lock.get("commandId") or f"pid {lock.get('pid')}"), "run", room=16)
    if not narrow and lock.get("source"):
        line.device(str(lock["source"]), "muted", before=" ", room=14)
    line.add(f" {lock_time(lock, now)}", "muted")
    return Chip("lock", tuple(line.spans), keep=True, action="lock")


def lock_time(lock: Mapping[str, Any], now: float) -> str:
    """Return how long the lock is held, and its limit: ``4.1 s/30 s``."""
    since = lock.get("since")
    held = duration(now - float(since)) if isinstance(since, (int, float)) else ""
    budget = lock.get("timeoutMs")
    return f"{held}/{int(budget) // 1000} s" if isinstance(budget, (int, float)) and held else held


def _tree_chip(session: Session) -> Chip:
    snapshot = session.trees.shown
    if not snapshot:
        return Chip("tree", (("no tree", "muted"),), action="mode('inspect')")
    if session.outdated(snapshot):
        return Chip("tree", (("tree out of date", "stale"),), action="mode('inspect')")
    at = session.clock.time_of_day(snapshot.at, tenths=False)
    return Chip("tree", ((f"tree {at}", "muted"),), action="mode('inspect')")


def _doctor_chip(session: Session, symbols: Symbols, *, narrow: bool) -> Chip:
    report = session.report
    line = verdict_line(report, symbols, width=24 if narrow else 48, old=session.report_is_old)
    whole = verdict_line(report, symbols, width=200, old=session.report_is_old).plain
    more = whole.removeprefix(line.plain) if not session.report_is_old else ""
    if session.doctor_watches:
        line.add(" watch", "run")
        more = ""
    keep = report.status() is Status.FAILED or session.report_is_old
    return Chip("doctor", tuple(line.spans), keep=keep, action="mode('doctor')", more=more)


def _job_chips(session: Session, symbols: Symbols, *, narrow: bool) -> Iterator[Chip]:
    """Yield a chip for each running job: virtual device, Operator setup, skill."""
    jobs = ((session.machines.job, "show_job"), (session.setup.job, "show_setup"))
    for job, action in jobs:
        stage = job.current if job is not None and job.running else None
        if job is not None and job.running:
            word = stage_word(stage.name) if stage is not None else job.kind
            time = age(stage.elapsed(session.clock.now())) if stage is not None else ""
            line = Line(24).add(f"{symbols.sign(Status.RUNNING)} ", "run").device(word, "run", room=14)
            spans = tuple(line.add(f" {time}" if time != "now" else "", "muted").spans)
            yield Chip(job.kind, spans, keep=not narrow, action=action)
    run = session.skills.run
    if run is not None and run.running:
        line = Line(24).add(f"{symbols.sign(Status.RUNNING)} ", "run")
        line.device(run_words(run), "run", room=14).add(f" {age(run.seconds(session.clock.now()))}", "muted")
        yield Chip("skill", tuple(line.spans), keep=not narrow, action="show_skill")


def snapshot_words(session: Session, symbols: Symbols) -> Line:
    """Return the source and time of the shown tree, or why it is out of date: ``stream cmd-1 15:06:12``."""
    snapshot = session.trees.shown
    line = Line(80)
    if session.offline:
        return _file_words(session, line)
    if not snapshot:
        return line
    if session.trees.back:
        line.add(f"{symbols.left} {session.trees.back} back of {len(session.trees)}", "stale").add(
            f" {symbols.dot} ", "faint"
        )
    source = snapshot.source
    line.add(source, "muted")
    if source == "stream" and snapshot.command_id:
        line.add(" ").device(snapshot.command_id, "muted", room=16)
    line.add(f" {session.clock.time_of_day(snapshot.at, tenths=False)}", "muted")
    if not session.trees.back and (reason := session.outdated(snapshot)):
        line = Line(80).add(f"out of date: {reason}", "stale").add(f" {symbols.dot} ", "faint").add("r", "key")
    if not snapshot.complete:
        line.add(" incomplete", "warn")
    elif snapshot.problem:
        line.add(" repaired", "warn")
    return line


def _file_words(session: Session, line: Line) -> Line:
    """Return ``settings.xml 2 of 5 incomplete``."""
    trees, snapshot = session.trees, session.trees.shown
    if len(trees):
        line.device(snapshot.name, "text", room=26).add(f" {len(trees) - trees.back} of {len(trees)}", "muted")
    if snapshot.problem:
        line.add(" not readable" if not snapshot else " incomplete" if not snapshot.complete else " repaired", "warn")
    return line
