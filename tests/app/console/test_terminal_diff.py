"""What is sent for a frame leaves the terminal as the whole frame would."""

from __future__ import annotations

import random
import re
from typing import Any

import pytest
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate, CompositorUpdate, LayoutUpdate
from textual.strip import Strip
from textual.widget import Widget

from clawperator.app.console.terminal_diff import TerminalDiff, _parsed
from clawperator.app.console.textual_internals import ReportingApp, _ChangedCells
from tests.app.console.support import CHECKS_OK, NOON, FakeEngine, drained, hostile_screen, mixed_stream, until
from tests.app.console.test_console_journeys import console
from tests.benchmarks.pty_probe import Screen
from tests.support import table

COLUMNS, ROWS = 30, 4
STYLES = [
    Style.parse(words)
    for words in (
        "#d3dae3 on #11151a", "#959fb0 on #11151a", "bold #efd6ff on #11151a", "white on #3573ab", "bold underline red",
        "reverse", "dim italic", "blue on bright_green", "default on default", "color(17) on color(200)",
    )
]  # fmt: skip
PIECES = ("", "a", "Item 12", "      ", "│ ", "▌", "text", "日本", "e\u0301", "👍🏽")


class Terminal(Screen):
    """Keeps the colours of the cells as well."""

    def __init__(self, columns: int = COLUMNS, rows: int = ROWS) -> None:
        super().__init__(columns, rows)
        self._now = _parsed("\x1b[0m")
        self.colours = {(x, y): self._now for x in range(columns) for y in range(rows)}

    def resize(self, columns: int, rows: int) -> None:
        super().resize(columns, rows)
        plain = _parsed("\x1b[0m")
        self.colours = {(x, y): self.colours.get((x, y), plain) for x in range(columns) for y in range(rows)}

    def _write(self, text: str) -> None:
        for character in text:
            before = self._x
            super()._write(character)
            self.colours |= {(x, self._y): self._now for x in range(before, self._x)}

    def _command(self, command: str, arguments: str) -> None:
        if command != "m":
            super()._command(command, arguments)
            return
        numbers = re.sub(r"^0;?", "", arguments)
        plain = _parsed("\x1b[0m") if arguments.startswith("0") or not arguments else self._now
        new = _parsed(f"\x1b[{numbers}m")
        kept = {"39": "", "49": ""}
        self._now = plain._replace(
            foreground=kept.get(new.foreground, new.foreground or plain.foreground),
            background=kept.get(new.background, new.background or plain.background),
            attributes=plain.attributes | new.attributes,
        )

    def visible(self) -> dict[tuple[int, int], object]:
        """Return what each cell shows of its colours: a blank without a line or reversed colours shows its background only."""
        return {
            (x, y): now.background if self._cells[y][x] == " " and now.attributes <= {"1", "2", "3"} else now
            for (x, y), now in self.colours.items()
        }


def row(chance: random.Random) -> list[Segment]:
    """A row of exactly the terminal's width."""
    segments = [Segment(chance.choice(PIECES), chance.choice(STYLES)) for _ in range(chance.randrange(1, 7))]
    return list(Strip(segments).adjust_cell_length(COLUMNS, chance.choice(STYLES)))


@table("seed", range(20))
def test_the_terminal_shows_the_frame(seed: int) -> None:
    chance = random.Random(seed)
    diff, shown = TerminalDiff(), Terminal()
    diff.resize(COLUMNS)
    frame = [row(chance) for _ in range(ROWS)]
    for number in range(12):
        for y in range(ROWS) if not number else chance.sample(range(ROWS), 2):
            frame[y] = row(chance)
            diff.write(0, y, [Strip(frame[y])], ColorSystem.TRUECOLOR)
        shown.feed(diff.end())
        whole = Terminal()
        for y, segments in enumerate(frame):
            whole.feed(f"\x1b[{y + 1};1H{Strip(segments).render(_console())}")
        assert shown.lines == whole.lines
        assert shown.visible() == whole.visible()


def _console() -> Console:
    return Console(force_terminal=True, color_system="truecolor", legacy_windows=False)


