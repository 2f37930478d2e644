"""Results in chunk records (wire.md#chunk-records): whatever the log does to them, the result is the one that was sent, or none."""

from __future__ import annotations

import base64
import hashlib
import json
import tracemalloc
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.operator_log import OperatorLog
from clawperator.engine.logcat.signals import EnvelopeSignal, HierarchySignal, Signal

UID, PID = 10234, 8123
Record = dict[str, Any]


def envelope(command_id: str, text: str, *, kind: str = "read_text") -> str:
    step = {"id": "s", "actionType": kind, "success": True, "data": {"text": text}}
    whole = {"commandId": command_id, "taskId": "t", "status": "success", "stepResults": [step], "error": None}
    return json.dumps(whole, ensure_ascii=False)


def records(command_id: str, text: str, *, brand: str = "Clawperator", **changes: Any) -> list[Record]:
    raw = f"[{brand}-Result] {text}".encode()
    head = {"commandId": command_id, "taskId": "t"}
    tail = {"count": -(-len(raw) // 1024), "byteLength": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    return [
        {**head, "index": index, **tail, "data": base64.b64encode(raw[at : at + 1024]).decode(), **changes}
        for index, at in enumerate(range(0, len(raw), 1024))
    ]


def line(text: str, *, level: str = "I", uid: int = UID, pid: int = PID) -> LogEntry:
    return LogEntry.create(text, level=level, tag="x", pid=pid, tid=pid + 1, uid=uid)


def entry(record: Record, *, brand: str = "Clawperator", **origin: Any) -> LogEntry:
    return line(f"[{brand}-Result-Chunk] {compact(record)}", **origin)


def compact(record: Record) -> str:
    """As the app writes it: the keys in this order, without blanks."""
    return json.dumps(record, separators=(",", ":"))


def marker(event: str, command_id: str = "mine", *, count: int = 0, size: int = 0) -> LogEntry:
    facts = {"commandId": command_id, "taskId": "t", "event": event, "recordCount": count, "byteLength": size}
    return line(f"[Clawperator-Publication] {json.dumps(facts)}")


def results(signals: Iterable[Signal]) -> list[EnvelopeSignal]:
    return [signal for signal in signals if isinstance(signal, EnvelopeSignal)]


def read(entries: Sequence[LogEntry], log: OperatorLog | None = None) -> list[EnvelopeSignal]:
    return results((log or OperatorLog(uid=UID)).feed(entries))


TEXT = "Zoë 😀 " * 700
MINE = records("mine", envelope("mine", TEXT))


def test_a_long_result_is_read_whatever_its_cuts_fall_into() -> None:
    (found,) = read([entry(record) for record in MINE])
    assert found.envelope is not None
    assert found.envelope.step_results[0].data["text"] == TEXT
    assert (found.parts, found.problem) == (len(MINE), "")


@given(st.data())
def test_order_repetition_and_other_commands_do_not_matter(data: st.DataObject) -> None:
    other = records("other", envelope("other", TEXT[1:]))
    foreign = [line("[NetworkController] level=3", uid=1000), line("[UiActionEngine] step_start id=s type=X")]
    again = data.draw(st.lists(st.sampled_from(MINE), max_size=5))
    entries = data.draw(st.permutations([entry(each) for each in [*MINE, *again, *other]] + foreign))
    found = {each.command_id: each for each in read(entries)}
    assert set(found) == {"mine", "other"}
    assert found["mine"].envelope is not None
    assert found["mine"].envelope.step_results[0].data["text"] == TEXT


HOSTILE = [
    {"index": len(MINE)},
    {"index": -1},
    {"index": 65_536},
    {"count": len(MINE) + 1},
    {"data": ""},
    {"data": MINE[0]["data"][:-4]},
    {"data": MINE[0]["data"][:-2] + "A="},
    {"data": "\u00e9" * 1_368},
    {"data": "*" * 1_368},
    {"data": MINE[0]["data"] + "QQ=="},
    {"commandId": "other"},
    {"taskId": "u"},
    {"sha256": "0" * 64},
]


@given(st.data())
def test_the_usual_form_is_read_as_any_other(data: st.DataObject) -> None:
    """Records that differ in index and data alone are not parsed as JSON: the answers are the same, whatever comes."""
    each = st.sampled_from(MINE)
    changed = st.builds(lambda record, changes: {**record, **changes}, each, st.sampled_from(HOSTILE))
    other = st.sampled_from(records("other", envelope("other", TEXT[1:])))
    texts = st.one_of(each, changed, other).flatmap(
        lambda record: st.sampled_from(
            [compact(record), json.dumps(record), compact(record)[:-1], compact(record) + " "]
        )
    )
    origins = st.fixed_dictionaries({}, optional={"pid": st.just(PID + 9), "uid": st.just(1000), "level": st.just("D")})
    odd = data.draw(
        st.lists(
            st.builds(lambda text, origin: line(f"[Clawperator-Result-Chunk] {text}", **origin), texts, origins),
            max_size=4,
        )
    )
    entries = data.draw(st.permutations([entry(record) for record in MINE] + odd))
    one_by_one = OperatorLog(uid=UID)
    assert read(entries) == results(signal for each in entries for signal in one_by_one.push(each))


@given(lost=st.sets(st.integers(0, len(MINE) - 1), min_size=1))
def test_lost_records_are_counted_once_the_app_has_written_all(lost: set[int]) -> None:
    log = OperatorLog(uid=UID)
    kept = [entry(record) for record in MINE if record["index"] not in lost]
    size = MINE[0]["byteLength"]
    assert not read([marker("started", count=len(MINE), size=size), *kept], log)
    assert not log.pending
    assert not read([marker("writes_completed", count=len(MINE), size=size)], log)
    assert log.pending
    assert results([*log.expire(0.0), *log.expire(0.4)]) == []
    (found,) = results(log.expire(0.6))
    assert found.envelope is None
    assert found.transport is not None
    assert (found.transport["receivedChunks"], found.transport["expectedChunks"]) == (len(kept), len(MINE))
    assert not log.pending


@given(st.data())
def test_a_changed_record_never_gives_another_result(data: st.DataObject) -> None:
    """Any change of any record: the result is the one that was sent, or an error, or none at all."""
    place = data.draw(st.integers(0, len(MINE) - 1))
    name = data.draw(st.sampled_from(list(MINE[0])))
    value = data.draw(
        st.none() | st.booleans() | st.integers(-1, 2**40) | st.floats() | st.text() | st.sampled_from(MINE).map(lambda r: r[name])
    )  # fmt: skip
    changed = [{**record, name: value} if record["index"] == place else record for record in MINE]
    for found in read([entry(record) for record in changed]):
        if found.envelope is not None:
            assert changed == MINE
        else:
            assert found.problem


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"count": 65_537, "byteLength": 65_537 * 1024}, "byteLength"),
        ({"count": 9, "byteLength": 1024}, "count"),
        ({"byteLength": True}, "byteLength"),
        ({"sha256": "0" * 64}, "checksum"),
        ({"sha256": "A" * 64}, "digest"),
        ({"index": -1}, "index"),
        ({"data": "===="}, "base64"),
        ({"data": "QQ=="}, "bytes"),
        ({"taskId": "another"}, "another command"),
    ],
)
def test_records_that_lie_are_refused_with_the_reason(changes: Record, reason: str) -> None:
    found = read([entry(record) for record in records("mine", envelope("mine", TEXT), **changes)])
    assert [each.envelope for each in found] == [None]
    assert reason in found[0].problem


