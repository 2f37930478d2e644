"""What the device says about several nodes is untrusted text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.executions.ambiguity import MOST, reported_candidates, reported_count, reported_counts

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text(max_size=600),
    lambda inner: st.lists(inner, max_size=15) | st.dictionaries(st.text(max_size=8), inner, max_size=6),
)
NODES = st.lists(
    st.fixed_dictionaries({}, optional=dict.fromkeys(("label", "resourceId", "role", "bounds"), JSON)) | JSON,
    max_size=20,
)
WARNING = "Multiple candidates matched; first-match selection was used. Largest candidate counts observed: target: "


@given(st.text() | JSON.map(json.dumps) | NODES.map(lambda nodes: json.dumps({"nodes": nodes})))
def test_whatever_it_writes_the_candidates_are_few_and_plain(text: str) -> None:
    found = reported_candidates({"candidates": text})
    assert len(found) <= MOST
    for node in found:
        assert node
        assert node.keys() <= {"resourceId", "role", "text", "contentDesc", "bounds"}
        assert all(isinstance(side, int) for side in node.get("bounds", []))
        assert all(0 < len(value) <= 512 for name, value in node.items() if name != "bounds")


def test_deep_and_endless_text_is_no_candidate() -> None:
    assert reported_candidates({"candidates": "[" * 200_000}) == []
    assert reported_candidates({"candidates": '{"nodes": [{"bounds": {"left": 1e999}}]}'}) == []
    box = dict.fromkeys(("left", "top", "right", "bottom"), 10**400)
    assert reported_candidates({"candidates": json.dumps({"nodes": [{"role": "button", "bounds": box}]})}) == [
        {"role": "button"}
    ]
    assert reported_candidates({}) == []


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        (f"{WARNING}3. Use --strict", (3, 0)),
        (f"{WARNING}1, container: 2. Use", (1, 2)),
        ("anything else", (0, 0)),
        (f"{WARNING}{'9' * 5_000}", (999_999_999, 0)),
    ],
)
def test_the_counts_of_a_warning(text: str, counts: tuple[int, int]) -> None:
    assert reported_counts({"selection_warning": text}) == counts


@pytest.mark.parametrize(("text", "count"), [("3", 3), ("", None), ("-1", None), ("\u0663", None), ("9" * 99, None)])
def test_the_count_of_candidates(text: str, count: int | None) -> None:
    assert reported_count({"candidate_count": text}) == count
