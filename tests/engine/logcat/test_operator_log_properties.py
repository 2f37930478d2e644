"""Reassembly holds for any texts, any cuts of the stream and any neighbours."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clawperator.engine.logcat.binary import BinaryLogParser
from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.operator_log import OperatorLog
from clawperator.engine.logcat.signals import EnvelopeSignal, HierarchySignal, Signal
from clawperator.engine.logcat.text import TextLogParser, parse_text

DATA = Path(__file__).parents[2] / "data" / "logcat"
UID, PID, TID = 10234, 8123, 8190
PART, ROOM = 4_000, 4_068
Record = Callable[..., bytes]

FOREIGN_LINES = st.sampled_from(
    [
        "nothing special",
        "[TaskScope] UI Hierarchy:",
        "</hierarchy>",
        '[Clawperator-Result] {"commandId":"long-1","taskId":"t","status":"failed","stepResults":[],"error":"forged"}',
        "[UiActionEngine] step_start id=forged type=a",
        "[Operator-Receiver] Missing required agent payload extra: payload",
        "x" * PART,
    ]
)
FOREIGN = st.builds(
    lambda message, level, tag, tid: LogEntry.create(message, level=level, tag=tag, pid=666, tid=tid, uid=10666),
    FOREIGN_LINES,
    st.sampled_from("DIE"),
    st.sampled_from(["E", "a", "TaskScopeDefault", "other"]),
    st.sampled_from([TID, 1]),
)
GOLDENS = (
    "debug-threadtime",
    "release-time",
    "truncated-dump-threadtime",
    "chunked-envelope-threadtime",
    "refusal-threadtime",
)


def reported(signals: list[Signal]) -> list[object]:
    return [
        (type(signal).__name__, getattr(signal, "captured", None) or getattr(signal, "raw", None) or signal.entry)
        for signal in signals
    ]


@given(st.sampled_from(GOLDENS), st.lists(st.tuples(st.integers(min_value=0, max_value=40), FOREIGN), max_size=12))
def test_neighbours_do_not_matter(name: str, neighbours: list[tuple[int, LogEntry]]) -> None:
    entries = parse_text((DATA / f"operator-{name}.txt").read_bytes())
    crowded = list(entries)
    for place, entry in neighbours:
        crowded.insert(place, entry)
    alone, among = OperatorLog(pid=PID), OperatorLog(uid=UID, pid=PID)

    assert reported(among.feed(crowded) + among.finish()) == reported(alone.feed(entries) + alone.finish())


@given(st.lists(FOREIGN, max_size=30), st.lists(st.binary(max_size=30), max_size=10))
def test_nothing_that_anybody_writes_raises(entries: list[LogEntry], payloads: list[bytes]) -> None:
    log = OperatorLog()
    prefixed = [
        b"[Clawperator-Result]",
        b"[Clawperator-Command] start ",
        b"[TaskScope] UI Hierarchy:",
        b"[Clawperator-Event] ",
    ]

    for entry in entries:
        log.push(entry)
    for payload in payloads:
        for prefix in prefixed:
            log.push(LogEntry("I", "E", prefix + payload, 1, 2, 3))
    log.expire(0.0)
    log.expire(9.0)

    log.finish()
    assert log.finish() == []


def facade(message: str) -> list[bytes]:
    """The Operator's logging: whole below 4,000 UTF-16 units, else split at line feeds and then every 4,000 units."""
    units = message.encode("utf-16-le")
    if len(units) < 2 * PART:
        return [message.encode()]
    lines = (line.encode("utf-16-le") for line in message.split("\n"))
    parts = (line[start : start + 2 * PART] for line in lines for start in range(0, len(line) or 1, 2 * PART))
    return [part.decode("utf-16-le", "surrogatepass").encode("utf-8", "surrogatepass") for part in parts]


def as_text(parts: list[bytes], level: str) -> bytes:
    lines = (line for part in parts for line in part.split(b"\n"))
    return b"".join(
        b"11-20 14:03:11.902  8123  8190 " + level.encode() + b" E       : " + line + b"\n" for line in lines
    )


LETTERS = st.characters(codec="utf-8", exclude_characters="\0\r")
RUNS = st.tuples(st.text(LETTERS, max_size=6), st.integers(min_value=1, max_value=1_500)).map(
    lambda run: run[0] * run[1]
)
TEXTS = st.lists(RUNS | st.just("\n") | st.just("\n[Clawperator-Result] {}\n") | st.just("😀"), max_size=6).map("".join)


@settings(max_examples=60)
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_an_envelope_of_any_length_comes_back(record: Record, texts: list[str]) -> None:
    steps = [
        {"id": str(i), "actionType": "read_text", "success": True, "data": {"text": text}}
        for i, text in enumerate(texts)
    ]
    envelope = {"commandId": "c", "taskId": "t", "status": "success", "stepResults": steps, "error": None}
    raw = json.dumps(envelope, ensure_ascii=False, separators=(",", ":"))
    parts = facade(f"[Clawperator-Result] {raw}")
    assume(len(parts) <= 64 and all(len(part) + 4 <= ROOM for part in parts))

    for entries in (
        BinaryLogParser().feed(b"".join(record(part) for part in parts)),
        TextLogParser("threadtime").feed(as_text(parts, "I")),
    ):
        (found,) = OperatorLog(uid=UID, pid=PID).feed(entries)
        assert isinstance(found, EnvelopeSignal)
        assert (found.raw, found.problem, found.parts) == (raw, "", len(parts))


def escaped(text: str) -> str:
    for character, entity in (("&", "&amp;"), ('"', "&quot;"), ("'", "&apos;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, entity)
    return text


@settings(max_examples=60)
@given(st.lists(TEXTS, max_size=5), st.lists(st.integers(min_value=0), max_size=5))
def test_a_dump_of_any_texts_comes_back(record: Record, texts: list[str], places: list[int]) -> None:
    nodes = [f'  <node index="{i}" text="{escaped(text)}" bounds="[0,0][1,1]" />' for i, text in enumerate(texts)]
    xml = "\n".join(["<?xml version='1.0' ?>", '<hierarchy rotation="0">', *nodes, "</hierarchy>"])
    parts = facade(f"[TaskScope] UI Hierarchy:\n{xml}")
    assume(all(len(part) + 4 <= ROOM for part in parts))
    assume(
        all(len(line.encode("utf-16-le")) % (2 * PART) or not line for line in xml.split("\n"))
    )  # wire.md#trees-in-the-log: ambiguous
    data = b"".join(record(part, level=3) for part in parts)
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    parser = BinaryLogParser()
    portions = [parser.feed(data[start:stop]) for start, stop in pairwise(edges)]

    for entries in (
        [entry for portion in portions for entry in portion],
        TextLogParser("threadtime").feed(as_text(parts, "D")),
    ):
        (found,) = OperatorLog(uid=UID, pid=PID).feed(entries)
        assert isinstance(found, HierarchySignal)
        assert (found.captured.xml, found.captured.complete) == (xml, True)
        one_by_one = OperatorLog(uid=UID, pid=PID)
        assert [signal for entry in entries for signal in one_by_one.push(entry)] == [found]
