"""Doctor checks as rows and in detail: state, meaning, fix, evidence."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from itertools import islice
from typing import Any

from clawperator.engine.doctor.verdict import OPTIONAL, concerns
from clawperator.engine.errors import ErrorCode
from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.doctor_report import Check, DoctorReport, id_of, status_of
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.safe import cells, shorten, wrap
from clawperator.widgets.text.times import duration

_WIDE = 50
"""From this width on, a row shows evidence and time at the right."""
_TIME_CELLS = 10
_LONGEST = 86_400_000
"""In milliseconds: a longer duration (a day) is not believed."""
_NAME_CELLS = 7
_GIST_CELLS = 60
_FACT_CELLS = 16
"""Width of a fact's name; more where there is room."""
_FACTS_SHOWN = 60
_STEPS_SHOWN = 40
_NO_RESULT = (Status.WAITING, Status.RUNNING, Status.SKIPPED)


def short_name(check_id: str) -> str:
    """Return an id in words: ``readiness.settings.usb_debugging`` is ``usb debugging``."""
    parts = check_id.split(".")[1:] or [check_id]
    if len(parts) > 1 and parts[0] in ("settings", "android"):
        parts = parts[1:]
    return " ".join(parts).replace("_", " ")


def check_row(check: Check, width: int, symbols: Symbols = UNICODE) -> Row:
    """Return state and summary; at the right the code or the shortest evidence, and the time."""
    status = status_of(check)
    right = _right_of(check, status, width) if width >= _WIDE else Line()
    line = Line(width - right.cells - bool(right.cells)).add(f" {symbols.sign(status)} ", status.role)
    if status in _NO_RESULT and not check.get("summary"):
        line.device(short_name(id_of(check)), "muted" if status is Status.WAITING else "text")
        return Row(line.device(_course_words(check, status), "faint", before="  "), right)
    loud = status in (Status.WARN, Status.FAILED, Status.UNKNOWN)
    return Row(line.device(str(check.get("summary") or id_of(check)), "strong" if loud else "text"), right)


