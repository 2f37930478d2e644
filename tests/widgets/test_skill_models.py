"""Skills and their runs as values: what a registry may hold, what a search finds, what is kept of endless output."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.skills.describe import SkillInput
from clawperator.engine.skills.run import OutputLine
from clawperator.widgets.models.skill_runs import LINE_KEPT, Marker, OutputRing
from clawperator.widgets.models.skills import required_first


def printed(*lines: str, stream: str = "stdout", at: float = 1.0) -> list[OutputLine]:
    return [OutputLine(stream, line, at) for line in lines]  # type: ignore[arg-type]  # stdout and stderr


def ring_of(*lines: str, **more: Any) -> OutputRing:
    ring = OutputRing(**more)
    for line in printed(*lines):
        ring.add(line)
    return ring


def test_what_is_needed_is_asked_first() -> None:
    fields = [SkillInput("a"), SkillInput("b", required=True), SkillInput("c"), SkillInput("d", required=True)]
    assert [item.name for item in required_first(fields)] == ["b", "d", "a", "c"]


# -- output


def test_lines_that_mean_something() -> None:
    ring = ring_of(
        "hello",
        "RESULT|price=4.99",
        "  SCREENSHOT|path=/x.png",
        "TEXT_BEGIN",
        "RESULT|inside",
        "TEXT_END",
        '[Clawperator-Skill-Result] {"a": 1}',
        "✅ done",
        "RESULT|again=1",
    )
    assert [ring[number].marker for number in range(ring.end)] == [
        Marker.NONE,
        Marker.RESULT,
        Marker.PICTURE,
        Marker.BEGIN,
        Marker.INSIDE,
        Marker.END,
        Marker.FRAME,
        Marker.DONE,
        Marker.RESULT,
    ]
    assert list(ring.marked) == [1, 2, 6, 8]


def test_a_text_that_never_ends_stays_a_text() -> None:
    ring = ring_of("TEXT_BEGIN|name=x", *["RESULT|a=1"] * 3)
    assert [ring[number].marker for number in range(1, 4)] == [Marker.INSIDE] * 3
    assert list(ring.marked) == []


def test_what_the_console_says_is_no_output_of_the_skill() -> None:
    ring = OutputRing()
    ring.add(OutputLine("host", "RESULT|a=1", 1.0))  # type: ignore[arg-type]  # ours
    assert ring[0].marker is Marker.HOST


def test_old_lines_go_and_the_others_keep_their_numbers() -> None:
    ring = ring_of(*(f"RESULT|n={number}" for number in range(250)), lines=100)
    assert len(ring) <= 100
    assert ring.end == 250
    assert ring[249].text == "RESULT|n=249"
    assert ring[ring.first].text == f"RESULT|n={ring.first}"
    assert ring.marked[0] >= ring.first
    with pytest.raises(IndexError):
        ring[ring.first - 1]


def test_a_hundred_megabytes_on_one_line_are_cut() -> None:
    ring = ring_of("x" * 100_000_000)
    assert len(ring[0].text) == LINE_KEPT
    assert ring[0].cut == 100_000_000 - LINE_KEPT


def test_characters_are_bounded_too() -> None:
    ring = ring_of(*("y" * 1_000 for _ in range(500)), characters=50_000)
    assert sum(map(len, ring.texts())) <= 50_000
    assert ring[ring.end - 1].text


@given(st.lists(st.text(max_size=30), max_size=80), st.integers(1, 20), st.integers(1, 200))
def test_any_output_is_kept_within_its_bounds(lines: list[str], most: int, characters: int) -> None:
    ring = ring_of(*lines, lines=most, characters=characters)
    assert ring.end == len(lines)
    assert len(ring) <= most
    assert sum(map(len, ring.texts())) <= characters
    assert all(ring.first <= number < ring.end for number in ring.marked)
