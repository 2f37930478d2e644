"""Unified diffs of lines, and the diff of two views: what it makes of the view before is the view after, in every line."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clawperator.engine.contracts.references import tree_id
from clawperator.engine.errors import EngineError
from clawperator.engine.hierarchy.line_diff import line_diff
from clawperator.engine.hierarchy.nodes import Bounds
from clawperator.engine.hierarchy.serialise import RenderNode, nodes_xml
from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.hierarchy.views import MIN_BYTES, Budget, changes, view
from tests.support import examples, table
from tests.view_diffs import patched
from tests.view_lines import lines_of

DATA = Path(__file__).parents[2] / "data" / "hierarchies"
LINES = st.lists(st.sampled_from(["", "a", "b", " a", "@@ -1 +1 @@", "-a", "+a"]), max_size=12)


def size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


class TestLines:
    @given(LINES, LINES)
    def test_it_makes_the_new_lines_of_the_old_ones(self, old: list[str], new: list[str]) -> None:
        hunks = [*line_diff(old, new)]
        assert patched(old, hunks) == new
        assert (not hunks) is (old == new)

    @table(
        ("old", "new", "hunks"),
        [
            ("abc", "aBc", ["@@ -2 +2 @@", "-b", "+B"]),
            ("abc", "abxyc", ["@@ -2,0 +3,2 @@", "+x", "+y"]),
            ("abc", "c", ["@@ -1,2 +0,0 @@", "-a", "-b"]),
            ("", "ab", ["@@ -0,0 +1,2 @@", "+a", "+b"]),
            ("aab", "aaab", ["@@ -2,0 +3 @@", "+a"]),
            ("abcd", "bcda", ["@@ -1 +0,0 @@", "-a", "@@ -4,0 +4 @@", "+a"]),
        ],
    )
    def test_hunks_are_those_of_diff_u0(self, old: str, new: str, hunks: list[str]) -> None:
        assert [*line_diff([*old], [*new])] == hunks

    def test_many_lines_take_bounded_time(self) -> None:
        old = [str(n * n % 97) for n in range(20_000)]
        new = [old[0], *reversed(old[1:-1]), old[-1]]
        assert patched(old, [*line_diff(old, new)]) == new
        assert [*line_diff(old, [*old[:9], "x", *old[10:]])] == ["@@ -10 +10 @@", f"-{old[9]}", "+x"]


def check(before: str, after: str, limit: int | None = None) -> str:
    """Compare what a caller has after the answer with the compact view; return the answer's view."""
    old, new = parse(before, recover=True), parse(after, recover=True)
    budget = Budget(limit, size) if limit is not None else None
    answer = changes(old, new, before, after, budget)
    whole = view(new, "compact", after)
    if answer["view"] == "compact":
        assert answer == view(new, "compact", after, budget)
        return "compact"
    assert size(answer) <= min(size(whole), limit or size(whole))
    assert answer.pop("from") == tree_id(before)
    answer["lines"] = "\n".join(patched(lines_of(view(old, "compact", before)), lines_of(answer)))
    assert {**answer, "view": "compact"} == whole
    return "diff"


def moved(xml: str, dx: int, dy: int) -> str:
    """``xml`` scrolled: all rectangles but the first shifted."""
    found = iter(range(1_000_000))

    def shift(match: re.Match[str]) -> str:
        if not next(found):
            return match[0]
        left, top, right, bottom = map(int, match.groups())
        return f'bounds="{Bounds(left + dx, top + dy, right + dx, bottom + dy)}"'

    return re.sub(r'bounds="\[(-?\d+),(-?\d+)\]\[(-?\d+),(-?\d+)\]"', shift, xml)


def turned(xml: str) -> str:
    return re.sub(r'bounds="\[(-?\d+),(-?\d+)\]\[(-?\d+),(-?\d+)\]"', r'bounds="[\2,\1][\4,\3]"', xml)


def page(inside: str) -> str:
    return f'<hierarchy><node bounds="[0,0][100,500]">{inside}</node></hierarchy>'


def readable(folder: Path) -> list[str]:
    found = []
    for path in sorted(folder.glob("*.xml")):
        xml = path.read_bytes().decode("utf-8", "replace")
        try:
            parse(xml, recover=True)
        except EngineError:
            continue
        found.append(xml)
    return found


