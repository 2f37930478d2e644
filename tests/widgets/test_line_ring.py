"""The ring against a plain list of lines: the same lines, and the same ones found."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawperator.engine.filters.grammar import Filter, Term, parse_filter
from clawperator.engine.logcat.entry import LogEntry
from clawperator.engine.logcat.text import TextLogParser
from clawperator.widgets.models.line_ring import SLICE_LINES, LineRing
from clawperator.widgets.models.stream_filter import with_command
from tests.app.console.support import NOON, log_lines
from tests.support import examples, table

CAPTURES = sorted((Path(__file__).parents[1] / "data" / "logcat").glob("*.txt"))
SERIALS = ("emulator-5554", "R5CT")
LETTERS = "aAbBkK1 .-_ßſKİıΣςé中\x00\n\ud83d"

payloads = st.one_of(
    st.text(LETTERS, max_size=12).map(lambda text: text.encode("utf-8", "surrogatepass")),
    st.binary(max_size=8),
    st.sampled_from([b"[Clawperator-Result] {}", b"[TaskScope] UI Hierarchy:", b"  <node/>", b"commandId=ab-1 x"]),
)
entries = st.builds(
    LogEntry,
    st.sampled_from("VDIWEFS"),
    st.text("aAbß", max_size=3),
    payloads,
    st.integers(-1, 3),
    st.integers(-1, 2**33),
    st.sampled_from([-1, 0, 10_123, 2**32 - 1]),
    st.one_of(st.integers(0, 2**70), st.integers(-5, 5).map(lambda off: int((NOON + 60 * off) * 1e9)), st.just(b"11-20 10:00:00.000")),
    st.sampled_from(["", "main", "crash"]),
)  # fmt: skip
batches = st.lists(st.tuples(st.sampled_from(SERIALS), st.lists(entries, max_size=25)), max_size=12)

words = st.text("aAbBkKßſΣé1 .", min_size=1, max_size=3).map(lambda word: f'"{word}"')
terms = st.one_of(
    words,
    words.map(lambda word: f"text:{word}"),
    words.map(lambda word: f"cmd:{word}"),
    st.sampled_from(
        ["level:e|w", "level:debug", "tag:a", "tag:B", "pid:1", "pid:-1|2", "dev:emu", "re:/a.*b/", "re:/^k/", "re:/ß|B$/",
         "age:<2m", "age:>1m", "status:ok", "re:/^b$/"]
    ),
)  # fmt: skip
filters = st.lists(st.tuples(st.sampled_from(["", "!"]), terms), max_size=3).map(
    lambda parts: parse_filter(" ".join(sign + term for sign, term in parts))
)


def matches(where: Filter, entry: LogEntry, device_id: str, now: float) -> bool:
    """What a filter says of a log line, as its grammar describes it."""

    def holds(term: Term) -> bool:
        match term.key:
            case "age":
                return term.allows_age(now - entry.time)
            case "dev":
                return term.found_in(device_id)
            case "tag" | "level" | "pid":
                return term.found_in(str(getattr(entry, term.key)))
        return term.found_in(entry.message) or (not term.key and term.found_in(entry.tag))

    return all(holds(term) != term.negated for term in where.terms)


def filled(capacity: int, reported: list[tuple[str, list[LogEntry]]]) -> tuple[LineRing, list[tuple[str, LogEntry]]]:
    """A ring, and all the lines it was ever told."""
    ring, plain = LineRing(capacity), list[tuple[str, LogEntry]]()
    for device, batch in reported:
        ring.extend(batch, device)
        plain += [(device, entry) for entry in batch]
    return ring, plain


@given(batches, st.integers(1, 120))
def test_lines_come_back_as_they_were_and_the_newest_are_kept(
    reported: list[tuple[str, list[LogEntry]]], capacity: int
) -> None:
    ring, plain = filled(capacity, reported)
    assert ring.end == len(plain)
    assert min(len(plain), capacity) <= len(ring) <= capacity + max(1, capacity // 16)
    for number in range(ring.first, ring.end):
        assert (ring.device_of(number), ring[number]) == plain[number]
        assert type(ring[number]) is LogEntry
    assert list(ring) == [entry for _, entry in plain[ring.first :]]
    for number in (ring.first - 1, ring.end, -1):
        with pytest.raises(IndexError):
            ring[number]
        with pytest.raises(IndexError):
            ring.device_of(number)


@given(batches, filters, st.integers(1, 120), st.booleans(), st.data())
@settings(max_examples=examples(300))
def test_the_ring_finds_what_looking_at_each_line_finds(
    reported: list[tuple[str, list[LogEntry]]], where: Filter, capacity: int, operator: bool, data: st.DataObject
) -> None:
    ring, plain = filled(capacity, reported)
    start = data.draw(st.integers(0, ring.end))
    stop = data.draw(st.integers(start, ring.end))
    among = set(ring.operator) if operator else set(range(ring.end))
    expected = [
        number
        for number in range(max(start, ring.first), stop)
        if number in among and matches(where, plain[number][1], plain[number][0], NOON)
    ]
    assert list(ring.search(where, start, stop, now=NOON, operator=operator)) == expected


@given(batches, st.integers(1, 120), st.integers(0, 300), st.integers(0, 300))
def test_parts_cover_what_was_asked_newest_first(
    reported: list[tuple[str, list[LogEntry]]], capacity: int, start: int, stop: int
) -> None:
    ring, _ = filled(capacity, reported)
    parts = list(ring.parts(start, stop))
    assert all(begin < end <= begin + SLICE_LINES for begin, end in parts)
    assert [number for part in reversed(parts) for number in range(*part)] == [
        number for number in range(start, stop) if ring.first <= number < ring.end
    ]


@table("capture", CAPTURES, ids=lambda path: path.name)
def test_captured_logs_come_back_line_by_line_and_are_searched_alike(capture: Path) -> None:
    parser = TextLogParser()
    read = parser.feed(capture.read_bytes()) + parser.finish()
    ring = LineRing(1_000_000)
    ring.extend(read, SERIALS[0])
    assert list(ring) == read
    for text in ("error", "!a level:e|w", "tag:activity", "re:/\\b(pid|uid)=\\d/", "at com"):
        where = parse_filter(text)
        expected = [number for number, entry in enumerate(read) if matches(where, entry, SERIALS[0], NOON)]
        assert list(ring.search(where, 0, ring.end, now=NOON)) == expected, text


def test_the_operators_lines_are_an_index_into_the_ring() -> None:
    ring = LineRing(1_000)
    own = ring.extend(log_lines(100), SERIALS[0])
    assert list(own) == list(ring.operator) == list(range(0, 100, 10))


def test_a_process_that_wrote_like_the_operator_is_it_but_its_dumps_stay_out() -> None:
    def line(message: str, pid: int) -> LogEntry:
        return LogEntry.create(message, pid=pid)

    ring = LineRing(100)
    ring.extend([line("before it is known", 7)], SERIALS[0])
    ring.extend([line("[TaskScope] UI Hierarchy:", 7), line("  <node/>", 7), line("part two of it", 7)], SERIALS[0])
    ring.extend([line("not that device", 7)], SERIALS[1])
    ring.extend([line("nobody's", -1), line("[Operator-Receiver] x", -1), line("nobody's", -1)], SERIALS[0])
    assert list(ring.operator) == [1, 3, 6]


def test_the_index_forgets_with_the_ring() -> None:
    ring = LineRing(100)
    ring.extend(log_lines(5_000), SERIALS[0])
    assert ring.first == 4_900
    assert list(ring.operator) == list(range(4_900, 5_000, 10))


def test_a_copy_stands_still_while_the_ring_goes_on() -> None:
    ring = LineRing(64)
    ring.extend(log_lines(60))
    still = ring.copy()
    before = list(still)
    ring.extend(log_lines(500, start=60))
    assert list(still) == before
    assert (still.first, still.end) == (0, 60)


def test_only_the_command_itself_is_meant_by_its_name() -> None:
    ring = LineRing(1_000)
    names = ("cmd-1", "cmd-12", "my-cmd-1", "CMD-1", 'x"cmd-1"')
    ring.extend([LogEntry.create(f"start commandId={name} taskId=t") for name in names * 10])
    found = ring.search(with_command(Filter(), "cmd-1"), 0, ring.end, now=NOON)
    assert {number % 5 for number in found} == {0, 3, 4}