@pytest.mark.parametrize(("old", "new"), [("日e\u0301", "日a\u0301"), ("e\u0301日x", "e\u0301月x"), ("का", "कि")])
def test_characters_without_a_cell_of_their_own_move_none(old: str, new: str) -> None:
    """A wide character and a combining mark have together as many cells as characters."""
    diff, shown, whole = TerminalDiff(), Terminal(), Terminal()
    diff.resize(COLUMNS)
    for text in (old, new):
        diff.write(0, 0, [Strip([Segment(text, STYLES[0])])], ColorSystem.TRUECOLOR)
        shown.feed(diff.end())
    whole.feed(f"\x1b[1;1H{Strip([Segment(new, STYLES[0])]).render(_console())}")
    assert shown.lines == whole.lines
    diff.write(0, 0, [Strip([Segment(new, STYLES[0])])], ColorSystem.TRUECOLOR)
    assert not diff.end()


@pytest.mark.parametrize("neighbour", ["x", "月"])
def test_a_changed_text_of_uncertain_width_repaints_its_neighbour(neighbour: str) -> None:
    """How wide it is, is the terminal's decision."""
    diff = TerminalDiff()
    diff.resize(COLUMNS)
    for text, sent in (("日", True), ("日", False), ("本", True)):
        diff.write(0, 0, [Strip([Segment(text, STYLES[0]), Segment(neighbour, STYLES[1])])], ColorSystem.TRUECOLOR)
        assert (neighbour in diff.end()) is sent


def test_an_equal_frame_sends_nothing_and_a_moved_cursor_little() -> None:
    diff = TerminalDiff()
    diff.resize(COLUMNS)
    quiet, cursor = STYLES[0], STYLES[3]

    def written(*styles: Style) -> str:
        for y, style in enumerate(styles):
            diff.write(0, y, [Strip([Segment("Item", style), Segment(" " * 26, style)])], ColorSystem.TRUECOLOR)
        return diff.end()

    assert len(written(cursor, quiet, quiet)) > 100
    assert written(cursor, quiet, quiet) == ""
    assert len(written(quiet, cursor, quiet)) < 2 * (COLUMNS + 50)
    diff.forget()
    assert "Item" in written(quiet, cursor, quiet)


def test_each_colour_is_sent_once_and_unchanged_cells_are_not() -> None:
    diff = TerminalDiff()
    diff.resize(COLUMNS)
    label, value = STYLES[0], STYLES[1]

    def scrolled(first: int) -> str:
        for y in range(ROWS):
            row = [Segment("name ", label), Segment(f"{first + y}" * 5, value), Segment(" " * 20, label)]
            diff.write(0, y, [Strip(row)], ColorSystem.TRUECOLOR)
        return diff.end()

    scrolled(1)
    sent = scrolled(2)
    assert (sent.count("\x1b[38;2"), "name" in sent, "22222" in sent) == (1, False, True)


def test_a_picture_is_sent_as_it_is_and_what_it_covered_is_painted_again() -> None:
    diff = TerminalDiff()
    diff.resize(COLUMNS)
    picture = "\x1b_Ga=p;\x1b\\"
    diff.write(0, 0, [Strip([Segment("ab", STYLES[0])])], ColorSystem.TRUECOLOR)
    diff.end()
    diff.write(0, 0, [Strip([Segment(picture, None), Segment("  ", None)], 2)], ColorSystem.TRUECOLOR)
    assert picture in diff.end()
    diff.write(0, 0, [Strip([Segment("  ", STYLES[0])])], ColorSystem.TRUECOLOR)
    assert "  " in diff.end()


def test_nothing_beyond_the_changed_span_is_painted() -> None:
    """The compositor leaves blanks there, because it has rendered the span only."""
    changed, not_rendered = Strip([Segment("new", STYLES[0])]), Strip([Segment(" " * 27, STYLES[0])])
    for left, right in ((0, 3), (0, 2)):
        frame = ChopsUpdate([{0: changed, 3: not_rendered}], [(0, left, right)], [[3, 30]])
        shown = Terminal()
        shown.feed("\x1b[1;1H" + "x" * COLUMNS)
        shown.feed(_ChangedCells(frame, TerminalDiff(), COLUMNS).render_segments(_console()))
        assert shown.lines[0] == "new"[:right] + "x" * (COLUMNS - right)


