from __future__ import annotations

import importlib.util
import io
import os
import random
import re
import struct
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from clawperator.app.cli.commands.console import DRAWING_FLAGS
from clawperator.app.console.inspect import pictures
from clawperator.app.console.inspect.pictures import choose_graphics, open_graphics, read_picture, take
from clawperator.app.console.terminal import PLAIN, Look
from clawperator.app.installation import install_command
from clawperator.engine.config.settings import Settings
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.facade import Engine
from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.run import Simulation
from clawperator.widgets.picture_view import Picture
from clawperator.widgets.text.times import WallClock
from tests.support import running, table, varied

CLOCK = WallClock(lambda: 1_700_000_940.0)
HAS_EXTRA = importlib.util.find_spec("textual_image") is not None
needs_extra = pytest.mark.skipif(not HAS_EXTRA, reason="the extra 'pictures' is not installed")


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def header(width: int, height: int) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))


def png(width: int, height: int, mode: str = "RGB") -> bytes:
    """Two halves, light over dark."""
    image = Image.new(mode, (width, height))
    if height > 1:
        image.paste(Image.new("L", (width, height // 2), 200).convert(mode), (0, 0))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def read(data: bytes) -> Picture:
    return read_picture(data, "emulator-5554", 1.0)


# -- reading


def test_a_phones_screen_is_kept_in_a_size_that_terminals_can_show() -> None:
    picture = read(png(1080, 2340))
    assert picture.problem == ""
    assert picture.size == (1080, 2340)
    assert picture.image is not None
    assert picture.image.size == (591, 1280)
    assert picture.image.mode == "RGB"


@table("mode", ["RGBA", "L", "LA", "P", "1", "I;16"])
def test_every_kind_of_png_becomes_rgb(mode: str) -> None:
    image = Image.new(mode, (8, 8), 60_000) if mode == "I;16" else Image.new("RGB", (8, 8), "#ff0000").convert(mode)
    out = io.BytesIO()
    image.save(out, "PNG")
    picture = read(out.getvalue())
    assert picture.image is not None
    assert picture.image.mode == "RGB"


@pytest.mark.parametrize("bars", ["#000000", "#ffffff"])
def test_a_screen_that_is_black_between_the_system_bars_is_no_picture(bars: str) -> None:
    image = Image.new("RGB", (1080, 2340), bars)
    image.paste("#000000", (0, 100, 1080, 2214))
    out = io.BytesIO()
    image.save(out, "PNG")
    picture = read(out.getvalue())
    assert (picture.problem, picture.image) == ("secure window or screen off, no picture", None)
    assert picture.size == (1080, 2340)
    image.paste("#808080", (300, 700, 400, 720))
    out = io.BytesIO()
    image.save(out, "PNG")
    assert read(out.getvalue()).problem == ""


BOMB = header(3_900, 3_900) + chunk(b"IDAT", zlib.compress(bytes(1000))) + chunk(b"IEND", b"")


@table(
    ("data", "words"),
    [
        (b"", "not send a PNG picture"),
        (b"GIF89a" + bytes(60), "not send a PNG picture"),
        (b"\xff\xd8\xff\xe0" + bytes(60), "not send a PNG picture"),
        (png(30, 30)[:-30], "damaged"),
        (png(30, 30)[:40], "damaged"),
        (header(30, 30), "damaged"),
        (header(30, 30) + chunk(b"IEND", b""), "damaged"),
        (header(30, 30) + chunk(b"IDAT", b"no zlib stream") + chunk(b"IEND", b""), "damaged"),
        (BOMB, "damaged"),
        (header(0, 30), "empty"),
        (header(2**31 - 1, 2**31 - 1), "too large (2,147,483,647 by 2,147,483,647 pixels)"),
        (header(20_000, 2), "too large"),
        (header(10_000, 10_000), "too large"),
    ],
)
def test_hostile_files_are_refused_in_words(data: bytes, words: str) -> None:
    picture = read(data)
    assert picture.image is None
    assert words in picture.problem


def test_text_that_unpacks_without_end_is_refused() -> None:
    text = chunk(b"zTXt", b"Comment\0\0" + zlib.compress(bytes(200 * 2**20), 9))
    data = png(30, 30)
    picture = read(data[:33] + text + data[33:])
    assert picture.image is None
    assert "damaged" in picture.problem


@given(st.integers(0, 2**32), st.integers(1, 12))
def test_damage_never_becomes_a_traceback(seed: int, hits: int) -> None:
    chance = random.Random(seed)
    data = bytearray(png(24, 24, chance.choice(("RGB", "RGBA", "P", "L"))))
    for _ in range(hits):
        data[chance.randrange(len(data))] = chance.randrange(256)
    picture = read(bytes(data[: chance.randrange(len(data)) if chance.random() < 0.3 else None]))
    assert (picture.image is None) == bool(picture.problem)


def test_a_file_beyond_all_bounds_is_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "MAX_BYTES", 1000)
    assert read(png(1080, 2340)).problem.startswith("the picture has more than")


# -- taking


@dataclass
class Camera:
    answer: bytes | EngineError
    asked: str | None = ""

    async def picture(self, *, device_id: str | None = None) -> bytes:
        self.asked = device_id
        if isinstance(self.answer, EngineError):
            raise self.answer
        return self.answer


async def test_a_picture_knows_its_device_and_moment() -> None:
    camera = Camera(png(10, 20))
    picture = await take(cast("Any", camera), "emulator-5554", CLOCK)
    assert (picture.device_id, picture.at, picture.size) == ("emulator-5554", CLOCK.now(), (10, 20))
    assert camera.asked == "emulator-5554"


async def test_what_the_engine_says_is_the_pictures_problem() -> None:
    picture = await take(cast("Any", Camera(EngineError(ErrorCode.DEVICE_OFFLINE, "the device is asleep"))), "x", CLOCK)
    assert (picture.image, picture.problem) == (None, "the device is asleep")


async def test_a_secure_window_of_the_simulated_device_gives_no_picture(tmp_path: Path) -> None:
    device = create_device()
    async with (
        Simulation([device], mode="server") as simulation,
        Engine(Settings.resolve(env={**simulation.env(), "HOME": str(tmp_path)})) as engine,
    ):
        plain = await take(engine, device.serial, CLOCK)
        assert plain.image is not None
        device.ui.show("com.example.vault", "login")
        vault = await take(engine, device.serial, CLOCK)
        assert (vault.problem, vault.image) == ("secure window or screen off, no picture", None)


# -- choosing

TRUE = {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
MONO = Look("claw-mono", ascii=False, no_colour=False)


@pytest.fixture
def with_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)


@pytest.mark.usefixtures("with_extra")
@pytest.mark.parametrize(
    ("env", "wanted", "choice"),
    [
        ({}, "auto", "halfblock"),
        (TRUE, "auto", "halfblock"),
        (TRUE | {"KITTY_WINDOW_ID": "1"}, "auto", "kitty"),
        ({"TERM": "xterm-kitty"}, "auto", "kitty"),
        ({"TERM": "xterm-ghostty"}, "auto", "kitty"),
        (TRUE | {"TERM_PROGRAM": "WezTerm"}, "auto", "sixel"),
        ({"TERM": "xterm", "XTERM_VERSION": "XTerm(379)"}, "auto", "sixel"),
        ({"TERM": "foot"}, "auto", "sixel"),
        ({"TERM": "foot", "TMUX": "/tmp/tmux-0/default,1,0"}, "auto", "halfblock"),
        ({"TERM": "tmux-256color", "KITTY_WINDOW_ID": "1"}, "auto", "halfblock"),
        ({"TERM": "screen-256color", "KITTY_WINDOW_ID": "1"}, "auto", "halfblock"),
        ({"TERM": "xterm-kitty", "ZELLIJ": "0"}, "auto", "halfblock"),
        ({"TERM": "xterm-kitty", "TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver"}, "auto", "halfblock"),
        ({"TERM": "xterm-kitty"}, "blocks", "halfblock"),
        ({"TERM": "xterm-kitty"}, "off", "none"),
        (TRUE, "sixel", "sixel"),
        ({"TERM": "tmux-256color", "TMUX": "x"}, "kitty", "kitty"),
    ],
)
def test_graphics_are_chosen_by_the_environment(env: dict[str, str], wanted: str, choice: str) -> None:
    assert choose_graphics(env, wanted) == choice


@table("wanted", pictures.CHOICES)
@table("look", [PLAIN._replace(ascii=True), PLAIN._replace(no_colour=True), MONO])
def test_without_colours_or_glyphs_there_is_no_picture(look: Look, wanted: str) -> None:
    assert choose_graphics({"TERM": "xterm-kitty"}, wanted, look=look) == "none"


def test_without_the_extra_half_blocks_serve_unless_graphics_were_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual_image", None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert choose_graphics({"TERM": "xterm-kitty"}, "auto") == "halfblock"
    assert open_graphics("kitty") is None
    with pytest.raises(EngineError) as caught:
        open_graphics("kitty", asked=True)
    assert caught.value.code is ErrorCode.HOST_DEPENDENCY_MISSING
    assert install_command("pictures") in (caught.value.hint or "")


def test_half_blocks_need_nothing_opened() -> None:
    assert open_graphics("halfblock", asked=True) is None
    assert open_graphics("none", asked=True) is None


@needs_extra
def test_graphics_that_no_one_asked_for_need_the_terminals_word() -> None:
    assert open_graphics("sixel") is None, "standard output is no terminal here"


@needs_extra
def test_sixels_are_one_control_string() -> None:
    graphics = open_graphics("sixel", asked=True)
    assert graphics is not None
    width, height = graphics.cell
    drawing = graphics.encode(Image.new("RGB", (4 * width, 3 * height), "#ff0000"), 4, 3)
    assert drawing.control.startswith(f'\x1bP0;0;0q"1;1;{4 * width};{3 * height}')
    assert drawing.control.endswith("\x1b\\")
    assert drawing.rows == ()


@needs_extra
def test_a_colour_is_chosen_after_it_was_defined() -> None:
    """A terminal that goes on in the colour before until another one is chosen shows the picture all the same."""
    graphics = open_graphics("sixel", asked=True)
    assert graphics is not None
    noise = Image.frombytes("RGB", (20, 20), random.Random(1).randbytes(20 * 20 * 3))
    control = graphics.encode(noise, 2, 1).control
    defined = re.findall(r"(#\d+);2;\d+;\d+;\d+(#\d+)?", control)
    assert len(defined) > 10
    assert all(colour == chosen for colour, chosen in defined)


OPENING = """
import sys
from clawperator.app.console.inspect.pictures import open_graphics
graphics = open_graphics(sys.argv[1])
print("opened", graphics and graphics.name)
"""


@needs_extra
@pytest.mark.skipif(sys.platform == "win32", reason="needs pseudo-terminals")
@varied(
    ("choice", "answers", "opened"),
    [
        ("kitty", {"\x1b[c": "\x1b[?62;c", "a=q": "\x1b_Gi={i};OK\x1b\\", "U=1": "\x1b_Gi={i};OK\x1b\\"}, "kitty"),
        ("kitty", {"\x1b[c": "\x1b[?62;c", "a=q": "\x1b_Gi={i};OK\x1b\\"}, "None"),
        ("kitty", {"\x1b[c": "\x1b[?62;c", "a=q": "\x1b_Gi={i};OK\x1b\\", "U=1": "\x1b_Gi={i};EINVAL\x1b\\"}, "None"),
        ("sixel", {"\x1b[c": "\x1b[?63;1;2;4;6c"}, "sixel"),
        ("sixel", {"\x1b[c": "\x1b[?63;1;2;6c"}, "None"),
    ],
    ids=["kitty", "kitty 0.26 is silent", "kitty refuses", "xterm -ti vt340", "xterm"],
    always=2,
)
def test_the_terminal_is_asked_for_what_will_be_used(choice: str, answers: dict[str, str], opened: str) -> None:
    import fcntl
    import pty
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 80, 800, 480))
    command = [sys.executable, "-c", OPENING, choice]
    said, left = "", dict(answers)
    with running(command, stdin=theirs, stdout=theirs, stderr=theirs):
        os.close(theirs)
        while not (found := re.search(r"opened (\w+)", said)):
            said += os.read(ours, 65536).decode()
            for question in [question for question in left if question in said]:
                numbers = re.findall(r"i=(\d+)", said)
                os.write(ours, left.pop(question).format(i=numbers[-1] if numbers else 0).encode())
    os.close(ours)
    assert found[1] == opened


@needs_extra
def test_kitty_gets_the_image_once_and_cells_that_point_into_it() -> None:
    graphics = open_graphics("kitty", asked=True)
    assert graphics is not None
    noise = Image.frombytes("RGB", (40, 60), random.Random(1).randbytes(40 * 60 * 3))
    drawing = graphics.encode(noise, 4, 3)
    *chunks, placement, end = drawing.control.split("\x1b\\")
    assert end == ""
    assert len(chunks) > 1
    assert all(len(part) < 4200 and ("m=1" in part) == (part is not chunks[-1]) for part in chunks)
    assert "U=1" in placement
    assert "c=4,r=3" in placement
    assert len(drawing.rows) == 3
    assert all(row.count("\U0010eeee") == 4 for row in drawing.rows)
    assert drawing.rows[0] != drawing.rows[1]
    assert drawing.style.color is not None


def test_the_command_line_offers_exactly_the_ways_that_the_console_knows() -> None:
    # Written there a second time, because asking this module for them would load Rich and Textual on every start.
    choices = {flag.dest: tuple(flag.choices) for flag in DRAWING_FLAGS}
    assert choices["pictures"] == pictures.CHOICES
