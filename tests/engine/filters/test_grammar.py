from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.filters.grammar import (
    ALIASES,
    HISTORY,
    KEYS,
    MAX_PATTERN,
    MAX_TERMS,
    STATUSES,
    Filter,
    Term,
    parse_filter,
)
from clawperator.engine.filters.pattern_budget import ALLOWANCE
from clawperator.engine.filters.pattern_cost import MAX_REACH, cost_of
from tests.support import table


def only(text: str) -> Term:
    (term,) = parse_filter(text).terms
    return term


def reported(text: str) -> list[tuple[bool, str, str]]:
    return [(term.negated, term.key, term.value) for term in parse_filter(text).terms]


@table(
    ("text", "expected"),
    [
        ("", []),
        ("   ", []),
        ("Wifi", [(False, "", "wifi")]),
        ("wifi !blue", [(False, "", "wifi"), (True, "", "blue")]),
        ('"two  words"', [(False, "", "two  words")]),
        ('!"two words" x', [(True, "", "two words"), (False, "", "x")]),
        (r'"a \"quote\" and \\"', [(False, "", 'a "quote" and \\')]),
        ('"not closed yet', [(False, "", "not closed yet")]),
        ("cmd:A-1 !src:b", [(False, "cmd", "a-1"), (True, "src", "b")]),
        ('task:"nightly run"', [(False, "task", "nightly run")]),
        ("source:x command:y device:z", [(False, "src", "x"), (False, "cmd", "y"), (False, "dev", "z")]),
        ("STATUS:Success", [(False, "status", "ok")]),
        ("status:success|failure", [(False, "status", "ok|failed")]),
        ("level:Error|w", [(False, "level", "e|w")]),
        ("cmd:", []),
        ("!", []),
        ("! !cmd:", []),
        ("12:30:01", [(False, "", "12:30:01")]),
        ("http://a/b", [(False, "", "http://a/b")]),
        ("ΣΊΣΥΦΟΣ", [(False, "", "σίσυφοσ")]),
    ],
)
def test_a_line_is_words_and_terms(text: str, expected: list[tuple[bool, str, str]]) -> None:
    parsed = parse_filter(text)
    assert reported(text) == expected
    assert (parsed.problem, parsed.column) == ("", -1)
    assert bool(parsed) == bool(expected)


def test_terms_know_how_and_where_they_were_typed() -> None:
    text = '  !src:"open claw" re:/a b/ age:<5m'
    terms = parse_filter(text).terms
    assert [(term.text, term.column) for term in terms] == [
        ('!src:"open claw"', 2), ("re:/a b/", 19), ("age:<5m", 28)
    ]  # fmt: skip
    assert all(text[term.column :].startswith(term.text) for term in terms)


@pytest.mark.parametrize(
    ("text", "comparison", "seconds"),
    [("age:<5m", "<", 300), ("age:>1h", ">", 3600), ("age:90s", "<", 90), ("age:>1.5d", ">", 129_600)],
)
def test_ages(text: str, comparison: str, seconds: float) -> None:
    term = only(text)
    assert (term.key, term.comparison, term.seconds) == ("age", comparison, seconds)
    assert term.allows_age(seconds - 1) is (comparison == "<")
    assert term.allows_age(seconds + 1) is (comparison == ">")


@pytest.mark.parametrize("text", ["age:5", "age:old", "age:<", "age:=5m", "age:<5w"])
def test_an_age_that_is_none_is_named_and_left_out(text: str) -> None:
    parsed = parse_filter(f"wifi {text}")
    assert parsed.problem.startswith("no age: ")
    assert parsed.column == 5
    assert [term.value for term in parsed.terms] == ["wifi"]


def test_an_unknown_key_is_named_and_searched_as_typed() -> None:
    parsed = parse_filter("x !colour:Red")
    assert parsed.problem.startswith("no key colour: – there are cmd task")
    assert parsed.column == 3
    assert reported("!colour:Red") == [(True, "", "colour:red")]


def test_a_key_that_is_nearly_right_is_named() -> None:
    assert parse_filter("statsu:ok").problem == "no key statsu: – is status: meant?"


