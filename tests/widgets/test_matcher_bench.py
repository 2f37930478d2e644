"""The workbench pane: what it draws at which width, and what its keys and clicks do."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import ClassVar

import pytest
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.pilot import Pilot

from clawperator.engine.hierarchy.match import Matcher
from clawperator.engine.hierarchy.tree import UiNode, parse
from clawperator.themes.claw import DARK
from clawperator.widgets.format.symbols import ASCII, UNICODE, Symbols
from clawperator.widgets.matcher_bench import CandidateRow, FieldRow, MatcherBench, NodeRow
from clawperator.widgets.text.safe import cells
from tests.app.console.support import drained, hostile_screen, settings_screen

TREE = parse(settings_screen())
HOSTILE = parse(hostile_screen())


def node(label: str) -> UiNode:
    return next(item for item in TREE.nodes if item.label == label)


class Holder(App[None]):
    CSS_PATH = "../../themes/console.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [("question_mark", "help", "keys")]

    def __init__(self, symbols: Symbols = UNICODE) -> None:
        super().__init__()
        self.symbols = symbols
        self.reported: list[object] = []
        self.register_theme(DARK)
        self.theme = "claw-dark"

    def compose(self) -> ComposeResult:
        with Vertical():
            yield MatcherBench(id="bench")

    def on_matcher_bench_changed(self, _message: MatcherBench.Changed) -> None:
        self.reported.append(self.query_one(MatcherBench).bench.current)

    def on_matcher_bench_field_wanted(self, message: MatcherBench.FieldWanted) -> None:
        self.reported.append((message.field, message.value))

    def on_matcher_bench_node_picked(self, message: MatcherBench.NodePicked) -> None:
        self.reported.append(message.node)

    def action_help(self) -> None:
        self.reported.append("help")


@asynccontextmanager
async def held(
    label: str = "", matcher: Matcher | None = None, *, size: tuple[int, int] = (44, 60), symbols: Symbols = UNICODE
) -> AsyncIterator[tuple[Holder, MatcherBench, Pilot[None]]]:
    app = Holder(symbols)
    async with app.run_test(size=size) as pilot:
        pane = app.query_one(MatcherBench)
        pane.focus()
        await drained(pilot)
        if label:
            pane.show(TREE, node(label), (TREE, TREE))
        if matcher is not None:
            pane.bench.type(matcher)
            pane.draw()
        await drained(pilot)
        yield app, pane, pilot


def lines(app: App[None]) -> list[str]:
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


def line_with(app: App[None], *words: str) -> str:
    found = [line for line in lines(app) if all(word in line for word in words)]
    assert found, f"no line with {words}:\n" + "\n".join(lines(app))
    return found[0]


def to(pane: MatcherBench, value: object) -> None:
    pane.move_to(next(index for index, row in enumerate(pane.rows) if row.place == value))


class TestLooks:
    async def test_nothing_to_address(self) -> None:
        async with held() as (app, *_):
            assert line_with(app, "No node selected.")

    async def test_candidates_say_rank_count_fields_and_how_steady_they_were(self) -> None:
        async with held("Wi‑Fi") as (app, pane, _):
            first = line_with(app, "1 ✓ 1")
            assert 'text="Wi‑Fi"' in first
            assert "•" in first, "the current one is marked"
            assert first.endswith("2/2 ▸")
            assert line_with(app, "! 10", "#title")
            assert pane.value == CandidateRow(0)

    @pytest.mark.parametrize("width", [36, 44, 60, 120])
    async def test_a_field_has_the_same_name_at_every_width(self, width: int) -> None:
        async with held("Wi‑Fi", size=(width, 40)) as (app, *_):
            assert "text=" in line_with(app, "✓ 1", "Wi‑Fi")
            assert line_with(app, "✓ text=", '"Wi‑Fi"').endswith("1")
            assert line_with(app, "res:", "(android:id/title)")

    async def test_why_not_field_by_field(self) -> None:
        wrong = Matcher(text_equals="Wi-Fi", role="textfield")
        async with held("Wi‑Fi", wrong) as (app, *_):
            assert line_with(app, "✗ text=", '"Wi-Fi"').endswith("0")
            assert line_with(app, 'got "Wi‑Fi"')
            assert line_with(app, "looks alike but differs at 3:")
            assert line_with(app, "the role is button ≈")
            assert line_with(app, "matcher · typed")
            assert line_with(app, "✗ No node on screen matches: role")
            assert not any("•" in line for line in lines(app)), "no candidate is current"

    async def test_one_line_for_a_field_where_there_is_room(self) -> None:
        async with held("Wi‑Fi", Matcher(text_equals="Wifi"), size=(120, 40)) as (app, *_):
            line = line_with(app, "✗ text=")
            assert 'got "Wi‑Fi"  differs at 3: U+2011 NON-BREAKING HYPHEN is not "f"' in line

    async def test_several_matches_warn_and_name_the_one_taken(self) -> None:
        many = Matcher(resource_id="android:id/title", text_contains="b", role="button")
        async with held("Battery", many) as (app, pane, pilot):
            assert line_with(app, "! 3 matches; the device takes the")
            first = lines(app).index(line_with(app, '1 TextView #title "Bluetooth"'))
            assert lines(app)[first + 1].strip() == "taken by the device"
            assert line_with(app, "role:", "redundant", "13")
            pane.show(TREE, node("Bluetooth"))
            await drained(pilot)
            assert line_with(app, "this node · taken by the device")

    async def test_matches_without_a_label_are_distinguished_by_their_place(self) -> None:
        async with held("Wi‑Fi", Matcher(resource_id="android:id/icon")) as (app, *_):
            assert line_with(app, "2 ImageView #icon at 48,540")

    async def test_the_way_to_each_match_where_there_is_room(self) -> None:
        async with held("Wi‑Fi", Matcher(text_contains="bl"), size=(110, 40)) as (app, *_):
            assert line_with(app, "1 TextView").endswith("taken by the device")
            assert line_with(app, "2 Switch", "⟩ LinearLayout")

    async def test_a_node_that_nothing_addresses_gets_advice(self) -> None:
        async with held() as (app, pane, pilot):
            icon = next(item for item in TREE.nodes if item.cls.endswith("ImageView"))
            pane.show(TREE, icon)
            await drained(pilot)
            assert pane.bench.suggestions is not None
            assert pane.bench.suggestions.advice
            start = pane.bench.suggestions.advice.split()[0]
            assert line_with(app, f"! {start}")

    async def test_a_typed_matcher_stands_first(self) -> None:
        async with held("Wi‑Fi", size=(44, 12)) as (app, pane, pilot):
            assert lines(app)[0].startswith(" candidates")
            pane.bench.type(Matcher(text_equals="Wifi"))
            pane.draw()
            await drained(pilot)
            assert lines(app)[0].startswith(" matcher · typed")
            assert not isinstance(pane.value, CandidateRow), "the cursor does not stay behind"
            to(pane, CandidateRow(1))
            await pilot.press("enter")
            await drained(pilot)
            assert lines(app)[0].startswith(" candidates")
            assert pane.value == CandidateRow(1)

    async def test_ascii_only(self) -> None:
        async with held("Battery", Matcher(text_equals="battery", role="list"), symbols=ASCII) as (app, *_):
            assert line_with(app, "[ok] 1")
            assert line_with(app, "[xx] text=")
            assert all(line.isascii() for line in lines(app))

    @pytest.mark.parametrize("width", [30, 44, 73, 120])
    async def test_nothing_is_wider_than_the_pane_whatever_the_device_says(self, width: int) -> None:
        async with held(size=(width, 60)) as (app, pane, pilot):
            for item in HOSTILE.nodes:
                pane.show(HOSTILE, item, (HOSTILE,))
                for matcher in (
                    Matcher(),
                    Matcher(text_equals=item.label[:400] or "x", role="text", text_contains="x"),
                ):
                    pane.bench.type(matcher)
                    pane.draw()
                    for row in pane.rows:
                        drawn = row.draw(pane.body_width)
                        text = drawn.left.plain + (drawn.right.plain if drawn.right else "")
                        assert all(ch.isprintable() for ch in text), text
                        assert cells(text) <= width, text
            await drained(pilot)
            assert all(cells(line) <= width for line in lines(app))


class TestKeys:
    async def test_enter_makes_a_candidate_current(self) -> None:
        async with held("Wi‑Fi") as (app, pane, pilot):
            await pilot.press("j", "enter")
            await drained(pilot)
            assert app.reported == [pane.bench.candidates[1].matcher]
            assert "•2" in line_with(app, "2 ✓ 1")
            assert pane.value == CandidateRow(1)

    async def test_enter_on_a_field_asks_for_its_editing(self) -> None:
        async with held("Wi‑Fi") as (app, pane, pilot):
            to(pane, FieldRow("textEquals"))
            await pilot.press("enter")
            to(pane, FieldRow("resourceId"))
            await pilot.press("enter")
            await drained(pilot)
            assert app.reported == [("textEquals", "Wi‑Fi"), ("resourceId", "android:id/title")]

    async def test_a_value_beyond_the_limit_is_not_offered(self) -> None:
        async with held() as (app, pane, pilot):
            pane.show(HOSTILE, max(HOSTILE.nodes, key=lambda item: len(item.label)))
            to(pane, FieldRow("textEquals"))
            pane.bench.type(Matcher(role="text"))
            await pilot.press("enter")
            await drained(pilot)
            assert app.reported == [("textEquals", "")]

    async def test_enter_on_a_match_or_miss_asks_to_show_it(self) -> None:
        async with held("Wi‑Fi", Matcher(text_equals="Bluetoth")) as (app, pane, pilot):
            pane.to_found()
            assert pane.value == NodeRow(node("Bluetooth").index), "the nearest miss"
            await pilot.press("enter")
            await drained(pilot)
            assert app.reported == [node("Bluetooth")]

    async def test_the_way_to_what_was_found_waits_for_the_pane_to_be_displayed(self) -> None:
        async with held("Wi‑Fi", Matcher(text_equals="Bluetoth")) as (_, pane, pilot):
            pane.display = False
            await drained(pilot)
            pane.to_found()
            assert not isinstance(pane.value, NodeRow)
            pane.display = True
            await drained(pilot)
            assert pane.value == NodeRow(node("Bluetooth").index)

    async def test_delete_empties_a_field(self) -> None:
        async with held("Wi‑Fi", Matcher(text_equals="Wi‑Fi", role="button")) as (app, pane, pilot):
            to(pane, FieldRow("role"))
            await pilot.press("delete")
            to(pane, FieldRow("contentDescEquals"))
            await pilot.press("delete")
            await drained(pilot)
            assert app.reported == [Matcher(text_equals="Wi‑Fi")]
            to(pane, FieldRow("textEquals"))
            await pilot.press("backspace")
            await drained(pilot)
            assert pane.bench.origin == "candidate", "an empty matcher gives way to the candidates"

    async def test_space_explains_a_candidate_and_the_question_mark_is_the_help_everywhere(self) -> None:
        async with held("Wi‑Fi") as (app, pane, pilot):
            rows = len(pane.rows)
            await pilot.press("space")
            assert len(pane.rows) > rows
            assert app.reported == []
            await pilot.press("space")
            assert len(pane.rows) == rows
            await pilot.press("question_mark")
            await drained(pilot)
            assert app.reported == ["help"]

    async def test_reasons_fold_when_another_node_is_looked_at(self) -> None:
        async with held("Wi‑Fi") as (_, pane, pilot):
            await pilot.press("space")
            unfolded = len(pane.rows)
            pane.show(TREE, node("Wi‑Fi"), (TREE, TREE))
            assert len(pane.rows) == unfolded
            pane.show(TREE, node("Bluetooth"), (TREE, TREE))
            pane.show(TREE, node("Wi‑Fi"), (TREE, TREE))
            assert len(pane.rows) < unfolded


class TestMouse:
    async def test_a_double_click_chooses_and_a_click_on_the_fold_arrow_explains(self) -> None:
        async with held("Wi‑Fi") as (app, pane, pilot):
            row = next(index for index, item in enumerate(pane.rows) if item.place == CandidateRow(1))
            await pilot.click(pane, offset=(10, row), times=2)
            await drained(pilot)
            assert app.reported == [pane.bench.candidates[1].matcher]
            rows = len(pane.rows)
            await pilot.click(pane, offset=(43, row))
            await drained(pilot)
            assert len(pane.rows) > rows


class TestDrawing:
    async def test_typing_is_drawn_when_it_rests(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async with held("Wi‑Fi") as (app, pane, pilot):
            drawn: list[int] = []
            content_changed = pane.content_changed

            def counted() -> None:
                drawn.append(1)
                content_changed()

            monkeypatch.setattr(pane, "content_changed", counted)
            for text in ("B", "Bl", "Blu"):
                pane.type(Matcher(text_contains=text))
            assert pane.bench.current == Matcher(text_contains="Blu"), "the model has it at once"
            assert drawn == []
            await pilot.pause(0.1)
            await drained(pilot)
            assert drawn == [1]
            assert line_with(app, "text~", '"Blu"')

    async def test_a_hidden_pane_draws_nothing_and_catches_up(self) -> None:
        async with held("Wi‑Fi") as (app, pane, pilot):
            for hidden, label in ((pane, "Battery"), (app.query_one(Vertical), "Display")):
                hidden.display = False
                await drained(pilot)
                rows = pane.rows
                pane.show(TREE, node(label))
                assert pane.rows is rows
                assert pane.bench.current, "the model is there for whoever asks"
                hidden.display = True
                await drained(pilot)
                assert line_with(app, f'text="{label}"')

    async def test_another_width_is_laid_out_again(self) -> None:
        async with held("Wi‑Fi", size=(44, 40)) as (app, _, pilot):
            assert not any("✓ text=" in line and "equal" in line for line in lines(app))
            await pilot.resize_terminal(90, 40)
            await drained(pilot)
            assert line_with(app, "✓ text=", "equal")
