"""``dumpsys accessibility`` of several Androids."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.adb.accessibility import AccessibilityDump, BoundService, parse_accessibility
from tests.support import table

OURS = "com.clawperator.operator/clawperator.operator.accessibilityservice.OperatorAccessibilityService"
TALKBACK = "com.google.android.marvin.talkback/.TalkBackService"
FULL_TALKBACK = "com.google.android.marvin.talkback/com.google.android.marvin.talkback.TalkBackService"
RUNNING = "Service[label=Clawperator, feedbackType[FEEDBACK_GENERIC], capabilities=33, eventTypes=TYPES_ALL_MASK]"


def dump(bound: str, enabled: str, binding: str = "", crashed: str = "") -> str:
    return (
        "ACCESSIBILITY MANAGER (dumpsys accessibility)\n\nUser state[\n     attributes:{id=0, currentUser=true}\n"
        f"     Bound services:{{{bound}}}\n     Enabled services:{{{enabled}}}\n"
        f"     Binding services:{{{binding}}}\n     Crashed services:{{{crashed}}}]\n"
    )


@table(
    ("text", "bound"),
    [
        (dump(RUNNING, f"{{{OURS}}}"), True),
        (dump(f"{RUNNING},\n   {RUNNING}", f"{{{TALKBACK}}}, {{{OURS}}}"), True),
        (dump("", f"{{{OURS}}}"), False),
        (dump(RUNNING, f"{{{TALKBACK}}}, {{{OURS}}}", crashed=f"{{{OURS}}}"), False),
        (dump(RUNNING, f"{{{TALKBACK}}}, {{{OURS}}}", binding=f"{{{OURS}}}"), False),
        (dump(RUNNING, f"{{{TALKBACK}}}, {{{OURS}}}"), None),
        (dump(f"Service[label=x, component={OURS}]", f"{{{TALKBACK}}}, {{{OURS}}}"), True),
        (dump(f"Service[label=x, component={TALKBACK}]", f"{{{OURS}}}"), False),
        ("null\n", None),
        ("", None),
    ],
)
def test_whether_the_service_runs(text: str, bound: bool | None) -> None:
    assert parse_accessibility(text).is_bound(OURS) is bound


def test_android_before_10_does_not_repeat_the_list() -> None:
    text = f"User state[attributes:{{id=0, currentUser=true}}\n           services:{{{RUNNING}}}]\n"
    state = parse_accessibility(text)
    assert state.bound == (BoundService("Clawperator"),)
    assert (state.is_bound(OURS), state.is_bound(OURS, 2), state.is_bound(OURS, 1)) == (None, None, True)


def test_the_current_user_counts_and_short_names_are_spelled_out() -> None:
    other = dump("", f"{{{OURS}}}").replace("currentUser=true", "currentUser=false")
    state = parse_accessibility(other + dump(RUNNING, f"{{{TALKBACK}}}") + "\nUi Automation[eventTypes=1]\n")
    assert state.enabled == (FULL_TALKBACK,)
    assert state.ui_automation
    assert not parse_accessibility(other).ui_automation


@pytest.mark.parametrize(
    "client", ["Service[label=null, capabilities=1]\n}", "\nException occurred while dumping:\njava.lang"]
)
def test_a_client_of_ui_automation_before_android_9(client: str) -> None:
    state = parse_accessibility(f"User state[attributes:{{id=0, currentUser=true, autoclickEnabled=false, {client}")
    assert (state.known, state.ui_automation, state.is_bound(OURS)) == (True, True, False)


def test_a_vendors_capture(corpus: Path) -> None:
    state = parse_accessibility((corpus / "device" / "dumpsys-accessibility.txt").read_text())
    assert state.known
    assert (len(state.installed), state.enabled, state.bound) == (4, (), ())
    assert state.is_bound(OURS) is False


@given(st.text(alphabet="User state[bound services:{}]Service[label=,\n \x00/a.", max_size=300))
def test_any_text_is_read(text: str) -> None:
    for candidate in (text, dump(text, text), "bound services:{" * 3 + text):
        assert isinstance(parse_accessibility(candidate), AccessibilityDump)
