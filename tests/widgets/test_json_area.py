"""The JSON editor: what is typed, what comes by itself, what is offered and what is underlined."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from clawperator.themes.claw import DARK
from clawperator.widgets import keys
from clawperator.widgets.format.symbols import UNICODE
from clawperator.widgets.json_area import JsonArea
from clawperator.widgets.text.json_text import TextMark
from tests.app.console.support import drained
from tests.widgets.pane_app import lines

TAP = json.dumps({"actions": [{"id": "a", "type": "click", "params": {"matcher": {"textEquals": "OK"}}}]}, indent=2)


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
        yield JsonArea(self.reported.append, leave=lambda: self.left.append(0), onward=self.left.append, id="json")

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
    ("before", "after"),
    [
        ('{\n  "a": 1,|\n}', '{\n  "a": 1,\n  |\n}'),
        ('{\n    "a": "{|"\n}', '{\n    "a": "{\n    |"\n}'),
        ("  |  x", "  \n  |  x"),
    ],
)
async def test_enter_keeps_the_indentation(before: str, after: str) -> None:
    async with editing(before) as (app, pilot):
        await pilot.press("enter")
        assert shown(app) == after


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


# -- marks


async def test_a_problem_is_underlined_with_its_words_until_the_text_changes() -> None:
    async with editing("|" + TAP) as (app, pilot):
        start = TAP.index('"click"')
        app.editor.mark(TextMark(start, start + 7, "fail", "no such type"))
        await drained(pilot)
        row = next(row for row in lines(app) if '"click"' in row)
        assert "✗" in row.split('"type"')[0]
        assert "no such type" in row
        await pilot.press("enter")
        await drained(pilot)
        assert "no such type" not in "\n".join(lines(app))


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