def check_all(dumps: list[str]) -> None:
    views = [check(a, b) for a, b in pairwise(dumps)]
    views += [check(b, a) for a, b in pairwise(dumps)]
    for xml in dumps:
        views += [check(xml, moved(xml, *by)) for by in ((0, -180), (0, 240), (-1000, 0), (0, 0))]
        views += [check(xml, turned(xml)), check(turned(xml), xml)]
        small = re.sub(r'checked="false"', 'checked="true"', xml, count=1)
        views.append(check(xml, small))
        rows = re.findall(r"<node[^>]*/>", xml)
        if rows:
            views += [check(xml, xml.replace(rows[len(rows) // 2], "", 1)), check(xml.replace(rows[-1], "", 1), xml)]
    assert {*views} == {"compact", "diff"}


class TestViews:
    def test_pairs_scrolls_and_toggles_of_real_dumps(self) -> None:
        check_all(readable(DATA))

    @pytest.mark.ci
    def test_the_corpus(self, corpus: Path) -> None:
        dumps = readable(corpus / "hierarchies")
        check_all([xml for xml in dumps if len(xml) < 400_000])

    @given(st.data())
    @settings(max_examples=examples(400))
    def test_any_change_of_any_tree(self, data: st.DataObject) -> None:
        before = data.draw(FORESTS)
        after = data.draw(st.one_of(FORESTS, mutated(before)))
        limit = data.draw(st.none() | st.integers(MIN_BYTES, 3_000))
        check(nodes_xml(before, extras=True), nodes_xml(after, extras=True), limit)

    def test_what_scrolls_with_its_parent_has_its_new_place_and_reference(self) -> None:
        """The rows of a list that moved as a whole, under a new one."""
        row = '<node class="Button" text="r{0}" clickable="true" bounds="[0,{1}][100,{2}]"/>'

        def scrolled(first: int, top: int) -> str:
            rows = (row.format(first + n, top + 100 * n, top + 100 * n + 100) for n in range(6))
            return page(f'<node bounds="[0,{top}][100,{top + 600}]">{"".join(rows)}</node>')

        before, after = scrolled(1, 0), scrolled(0, -50)
        assert check(before, after) == "compact", "each line is another one"
        assert lines_of(view(parse(after), "compact", after))[1] == "button e3 @50,100: r1"

    def test_a_diff_beyond_the_budget_is_no_half_of_a_diff(self) -> None:
        row = "<node class='Button' clickable='true' text='{}' bounds='[0,0][9,9]'/>"
        rows = [row.format(f"row {n}") for n in range(60)]
        before = page("".join(rows))
        after = page("".join(row.format(f"row {n} of another day") if n < 20 else rows[n] for n in range(60)))
        assert check(before, after) == "diff"
        assert check(before, after, 900) == "compact"
        answer = changes(parse(before), parse(after), before, after, Budget(900, size))
        assert (answer["truncated"]["total"], "from" in answer) == (60, False)


TEXTS = st.sampled_from(["", "a", "a", "b", "Like", "- x", "@@ -1 +1 @@", "two\nlines"])
BOUNDS = st.builds(
    lambda x, y, width, height: f"[{x},{y}][{x + width},{y + height}]",
    st.integers(-90, 190), st.integers(-90, 390), st.integers(0, 90), st.integers(0, 90),
)  # fmt: skip
LEAVES = st.builds(
    lambda text, name, click, checkable, bounds, visible: RenderNode(
        {"class": "Button", "text": text, "resource-id": name, "clickable": click, "checkable": checkable}
        | ({"bounds": bounds} if bounds else {})
        | ({"visible-to-user": "false"} if not visible else {}),
        (),
    ),
    TEXTS, st.sampled_from(["", "a:id/x"]), st.sampled_from(["true", "false"]), st.sampled_from(["true", "false"]),
    st.none() | BOUNDS, st.sampled_from([True, True, True, False]),
)  # fmt: skip
TREES = st.recursive(
    LEAVES, lambda inner: st.builds(lambda a, b: a._replace(children=tuple(b)), LEAVES, st.lists(inner, max_size=5)),
    max_leaves=30,
)  # fmt: skip
ROOT = RenderNode({"class": "FrameLayout", "bounds": "[0,0][200,400]"}, ())
FORESTS = st.lists(TREES, max_size=3).map(lambda inner: [ROOT._replace(children=tuple(inner))])


@st.composite
def mutated(draw: st.DrawFn, forest: list[RenderNode]) -> list[RenderNode]:
    """The forest with single nodes removed, doubled, replaced, moved to another place, turned or shifted."""

    def change(node: RenderNode) -> RenderNode:
        children = [change(child) for child in node.children if isinstance(child, RenderNode)]
        for _ in range(draw(st.sampled_from([0, 0, 0, 1, 2]))):
            at = draw(st.integers(0, len(children)))
            match draw(st.sampled_from(["add", "remove", "double", "reverse", "text", "bounds"])):
                case "add":
                    children.insert(at, draw(LEAVES))
                case "remove":
                    children[at : at + 1] = []
                case "double":
                    children[at:at] = children[at : at + 1]
                case "reverse":
                    children.reverse()
                case name:
                    drawn = draw(TEXTS if name == "text" else BOUNDS)
                    children[at : at + 1] = [
                        child._replace(attributes={**child.attributes, name: drawn}) for child in children[at : at + 1]
                    ]
        return node._replace(children=tuple(children))

    return [change(root) for root in forest]


@pytest.mark.parametrize("xml", ['<node text="a" bounds="[0,0][9,9]"/></hierarchy>', '<node text="a"><node text="b"'])
def test_an_empty_tree_and_a_damaged_one(xml: str) -> None:
    full, empty = f"<hierarchy>{xml}", '<hierarchy rotation="0" />'
    assert [check(empty, full), check(full, empty)] == ["compact", "compact"]
