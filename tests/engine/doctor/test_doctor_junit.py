"""The doctor's run as JUnit XML: well-formed whatever a device says, and in the shape that CI systems read."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.doctor.check import Check, manual
from clawperator.engine.doctor.junit import junit_xml
from clawperator.engine.errors import ErrorCode

IDS = ("host.python.version", "host.node.version", "device.discovery", "readiness.handshake")
CHECKS = [
    Check(IDS[0], "pass", "Python 3.12", duration_ms=0.4),
    Check(IDS[1], "warn", "Node is <old> & tired", ErrorCode.NODE_TOO_OLD, fix_title="Do", fix=manual("upgrade")),
    Check(IDS[2], "fail", "none", ErrorCode.NO_DEVICES, "line 1\nline 2", duration_ms=120.0),
]


def parse(data: bytes) -> ET.Element:
    return ET.fromstring(data)


def test_the_shape() -> None:
    root = parse(junit_xml(CHECKS, IDS, device_id="", package="p", at=0.0))
    (suite,) = root.findall("testsuite")
    assert root.tag == "testsuites"
    for element in (root, suite):
        assert [element.get(name) for name in ("tests", "failures", "errors")] == ["4", "1", "0"]
    assert suite.get("skipped") == "1"
    assert root.keys() == ["name", "tests", "failures", "errors", "time"], "Jenkins' xUnit plugin allows no other"
    assert suite.get("timestamp") == "1970-01-01T00:00:00"
    cases = suite.findall("testcase")
    assert [(case.get("classname"), case.get("name")) for case in cases] == [
        ("doctor.host", "python.version"),
        ("doctor.host", "node.version"),
        ("doctor.device", "discovery"),
        ("doctor.readiness", "handshake"),
    ]
    assert [[child.tag for child in case] for case in cases] == [
        ["system-out"],
        ["system-out"],
        ["failure"],
        ["skipped"],
    ]
    assert cases[1][0].text == "WARN: Node is <old> & tired\nDo:\n  upgrade"
    assert (cases[2][0].get("type"), cases[2][0].get("message"), cases[2][0].text) == (
        "NO_DEVICES",
        "none",
        "line 1\nline 2",
    )
    assert cases[2].get("time") == "0.120"


@given(st.text(), st.text(), st.text())
def test_hostile_text_is_well_formed(summary: str, detail: str, device_id: str) -> None:
    hostile = "\x00\x1b[31m]]>&<\ud800\ufffe\u202e"
    checks = [
        Check(IDS[2], "fail", summary + hostile, None, detail + hostile, guidance_screen="s", guidance=(hostile,))
    ]
    root = parse(junit_xml(checks, IDS, device_id=device_id + hostile, package=hostile, at=1e9))
    failure = root.find(".//failure")
    assert failure is not None
    assert "\\x1b[31m]]>&<\\ud800\\ufffe" in (failure.text or "")
