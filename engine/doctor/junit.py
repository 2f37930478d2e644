"""A doctor run as JUnit XML for CI systems. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

from clawperator.engine.doctor.check import Check
from clawperator.engine.text.invisible import spell, visible

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot represent."""
_MAX_TEXT = 20_000


def junit_xml(checks: Sequence[Check], ids: Sequence[str], *, device_id: str, package: str, at: float) -> bytes:
    """Return one test case per id: failed checks are failures, warnings are output, missing checks are skipped.

    ``at`` is the start of the run in seconds since the epoch.
    """
    found = {check.id: check for check in checks}
    failed = [check for check in checks if check.status == "fail"]
    skipped = [check_id for check_id in ids if check_id not in found]
    seconds = sum({check.duration_ms for check in checks}) / 1000  # checks of one probe share its time
    totals = {
        "name": "clawperator doctor",
        "tests": str(len(ids)),
        "failures": str(len(failed)),
        "errors": "0",
        "skipped": str(len(skipped)),
        "time": f"{seconds:.3f}",
    }
    root = ET.Element("testsuites", totals)
    suite = ET.SubElement(root, "testsuite", totals)
    suite.set("timestamp", datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S"))
    properties = ET.SubElement(suite, "properties")
    for name, value in (("deviceId", device_id), ("receiverPackage", package)):
        ET.SubElement(properties, "property", {"name": name, "value": xml_text(value)})
    for check_id in ids:
        _case(suite, check_id, found.get(check_id))
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _case(suite: ET.Element, check_id: str, check: Check | None) -> None:
    group, _, name = check_id.partition(".")
    seconds = 0.0 if check is None else check.duration_ms / 1000
    case = ET.SubElement(suite, "testcase", {"classname": f"doctor.{group}", "name": name, "time": f"{seconds:.3f}"})
    if check is None:
        ET.SubElement(case, "skipped", {"message": "not run: an earlier check failed, or it does not apply"})
    elif check.status == "fail":
        failure = ET.SubElement(
            case, "failure", {"message": xml_text(check.summary), "type": check.code.value if check.code else "failed"}
        )
        failure.text = _details(check)
    else:
        output = ET.SubElement(case, "system-out")
        mark = "WARN: " if check.status == "warn" else ""
        output.text = f"{mark}{xml_text(check.summary)}\n{_details(check)}".rstrip()


def _details(check: Check) -> str:
    """Return detail, fix and guidance as lines."""
    lines = [check.detail] if check.detail else []
    if check.fix:
        lines += [f"{check.fix_title}:", *(f"  {step.value}" for step in check.fix)]
    if check.guidance:
        lines += [f"On device, open {check.guidance_screen}:", *(f"  {step}" for step in check.guidance)]
    return xml_text("\n".join(lines))


def xml_text(text: str) -> str:
    """Return ``text`` with characters that are invisible or not allowed in XML written as their code points."""
    return _NOT_XML.sub(lambda match: spell(match[0]), visible(text[:_MAX_TEXT], lines=True))
