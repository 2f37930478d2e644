"""Reading, roles and matching on a screen of 2,000 nodes, as ratios to a floor measured in the same run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from clawperator.engine.hierarchy.match import Matcher, find_all, find_first
from clawperator.engine.hierarchy.serialise import RenderNode, hierarchy_xml, render_node
from clawperator.engine.hierarchy.tree import UiTree, parse
from tests.benchmarks.conftest import Report

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


def with_roles(text: bytes) -> UiTree:
    tree = parse(text)
    assert all(node.role for node in tree.nodes)
    return tree


@pytest.mark.parametrize(
    ("how", "read", "limit"), [("lazy", parse, 3.0), ("inferred", with_roles, 4.0)], ids=["lazy", "inferred"]
)
def test_reading(report: Report, how: str, read: Callable[[bytes], UiTree], limit: float) -> None:
    text = hierarchy_xml(screen()).encode()
    assert len(read(text).nodes) == NODES + 1

    def measure() -> tuple[float, str]:
        floor, ours = medians(lambda: ET.fromstring(text), lambda: read(text))
        return ours / floor, f"{ours:.1f} / {floor:.1f} ms"

    report.ratio(
        f"hierarchy parse of 2,000 nodes, roles {how}", "`ElementTree.fromstring` of the same text", limit, measure
    )


def test_matching(report: Report) -> None:
    tree = parse(hierarchy_xml(screen()))
    matcher = Matcher.from_fields({"resourceId": "android:id/title", "textContains": "wi\u2011fi 399", "role": "text"})
    button = Matcher.from_fields({"textContains": "größe", "role": "button"})
    assert [node.index for node in find_all(tree, button, on_screen_only=False)][:2] == [3, 8]
    assert find_first(tree, matcher) is None

    def measure() -> tuple[float, str]:
        miss, hits = medians(lambda: find_first(tree, matcher), lambda: find_all(tree, button))
        return max(miss, hits), f"first match {miss:.2f} ms, all {hits:.2f} ms"

    report.milliseconds("matcher over 2,000 nodes", 1.0, measure)


def test_first_match_of_a_new_tree(report: Report) -> None:
    """The columns and the on-screen flags are worked out once per tree: that must stay below reading it."""
    text = hierarchy_xml(screen()).encode()
    matcher = Matcher.from_fields({"textContains": "wi\u2011fi 399"})

    def measure() -> tuple[float, str]:
        reading, both = medians(lambda: parse(text), lambda: find_first(parse(text), matcher))
        return both / reading, f"{both:.1f} / {reading:.1f} ms"

    report.ratio("parse and first match of a new tree", "parse alone", 2.0, measure)
