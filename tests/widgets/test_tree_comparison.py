"""Ghosts and marks of two trees."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.hierarchy.align import align
from clawperator.engine.hierarchy.serialise import RenderNode
from clawperator.engine.hierarchy.tree import UiTree, build
from clawperator.widgets.models.comparison import changed_attributes, changes_between, ghosts_of, turned_round
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.tree_rows import Layout, Rows, TreeView
from tests.app.console.support import view


def leaf(label: str = "", **more: object) -> RenderNode:
    return view("TextView", "[0,0][10,10]", text=label, **more)


def box(*children: RenderNode, **more: object) -> RenderNode:
    return view("FrameLayout", "[0,0][100,100]", *children, **more)


def drawn(old: UiTree, new: UiTree) -> list[str]:
    """The comparison as a person sees it: indent, sign, label."""
    ghosts = ghosts_of(old, new, align(old, new))
    rows = Rows(Layout(new, TreeView.ALL, before=old, ghosts=ghosts))
    return [f"{'  ' * row.level}{'−' if row.ghost else ''}{row.node.label or 'box'}" for row in rows]


def test_a_removed_node_stands_between_its_old_neighbours() -> None:
    old = build([box(leaf("a"), leaf("b"), leaf("c"))])
    new = build([box(leaf("a"), leaf("c"))])
    assert drawn(old, new) == ["box", "  a", "  −b", "  c"]


def test_removed_first_last_and_only_children() -> None:
    old = build([box(leaf("a"), box(leaf("b"), resource_id="inner"), leaf("c"))])
    new = build([box(box(resource_id="inner"))])
    assert drawn(old, new) == ["box", "  −a", "  box", "    −b", "  −c"]


def test_a_removed_subtree_is_shown_whole() -> None:
    old = build([box(leaf("a"), box(leaf("b"), box(leaf("c")), text="gone"))])
    new = build([box(leaf("a"))])
    assert drawn(old, new) == ["box", "  a", "  −gone", "    −b", "    −box", "      −c"]


def test_a_whole_window_that_went_stands_between_the_others() -> None:
    old = build([box(leaf("app")), view("Dialog", "[0,0][9,9]", leaf("sure?")), view("Bar", "[0,0][9,9]")])
    new = build([box(leaf("app")), view("Bar", "[0,0][9,9]")])
    assert drawn(old, new) == ["box", "  app", "−box", "  −sure?", "box"]


def test_attributes_that_differ_are_named_but_for_the_place() -> None:
    old, new = leaf("a", checked=True), view("TextView", "[5,5][20,20]", text="b", focused=True)
    before, after = build([old]).nodes[0], build([new]).nodes[0]
    assert changed_attributes(before, after) == {"text", "checked", "focused"}


@st.composite
def screens(draw: st.DrawFn) -> UiTree:
    def node(depth: int) -> RenderNode:
        children = [node(depth - 1) for _ in range(draw(st.integers(0, 3)))] if depth else []
        return box(*children, text=draw(st.sampled_from(["", "a", "b"])), checked=draw(st.booleans()))

    return build([node(3) for _ in range(draw(st.integers(1, 2)))])


@given(screens(), screens())
def test_every_removed_node_is_a_ghost_once_and_order_is_kept(old: UiTree, new: UiTree) -> None:
    changes = align(old, new)
    rows = Rows(Layout(new, TreeView.ALL, before=old, ghosts=ghosts_of(old, new, changes)))
    assert [row.node for row in rows if not row.ghost] == list(new.nodes)
    ghosts = [row.node.index for row in rows if row.ghost]
    assert sorted(ghosts) == [node.index for node in old.nodes if node.index not in changes.old_to_new]
    for row, above in zip(list(rows)[1:], rows, strict=False):
        assert row.level <= above.level + 1
    parents = rows.layout.parents
    for place, row in enumerate(rows):
        if row.ghost and row.node.parent is not None:
            holder = rows.layout.nodes[parents[place]]
            same = changes.old_to_new.get(row.node.parent.index)
            assert holder is (row.node.parent if same is None else new.nodes[same])


@given(screens(), screens())
def test_an_alignment_turned_round_is_that_of_the_way_back(old: UiTree, new: UiTree) -> None:
    there = align(old, new)
    back = turned_round(there, older=old, newer=new)
    assert back.old_to_new == there.new_to_old
    assert back.added == {node.index for node in old.nodes} - set(there.old_to_new)
    assert sum(back.removed.values()) == sum(
        1 for at in there.added if (parent := new.nodes[at].parent) is None or parent.index not in there.added
    )
    again = turned_round(back, older=new, newer=old)
    assert again == there


def test_what_was_compared_already_is_not_aligned_again() -> None:
    first, second = build([box(leaf("a"))]), build([box(leaf("b"))])
    changes = align(first, second)
    older = TreeSnapshot(serial=4, tree=first)
    newer = TreeSnapshot(serial=7, tree=second, since=4, changes=changes)
    assert changes_between(older, newer) is changes
    assert changes_between(newer, older).new_to_old is changes.old_to_new
    assert changes_between(older, TreeSnapshot(serial=8)) == changes_between(TreeSnapshot.EMPTY, older)
