"""The JSON editor: what is typed, what comes by itself, what is offered and what is underlined."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from clawperator.themes.claw import DARK
from clawperator.widgets import keys
from clawperator.widgets.format.symbols import UNICODE
from clawperator.widgets.json_area import JsonArea
from clawperator.widgets.text.json_text import TextMark, read
from tests.app.console.support import drained
from tests.widgets.pane_app import lines

TAP = json.dumps({"actions": [{"id": "a", "type": "click", "params": {"matcher": {"textEquals": "OK"}}}]}, indent=2)


def seen(field: str, typed: str, others: Mapping[str, str]) -> Iterable[tuple[str, int]]:
    values = {"textEquals": [("Wi‑Fi", 1), ("Bluetooth", 2)], "applicationId": [("com.android.settings", 14)]}
    return [(value, count) for value, count in values.get(field, []) if typed.lower() in value.lower()]


class EditorApp(App[None]):
    CSS_PATH = "../../themes/console.tcss"
    symbols = UNICODE

    def __init__(self) -> None:
        super().__init__()
        self.reported: list[str] = []
        self.left: list[int] = []
        self.register_theme(DARK)
        self.theme = "claw-dark"

    def compose(self) -> ComposeResult:
        yield JsonArea(
            self.reported.append, leave=lambda: self.left.append(0), onward=self.left.append, seen=seen, id="json"
        )

    @property
    def editor(self) -> JsonArea:
        return self.query_one(JsonArea)


@asynccontextmanager
async def editing(text: str = "", *, size: tuple[int, int] = (80, 20)) -> AsyncIterator[tuple[EditorApp, Pilot[None]]]:
    """``|`` in the text is the cursor."""
    app = EditorApp()
    async with app.run_test(size=size) as pilot:
        editor = app.editor
        editor.focus()
        editor.show(text.replace("|", ""))
        if "|" in text:
            editor.to_index(text.index("|"))
        await drained(pilot)
        yield app, pilot


def shown(app: EditorApp) -> str:
    """The text with a bar at the cursor."""
    editor, text = app.editor, app.editor.text
    place = editor.index_of(editor.cursor_location)
    return f"{text[:place]}|{text[place:]}"


# -- typing


@pytest.mark.parametrize(
    ("before", "keys", "after"),
    [
        ("|", "{", "{|}"),
        ("{|}", '"', '{"|"}'),
        ('{"a|"}', '"', '{"a"|}'),
        ('{"a|"}', "{", '{"a{|"}'),
        ("[|]", "]", "[]|"),
        ('{"a": |1}', '"', '{"a": "|1}'),
        ('{"a": "say |x"}', '"', '{"a": "say "|x"}'),
    ],
)
async def test_pairs_come_and_go_by_themselves(before: str, keys: str, after: str) -> None:
    async with editing(before) as (app, pilot):
        await pilot.press(*keys)
        app.editor.completions.close()
        assert shown(app) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("{|}", "{\n  |\n}"),
        ('{\n  "a": [|]\n}', '{\n  "a": [\n    |\n  ]\n}'),
        ('{\n  "a": 1,|\n}', '{\n  "a": 1,\n  |\n}'),
        ('{\n    "a": "{|"\n}', '{\n    "a": "{\n    |"\n}'),
        ("  |  x", "  \n  |  x"),
    ],
)
async def test_enter_keeps_the_indentation(before: str, after: str) -> None:
    async with editing(before) as (app, pilot):
        await pilot.press("enter")
        assert shown(app) == after


async def test_an_empty_pair_is_deleted_as_one_and_a_closing_bracket_stands_further_out() -> None:
    async with editing('{"a": [|]}') as (app, pilot):
        await pilot.press("backspace")
        assert shown(app) == '{"a": |}'
    async with editing("[\n  1\n    |") as (app, pilot):
        await pilot.press("]")
        assert shown(app) == "[\n  1\n  ]|"


async def test_a_selection_is_put_in_brackets_and_undone() -> None:
    async with editing("1, 2") as (app, pilot):
        await pilot.press("f7", "[")
        assert app.editor.text == "[1, 2]"
        await pilot.press("ctrl+z")
        assert app.editor.text == "1, 2"
        await pilot.press("ctrl+y")
        assert app.editor.text == "[1, 2]"


async def test_tab_and_escape_leave_at_once_and_write_nothing() -> None:
    async with editing("[1]|") as (app, pilot):
        await pilot.press("tab", "shift+tab", "escape")
        assert app.left == [1, -1, 0]
        assert app.editor.text == "[1]"


async def test_the_text_is_reported_when_the_keys_rest_or_when_it_is_settled() -> None:
    async with editing("|") as (app, pilot):
        for key in "123":
            app.post_message(events.Key(key, key))
        await drained(pilot)
        assert app.reported == []
        assert app.editor.restless
        app.editor.settle()
        assert app.reported == ["123"]
        await pilot.pause(0.2)
        assert app.reported == ["123"]
        app.editor.show("[]")
        assert not app.editor.restless


async def test_what_is_pasted_is_spelled_out_and_laid_out() -> None:
    compact = json.dumps({"actions": [{"id": f"step-{number}", "type": "snapshot_ui"} for number in range(9)]})
    async with editing("|") as (app, pilot):
        app.post_message(events.Paste(compact))
        await drained(pilot)
        assert json.loads(app.editor.text) == json.loads(compact)
        assert app.editor.document.line_count > 20
    async with editing('"|"') as (app, pilot):
        app.post_message(events.Paste("\u202egpj\x1b[31m\u2028"))
        await drained(pilot)
        assert app.editor.text == '"\\u202egpj\\u001b[31m\\u2028"'


# -- words


async def test_keys_are_offered_while_typing_and_taken_with_their_value() -> None:
    async with editing(TAP.replace('"matcher"', '"|": 1, "matcher"')) as (app, pilot):
        await pilot.press("r", "e", "t")
        assert [word.label for word in app.editor.completions.words] == ["retry"]
        await drained(pilot)
        assert "Retry policy of this step" in "\n".join(lines(app))
        await pilot.press("enter")
        assert '"retry": 1' in app.editor.text
        assert not app.editor.completions


async def test_a_word_brings_its_comma_and_the_cursor_goes_to_its_first_gap() -> None:
    async with editing('{"actions": [{"id": "a", "type": "click", "params": {|}}]}') as (app, pilot):
        await pilot.press("ctrl+l")
        await pilot.press("enter")
        assert '"params": {"matcher": {|}}' in shown(app)
        assert app.editor.completions.word.label == "resourceId"
        await pilot.press("escape", *'"text')
        assert [word.label for word in app.editor.completions.words][:2] == ["textEquals", "textContains"]
        await pilot.press("tab", *"blu")
        assert app.editor.completions.word.label == "Bluetooth"
        await pilot.press("enter")
        assert json.loads(app.editor.text)["actions"][0]["params"] == {"matcher": {"textEquals": "Bluetooth"}}
        assert app.left == []


async def test_a_member_after_another_gets_the_comma_between_them() -> None:
    async with editing('{\n  "taskId": "t"\n  |\n}') as (app, pilot):
        await pilot.press("ctrl+@")
        app.editor.completions.cursor = [word.label for word in app.editor.completions.words].index("timeoutMs")
        await pilot.press("enter")
        assert json.loads(app.editor.text) == {"taskId": "t", "timeoutMs": 1000}
        assert app.editor.text.startswith('{\n  "taskId": "t",\n  "timeoutMs"')


async def test_an_action_type_brings_what_it_needs() -> None:
    async with editing('{\n  "actions": [\n    {\n      "id": "a",\n      "type": "|"\n    }\n  ]\n}') as (app, pilot):
        await pilot.press(*"clik")
        assert [word.label for word in app.editor.completions.words] == ["click"]
        await pilot.press("enter")
        (action,) = json.loads(app.editor.text)["actions"]
        assert action == {"id": "a", "type": "click", "params": {"matcher": {}}}
        assert not read(app.editor.text).faults
        await pilot.press("ctrl+z")
        assert '"type": "clik"' in app.editor.text


async def test_the_list_moves_closes_and_takes_a_click() -> None:
    async with editing('{"actions": [|]}', size=(80, 12)) as (app, pilot):
        await pilot.press("ctrl+l", "down", "down", "up", "up", "up")
        completions = app.editor.completions
        assert completions.cursor == len(completions.words) - 1
        await pilot.press("escape")
        assert not completions
        assert app.left == []
        await pilot.press("ctrl+l")
        await drained(pilot)
        rows = lines(app)
        y = next(index for index, row in enumerate(rows) if "open_uri" in row)
        await pilot.click(offset=(rows[y].index("open_uri"), y))
        assert json.loads(app.editor.text)["actions"][0]["type"] == "open_uri"


async def test_nothing_is_offered_where_nothing_is_known() -> None:
    async with editing('{"commandId": "|"}') as (app, pilot):
        await pilot.press("x")
        assert not app.editor.completions
        await pilot.press("ctrl+l")
        assert not app.editor.completions


# -- marks


async def test_problems_are_underlined_with_their_words_and_move_with_the_text() -> None:
    async with editing("|" + TAP) as (app, pilot):
        start = TAP.index('"click"')
        app.editor.mark([TextMark(start, start + 7, "fail", "no such type")])
        await drained(pilot)
        row = next(row for row in lines(app) if '"click"' in row)
        assert "✗" in row.split('"type"')[0]
        assert "no such type" in row
        await pilot.press("enter", "enter")
        await drained(pilot)
        row = next(row for row in lines(app) if "no such type" in row)
        assert '"click"' in row


async def test_a_click_sets_the_cursor_and_the_wheel_scrolls() -> None:
    async with editing(TAP, size=(60, 6)) as (app, pilot):
        await pilot.click(offset=(8, 2))
        assert app.editor.cursor_location[0] == 2


def test_every_key_of_the_editor_does_something() -> None:
    for binding in keys.bindings("editor"):
        assert hasattr(JsonArea, f"action_{binding.action.partition('(')[0]}"), binding.id


async def test_leaving_the_editor_tells_what_was_typed() -> None:
    async with editing("[|]") as (app, pilot):
        await pilot.press("7")
        app.set_focus(None)
        await drained(pilot)
        assert app.reported == ["[7]"]
