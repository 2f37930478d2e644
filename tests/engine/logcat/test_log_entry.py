"""One log entry: what it reads out of its bytes."""

from __future__ import annotations

import math
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.logcat.entry import LogEntry, decode, note, utf16_units
from tests.support import table


def test_reads_its_fields_by_name() -> None:
    entry = LogEntry.create("héllo", level="W", tag="T", pid=1, tid=2, uid=3, clock=5, buffer="main")

    assert (entry.level, entry.tag, entry.message, entry.pid, entry.tid, entry.uid) == ("W", "T", "héllo", 1, 2, 3)
    assert (entry.payload, entry.buffer, entry.is_note) == ("héllo".encode(), "main", False)


def test_is_frozen_and_survives_pickling() -> None:
    entry = LogEntry.create("x")

    with pytest.raises(AttributeError):
        entry.level = "E"  # type: ignore[misc]  # the point of the test
    assert pickle.loads(pickle.dumps(entry)) == entry


@table(
    ("clock", "nanoseconds"),
    [
        (1_700_000_000_123_456_789, 1_700_000_000_123_456_789),
        (b"1547344314.571", 1_547_344_314_571_000_000),
        (b"1547344179.074144211", 1_547_344_179_074_144_211),
        (b"2019-01-13 01:51:54.571144 +0000", 1_547_344_314_571_144_000),
        (b"2019-01-13 01:51:54.571 +0530", 1_547_324_514_571_000_000),
        (b"2019-01-12 22:21:54.571 -0330", 1_547_344_314_571_000_000),
        (b"2019-01-13 01:51:54.571", 1_547_344_314_571_000_000),
        (b"01-13 01:51:54.571", -1),
        (b"64314.571", -1),
        (b"2019-13-13 01:51:54.571", -1),
        (b"0000-01-01 00:00:00.000", -1),
        (b"", -1),
    ],
)
def test_time_is_exact_where_the_format_carries_one(clock: bytes | int, nanoseconds: int) -> None:
    entry = LogEntry.create("x", clock=clock)

    assert entry.nanoseconds == nanoseconds
    assert math.isnan(entry.time) if nanoseconds < 0 else entry.time == pytest.approx(nanoseconds / 1e9, abs=1e-6)
    assert entry.stamp == ("" if isinstance(clock, int) else clock.decode())


def test_notes_are_reported_from_records() -> None:
    assert note(b"--------- beginning of main").is_note
    assert not LogEntry.create("x", level="S", tag="T").is_note


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b"caf\xe9 \xff", "caf\ufffd \ufffd"),
        (b"\xed\xa0\xbd\xed\xb8\x80", "\U0001f600"),
        (b"lone \xed\xa0\xbd", "lone \ufffd"),
        (b"\xe4\xbd", "\ufffd"),
    ],
)
def test_bytes_that_are_no_utf8_are_replaced(payload: bytes, text: str) -> None:
    assert decode(payload) == text


@given(st.binary())
def test_any_bytes_become_text_that_can_be_written_again(payload: bytes) -> None:
    decode(payload).encode()


@given(st.text())
def test_lengths_are_counted_as_java_does(text: str) -> None:
    assert utf16_units(text.encode()) == len(text.encode("utf-16-le")) // 2


def test_printed_uids() -> None:
    from clawperator.engine.logcat.users import app_id, uid_of

    printed = {b"10123": 10123, b"1010123": 1_010_123, b"u10_a123": 1_010_123, b"u10_system": 1_001_000, b"shell": 2000}
    assert {name: uid_of(name) for name in printed} == printed
    assert {uid_of(name) for name in (b"", b"u10_nobody_knows", b"1" * 5_000, "²".encode())} == {-1}
    assert app_id(1_010_123) == app_id(10123) == 10123