@table(
    ("text", "problem"),
    [
        ("status:nonsense", "no status: nonsense – there are ok warn failed"),
        ("!status:ok|nope", "no status: nope – there are ok"),
        ("level:loud", "no level: loud – there are v d i w e f"),
        ("pid:abc", "no pid: abc – it is a number"),
        ("status:fai", ""),  # the beginning of one: it is being typed
        ("status:succ|running", ""),
        ("level:warn", ""),
        ("pid:12|13", ""),
        ("code:ANY_CODE_OF_AN_APP", ""),
    ],
)
def test_a_value_that_a_key_cannot_have_is_named(text: str, problem: str) -> None:
    found = parse_filter(text).problem
    assert found.startswith(problem)
    assert bool(found) == bool(problem)


def test_recorded_runs_have_no_level_and_no_tag() -> None:
    for text in ("level:w", "tag:x"):
        assert parse_filter(text).problem == ""
        assert parse_filter(text, HISTORY).problem.startswith("no key ")


def test_the_first_problem_is_the_one_reported() -> None:
    parsed = parse_filter("re:/(/ colour:x")
    assert parsed.problem.startswith("no pattern: ")
    assert parsed.column == 4


def test_alternatives_are_for_keys_only() -> None:
    assert only("status:failed|warn").values == ("failed", "warn")
    assert only("a|b").values == ("a|b",)
    assert only("text:a|b").values == ("a|b",)
    assert only("code:|").values == ("|",)


@table(
    ("text", "field", "found"),
    [
        ("wifi", "My WiFi network", True),
        ("wifi", "blue", False),
        ("STRASSE", "Straße", True),
        ("pid:12", "12", True),
        ("pid:12", "1234", False),
        ("pid:7|12", "12", True),
        ("level:e|f", "F", True),
        ("level:w", "warn", False),
        ("cmd:12", "cmd-1234", True),
        ("re:/step \\d+$/", "Step 12", True),
        ("re:/^a|b$/", "xb", True),
        ("re:a.c", "xAbCx", True),
        (r"re:/a\/b c/", "a/b c", True),
        ("re:/never closed", "was Never closed at all", True),
    ],
)
def test_what_a_term_finds(text: str, field: str, found: bool) -> None:
    assert only(text).found_in(field) is found


def test_a_long_line_of_terms_is_cut_and_says_so() -> None:
    parsed = parse_filter("x " * 100)
    assert len(parsed.terms) == MAX_TERMS
    assert parsed.problem == f"more than {MAX_TERMS} terms"


# -- patterns that could take for ever


@pytest.mark.parametrize(
    "source",
    [
        "(a+)+$", "(a*)*b", "(.*)*x", r"(\w+\s?)*y", "(a|aa)+$", "(?:a|b)*", r"(x)\1", "(?P<n>a)(?P=n)", "a?" * 30 + "a" * 30,
        "(a|a)" * 20, "(?:x+){2,}", "(?i:a+)+b", "(?=a+)+b", ".*.*.*.*=x", "((a{1,9}){1,9}){1,9}", "(?(1)a|b)",
    ],
)  # fmt: skip
def test_patterns_that_may_never_end_are_refused(source: str) -> None:
    parsed = parse_filter(f"re:/{source}/")
    assert parsed.problem
    assert not parsed.terms


@pytest.mark.parametrize(
    ("source", "reach"),
    [
        ("Error", MAX_REACH), ("err(or|eur)", MAX_REACH), ("a|b|c|d|e|f|g|h", MAX_REACH), (r"step \d+", MAX_REACH),
        (r"(\d{3})+", MAX_REACH), (r"[+*]{2}", MAX_REACH), (r"\(\+\)*", MAX_REACH), ("(?i)x", MAX_REACH), ("[]a*]b", MAX_REACH),
        (r"uid=\d+ .*pid=\d+", 1_000), (r"\d+:\d+", 10_000), ("colou?r", MAX_REACH), ("(?:ab)+c", 10_000), ("a{,3}b{2,}", 1_000_000),
    ],
)  # fmt: skip
def test_ordinary_patterns_pass_and_see_far_enough(source: str, reach: int) -> None:
    term = only(f"re:/{source}/")
    assert term.pattern is not None
    assert term.reach >= reach


