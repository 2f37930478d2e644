"""Every text format of logcat, in files and in streams."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.text import TextLogParser, parse_text
from tests.support import table

DATA = Path(__file__).parents[2] / "data" / "logcat"
CARRIED = {
    "brief": ("level", "tag", "payload", "pid"),
    "process": ("level", "tag", "payload", "pid"),
    "tag": ("level", "tag", "payload"),
    "thread": ("level", "payload", "pid", "tid"),
    "raw": ("payload",),
    "time": ("level", "tag", "payload", "pid", "stamp"),
    "long": ("level", "tag", "payload", "pid", "tid", "stamp"),
    "threadtime": ("level", "tag", "payload", "pid", "tid", "stamp"),
}


def read(data: bytes, *, name: str = "auto") -> tuple[list[LogEntry], TextLogParser]:
    parser = TextLogParser(name)
    return parser.feed(data) + parser.finish(), parser


def golden(name: str) -> bytes:
    return (DATA / f"{name}.txt").read_bytes()


def fields(entry: LogEntry, names: tuple[str, ...]) -> tuple[object, ...]:
    return tuple(getattr(entry, name) for name in names)


@table("name", CARRIED)
@table("given_format", ["auto", ""])
def test_the_same_records_in_every_format(name: str, given_format: str) -> None:
    records = [
        LogEntry(
            "I",
            "lowmemorykiller",
            b"Using psi monitors for memory pressure detection",
            188,
            188,
            -1,
            b"09-11 12:52:56.962",
        ),
        LogEntry("I", "lowmemorykiller", b"Process polling is supported", 188, 188, -1, b"09-11 12:52:56.963"),
        LogEntry(
            "W",
            "auditd",
            b"type=2000 audit(0.0:1): state=initialized audit_enabled=0 res=1",
            187,
            187,
            -1,
            b"09-11 12:52:53.169",
        ),
    ]

    (divider, *entries), parser = read(golden(f"golden-same-records-{name}"), name=given_format or name)

    assert divider.is_note
    assert divider.message == "--------- beginning of main"
    assert [fields(entry, CARRIED[name]) for entry in entries] == [fields(entry, CARRIED[name]) for entry in records]
    assert (parser.format, parser.dividers, parser.blank) == (name, 1, 0)


def render(entry: LogEntry, name: str, uid: str = "", tid: str = "") -> bytes:
    """One record by the rules of liblog."""
    level, tag, pid, stamp = entry.level, f"{entry.tag:<8}", entry.pid, entry.stamp
    tid = tid or f"{entry.tid:>5}"
    prefix, suffix = {
        "brief": (f"{level}/{tag}({uid and f'{uid:>5}:'}{pid:>5}): ", ""),
        "process": (f"{level}({uid and f'{uid:>5}:'}{pid:>5}) ", f"  ({entry.tag})"),
        "tag": (f"{level}/{tag}: ", ""),
        "thread": (f"{level}({uid and f'{uid:>5}:'}{pid:>5}:{tid}) ", ""),
        "raw": ("", ""),
        "time": (f"{stamp} {level}/{tag}({uid and f'{uid:>5}:'}{pid:>5}): ", ""),
        "threadtime": (f"{stamp} {uid and f'{uid:>5} '}{pid:>5} {tid} {level} {tag}: ", ""),
        "long": (f"[ {stamp} {uid and f'{uid:>5}:'}{pid:>5}:{tid} {level}/{tag} ]\n", "\n"),
    }[name]
    return prefix.encode() + entry.payload + suffix.encode() + b"\n"


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
)


@given(st.lists(ENTRIES, min_size=1, max_size=8), st.sampled_from(sorted(CARRIED)))
def test_what_logcat_renders_is_read_back(entries: list[LogEntry], name: str) -> None:
    entries = [entry._replace(payload=entry.payload.strip() or b"x") for entry in entries]
    data = b"".join(render(entry, name) for entry in entries)

    found, _ = read(data, name=name)

    assert [fields(entry, CARRIED[name]) for entry in found] == [fields(entry, CARRIED[name]) for entry in entries]


@given(st.lists(ENTRIES, min_size=1, max_size=8), st.sampled_from(["thread", "long"]))
def test_thread_ids_of_old_releases_are_hexadecimal(entries: list[LogEntry], name: str) -> None:
    entries = [entry._replace(payload=entry.payload.strip() or b"x", tid=entry.tid or 1) for entry in entries]
    data = b"".join(render(entry, name, tid=f"{entry.tid:#04x}") for entry in entries)

    found, _ = read(data, name=name)

    assert [fields(entry, CARRIED[name]) for entry in found] == [fields(entry, CARRIED[name]) for entry in entries]


@pytest.mark.parametrize("tid", ["  320", "0x140"])
@pytest.mark.parametrize("asked", ["thread", "auto"])
def test_the_thread_format_is_recognised(tid: str, asked: str) -> None:
    lines = "".join(f"I(  12:{tid}) line {number}\n" for number in range(5))

    found, parser = read(lines.encode(), name=asked)

    assert [(entry.level, entry.pid, entry.tid) for entry in found] == [("I", 12, 320)] * 5
    assert parser.format == "thread"


@table("name", ["brief", "process", "thread", "time", "threadtime", "long"])
@table(("printed", "uid"), [("10012", 10012), ("shell", 2000), ("u0_a51", 10051), ("u10_a84", 1010084), ("nosuch", -1)])
def test_the_uid_column(name: str, printed: str, uid: int) -> None:
    entry = LogEntry.create("text: with colon", tag="Tag", pid=77, tid=78, clock=b"11-20 14:03:11.902")

    (found,), _ = read(render(entry, name, printed), name=name)

    assert (found.uid, found.pid, found.message) == (uid, 77, "text: with colon")


@pytest.mark.parametrize(
    "printed",
    [
        b"\x1b[38;5;75m11-20 14:03:11.902  1666  5180 D Tag     : a \x1b[1mbold\x1b[0m word\x1b[0m\n",
        b"\x1b[38;5;75mD( 1666) a \x1b[1mbold\x1b[0m word\x1b[0m  (Tag)\n",
        b"\x1b[38;5;75m[ 11-20 14:03:11.902  1666: 5180 D/Tag      ]\na \x1b[1mbold\x1b[0m word\x1b[0m\n\n",
    ],
)
def test_colours_are_peeled_off(printed: bytes) -> None:
    (entry,), _ = read(printed)

    assert (entry.level, entry.tag, entry.pid, entry.message) == ("D", "Tag", 1666, "a \x1b[1mbold\x1b[0m word")


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
    entries, parser = read(golden("huawei-p10-log-switch-preamble"))

    assert [entry.is_note for entry in entries] == [True, True, True, False, False, False, False]
    assert entries[0].message == "nt logctl_get(): open '/dev/hwlog_switch' fail -1, 13. Permission denied"
    assert entries[3].message == "postEventFromNative: msg=100,arg1=4,arg2=9"
    assert (parser.unparsed, parser.dividers, parser.blank) == (2, 1, 1)


def test_the_message_of_a_lost_device_is_a_note() -> None:
    entries, parser = read(golden("derived-read-failure-mid-stream"))

    assert entries[-1].is_note
    assert entries[-1].message == "read: unexpected EOF!"
    assert (len(entries), parser.unparsed) == (81, 1)


def test_separators_alone() -> None:
    entries, parser = read(golden("derived-separators-only"))

    assert [entry.is_note for entry in entries] == [True] * 5
    assert (parser.dividers, parser.unparsed) == (5, 0)


def test_the_buffer_is_known_after_switch_to_only() -> None:
    record = b"11-20 14:03:11.902  1666  5180 D Tag     : x\n"
    data = b"--------- beginning of main\n" + record + b"--------- switch to crash\n" + record

    assert [entry.buffer for entry in parse_text(data) if not entry.is_note] == ["", "crash"]


def test_a_bugreport_section_tells_the_buffer() -> None:
    entries, parser = read(golden("bugreport-nougat-events-section"))

    assert {entry.buffer for entry in entries[1:-1]} == {"events"}
    assert (entries[1].tag, entries[1].message) == ("am_stop_activity", "[0,49554831,com.android.settings/.Settings]")
    assert (parser.dividers, parser.unparsed) == (2, 0)


def test_long_messages_hold_their_lines_together() -> None:
    data = (
        b"--------- beginning of main\n"
        b"[ 11-20 14:03:11.902   747:  990 D/Tag      ]\nfirst\n\nthird\n\n"
        b"--------- beginning of kernel\n"
        b"[ 11-20 14:03:11.903     0:    0 I/logd     ]\nlast"
    )

    messages = [entry.message for entry in parse_text(data)]

    assert messages == ["--------- beginning of main", "first\n\nthird", "--------- beginning of kernel", "last"]


def test_a_captured_long_log() -> None:
    entries, parser = read(golden("emulator-api31-long"))

    records = [entry for entry in entries if not entry.is_note]
    assert (len(records), parser.dividers, parser.unparsed) == (46, 3, 0)
    assert (records[1].tag, records[1].pid, records[1].level) == ("logd", 0, "I")


def test_two_formats_in_one_file() -> None:
    entries, parser = read(golden("crash-nextcloud-4792-threadtime-time"))

    assert parser.format == "threadtime"
    assert [entry.tid for entry in entries].count(-1) > 1
    assert {entry.pid for entry in entries if not entry.is_note and entry.tid < 0} != {-1}


def test_utf_16_with_crlf_from_a_windows_console() -> None:
    entries, _ = read(golden("emulator-utf16le-bom-crlf-app-only"))

    assert len(entries) == 109
    assert entries[1].tag == "ExecuTorchEngine"
    assert not any(entry.payload.endswith(b"\r") for entry in entries)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-8"])
def test_a_byte_order_mark_is_no_part_of_the_first_line(encoding: str) -> None:
    text = "11-20 14:03:11.902  1666  5180 D Täg     : grüße 🥚"
    data = text.encode(encoding)
    if encoding == "utf-16-be":
        data = b"\xfe\xff" + data

    (entry,), _ = read(data)

    assert (entry.tag, entry.message) == ("Täg", "grüße 🥚")


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


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="no such log format: fancy"):
        TextLogParser("fancy")


def test_a_stamped_line_is_read_as_soon_as_it_ends() -> None:
    parser = TextLogParser()

    assert parser.feed(b"11-20 14:03:11.902  1666  5180 D Tag     : no") == []
    assert [entry.message for entry in parser.feed(b"w\n")] == ["now"]


def test_a_line_without_end_cannot_fill_the_memory() -> None:
    parser = TextLogParser("threadtime")
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
        b"\x1b[38;5;75mD/Tag     ( 1666): text\x1b[0m\n",
        b"\n",
        b"\r\r\n",
        b" \n",
        b"some words\n",
        b"\xff\xfe\x00\n",
        b"no end",
    ]
)
STREAMS = st.tuples(
    st.sampled_from([b"", b"\xef\xbb\xbf", b"\xff\xfe"]),
    st.lists(LINES | st.binary(max_size=12), max_size=50).map(b"".join),
).map(b"".join)


@given(STREAMS, st.sampled_from(["auto", *CARRIED, "bare"]), st.lists(st.integers(min_value=0), max_size=10))
def test_portions_of_the_stream_do_not_matter(data: bytes, name: str, places: list[int]) -> None:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    parser = TextLogParser(name)

    portioned = [entry for start, stop in pairwise(edges) for entry in parser.feed(data[start:stop])]
    portioned += parser.finish()

    whole, whole_parser = read(data, name=name)
    assert portioned == whole
    counts = (parser.dividers, parser.unparsed, parser.blank, parser.format)
    assert counts == (whole_parser.dividers, whole_parser.unparsed, whole_parser.blank, whole_parser.format)


@given(
    st.lists(LINES, max_size=50),
    st.sampled_from(["auto", "threadtime", "time", "brief", "process", "thread", "tag", "raw"]),
)
def test_every_line_is_an_entry_or_counted(lines: list[bytes], name: str) -> None:
    data = b"x\n" + b"".join(lines).replace(b"no end", b"")
    entries, parser = read(data, name=name)

    if parser.format != "long":
        assert len(entries) + parser.blank == data.count(b"\n")
