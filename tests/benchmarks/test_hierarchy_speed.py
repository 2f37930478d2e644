"""Reading, roles and matching on a screen of 2,000 nodes, as ratios to a floor measured in the same run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from clawperator.engine.hierarchy.match import Matcher, explain_tree, find_all, find_first
from clawperator.engine.hierarchy.serialise import RenderNode, hierarchy_xml, render_node
from clawperator.engine.hierarchy.tree import UiTree, parse

pytestmark = pytest.mark.benchmark

ROUNDS = 15
NODES = 2_000


def screen() -> RenderNode:
    """A list of 400 rows of five nodes, less the root: the classes, ids and texts of a settings screen."""
    rows = [
        render_node(
            {"class": "android.widget.LinearLayout", "clickable": True, "bounds": (0, at * 5, 1080, at * 5 + 5)},
            [
                render_node({"class": "android.widget.ImageView", "bounds": (0, at * 5, 90, at * 5 + 5)}),
                render_node({
                    "class": "android.widget.TextView", "text": f"Größe & Wi\u2011Fi {at}", "package": "com.android.settings",
                    "resource-id": "android:id/title", "bounds": (90, at * 5, 900, at * 5 + 2),
                }),
                render_node({"class": "android.widget.TextView", "text": f"Summary of row {at}", "bounds": (90, 0, 900, 9)}),
                render_node({"class": "android.widget.Switch", "content-desc": "Toggle", "bounds": (900, 0, 1080, 9)}),
            ],
        )
        for at in range(NODES // 5)
    ]  # fmt: skip
    return render_node({"class": "androidx.recyclerview.widget.RecyclerView", "bounds": (0, 0, 1080, 2400)}, rows)


def medians(*tasks: Callable[[], object]) -> list[float]:
    """Milliseconds of each task, taken in turns so that a busy machine is unfair to all alike."""
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(ROUNDS):
        for task, spent in zip(tasks, times, strict=True):
            start = time.perf_counter()
            result = task()
            spent.append((time.perf_counter() - start) * 1_000)
            del result
    return [statistics.median(spent) for spent in times]


def calibration() -> int:
    """About a millisecond on a slow core of 2024: additions in a plain loop."""
    total = 0
    for number in range(20_000):
        total += number & 7
    return total


def with_roles(text: bytes) -> UiTree:
    tree = parse(text)
    assert all(node.role for node in tree.nodes)
    return tree


def test_reading_and_roles() -> None:
    text = hierarchy_xml(screen()).encode()
    assert len(parse(text).nodes) == NODES + 1
    floor, lazy, inferred = medians(lambda: ET.fromstring(text), lambda: parse(text), lambda: with_roles(text))
    print(f"\nElementTree {floor:.2f} ms, parse {lazy / floor:.2f}x, with roles {inferred / floor:.2f}x")
    assert lazy <= 3 * floor
    assert inferred <= 4 * floor


def test_matching() -> None:
    tree = parse(hierarchy_xml(screen()))
    matcher = Matcher.from_fields({"resourceId": "android:id/title", "textContains": "wi\u2011fi 399", "role": "text"})
    button = Matcher.from_fields({"textContains": "größe", "role": "button"})
    assert [node.index for node in find_all(tree, button, on_screen_only=False)][:2] == [3, 8]
    assert find_first(tree, matcher) is None
    floor, miss, hits, why = medians(
        calibration,
        lambda: find_first(tree, matcher),
        lambda: find_all(tree, button),
        lambda: explain_tree(tree, matcher),
    )
    print(f"\ncalibration {floor:.2f} ms, find {miss:.3f} ms, find all {hits:.3f} ms, explain {why:.1f} ms")
    assert miss <= floor
    assert hits <= floor
    assert why <= 60 * floor


def test_first_match_of_a_new_tree() -> None:
    """The columns and the on-screen flags are worked out once per tree: that must stay below reading it."""
    text = hierarchy_xml(screen()).encode()
    matcher = Matcher.from_fields({"textContains": "wi\u2011fi 399"})
    reading, both = medians(lambda: parse(text), lambda: find_first(parse(text), matcher))
    print(f"\nparse {reading:.2f} ms, first match {both - reading:.2f} ms more")
    assert both <= 2 * reading
