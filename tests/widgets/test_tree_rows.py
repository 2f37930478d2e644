from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.hierarchy.serialise import RenderNode
from clawperator.engine.hierarchy.traits import is_plain, is_target
from clawperator.engine.hierarchy.tree import UiNode, UiTree, build, parse
from clawperator.widgets.models.tree_rows import (
    Ghost,
    Layout,
    Rows,
    TreeView,
    VisibleRow,
)
from tests.app.console.support import settings_screen, view

SETTINGS = parse(settings_screen())


def shape(rows: Sequence[VisibleRow]) -> list[str]:
    return [
        f"{'  ' * row.level}{row.arrow[:1]}{'…' + str(row.chain) if row.chain else ''}{row.node.index}" for row in rows
    ]


def leaf(label: str = "", **more: object) -> RenderNode:
    return view("TextView", "[0,0][10,10]", text=label, **more)


def box(*children: RenderNode, **more: object) -> RenderNode:
    return view("FrameLayout", "[0,0][100,100]", *children, **more)


def test_all_shows_every_node_in_document_order() -> None:
    rows = Rows(Layout(SETTINGS, TreeView.ALL), ())
    assert [row.node.index for row in rows] == list(range(len(SETTINGS.nodes)))
    assert [row.level for row in rows] == [node.depth for node in SETTINGS.nodes]


def test_compact_folds_chains_of_plain_containers_into_what_they_contain() -> None:
    tree = build([box(box(box(leaf("a"), leaf("b"))))])
    assert shape(Rows(Layout(tree, TreeView.COMPACT), ())) == ["o…22", "  3", "  4"]


def test_a_container_that_says_something_ends_the_chain() -> None:
    for sign in ({"clickable": True}, {"text": "x"}, {"resource_id": "list"}, {"scrollable": True}):
        tree = build([box(box(box(leaf("a"), leaf("b")), **sign))])
        assert [row.node.index for row in Rows(Layout(tree, TreeView.COMPACT), ())] == [1, 2, 3, 4], sign


def test_folding_hides_a_subtree_and_counts_it() -> None:
    tree = build([box(box(leaf("a"), leaf("b")), leaf("c"))])
    rows = Rows(Layout(tree, TreeView.ALL), {1})
    assert shape(rows) == ["o0", "  c1", "  4"]
    assert rows[1].hidden == 2


def test_guides_tell_where_a_later_sibling_follows() -> None:
    tree = build([box(box(leaf("a")), leaf("b"))])
    rows = Rows(Layout(tree, TreeView.ALL), ())
    assert [row.guides for row in rows] == [0, 0, 0b10, 0], "below the first box its parent's level goes on"


def test_targets_shows_what_can_be_acted_on_or_read_indented_among_themselves() -> None:
    rows = Rows(Layout(SETTINGS, TreeView.TARGETS), ())
    assert [row.node.index for row in rows] == [node.index for node in SETTINGS.nodes if is_target(node)]
    wifi = next(row for row in rows if row.node.label == "Wi‑Fi")
    assert wifi.level == 2, "list, row, text"


def test_targets_can_be_folded_too() -> None:
    rows = Rows(Layout(SETTINGS, TreeView.TARGETS), ())
    first = next(row for row in rows if row.arrow == "open")
    fewer = Rows(Layout(SETTINGS, TreeView.TARGETS), {first.node.index})
    assert len(fewer) < len(rows)
    assert next(row for row in fewer if row.node is first.node).arrow == "closed"


def test_a_node_without_a_row_is_shown_by_what_it_is_folded_into() -> None:
    tree = build([box(box(box(leaf("a"), leaf("b"))))])
    rows = Rows(Layout(tree, TreeView.COMPACT), ())
    assert rows.of(tree.nodes[0]) == 0, "the chain is drawn as its end"
    assert rows.of(tree.nodes[4]) == 2
    folded = Rows(Layout(tree, TreeView.COMPACT), {2})
    assert folded.of(tree.nodes[4]) == 0


@st.composite
def trees(draw: st.DrawFn) -> UiTree:
    def node(depth: int) -> RenderNode:
        children = [node(depth - 1) for _ in range(draw(st.integers(0, 3)))] if depth else []
        return box(*children, text=draw(st.sampled_from(["", "a"])), clickable=draw(st.booleans()))

    return build([node(4)])


def plain_rows(tree: UiTree, shown: TreeView, folded: set[int]) -> list[tuple[int, int, int, str, int, int]]:
    """The rows by the rules as they are told, walked from the roots: node, level, chain, arrow, guides, hidden."""
    rows: list[tuple[int, int, int, str, int, int]] = []

    def walk(node: UiNode, level: int, guides: int, last: bool) -> None:
        chain = 0
        while shown is TreeView.COMPACT and len(node.children) == 1 and is_plain(node):
            node, chain = node.children[0], chain + 1
        closed = bool(node.children) and node.index in folded
        arrow = ("closed" if closed else "open") if node.children else ""
        rows.append((node.index, level, chain, arrow, guides, len(node.descendants) if closed else 0))
        for child in () if closed else node.children:
            walk(child, level + 1, guides if last else guides | 1 << level, child is node.children[-1])

    for root in tree.roots:
        walk(root, 0, 0, root is tree.roots[-1])
    return rows


