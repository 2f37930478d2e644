"""The console on a real terminal that is suspended, continued, and resized at any speed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from tests.app.console.support import settings_screen
from tests.benchmarks.pty_probe import Probe, Screen
from tests.support import CLI, patience

SIZES = [(120, 36), (200, 60)]
GAPS = (0.0, 0.0, 0.004, 0.012, 0.05)
"""Seconds between two sizes: the console draws a frame in between, or does not."""


@pytest.fixture
def probe(tmp_path: Path) -> Iterator[Probe]:
    dump = tmp_path / "dump.xml"
    dump.write_text(settings_screen(), encoding="utf-8")
    argv = [*CLI, "console", "--snapshot", str(dump)]
    with Probe(argv, size=SIZES[0], env={"HOME": str(tmp_path)}, patience=patience(15)) as probe:
        probe.wait_for("▌tree")
        probe.wait_for("Bluetooth")
        yield probe


def frames(screen: Screen) -> list[str]:
    """The lines with the frames of the panes only: what is in them may be scrolled."""
    return ["".join(_SIDES.get(character, " ") for character in line) for line in screen.lines]


def rested(probe: Probe) -> list[str]:
    """The frames once three looks in a row show the same."""
    looks = [frames(probe.screen)]
    while len(looks) < 3 or looks[-3:] != looks[-1:] * 3:
        probe.pause(0.2)
        looks.append(frames(probe.screen))
    return looks[-1]


_SIDES = dict(zip("╭╮╰╯│─┏┓┗┛┃━", "╭╮╰╯│─╭╮╰╯│─", strict=True))


def test_the_whole_screen_and_the_focus_are_back_after_fg(probe: Probe) -> None:
    probe.write("g")
    probe.wait_for("go to")
    probe.write("n")
    probe.wait_for(lambda screen: "▌node" in screen and "go to" not in screen)
    before, switched = rested(probe), probe.screen.switched
    probe.suspend_and_continue("\x1a")
    probe.wait_for(lambda screen: screen.switched == switched + 2 and "▌node" in screen and frames(screen) == before)


def is_whole(screen: Screen) -> bool:
    """Whether each line of the panes has both its sides, and the first and last lines are there."""
    panes = ["".join(_SIDES.get(line[end], "") for end in (0, -1)) for line in screen.lines[1:-2]]
    return all(len(sides) == 2 for sides in panes) and "keys" in screen.lines[-1] and "Inspect" in screen.lines[0]


@pytest.mark.ci
def test_a_storm_of_sizes_leaves_a_whole_screen(probe: Probe) -> None:
    chance = random.Random(16)
    for _ in range(12):
        for _ in range(chance.randrange(1, 6)):
            probe.resize(chance.randrange(62, 200), chance.randrange(17, 60))
            probe.pause(chance.choice(GAPS))
        probe.resize(*chance.choice(SIZES))
        probe.wait_for(is_whole)


BURSTS = ("", "jjj", "\t", "j", "?", "\x1b")


def shows(screen: Screen, before: list[str]) -> bool:
    return frames(screen) == before


def repainted(screen: Screen, before: list[str]) -> bool:
    return "Inspect" in screen and frames(screen) != before


def test_what_is_painted_in_parts_is_what_a_whole_frame_paints(tmp_path: Path) -> None:
    """Only changed cells are sent: from the start on, the terminal shows what a repaint of everything shows."""
    columns, rows = SIZES[0]
    argv = [*CLI, "demo"]
    with Probe(argv, size=SIZES[0], env={"HOME": str(tmp_path)}, patience=patience(30)) as probe:
        probe.wait_for(lambda screen: "Thermostat" in screen and "doctor_ping" in screen)
        for keys in BURSTS:
            probe.write(keys)
            before = rested(probe)
            probe.resize(columns - 1, rows)
            probe.wait_for(partial(repainted, before=before))
            probe.resize(columns, rows)
            probe.wait_for(partial(shows, before=before))


GAPS_OF_KEYS = (0.0, 0.005, 0.015, 0.03, 0.06, 0.09, 0.12)
"""Seconds between Escape and the next key: what a terminal sends for Alt+key, a fast hand, and a slow one."""

OPENED = {
    "at": "━ send to",
    "ao": "━ open app",
    "a": "━ act",
    "y": "━ copy",
    "g": "━ go to",
    "?": "━ available keys",
    "\x10": "━ commands",
    "D": "━ device",
    "q": "━ confirm",
    "/zebra": "zebra",
    "mzebra": "zebra",
}
"""Keys that open a dialog, a menu or a field of Inspect, and what it shows."""

SHOWN = "executions · 2 shown"
"""The snapshot and the handshake of the start: nothing was sent."""


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Probe]:
    with Probe([*CLI, "demo"], size=SIZES[0], env={"HOME": str(tmp_path)}, patience=patience(30)) as probe:
        probe.wait_for(lambda screen: "Thermostat" in screen and "doctor_ping" in screen)
        probe.write("j" * 8)
        probe.wait_for('▌   │ │ │   TextView #icon ◉ "Thermostat"')
        yield probe


@pytest.mark.parametrize("opener", ["at", *(pytest.param(key, marks=pytest.mark.ci) for key in [*OPENED][1:])])
def test_escape_wins_however_soon_enter_comes(demo: Probe, opener: str) -> None:
    title = OPENED[opener]
    for gap in GAPS_OF_KEYS:
        demo.write(opener)
        demo.wait_for(title)
        demo.write("\x1b")
        demo.pause(gap)
        demo.write("\r")
        demo.wait_for(lambda screen: title not in screen)
        demo.write("gt")
        demo.wait_for(lambda screen: "▌tree" in screen and "━ go to" not in screen)
    assert SHOWN in demo.screen, demo.screen.text


def test_keys_on_a_terminal_that_is_too_small_do_nothing(demo: Probe) -> None:
    demo.write("at")
    demo.wait_for("━ send to")
    before = [line for line in demo.screen.lines if line.startswith(("┏━ send", "┃  tap", "┃  ✓ 1 match"))]
    demo.resize(50, 12)
    demo.wait_for("50×12 is too small – needs 60×16")
    small = rested(demo)
    demo.write("\r\x1b[200~\rq\x1b[201~at\r\x1b[<0;5;5M\x1b[<0;5;5m7jj/zebra\r")
    assert rested(demo) == small
    demo.resize(*SIZES[0])
    demo.wait_for(lambda screen: all(line in screen.lines for line in before) and "too small" not in screen)
    demo.write("\x1b")
    demo.wait_for(lambda screen: "━ send to" not in screen and SHOWN in screen)
    assert "zebra" not in demo.screen
    demo.resize(50, 12)
    demo.wait_for("is too small")
    demo.write("q")
    demo.wait_for(lambda screen: screen.switched == 2)
