"""The shell around the modes: palette, help, shares of panes, read-only, and what happens when a pane fails."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.crash import CrashReports
from clawperator.app.console.palette.dialog import PaletteDialog
from clawperator.app.console.screens.forms import Form, QuestionDialog
from clawperator.app.console.screens.menu import PaletteEntry
from clawperator.widgets.ui_tree import UiTreePane
from tests.app.console.support import DEVICE, drained, until
from tests.app.console.test_console_journeys import SMALL, console, text_of, tree_of
from tests.support import patience


def offered(app: ConsoleApp) -> dict[str, PaletteEntry]:
    return {entry.name: entry for entry in app.palette.search().entries()}


async def typed(app: ConsoleApp, pilot: Pilot[int], words: str) -> None:
    """Open the palette and type."""
    await pilot.press("colon")
    await until(pilot, lambda: isinstance(app.screen, PaletteDialog))
    await pilot.press(*["space" if character == " " else character for character in words])


def strip(app: ConsoleApp) -> str:
    notice = app.session.last_notice
    return notice.text if notice is not None else ""


# -- palette


async def test_the_palette_offers_the_menus_and_the_commands_and_says_last_what_cannot_be_done() -> None:
    async with console() as (app, _, _):
        entries = offered(app)
        assert {"Copy: matcher  (y y)", "Act: tap  (a t)", "Step: sleep…  (i z)", "Go to: stream  (g s)"} <= set(
            entries
        )
        assert {"Snapshot: save as…", "Settings: ASCII on or off", "Theme: claw-light"} <= set(entries)
        assert f"Device: use {DEVICE.serial}" in entries
        reasons = [bool(entry.reason) for entry in entries.values()]
        assert reasons == sorted(reasons)


FOUND = {
    ("1", "draft"): "Everywhere: Run  (3)",
    ("1", "record"): "Everywhere: record  (I)",
    ("1", "export"): "Snapshot: save as…",
    ("1", "bug"): "Console: report a problem…",
    ("1", "exit"): "Everywhere: quit  (ctrl+q)",
    ("1", "search"): "Inspect: find  (/)",
    ("1", "backslash"): "",
    ("1", "usb debugging"): "",
    ("1", "nodes clickable"): "Inspect: filter  (\\)",
    ("2", "search"): "Stream: filter  (/)",
    ("2", "export"): "Stream: export  (x)",
}


async def test_a_command_is_found_by_its_description_and_by_words_of_other_tools() -> None:
    async with console() as (app, pilot, _):
        for (mode, words), entry in FOUND.items():
            await pilot.press(mode)
            await until(pilot, lambda: app.mode_screen is app.screen)
            found = app.palette.search().find(words)
            assert [hit.entry.name for hit in found[:1]] == ([entry] if entry else []), words


async def test_an_entry_that_cannot_be_done_says_why_when_it_is_chosen() -> None:
    async with console(look=False) as (app, pilot, _):
        app.session.leave_device()
        entry = offered(app)["Snapshot: save as…"]
        assert entry.reason == "there is no tree yet; press r to take one"
        app.palette.search().run(entry)
        assert strip(app) == entry.reason
        await drained(pilot)


async def test_typing_the_text_of_a_node_offers_the_jump() -> None:
    async with console() as (app, pilot, _):
        names = [entry.name for entry in app.palette.search()._jumps("bluetooth")]
        assert any("Bluetooth" in name for name in names)
        jump = next(iter(app.palette.search()._jumps("bluetooth")))
        jump.run()
        await drained(pilot)
        node = tree_of(app).node
        assert node is not None
        assert "bluetooth" in node.label.casefold()


async def test_a_theme_is_tried_on_under_the_cursor_and_taken_off_again() -> None:
    async with console() as (app, pilot, _):
        await typed(app, pilot, "theme claw-light")
        await until(pilot, lambda: app.theme == "claw-light")
        await pilot.press("escape")
        await until(pilot, lambda: app.theme == "claw-dark")


@pytest.mark.ci
async def test_a_theme_that_was_chosen_stays() -> None:
    async with console() as (app, pilot, _):
        await typed(app, pilot, "theme claw-contrast")
        await until(pilot, lambda: app.theme == "claw-contrast")
        await pilot.press("enter")
        await until(pilot, lambda: not isinstance(app.screen, PaletteDialog))
        await drained(pilot)
        assert app.theme == "claw-contrast"


# -- chores


@pytest.mark.ci
async def test_the_dump_that_is_shown_is_saved_and_an_existing_file_only_after_asking(tmp_path: Path) -> None:
    async with console() as (app, pilot, _):
        path = tmp_path / "screen.xml"
        path.write_text("mine", encoding="utf-8")
        app.palette.commands.save_dump()
        await drained(pilot)
        assert isinstance(app.screen, Form)
        app.screen.dismiss(str(path))
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        assert path.read_text(encoding="utf-8") == "mine"
        await pilot.press("enter")
        await until(pilot, lambda: path.read_text(encoding="utf-8") == app.session.trees.shown.xml)
        await until(pilot, lambda: strip(app).startswith("Saved "))


async def test_a_saved_dump_is_looked_at_instead_of_the_device_until_the_device_is_chosen_again(tmp_path: Path) -> None:
    async with console() as (app, pilot, engine):
        live = app.session.trees.shown
        path = tmp_path / "other.xml"
        path.write_text(live.xml, encoding="utf-8")
        app.palette.commands._open(str(path))
        await until(pilot, lambda: app.session.trees.shown.name == "other.xml")
        assert app.session.device_id == ""
        assert tree_of(app).snapshot.source == "file"
        app.use_device(DEVICE.serial)
        await until(pilot, lambda: app.session.trees.shown.source != "file")
        await until(pilot, lambda: engine.watched == [DEVICE.serial, DEVICE.serial])


async def test_a_file_that_is_not_there_is_refused_in_words(tmp_path: Path) -> None:
    async with console() as (app, pilot, _):
        app.palette.commands._open(str(tmp_path / "none.xml"))
        assert "is not a file" in strip(app)
        assert app.session.device_id == DEVICE.serial
        await drained(pilot)


async def test_ascii_is_switched_on_and_off_while_it_runs() -> None:
    async with console() as (app, pilot, _):
        glyphs = set("✓◉▾⇅╭│━⏎")
        assert glyphs <= set(text_of(app))
        app.toggle_ascii()
        await drained(pilot)
        assert not glyphs & set(text_of(app))
        app.toggle_ascii()
        await drained(pilot)
        assert glyphs <= set(text_of(app))


# -- shares of panes


@pytest.mark.ci
async def test_a_pane_is_made_wider_and_the_choice_belongs_to_that_size_of_terminal() -> None:
    async with console() as (app, pilot, _):
        side = app.screen.query_one("#side")
        before = side.outer_size.width
        app.screen.set_focus(app.screen.query_one("#bench"))
        await pilot.press("right_curly_bracket", "right_curly_bracket")
        await until(pilot, lambda: side.outer_size.width == before + 8)
        await pilot.resize_terminal(200, 60)
        await until(pilot, lambda: side.outer_size.width == 50)
        await pilot.resize_terminal(120, 36)
        await until(pilot, lambda: side.outer_size.width == before + 8)


@pytest.mark.ci
async def test_the_tree_grows_at_the_cost_of_its_neighbour_and_never_squeezes_it_away() -> None:
    async with console() as (app, pilot, _):
        tree = tree_of(app)
        width = tree.outer_size.width
        await pilot.press(*["right_curly_bracket"] * 30)
        await until(pilot, lambda: tree.outer_size.width > width)
        assert app.screen.query_one("#side").outer_size.width == 18


@pytest.mark.ci
async def test_the_border_beside_the_tree_follows_the_mouse_in_steps() -> None:
    async with console() as (app, pilot, _):
        side = app.screen.query_one("#side")
        before, x = side.outer_size.width, side.region.x
        await pilot.mouse_down(offset=(x, 10))
        for cells in (-2, -5, -9, -12):
            await pilot.hover(offset=(x + cells, 10))
        await until(pilot, lambda: side.outer_size.width == before + 12)
        await pilot.hover(offset=(x, 10))
        await until(pilot, lambda: side.outer_size.width == before)
        await pilot.mouse_up(offset=(x, 10))
        await pilot.hover(offset=(x - 12, 10))
        await drained(pilot)
        assert side.outer_size.width == before


async def test_where_a_pane_is_alone_there_is_nothing_to_share() -> None:
    async with console(size=SMALL) as (app, pilot, _):
        await pilot.press("right_curly_bracket")
        await drained(pilot)
        assert "full width" in strip(app)


# -- read-only


async def test_a_read_only_console_dims_what_acts_and_says_why_when_it_is_pressed() -> None:
    async with console(read_only=True) as (app, pilot, engine):
        calls = list(engine.calls)
        assert not app.screen.active_bindings["a"].enabled
        assert app.screen.active_bindings["i"].enabled
        assert "read-only" in text_of(app)
        await pilot.press("a", "t")
        await drained(pilot)
        assert strip(app).startswith("Read-only")
        assert engine.calls == calls
        assert not any(name.startswith("Act:") for name in offered(app))
        assert offered(app)["Inspect: act  (a)"].reason.startswith("Read-only")


# -- failures


class BrokenError(RuntimeError):
    pass


def break_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    def row(self: UiTreePane, index: int, width: int) -> Any:
        raise BrokenError("secret words of the device")

    monkeypatch.setattr(UiTreePane, "row", row)


async def test_a_pane_that_fails_is_reported_once_and_the_others_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = tmp_path / "state" / "console-crash.txt"
    async with console(crashes=CrashReports(report, lambda: "noon")) as (app, pilot, _):
        break_rows(monkeypatch)
        tree_of(app).content_changed()
        await until(pilot, lambda: "could not be drawn" in text_of(app))
        await until(pilot, lambda: "A pane failed" in strip(app))
        written = report.read_text(encoding="utf-8")
        assert written.count("a row of #tree") == 1
        assert "BrokenError" in written
        assert report.stat().st_mode & 0o777 == 0o600
        await pilot.press("7")
        await until(pilot, lambda: app.current_mode == "devices")
        assert DEVICE.serial in text_of(app)


async def test_without_a_place_for_reports_a_failing_pane_fails_the_console(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BrokenError):  # noqa: PT012  # it ends with the console
        async with console() as (app, _, _):
            break_rows(monkeypatch)
            tree_of(app).content_changed()
            async with asyncio.timeout(patience(15)):
                while app.return_code is None:  # noqa: ASYNC110  # ``until`` asks widgets: they may be gone
                    await asyncio.sleep(0)


async def test_a_failure_that_ends_the_console_is_written_down_and_prints_no_device_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "console-crash.txt"
    with pytest.raises(BrokenError):  # noqa: PT012  # it ends with the console
        async with console(crashes=CrashReports(report, lambda: "noon")) as (app, pilot, _):
            app.call_later(_fail)
            await pilot.pause()
    assert "BrokenError: secret words" in report.read_text(encoding="utf-8")
    said = "".join(capsys.readouterr().err.split())
    assert said == f"The console failed (BrokenError) and had to close. The report is in {report}".replace(" ", "")


def _fail() -> None:
    raise BrokenError("secret words")


def test_reports_restart_before_they_fill_the_disk(tmp_path: Path) -> None:
    report = tmp_path / "console-crash.txt"
    report.write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(BrokenError) as caught:
        _fail()
    assert CrashReports(report, lambda: "noon").add(caught.value, "a test")
    assert report.read_text(encoding="utf-8").startswith("noon  a test")