def test_patterns_that_are_none_say_where() -> None:
    parsed = parse_filter("x re:/ab[c/")
    assert parsed.problem.startswith("no pattern: unterminated character set")
    assert parsed.column == 8


def test_a_very_long_pattern_is_refused() -> None:
    parsed = parse_filter("re:/" + "a" * (MAX_PATTERN + 1) + "/")
    assert parsed.problem.startswith("a pattern of 201 characters")


_BRICKS = st.sampled_from(
    ["a", "b", ".", r"\d", r"\w", "[ab]", "*", "+", "?", "{2}", "{1,3}", "{2,}", "(", "(?:", ")", "|", "^", "$"]
)


@given(st.lists(_BRICKS, min_size=1, max_size=14).map("".join))
def test_whatever_passes_ends_in_time(source: str) -> None:
    """On texts that are bad for it: a long run of what its parts like, and an end that none of them likes."""
    parsed = parse_filter(f"re:/{source}/")
    try:
        pattern, cost = re.compile(source, re.IGNORECASE), cost_of(source)
    except re.error:
        pattern, cost = None, None
    if pattern is None or cost is None or not cost.reach:
        assert parsed.problem
        return
    begun = time.process_time()
    for text in ("a" * 400 + "!", "ab" * 200 + "!", "1" * 400):
        pattern.search(text, 0, cost.reach)
    assert time.process_time() - begun < 5, source


@given(st.text(max_size=60))
def test_reading_never_fails_and_forgets_nothing(text: str) -> None:
    parsed = parse_filter(text)
    assert parsed.text == text
    assert all(term.value and term.text in text for term in parsed.terms)
    assert (parsed.column >= 0) == bool(parsed.problem)
    assert parsed.column <= len(text)


_GRAMMAR = st.sampled_from(
    ["cmd:", "age:", "status:", "re:/", "re:", "/", '"', "\\", "!", "|", "x", "<5m", " ", "(", "*", "ß", "\t", ":"]
)


@given(st.lists(_GRAMMAR, max_size=16).map("".join))
def test_reading_never_fails_on_what_looks_like_a_filter(text: str) -> None:
    parsed = parse_filter(text)
    assert all(term.value for term in parsed.terms)


@given(st.lists(st.from_regex(r"!?[a-z]{2,8}", fullmatch=True), max_size=5))
def test_words_come_back_as_they_were_typed(words: list[str]) -> None:
    assert [term.text for term in parse_filter("  ".join(words)).terms] == words


def test_every_alias_leads_to_a_key_and_every_status_to_one_word() -> None:
    assert set(ALIASES.values()) <= set(KEYS)
    assert not set(ALIASES) & set(KEYS)
    assert not set(STATUSES.values()) & set(STATUSES)


def test_the_empty_filter_is_false() -> None:
    assert not Filter()
    assert not parse_filter("age:nonsense")


# -- patterns that take too long over many texts


@pytest.mark.ci
def test_a_slow_pattern_is_stopped_after_its_allowance_of_processor_time() -> None:
    term = only("re:/" + "a?" * 12 + "z/")
    begun, searched = time.thread_time(), 0
    while not term.budget.stopped and searched < 1_000:
        assert not term.found_in("a" * 2_000)
        searched += 1
    assert term.budget.stopped
    assert time.thread_time() - begun < 3 * ALLOWANCE
    assert "was stopped" in Filter("", (term,)).stopped


def test_a_stopped_pattern_finds_nothing_more_and_spends_nothing_more() -> None:
    term = only("re:/x/")
    assert term.found_in("x")
    term.budget._left = 0.0
    assert not term.found_in("x")


def test_a_pattern_in_linear_time_is_never_stopped_by_the_number_of_texts() -> None:
    where = parse_filter(r"re:/step \d+ of/")
    (term,) = where.terms
    before = term.budget._left
    for _ in range(20_000):
        term.found_in("a log line of ordinary length, which holds step 12 of 40 and then some more words")
    assert term.budget._left > before
    assert where.stopped == ""
    assert where == parse_filter(r"re:/step \d+ of/")  # what was spent is no part of what is meant
