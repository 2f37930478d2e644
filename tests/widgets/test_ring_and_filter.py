from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.widgets.models.executions import Execution, ExecutionLog
from clawperator.widgets.models.ring import Ring
from clawperator.widgets.models.stream_filter import parse_filter
from tests.app.console.support import log_lines, mixed_stream


@given(st.lists(st.integers(0, 40), max_size=30), st.integers(1, 50))
def test_numbers_never_change_and_the_newest_are_kept(sizes: list[int], capacity: int) -> None:
    ring: Ring[int] = Ring(capacity)
    total = 0
    for size in sizes:
        ring.extend(range(total, total + size))
        total += size
    assert ring.end == total
    assert list(ring) == list(range(ring.first, total))
    assert min(total, capacity) <= len(ring) <= capacity + capacity // 16
    assert all(ring[number] == number for number in range(ring.first, total))
    if ring.first:
        with pytest.raises(IndexError):
            ring[ring.first - 1]


def test_numbered_starts_where_asked_or_at_the_oldest() -> None:
    ring: Ring[str] = Ring(3)
    ring.extend("abcdef")
    assert list(ring.numbered()) == [(3, "d"), (4, "e"), (5, "f")]
    assert list(ring.numbered(5)) == [(5, "f")]


def log() -> ExecutionLog:
    log = ExecutionLog()
    log.apply(mixed_stream(1000.0))
    return log


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("status:failed", ["cmd-122"]),
        ("src:skill", ["cmd-123", "cmd-124"]),
        ("src:skill !status:warn", ["cmd-124"]),
        ("code:navigation", ["cmd-123"]),
        ("cmd:cmd-12 !src:openclaw !src:skill", ["cmd-126"]),
        ("type:wait_for_node", ["cmd-121", "cmd-125"]),
        ("bluetooth", ["cmd-122"]),
    ],
)
def test_terms_are_combined(text: str, commands: list[str]) -> None:
    wanted = parse_filter(text)
    assert [item.command_id for item in log().items if isinstance(item, Execution) and wanted.keeps(item)] == commands


def test_bad_news_passes_every_filter_about_executions() -> None:
    mark = next(item for item in log().items if not isinstance(item, Execution))
    assert parse_filter("status:ok").keeps(mark)
    assert not parse_filter("!malformed").keeps(mark)


def test_an_unknown_key_is_named_and_searched_as_typed() -> None:
    parsed = parse_filter("colour:red")
    assert parsed.problem.startswith("no key colour:")
    assert parsed.terms[0].value == "colour:red"


def test_the_term_that_hides_everything_is_named() -> None:
    executions = [item for item in log().items if isinstance(item, Execution)]
    assert parse_filter("openclaw status:skipped").culprit(executions) == "status:skipped"
    assert parse_filter("src:openclaw src:skill").culprit(executions) == "", "each matches something, together nothing"


def test_log_lines_are_filtered_by_tag_level_and_words() -> None:
    lines = log_lines(40)
    assert len([entry for entry in lines if parse_filter("tag:wifi").keeps_entry(entry)]) == 36
    assert all(entry.level == "W" for entry in lines if parse_filter("level:w").keeps_entry(entry))
    assert len([entry for entry in lines if parse_filter("!tag:wifi 'line").keeps_entry(entry)]) == 0
    assert len([entry for entry in lines if parse_filter("!tag:wifi line").keeps_entry(entry)]) == 4
