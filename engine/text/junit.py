"""Results as JUnit XML for CI systems. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Literal, NamedTuple
from xml.etree import ElementTree as ET

from clawperator.engine.text.invisible import spell, visible

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot represent."""
_MAX_TEXT = 20_000


class Case(NamedTuple):
    """One test case. ``kind`` is the type of a failure; ``text`` its details, or the output of a case that passed."""

    group: str
    name: str
    seconds: float
    status: Literal["passed", "failed", "skipped"]
    message: str = ""
    kind: str = ""
    text: str = ""


def junit_xml(
    suite_name: str, cases: Sequence[Case], *, seconds: float, properties: Mapping[str, str], at: float
) -> bytes:
    """Return a document with one suite. ``at`` is the start of the run in seconds since the epoch."""
    totals = {
        "name": suite_name,
        "tests": str(len(cases)),
        "failures": str(sum(case.status == "failed" for case in cases)),
        "errors": "0",
        "time": f"{seconds:.3f}",
    }
    root = ET.Element("testsuites", totals)
    skipped = sum(case.status == "skipped" for case in cases)
    suite = ET.SubElement(
        root, "testsuite", {**totals, "skipped": str(skipped)}
    )  # refused on the root by Jenkins' xUnit plugin
    suite.set("timestamp", datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%dT%H:%M:%S"))
    named = ET.SubElement(suite, "properties")
    for name, value in properties.items():
        ET.SubElement(named, "property", {"name": name, "value": xml_text(value)})
    for case in cases:
        _add(suite, case)
    ET.indent(root)
    data: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return data + b"\n"


def _add(suite: ET.Element, case: Case) -> None:
    names = {"classname": case.group, "name": xml_text(case.name), "time": f"{case.seconds:.3f}"}
    element = ET.SubElement(suite, "testcase", names)
    if case.status == "skipped":
        ET.SubElement(element, "skipped", {"message": xml_text(case.message)})
    elif case.status == "failed":
        failure = ET.SubElement(element, "failure", {"message": xml_text(case.message), "type": xml_text(case.kind)})
        failure.text = xml_text(case.text)
    else:
        ET.SubElement(element, "system-out").text = xml_text(case.text)


def xml_text(text: str) -> str:
    """Return ``text`` with characters that are invisible or not allowed in XML written as their code points."""
    return _NOT_XML.sub(lambda match: spell(match[0]), visible(text[:_MAX_TEXT], lines=True))
