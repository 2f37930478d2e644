"""``logcat -B``: records, torn streams, garbage."""

from __future__ import annotations

import struct
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.logcat.binary import BinaryLogParser
from clawperator.engine.logcat.entry import LogEntry

Record = Callable[..., bytes]


def read(*portions: bytes) -> list[LogEntry]:
    parser = BinaryLogParser()
    return [entry for portion in portions for entry in parser.feed(portion)] + parser.finish()


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:stop] for start, stop in pairwise(edges)]


@pytest.mark.parametrize(("version", "uid"), [(3, -1), (4, 10234)])
def test_every_header_version(record: Record, version: int, uid: int) -> None:
    data = record(b"two\nlines", tag=b"Tag", level=5, version=version, log=4)

    (entry,) = read(data)

    clock = 1_700_000_000_000_000_005
    assert entry == LogEntry("W", "Tag", b"two\nlines", 8123, 8190, uid, clock, "crash")


def test_a_truncated_message_has_no_last_nul() -> None:
    payload = b"\x03Tag\0" + "ü".encode() * 2 + b"\xc3"
    data = struct.pack("<HHiIIIII", len(payload), 28, 1, 2, 3, 4, 0, 5) + payload

    (entry,) = read(data)

    assert entry.message == "üü\ufffd"


def test_a_record_is_there_with_its_last_byte(record: Record) -> None:
    data = record(b"now")
    parser = BinaryLogParser()

    assert parser.feed(data[:-1]) == []
    assert [entry.message for entry in parser.feed(data[-1:])] == ["now"]


def test_words_of_a_failing_logcat_are_a_note_and_the_log_goes_on(record: Record) -> None:
    words = b"logcat: Unable to open log device '/dev/log/main': Permission denied\n"

    entries = read(record(b"before"), words, record(b"after"))

    assert [entry.message for entry in entries] == ["before", words.decode(), "after"]
    assert entries[1].is_note


def test_a_stream_joined_in_the_middle_of_a_record(record: Record) -> None:
    torn = record(b"the end of this message is all there is")[40:]

    entries = read(torn + record(b"whole") + record(b"cut")[:30])

    assert [entry.is_note for entry in entries] == [True, False, True]
    assert entries[1].message == "whole"


def test_a_long_run_of_garbage_comes_in_pieces(record: Record) -> None:
    garbage = b"\xff" * 200_000

    entries = read(garbage, record(b"alive"))

    assert entries[-1].message == "alive"
    assert b"".join(entry.payload for entry in entries[:-1]) == garbage


@given(st.binary(max_size=400), st.lists(st.integers(min_value=0), max_size=6))
def test_arbitrary_bytes_never_raise_and_portions_do_not_matter(data: bytes, places: list[int]) -> None:
    whole = read(data)
    portioned = read(*cut(data, places))

    assert portioned == whole


MESSAGES = st.lists(st.binary(max_size=60).map(lambda text: text.replace(b"\0", b"")), min_size=1, max_size=6)


@given(MESSAGES, st.sampled_from([3, 4]), st.lists(st.integers(min_value=0), max_size=8))
def test_records_survive_any_portioning(record: Record, messages: list[bytes], version: int, places: list[int]) -> None:
    data = b"".join(record(message, version=version) for message in messages)

    entries = read(*cut(data, places))

    assert [entry.payload for entry in entries] == messages


@given(MESSAGES, st.binary(max_size=80), st.lists(st.integers(min_value=0), max_size=8))
def test_garbage_between_records_gives_the_same_in_any_portions(
    record: Record, messages: list[bytes], garbage: bytes, places: list[int]
) -> None:
    data = garbage.join(record(message) for message in messages)

    assert read(*cut(data, places)) == read(data)
