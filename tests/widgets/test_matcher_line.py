"""The line a matcher is typed into: live, completed, kept or taken back, and one field at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from clawperator.engine.hierarchy.match import FIELDS, Matcher
from clawperator.engine.hierarchy.tree import UiNode, parse
from clawperator.themes.claw import DARK
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.slot import Slot
from clawperator.widgets.matcher_line import MatcherLine
from clawperator.widgets.models.bench import Bench
from clawperator.widgets.row_panes import RowList
from clawperator.widgets.text.matcher_text import MatcherText
from tests.app.console.support import drained, settings_screen

TREE = parse(settings_screen())
TITLE = "android:id/title"


def node(label: str) -> UiNode:
    return next(item for item in TREE.nodes if item.label == label)


class Holder(App[None]):
    """A pane and the line; ``reads`` is what the line told, ``went`` whether it sent the user on."""

    CSS_PATH = "../../themes/console.tcss"

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench()
        self.bench.focus(TREE, node("Wi‑Fi"))
        self.reads: list[MatcherText] = []
        self.hints: list[str] = []
        self.went: list[str] = []
        self.register_theme(DARK)
        self.theme = "claw-dark"

    def compose(self) -> ComposeResult:
        yield MatcherLine(self.bench, self._reported, back_to="#pane", id="line", onward=lambda: self.went.append("on"))
        yield RowList(id="pane")

    def _reported(self, read: MatcherText) -> None:
        self.reads.append(read)
        self.hints.append(self.query_one(MatcherLine).hint().plain)

    def on_mount(self) -> None:
        self.query_one(RowList).show_rows([Slot(lambda width: Row(Line(width).add(" row")), place=1)])

    def on_key(self, event: events.Key) -> None:
        if event.character == "m" and not isinstance(self.focused, MatcherLine):
            self.query_one(MatcherLine).open()


@asynccontextmanager
async def held(*, size: tuple[int, int] = (80, 8)) -> AsyncIterator[tuple[Holder, MatcherLine, Pilot[None]]]:
    app = Holder()
    async with app.run_test(size=size) as pilot:
        app.query_one(RowList).focus()
        await drained(pilot)
        yield app, app.query_one(MatcherLine), pilot


async def typed(pilot: Pilot[None], text: str) -> None:
    await pilot.press(*text)
    await drained(pilot)


def where(app: App[None]) -> str | None:
    """The id of the widget that has the keys."""
    return app.focused.id if app.focused is not None else None


def first_line(app: App[None]) -> str:
    return "".join(segment.text for segment in app.screen._compositor.render_strips()[0])


class TestTyping:
    async def test_every_key_is_read_and_the_bench_has_it_before_anybody_is_reported(self) -> None:
        async with held() as (app, line, pilot):
            line.open()
            await typed(pilot, "res:title")
            assert [read.text for read in app.reads][-3:] == ["res:tit", "res:titl", "res:title"]
            assert app.bench.current == Matcher(resource_id=TITLE)
            assert line.hint().plain.startswith(" 10 match")

    async def test_a_burst_is_not_lost_whatever_opens_and_leaves_the_line(self) -> None:
        async with held() as (app, line, pilot):
            await typed(pilot, "m")
            for key in ("t", "e", "x", "t", "~", "b", "enter", "j"):
                line.post_message(events.Key(key, key if len(key) == 1 else None))
            await drained(pilot)
            assert app.bench.typed == Matcher(text_contains="b")
            assert line.value == "text~b"
            assert where(app) == "pane"

    async def test_escape_restores_what_was_before(self) -> None:
        async with held() as (app, line, pilot):
            before = Matcher(text_equals="Battery")
            app.bench.type(before)
            line.open()
            await typed(pilot, "role:icon")
            assert app.bench.current == Matcher(role="icon")
            await pilot.press("escape")
            assert app.bench.current == before
            assert app.reads[-1].matcher == before
            assert where(app) == "pane"

    async def test_escape_from_a_first_matcher_goes_back_to_the_candidates(self) -> None:
        async with held() as (app, line, pilot):
            best = app.bench.current
            line.open()
            await typed(pilot, "role:icon")
            await pilot.press("escape")
            assert (app.bench.origin, app.bench.current) == ("candidate", best)

    async def test_what_was_typed_before_is_there_to_be_replaced_or_gone_on_with(self) -> None:
        async with held() as (app, line, pilot):
            app.bench.type(Matcher(text_equals="Home Net", role="text"))
            line.open()
            await drained(pilot)
            assert line.value == 'role:text text="Home Net"'
            await pilot.press("end")
            await typed(pilot, " res:x")
            assert app.bench.current == Matcher(text_equals="Home Net", role="text", resource_id="x")
            await pilot.press("enter")
            line.open()
            await typed(pilot, "role:icon")
            assert app.bench.current == Matcher(role="icon")

    async def test_enter_does_not_keep_what_cannot_be_read(self) -> None:
        async with held() as (app, line, pilot):
            line.open()
            await typed(pilot, "role:text txt=a")
            await pilot.press("enter")
            assert where(app) == "line"
            await pilot.press(*["backspace"] * 6, "enter")
            assert where(app) == "pane"
            assert app.bench.typed == Matcher(role="text")

    async def test_json_of_several_lines_can_be_pasted(self) -> None:
        async with held() as (app, line, pilot):
            line.open()
            await drained(pilot)
            line.post_message(events.Paste('{\n  "textEquals": "Wi‑Fi",\r\n  "role": "button"\n}'))
            await drained(pilot)
            assert app.bench.current == Matcher(text_equals="Wi‑Fi", role="button")
            assert line.read.problem == ""


class TestCompleting:
    async def test_tab_takes_a_field_then_goes_round_its_values(self) -> None:
        async with held() as (app, line, pilot):
            line.open()
            await typed(pilot, "te")
            await pilot.press("tab")
            assert line.value == "text="
            for key, value in (
                ("tab", '"Search settings"'),
                ("tab", '"Network & internet"'),
                ("shift+tab", '"Search settings"'),
            ):
                await pilot.press(key)
                assert line.value == f"text={value}"
            await typed(pilot, " ro")
            await pilot.press("tab")
            assert line.value == 'text="Search settings" role:'
            await pilot.press("tab")
            assert app.bench.current.fields() == {"role": "button", "textEquals": "Search settings"}

    async def test_the_hint_offers_what_tab_takes(self) -> None:
        async with held() as (_, line, pilot):
            line.open()
            await typed(pilot, "res:title text=")
            hint = line.hint().plain
            assert hint.startswith(' 10 matches   ⇥ "Network & internet" 1  Wi‑Fi 1  Bluetooth 1')
            await pilot.press("tab", "tab")
            await drained(pilot)
            assert line.value == "res:title text=Wi‑Fi"
            assert line.hint().plain.startswith(" 1 match   ⇥ Wi‑Fi 1  Bluetooth 1")

    async def test_tab_with_nothing_to_complete_goes_on_to_the_bench(self) -> None:
        async with held() as (app, line, pilot):
            line.open()
            await typed(pilot, 'text="Wifi"')
            await pilot.press("tab")
            await drained(pilot)
            assert app.went == ["on"]
            assert app.bench.typed == Matcher(text_equals="Wifi")

    async def test_the_hint_is_right_already_when_the_key_is_reported(self) -> None:
        async with held() as (app, line, pilot):
            line.open()
            await typed(pilot, "text=")
            assert '⇥ "Search settings" 1' in app.hints[-1]
            reported = len(app.reads)
            await typed(pilot, "b")
            assert len(app.reads) == reported + 1, "once a key"
            await pilot.press("home")
            assert app.hints[-1] != app.hints[-2], "the cursor is elsewhere"

    async def test_hints_stay_within_their_width(self) -> None:
        async with held() as (_, line, pilot):
            line.open()
            for text in ("", "te", "text=", "x", "res:title role:zzz qqq"):
                line.value = text
                line.cursor_position = len(text)
                await drained(pilot)
                for width in (20, 36, 80):
                    row = line.hint(width)
                    assert row.cells <= width, (text, row)


class TestProblems:
    async def test_the_caret_stands_below_the_column(self) -> None:
        async with held() as (app, line, pilot):
            line.open()
            await typed(pilot, "role:text txt=a")
            hint = line.hint().plain
            assert hint.index("^") == first_line(app).index("txt")
            assert "unknown field txt" in hint

    async def test_where_there_is_no_room_behind_it_the_words_stand_before_the_caret(self) -> None:
        async with held() as (_, line, pilot):
            line.open()
            await drained(pilot)
            line.insert_text_at_cursor('desc="a description that is rather long" text="a"b')
            assert line.hint(60).plain.rstrip().endswith("missing blank after the quote ^")

    async def test_what_is_still_being_typed_is_no_problem_yet(self) -> None:
        async with held() as (_, line, pilot):
            line.open()
            await typed(pilot, "role:button tex")
            assert line.read.problem
            assert "⇥ text= text is" in line.hint().plain

    async def test_the_place_is_underlined(self) -> None:
        async with held() as (_, line, pilot):
            line.open()
            await typed(pilot, "role:text txt=a text=b")
            marked = [segment.text for segment in line.render_line(0) if segment.style and segment.style.underline]
            assert "".join(marked) == "txt=a"


class TestOneField:
    async def test_its_name_stands_before_its_value(self) -> None:
        async with held() as (app, line, pilot):
            app.bench.type(Matcher(text_contains="Blue", role="button"))
            line.open_field("textContains")
            await drained(pilot)
            assert first_line(app).startswith(" textContains: Blue ")
            await pilot.press("end")
            await typed(pilot, "tooth x:y=")
            assert app.bench.current == Matcher(text_contains="Bluetooth x:y=", role="button"), "bare, no grammar"
            await pilot.press("enter")
            assert where(app) == "pane"
            assert app.bench.typed.text_contains == "Bluetooth x:y="

    async def test_an_empty_value_leaves_the_field_out(self) -> None:
        async with held() as (app, line, pilot):
            app.bench.type(Matcher(text_contains="Blue", role="button"))
            line.open_field("textContains")
            await pilot.press("backspace", "enter")
            assert app.bench.typed == Matcher(role="button")

    async def test_a_field_of_a_candidate_makes_a_typed_matcher_of_it_and_escape_gives_it_back(self) -> None:
        async with held() as (app, line, pilot):
            best = app.bench.current
            line.open_field("role", "button")
            await drained(pilot)
            assert app.bench.current == Matcher(text_equals="Wi‑Fi", role="button")
            await pilot.press("escape")
            assert (app.bench.origin, app.bench.current) == ("candidate", best)

    async def test_tab_goes_round_the_six_fields_keeping_each(self) -> None:
        async with held() as (app, line, pilot):
            before = app.bench.current
            line.open_field("role", "icon")
            seen = []
            for _ in FIELDS:
                seen.append(line.field)
                await pilot.press("tab")
            assert seen == [*FIELDS[1:], FIELDS[0]]
            assert (line.field, line.value) == ("role", "icon")
            await pilot.press("shift+tab")
            assert line.field == "resourceId"
            await typed(pilot, "title")
            assert app.bench.current == Matcher(resource_id=TITLE, role="icon", text_equals="Wi‑Fi"), "short id"
            await pilot.press("escape")
            assert app.bench.current == before, "escape takes all of it back"

    async def test_a_value_beyond_the_limit_is_refused(self) -> None:
        async with held() as (app, line, pilot):
            line.open_field("textEquals", "x" * 513)
            await drained(pilot)
            assert "513 characters, at most 512 allowed" in line.hint().plain
            await pilot.press("enter")
            assert where(app) == "line"
            assert app.bench.current.text_equals == "Wi‑Fi"

    async def test_a_value_of_the_device_does_not_reach_the_terminal_as_it_is(self) -> None:
        async with held() as (app, line, pilot):
            line.open_field("textEquals", "\x1b[31mred\nnext \u202eevil")
            await drained(pilot)
            assert first_line(app).startswith(" textEquals: ␛[31mred␊next ␦evil ")
            await pilot.press("enter")
            assert app.bench.typed.text_equals == "\x1b[31mred\nnext \u202eevil"

    async def test_the_whole_line_again_after_a_field(self) -> None:
        async with held() as (app, line, pilot):
            line.open_field("role", "icon")
            await pilot.press("enter")
            line.open()
            await drained(pilot)
            assert first_line(app).startswith(" role:icon text=Wi‑Fi ")