# -- a whole console


class Watched:
    """The terminal of a console in a test, which has none: it gets what each frame would send, from the first one on."""

    def __init__(self, size: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
        self.terminal = Terminal(*size)
        display = ReportingApp._display

        def sent(app: ReportingApp, screen: Any, frame: Any) -> None:
            self.app = app
            if isinstance(frame, LayoutUpdate | ChopsUpdate) and not app._batch_count:
                if (self.terminal.columns, self.terminal.rows) != app.size:
                    self.terminal.resize(*app.size)
                self.terminal.feed(self._sequence(frame, app.shown))
            display(app, screen, frame)

        monkeypatch.setattr(ReportingApp, "_display", sent)

    def _sequence(self, frame: CompositorUpdate, shown: TerminalDiff) -> str:
        return _ChangedCells(frame, shown, self.app.size.width).render_segments(_console())

    def differences(self) -> list[str]:
        """The rows that a whole frame, painted without what the widgets have kept, would change."""
        for screen in self.app.screen_stack:
            for widget in screen.walk_children(with_self=True):
                if isinstance(widget, Widget):
                    widget._styles_cache.clear()
                widget.notify_style_update()
        compositor, whole = self.app.screen._compositor, Terminal(*self.app.size)
        dirty = set(compositor._dirty_regions)
        whole.feed(self._sequence(compositor.render_full_update(), TerminalDiff()))
        compositor._dirty_regions = dirty
        seen, right = self.terminal.visible(), whole.visible()
        return [
            f"{y}: {shown!r} instead of {wanted!r}"
            for y, (shown, wanted) in enumerate(zip(self.terminal.lines, whole.lines, strict=True))
            if shown != wanted or any(seen[x, y] != right[x, y] for x in range(whole.columns))
        ]


KEYS = (
    *"jjjkkhlgyaicvtswfmzr{}?:1234567,.]dnNpoeb\\-*JKI!", *("escape", "enter", "tab", "space", "slash", "down", "pagedown"),
    *("escape", "enter", "tab", "shift+tab", "home", "G"),
)  # fmt: skip


@pytest.mark.parametrize(
    ("seed", "size", "theme"),
    [
        (1, (120, 36), "claw-dark"),
        pytest.param(2, (80, 24), "nord", marks=pytest.mark.ci),
        pytest.param(3, (200, 60), "claw-light", marks=pytest.mark.ci),
        pytest.param(4, (80, 24), "claw-mono", marks=pytest.mark.ci),
    ],
)
async def test_a_walk_through_the_console_leaves_what_whole_frames_leave(
    seed: int, size: tuple[int, int], theme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys, clicks and sizes at random, on a screen whose texts have characters of every width."""
    chance = random.Random(seed)
    done: list[Any] = []
    watched = Watched(size, monkeypatch)
    async with console(FakeEngine(screen=hostile_screen(), checks=CHECKS_OK), size=size) as (app, pilot, engine):
        await until(pilot, lambda: not watched.differences())
        engine.publish(*mixed_stream(NOON))
        await until(pilot, lambda: not watched.differences())
        app.theme = theme
        for number in range(32):
            if number % 11 == 10:
                done.append((chance.randrange(60, 200), chance.randrange(16, 60)))
                await pilot.resize_terminal(*done[-1])
            elif number % 5 == 4:
                done.append((chance.randrange(app.size.width), chance.randrange(app.size.height)))
                await pilot.click(offset=done[-1], times=chance.choice((1, 2)))
            else:
                done.append(chance.choice(KEYS))
                await pilot.press(done[-1])
            await drained(pilot)
            if number % 4 == 3:
                try:
                    await until(pilot, lambda: not watched.differences())
                except AssertionError as error:
                    raise AssertionError(f"after {done}: {watched.differences()}") from error
