"""The Operator app in words: how it is on a device, which files there are, and how one differs from what is installed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clawperator.widgets.format.devices import variant
from clawperator.widgets.format.jobs import not_reached, outcome_rows, stage_row
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.safe import wrap

if TYPE_CHECKING:
    from clawperator.widgets.models.job import Job
    from clawperator.widgets.models.setup import ApkFile, AppState, InstalledApp, SetupState

_VALUE = 14
_OUTPUT_LINES = 3


def installed_rows(setup: SetupState, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """What is on the device now."""
    yield Row(Line(width).add(" on".ljust(_VALUE), "faint").device(setup.serial, "strong"))
    if setup.asking:
        yield Row(Line(width).add(" installed".ljust(_VALUE), "faint").add("asking the device…", "muted"))
        return
    if setup.status is None:
        sign = Status.WARN.sign(ascii_only=symbols.ascii)
        yield from _value("installed", f"{sign} unknown: {setup.problem} ({setup.code})", "warn", width)
        return
    status = setup.status
    if not status.installed:
        yield from _value("installed", "nothing", "warn", width)
        return
    for index, found in enumerate(status.installed):
        code = f" ({found.version_code})" if found.version_code >= 0 else ""
        words = f"{variant(found.package)} {found.version or 'of an unreadable version'}{code}"
        yield from _value("installed" if not index else "", words, "text", width)
    yield from _state(status, width, symbols)


def _state(status: AppState, width: int, symbols: Symbols) -> Iterator[Row]:
    """Fitting, granted, running: each with a sign and a word."""
    service = (
        (Status.FAILED, "service off")
        if not status.enabled
        else (Status.FAILED, "service on, not running")
        if status.running is False
        else (Status.OK, "service running" if status.running else "service on")
    )
    parts = [
        (Status.OK, "fits") if status.fits else (Status.FAILED, "does not fit"),
        service,
        (Status.OK, "notifications") if status.notifications is not False else (Status.WARN, "no notifications"),
        (Status.OK, "listener") if status.listener else (Status.WARN, "no listener"),
    ]
    line = Line(width).add(" ".ljust(_VALUE))
    for found, words in parts:
        part = Line().add(f"{found.sign(ascii_only=symbols.ascii)} ", found.role).add(f"{words}   ", "muted")
        if line.cells + part.cells > width and line.cells > _VALUE:
            yield Row(line)
            line = Line(width).add(" ".ljust(_VALUE))
        line.extend(part)
    yield Row(line)


def file_row(file: ApkFile, setup: SetupState, width: int, symbols: Symbols = UNICODE) -> Row:
    """Name, variant, version, size; where there is room how it compares. A file that is none says so."""
    name = file.path.replace("\\", "/").rsplit("/", 1)[-1] or file.path
    line = Line(width).add(" ").device(name, "text", room=26).pad(28)
    if file.problem:
        sign = Status.FAILED.sign(ascii_only=symbols.ascii)
        return Row(line.add(f"{sign} ", "fail").device(file.problem, "warn"))
    line.device(variant(file.package), "muted", room=10).pad(37).device(file.version or "?", "strong", room=14).pad(52)
    line.add(size_words(file.size), "muted").pad(62)
    comparison, role = compared(file, setup)
    right = (
        Line(max(0, width - line.cells - 1)).add(f"{comparison} ", role)
        if width - line.cells > len(comparison)
        else None
    )
    return Row(line, right)


def compared(file: ApkFile, setup: SetupState) -> tuple[str, str]:
    """How a file stands to what is installed, and the role of these words."""
    installed = _same_variant(file, setup.status)
    if installed is None:
        return ("", "muted") if setup.status is None else ("new", "ok")
    if file.version_code < 0 or installed.version_code < 0:
        return "", "muted"
    if file.version_code > installed.version_code:
        return "newer", "ok"
    return ("the same", "muted") if file.version_code == installed.version_code else ("older", "warn")


def _same_variant(file: ApkFile, status: AppState | None) -> InstalledApp | None:
    found = status.installed if status is not None else ()
    return next((one for one in found if one.package == file.package), None)


def file_rows(file: ApkFile | None, setup: SetupState, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """The chosen file in full, beside what is installed: what would happen."""
    if file is None:
        yield Row(Line(width).add(" ").add(symbols.enter, "key").add(" asks where the file is", "muted"))
        return
    yield from _value("file", file.path, "text", width)
    if file.problem:
        yield from _value("", f"{Status.FAILED.sign(ascii_only=symbols.ascii)} {file.problem}", "fail", width)
        return
    code = f" ({file.version_code})" if file.version_code >= 0 else ""
    more = f", needs API level {file.min_sdk}" if file.min_sdk else ""
    yield from _value("", f"{file.package} {file.version or '?'}{code}, {size_words(file.size)}{more}", "text", width)
    comparison, role = compared(file, setup)
    installed = _same_variant(file, setup.status)
    version = (installed.version or "?") if installed is not None else ""
    words = {
        "newer": f"replaces {version}, which is older",
        "the same": f"{version} is installed already; it is installed again and granted what is missing",
        "older": f"{version} is newer: Android refuses to go back. Uninstall it first",
        "new": "is not on the device yet",
    }.get(comparison, "")
    if comparison == "new" and setup.status is not None and setup.status.installed:
        others = ", ".join(variant(one.package) for one in setup.status.installed)
        words = f"comes beside the {others} one: commands must name one of them then"
        role = "warn"
    if words:
        yield from _value("", words, role, width)


def progress_rows(job: Job, now: float, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """The three phases, what the newest of them says, and what came of it all."""
    for stage in job.stages:
        if stage.status is Status.WAITING and not job.running:
            continue
        yield stage_row(stage, now, width, symbols=symbols)
        if stage.status in (Status.RUNNING, Status.FAILED, Status.WARN) and job.running:
            for text in stage.output[-_OUTPUT_LINES:]:
                yield Row(Line(width).add("     ").device(text, "faint"))
    if job.stopping:
        yield Row(Line(width).add(" cancelling…", "warn"))
    yield from not_reached(job, width)
    if not job.running:
        yield Row(Line(width))
        yield from outcome_rows(job, width, symbols)


def size_words(size: int) -> str:
    """``12.4 MB``."""
    return f"{size / 1_000_000:.1f} MB" if size >= 100_000 else f"{size / 1000:.1f} kB"


def _value(name: str, value: str, role: str, width: int) -> Iterator[Row]:
    for index, text in enumerate(wrap(value, max(10, width - _VALUE - 1), limit=4)):
        yield Row(Line(width).add(f" {name if not index else ''}".ljust(_VALUE), "faint").add(text, role))
