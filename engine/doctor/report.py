"""The report of a run and its next actions (doctor.md#verdict)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from clawperator.engine.doctor.check import Check
from clawperator.engine.doctor.verdict import concerns, verdict_of
from clawperator.engine.text.suggestions import command_line

_LOOK = "clawperator observe snapshot --device-id <device_id>"
_READY = "Everything is ready. For a list of commands, run: clawperator --help"


def report(
    checks: Sequence[Check],
    *,
    device_id: str,
    package: str,
    executed: Collection[str] = (),
    backend: str = "operator",
) -> dict[str, Any]:
    """Return the report; ``operatorPackage`` repeats ``receiverPackage`` for the flat profile.

    ``ok``: the device can run executions by ``backend``; ``criticalOk``: no critical check failed.
    ``executed``: fix steps that were run and are no longer next actions. The verdict is on executions by ``backend``.
    """
    found = [check.to_dict() for check in checks]
    verdict = verdict_of(found, backend)
    critical_ok = not any(check.critical and check.status == "fail" for check in checks)
    answer: dict[str, Any] = {"ok": verdict.ready, "criticalOk": critical_ok, **verdict.to_dict()}
    if device_id:
        answer["deviceId"] = device_id
    answer |= {"receiverPackage": package, "operatorPackage": package}
    answer |= {"backend": backend, "stock": verdict_of(found, "stock").to_dict(), "checks": found}
    if actions := next_actions(checks, device_id, executed=executed, backend=backend):
        answer["nextActions"] = actions
    return answer


def next_actions(
    checks: Sequence[Check], device_id: str, *, executed: Collection[str] = (), backend: str = "operator"
) -> list[str]:
    """Return what is left to do, in the order of the checks, without duplicates."""
    verdict = verdict_of([check.to_dict() for check in checks], backend)
    actions: list[str] = [_READY] if verdict.status == "ready" else []
    for check in checks:
        if check.status == "pass" or not concerns(check.id, backend):
            continue
        actions += [step.value for step in check.fix if not (step.kind == "shell" and step.value in executed)]
        if check.guidance:
            actions.append(f"On device, open {check.guidance_screen} and follow the listed steps.")
    if verdict.ready:
        look = command_line("observe snapshot", device_id) if device_id else _LOOK
        actions.append(f"Try: {look}{' --backend stock' if backend == 'stock' else ''}")
    return list(dict.fromkeys(actions))
