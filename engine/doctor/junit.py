"""A doctor run as JUnit XML for CI systems. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from clawperator.engine.doctor.check import Check
from clawperator.engine.text import junit


def junit_xml(checks: Sequence[Check], ids: Sequence[str], *, device_id: str, package: str, at: float) -> bytes:
    """Return one test case per id: failed checks are failures, warnings are output, missing checks are skipped.

    ``at`` is the start of the run in seconds since the epoch.
    """
    found = {check.id: check for check in checks}
    return junit.junit_xml(
        "clawperator doctor",
        [_case(check_id, found.get(check_id)) for check_id in ids],
        seconds=sum({check.duration_ms for check in checks}) / 1000,  # checks of one probe share its time
        properties={"deviceId": device_id, "receiverPackage": package},
        at=at,
    )


def _case(check_id: str, check: Check | None) -> junit.Case:
    group, _, name = check_id.partition(".")
    names = (f"doctor.{group}", name)
    if check is None:
        return junit.Case(*names, 0.0, "skipped", "not run: an earlier check failed, or it does not apply")
    seconds, text = check.duration_ms / 1000, _details(check)
    if check.status == "fail":
        return junit.Case(*names, seconds, "failed", check.summary, check.code.value if check.code else "failed", text)
    if check.unknown:
        return junit.Case(*names, seconds, "skipped", check.summary)
    mark = "WARN: " if check.status == "warn" else ""
    return junit.Case(*names, seconds, "passed", text=f"{mark}{check.summary}\n{text}".rstrip())


def _details(check: Check) -> str:
    """Return detail, fix and guidance as lines."""
    lines = [check.detail] if check.detail else []
    if check.fix:
        lines += [f"{check.fix_title}:", *(f"  {step.value}" for step in check.fix)]
    if check.guidance:
        lines += [f"On device, open {check.guidance_screen}:", *(f"  {step}" for step in check.guidance)]
    return "\n".join(lines)
