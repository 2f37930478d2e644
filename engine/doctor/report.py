"""The report of a run and its next actions (doctor.md#verdict)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from clawperator.engine.doctor.check import Check
from clawperator.engine.doctor.verdict import verdict_of
from clawperator.engine.text.suggestions import command_line

_LOOK = "clawperator observe snapshot --device-id <device_id>"
_READY = "Everything is ready. For a list of commands, run: clawperator --help"


def report(checks: Sequence[Check], *, device_id: str, package: str, executed: Collection[str] = ()) -> dict[str, Any]:
    """Return the report; ``operatorPackage`` repeats ``receiverPackage`` for the flat profile.

    ``executed``: fix steps that were run and are no longer next actions.
    """
    critical_ok = not any(check.critical and check.status == "fail" for check in checks)
    found = [check.to_dict() for check in checks]
    answer: dict[str, Any] = {"ok": critical_ok, "criticalOk": critical_ok, **verdict_of(found).to_dict()}
    if device_id:
        answer["deviceId"] = device_id
    answer |= {"receiverPackage": package, "operatorPackage": package, "checks": found}
    if actions := next_actions(checks, device_id, executed=executed):
        answer["nextActions"] = actions
    return answer


def next_actions(checks: Sequence[Check], device_id: str, *, executed: Collection[str] = ()) -> list[str]:
    """Return what is left to do, in the order of the checks, without duplicates."""
    verdict = verdict_of([check.to_dict() for check in checks])
    actions: list[str] = [] if verdict.hints or not verdict.ready else [_READY]
    for check in checks:
        if check.status == "pass":
            continue
        actions += [step.value for step in check.fix if not (step.kind == "shell" and step.value in executed)]
        if check.guidance:
            actions.append(f"On device, open {check.guidance_screen} and follow the listed steps.")
    if verdict.ready:
        actions.append(f"Try: {command_line('observe snapshot', device_id) if device_id else _LOOK}")
    return list(dict.fromkeys(actions))
