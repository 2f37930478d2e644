"""Candidates for a node of a screen of 5,000 nodes, counted on five earlier screens as large.

*New* is a tree about which nothing was ever asked but what is on screen, which painting it needs.
Times are those of the processor: what else runs on the machine meanwhile does not count.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Sequence

import pytest

from clawperator.engine.hierarchy.selectors import Selectors
from clawperator.engine.hierarchy.serialise import RenderNode, hierarchy_xml, render_node
from clawperator.engine.hierarchy.tree import UiNode, UiTree, parse
from tests.benchmarks.conftest import Report

pytestmark = pytest.mark.benchmark

ROWS = 1_000
"""Of five nodes each."""
RECENT = 5
SAMPLE = 12


def screen() -> RenderNode:
    """A list as of mails: rows with an icon, a sender, a line of text of which every tenth says the same, and a switch."""
    rows = [
        render_node(
            {"class": "android.widget.LinearLayout", "clickable": True, "bounds": (0, at, 1080, at + 5)},
            [
                render_node({"class": "android.widget.ImageView", "bounds": (0, at, 90, at + 5)}),
                render_node({
                    "class": "android.widget.TextView", "text": f"Größe & Wi\u2011Fi {at}",
                    "resource-id": "android:id/title", "bounds": (90, at, 900, at + 2),
                }),
                render_node({
                    "class": "android.widget.TextView", "text": f"Summary number {at % 100}",
                    "resource-id": "android:id/summary", "bounds": (90, at, 900, at + 5),
                }),
                render_node({
                    "class": "android.widget.Switch", "content-desc": f"Toggle of {chr(0x4E00 + at)}", "clickable": True,
                    "resource-id": "android:id/switch", "bounds": (900, at, 1080, at + 5),
                }),
            ],
        )
        for at in range(ROWS)
    ]  # fmt: skip
    return render_node(
        {
            "class": "androidx.recyclerview.widget.RecyclerView",
            "resource-id": "a:id/list",
            "scrollable": True,
            "bounds": (0, 0, 1080, 2400),
        },
        rows,
    )


TEXT = hierarchy_xml(screen()).encode()


def painted() -> UiTree:
    tree = parse(TEXT)
    assert len(tree.on_screen_indexes) == 5 * ROWS + 1
    return tree


def forgotten(tree: UiTree) -> UiTree:
    """The same nodes as a tree of which nothing is known but what is on screen; much faster than reading it again."""
    for node in tree.nodes:
        node._role = None
    again = UiTree(list(tree.nodes))
    assert again.on_screen_indexes
    return again


def targets(tree: UiTree) -> Sequence[UiNode]:
    return [node for node in tree.nodes if node.clickable or node.label]


def milliseconds(selectors: Selectors, node: UiNode) -> float:
    began = time.process_time()
    selectors.suggest(node)
    return (time.process_time() - began) * 1_000


def of_sample(times: Sequence[float]) -> tuple[float, str]:
    return statistics.median(times), f"median of {len(times)} nodes, {min(times):.2f} to {max(times):.2f} ms"


def first_candidates(*, known: bool) -> Callable[[], tuple[float, str]]:
    """``known``: the same was asked about each earlier tree when it was the current one."""
    trees = [painted() for _ in range(1 + RECENT)]
    count = len(targets(trees[0]))

    def measure() -> tuple[float, str]:
        times = []
        for at in range(0, count, count // SAMPLE):
            now, *recent = map(forgotten, trees)
            node, selectors = targets(now)[at], Selectors(now, recent)
            for earlier in recent if known else ():
                Selectors(earlier).suggest(earlier.nodes[node.index])
            gc.collect()  # what reading six dumps left behind is not ours to pay for
            times.append(milliseconds(selectors, node))
        return of_sample(times)

    return measure


def test_candidates_of_a_new_tree(report: Report) -> None:
    report.milliseconds(
        "candidates on a new tree of 5,000 nodes and five known ones", 15.0, first_candidates(known=True)
    )


def test_candidates_when_nothing_is_known(report: Report) -> None:
    """Once, when the workbench is opened late: six indexes are made."""
    report.milliseconds("candidates on six new trees of 5,000 nodes", 40.0, first_candidates(known=False))


def test_candidates_of_the_next_node(report: Report) -> None:
    now, *recent = (painted() for _ in range(1 + RECENT))
    selectors = Selectors(now, recent)
    for node in targets(now)[:8]:
        selectors.suggest(node)

    def measure() -> tuple[float, str]:
        return of_sample([milliseconds(selectors, node) for node in targets(now)[8 :: 4 * ROWS // SAMPLE]])

    report.milliseconds("candidates of the next node on the same trees", 2.0, measure)


def test_a_matcher_for_every_node(report: Report) -> None:
    """What a view for agents does: 4,000 of the nodes can be acted on or read."""

    def measure() -> tuple[float, str]:
        tree = painted()
        began = time.process_time()
        selectors = Selectors(tree)
        found = sum(selectors.best(node) is not None for node in targets(tree))
        assert found == 3 * ROWS
        return (time.process_time() - began) * 1_000, f"{len(targets(tree))} nodes"

    report.milliseconds("a matcher for every node to act on or read, of 5,000", 1_000.0, measure)
