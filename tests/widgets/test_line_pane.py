"""The list that scrolls by itself: cursor, scrolling, clicks, sizes, glyphs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NoReturn

import pytest
from textual import events
from textual.errors import NoWidget
from textual.geometry import Size
from textual.message import Message

from clawperator.themes.claw import LIGHT
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.slot import BLANK, Slot, heading
from clawperator.widgets.format.symbols import ASCII
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.row_panes import RowList
from tests.app.console.support import drained
from tests.widgets.pane_app import held, lines


class Numbers(LinePane):
    """Rows that say their number."""

    def __init__(self, count: int) -> None:
        super().__init__(id="pane")
        self.count = count
        self.drawn: list[int] = []

    def row_count(self) -> int:
        return self.count

    def row(self, index: int, width: int) -> Row:
        self.drawn.append(index)
        return Row(Line(width).add(f" row {index}"), Line().add("…"))


async def test_only_what_is_on_screen_is_drawn() -> None:
    pane = Numbers(100_000)
    async with held(pane) as (app, _):
        assert set(pane.drawn) == set(range(10))
        assert lines(app)[9].startswith(" row 9")


async def test_a_pane_as_high_as_its_content_grows_with_the_text_of_an_empty_one() -> None:
    pane = Numbers(0)
    pane.styles.height = "auto"
    async with held(pane) as (_, pilot):
        for count, text, height in ((0, "one", 1), (0, "one\ntwo\nthree", 3), (2, "", 2), (0, "one", 1)):
            pane.count, pane.empty_text = count, text
            pane.content_changed()
            await drained(pilot)
            assert pane.size.height == height


async def test_what_an_empty_pane_says_is_painted_when_it_changes() -> None:
    pane = Numbers(0)
    pane.empty_text = "Loading…"
    async with held(pane) as (app, pilot):
        assert "Loading…" in "".join(lines(app))
        pane.empty_text = "The registry is broken"
        await drained(pilot)
        assert "The registry is broken" in "".join(lines(app))


async def test_a_move_draws_the_two_rows_concerned() -> None:
    pane = Numbers(100)
    async with held(pane) as (app, pilot):
        pane.drawn.clear()
        await pilot.press("j")
        assert set(pane.drawn) <= {0, 1}
        assert app.reported == ["moved 1"]
        assert lines(app)[1].startswith("▌row 1")


async def test_moving_keys_stay_within_the_rows_and_keep_the_cursor_on_screen() -> None:
    pane = Numbers(30)
    async with held(pane) as (_, pilot):
        for keys, cursor in (
            (("k",), 0),
            (("G",), 29),
            (("j",), 29),
            (("pageup",), 20),
            (("ctrl+u",), 16),
            (("home",), 0),
            (("ctrl+d",), 4),
            (("end",), 29),
        ):
            await pilot.press(*keys)
            assert pane.cursor == cursor, keys
            assert pane.top <= pane.cursor < pane.top + pane.view_height


async def test_the_wheel_scrolls_without_moving_the_cursor() -> None:
    pane = Numbers(30)
    async with held(pane) as (_, pilot):
        await pilot._post_mouse_events([events.MouseScrollDown], pane, offset=(3, 3))
        await drained(pilot)
        assert pane.top == 3
        assert pane.cursor == 0


async def test_a_click_selects_and_a_second_one_chooses() -> None:
    pane = Numbers(30)
    async with held(pane) as (app, pilot):
        await pilot.click(pane, offset=(5, 4))
        assert pane.cursor == 4
        await pilot.click(pane, offset=(5, 4), times=2)
        assert "chosen 4" in app.reported


async def test_a_click_on_the_scrollbar_jumps() -> None:
    pane = Numbers(100)
    async with held(pane) as (_, pilot):
        await pilot.click(pane, offset=(39, 5))
        assert pane.top == 50


async def test_rows_that_go_take_the_cursor_with_them() -> None:
    pane = Numbers(30)
    async with held(pane) as (app, pilot):
        await pilot.press("G")
        pane.count = 5
        pane.content_changed()
        await drained(pilot)
        assert (pane.cursor, pane.top) == (4, 0)
        pane.count = 0
        pane.content_changed()
        await drained(pilot)
        assert pane.cursor == 0
        await pilot.press("j", "enter")
        assert "chosen 0" not in app.reported
        assert any("Nothing to show." in line for line in lines(app))


async def test_what_moves_by_a_resize_is_painted_again() -> None:
    pane = Numbers(30)
    async with held(pane, size=(40, 5)) as (app, pilot):
        await pilot.press("G")
        for size in ((40, 20), (40, 30), (30, 4)):
            await pilot.resize_terminal(*size)
            await drained(pilot)
            shown = [int(line[5:8]) for line in lines(app) if line[1:4] == "row"]
            assert shown == list(range(pane.top, pane.top + size[1])), size


async def test_glyphs_of_our_own_become_ascii_where_nothing_else_is_drawn() -> None:
    pane = Numbers(3)
    async with held(pane, symbols=ASCII) as (app, _):
        assert all(line.isascii() for line in lines(app)[:3])


async def test_a_theme_change_drops_the_old_colours() -> None:
    pane = Numbers(3)
    async with held(pane) as (app, pilot):
        before = pane.role_style("text").color
        app.register_theme(LIGHT)
        app.theme = "claw-light"
        await drained(pilot)
        assert pane.role_style("text").color != before


def entry(name: str, *, role: str = "") -> Slot:
    return Slot(lambda width: Row(Line(width).add(f" {name}")), place=name, role=role)


async def test_a_list_skips_headings_and_keeps_its_place_by_value() -> None:
    pane = RowList(id="pane")
    async with held(pane) as (_, pilot):
        pane.show_rows([heading("one"), entry("a"), BLANK, heading("two"), entry("b", role="fail"), entry("c")])
        assert str(pane.value) == "a"
        await pilot.press("j")
        assert str(pane.value) == "b"
        await pilot.press("j")
        assert str(pane.value) == "c"
        pane.show_rows([heading("one"), entry("new"), entry("a"), entry("c")])
        assert str(pane.value) == "c"
        await pilot.press("home")
        assert str(pane.value) == "new"
        assert pane.top == 0


async def test_rows_are_folded_for_the_width_of_the_event_while_the_map_lacks_the_pane(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A pane that appears can get its one event while the screen rebuilds its map, and has no size then."""
    pane = RowList(id="pane")
    widths: list[int] = []

    def rows(width: int) -> list[Slot]:
        widths.append(width)
        return [entry("a")]

    def missing(*_: object) -> NoReturn:
        raise NoWidget

    async with held(pane) as (app, _):
        pane.show_folded(rows)
        with monkeypatch.context() as patch:
            patch.setattr(type(app.screen), "find_widget", missing)
            pane.show_folded(rows)
            pane.refold(events.Resize(Size(25, 10), Size(25, 10)))
            pane.show_folded(rows)
        assert widths == [39, 39, 24, 24]


