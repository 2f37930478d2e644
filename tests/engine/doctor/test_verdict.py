"""One verdict per run: what makes a device not ready, and what is only a hint."""

from __future__ import annotations

import pytest

from clawperator.engine.doctor.check import Check
from clawperator.engine.doctor.report import report
from clawperator.engine.doctor.verdict import verdict_of
from clawperator.engine.errors import ErrorCode

HINT = Check("host.git.presence", "warn", "git was not found")
NODE = Check("host.node.version", "warn", "Node.js was not found")
ANSWERS = Check("readiness.handshake", "pass", "The Operator app answered in 3 ms")
ABSENT = Check("readiness.apk.presence", "warn", "p is not installed", ErrorCode.RECEIVER_NOT_INSTALLED)
OFF = Check("readiness.accessibility.enabled", "warn", "off", ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING)
BOUND = Check("readiness.accessibility.bound", "warn", "down", ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING)
SILENT = Check("readiness.handshake", "fail", "no answer", ErrorCode.RESULT_ENVELOPE_TIMEOUT)
OLD = Check("readiness.version.compatibility", "fail", "p 0.9.0 is not supported", ErrorCode.VERSION_INCOMPATIBLE)
SHELL = Check("readiness.apk.presence", "fail", "The package manager did not answer")


PROGRAMS = Check("stock.programs", "pass", "installed")
HELD = Check("stock.uiautomation", "fail", "UiAutomation is held by u2", ErrorCode.BACKEND_UNAVAILABLE)
UNREAD = Check("stock.uiautomation", "warn", "could not be read")


@pytest.mark.parametrize(
    ("checks", "summary"),
    [
        ([PROGRAMS, ABSENT, SILENT], "Ready"),
        ([HINT, PROGRAMS, UNREAD], "Ready, 2 hints"),
        ([PROGRAMS, HELD, ANSWERS], "Not ready: UiAutomation is held by u2"),
        ([ANSWERS], "Not ready: the stock backend was not checked"),
    ],
)
def test_the_verdict_on_the_stock_backend(checks: list[Check], summary: str) -> None:
    found = [check.to_dict() for check in checks]
    assert verdict_of(found, "stock").summary == summary
    assert verdict_of([*found, ANSWERS.to_dict()], "operator").summary != summary or summary.startswith("Ready")


@pytest.mark.parametrize(
    ("checks", "status", "summary"),
    [
        ([ANSWERS], "ready", "Ready"),
        ([NODE, ANSWERS], "ready", "Ready"),
        ([HINT, ANSWERS], "ready_with_hints", "Ready, 1 hint"),
        ([HINT, OFF, ANSWERS], "ready_with_hints", "Ready, 2 hints"),
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
    assert (answer["verdict"], answer["summary"]) == (status, summary)
    tries = "Try: clawperator observe snapshot --device-id d" in answer.get("nextActions", [])
    assert tries is verdict.ready, "a device that can execute is always worth trying"
