"""The user's own themes: files of people, which are wrong in every way, and change while the console runs."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual._styles_cache import StylesCache
from textual.app import App, ComposeResult
from textual.color import Color
from textual.theme import Theme
from textual.widgets import Static

from clawperator.app.console.textual_internals import CachedStylesheet
from clawperator.app.console.user_themes import MAX_BYTES, MAX_FILES, UserThemes, apply_theme, read_theme
from clawperator.themes.claw import DARK, LIGHT, contrast
from clawperator.widgets.models.status import Status
from tests.support import patience

GOOD = """
name = "midnight"
dark = true
[colors]
background = "#000010"
[variables]
state-ok = "rgb(120, 240, 120)"
match-style = "bold underline"
"""


def written(folder: Path, text: str, name: str = "midnight.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def test_a_theme_says_what_is_different_from_its_base(tmp_path: Path) -> None:
    theme, remarks = read_theme(written(tmp_path, GOOD))
    assert remarks == ()
    assert theme is not None
    assert (theme.name, theme.dark, theme.background) == ("midnight", True, "#000010")
    assert theme.foreground == DARK.foreground
    assert theme.variables["state-ok"] == "#78F078"
    assert theme.variables["match-style"] == "bold underline"
    assert theme.variables["state-fail"] == DARK.variables["state-fail"]


def test_an_empty_file_is_a_copy_under_its_own_name(tmp_path: Path) -> None:
    theme, _ = read_theme(written(tmp_path, "", "plain.toml"))
    assert theme is not None
    assert (theme.name, theme.background) == ("plain", DARK.background)


@pytest.mark.parametrize(
    ("text", "base"), [("dark = false", LIGHT), ('base = "claw-light"', LIGHT), ('base = "claw-dark"', DARK)]
)
def test_what_a_theme_starts_from(tmp_path: Path, text: str, base: Theme) -> None:
    theme, _ = read_theme(written(tmp_path, text))
    assert theme is not None
    assert (theme.background, theme.dark) == (base.background, base.dark)


@pytest.mark.parametrize(
    ("text", "remark"),
    [
        ('\n[colors]\nbackground = "blu"', "midnight.toml:3: background: 'blu' is not a colour; write it as #rrggbb"),
        ('[colors]\npanel = "auto 50%"', "midnight.toml:2: panel: 'auto 50%' is not a colour; write it as #rrggbb"),
        ('[colors]\npanel = "ansi_red"', "midnight.toml:2: panel: 'ansi_red' must be a plain colour"),
        ('[colors]\npanel = "#11223380"', "midnight.toml:2: panel: '#11223380' must be a plain colour"),
        ("[colors]\npanel = 3", "midnight.toml:2: panel must be a short text in quotes, got 3"),
        ('[colors]\nbackgruond = "red"', "Unknown colour 'backgruond'. Did you mean 'background'?"),
        ('[variables]\nstate-okay = "red"', "midnight.toml:2: Unknown variable 'state-okay'. Did you mean 'state-ok'?"),
        ('[variables]\nmatch-style = "blink"', "midnight.toml:2: match-style: a style is made of bold, dim, italic"),
        ("colors = 3", "midnight.toml:1: colors must be a table, got 3"),
        ("dark = 1", "midnight.toml:1: dark must be true or false, got 1"),
        ('base = "claw-drak"', "midnight.toml:1: Unknown base 'claw-drak'. Did you mean 'claw-dark'?"),
        ('base = "claw-mono"', "midnight.toml:1: Unknown base 'claw-mono'"),
        ('name = "../x"', "midnight.toml:1: A theme is called by a-z, 0-9, _ and -, not '../x'"),
        ('name = "claw-dark"', "midnight.toml:1: claw-dark is a theme of the console's own"),
        ('name = "nord"', "midnight.toml:1: nord is a theme of the console's own"),
        ("colours = {}", "midnight.toml:1: Unknown key 'colours'. Did you mean 'colors'?"),
        ("\n\n= =", "midnight.toml:3: invalid TOML"),
        ("a = " + "[" * 20_000, "midnight.toml"),
        ("#" * (MAX_BYTES + 1), "midnight.toml: A theme has no more than 65,536 bytes"),
    ],
)  # fmt: skip
def test_a_mistake_is_reported_with_its_line_and_there_is_no_theme(tmp_path: Path, text: str, remark: str) -> None:
    theme, (reported,) = read_theme(written(tmp_path, text))
    assert theme is None
    assert remark in reported


def test_what_is_hard_to_read_is_reported_and_used_all_the_same(tmp_path: Path) -> None:
    theme, (reported,) = read_theme(written(tmp_path, '[variables]\nstate-ok = "#223322"'))
    assert theme is not None
    assert reported.startswith("midnight.toml: hard to read (contrast below 4.5): state-ok on ")


def test_no_kind_of_file_holds_the_console_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "gone.toml").symlink_to(tmp_path / "nowhere")
    (tmp_path / "bytes.toml").write_bytes(b'name = "\xff"')
    for number in range(MAX_FILES + 5):
        written(tmp_path, "", f"zz{number:04}.toml")
    reported: list[str] = []
    themes = UserThemes(tmp_path, lambda _: None, lambda _, words: reported.append(words)).load()
    assert len(themes) == MAX_FILES - 4
    assert sorted(words.partition(":")[0] for words in reported) == ["bytes.toml", "folder.toml", "pipe.toml"]


def test_of_two_files_with_one_name_the_first_has_it(tmp_path: Path) -> None:
    written(tmp_path, 'name = "same"', "a.toml")
    written(tmp_path, 'name = "same"', "b.toml")
    reported: list[str] = []
    themes = UserThemes(tmp_path, lambda _: None, lambda _, words: reported.append(words)).load()
    assert [theme.name for theme in themes] == ["same"]
    assert reported == ["b.toml:1: Another file describes a theme called same already"]


@given(st.text(max_size=200), st.binary(max_size=200))
def test_nothing_that_stands_in_a_file_is_an_internal_fault(
    tmp_path_factory: pytest.TempPathFactory, text: str, data: bytes
) -> None:
    folder = tmp_path_factory.getbasetemp()
    path = folder / "any.toml"
    path.write_bytes(data)
    read_theme(path)
    path.write_text(f'[colors]\npanel = "{text}"', errors="replace")
    read_theme(path)


def test_contrast_is_the_one_of_wcag() -> None:
    assert contrast(Color.parse("#000"), Color.parse("#fff")) == pytest.approx(21)
    assert contrast(Color.parse("#767676"), Color.parse("#fff")) == pytest.approx(4.54, abs=0.01)


class Watching:
    """What a running ``UserThemes`` said and applied; ``until`` waits for the next word of it."""

    def __init__(self, folder: Path) -> None:
        self.applied: list[Theme] = []
        self.reported: list[tuple[Status, str]] = []
        self._news = asyncio.Event()
        self.themes = UserThemes(folder, self.applied.append, self._on_progress)

    def _on_progress(self, status: Status, words: str) -> None:
        self.reported.append((status, words))
        self._news.set()

    async def until(self, enough: Callable[[], bool]) -> None:
        async with asyncio.timeout(patience(20)):
            while not enough():
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def watching(folder: Path) -> AsyncIterator[Watching]:
    watcher = Watching(folder)
    task = asyncio.create_task(watcher.themes.watch())
    try:
        yield watcher
    finally:
        task.cancel()
        async with asyncio.timeout(patience(5)):
            await asyncio.gather(task, return_exceptions=True)


async def test_a_folder_that_appears_later_is_noticed_and_so_is_every_change(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "clawperator" / "themes"
    async with watching(folder) as watcher:
        folder.mkdir(parents=True)
        written(folder, GOOD)
        await watcher.until(lambda: len(watcher.applied) == 1)
        assert watcher.reported == [(Status.OK, "Theme midnight was read again from midnight.toml")]
        written(folder, "[colors]\nbackground = 'blu'")
        await watcher.until(lambda: len(watcher.reported) == 2)
        assert watcher.reported[1] == (
            Status.WARN,
            "midnight.toml:2: background: 'blu' is not a colour; write it as #rrggbb",
        )
        assert len(watcher.applied) == 1
        written(folder, GOOD.replace("#000010", "#000020"))
        await watcher.until(lambda: len(watcher.applied) == 2)
        assert watcher.applied[1].background == "#000020"


async def test_a_folder_that_is_replaced_is_looked_at_again(tmp_path: Path) -> None:
    folder = tmp_path / "themes"
    folder.mkdir()
    written(folder, GOOD)
    async with watching(folder) as watcher:
        await watcher.until(lambda: len(watcher.applied) == 1)
        folder.rename(tmp_path / "old")
        folder.mkdir()
        written(folder, 'name = "other"', "other.toml")
        await watcher.until(lambda: len(watcher.applied) == 2)
        assert watcher.applied[1].name == "other"


async def test_what_was_loaded_is_not_applied_again(tmp_path: Path) -> None:
    written(tmp_path, GOOD)
    async with watching(tmp_path) as watcher:
        assert [theme.name for theme in watcher.themes.load()] == ["midnight"]
        written(tmp_path, 'name = "other"', "other.toml")
        await watcher.until(lambda: bool(watcher.applied))
        assert [theme.name for theme in watcher.applied] == ["other"]


class Painted(App[None]):
    CSS = "Static { background: $background; color: $state-ok; }"

    def compose(self) -> ComposeResult:
        yield Static("x")

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return DARK.variables


async def test_the_theme_that_is_worn_is_drawn_again_at_once(tmp_path: Path) -> None:
    first, _ = read_theme(written(tmp_path, GOOD))
    second, _ = read_theme(written(tmp_path, GOOD.replace("#000010", "#102030").replace("120, 240", "130, 240")))
    assert first is not None
    assert second is not None
    app = Painted()
    async with app.run_test() as pilot:
        apply_theme(app, first)
        assert app.theme != "midnight"
        app.theme = "midnight"
        await pilot.pause()
        assert app.query_one(Static).styles.background == Color.parse("#000010")
        apply_theme(app, second)
        await pilot.pause()
        assert app.query_one(Static).styles.background == Color.parse("#102030")
        assert app.query_one(Static).styles.color == Color.parse("rgb(130, 240, 120)")


def test_a_stylesheet_is_parsed_again_only_for_other_variables() -> None:
    sheet = CachedStylesheet(variables={"ink": "red"})
    sheet.add_source("Static { color: $ink; }")
    (rule,) = sheet.rules
    sheet.set_variables({"ink": "red"})
    sheet.reparse()
    assert sheet.rules[0] is rule
    sheet.set_variables({"ink": "blue"})
    sheet.reparse()
    assert (rule.styles.color, sheet.rules[0].styles.color) == (Color.parse("red"), Color.parse("blue"))
    sheet.set_variables({"ink": "red"})
    sheet.reparse()
    assert sheet.rules[0] is rule, "a theme that is worn again costs no parsing"


def test_what_a_closed_widget_has_painted_is_not_kept() -> None:
    painted = StylesCache()
    painted.get_inner_outer(Color.parse("red"), Color.parse("blue"))
    gone = weakref.ref(painted)
    del painted
    assert gone() is None
