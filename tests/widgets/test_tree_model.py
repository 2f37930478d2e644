"""Captured screens as rows: whatever the view, the filter, the find and the width, nothing is lost and nothing overflows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from clawperator.engine.hierarchy.tree import UiTree, build, parse
from clawperator.widgets.format.nodes import tree_row
from clawperator.widgets.models.find import FILTERS
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.tree_model import TreeModel
from clawperator.widgets.models.tree_rows import TreeView
from tests.app.console.support import view

LARGE = 2_000
"""Trees with more nodes are drawn in samples: what is tested does not depend on size."""

WIDTH = 120


@pytest.fixture(scope="module")
def screens(corpus: Path) -> dict[str, UiTree]:
    files = sorted((corpus / "hierarchies").glob("*.xml"))
    return {file.name: parse(file.read_bytes(), recover=True) for file in files if "doctype" not in file.name}


def shapes(model: TreeModel) -> Iterator[str]:
    """Puts the model through everything that changes which rows there are."""
    for tree_view in TreeView:
        model.view = tree_view
        model.lay_out()
        yield tree_view.value
    model.view = TreeView.COMPACT
    for name in FILTERS:
        model.set_filters(frozenset({name}))
        yield f"@{name}"
    model.set_filters(frozenset())
    for text in ("e", "role:text", "#id"):
        model.search(text)
        yield text
        model.toggle_hide()
        yield f"only {text}"
        model.search("")


def test_every_captured_screen_fits_its_pane_in_every_shape(screens: dict[str, UiTree]) -> None:
    for name, tree in screens.items():
        model = TreeModel()
        model.take(TreeSnapshot(serial=1, tree=tree))
        for shape in shapes(model):
            rows = model.rows
            assert rows.layout.shown + model.hidden <= len(tree.nodes), (name, shape)
            for index in range(0, len(rows), 1 if len(tree.nodes) < LARGE else 97):
                row = rows[index]
                drawn = tree_row(row, model.state(row, at_cursor=index == 0), WIDTH)
                used = drawn.left.cells + (drawn.right.cells + 1 if drawn.right else 0)
                assert used <= WIDTH, (name, shape, drawn.left)


def test_comparing_any_captured_screens_loses_no_node_of_either(screens: dict[str, UiTree]) -> None:
    small = [tree for tree in screens.values() if 0 < len(tree.nodes) < 150]
    for number, (old, new) in enumerate(pairwise(small)):
        model = TreeModel()
        model.view = TreeView.ALL
        model.take(TreeSnapshot(serial=2, tree=new))
        model.compare(TreeSnapshot(serial=1, tree=old))
        layout = model.rows.layout
        ghosts = {layout.nodes[at].index for at in range(len(layout)) if layout.is_ghost(at)}
        assert layout.shown == len(new.nodes), number
        assert ghosts == {node.index for node in old.nodes} - model.changes.old_to_new.keys(), number


def test_a_long_list_opens() -> None:
    rows = [view("TextView", f"[0,{n}][9,{n + 1}]", text=str(n)) for n in range(60)]
    model = TreeModel()
    model.take(TreeSnapshot(serial=1, tree=build([view("ListView", "[0,0][9,60]", *rows)])))
    assert len(model.rows) == 61
