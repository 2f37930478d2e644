"""Recordings as files: what is read, and how every kind of damage is refused with the line that has it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.recordings import reader as module
from clawperator.engine.recordings.reader import read_file, read_recording
from clawperator.engine.recordings.records import Click, PressKey, Recording, Scroll, TextChange, WindowChange
from tests.engine.recordings.sessions import SHOP, Person, click, lines, reading, record, typed, window
from tests.support import table


def refused(data: bytes) -> EngineError:
    with pytest.raises(EngineError) as caught:
        read_recording(io.BytesIO(data), "folder/beans.ndjson")
    return caught.value


async def everything(person: Person) -> None:
    person.device.activities.launch(SHOP)
    person.scroll(100, "deals_list")
    person.tap("search_bar", "search_src_text")
    await person.type("tea")
    await person.back()


async def test_what_the_operator_writes_is_read() -> None:
    recording = reading(await record(everything))
    assert recording.session_id == "session-1"
    assert recording.operator_package == "com.clawperator.operator"
    assert recording.started_at > 1_600_000_000_000
    assert [type(event) for event in recording.events] == [
        WindowChange,
        Scroll,
        Click,
        WindowChange,
        Click,
        TextChange,
        PressKey,
        WindowChange,
    ]
    assert [event.seq for event in recording.events] == list(range(1, 9))
    assert not list(recording.missing_snapshots)
    opened, scrolled, clicked = recording.events[:3]
    assert isinstance(scrolled, Scroll)
    assert isinstance(clicked, Click)
    assert opened.snapshot
    assert opened.snapshot.startswith("<?xml")
    assert (scrolled.scrollY, scrolled.snapshot) == (100, None)
    assert clicked.resourceId == f"{SHOP}:id/search_bar"
    assert clicked.bounds.bounds.width > 0


def test_nullable_keys_may_be_absent_and_unknown_ones_present() -> None:
    bare = {"type": "click", "packageName": SHOP, "bounds": {"left": 0, "top": 0, "right": 1, "bottom": 1}, "later": 1}
    (event,) = reading(lines(bare)).events
    assert isinstance(event, Click)
    assert (event.resourceId, event.text, event.contentDesc, event.snapshot) == (None, None, None, None)


def test_the_last_line_needs_no_end_and_blank_lines_may_follow() -> None:
    data = lines(window())
    assert len(reading(data.rstrip()).events) == len(reading(data + b"\n \n").events) == 1


@table(
    ("line", "reason"),
    [
        (b"", "empty"),
        (b"\n\n", "empty"),
        (b"not json\n", "malformed"),
        (b"\xff\xfe\n", "malformed"),
        (b"[]\n", "not a JSON object"),
        (b'{"type":"click"}\n', "not a recording_header"),
        (b'{"schemaVersion":1}\n', "not a recording_header"),
        (b'{"type":"recording_header","schemaVersion":1}\n', "sessionId"),
        (b'{"type":"recording_header","schemaVersion":"1","sessionId":"a"}\n', "schemaVersion"),
        (b'{"type":"recording_header","schemaVersion":true,"sessionId":"a"}\n', "schemaVersion"),
        (b'{"type":"recording_header","type":"recording_header"}\n', "twice"),
    ],
)
def test_a_bad_header_is_line_one(line: bytes, reason: str) -> None:
    error = refused(line)
    assert error.code is ErrorCode.RECORDING_PARSE_FAILED
    assert error.details["line"] == 1
    assert reason in error.message
    assert "beans.ndjson, line 1" in error.message


@table("session", ["../x", "a/b", "", "a b", "a\n", "x" * 129, 7, None])
def test_a_session_id_is_a_name_and_no_path(session: object) -> None:
    error = refused(lines(header={"sessionId": session}))
    assert (error.code, error.details["line"]) == (ErrorCode.RECORDING_PARSE_FAILED, 1)


@pytest.mark.parametrize("version", [0, 2, -1, 10**30])
def test_another_version_has_a_code_of_its_own(version: int) -> None:
    error = refused(lines(header={"schemaVersion": version}))
    assert error.code is ErrorCode.RECORDING_SCHEMA_VERSION_UNSUPPORTED
    json.dumps(error.to_dict())


def broken(**change: Any) -> dict[str, Any]:
    event = {**click(), **change}
    return {key: value for key, value in event.items() if value is not ...}


@table(
    ("event", "reason"),
    [
        (broken(type="swipe"), "unknown event type 'swipe'"),
        (broken(type=3), "type"),
        (broken(type=...), "type"),
        (broken(ts=...) | {"ts": "1"}, "ts"),
        (broken(seq=...) | {"seq": 1.5}, "seq"),
        (broken(seq=...) | {"seq": True}, "seq"),
        (broken(packageName=...), "packageName"),
        (broken(packageName=""), "packageName"),
        (broken(text=5), "text"),
        (broken(bounds=...), "bounds"),
        (broken(bounds={"left": 0}), "bounds.top"),
        (broken(bounds=[0, 0, 1, 1]), "bounds"),
        (broken(snapshot={}), "snapshot"),
        ({"type": "press_key"}, "key"),
        ({"type": "scroll", "packageName": SHOP, "scrollX": 0}, "scrollY"),
        ({"type": "text_change", "text": "x"}, "packageName"),
        ({"type": "recording_header"}, "unknown event type"),
    ],
)
def test_a_bad_event_names_line_and_key(event: dict[str, Any], reason: str) -> None:
    error = refused(lines(window(), event, window()))
    assert (error.code, error.details["line"]) == (ErrorCode.RECORDING_PARSE_FAILED, 3)
    assert reason in error.message


def test_a_truncated_line_is_named_and_explained() -> None:
    whole = lines(window(), click())
    error = refused(whole[:-30])
    assert (error.code, error.details["line"]) == (ErrorCode.RECORDING_PARSE_FAILED, 3)
    assert "record stop" in error.message
    inside = whole.replace(b'"click"', b'"cli')
    assert "record stop" not in refused(inside).message


def test_a_blank_line_between_events_is_refused() -> None:
    head, rest = lines(window()).split(b"\n", 1)
    assert refused(head + b"\n\n" + rest).details["line"] == 2


def test_giant_lines_files_and_counts_are_refused_before_they_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_LINE_BYTES", 4_000)
    stream = io.BytesIO(lines(window("x" * 100_000)))
    with pytest.raises(EngineError, match="line 2: more than 4000 bytes"):
        read_recording(stream)
    assert stream.tell() < 5_000
    monkeypatch.setattr(module, "MAX_FILE_BYTES", 8_000)
    assert "larger than 8000 bytes" in refused(lines(*[window("x" * 2_000)] * 6)).message
    monkeypatch.setattr(module, "MAX_EVENTS", 3)
    assert "more than 3 events" in refused(lines(*[window()] * 4)).message


def test_nesting_and_numbers_without_end_are_refused() -> None:
    head = lines()
    assert refused(head + b'{"a":' + b"[" * 100_000 + b"\n").details["line"] == 2
    assert refused(head + b'{"ts":' + b"9" * 10_000 + b"}\n").details["line"] == 2
    assert refused(head + b'{"ts":NaN}\n').details["line"] == 2


def test_no_value_of_the_file_is_repeated_in_the_error() -> None:
    assert "secret" not in json.dumps(refused(lines(typed("x") | {"text": ["secret" * 100]})).to_dict())


def test_a_file_that_is_none(tmp_path: Path) -> None:
    for path in (str(tmp_path / "absent.ndjson"), str(tmp_path), "a\0b"):
        with pytest.raises(EngineError) as caught:
            read_file(path)
        assert caught.value.code is ErrorCode.RECORDING_PARSE_FAILED


@given(st.binary(max_size=400))
def test_whatever_the_bytes_the_answer_is_a_recording_or_one_of_two_codes(tail: bytes) -> None:
    for data in (tail, lines() + tail, lines(window()) + tail):
        outcome = outcome_of(data)
        assert isinstance(outcome, Recording) or outcome in (
            ErrorCode.RECORDING_PARSE_FAILED,
            ErrorCode.RECORDING_SCHEMA_VERSION_UNSUPPORTED,
        )


def outcome_of(data: bytes) -> Recording | ErrorCode:
    try:
        return read_recording(io.BytesIO(data))
    except EngineError as exc:
        return exc.code


_JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3))


@given(st.sampled_from(sorted({*click(), *window(), "ts", "seq", "key", "scrollX"})), _JSON)
def test_no_value_of_a_key_gets_past_the_types(key: str, value: object) -> None:
    outcome = outcome_of(lines({**click(), key: value}))
    if isinstance(outcome, Recording):
        (event,) = outcome.events
        assert getattr(event, key, value) == value
    else:
        assert outcome is ErrorCode.RECORDING_PARSE_FAILED
