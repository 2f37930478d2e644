from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.follow.saved_dumps import read_dump
from clawperator.engine.hierarchy.align import Heirs, align
from clawperator.engine.hierarchy.diff import KINDS, compare
from clawperator.engine.hierarchy.serialise import RenderNode
from clawperator.engine.hierarchy.tree import UiTree, build, parse
from tests.app.console.support import ROWS, settings_screen, view

DUMPS = Path(__file__).parents[2] / "data" / "hierarchies"


def labelled(tree: UiTree, label: str) -> int:
    return next(node.index for node in tree.nodes if node.label == label)


def texts(*labels: str, start: int = 0) -> UiTree:
    rows = [
        view("TextView", f"[0,{start + 100 * n}][90,{start + 100 * n + 90}]", text=label)
        for n, label in enumerate(labels)
    ]
    return build([view("ListView", "[0,0][100,2000]", *rows)])


def test_the_same_tree_has_no_changes() -> None:
    old, new = parse(settings_screen()), parse(settings_screen())
    alignment = align(old, new)
    assert not alignment
    assert alignment.old_to_new == {index: index for index in range(len(old.nodes))}


def test_a_changed_text_is_one_change_on_the_same_node() -> None:
    old, new = texts("a", "b", "c"), texts("a", "B!", "c")
    alignment = align(old, new)
    assert alignment.changed == {2}
    assert alignment.old_to_new[2] == 2
    assert not alignment.added
    assert not alignment.removed


def test_a_new_row_is_added_and_those_behind_it_move() -> None:
    old, new = texts("a", "b"), texts("a", "new", "b")
    alignment = align(old, new)
    assert alignment.added == {2}
    assert alignment.moved == {3}
    assert alignment.old_to_new[2] == 3, "b is still b"


def test_a_removed_row_is_counted_on_its_parent() -> None:
    alignment = align(texts("a", "b", "c"), texts("a", "c"))
    assert alignment.removed == {0: 1}
    assert 2 not in alignment.old_to_new


def test_a_removed_subtree_counts_once() -> None:
    old = parse(settings_screen(ROWS[:3]))
    new = parse(settings_screen(ROWS[:2]))
    alignment = align(old, new)
    parent = next(node.index for node in new.nodes if node.scrollable)
    assert alignment.removed == {parent: 1}


def test_a_scrolled_list_keeps_its_rows_although_none_has_a_label_of_its_own() -> None:
    old, new = parse(settings_screen(ROWS[:6])), parse(settings_screen(ROWS[2:8]))
    alignment = align(old, new)
    for title in ("Bluetooth", "Apps", "Notifications", "Battery"):
        assert alignment.old_to_new[labelled(old, title)] == labelled(new, title)
    assert labelled(new, "Storage") in alignment.added
    row = new.nodes[labelled(new, "Apps")].parent
    assert row is not None
    assert row.parent is not None
    assert alignment.mark(row.parent.index) == "moved"
    assert alignment.mark(labelled(new, "Apps")) == "", "what moves with its parent is not marked again"


def test_trees_without_anything_in_common() -> None:
    alignment = align(texts("a"), build([view("Button", "[0,0][1,1]", text="z")]))
    assert alignment.old_to_new == {}
    assert alignment.added == {0}
    assert alignment.removed == {-1: 1}


def test_very_long_lists_are_paired_without_a_table() -> None:
    names = [f"row {n}" for n in range(400)]
    alignment = align(texts(*names), texts("first", *names[:-1]))
    assert alignment.old_to_new[1] == 2
    assert alignment.added == {1}


LABELS = st.lists(st.sampled_from("abcdef"), max_size=12)


@given(LABELS, LABELS)
def test_pairs_are_one_to_one_and_nothing_is_forgotten(before: list[str], after: list[str]) -> None:
    old, new = texts(*before), texts(*after)
    alignment = align(old, new)
    assert {v: k for k, v in alignment.old_to_new.items()} == alignment.new_to_old
    assert len(alignment.new_to_old) + len(alignment.added) == len(new.nodes)
    assert len(alignment.old_to_new) + sum(alignment.removed.values()) == len(old.nodes)
    for one, other in alignment.old_to_new.items():
        assert old.nodes[one].cls == new.nodes[other].cls


def box(*children: RenderNode, bounds: str = "[0,0][100,2000]", **attributes: object) -> UiTree:
    return build([view("ListView", bounds, *children, **attributes)])


def reported(old: UiTree, new: UiTree) -> list[dict[str, object]]:
    return [change.to_dict() for change in compare(old, new)]


