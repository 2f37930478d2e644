"""One verdict per run: what makes a device not ready, and what is only a hint."""

from __future__ import annotations

import pytest

from clawperator.engine.doctor.check import Check
from clawperator.engine.doctor.run import report
from clawperator.engine.doctor.verdict import verdict_of
from clawperator.engine.errors import ErrorCode
from tests.support import table

HINT = Check("host.git.presence", "warn", "git was not found")
NODE = Check("host.node.version", "warn", "Node.js was not found")
ANSWERS = Check("readiness.handshake", "pass", "The Operator app answered in 3 ms")
ABSENT = Check("readiness.apk.presence", "warn", "p is not installed", ErrorCode.RECEIVER_NOT_INSTALLED)
OFF = Check("readiness.accessibility.enabled", "warn", "off", ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING)
BOUND = Check("readiness.accessibility.bound", "warn", "down", ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING)
SILENT = Check("readiness.handshake", "fail", "no answer", ErrorCode.RESULT_ENVELOPE_TIMEOUT)
OLD = Check("readiness.version.compatibility", "fail", "p 0.9.0 is not supported", ErrorCode.VERSION_INCOMPATIBLE)
SHELL = Check(
    "readiness.apk.presence", "fail", "The package manager did not answer", ErrorCode.DEVICE_SHELL_UNAVAILABLE
)


PROGRAMS = Check("stock.programs", "pass", "installed")
HELD = Check("stock.uiautomation", "fail", "UiAutomation is held by u2", ErrorCode.BACKEND_UNAVAILABLE)
UNREAD = Check("stock.uiautomation", "warn", "could not be read", unknown=True)
UNREAD_BOUND = Check("readiness.accessibility.bound", "warn", "The check could not run", unknown=True)
UNREAD_PROGRAMS = Check("stock.programs", "warn", "The check could not run", unknown=True)


@pytest.mark.parametrize(
    ("checks", "summary"),
    [
        ([PROGRAMS, ABSENT, SILENT], "Ready"),
        ([HINT, PROGRAMS, UNREAD], "Ready, 1 hint; not checked: stock.uiautomation"),
        ([UNREAD_PROGRAMS, UNREAD], "Not ready: the stock backend was not checked"),
        ([PROGRAMS, HELD, ANSWERS], "Not ready: UiAutomation is held by u2"),
        ([ANSWERS], "Not ready: the stock backend was not checked"),
    ],
)
def test_the_verdict_on_the_stock_backend(checks: list[Check], summary: str) -> None:
    found = [check.to_dict() for check in checks]
    assert verdict_of(found, "stock").summary == summary
    assert verdict_of([*found, ANSWERS.to_dict()], "operator").summary != summary or summary.startswith("Ready")


@table(
    ("checks", "status", "summary"),
    [
        ([ANSWERS], "ready", "Ready"),
        ([NODE, ANSWERS], "ready", "Ready"),
        ([HINT, ANSWERS], "ready_with_hints", "Ready, 1 hint"),
        ([HINT, OFF, ANSWERS], "ready_with_hints", "Ready, 2 hints"),
        ([UNREAD_BOUND, ANSWERS], "ready_with_hints", "Ready; not checked: readiness.accessibility.bound"),
        ([HINT, ABSENT], "not_ready", "Not ready: Operator not installed"),
        ([SHELL], "not_ready", "Not ready: The package manager did not answer"),
        ([OLD], "not_ready", "Not ready: p 0.9.0 is not supported"),
        ([SILENT], "not_ready", "Not ready: the Operator did not answer"),
        ([OFF, SILENT], "not_ready", "Not ready: accessibility service off"),
        ([BOUND, SILENT], "not_ready", "Not ready: accessibility service not running"),
        ([HINT], "not_ready", "Not ready: the Operator was not checked"),
        ([], "not_ready", "Not ready: the Operator was not checked"),
    ],
)
def test_the_verdict_on_the_operator(checks: list[Check], status: str, summary: str) -> None:
    verdict = verdict_of([check.to_dict() for check in checks])
    assert (verdict.status, verdict.summary) == (status, summary)
    answer = report(checks, device_id="d", package="p")
    assert (answer["verdict"], answer["summary"], answer["ok"]) == (status, summary, verdict.ready)
    assert answer.get("unknown", []) == [check.id for check in checks if check.unknown]
    tries = "Try: clawperator observe snapshot --device-id d" in answer.get("nextActions", [])
    assert tries is verdict.ready, "a device that can execute is always worth trying"


def test_a_check_that_could_not_run_is_no_pass_on_any_face() -> None:
    from clawperator.app.cli.pretty.doctor import _check
    from clawperator.app.client import wire
    from clawperator.engine.doctor.junit import _case
    from clawperator.widgets.models.doctor_report import DoctorReport, status_of
    from clawperator.widgets.models.status import Status

    document = UNREAD_BOUND.to_dict()
    assert wire.Checks.model_validate({"checks": [document]}).checks[0].to_dict() == document, "on another computer"
    assert document["unknown"] is True
    assert "unknown" not in HINT.to_dict()
    assert next(iter(_check(document))).plain.startswith("  [?] ")  # type: ignore[union-attr]
    assert _case(UNREAD_BOUND.id, UNREAD_BOUND).status == "skipped"
    shown = DoctorReport(checks=(document, ANSWERS.to_dict()), ended=1.0)
    assert (status_of(document), shown.status()) == (Status.UNKNOWN, Status.WARN)
    assert shown.problems == [document]