def test_an_empty_record_behind_the_last_one_is_refused() -> None:
    """Of a result that fills its records: the place behind the last one would hold nothing, too."""
    text = next(
        text
        for n in range(1024)
        if len(text := envelope("mine", "a" * (2_000 + n))) % 1024 == 1024 - len("[Clawperator-Result] ")
    )
    whole = records("mine", text)
    (found,) = read([entry(whole[0]), entry({**whole[1], "index": len(whole), "data": ""}), *map(entry, whole[1:])])
    assert found.problem.startswith("index of a record is not below its count")


def test_the_records_of_one_command_with_the_result_of_another_are_no_result() -> None:
    (found,) = read([entry(record) for record in records("mine", envelope("other", TEXT))])
    assert "another command" in found.problem


def test_a_record_that_is_no_json_spoils_only_the_command_that_it_names() -> None:
    cut = entry(MINE[1]).message[:200]
    assert [each.problem for each in read([line(cut)])] == ["one of its records cannot be read"]
    assert read([line("[Clawperator-Result-Chunk] {")]) == []


def test_nobody_else_can_speak_for_the_app() -> None:
    assert read([entry(record, uid=UID + 1) for record in MINE]) == []
    assert read([entry(record, level="D") for record in MINE]) == []
    half = [entry(record, pid=PID) for record in MINE[:2]] + [entry(record, pid=PID + 1) for record in MINE[2:]]
    assert read(half) == []


