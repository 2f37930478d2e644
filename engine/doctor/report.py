"""What a run comes to: the report, and what to do next (doctor.md#verdict)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from clawperator.engine.doctor.check import Check
from clawperator.engine.doctor.verdict import verdict_of
from clawperator.engine.text.suggestions import command_line

_LOOK = "clawperator observe snapshot --device-id <device_id>"
_READY = "Everything is ready. For a list of commands, run: clawperator --help"


def report(checks: Sequence[Check], *, device_id: str, package: str, executed: Collection[str] = ()) -> dict[str, Any]:
    """The doctor report; ``operatorPackage`` repeats ``receiverPackage`` for callers of the flat names.

    ``executed``: steps of fixes that were run, which are no next actions any more.
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
    """What is left to do, each line once, in the order of the checks; on a device that is ready, trying it comes last."""
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
