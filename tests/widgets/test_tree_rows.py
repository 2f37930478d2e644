from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.hierarchy.serialise import RenderNode
from clawperator.engine.hierarchy.tree import UiTree, build, parse
from clawperator.widgets.models.tree_rows import TreeRow, View, build_rows, crowded, is_target, row_of
from tests.app.console.support import settings_screen, view

SETTINGS = parse(settings_screen())


def shape(rows: list[TreeRow]) -> list[str]:
    return [
        f"{'  ' * row.level}{row.arrow[:1]}{'…' + str(row.chain) if row.chain else ''}{row.node.index}" for row in rows
    ]


def leaf(label: str = "", **more: object) -> RenderNode:
    return view("TextView", "[0,0][10,10]", text=label, **more)


def box(*children: RenderNode, **more: object) -> RenderNode:
    return view("FrameLayout", "[0,0][100,100]", *children, **more)


def test_all_shows_every_node_in_document_order() -> None:
    rows = build_rows(SETTINGS, View.ALL, ())
    assert [row.node.index for row in rows] == list(range(len(SETTINGS.nodes)))
    assert [row.level for row in rows] == [node.depth for node in SETTINGS.nodes]


def test_compact_folds_chains_of_plain_containers_into_what_they_contain() -> None:
    tree = build([box(box(box(leaf("a"), leaf("b"))))])
    assert shape(build_rows(tree, View.COMPACT, ())) == ["o…22", "  3", "  4"]


def test_a_container_that_says_something_ends_the_chain() -> None:
    for sign in ({"clickable": True}, {"text": "x"}, {"resource_id": "list"}, {"scrollable": True}):
        tree = build([box(box(box(leaf("a"), leaf("b")), **sign))])
        assert [row.node.index for row in build_rows(tree, View.COMPACT, ())] == [1, 2, 3, 4], sign


def test_folding_hides_a_subtree_and_counts_it() -> None:
    tree = build([box(box(leaf("a"), leaf("b")), leaf("c"))])
    rows = build_rows(tree, View.ALL, {1})
    assert shape(rows) == ["o0", "  c1", "  4"]
    assert rows[1].hidden == 2


def test_guides_tell_where_a_later_sibling_follows() -> None:
    tree = build([box(box(leaf("a")), leaf("b"))])
    rows = build_rows(tree, View.ALL, ())
    assert [row.guides for row in rows] == [0, 0, 0b10, 0], "below the first box its parent's level goes on"


def test_targets_shows_what_can_be_acted_on_or_read_indented_among_themselves() -> None:
    rows = build_rows(SETTINGS, View.TARGETS, ())
    assert [row.node.index for row in rows] == [node.index for node in SETTINGS.nodes if is_target(node)]
    wifi = next(row for row in rows if row.node.label == "Wi‑Fi")
    assert wifi.level == 2, "list, row, text"


def test_targets_can_be_folded_too() -> None:
    rows = build_rows(SETTINGS, View.TARGETS, ())
    first = next(row for row in rows if row.arrow == "open")
    fewer = build_rows(SETTINGS, View.TARGETS, {first.node.index})
    assert len(fewer) < len(rows)
    assert next(row for row in fewer if row.node is first.node).arrow == "closed"


def test_a_node_without_a_row_is_shown_by_what_it_is_folded_into() -> None:
    tree = build([box(box(box(leaf("a"), leaf("b"))))])
    rows = build_rows(tree, View.COMPACT, ())
    assert row_of(rows, tree.nodes[0]) == 0, "the chain is drawn as its end"
    assert row_of(rows, tree.nodes[4]) == 2
    folded = build_rows(tree, View.COMPACT, {2})
    assert row_of(folded, tree.nodes[4]) == 0


def test_crowded_parents_open_folded() -> None:
    tree = build([box(box(*(leaf(str(n)) for n in range(41))), box(leaf("x")))])
    assert crowded(tree) == {1}


@st.composite
def trees(draw: st.DrawFn) -> UiTree:
    def node(depth: int) -> RenderNode:
        children = [node(depth - 1) for _ in range(draw(st.integers(0, 3)))] if depth else []
        return box(*children, text=draw(st.sampled_from(["", "a"])), clickable=draw(st.booleans()))

    return build([node(4)])


@given(trees(), st.sets(st.integers(0, 60)), st.sampled_from(View))
def test_every_node_is_shown_by_exactly_one_existing_row(tree: UiTree, folded: set[int], shown: View) -> None:
    rows = build_rows(tree, shown, folded)
    indexes = [row.node.index for row in rows]
    assert indexes == sorted(set(indexes)), "document order, no node twice"
    if rows:
        assert all(0 <= row_of(rows, node) < len(rows) for node in tree.nodes)
    if shown is View.ALL:
        assert len(rows) + sum(row.hidden for row in rows) == len(tree.nodes)