class WithoutResize(RowList):
    """A pane as it is if Textual sends it no Resize: something asked for its region before its first layout."""

    def check_message_enabled(self, message: Message) -> bool:
        return not isinstance(message, events.Resize) and super().check_message_enabled(message)


async def test_rows_have_the_width_of_a_pane_that_got_no_resize() -> None:
    pane = WithoutResize(id="pane")
    pane.show_folded(lambda width: [entry(str(width))])
    async with held(pane) as (app, pilot):
        await drained(pilot)
        assert str(pane.content_size.width - 1) in lines(app)[0]


async def test_the_next_problem_goes_round() -> None:
    pane = RowList(id="pane")
    async with held(pane):
        pane.show_rows([entry("a", role="warn"), entry("b"), entry("c", role="fail")])
        pane.to_problem(1)
        assert str(pane.value) == "c"
        pane.to_problem(1)
        assert str(pane.value) == "a"
        pane.to_problem(-1)
        assert str(pane.value) == "c"


class Marked(Numbers):
    """Every tenth row is worth a mark; tells how often it was asked."""

    asked = 0

    def marks(self) -> Iterable[tuple[int, str]]:
        self.asked += 1
        yield 0, "match-current"
        yield from ((row, "match") for row in range(0, self.count, 10))


async def test_marks_are_collected_once_for_all_lines_of_the_scrollbar() -> None:
    pane = Marked(100)
    async with held(pane) as (app, pilot):
        await pilot.press("j", "j", "pagedown")
        assert pane.asked == 1
        assert [line[-1] for line in lines(app)] == ["┃"] * 10, "one mark on each line"
        pane.count = 50
        pane.content_changed()
        await drained(pilot)
        assert pane.asked == 2
        assert [line[-1] for line in lines(app)].count("┃") == 6, "five marks, and the thumb's second line"
        await pilot.resize_terminal(40, 5)
        await drained(pilot)
        assert pane.asked == 3


async def test_the_first_of_several_marks_on_a_line_counts() -> None:
    pane = Marked(100)
    async with held(pane):
        assert pane._marks_by_line(10, 100)[0] == "match-current"
