"""Nodes as lines: breadcrumbs, rows, facts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.hierarchy.serialise import RenderNode
from clawperator.engine.hierarchy.tree import UiNode, build, parse
from clawperator.widgets.format.lines import Row
from clawperator.widgets.format.nodes import breadcrumb, breadcrumb_hit, node_facts, tree_row
from clawperator.widgets.format.symbols import ASCII, UNICODE, Symbols
from clawperator.widgets.models.tree_model import RowState
from clawperator.widgets.models.tree_rows import VisibleRow
from tests.app.console.support import hostile_screen, settings_screen, view
from tests.support import table

SETTINGS = parse(settings_screen())
HOSTILE = parse(hostile_screen())


def deep(tree_label: str = "Wi‑Fi") -> UiNode:
    return next(node for node in SETTINGS.nodes if node.label == tree_label)


def fact(node: UiNode, name: str, *, derived: bool = True, density: int = 0) -> str:
    facts = node_facts(node, on_screen=True, density=density)
    return next(item.value for item in facts if (item.name, item.derived) == (name, derived))


# -- breadcrumb


@given(st.sampled_from([*SETTINGS.nodes, *HOSTILE.nodes]), st.integers(8, 160), st.sampled_from([UNICODE, ASCII]))
def test_every_name_in_a_breadcrumb_can_be_hit_where_it_is_drawn(node: UiNode, width: int, symbols: Symbols) -> None:
    line = breadcrumb(node, width, symbols)
    found = [breadcrumb_hit(node, width, x, symbols) for x in range(line.cells)]
    way = [node, *node.ancestors]
    seen = [at for at in dict.fromkeys(found) if at is not None]
    assert seen == way[: len(seen)][::-1], "from far to near, without a gap"
    assert seen[-1] is node
    assert breadcrumb_hit(node, width, line.cells, symbols) is None
    assert line.cells <= width or len(seen) <= 2, "only the node's own name may be too long"


def test_a_click_on_the_cut_end_of_a_breadcrumb_goes_further_up() -> None:
    node = deep()
    line = breadcrumb(node, 40)
    assert line.plain.startswith(" … ⟩ ")
    first = next(at for x in range(6, 40) if (at := breadcrumb_hit(node, 40, x)) is not None)
    assert breadcrumb_hit(node, 40, 1) is first.parent
    assert breadcrumb_hit(node, 40, 3) is None, "a joint"
    assert breadcrumb_hit(None, 40, 3) is None


# -- rows


def drawn(node: RenderNode, **state: object) -> Row:
    row = VisibleRow(build([node]).nodes[0], 0, 0, "", 0, 0)
    return tree_row(row, RowState(**state), 60)  # type: ignore[arg-type]  # a table of states


@table(
    ("state", "gutter"),
    [
        ({}, "  "),
        ({"mark": "added"}, " +"),
        ({"found": 1}, " •"),
        ({"match": 1}, " ◇"),
        ({"match": 2}, " ◆"),
        ({"match": 2, "found": 1}, " ◆"),
        ({"match": 1, "mark": "changed"}, "~◇"),
    ],
)
def test_the_gutter_is_two_cells_wide_and_loses_no_sign(state: dict[str, object], gutter: str) -> None:
    assert drawn(view("Button", "[0,0][9,9]"), **state).left.plain[:2] == gutter


@table(
    ("attribute", "values", "marked", "note"),
    [
        ("text", {"text": "new"}, ['"new"'], ""),
        ("text", {}, [], "no text"),
        ("content-desc", {"content_desc": "new"}, ["⟨new⟩"], ""),
        ("checked", {"checked": True}, ["x"], ""),
        ("checked", {}, [], "not checked"),
        ("enabled", {"enabled": False}, ["⊘"], ""),
        ("enabled", {"enabled": True}, [], "enabled"),
        ("clickable", {"clickable": True}, ["◉"], ""),
        ("selected", {"selected": True}, [], "selected"),
    ],
)
def test_what_changed_is_marked_where_it_is_drawn_else_named(
    attribute: str, values: dict[str, object], marked: list[str], note: str
) -> None:
    row = drawn(view("Button", "[0,0][9,9]", **values), differing=frozenset({attribute}))
    assert [text.strip() for text, role in row.left.spans if role == "changed"] == marked
    assert (row.right.plain if row.right else "") == note


def test_a_dimmed_row_keeps_its_signs_and_its_guides() -> None:
    row = VisibleRow(build([view("Button", "[0,0][9,9]", text="x")]).nodes[0], 1, 0, "", 1, 0)
    spans = tree_row(row, RowState(dimmed=True, match=1, differing=frozenset({"text"})), 60).left.spans
    roles = {role for text, role in spans if text.strip()}
    assert roles == {"match", "guide", "faint", "changed"}


# -- facts


def test_sizes_are_reported_in_dp_where_the_density_is_known() -> None:
    node = build([view("Button", "[216,400][656,510]")]).nodes[0]
    assert fact(node, "size") == "440×110 at 216,400"
    assert fact(node, "size", density=440) == "440×110 (160×40 dp) at 216,400"


def test_the_taker_of_a_tap_is_the_first_clickable_up_to_seven_ancestors() -> None:
    def nested(depth: int, **holder: object) -> UiNode:
        inner = view("TextView", "[0,0][9,9]", text="x")
        for _ in range(depth - 1):
            inner = view("FrameLayout", "[0,0][9,9]", inner)
        return build([view("LinearLayout", "[0,0][9,9]", inner, clickable=True, **holder)]).nodes[-1]

    assert fact(nested(1), "tap") == "reaches LinearLayout, 1 up"
    assert fact(nested(7), "tap") == "reaches LinearLayout, 7 up"
    assert fact(nested(8), "tap") == "taps the centre: no clickable ancestor"
    assert fact(nested(2, enabled=False), "tap") == "taps the centre: LinearLayout, 2 up, is disabled"
    button = build([view("Button", "[0,0][9,9]", clickable=True)]).nodes[0]
    assert fact(button, "tap") == "clickable"


def test_facts_know_the_matcher_field_they_are_for() -> None:
    node = deep()
    fields = {(item.name, item.derived): item.field for item in node_facts(node, on_screen=True) if item.field}
    assert fields == {
        ("label", True): "textEquals",
        ("role", True): "role",
        ("resource-id", False): "resourceId",
        ("text", False): "textEquals",
    }
    switch = next(node for node in SETTINGS.nodes if node.content_desc)
    fields = {(item.name, item.derived): item.field for item in node_facts(switch, on_screen=True) if item.field}
    assert fields["content-desc", False] == "contentDescEquals"
    assert fields["label", True] == "textEquals", "the device compares the label, whichever attribute gives it"
