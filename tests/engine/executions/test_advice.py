"""Warnings about plans that are valid and will surprise."""

from __future__ import annotations

from typing import Any

import pytest

from clawperator.engine.executions.validate import validate


def warnings(*actions: tuple[str, dict[str, Any]], timeout_ms: int | None = None) -> list[tuple[str, str]]:
    payload = {
        "commandId": "c",
        "taskId": "t",
        "source": "s",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 5000,
        "actions": [{"id": str(n), "type": kind, "params": params} for n, (kind, params) in enumerate(actions)],
    }
    found = validate(payload, timeout_ms=timeout_ms).warnings
    assert all(set(warning.to_dict()) == {"code", "path", "message"} for warning in found)
    return [(warning.code, warning.path) for warning in found]


SNAPSHOT: tuple[str, dict[str, Any]] = ("snapshot_ui", {})
CLOSE: tuple[str, dict[str, Any]] = ("close_app", {"applicationId": "a.b"})
SHOT: tuple[str, dict[str, Any]] = ("take_screenshot", {})


@pytest.mark.parametrize("role", ["android.widget.Button", "knob", " button"])
def test_a_role_that_no_node_has(role: str) -> None:
    assert warnings(SNAPSHOT, ("click", {"matcher": {"role": role}})) == [
        ("ROLE_UNKNOWN", "actions.1.params.matcher.role")
    ]


@pytest.mark.parametrize("role", ["button", "TextField", "unknown"])
def test_a_role_that_exists(role: str) -> None:
    assert warnings(("click", {"matcher": {"role": role}})) == []


def test_percent_signs_in_any_matcher() -> None:
    target = {"textContains": "50%", "resourceId": "a%"}
    assert warnings(("scroll_and_click", {"target": target, "container": {"textEquals": "%"}})) == [
        ("MATCHER_PERCENT", "actions.0.params.target.resourceId"),
        ("MATCHER_PERCENT", "actions.0.params.target.textContains"),
        ("MATCHER_PERCENT", "actions.0.params.container.textEquals"),
    ]


def test_params_that_the_action_does_not_use() -> None:
    assert warnings(("snapshot_ui", {"key": "home"})) == [("PARAM_UNUSED", "actions.0.params.key")]
    assert warnings(("snapshot_ui", {"matcher": {"role": "nonsense%"}})) == [
        ("PARAM_UNUSED", "actions.0.params.matcher")
    ]


def test_closing_later_than_first() -> None:
    assert warnings(CLOSE, CLOSE, SNAPSHOT) == []
    assert warnings(CLOSE, SNAPSHOT, CLOSE) == [("CLOSE_APP_NOT_FIRST", "actions.2")]
    assert warnings(CLOSE) == []


def test_sleeping_the_time_away() -> None:
    nap = ("sleep", {"durationMs": 2500})
    assert warnings(nap) == []
    assert warnings(nap, nap) == [("SLEEP_EXCEEDS_TIMEOUT", "timeoutMs")]
    assert warnings(nap, nap, timeout_ms=9000) == []
    assert warnings(nap, timeout_ms=2500) == [("SLEEP_EXCEEDS_TIMEOUT", "timeoutMs")]


def test_screenshots_show_the_end() -> None:
    assert warnings(SNAPSHOT, SHOT) == []
    assert warnings(SHOT, SNAPSHOT) == [("SCREENSHOT_NOT_LAST", "actions.0")]
    assert warnings(SNAPSHOT, SHOT, SHOT) == [("SCREENSHOTS_SEVERAL", "actions.2")]
