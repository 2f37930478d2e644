from __future__ import annotations

from math import ceil

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.hierarchy.nodes import Bounds
from clawperator.engine.hierarchy.tree import build, parse
from clawperator.widgets.format.bounds import CLEAR, Layers, Marks, draw_bounds, frame_for, nodes_at
from tests.app.console.support import hostile_screen, settings_screen, view

BUTTONS = build(
    [
        view(
            "FrameLayout",
            "[0,0][100,200]",
            view("Button", "[0,0][100,60]", text="Save", clickable=True),
            view("Button", "[0,60][50,120]", text="中文", clickable=True),
            view("TextView", "[50,60][100,120]", text="a rather long label"),
            view("View", "[0,120][100,200]", scrollable=True),
        )
    ]
)


def drawn(chosen: int = 0, hits: tuple[int, ...] = (), first: int = -1, *, ascii_only: bool = False) -> list[str]:
    marks = Marks(BUTTONS.nodes[chosen] if chosen else None, frozenset(hits), first)
    return [line.plain for line in draw_bounds(BUTTONS, marks, (20, 20), ascii_only=ascii_only)]


def test_what_can_be_touched_is_outlined_and_labels_stand_in_their_place() -> None:
    assert drawn() == [
        "┌──────────────────┐",
        "│                  │",
        "│ Save             │",
        "│                  │",
        "│                  │",
        "└──────────────────┘",
        "┌────────┐          ",
        "│        │          ",
        "│ 中文   │  a rath… ",
        "│        │          ",
        "│        │          ",
        "└────────┘          ",
        "┌──────────────────┐",
        "│                  │",
        "│                  │",
        "│                  │",
        "│                  │",
        "│                  │",
        "│                  │",
        "└──────────────────┘",
    ]


def test_the_chosen_node_has_a_heavy_outline() -> None:
    assert drawn(1)[0] == "┏━━━━━━━━━━━━━━━━━━┓"
    assert drawn(1, ascii_only=True)[0] == "+------------------+"


def test_a_chosen_node_that_takes_much_of_the_screen_is_outlined_but_not_filled() -> None:
    small, large = (draw_bounds(BUTTONS, Marks(BUTTONS.nodes[index]), (20, 20)) for index in (2, 4))
    assert small[7].spans[0] == ("┃        ┃", "here")
    assert large[13].spans == [("┃", "here"), (" " * 18, "text"), ("┃", "here")]


def test_matches_are_hatched_and_the_first_of_them_has_a_double_line() -> None:
    assert drawn(hits=(1, 2), first=1)[:12] == [
        "╔══════════════════╗",
        "║                  ║",
        "║ Save             ║",
        "║                  ║",
        "║                  ║",
        "╚══════════════════╝",
        "┌────────┐          ",
        "│░░░░░░░░│          ",
        "│░中文░░░│  a rath… ",
        "│░░░░░░░░│          ",
        "│░░░░░░░░│          ",
        "└────────┘          ",
    ]
    ascii_only = drawn(hits=(1, 2), first=1, ascii_only=True)
    assert ascii_only[0] == "#==================#"
    assert ascii_only[7] == "|........|          "
    assert drawn(hits=(4,))[13] == "│                  │", "what takes much of the screen stays readable"


def test_only_the_side_edges_of_a_match_change_their_colour() -> None:
    """A cursor that moves from a match to another node repaints each of them, over SSH."""
    lines = draw_bounds(BUTTONS, Marks(None, frozenset({2})), (20, 20))
    assert lines[6].spans == [("┌", "match"), ("────────", "faint"), ("┐", "match"), ("          ", "text")]
    assert lines[7].spans[0] == ("│░░░░░░░░│", "match")


def test_a_match_of_one_row_stands_between_signs() -> None:
    tree = build([view("FrameLayout", "[0,0][100,200]", view("TextView", "[0,20][100,30]", text="Wi-Fi"))])
    plain = [line.plain for line in draw_bounds(tree, Marks(None, frozenset({1})), (20, 20))]
    assert plain[2] == "[░Wi-Fi░░░░░░░░░░░░]"
    plain = [line.plain for line in draw_bounds(tree, Marks(None, frozenset({1}), 1), (20, 20))]
    assert plain[2].startswith("«")
    assert plain[2].endswith("»")


