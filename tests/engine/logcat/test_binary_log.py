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


def read(*portions: bytes) -> tuple[list[LogEntry], BinaryLogParser]:
    parser = BinaryLogParser()
    entries = [entry for portion in portions for entry in parser.feed(portion)]
    return entries + parser.finish(), parser


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:stop] for start, stop in pairwise(edges)]


@pytest.mark.parametrize(
    ("version", "uid", "buffer"), [(1, -1, ""), (2, 10234, ""), (3, -1, "crash"), (4, 10234, "crash")]
)
def test_every_header_version(record: Record, version: int, uid: int, buffer: str) -> None:
    data = record(b"two\nlines", tag=b"Tag", level=5, version=version, log=4)

    (entry,), parser = read(data)

    clock = 1_700_000_000_000_000_005
    assert entry == LogEntry("W", "Tag", b"two\nlines", 8123, 8190, uid, clock, buffer)
    assert parser.skipped == 0


def test_a_header_without_its_size_is_version_1(record: Record) -> None:
    data = bytearray(record(b"old", version=1))
    data[2:4] = b"\0\0"

    (entry,), _ = read(bytes(data))

    assert entry.message == "old"


def test_a_truncated_message_has_no_last_nul() -> None:
    payload = b"\x03Tag\0" + "ü".encode() * 2 + b"\xc3"
    data = struct.pack("<HHiIIIII", len(payload), 28, 1, 2, 3, 4, 0, 5) + payload

    (entry,), _ = read(data)

    assert entry.message == "üü\ufffd"


def test_a_record_is_there_with_its_last_byte(record: Record) -> None:
    data = record(b"now")
    parser = BinaryLogParser()

    assert parser.feed(data[:-1]) == []
    assert [entry.message for entry in parser.feed(data[-1:])] == ["now"]


def test_structured_buffers_keep_their_number_and_bytes() -> None:
    payload = struct.pack("<I", 30014) + b"\x00\x05\x00\x00\x00"
    data = struct.pack("<HHiIIIII", len(payload), 28, 1, 2, 3, 4, 2, 5) + payload

    (entry,), _ = read(data)

    assert (entry.tag, entry.payload, entry.buffer) == ("30014", payload[4:], "events")


def test_words_of_a_failing_logcat_are_a_note_and_the_log_goes_on(record: Record) -> None:
    words = b"logcat: Unable to open log device '/dev/log/main': Permission denied\n"

    entries, parser = read(record(b"before"), words, record(b"after"))

    assert [entry.message for entry in entries] == ["before", words.decode(), "after"]
    assert entries[1].is_note
    assert parser.skipped == len(words)


def test_a_stream_joined_in_the_middle_of_a_record(record: Record) -> None:
    torn = record(b"the end of this message is all there is")[40:]

    entries, _ = read(torn + record(b"whole") + record(b"cut")[:30])

    assert [entry.is_note for entry in entries] == [True, False, True]
    assert entries[1].message == "whole"


def test_a_long_run_of_garbage_comes_in_pieces(record: Record) -> None:
    garbage = b"\xff" * 200_000

    entries, parser = read(garbage, record(b"alive"))

    assert entries[-1].message == "alive"
    assert b"".join(entry.payload for entry in entries[:-1]) == garbage
    assert parser.skipped == len(garbage)


@given(st.binary(max_size=400), st.lists(st.integers(min_value=0), max_size=6))
def test_arbitrary_bytes_never_raise_and_portions_do_not_matter(data: bytes, places: list[int]) -> None:
    whole, _ = read(data)
    portioned, _ = read(*cut(data, places))

    assert portioned == whole


MESSAGES = st.lists(st.binary(max_size=60).map(lambda text: text.replace(b"\0", b"")), min_size=1, max_size=6)


@given(MESSAGES, st.sampled_from([1, 2, 3, 4]), st.lists(st.integers(min_value=0), max_size=8))
def test_records_survive_any_portioning(record: Record, messages: list[bytes], version: int, places: list[int]) -> None:
    data = b"".join(record(message, version=version) for message in messages)

    entries, parser = read(*cut(data, places))

    assert [entry.payload for entry in entries] == messages
    assert parser.skipped == 0


@given(MESSAGES, st.binary(max_size=80), st.lists(st.integers(min_value=0), max_size=8))
def test_garbage_between_records_gives_the_same_in_any_portions(
    record: Record, messages: list[bytes], garbage: bytes, places: list[int]
) -> None:
    data = garbage.join(record(message) for message in messages)

    assert read(*cut(data, places))[0] == read(data)[0]
