from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.hierarchy.nodes import Bounds
from clawperator.engine.hierarchy.tree import build, parse
from clawperator.widgets.format.bounds import draw_bounds, frame_for, nodes_at
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


def drawn(**more: object) -> list[str]:
    lines = draw_bounds(
        BUTTONS, BUTTONS.nodes[1] if more.get("chosen") else None, (), (20, 20), ascii_only=bool(more.get("ascii_only"))
    )
    return [line.plain for line in lines]


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
    assert drawn(chosen=True)[0] == "┏━━━━━━━━━━━━━━━━━━┓"
    assert drawn(chosen=True, ascii_only=True)[0] == "+------------------+"


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
    assert draw_bounds(build([]), None, (), (40, 40)) == []
    assert draw_bounds(BUTTONS, None, (), (2, 40)) == []


@given(st.integers(4, 90), st.integers(3, 60), st.integers(-1, 11))
def test_every_line_has_the_width_of_the_frame_whatever_the_text(width: int, height: int, chosen: int) -> None:
    tree = parse(hostile_screen(), recover=True)
    lines = draw_bounds(tree, tree.nodes[chosen] if chosen >= 0 else None, {1, 4}, (width, height))
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
