"""Checks of the Operator's accessibility service: enabled, running, and what blocks it. Pure."""

from __future__ import annotations

import re
import shlex
from typing import NamedTuple

from clawperator.engine.adb.accessibility import parse_accessibility
from clawperator.engine.adb.android_user import am, settings
from clawperator.engine.adb.batch import BatchOutput
from clawperator.engine.adb.parse import parse_sdk, parse_user_states
from clawperator.engine.adb.secure_list import contains, entries
from clawperator.engine.contracts.operator_identity import brand_of, service_of
from clawperator.engine.doctor.check import Check, manual, unreadable
from clawperator.engine.doctor.readiness import SETTINGS_SCREEN, SETTINGS_STEPS, granting, value_of
from clawperator.engine.errors import ErrorCode
from clawperator.engine.text.numbers import whole_number
from clawperator.engine.text.suggestions import adb_line

SWITCHES = (
    settings("get", "secure", "accessibility_enabled"),
    settings("get", "secure", "enabled_accessibility_services"),
)
DUMP = ("dumpsys", "accessibility")
ADVANCED_PROTECTION = settings("get", "secure", "advanced_protection_mode")
_SENSITIVE, _REVOKING = 34, 37
"""The first API levels that hide sensitive nodes from, and with Advanced Protection stop, services that are not tools."""
_NOT_RUNNING = ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING
_PROCESSES = 20_000
_CLIENT = re.compile(
    r"com\.android\.commands\.uiautomator|(?:^|/)uiautomator(?:\s|$)|uiautomator2?\.(?:server|test)|com\.github\.uiautomator"
    r"|com\.wetest\.uia2|/u2\.jar|\bam instrument\b|commands\.am\.Am instrument|dev\.mobile\.maestro"
)
"""Command lines of programs that use UiAutomation."""
_STATE = re.compile(r"^[A-Z] (?=\S)")
"""A column that Android before 8 prints without a heading."""
_APP = re.compile(r"[A-Za-z]\w*(?:\.\w+)+(?::\w+)?", re.ASCII)


class Client(NamedTuple):
    """A process that may hold UiAutomation; ``command`` is its command line, or at least its name."""

    pid: int
    user: str
    command: str

    @property
    def label(self) -> str:
        return f"{self.command[:120]} (pid {self.pid})"


def enabled(switch: BatchOutput, listed: BatchOutput, device_id: str, package: str) -> Check:
    """Check that the service is switched on: ``accessibility_enabled`` and ``enabled_accessibility_services``."""
    check_id = "readiness.accessibility.enabled"
    for answer in (switch, listed):
        if not answer.ok:
            return unreadable(check_id, "The accessibility settings", answer.text)
    value = value_of(listed)
    there, on = contains(value, service_of(package)), value_of(switch) == "1"
    others = _count(value) - there
    evidence = {"accessibilityEnabled": value_of(switch)[:80], "listed": there, "otherServices": max(others, 0)}
    if there and on:
        return Check(check_id, "pass", "The Operator's accessibility service is switched on", evidence=evidence)
    summary = "Accessibility is switched off" if there else "The Operator's accessibility service is switched off"
    return Check(
        check_id,
        "warn",
        summary,
        _NOT_RUNNING,
        "Android switches it off when the app crashes, is stopped or is updated.",
        "Switch on the accessibility service",
        granting(device_id, package, force=there),
        SETTINGS_SCREEN,
        SETTINGS_STEPS,
        evidence,
    )


def bound(dump: BatchOutput, listed: BatchOutput, about: BatchOutput, device_id: str, package: str) -> Check:
    """Check that the enabled service is running, by ``dumpsys accessibility``.

    ``listed`` is the setting, which the dump does not contain before Android 10; ``about`` is ``dumpsys package PACKAGE``.
    """
    check_id = "readiness.accessibility.bound"
    state = parse_accessibility(dump.text)
    service = service_of(package)
    running = state.is_bound(service)
    switched_on = len(state.enabled) or _count(value_of(listed))
    if running is None and state.known and not state.enabled and len(state.bound) == switched_on:
        running = True  # as many are running as are enabled
    evidence = {
        "bound": len(state.bound),
        "enabled": switched_on,
        "binding": len(state.binding),
        "crashed": len(state.crashed),
        "uiAutomation": state.ui_automation,
    }
    count = f"{len(state.bound)} of {switched_on} services are running."
    if not state.known:
        return unreadable(check_id, "The state of the accessibility service", dump.text)
    if running:
        return Check(check_id, "pass", "The Operator's accessibility service is running", evidence=evidence)
    if running is None:
        summary = "The running accessibility services could not be read"
        return Check(check_id, "warn", summary, detail=count, evidence=evidence, unknown=True)
    title, fix = "Switch the service off and on again", granting(device_id, package, force=True)
    if state.ui_automation:
        reason, title, fix = "UiAutomation is held by another program", "Stop the program that holds UiAutomation", ()
    elif service in state.crashed:
        reason = "Android lists it as crashed"
    elif "stopped=true" in parse_user_states(about.text, package).get(state.user, ""):
        reason, title = "Android keeps the app stopped until it is opened", "Open the app once"
        fix = manual(adb_line(device_id, "shell", *am("start", "-n", f"{package}/{brand_of(package).activity}")))
    elif service in state.binding:
        reason, title = "It is starting", "Wait"
        fix = manual("Wait three seconds, then run the doctor again.")
    else:
        reason = "Android does not list it as running"
    return Check(
        check_id,
        "warn",
        "The Operator's accessibility service is switched on but not running",
        _NOT_RUNNING,
        f"{reason}. {count}",
        title,
        fix,
        evidence=evidence,
    )


