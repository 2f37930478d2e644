"""The rows of the stream in words, at the widths of small, ordinary and large terminals."""

from __future__ import annotations

import math

import pytest

from clawperator.engine.logcat.entry import LogEntry
from clawperator.widgets.format.lines import Row
from clawperator.widgets.format.roles import ROLES
from clawperator.widgets.format.stream import (
    RowLook,
    execution_row,
    log_row,
    mark_row,
    others_row,
    tag_role,
)
from clawperator.widgets.format.symbols import ASCII, UNICODE
from clawperator.widgets.models.execution import ExecutionState, Mark, StepState
from clawperator.widgets.models.status import Status
from tests.app.console.support import NOON, MovableClock
from tests.support import table

CLOCK = MovableClock(NOON + 60).clock


def text(row: Row) -> str:
    right = row.right.plain if row.right is not None else ""
    return f"{row.left.plain} | {right}"


PAYLOAD = {
    "actions": [
        {"id": "a", "type": "click", "params": {"matcher": {"resourceId": "com.x:id/row"}}},
        {"id": "b", "type": "wait_for_node", "params": {"matcher": {"role": "text", "textEquals": "Wi‑Fi"}}},
        {"id": "c", "type": "sleep", "params": {"durationMs": 2_000}},
    ]
}


def look(width: int, *, all_columns: bool = False, ascii_only: bool = False) -> RowLook:
    return RowLook(width, CLOCK, ASCII if ascii_only else UNICODE, all_columns=all_columns)


def execution(**more: object) -> ExecutionState:
    steps = [StepState("a", "click", Status.OK), StepState("b", "wait_for_node", Status.FAILED)]
    given = {
        "task_id": "morning", "source": "openclaw", "mode": "direct", "status": Status.FAILED, "ended": NOON + 7.2,
        "code": "NODE_NOT_FOUND", "action_count": 4, "steps": steps,
    }  # fmt: skip
    return ExecutionState("cmd-124", "emulator-5554", 1, NOON, **(given | more))  # type: ignore[arg-type]  # fields by name


def row_of(item: ExecutionState, width: int, *, all_columns: bool = False) -> str:
    return text(execution_row(item, look(width, all_columns=all_columns), opened=False))


def test_columns_by_width() -> None:
    small, medium, large = row_of(execution(), 78), row_of(execution(), 116), row_of(execution(), 150, all_columns=True)
    for row in (small, medium, large):
        for words in ("22:29:00.0 ✗ openclaw", "2/4 wait_for_node", "not found", "7.2 s"):
            assert words in row
    assert "cmd-124" not in small
    assert "cmd-124" in medium
    assert "morning" not in medium
    assert "morning" in large
    assert "emulator-5554" not in medium
    assert "emulator-5554" in large
    assert "direct" in large


@table("width", [20, 40, 78, 100, 116, 160, 240])
def test_text_from_outside_never_makes_a_row_wide(width: int) -> None:
    item = execution(message="m" * 400, duplicates=3, late=True)
    item.command_id = "c" * 200
    for row in (
        execution_row(item, look(width, all_columns=width > 100)),
        mark_row(Mark("malformed", NOON, "x" * 300, 1, raw="{", column=4_000), look(width)),
        log_row(LogEntry.create("m" * 5_000, tag="t" * 60, pid=2**31), look(width)),
    ):
        assert row.left.cells <= max(width, 110)
        assert all(role in ROLES for _, role in row.left.spans)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"status": Status.WAITING, "code": "", "ended": math.nan}, "waiting for the previous command"),
        ({"status": Status.RUNNING, "code": "", "ended": math.nan}, "2/4"),
        (
            {"status": Status.UNKNOWN, "code": "", "message": "device disconnected; the run may still act"},
            "device disconnected",
        ),
        ({"status": Status.OK, "code": "", "follow_snapshots": 1_200}, "1,200 follow snapshots"),
        ({"payload": PAYLOAD}, '2/4 wait_for_node "Wi‑Fi"'),
        (
            {"payload": PAYLOAD, "status": Status.OK, "code": "", "steps": []},
            'click #row, wait_for_node "Wi‑Fi", sleep 2 s',
        ),
        (
            {"status": Status.OK, "code": "", "steps": [StepState("a", "click", Status.OK)], "action_count": 1,
             "stage": "click(NodeMatcher(resourceId=null, textEquals=OK, contentDescContains=null))"},
            'click "OK"',
        ),
        ({"code": "", "message": "it broke"}, "failed  it broke"),
        ({"foreign": True}, "⇢ foreign"),
        ({"late": True}, "⇤ late"),
        ({"duplicates": 1}, "≋ duplicate "),
        ({"duplicates": 3}, "≋ duplicate ×3"),
        ({"problem": "bad JSON"}, "▓ malformed"),
    ],
)  # fmt: skip
def test_how_it_stands(change: dict[str, object], words: str) -> None:
    assert words in row_of(execution(**change), 160)


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        (Mark("malformed", NOON, "Expecting value", 1, raw="{" * 4_000, column=813),
         "▓ malformed envelope, 4,000 characters, invalid at column 813: Expecting value | ⏎ raw"),
        (Mark("gap", NOON, "device offline", 1, until=NOON + 2), "⋯ gap: 2.0 s of the log are missing: device offline"),
        (Mark("gap", NOON, "device offline", 1), "⋯ gap: log interrupted, reconnecting: device offline"),
        (Mark("dropped", NOON, "too slow", 1, count=900), "⋮ dropped 900 messages (burst): too slow"),
        (Mark("event", NOON, "no window", 1, count=3), "• Operator: no window  ×3"),
    ],
)  # fmt: skip
def test_bad_news_in_words(mark: Mark, words: str) -> None:
    assert words in text(mark_row(mark, look(120)))


def test_device_text_is_made_safe() -> None:
    entry = LogEntry.create("\x1b[31mred\x07 [bold]x[/]", tag="\x1b]0;t\x07", clock=int(NOON * 1e9))
    drawn = text(log_row(entry, look(120)))
    assert "\x1b" not in drawn
    assert "␛[31mred␇ [bold]x[/]" in drawn


def test_the_level_is_a_letter_and_each_tag_has_its_colour() -> None:
    for level in "VDIWEF":
        row = log_row(LogEntry.create("m", level=level, tag="T"), look(120))
        assert f" {level} " in row.left.plain
    assert tag_role("WifiService") == tag_role("WifiService")
    roles = {tag_role(f"Service{number}") for number in range(60)}
    assert len(roles) >= 5
    assert roles <= set(ROLES)


def test_what_else_was_logged_is_counted() -> None:
    assert "⋯ 1 other log line" in text(others_row(1, look(80)))
    assert "1,204 other log lines | ⏎ show" in text(others_row(1_204, look(80)))


def test_plain_letters_where_glyphs_cannot_be_drawn() -> None:
    drawn = text(execution_row(execution(late=True), look(120, ascii_only=True), opened=True))
    assert drawn.isascii()
    assert "[xx]" in drawn