def problem_rows(check: Check, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Yield ``check_row``, in a narrow pane without its right side and wrapped."""
    if width >= _WIDE:
        yield check_row(check, width, symbols)
        return
    status, summary = status_of(check), str(check.get("summary") or id_of(check))
    yield from wrapped(summary, width, "strong", lead=f" {symbols.sign(status)} ", lead_role=status.role, limit=6)


def _right_of(check: Check, status: Status, width: int) -> Line:
    right = Line(max(0, width * 3 // 5))
    if check.get("code"):
        right.device(str(check["code"]), status.role, room=max(1, width * 3 // 5 - _TIME_CELLS))
    elif gist := _gist(check):
        right.device(gist, "muted", room=width // 3)
    return right.add(f" {_time(check):>{_TIME_CELLS - 2}} ", "faint") if right.cells or _time(check) else right


def _course_words(check: Check, status: Status) -> str:
    if status is not Status.SKIPPED:
        return "checking…" if status is Status.RUNNING else "waiting"
    stopper = str(check.get("stopper", ""))
    return f"not run ({short_name(stopper)})" if stopper else "not run"


def _time(check: Check) -> str:
    took = check.get("durationMs")
    if not isinstance(took, (int, float)) or not 0 <= took < _LONGEST:
        return ""
    return duration(took / 1000) if took < 60_000 else f"{took / 60_000:.0f} min"


def _gist(check: Check) -> str:
    """Return the first short evidence whose last word the summary does not contain."""
    evidence, summary = check.get("evidence"), str(check.get("summary", ""))
    if not isinstance(evidence, Mapping):
        return ""
    words = (value for value in evidence.values() if isinstance(value, str) and 2 < len(value.strip()) <= _GIST_CELLS)

    fresh = (value for value in words if value.split()[-1] not in summary and value not in ("true", "false"))
    return next((value.strip().splitlines()[0] for value in fresh), "")


def tally_line(report: DoctorReport, symbols: Symbols = UNICODE, *, whole: bool = False) -> Line:
    """Return ``✗ 1 failed · 2 hints · 18 ok``: what concerns the backend.

    ``whole`` is the line beside the verdict: without the hints that the verdict counts, with what was not run, and the
    checks of optional tools that do not pass.
    """
    problems = report.problems
    failed = sum(status_of(check) is Status.FAILED for check in problems)
    hints = 0 if whole and not (report.running or report.stopped) and report.verdict().ready else len(problems) - failed
    rows = [(status_of(row), id_of(row)) for row in report.rows() if concerns(id_of(row), report.backend)]
    ok = sum(status is Status.OK for status, _ in rows)
    parts = [
        (f"{symbols.sign(Status.FAILED)} {failed} failed" if failed else "", "fail"),
        (f"{hints} hint{'s' * (hints != 1)}" if hints else "", "warn"),
        (f"{ok} ok" if report.checks else "", "text"),
    ]
    if whole:
        skipped = sum(status is Status.SKIPPED for status, _ in rows)
        optional = sum(name in OPTIONAL and status in (Status.WARN, Status.FAILED) for status, name in rows)
        parts += [
            (f"{skipped} not run" if skipped else "", "muted"),
            (f"{optional} optional" if optional else "", "muted"),
        ]
    line = Line()
    for text, role in parts:
        if text:
            line.add(f" {symbols.dot} " if line.cells else "", "faint").add(text, role)
    return line


def verdict_line(report: DoctorReport, symbols: Symbols = UNICODE, *, width: int, old: bool = False) -> Line:
    """Return ``! Ready, 2 hints`` or ``✗ Not ready: Operator not installed``, without the reason where it does not fit."""
    status = report.status()
    words = "checking…" if report.running else "stopped" if report.stopped else report.verdict().summary
    line = Line(width).add(f"{symbols.sign(status)} ", "stale" if old else status.role)
    short = words.partition(":")[0]
    line.device(words if cells(words) + line.cells <= width - 4 * old else short, "stale" if old else status.role)
    return line.add(" old", "stale") if old else line


def check_detail(
    check: Check,
    width: int,
    symbols: Symbols = UNICODE,
    *,
    critical: bool = False,
    runnable: Collection[str] = (),
) -> Iterator[Row]:
    """Yield one check in full. ``runnable`` are the steps that ``F`` can run."""
    status = status_of(check)
    summary = str(check.get("summary") or short_name(id_of(check)))
    yield from wrapped(summary, width, "strong", lead=f" {symbols.sign(status)} ", lead_role=status.role, limit=4)
    weight = "critical" if critical else "advisory"
    yield _pair("check", id_of(check), "muted", width, after=f"  {weight}")
    took = _time(check)
    yield _pair("state", f"{status.word} in {took}" if took else status.word, status.role, width)
    yield from _code(check, status, width)
    if status in _NO_RESULT:
        yield Row(Line(width))
        yield from _paragraph(_why_no_result(check, status), width)
    if check.get("detail"):
        yield Row(Line(width))
        yield from _paragraph(str(check["detail"]), width)
    yield from _fix(check, width, symbols, runnable)
    yield from _guidance(check, width)
    yield from _evidence(check.get("evidence"), width)


def _why_no_result(check: Check, status: Status) -> str:
    if status is Status.RUNNING:
        return "This check is running."
    if status is Status.WAITING:
        return "This check is waiting for the ones before it."
    stopper = str(check.get("stopper", ""))
    if not stopper:
        return "Not run: the run ended before. Press r to run all checks."
    return f"Not run because {short_name(stopper)} does not pass. Press r to run all checks."


def _code(check: Check, status: Status, width: int) -> Iterator[Row]:
    """Yield the code with its meaning and hint."""
    if not check.get("code"):
        return
    yield _pair("code", str(check["code"]), status.role, width)
    code = ErrorCode.known(str(check["code"]))
    texts = [f"{code.meaning[:1].upper()}{code.meaning[1:]}."] if code is not None else []
    if code is not None and not check.get("fix"):  # the fix is for this device, the hint for any
        texts.append(code.hint)
    for words, role in zip(texts, ("muted", "text"), strict=False):
        yield from wrapped(words, width - 1, role, lead=" " * (_NAME_CELLS + 3), limit=4)


def _guidance(check: Check, width: int) -> Iterator[Row]:
    guidance = check.get("deviceGuidance")
    if not isinstance(guidance, Mapping):
        return
    yield Row(Line(width))
    yield Row(Line(width).add(" on the device: ", "faint").device(str(guidance.get("screen", "")), "strong"))
    steps = _listed(guidance.get("steps"))
    for number, step in enumerate(steps[:_STEPS_SHOWN], 1):
        yield from _step(number, str(step), "text", "", width)


def _fix(check: Check, width: int, symbols: Symbols, runnable: Collection[str]) -> Iterator[Row]:
    fix = check.get("fix")
    if not isinstance(fix, Mapping):
        return
    yield Row(Line(width))
    yield Row(Line(width).add(" fix: ", "faint").device(str(fix.get("title", "")), "strong"))
    steps = _steps(check)
    for number, (kind, text) in enumerate(steps[:_STEPS_SHOWN], 1):
        shell = kind == "shell"
        mark = symbols.closed if text in runnable else "$" if shell else ""
        yield from _step(number, text, "accent" if shell else "text", mark, width)
    if fix.get("docsUrl"):
        yield from _pairs("more", str(fix["docsUrl"]), width, _NAME_CELLS - 2)
    if steps:
        copies = "y l copy the steps"
        known = sum(text in runnable for _, text in steps)
        words = f"{symbols.closed} F run · {copies}" if known else copies
        yield Row(Line(width).add(f" {words.replace('·', symbols.dot)} {symbols.dot} v check again", "muted"))


def _step(number: int, text: str, role: str, mark: str, width: int) -> Iterator[Row]:
    """Yield ``1. ▸ clawperator …``; ``mark`` stands for a command."""
    indent = 5 + (2 if mark else 0)
    for index, part in enumerate(wrap(text, max(10, width - indent - 1), limit=8)):
        line = Line(width).add(f" {number:>2}. " if not index else " " * 5, "muted")
        if mark:
            line.add(f"{mark} " if not index else "  ", "accent")
        yield Row(line.add(part, role))


def _evidence(evidence: object, width: int) -> Iterator[Row]:
    if not isinstance(evidence, Mapping) or not evidence:
        return
    yield Row(Line(width))
    yield Row(Line(width).add(" evidence", "faint"))
    facts = [(str(key), _words(value)) for key, value in islice(evidence.items(), _FACTS_SHOWN)]
    room = min(max(len(name) for name, _ in facts), max(_FACT_CELLS, width // 2 - 4))
    for name, words in facts:
        yield from _pairs(name, words, width, max(room, _FACT_CELLS // 2))
    if len(evidence) > len(facts):
        yield Row(Line(width).add(f"   {len(evidence) - len(facts):,} more", "faint"))


def _words(value: object) -> str:
    """Return a value of the evidence as text; containers as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def _paragraph(text: str, width: int) -> Iterator[Row]:
    for part in text.splitlines()[:_STEPS_SHOWN]:
        yield from wrapped(part, width, limit=20)


def _pair(name: str, value: str, role: str, width: int, *, after: str = "") -> Row:
    line = Line(width - len(after)).add(f"   {name:<{_NAME_CELLS}}", "faint").device(value, role)
    return Row(line.add(after, "faint"))


def _pairs(name: str, value: str, width: int, room: int) -> Iterator[Row]:
    """Yield a fact: its name in ``room`` cells, its value wrapped beside it."""
    label = shorten(name, room)
    lines = value.splitlines()[:20] or [""]
    parts = [text for line in lines for text in wrap(line, max(10, width - room - 5), limit=6)]
    for index, text in enumerate(parts):
        head = label + " " * (room - cells(label)) if index == 0 else " " * room
        yield Row(Line(width).add(f"   {head}  ", "faint").add(text, "text"))


# -- the fix as text


def _listed(steps: object) -> list[Any]:
    return list(steps) if isinstance(steps, (list, tuple)) else []


def _steps(check: Check) -> list[tuple[str, str]]:
    """Return kind and text of each step; malformed steps are left out."""
    fix = check.get("fix")
    steps = _listed(fix.get("steps")) if isinstance(fix, Mapping) else []
    return [(str(step.get("kind", "")), str(step.get("value", ""))) for step in steps if isinstance(step, Mapping)]


def shell_text(check: Check) -> str:
    """Return the shell commands of the fix, one per line; empty without one."""
    return "\n".join(text for kind, text in _steps(check) if kind == "shell")


def fix_text(check: Check) -> str:
    """Return all steps of the fix, one per line: on the host, else on the device."""
    guidance = check.get("deviceGuidance")
    device = _listed(guidance.get("steps")) if isinstance(guidance, Mapping) else []
    return "\n".join([text for _, text in _steps(check)] or [str(step) for step in device])
