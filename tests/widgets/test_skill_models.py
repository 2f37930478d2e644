"""Skills and their runs as values: what a registry may hold, what a search finds, what is kept of endless output."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.skills.run import OutputLine
from clawperator.widgets.models.skill_runs import LINE_KEPT, Marker, OutputRing
from clawperator.widgets.models.skills import SkillEntry, SkillInput, find_skills, required_first
from tests.app.console.fake_skills import ALERT, ENTRIES, PRICE, SETTINGS

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)
KEYS = ("id", "applicationId", "intent", "summary", "skillFile", "scripts", "artifacts", "keywords", "contract")


def printed(*lines: str, stream: str = "stdout", at: float = 1.0) -> list[OutputLine]:
    return [OutputLine(stream, line, at) for line in lines]  # type: ignore[arg-type]  # stdout and stderr


def ring_of(*lines: str, **more: Any) -> OutputRing:
    ring = OutputRing(**more)
    for line in printed(*lines):
        ring.add(line)
    return ring


# -- entries


def test_an_entry_becomes_a_skill() -> None:
    skill = SkillEntry.of(PRICE)
    assert (skill.id, skill.app, skill.intent) == ("com.example.shop.read-price", "com.example.shop", "read-price")
    assert skill.scripts == ("skills/com.example.shop.read-price/scripts/read_price.py",)
    assert skill.inputs == ()


def test_declared_arguments_keep_their_order() -> None:
    assert [(item.name, item.required, item.help) for item in SkillEntry.of(ALERT).inputs] == [
        ("item", True, "what to watch"),
        ("limit", True, "the price"),
    ]


@given(st.dictionaries(st.sampled_from(KEYS), JSON))
def test_any_entry_at_all_is_taken(entry: dict[str, Any]) -> None:
    skill = SkillEntry.of(entry)
    texts = (skill.id, skill.app, skill.intent, skill.summary, skill.skill_file, *skill.scripts, *skill.artifacts)
    assert all(isinstance(text, str) for text in texts)


# -- searching

SKILLS = [SkillEntry.of(entry) for entry in ENTRIES]


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("", ["overview", "thermostat-set", "price-alert", "read-price"]),
        ("PRICE", ["price-alert", "read-price"]),
        ("price unit", ["read-price"]),
        ("groceries", ["read-price"]),
        ("set", ["overview", "thermostat-set", "price-alert"]),
        ("nothing like it", []),
    ],
)
def test_all_words_must_occur(typed: str, found: list[str]) -> None:
    assert [skill.intent for skill in find_skills(SKILLS, typed)] == found


def test_words_of_an_id_come_before_words_of_a_summary() -> None:
    summary = SkillEntry.of({**SETTINGS, "id": "a.b", "summary": "also about alerts"})
    assert [skill.id for skill in find_skills([summary, *SKILLS], "alert")] == ["com.example.shop.price-alert", "a.b"]


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
