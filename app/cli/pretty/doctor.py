"""The doctor's report for eyes, in the layout of doctor.md#verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from clawperator.app.cli.output import visible
from clawperator.app.cli.pretty.drawing import BAD, FAINT, GOOD, UNSURE, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import RenderableType

_MARKS = {"pass": ("[OK]", GOOD), "warn": ("[WARN]", UNSURE), "fail": ("[FAIL]", BAD)}
_VERDICTS = {"ready": _MARKS["pass"], "ready_with_hints": _MARKS["warn"], "not_ready": _MARKS["fail"]}


def doctor(data: tuple[Mapping[str, Any], Iterable[str]]) -> Iterator[RenderableType]:
    """Critical checks, advisory findings, verdict, next actions, and which fixes were run."""
    report, critical_ids = data
    checks = report["checks"]
    critical = [check for check in checks if check["id"] in critical_ids]
    advisory = [check for check in checks if check["id"] not in critical_ids]
    findings = [check for check in advisory if check["status"] != "pass"]
    yield Text("Clawperator doctor", "bold")
    yield safe_text(f"Device: {report.get('deviceId', '(auto-detect)')}")
    yield safe_text(f"Receiver package: {report['receiverPackage']}")
    for title, listed in (("Critical checks", critical), ("Advisory checks", findings)):
        if listed:
            yield Text(f"\n{title}", "bold")
            yield Group(*(line for check in listed for line in _check(check)))
    if passed := len(advisory) - len(findings):
        yield safe_text(f"\nAdditional passed checks: {passed}", lines=True)
    if report.get("fixResults"):
        yield Text("\nFixes:", "bold")
        yield from _fixes(report["fixResults"])
    yield Text("")
    mark, style = _VERDICTS[report["verdict"]]
    yield Text.assemble((mark, style), " ", visible(report["summary"]))
    if report.get("nextActions"):
        yield Text("\nNext actions:", "bold")
        for action in report["nextActions"]:
            yield safe_text(f"  - {action}")


def _check(check: Mapping[str, Any]) -> Iterator[RenderableType]:
    mark, style = _MARKS.get(check["status"], ("[?]", UNSURE))
    yield Text.assemble("  ", (mark, style), " ", visible(check["summary"]))
    lines = [check["detail"]] if check.get("detail") else []
    if fix := check.get("fix"):
        lines += [fix["title"], *(f"  {step['value']}" for step in fix["steps"])]
    if guidance := check.get("deviceGuidance"):
        lines += [f"On device, open {guidance['screen']}:", *(f"  {step}" for step in guidance["steps"])]
    for line in lines:
        yield Padding(safe_text(line, lines=True), (0, 0, 0, 6), expand=False)


def _fixes(results: Sequence[Mapping[str, Any]]) -> Iterator[RenderableType]:
    for result in results:
        mark, style = ("[OK]", GOOD) if result["ok"] else ("[FAIL]", BAD)
        yield Text.assemble("  ", (mark, style), " ", visible(result["step"]))
        yield Padding(safe_text(result["output"], FAINT, lines=True), (0, 0, 0, 6), expand=False)
