"""The step log of cli.md#commands: exactly its keys, what is dropped, what is warned of, and the way back."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.recordings.records import Click, WindowChange
from clawperator.engine.recordings.step_log import read_step_log, step_log, summary
from tests.engine.recordings.sessions import SHOP, click, lines, node, reading, screen, typed, window
from tests.support import table

SCREEN = screen(node(resource_id=f"{SHOP}:id/go"))
SCROLL = {
    "type": "scroll",
    "packageName": SHOP,
    "resourceId": None,
    "scrollX": 0,
    "scrollY": 5,
    "maxScrollX": 0,
    "maxScrollY": 9,
    "snapshot": None,
}
BACK = {"type": "press_key", "key": "back", "snapshot": SCREEN}


def log_of(*events: dict[str, Any]) -> dict[str, Any]:
    return step_log(reading(lines(*events)))


def test_the_steps_and_nothing_else() -> None:
    events = (
        window(SCREEN),
        click(0, SCREEN, resourceId=f"{SHOP}:id/go", text="Go"),
        typed("tea"),
        BACK,
        window(SCREEN),
    )
    assert log_of(*events) == {
        "sessionId": "session-1",
        "schemaVersion": 1,
        "steps": [
            {"seq": 1, "type": "open_app", "packageName": SHOP, "uiStateBefore": SCREEN},
            {
                "seq": 2,
                "type": "click",
                "packageName": SHOP,
                "resourceId": f"{SHOP}:id/go",
                "text": "Go",
                "contentDesc": None,
                "bounds": {"left": 0, "top": 0, "right": 1080, "bottom": 100},
                "uiStateBefore": SCREEN,
            },
        ],
        "_warnings": [
            "seq 3: a typed text was dropped: step logs do not support typing",
            "seq 4: a key was dropped: step logs do not support keys",
        ],
    }


def test_dropped_scrolls_and_missing_snapshots_are_warned_of() -> None:
    log = log_of(window(), SCROLL, click(), typed("tea"), window(SCREEN))
    assert [warning.partition(":")[0] for warning in log["_warnings"]] == ["seq 1", "seq 2", "seq 3", "seq 4"]
    assert "snapshot" in log["_warnings"][0]
    assert "scroll" in log["_warnings"][1]


def test_nothing_recorded_is_no_error() -> None:
    assert log_of() == {"sessionId": "session-1", "schemaVersion": 1, "steps": []}


def test_a_step_in_one_line() -> None:
    steps = log_of(window(), click(0, text="Go"), click(100))["steps"]
    assert [summary(step) for step in steps] == [
        f"1: open_app {SHOP}",
        f"2: click Go in {SHOP}",
        f"3: click at 540,150 in {SHOP}",
    ]


def test_a_log_is_read_again() -> None:
    log = log_of(window(SCREEN), SCROLL, click(0, SCREEN, text="Go"))
    again = read_step_log(json.dumps(log).encode())
    assert [type(event) for event in again.events] == [WindowChange, Click]
    assert {**step_log(again), "_warnings": log["_warnings"]} == log
    assert [(omission.seq, omission.type) for omission in again.dropped] == [(2, "scroll")]


@table(
    ("change", "code"),
    [
        ({"schemaVersion": 2}, ErrorCode.RECORDING_SCHEMA_VERSION_UNSUPPORTED),
        ({"schemaVersion": "1"}, ErrorCode.RECORDING_PARSE_FAILED),
        ({"steps": {}}, ErrorCode.RECORDING_PARSE_FAILED),
        ({"steps": [{"seq": 1, "type": "swipe"}]}, ErrorCode.RECORDING_PARSE_FAILED),
        ({"steps": [{"seq": 1, "type": "click", "packageName": SHOP}]}, ErrorCode.RECORDING_PARSE_FAILED),
        ({"sessionId": "../x"}, ErrorCode.RECORDING_PARSE_FAILED),
    ],
)
def test_a_log_that_is_none(change: dict[str, Any], code: ErrorCode) -> None:
    with pytest.raises(EngineError) as caught:
        read_step_log(json.dumps({**log_of(window(SCREEN)), **change}).encode())
    assert caught.value.code is code


@pytest.mark.parametrize("data", [b"", b"[]", b"null", b"{", b"\xff"])
def test_a_log_that_is_no_object(data: bytes) -> None:
    with pytest.raises(EngineError) as caught:
        read_step_log(data)
    assert caught.value.code is ErrorCode.RECORDING_PARSE_FAILED
