"""``logcat -v threadtime`` with all its modifiers, in files and in streams."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.text import TextLogParser, parse_text

DATA = Path(__file__).parents[2] / "data" / "logcat"


def golden(name: str) -> bytes:
    return (DATA / f"{name}.txt").read_bytes()


def render(entry: LogEntry, uid: str = "") -> bytes:
    """One record by the rules of liblog."""
    columns = f"{entry.stamp} {uid and f'{uid:>5} '}{entry.pid:>5} {entry.tid:>5} {entry.level} {entry.tag:<8}: "
    return columns.encode() + entry.payload + b"\n"


STAMPS = st.sampled_from(
    [
        b"11-20 14:03:11.902",
        b"2025-11-20 14:03:11.902",
        b"11-20 14:03:11.902123",
        b"11-20 14:03:11.902123456 -0330",
        b"2025-11-20 14:03:11.902123 +0000",
        b"1763647391.902",
        b"1763647391.902123456",
        b"64314.571",
    ]
)
TAGS = st.text(alphabet=st.sampled_from("abcXYZ019_.$-é "), max_size=12).map(str.strip)
TEXTS = st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\n\r\0"), max_size=40).map(str.encode)
PIDS = st.integers(min_value=0, max_value=4_194_304)
ENTRIES = st.builds(
    LogEntry,
    level=st.sampled_from("VDIWEF"),
    tag=TAGS,
    payload=TEXTS,
    pid=PIDS,
    tid=PIDS,
    clock=STAMPS,
    uid=st.just(-1),
    buffer=st.just(""),
)


@given(st.lists(ENTRIES, min_size=1, max_size=8))
def test_what_logcat_renders_is_read_back(entries: list[LogEntry]) -> None:
    entries = [entry._replace(payload=entry.payload.strip() or b"x") for entry in entries]

    assert parse_text(b"".join(map(render, entries))) == entries


@pytest.mark.parametrize(
    ("printed", "uid"), [("10012", 10012), ("shell", 2000), ("u0_a51", 10051), ("u10_a84", 1010084), ("nosuch", -1)]
)
def test_the_uid_column(printed: str, uid: int) -> None:
    entry = LogEntry.create("text: with colon", tag="Tag", pid=77, tid=78, clock=b"11-20 14:03:11.902")

    (found,) = parse_text(render(entry, printed))

    assert (found.uid, found.pid, found.message) == (uid, 77, "text: with colon")


def test_tags_may_hold_almost_anything() -> None:
    tags = [entry.tag for entry in parse_text(golden("tricky-tags-and-messages-threadtime"))]

    assert tags == [
        "Comma,Tag",
        "p/RegexishButInvalid(/",
        "RegexishButInvalid(",
        "/RegexishButInvalid(/",
        "`WifiProJNI",
        "",
        "BlankMessage",
        "`QosMonitor`",
    ]


def test_text_around_the_log_stays_in_its_place() -> None:
    entries = parse_text(golden("huawei-p10-log-switch-preamble"))

    assert [entry.is_note for entry in entries] == [True, True, True, False, False, False, False]
    assert entries[0].message == "nt logctl_get(): open '/dev/hwlog_switch' fail -1, 13. Permission denied"
    assert entries[3].message == "postEventFromNative: msg=100,arg1=4,arg2=9"


def test_the_message_of_a_lost_device_is_a_note() -> None:
    entries = parse_text(golden("derived-read-failure-mid-stream"))

    assert entries[-1].is_note
    assert entries[-1].message == "read: unexpected EOF!"
    assert len(entries) == 81


def test_separators_alone() -> None:
    assert [entry.is_note for entry in parse_text(golden("derived-separators-only"))] == [True] * 5


def test_unicode_separators_do_not_end_lines() -> None:
    entries = parse_text(golden("derived-unicode-and-control-characters"))

    assert len(entries) == 14
    assert (
        entries[8].message
        == "tab\there bell\x07 esc\x1b[31mred\x1b[0m vt\x0b ff\x0c cr\rmid nel\x85 ls\u2028 ps\u2029 end"
    )
    assert entries[13].message == "a\x00b"


def test_invalid_utf8_is_replaced_and_the_bytes_are_kept() -> None:
    first, second = parse_text(golden("derived-invalid-utf8-bytes"))

    assert first.message.startswith("caf\ufffd ")
    assert b"caf\xe9 " in first.payload
    assert second.message == "fine"


def test_chatty_lines_are_records() -> None:
    entries = parse_text(golden("derived-chatty-identical-lines"))

    assert any(entry.tag == "chatty" and not entry.is_note for entry in entries)


def test_a_stamped_line_is_read_as_soon_as_it_ends() -> None:
    parser = TextLogParser()

    assert parser.feed(b"11-20 14:03:11.902  1666  5180 D Tag     : no") == []
    assert [entry.message for entry in parser.feed(b"w\n")] == ["now"]


def test_a_line_without_end_cannot_fill_the_memory() -> None:
    parser = TextLogParser()
    megabyte = b"x" * 1_000_000

    entries = [entry for _ in range(10) for entry in parser.feed(megabyte)] + parser.finish()

    assert sum(len(entry.payload) for entry in entries) == 10_000_000
    assert len(entries) > 1


LINES = st.sampled_from(
    [
        b"11-20 14:03:11.902  1666  5180 D Tag     : text\n",
        "11-20 14:03:11.902 10012  1666  5180 D Täg     : 世界\n".encode(),
        b"2025-11-20 14:03:11.902 +0100  1666  5180 D Tag: text\r\n",
        b"11-20 14:03:11.902 D/Tag     ( 1666): text\n",
        b"D/Tag     ( 1666): text\n",
        b"D( 1666) text  (Tag)\n",
        b"D( 1666: 5180) text\n",
        b"D/Tag     : text\n",
        b"D Tag: text\n",
        b"[ 11-20 14:03:11.902   747:  990 D/Tag      ]\nmessage\n\n",
        b"--------- beginning of main\n",
        b"--------- switch to crash\n",
        b"------ EVENT LOG (logcat -b events) ------\n",
        b"\n",
        b"\r\r\n",
        b" \n",
        b"some words\n",
        b"\xff\xfe\x00\n",
        b"no end",
    ]
)
STREAM = st.lists(LINES | st.binary(max_size=12), max_size=50).map(b"".join)


@given(STREAM, st.lists(st.integers(min_value=0), max_size=10))
def test_portions_of_the_stream_do_not_matter(data: bytes, places: list[int]) -> None:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    parser = TextLogParser()

    portioned = [entry for start, stop in pairwise(edges) for entry in parser.feed(data[start:stop])]

    assert portioned + parser.finish() == parse_text(data)


@given(STREAM)
def test_every_line_with_text_is_an_entry(data: bytes) -> None:
    assert len(parse_text(data)) == sum(bool(line.strip()) for line in data.split(b"\n"))
