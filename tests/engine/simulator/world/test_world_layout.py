"""Where views lie: columns, rows, stacks, weights, scrolling and clipping, in pixels."""

from __future__ import annotations

from clawperator.engine.hierarchy.nodes import Bounds
from clawperator.engine.simulator.apps.effects import do_nothing
from clawperator.engine.simulator.apps.layout import Node, Placing, place
from clawperator.engine.simulator.apps.view import ViewSpec, button, column, label, row, scroll_list, stack

SCREEN = Bounds(0, 0, 1000, 2000)


def nodes_of(view: ViewSpec, **how: object) -> list[Node]:
    offsets = how.get("offsets", {})
    assert isinstance(offsets, dict)
    return place(view, SCREEN, Placing("app.one", 2.0, offsets))


def boxes(view: ViewSpec, **how: object) -> list[Bounds]:
    """Of the root's children."""
    return [child.box for child in nodes_of(view, **how)[0].children]


def test_a_column_stacks_natural_heights_and_shares_the_rest() -> None:
    view = column(
        label("a"), column(label("b"), label("c"), gap=6, pad=4), ViewSpec(weight=1), ViewSpec(weight=3), gap=10
    )
    assert boxes(view) == [
        Bounds(0, 0, 1000, 48),
        Bounds(0, 68, 1000, 192),
        Bounds(0, 212, 1000, 654),
        Bounds(0, 674, 1000, 2000),
    ]


def test_a_row_gives_children_without_width_equal_shares_and_centres_across() -> None:
    view = row(ViewSpec(width=100, height=20), ViewSpec(), ViewSpec(), height=50, pad=5)
    assert boxes(view) == [Bounds(10, 980, 210, 1020), Bounds(210, 10, 600, 1990), Bounds(600, 10, 990, 1990)]


def test_a_stack_places_children_from_either_edge() -> None:
    view = stack(ViewSpec(), ViewSpec(width=50, height=50, at=(-8, -8)), ViewSpec(width=50, height=50, at=(8, 8)))
    assert boxes(view) == [SCREEN, Bounds(884, 1884, 984, 1984), Bounds(16, 16, 116, 116)]


def test_what_is_scrolled_away_is_clipped_to_its_viewport() -> None:
    rows = [button(f"r{number}", do_nothing, height=100) for number in range(20)]
    view = column(ViewSpec(height=100), scroll_list(*rows))
    still, moved = nodes_of(view), nodes_of(view, offsets={(1,): 250})
    assert (still[2].box, still[2].reach) == (Bounds(0, 200, 1000, 2000), 2200)
    assert [node.seen for node in still[3:5]] == [Bounds(0, 200, 1000, 400), Bounds(0, 400, 1000, 600)]
    assert still[12].seen == Bounds(0, 2000, 1000, 2000)
    assert still[12].seen.empty
    assert [node.seen for node in moved[3:6]] == [
        Bounds(0, 200, 1000, 200),
        Bounds(0, 200, 1000, 350),
        Bounds(0, 350, 1000, 550),
    ]
    assert moved[2].attributes["scrollable"] is True


def test_an_offset_beyond_the_end_is_the_end() -> None:
    view = column(scroll_list(ViewSpec(height=3000)))
    assert nodes_of(view, offsets={(0,): 10**9})[2].box.bottom == 2000


def test_a_list_that_fits_does_not_scroll() -> None:
    assert nodes_of(column(scroll_list(label("one"))))[1].attributes["scrollable"] is False


def test_document_order_indexes_and_ids() -> None:
    view = column(column(label("a", id="android:id/title"), id="inner"), label("b"))
    nodes = nodes_of(view)
    assert [(node.index, node.end, node.path) for node in nodes] == [
        (0, 4, ()),
        (1, 3, (0,)),
        (2, 3, (0, 0)),
        (3, 4, (1,)),
    ]
    assert [node.resource_id for node in nodes] == ["", "app.one:id/inner", "android:id/title", ""]
    assert nodes[0].walk() == nodes
