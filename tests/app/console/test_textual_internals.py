"""The names that Textual does not document are there and mean what the console takes them for."""

from __future__ import annotations

import ast
import asyncio
import importlib
import inspect
from collections.abc import Callable
from functools import partial
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import ClassVar

import pytest
from rich.segment import ControlType, Segment
from rich.style import Style
from textual import events
from textual._xterm_parser import XTermParser
from textual.app import App, ComposeResult
from textual.cache import LRUCache
from textual.color import Color
from textual.css.stylesheet import Stylesheet
from textual.geometry import Size
from textual.message import Message
from textual.renderables.background_screen import BackgroundScreen
from textual.screen import Screen
from textual.widgets import Label

import clawperator.app.console
from clawperator.app.console import textual_internals
from clawperator.app.console.textual_internals import INTERNALS, CachedStylesheet, FilteringScreen, bind_key
from tests.app.console.support import FakeEngine, make_app
from tests.support import table

ON_OBJECTS: dict[str, Callable[[], object]] = {
    "_parse_cache": partial(Stylesheet, variables={}),
    "_variables": partial(Stylesheet, variables={}),
    "_exception": App,
    "_exit_renderables": App,
    "_bindings": Screen,
    "_compositor": Screen,
}
"""Attributes that a constructor sets, and the constructor."""


@table(("owner", "name"), [(owner, name) for owner, name, _ in INTERNALS])
def test_textual_still_has_it(owner: type, name: str) -> None:
    if name in ON_OBJECTS:
        assert hasattr(ON_OBJECTS[name](), name), f"{owner.__name__} has no {name}"
    else:
        assert hasattr(owner, name), f"{owner.__name__} has no {name}"


@pytest.mark.parametrize("driver", ["linux_driver", "web_driver"])
def test_the_parser_of_a_driver_is_named_by_its_module(driver: str) -> None:
    module = importlib.import_module(f"textual.drivers.{driver}")
    assert "XTermParser(" in inspect.getsource(module)
    parser = XTermParser()
    assert list(parser.feed("\x1b[")) == []
    assert parser._timeout_time is not None
    parser._timeout_time = 0.0
    assert len(list(parser.tick())) > 0
    assert [message.key for message in parser.feed("j") if isinstance(message, events.Key)] == ["j"]


def test_the_cache_of_a_stylesheet_is_shared_and_is_what_textual_uses() -> None:
    one, other = CachedStylesheet(variables={"a": "red"}), CachedStylesheet(variables={"a": "red"})
    assert isinstance(one._parse_cache, LRUCache)
    assert one._parse_cache is other._parse_cache
    one.add_source("Label { color: $a; }", read_from=("here", ""))
    one.parse()
    assert len(other._parse_cache) == 1


def test_keys_are_bound_on_one_screen_only() -> None:
    class Asking(FilteringScreen):
        pass

    one, other = Asking(), Asking()
    bind_key(one, "t", "pick('tap')", "tap")
    assert "t" in one._bindings.key_to_bindings
    assert "t" not in other._bindings.key_to_bindings


def test_no_other_module_of_the_console_uses_names_of_textual_with_an_underscore() -> None:
    """Private modules; attributes of other objects; overrides are listed by hand in INTERNALS."""
    used: list[str] = []
    root = Path(clawperator.app.console.__file__).parent
    private = {name for _, name, _ in INTERNALS if name.startswith("_")} - {"_variables"}
    for path in root.rglob("*.py"):
        if path == Path(textual_internals.__file__):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("textual._"):
                used.append(f"{path.name}: {node.module}")
            elif isinstance(node, ast.Attribute) and node.attr in private and not isinstance(node.ctx, ast.Store):
                used.append(f"{path.name}:{node.lineno}: {node.attr}")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in private:
                used.append(f"{path.name}:{node.lineno}: {node.name}")
    assert used == []


def test_the_screen_below_a_dialog_has_the_tint_that_textual_gives_it() -> None:
    style = Style(color="red", bgcolor="#101418", bold=True, meta={"@click": "x"})
    segments = [Segment("a", style), Segment("b"), Segment("", None, [(ControlType.BELL,)])]
    for color in (Color(0, 0, 0, 0.6), Color(0, 0, 0, 0.0)):
        ours, textuals = (
            [*made.process_segments(segments, color)] for made in (textual_internals._Backdrop, BackgroundScreen)
        )
        assert ours == textuals


async def test_an_opening_dialog_is_drawn_whole_once_and_again_for_another_size() -> None:
    class Asking(FilteringScreen):
        laid_out: ClassVar[list[Size]] = []

        def accepts(self, message: Message) -> bool:
            return True

        def compose(self) -> ComposeResult:
            yield Label("Really?")

        def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:
            if size is not None:
                self.laid_out.append(size)
            super()._refresh_layout(size, scroll)

    app = App[int]()
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(Asking())
        await pilot.pause()
        await pilot.resize_terminal(100, 30)
        await pilot.pause()
        assert Asking.laid_out == [Size(80, 24), Size(100, 30)]


async def test_tasks_begin_after_the_code_that_starts_them() -> None:
    """Python 3.12 and newer have tasks that run at once, which Textual asks for: the first mode's widgets need its screen."""
    loop = asyncio.get_running_loop()
    loop.set_task_factory(lambda loop, coroutine, **names: asyncio.Task(coroutine, loop=loop, **names))
    async with make_app(FakeEngine()).run_test():
        assert loop.get_task_factory() is None


@pytest.mark.parametrize(("encoding", "shown"), [("utf-8", "1 hint… Wi‑Fi 日本"), ("latin-1", "1 hint~ Wi?Fi ????")])
def test_what_a_terminal_cannot_encode_keeps_its_cells(encoding: str, shown: str) -> None:
    """Python's stderr would write an escape sequence of six cells, and move everything behind it."""
    with TextIOWrapper(BytesIO(), encoding=encoding, errors="backslashreplace", write_through=True) as file:
        textual_internals._Terminal(file, pytest.fail).write("1 hint… Wi‑Fi 日本")
        file.seek(0)
        assert file.read() == shown
