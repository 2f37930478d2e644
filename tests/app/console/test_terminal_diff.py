"""What is sent for a frame leaves the terminal as the whole frame would."""

from __future__ import annotations

import random
import re

import pytest
from rich.color import ColorSystem
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from textual._compositor import ChopsUpdate
from textual.strip import Strip

from clawperator.app.console.terminal_diff import TerminalDiff, _parsed
from clawperator.app.console.textual_internals import _ChangedCells
from tests.benchmarks.pty_probe import Screen

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


def row(chance: random.Random) -> list[Segment]:
    """A row of exactly the terminal's width."""
    segments = [Segment(chance.choice(PIECES), chance.choice(STYLES)) for _ in range(chance.randrange(1, 7))]
    return list(Strip(segments).adjust_cell_length(COLUMNS, chance.choice(STYLES)))


@pytest.mark.parametrize("seed", range(20))
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
        assert shown.colours == whole.colours


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
    assert new in diff.end()  # how wide it is, is the terminal's decision


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