def test_the_overlay_hides_nothing_but_outlines_and_the_name() -> None:
    frame = frame_for(BUTTONS, 20, 20)
    assert frame is not None
    overlay = Layers(overlay=True).draw(BUTTONS, Marks(BUTTONS.nodes[1], frozenset({2})), frame)
    rows = ["".join(text for text, _ in overlay.spans(y)) for y in range(frame.rows)]
    assert rows[0] == '┏Button "Save"━━━━━┓'
    assert rows[1] == "┃                  ┃"
    assert rows[6] == "┌────────┐          "
    assert {role for y in range(frame.rows) for _, role in overlay.spans(y)} == {CLEAR, "here", "match"}


def test_layers_draw_what_a_new_drawing_would() -> None:
    frame = frame_for(BUTTONS, 20, 20)
    assert frame is not None
    kept = Layers()
    for chosen, hits in ((1, ()), (2, ()), (2, (1, 4)), (3, (1, 4)), (3, ()), (1, ())):
        marks = Marks(BUTTONS.nodes[chosen], frozenset(hits))
        new = Layers().draw(BUTTONS, marks, frame)
        old = kept.draw(BUTTONS, marks, frame)
        assert [old.spans(y) for y in range(frame.rows)] == [new.spans(y) for y in range(frame.rows)]


def test_the_smallest_node_under_a_cell_comes_first() -> None:
    frame = frame_for(BUTTONS, 20, 20)
    assert frame is not None
    assert [node.index for node in nodes_at(BUTTONS, frame, 2, 8)] == [2, 0]
    assert [node.index for node in nodes_at(BUTTONS, frame, 19, 19)] == [4, 0]


def test_the_screens_shape_is_kept() -> None:
    for width, height in ((20, 100), (100, 20)):
        frame = frame_for(BUTTONS, width, height)
        assert frame is not None
        assert frame.columns == 2 * frame.rows / 2
        assert frame.margin == (width - frame.columns) // 2


def test_without_a_screen_there_is_no_map() -> None:
    assert draw_bounds(build([]), Marks(), (40, 40)) == []
    assert draw_bounds(BUTTONS, Marks(), (2, 40)) == []


@given(st.integers(4, 90), st.integers(3, 60), st.integers(-1, 11))
def test_every_line_has_the_width_of_the_frame_whatever_the_text(width: int, height: int, chosen: int) -> None:
    tree = parse(hostile_screen(), recover=True)
    marks = Marks(tree.nodes[chosen] if chosen >= 0 else None, frozenset({1, 4}), 1)
    lines = draw_bounds(tree, marks, (width, height))
    frame = frame_for(tree, width, height)
    assert frame is not None
    assert len(lines) == frame.rows
    for line in lines:
        assert line.cells == frame.margin + frame.columns, repr(line.plain)


@given(st.tuples(*[st.integers(-(10**6), 10**6)] * 4))
def test_any_bounds_fit_the_frame(numbers: tuple[int, int, int, int]) -> None:
    frame = frame_for(parse(settings_screen()), 40, 40)
    assert frame is not None
    left, top, right, bottom = frame.box(Bounds(*numbers))
    assert 0 <= left < right <= frame.columns
    assert 0 <= top < bottom <= frame.rows


@given(st.tuples(*[st.integers(-200, 1400)] * 4), st.integers(4, 90), st.integers(3, 60))
def test_a_cell_is_of_a_node_where_its_middle_is_or_where_the_node_is_smaller_than_a_cell(
    numbers: tuple[int, int, int, int], width: int, height: int
) -> None:
    tree = build([view("FrameLayout", "[0,0][1080,2340]", view("View", str(Bounds(*numbers))))])
    frame = frame_for(tree, width, height)
    if frame is None:
        return
    for row in range(frame.rows):
        for column in range(frame.columns):
            found = nodes_at(tree, frame, column + frame.margin, row)
            x, y = (column + 0.5) * frame.across, (row + 0.5) * frame.down
            root, *rest = tree.on_screen
            assert root in found
            for node in rest:
                bounds = node.bounds
                if bounds.left <= x < bounds.right and bounds.top <= y < bounds.bottom:
                    assert node in found
                elif node in found:  # a cell of its own all the same: one that the node touches
                    left, top = column * frame.across, row * frame.down
                    cell = Bounds(int(left), int(top), ceil(left + frame.across), ceil(top + frame.down))
                    assert cell.intersects(bounds)