class TestCompare:
    def test_the_same_tree_has_no_difference(self) -> None:
        assert compare(parse(settings_screen()), parse(settings_screen())) == []

    def test_a_changed_attribute_is_reported_with_both_values(self) -> None:
        assert reported(texts("a", "b"), texts("a", "c")) == [
            {"kind": "changed", "path": "0/1", "name": 'TextView "c"', "attributes": {"text": ["b", "c"]}}
        ]

    def test_every_attribute_counts_but_the_index(self) -> None:
        old, new = box(), box(focusable=True, hint="h")
        new.nodes[0].attributes |= {"index": "7", "hint": "h"}
        assert reported(old, new) == [
            {
                "kind": "changed",
                "path": "0",
                "name": "ListView",
                "attributes": {"focusable": ["false", "true"], "hint": [None, "h"]},
            }
        ]

    def test_a_subtree_comes_and_goes_as_one(self) -> None:
        old, new = parse(settings_screen(ROWS[:3])), parse(settings_screen(ROWS[:2]))
        (gone,), (came,) = compare(old, new), compare(new, old)
        assert (gone.kind, came.kind, gone.name, gone.node.path) == ("removed", "added", came.name, came.node.path)
        assert gone.to_dict()["nodes"] == len(old.nodes) - len(new.nodes)
        assert f'"{ROWS[2][0]}"' in gone.name, "a row without a label is called by the first one inside"

    def test_document_order_with_removed_nodes_where_they_were(self) -> None:
        changes = compare(texts("a", "b", "c", "d"), texts("x", "a", "c", "y"))
        assert [(change.kind, change.node.label) for change in changes if change.kind != "moved"] == [
            ("added", "x"),
            ("removed", "b"),
            ("changed", "y"),
        ]

    def test_what_moves_with_its_parent_is_not_reported_again(self) -> None:
        old, new = parse(settings_screen(ROWS[:6])), parse(settings_screen(ROWS[2:8]))
        moved = [change for change in compare(old, new) if change.kind == "moved"]
        assert len(moved) == 4
        assert all([*change.attributes] == ["bounds"] for change in moved)
        assert all("oldPath" in change.to_dict() for change in moved)

    def test_growing_is_reported_but_not_with_the_parent(self) -> None:
        def tree(width: int, height: int) -> UiTree:
            inner = view("View", f"[0,0][{width},{height}]")
            return box(inner, bounds=f"[0,0][{width},100]")

        assert [change.node.path for change in compare(tree(50, 50), tree(80, 50))] == ["0"]
        assert [change.node.path for change in compare(tree(50, 50), tree(50, 60))] == ["0/0"]

    def test_names_are_short_and_never_empty(self) -> None:
        leaves = [view("TextView", "[0,0][9,9]", text="x" * 100), view("View", "[0,0][9,9]", resource_id="a:id/here")]
        added = compare(build([]), box(*leaves, view("View", "[0,0][9,9]")))
        assert [change.name for change in added] == [f'ListView "{"x" * 39}…"']
        names = [change.name for change in compare(box(), box(*leaves, view("View", "[0,0][9,9]")))]
        assert names == [f'TextView "{"x" * 39}…"', "View #here", "View"]

    def test_nothing_in_common(self) -> None:
        kinds = [change.kind for change in compare(texts("a"), build([view("Button", "[0,0][1,1]", text="z")]))]
        assert kinds == ["removed", "added"]

    def test_neighbours_in_the_corpus(self, corpus: Path) -> None:
        dumps = [read_dump(str(path)).tree for path in sorted((corpus / "hierarchies").glob("*.xml"))]
        trees = [tree for tree in dumps if tree is not None]
        assert len(trees) > 50
        for old, new in pairwise(trees):
            check_difference(old, new)


@given(LABELS, LABELS)
def test_a_difference_tells_everything_and_nothing_twice(before: list[str], after: list[str]) -> None:
    check_difference(texts(*before), texts(*after, start=50))


def check_difference(old: UiTree, new: UiTree) -> None:
    changes, alignment = compare(old, new), align(old, new)
    came = sum(change.node.end - change.node.index for change in changes if change.kind == "added")
    went = sum(change.node.end - change.node.index for change in changes if change.kind == "removed")
    assert (came, went) == (len(new.nodes) - len(alignment.new_to_old), len(old.nodes) - len(alignment.old_to_new))
    reported = {change.new.index for change in changes if change.new is not None}
    assert len(reported) == sum(change.new is not None for change in changes)
    assert alignment.changed | alignment.moved <= reported
    for change in changes:
        assert change.kind in KINDS
        assert change.name
        assert (change.kind == "moved") == ([*change.attributes] == ["bounds"])
        assert bool(change.attributes) == (change.old is not None and change.new is not None)
    places = [change.new.index for change in changes if change.new is not None]
    assert places == sorted(places)
    gone = [change.old.index for change in changes if change.new is None and change.old is not None]
    assert gone == sorted(gone)


@pytest.mark.parametrize(
    "name", ["nora-chat-chat.xml", "simple-calendar-month.xml", "huawei-launcher-zh-sorted-attributes.xml"]
)
def test_heirs_are_those_that_the_whole_alignment_pairs(name: str) -> None:
    """Asked one by one, with some nodes gone, some new and a label changed."""
    text = (DUMPS / name).read_text(encoding="utf-8")
    leaves = re.findall(r"<node [^<>]*/>", text)
    later = text.replace(leaves[1], "").replace(leaves[-1], leaves[-1] + leaves[-1])
    old, new = parse(text, recover=True), parse(later, recover=True)
    whole = align(old, new).old_to_new
    never_aligned = Heirs(parse(text, recover=True), parse(later, recover=True))
    for heirs in (never_aligned, Heirs(old, new)):
        for node in old.nodes:
            heir = heirs.of(node)
            assert whole.get(node.index) == (None if heir is None else heir.index)