def _count(value: str) -> int:
    """Return how many services a setting lists; their names, which are private, are not reported."""
    return len([entry for entry in entries(value) if entry.strip()])


def hidden_nodes(dump: BatchOutput, sdk: BatchOutput, protection: BatchOutput, package: str) -> Check:
    """Check what Android hides from services that are not accessibility tools (android-facts 10a and 10b).

    ``protection`` is the setting of Advanced Protection. Where the dump does not describe the service, the Operator up to 0.5 is known
    not to be a tool.
    """
    check_id, api = "readiness.accessibility.hidden_nodes", parse_sdk(value_of(sdk))
    described = re.search(rf"{re.escape(package)}[^\n]{{0,4000}}?isAccessibilityTool\s*[:=]\s*(true|false)", dump.text)
    tool = described is not None and described[1] == "true"
    protected = value_of(protection) == "1"
    evidence = {
        "sdk": api,
        "isAccessibilityTool": tool if described else None,
        "advancedProtection": {"1": True, "0": False}.get(value_of(protection)),
    }
    if not api:
        return unreadable(check_id, "The Android version", sdk.text)
    if tool or api < _SENSITIVE:
        return Check(check_id, "pass", "Android hides no nodes from the Operator", evidence=evidence)
    if protected and api >= _REVOKING:
        return Check(
            check_id,
            "warn",
            "Advanced Protection is on: Android stops services that are not accessibility tools",
            _NOT_RUNNING,
            "The Operator is not declared as an accessibility tool.",
            "Use the stock backend, or switch Advanced Protection off",
            manual("Pass --backend stock, or switch off Advanced Protection in Settings > Security & privacy."),
            evidence=evidence,
        )
    detail = (
        "Android 14 and later hide nodes that an app marks as sensitive from services that are not accessibility tools, such as "
        "the Operator. --backend stock reads them."
    )
    return Check(
        check_id,
        "pass",
        "The Operator reads all nodes that apps do not hide as sensitive",
        detail=detail,
        evidence=evidence,
    )


def ui_automation(dump: BatchOutput, processes: str, device_id: str, package: str) -> Check:
    """Check that no client holds UiAutomation, for which Android stops accessibility services.

    ``processes`` is the output of ``ps``, with any columns.
    """
    check_id = "readiness.uiautomation"
    state = parse_accessibility(dump.text)
    if not state.known:
        return unreadable(check_id, "The holder of UiAutomation", dump.text)
    found = clients(processes)
    evidence = {
        "held": state.ui_automation,
        "processes": [
            {"pid": client.pid, "user": client.user, "command": client.command[:200]} for client in found[:20]
        ],
    }
    named = ", ".join(client.label for client in found[:5])
    stopped = state.is_bound(service_of(package)) is False
    if not state.ui_automation and not (found and stopped):
        detail = f"{named} is running but not connected" if named else ""
        return Check(check_id, "pass", "UiAutomation is free", detail=detail, evidence=evidence)
    if not stopped:
        holder = named or "another program"
        detail = "It does not stop accessibility services."
        return Check(check_id, "pass", f"UiAutomation is held by {holder}", detail=detail, evidence=evidence)
    steps = [ending(client, device_id) for client in found[:5]] or ["Stop the test program, or reboot the device."]
    return Check(
        check_id,
        "warn",
        f"UiAutomation is held by {named or 'an unknown program'}",
        _NOT_RUNNING,
        "Android stops accessibility services while it is held.",
        "Stop that program",
        manual(*steps),
        evidence=evidence,
    )


def ending(client: Client, device_id: str) -> str:
    """Return the command line that ends ``client``."""
    adb = f"adb -s {shlex.quote(device_id)} shell"
    if client.user.startswith("u") and _APP.fullmatch(client.command):
        return f"{adb} am force-stop {client.command.partition(':')[0]}"
    return f"{adb} kill {client.pid}"


def clients(text: str) -> tuple[Client, ...]:
    """Return the processes in a ``ps`` listing that look like clients of UiAutomation; never raises."""
    found: dict[int, Client] = {}
    columns: list[str] = []
    for line in text.splitlines()[:_PROCESSES]:
        words = line.split()
        if "PID" in words:
            columns = words
            continue
        if not columns or len(words) < len(columns):
            continue
        row = dict(zip(columns, line.split(None, len(columns) - 1), strict=False))
        pid, command = row.get("PID", ""), _STATE.sub("", row[columns[-1]].strip())
        if (number := whole_number(pid)) is not None and _CLIENT.search(command):
            found.setdefault(number, Client(number, row.get("USER", ""), command))
    return tuple(found.values())
