"""Only what is wrong in every dialect of regular expressions is refused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.contracts.pattern import pattern_complaint
from tests.support import table


@table("pattern", ["(", "a)", "[a", "*a", "a|+", "a**", "\\", "(?<n>a"])
def test_wrong_everywhere(pattern: str) -> None:
    assert pattern_complaint(pattern)


@table(
    "pattern",
    [
        r"\d+(\.\d+)?",
        r"\p{Lu}\p{L}*",
        r"(?<year>\d{4})-\k<year>",
        r"\Q(1+1\E=2",
        r"\Q[open to the end",
        r"[a-z&&[^aeiou]]",
        r"a++b*+",
        r"(?i)x|y(?i:z)",
        r"a(?i)b",
        r"(?<=a|bc)d",
        r"\h+\R\z",
        r"\x{1F600}",
        r"a{99999999999999999999}",
        "",
        "(" * 3000 + ")" * 3000,
    ],
)
def test_right_or_possibly_right_in_java(pattern: str) -> None:
    assert pattern_complaint(pattern) == ""


@given(st.text(alphabet="ab()[]{}*+?|\\QE<>!=^$-&,0123456789:Pik"))
def test_no_pattern_is_too_strange_to_judge(pattern: str) -> None:
    assert isinstance(pattern_complaint(pattern), str)
