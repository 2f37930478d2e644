"""Checks of the stock backend, which needs no app: its programs, and who holds UiAutomation. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from clawperator.engine.adb.accessibility import parse_accessibility
from clawperator.engine.adb.batch import BatchOutput
from clawperator.engine.adb.parse import parse_sdk
from clawperator.engine.contracts.operator_identity import service_of
from clawperator.engine.doctor.accessibility import clients, ending
from clawperator.engine.doctor.check import Check, manual, unreadable
from clawperator.engine.errors import ErrorCode

PROGRAMS = ("uiautomator", "input", "screencap", "am")
LOOKUPS = tuple(("command", "-v", name) for name in PROGRAMS)
_VM_INPUT = 30
"""Last API level on which each call of ``input`` starts a virtual machine (android-facts 10d)."""
_OLDEST = 24
"""Android 7: the first with shell v2 and ``cmd package``."""


def programs(found: Sequence[BatchOutput], sdk: BatchOutput) -> Check:
    """Check that the device has all of ``PROGRAMS``; ``found`` are the outputs of ``LOOKUPS``."""
    check_id, api = "stock.programs", parse_sdk(sdk.text)
    missing = [name for name, answer in zip(PROGRAMS, found, strict=True) if not answer.ok]
    if not api:
        return unreadable(check_id, "The Android version", sdk.text)
    limits = known_limits(api)
    evidence = {"sdk": sdk.text.strip(), "missing": missing, "limits": list(limits)}
    if missing or api < _OLDEST:
        summary = f"The device has no {' and no '.join(missing)}"
        if api < _OLDEST:
            summary = f"The stock backend needs Android 7 (API {_OLDEST}); the device has API {api}"
        return Check(check_id, "fail", summary, ErrorCode.BACKEND_UNAVAILABLE, evidence=evidence)
    return Check(check_id, "pass", f"{', '.join(PROGRAMS)} are installed", detail=" ".join(limits), evidence=evidence)


def known_limits(sdk: int) -> tuple[str, ...]:
    """Return what the stock backend cannot do, or does slowly, on Android API ``sdk``."""
    return (
        "A tree takes one to three seconds and cannot be read while the screen keeps changing.",
        *(("Each input takes about 0.7 s.",) if sdk <= _VM_INPUT else ()),
    )


def ui_automation(dump: BatchOutput, processes: str, device_id: str, package: str) -> Check:
    """Check that no other client holds UiAutomation; there is one at a time (android-facts 7f)."""
    check_id = "stock.uiautomation"
    state = parse_accessibility(dump.text)
    if not state.known:
        return unreadable(check_id, "The holder of UiAutomation", dump.text)
    bound = state.is_bound(service_of(package)) is True
    evidence = {"held": state.ui_automation, "boundServices": len(state.bound), "operatorBound": bound}
    if not state.ui_automation:
        pauses = "The Operator's service is running and stops while a tree is read: pass --allow-unbind."
        return Check(check_id, "pass", "UiAutomation is free", detail=pauses if bound else "", evidence=evidence)
    found = clients(processes)
    named = ", ".join(client.label for client in found[:5]) or "an unknown program"
    steps = [ending(client, device_id) for client in found[:5]] or ["Stop the test program, or reboot the device."]
    return Check(
        check_id,
        "fail",
        f"UiAutomation is held by {named}",
        ErrorCode.BACKEND_UNAVAILABLE,
        "Android gives UiAutomation to one program at a time.",
        "Stop that program",
        manual(*steps),
        evidence=evidence,
    )
