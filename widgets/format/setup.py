"""The Operator app setup: what is installed, which APK files there are, and how they compare."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from clawperator.widgets.format.devices import variant
from clawperator.widgets.format.jobs import not_reached, outcome_rows, stage_row
from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.engine.operator.reports import InstalledVariant, OperatorStatus
    from clawperator.widgets.models.job import Job
    from clawperator.widgets.models.setup import ApkFile, SetupState

_VALUE = 14
_OUTPUT_LINES = 3


def installed_rows(setup: SetupState, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Yield what is installed on the device."""
    yield Row(Line(width).add(" on".ljust(_VALUE), "faint").device(setup.serial, "strong"))
    if setup.asking:
        yield Row(Line(width).add(" installed".ljust(_VALUE), "faint").add("reading…", "muted"))
        return
    if setup.status is None:
        sign = symbols.sign(Status.WARN)
        yield from _value("installed", f"{sign} unknown: {setup.problem} ({setup.code})", "warn", width)
        return
    status = setup.status
    if not status.installed:
        yield from _value("installed", "nothing", "warn", width)
        return
    for index, found in enumerate(status.installed):
        code = f" ({found.version_code})" if found.version_code >= 0 else ""
        words = f"{variant(found.package)} {found.version_name or 'unknown version'}{code}"
        yield from _value("installed" if not index else "", words, "text", width)
    yield from _state(status, width, symbols)


def _state(status: OperatorStatus, width: int, symbols: Symbols) -> Iterator[Row]:
    """Yield compatibility, service and permissions, each with a sign and a word."""
    service = (
        (Status.UNKNOWN, "service unknown")
        if status.enabled is None
        else (Status.FAILED, "service off")
        if not status.enabled
        else (Status.FAILED, "service on, not running")
        if status.bound is False
        else (Status.OK, "service running" if status.bound else "service on")
    )
    parts = [
        (Status.OK, "compatible") if status.compatibility.compatible else (Status.FAILED, "incompatible"),
        service,
        (Status.OK, "notifications") if status.notifications is not False else (Status.WARN, "no notifications"),
        (Status.UNKNOWN, "listener unknown")
        if status.listener is None
        else (Status.OK, "listener")
        if status.listener
        else (Status.WARN, "no listener"),
    ]
    line = Line(width).add(" ".ljust(_VALUE))
    for found, words in parts:
        part = Line().add(f"{symbols.sign(found)} ", found.role).add(f"{words}   ", "muted")
        if line.cells + part.cells > width and line.cells > _VALUE:
            yield Row(line)
            line = Line(width).add(" ".ljust(_VALUE))
        line.extend(part)
    yield Row(line)


def file_row(file: ApkFile, setup: SetupState, width: int, symbols: Symbols = UNICODE) -> Row:
    """Return name, variant, version, size, and how it compares; or why the file is unusable."""
    name = file.path.replace("\\", "/").rsplit("/", 1)[-1] or file.path
    line = Line(width).add(" ").device(name, "text", room=26).pad(28)
    if file.problem:
        sign = symbols.sign(Status.FAILED)
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
    """Return how a file compares to the installed app, and the role of these words."""
    installed = _same_variant(file, setup.status)
    if installed is None:
        return ("", "muted") if setup.status is None else ("new", "ok")
    if file.version_code < 0 or installed.version_code < 0:
        return "", "muted"
    if file.version_code > installed.version_code:
        return "newer", "ok"
    return ("same version", "muted") if file.version_code == installed.version_code else ("older", "warn")


def _same_variant(file: ApkFile, status: OperatorStatus | None) -> InstalledVariant | None:
    found = status.installed if status is not None else ()
    return next((one for one in found if one.package == file.package), None)


def file_rows(file: ApkFile | None, setup: SetupState, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Yield the chosen file in full, with the effect of installing it."""
    if file is None:
        yield Row(Line(width).add(" ").add(symbols.enter, "key").add(" enter a path", "muted"))
        return
    yield from _value("file", file.path, "text", width)
    if file.problem:
        yield from _value("", f"{symbols.sign(Status.FAILED)} {file.problem}", "fail", width)
        return
    code = f" ({file.version_code})" if file.version_code >= 0 else ""
    more = f", needs API level {file.min_sdk}" if file.min_sdk else ""
    yield from _value("", f"{file.package} {file.version or '?'}{code}, {size_words(file.size)}{more}", "text", width)
    comparison, role = compared(file, setup)
    installed = _same_variant(file, setup.status)
    version = (installed.version_name or "?") if installed is not None else ""
    words = {
        "newer": f"replaces the older version {version}",
        "same version": f"reinstalls {version} and grants missing permissions",
        "older": f"{version} is newer: Android refuses downgrades. Uninstall it first",
        "new": "not installed yet",
    }.get(comparison, "")
    if comparison == "new" and setup.status is not None and setup.status.installed:
        others = ", ".join(variant(one.package) for one in setup.status.installed)
        words = f"installed beside {others}: commands then need --operator-package"
        role = "warn"
    if words:
        yield from _value("", words, role, width)


def progress_rows(job: Job, now: float, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Yield the stages, the newest output, and the outcome."""
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
    """Return ``12.4 MB``."""
    return f"{size / 1_000_000:.1f} MB" if size >= 100_000 else f"{size / 1000:.1f} kB"


def _value(name: str, value: str, role: str, width: int) -> Iterator[Row]:
    return wrapped(value, width, role, lead=f" {name}".ljust(_VALUE), limit=4)
