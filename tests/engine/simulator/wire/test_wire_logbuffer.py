"""The log's rings: frames, limits, readers."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.simulator.log_buffer import HEADER, MAX_PAYLOAD, LogBuffer, LogRecord
from tests.support import patience


def write(log: LogBuffer, *messages: str, buffer: str = "main", tag: str = "tag") -> None:
    log.write_all(messages, pid=10, tid=11, uid=12, level="I", tag=tag, buffer=buffer)


def texts(records: list[LogRecord]) -> list[str]:
    return [record.text()[1].decode() for record in records]


def test_an_entry_is_the_frame_of_version_4() -> None:
    log = LogBuffer(clock=lambda: 1_700_000_000.25)
    write(log, "hällo\nworld", buffer="crash")
    (record,) = log.records(["crash"])
    size, header, pid, tid, seconds, nanoseconds, buffer, uid = HEADER.unpack_from(record.frame)
    assert (header, pid, tid, seconds, buffer, uid) == (28, 10, 11, 1_700_000_000, 4, 12)
    assert nanoseconds == pytest.approx(250_000_000, abs=1000)
    assert record.payload == b"\x04tag\0" + "hällo\nworld".encode() + b"\0"
    assert size == len(record.payload)
    assert record.level == "I"


def test_a_long_message_is_cut_at_the_payload_limit_and_loses_its_nul() -> None:
    log = LogBuffer()
    write(log, "x" * 5000)
    (record,) = log.records()
    assert len(record.payload) == MAX_PAYLOAD
    assert record.text() == (b"tag", b"x" * (MAX_PAYLOAD - 5))


def test_a_nul_inside_a_message_does_not_end_it() -> None:
    log = LogBuffer()
    write(log, "a\0b")
    assert log.records()[0].text()[1] == b"a\xc0\x80b"


def test_time_never_stands_still_even_under_a_frozen_clock() -> None:
    log = LogBuffer(clock=lambda: 5.0)
    before = log.now_ns()
    write(log, "one", "two")
    first, second = log.records()
    assert before < first.time_ns < second.time_ns < log.now_ns()
    assert texts(log.reader(after_ns=before).take()) == ["one", "two"]
    assert texts(log.reader(after_ns=first.time_ns).take()) == ["two"]  # exclusive


def test_the_oldest_entries_go_first_and_each_buffer_has_a_capacity_of_its_own() -> None:
    log = LogBuffer(capacity_bytes=1000)
    write(log, *(f"{number:050d}" for number in range(100)))
    write(log, "kept", buffer="system")
    held = texts(log.records(["main"]))
    assert held == [f"{number:050d}" for number in range(100 - len(held), 100)]
    used, capacity = log.usage("main")
    assert used <= capacity == 1000
    assert texts(log.records(["system"])) == ["kept"]


def test_one_entry_larger_than_the_capacity_is_still_held() -> None:
    log = LogBuffer(capacity_bytes=100)
    write(log, "y" * 300, "z" * 300)
    assert texts(log.records()) == ["z" * 300]


def test_buffers_are_merged_in_the_order_of_writing() -> None:
    log = LogBuffer()
    write(log, "1")
    write(log, "2", buffer="system")
    write(log, "3")
    write(log, "4", buffer="radio")
    assert texts(log.records(["system", "main"])) == ["1", "2", "3"]


def test_a_reader_that_is_far_behind_loses_entries_and_knows_how_many() -> None:
    log = LogBuffer(capacity_bytes=1000)
    write(log, "seen")
    reader = log.reader()
    assert texts(reader.take()) == ["seen"]
    write(log, *(f"{number:050d}" for number in range(100)))
    left = reader.take()
    assert reader.lost == 100 - len(left) > 0
    assert texts(left)[-1] == f"{99:050d}"


@pytest.mark.parametrize(("last", "expected"), [(0, []), (2, ["b", "c"]), (3, ["a", "b", "c"]), (99, ["a", "b", "c"])])
def test_the_last_entries_are_counted_over_all_buffers(last: int, expected: list[str]) -> None:
    log = LogBuffer()
    write(log, "a")
    write(log, "b", buffer="crash")
    write(log, "c")
    assert texts(log.reader(last=last).take()) == expected


def test_clearing_leaves_readers_where_they_are() -> None:
    log = LogBuffer()
    write(log, "before")
    reader = log.reader()
    log.clear(["main"])
    write(log, "after")
    assert texts(reader.take()) == ["after"]
    assert texts(log.records()) == ["after"]


def test_shrinking_a_buffer_drops_what_no_longer_fits() -> None:
    log = LogBuffer()
    write(log, *(f"{number:050d}" for number in range(100)))
    log.resize("main", 1000)
    assert log.usage("main")[0] <= 1000


async def test_a_waiting_reader_is_woken_by_the_next_entry() -> None:
    log = LogBuffer()
    reader = log.reader()
    waiting = asyncio.create_task(reader.wait())
    await asyncio.sleep(0)
    write(log, "elsewhere", buffer="radio")
    await asyncio.sleep(0)
    assert not waiting.done()
    write(log, "here")
    async with asyncio.timeout(patience(1)):
        await waiting
    assert texts(reader.take()) == ["here"]


async def test_a_cancelled_wait_leaves_nothing_behind() -> None:
    log = LogBuffer()
    waiting = asyncio.create_task(log.reader().wait())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    write(log, "nobody listens")
    async with asyncio.timeout(patience(1)):
        await log.reader().wait()


@given(
    st.lists(st.tuples(st.sampled_from(["main", "system"]), st.text(max_size=60), st.booleans()), max_size=60),
    st.integers(200, 4000),
)
def test_a_reader_sees_every_entry_once_in_order_or_counts_it_as_lost(
    steps: list[tuple[str, str, bool]], capacity: int
) -> None:
    log = LogBuffer(capacity_bytes=capacity)
    reader = log.reader(["main", "system"])
    seen: list[int] = []
    for buffer, text, read in steps:
        write(log, text, buffer=buffer)
        if read:
            seen += [record.seq for record in reader.take()]
    seen += [record.seq for record in reader.take()]
    assert seen == sorted(set(seen))
    assert len(seen) + reader.lost == len(steps)