@given(trees(), st.sets(st.integers(0, 60)), st.sampled_from([TreeView.ALL, TreeView.COMPACT]))
def test_rows_are_what_a_walk_from_the_roots_gives(tree: UiTree, folded: set[int], shown: TreeView) -> None:
    assert [(row.node.index, *row[1:6]) for row in Rows(Layout(tree, shown), folded)] == plain_rows(tree, shown, folded)


@given(trees(), st.sets(st.integers(0, 60)), st.sampled_from(TreeView))
def test_every_node_is_shown_by_exactly_one_existing_row(tree: UiTree, folded: set[int], shown: TreeView) -> None:
    rows = Rows(Layout(tree, shown), folded)
    indexes = [row.node.index for row in rows]
    assert indexes == sorted(set(indexes)), "document order, no node twice"
    if rows:
        assert all(0 <= rows.of(node) < len(rows) for node in tree.nodes)
    if shown is TreeView.ALL:
        assert len(rows) + sum(row.hidden for row in rows) == len(tree.nodes)


@given(trees(), st.sets(st.integers(0, 60)), st.sets(st.integers(0, 200)), st.sampled_from(TreeView))
def test_a_place_is_shown_by_itself_or_by_the_fold_above_it(
    tree: UiTree, folded: set[int], only: set[int], shown: TreeView
) -> None:
    layout = Layout(tree, shown, only=only)
    rows = Rows(layout, folded)
    for place in range(len(layout)):
        index = rows.place(place)
        seen = rows.row(index)
        assert seen == place or (rows[index].arrow == "closed" and seen < place < layout.behind[seen])
    assert all(
        layout.nodes[parent].end > layout.nodes[row].index for row, parent in enumerate(layout.parents) if parent >= 0
    )


def test_only_some_nodes_can_have_rows_indented_among_themselves() -> None:
    titles = {node.index for node in SETTINGS.nodes if node.label in {"Wi‑Fi", "Apps"}}
    rows = Rows(Layout(SETTINGS, TreeView.ALL, only=titles))
    assert [(row.node.label, row.level, row.chain) for row in rows] == [("Wi‑Fi", 0, 0), ("Apps", 0, 0)]
    listed = titles | {node.index for node in SETTINGS.nodes if node.scrollable}
    rows = Rows(Layout(SETTINGS, TreeView.ALL, only=listed), {min(listed)})
    assert [(row.arrow, row.level) for row in rows] == [("closed", 0)], "and can be folded among themselves"


def test_what_stands_for_a_node_without_a_row_is_inside_it_else_around_it() -> None:
    tree = build([box(box(leaf("a"), leaf()), box(leaf(), leaf()), clickable=True)])
    rows = Rows(Layout(tree, TreeView.TARGETS))
    assert [row.node.index for row in rows] == [0, 2]
    assert rows.of(tree.nodes[1]) == 1, "the first target inside"
    assert rows.of(tree.nodes[3]) == 0, "not the one before it: the one around it"
    assert rows.of(tree.nodes[4]) == 0


def test_ghosts_stand_at_their_place_and_are_never_folded() -> None:
    tree = build([box(box(leaf("a")), box(leaf("b")))])
    gone = build([box(leaf("x"))])
    layout = Layout(tree, TreeView.ALL, before=gone, ghosts={3: [Ghost(gone.nodes[0], 1), Ghost(gone.nodes[1], 2)]})
    rows = Rows(layout, {0, 3})
    assert len(rows) == 1, "a fold takes them along"
    rows = Rows(layout)
    drawn = [(row.node.label, row.level, row.ghost, row.arrow, row.guides) for row in rows]
    assert drawn == [
        ("", 0, False, "open", 0),
        ("", 1, False, "open", 0),
        ("a", 2, False, "", 0b10),
        ("", 1, True, "", 0),
        ("x", 2, True, "", 0b10),
        ("", 1, False, "open", 0),
        ("b", 2, False, "", 0),
    ]
    assert layout.ghost_roots == [3]
    assert layout.shown == 5
    assert [rows.of(node) for node in tree.nodes] == [0, 1, 2, 5, 6]


def test_ghosts_behind_the_last_node() -> None:
    tree, gone = build([box(leaf("a"))]), build([leaf("x")])
    rows = Rows(Layout(tree, TreeView.ALL, before=gone, ghosts={2: [Ghost(gone.nodes[0], 1)]}))
    assert [(row.node.label, row.level, row.ghost) for row in rows] == [("", 0, False), ("a", 1, False), ("x", 1, True)]


def test_folding_ten_thousand_nodes_walks_none_of_them() -> None:
    tree = build([box(*(box(*(leaf(str(n)) for n in range(9))) for _ in range(1000)))])
    layout = Layout(tree, TreeView.ALL)

    class Counting(list[UiNode]):
        reads = 0

        def __getitem__(self, index: object) -> Any:
            Counting.reads += 1
            return super().__getitem__(index)  # type: ignore[call-overload]

    layout.nodes = Counting(layout.nodes)
    rows = Rows(layout, {1, 21, 41})
    assert len(rows) == 10_001 - 3 * 9
    assert Counting.reads == 0
    assert rows[500].node is layout.nodes[rows.row(500)]
