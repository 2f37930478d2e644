"""A search that is done in pieces while lines come and go finds what looking at each line finds."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.filters.grammar import NO_FILTER, parse_filter
from clawperator.engine.logcat.entry import LogEntry
from clawperator.widgets.models.line_ring import LineRing
from clawperator.widgets.models.line_search import LineRows, LineSearch
from tests.app.console.support import NOON, log_lines
from tests.widgets.test_line_ring import matches

WHERE = parse_filter("level:e|w !9")

happenings = st.lists(
    st.one_of(st.tuples(st.just("write"), st.integers(0, 60)), st.tuples(st.just("step"), st.integers(1, 4))),
    max_size=30,
)


@given(st.integers(0, 200), happenings, st.integers(1, 150), st.booleans())
def test_pieces_and_news_in_any_order(
    before: int, reported: list[tuple[str, int]], capacity: int, operator: bool
) -> None:
    ring = LineRing(capacity)
    ring.extend(log_lines(before))
    search = LineSearch(ring, WHERE, operator=operator, now=NOON)
    for what, count in reported:
        if what == "write":
            ring.extend(log_lines(count, start=ring.end))
            search.catch_up()
        else:
            for _ in range(count):
                search.step()
        assert 0 <= search.share <= 1
        assert list(search.found) == sorted(set(search.found))
    while search.step():
        pass
    search.catch_up()
    assert search.done
    assert search.share == 1
    among = set(ring.operator) if operator else set(range(ring.end))
    assert list(search.found) == [
        number for number in range(ring.first, ring.end) if number in among and matches(WHERE, ring[number], "", NOON)
    ]


def test_the_newest_lines_are_found_first() -> None:
    ring = LineRing(10_000)
    ring.extend(log_lines(10_000))
    search = LineSearch(ring, parse_filter("level:e"), now=NOON)
    assert search.step()
    assert search.found[0] > 5_000
    assert search.found[-1] == 9_998


def rows_of(text: str, count: int = 1_000) -> LineRows:
    ring = LineRing(count)
    ring.extend(log_lines(count))
    return LineRows(ring, parse_filter(text), now=NOON)


def test_the_first_term_that_finds_nothing_by_itself_is_the_culprit() -> None:
    for text, term in (("wifi zebra lion", "zebra"), ("zebra", "zebra"), ("level:e !level:e", ""), ("wifi", "")):
        rows = rows_of(text)
        while rows.work():
            pass
        assert rows.culprit == term, text


def test_without_a_filter_there_is_nothing_to_search() -> None:
    rows = LineRows(LineRing(10), NO_FILTER, now=NOON)
    assert not rows.work()
    assert not len(rows)


def test_still_rows_stay_and_say_how_far_behind_they_are() -> None:
    for text in ("", "level:e"):
        rows = rows_of(text)
        while rows.work():
            pass
        before = list(rows.numbers)
        rows.freeze()
        rows.ring.extend(log_lines(500, start=1_000))
        rows.update()
        assert list(rows.numbers) == before
        assert rows.behind == 500
        rows.resume()
        rows.update()
        assert rows.behind == 0
        assert rows.numbers[-1] >= 1_498


def test_the_nearest_line_of_a_kind_among_those_that_are_shown() -> None:
    rows = rows_of("!8")
    errors = parse_filter("level:e")
    assert rows.nearest(errors, 500, 1) == 503
    assert rows.nearest(errors, 503, 1) == 513, "508 is not shown"
    assert rows.nearest(errors, 503, -1) == 493
    assert rows.nearest(errors, 2, -1) is None
    assert rows.nearest(errors, 999, 1) is None


def test_places_of_lines_that_are_not_shown_are_those_of_the_next_one() -> None:
    rows = rows_of("level:e")
    while rows.work():
        pass
    assert rows.numbers[rows.place(500)] == 503
    assert rows.place(10_000) == len(rows)


def test_an_entry_without_a_time_is_of_no_age() -> None:
    ring = LineRing(10)
    ring.extend([LogEntry.create("x", clock=b"11-20 10:00:00.000"), LogEntry.create("y", clock=int(NOON * 1e9))])
    found = ring.search(parse_filter("age:<1m"), 0, 2, now=NOON + 1)
    assert list(found) == [1]