def test_an_id_that_is_used_again_starts_again() -> None:
    """Half of a result, then the same command once more: never a result of two runs."""
    log = OperatorLog(uid=UID)
    later = records("mine", envelope("mine", TEXT[::-1]))
    start = line("[Clawperator-Command] start commandId=mine taskId=t source=s timeoutMs=1 actionCount=1")
    assert read([start, *(entry(record) for record in MINE[:2])], log) == []
    (found,) = read([start, *(entry(record) for record in later)], log)
    assert found.envelope is not None
    assert found.envelope.step_results[0].data["text"] == TEXT[::-1]
    assert read([entry(record) for record in later], log) == []  # repeated by a stream that was attached again
    (again,) = read([marker("started"), *(entry(record) for record in later)], log)
    assert again.envelope == found.envelope


def test_a_short_result_that_stays_away_is_noticed_and_one_that_came_is_not() -> None:
    log = OperatorLog(uid=UID)
    short = line(f"[Clawperator-Result] {envelope('mine', 'x')}")
    assert len(read([marker("started", count=1), short, marker("writes_completed", count=1)], log)) == 1
    assert not log.pending
    assert read([marker("started", count=1), marker("writes_completed", count=1)], log) == []
    assert log.pending
    assert read([short], log)[0].envelope is not None
    assert not log.pending


def test_a_result_of_the_renamed_app_is_read() -> None:
    mine = records("mine", envelope("mine", TEXT), brand="Androperator")
    (found,) = read([entry(record, brand="Androperator") for record in mine])
    assert found.envelope is not None


def test_a_tree_in_the_result_is_a_tree_of_its_step() -> None:
    xml = f"<?xml version='1.0'?>\n<hierarchy><node text=\"{'x' * 4000}\" /></hierarchy>\n"
    found = OperatorLog(uid=UID).feed(
        [entry(record) for record in records("mine", envelope("mine", xml, kind="snapshot_ui"))]
    )
    (tree,) = [signal for signal in found if isinstance(signal, HierarchySignal)]
    assert (tree.captured.xml, tree.captured.step_id, tree.captured.complete) == (xml, "s", True)
    assert isinstance(found[-1], EnvelopeSignal)


def test_unfinished_results_cost_no_more_than_they_bring() -> None:
    """Records that announce 64 MiB each, of more commands than anybody runs."""
    log = OperatorLog(uid=UID)
    data = base64.b64encode(b"x" * 1024).decode()
    claim = {"taskId": "t", "count": 65_536, "byteLength": 64 * 1024 * 1024, "sha256": "0" * 64, "data": data}
    tracemalloc.start()
    try:
        for number in range(2_000):
            log.push(entry({"commandId": f"c{number}", "index": number, **claim}))
        assert tracemalloc.get_traced_memory()[0] < 2_000_000
    finally:
        tracemalloc.stop()
