"""Doctor checks as rows and as detail: what is the case, the evidence, then what to do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.safe import cells, shorten, wrap
from clawperator.widgets.format.status import Status
from clawperator.widgets.format.symbols import UNICODE, Symbols

Check = Mapping[str, Any]
"""One check as the doctor reports it: id, status (pass, warn, fail), summary, and where known code, detail, fix, evidence."""

_STATUS = {
    "pass": Status.OK,
    "warn": Status.WARN,
    "fail": Status.FAILED,
    "running": Status.RUNNING,
    "waiting": Status.WAITING,
}

_GROUPS = {"host": "host", "device": "device", "readiness": "readiness", "build": "build"}


def status_of(check: Check) -> Status:
    return _STATUS.get(str(check.get("status")), Status.UNKNOWN)


def group_of(check: Check) -> str:
    """``host``, ``device``, ``readiness`` …: the first word of the id."""
    first = str(check.get("id", "")).partition(".")[0]
    return _GROUPS.get(first, "other")


def check_row(check: Check, width: int, symbols: Symbols = UNICODE) -> Row:
    """State, summary, and at the right the code of what does not pass or the gist of the evidence."""
    status = status_of(check)
    right = Line(max(0, width // 2))
    if check.get("code") and width >= 50:
        right.device(str(check["code"]), status.role)
    elif width >= 50 and (gist := _gist(check.get("evidence"))):
        right.device(gist, "muted", room=width // 3)
    if right.cells:
        right.add(" ")
    line = Line(width - right.cells - bool(right.cells)).add(f" {status.sign(ascii_only=symbols.ascii)} ", status.role)
    quiet = status in (Status.OK, Status.WAITING)
    return Row(line.device(str(check.get("summary") or check.get("id", "")), "text" if quiet else "strong"), right)


def _gist(evidence: object) -> str:
    """The first short value of the evidence."""
    if not isinstance(evidence, Mapping):
        return ""
    values = (value for value in evidence.values() if isinstance(value, (str, int, float)) and str(value))
    return next((str(value).splitlines()[0] for value in values if len(str(value)) <= 60), "")


def tally(checks: Sequence[Check]) -> dict[Status, int]:
    """How many checks are in which state."""
    counts: dict[Status, int] = {}
    for check in checks:
        status = status_of(check)
        counts[status] = counts.get(status, 0) + 1
    return counts


def tally_line(checks: Sequence[Check], symbols: Symbols = UNICODE) -> Line:
    """``11 ✓  0 !  1 ✗``: passing, advisory, failing; zeroes of the bad ones are left out."""
    counts = tally(checks)
    line = Line()
    for status in (Status.OK, Status.WARN, Status.FAILED):
        if counts.get(status) or status is Status.OK:
            line.add("  " if line.cells else "").add(f"{counts.get(status, 0)} ", "text")
            line.add(status.sign(ascii_only=symbols.ascii), status.role)
    return line


def check_detail(check: Check, width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """The whole of one check for a detail pane."""
    status = status_of(check)
    head = Line(width).add(f" {status.sign(ascii_only=symbols.ascii)} ", status.role)
    yield Row(head.device(str(check.get("summary", "")), "strong"))
    yield _pair("check", str(check.get("id", "")), "muted", width)
    if check.get("code"):
        yield _pair("code", str(check["code"]), status.role, width)
    if check.get("detail"):
        yield Row(Line(width))
        yield from _paragraph(str(check["detail"]), width)
    yield from _guidance(check, width)
    yield from _fix(check, width)
    evidence = check.get("evidence")
    if isinstance(evidence, Mapping) and evidence:
        yield Row(Line(width))
        yield Row(Line(width).add(" evidence", "faint"))
        for key, value in evidence.items():
            yield from _pairs(str(key), str(value), width)


def _guidance(check: Check, width: int) -> Iterator[Row]:
    guidance = check.get("deviceGuidance")
    if not isinstance(guidance, Mapping):
        return
    yield Row(Line(width))
    yield Row(Line(width).add(" on the device: ", "faint").device(str(guidance.get("screen", "")), "text"))
    yield from _numbered([str(step) for step in guidance.get("steps") or ()], width)


def _fix(check: Check, width: int) -> Iterator[Row]:
    fix = check.get("fix")
    if not isinstance(fix, Mapping):
        return
    yield Row(Line(width))
    yield Row(Line(width).add(" to do: ", "faint").device(str(fix.get("title", "")), "text"))
    steps = [step for step in fix.get("steps") or () if isinstance(step, Mapping)]
    for number, step in enumerate(steps, 1):
        shell = step.get("kind") == "shell"
        for index, text in enumerate(wrap(str(step.get("value", "")), max(10, width - 7), limit=6)):
            line = Line(width).add(f" {number:>2}. " if index == 0 else "     ", "muted")
            line.add("$ " if shell and index == 0 else "  ", "accent")
            yield Row(line.add(text, "accent" if shell else "text"))
    if fix.get("docsUrl"):
        yield from _pairs("more", str(fix["docsUrl"]), width)


def _numbered(steps: Sequence[str], width: int) -> Iterator[Row]:
    for number, step in enumerate(steps, 1):
        for index, text in enumerate(wrap(step, max(10, width - 6), limit=6)):
            yield Row(Line(width).add(f" {number:>2}. " if index == 0 else "     ", "muted").add(text))


def _paragraph(text: str, width: int) -> Iterator[Row]:
    for part in text.splitlines():
        for line in wrap(part, max(10, width - 2), limit=20):
            yield Row(Line(width).add(" ").add(line))


def _pair(name: str, value: str, role: str, width: int) -> Row:
    return Row(Line(width).add(f"   {name:<6} ", "faint").device(value, role))


def _pairs(name: str, value: str, width: int) -> Iterator[Row]:
    label = shorten(name, 18)
    lines = wrap(value, max(10, width - 22), limit=6)
    for index, text in enumerate(lines):
        head = label + " " * (18 - cells(label)) if index == 0 else " " * 18
        yield Row(Line(width).add(f"   {head} ", "faint").add(text, "text"))


def fix_text(check: Check) -> str:
    """What one would type to repair it: the shell steps, one per line; else the manual steps."""
    fix = check.get("fix")
    steps = [step for step in (fix.get("steps") or ()) if isinstance(step, Mapping)] if isinstance(fix, Mapping) else []
    shell = [str(step.get("value", "")) for step in steps if step.get("kind") == "shell"]
    return "\n".join(shell or [str(step.get("value", "")) for step in steps])
