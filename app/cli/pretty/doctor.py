"""``--output pretty`` of ``doctor``, in the layout of doctor.md#verdict."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Group
from rich.padding import Padding
from rich.text import Text

from clawperator.app.cli.pretty.styles import FAIL, FAINT, OK, UNSURE, WARN
from clawperator.app.cli.pretty.toolbox import Data, Drawing, line, safe_text

_MARKS = {"pass": OK, "warn": WARN, "fail": FAIL}
_VERDICTS = {"ready": OK, "ready_with_hints": WARN, "not_ready": FAIL}


def doctor(data: tuple[Data, Iterable[str]]) -> Drawing:
    """Draw critical checks, advisory findings, verdict, next actions, and the fixes that ran."""
    report, critical_ids = data
    checks = report["checks"]
    critical = [check for check in checks if check["id"] in critical_ids]
    stock = [check for check in checks if check["id"].startswith("stock.")]
    advisory = [check for check in checks if check not in critical and check not in stock]
    findings = [check for check in advisory if check["status"] != "pass"]
    yield Text("Clawperator doctor", "bold")
    yield safe_text(f"Device: {report.get('deviceId', '(auto-detect)')}")
    yield safe_text(f"Receiver package: {report['receiverPackage']}")
    for title, listed in (("Critical checks", critical), ("Stock backend", stock), ("Advisory checks", findings)):
        if listed:
            yield Text(f"\n{title}", "bold")
            yield Group(*(row for check in listed for row in _check(check)))
    if passed := len(advisory) - len(findings):
        yield safe_text(f"\nAdditional passed checks: {passed}", lines=True)
    if report.get("fixResults"):
        yield Text("\nFixes:", "bold")
        for result in report["fixResults"]:
            yield line("  ", OK if result["ok"] else FAIL, f" {result['step']}")
            yield _indented(result["output"], FAINT)
    yield Text("")
    yield line(_VERDICTS[report["verdict"]], f" {report['summary']}")
    if report["backend"] == "operator":
        without = report["stock"]
        yield line(_VERDICTS[without["verdict"]], f" Stock backend (--backend stock): {without['summary']}")
    if report.get("nextActions"):
        yield Text("\nNext actions:", "bold")
        for action in report["nextActions"]:
            yield safe_text(f"  - {action}")


def _check(check: Data) -> Drawing:
    unread = check.get("unknown") and check["status"] == "warn"
    mark = _MARKS.get("" if unread else check["status"], ("[?]", UNSURE))
    yield line("  ", mark, f" {check['summary']}")
    lines = [check["detail"]] if check.get("detail") else []
    if fix := check.get("fix"):
        lines += [fix["title"], *(f"  {step['value']}" for step in fix["steps"])]
    if guidance := check.get("deviceGuidance"):
        lines += [f"On device, open {guidance['screen']}:", *(f"  {step}" for step in guidance["steps"])]
    yield from map(_indented, lines)


def _indented(text: str, style: str = "") -> Padding:
    return Padding(safe_text(text, style, lines=True), (0, 0, 0, 6), expand=False)
