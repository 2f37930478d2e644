"""Pictures for the screen pane: how this terminal can show them, and taking one.

Graphics protocols come from ``textual-image``, an optional extra. It asks the terminal on import, so it is imported here, late,
by ``open_graphics``, which belongs before the app starts.
"""

from __future__ import annotations

import asyncio
import importlib.util
import io
import os
import re
import struct
import sys
import zlib
from base64 import b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from rich.color import Color
from rich.style import Style

from clawperator.app.console.terminal import PLAIN, Look
from clawperator.app.extras import not_installed
from clawperator.engine.errors import EngineError
from clawperator.widgets.picture_view import Drawing, Graphics, Picture

if TYPE_CHECKING:
    from PIL.Image import Image

    from clawperator.widgets.text.times import WallClock

CHOICES = ("auto", "kitty", "sixel", "blocks", "off")
"""Values of ``console --pictures``."""

MAX_BYTES = 64 * 1024 * 1024
MAX_SIDE = 16_384
MAX_PIXELS = 16_000_000
"""Twice a 4K screen; decoded they take four bytes each for a moment."""
KEPT_SIDE = 1_280
"""The longer side of what is kept: finer than any pane of a terminal, 2 MB for a phone's screen."""

ANSWER_SECONDS = 0.3
"""So long a terminal may take to say whether it has placeholders; after that half blocks serve."""

_BAR_SHARE = 0.08
_PNG_HEAD = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
_KITTY_CHUNK = 4096
_KITTY_ID = (os.getpid() & 0xFFFFFF) or 1
"""One image per console: sending it again replaces it, so the terminal's memory does not grow. Its bits are a cell's colour."""


class PictureEngine(Protocol):
    """The part of the engine that takes pictures."""

    async def picture(self, *, device_id: str | None = None) -> bytes: ...


# -- what the terminal can do


def choose_graphics(env: Mapping[str, str], wanted: str, *, look: Look = PLAIN) -> str:
    """``kitty``, ``sixel``, ``halfblock`` or ``none`` for a value of ``--pictures``, judged by the environment alone.

    Without colours or glyphs there is no picture at all. ``auto`` takes graphics only where the terminal is known to have
    them, the extra is installed, and nothing (tmux, screen, a browser) stands between that might swallow them.
    """
    if wanted == "off" or look.no_colour or look.ascii or look.theme == "claw-mono":
        return "none"
    if wanted in ("kitty", "sixel"):
        return wanted
    if wanted == "blocks" or _something_between(env) or importlib.util.find_spec("textual_image") is None:
        return "halfblock"
    return _protocol_of(env) or "halfblock"


def _something_between(env: Mapping[str, str]) -> bool:
    term = env.get("TERM", "")
    return any(env.get(name) for name in ("TMUX", "STY", "ZELLIJ", "TEXTUAL_DRIVER")) or term.startswith(
        ("tmux", "screen")
    )


def _protocol_of(env: Mapping[str, str]) -> str:
    """Only kitty and ghostty have the placeholders that let an image scroll and be covered like text."""
    term, program = env.get("TERM", ""), env.get("TERM_PROGRAM", "").lower()
    if env.get("KITTY_WINDOW_ID") or term in ("xterm-kitty", "xterm-ghostty") or program == "ghostty":
        return "kitty"
    if (
        env.get("XTERM_VERSION")
        or term.startswith(("foot", "mlterm", "contour"))
        or program in ("wezterm", "iterm.app", "mintty", "contour")
    ):
        return "sixel"
    return ""


def open_graphics(choice: str, *, asked: bool = False) -> Graphics | None:
    """What draws for ``choice`` (of ``choose_graphics``); ``None`` for half blocks. Call it before the app starts, on the terminal.

    ``asked``: the user named the protocol. Then it is used whatever the terminal answers, and a missing extra raises EngineError
    (HOST_DEPENDENCY_MISSING); else half blocks serve.
    """
    if choice not in ("kitty", "sixel") or _lacks_size():
        return None
    try:
        from textual_image import renderable
        from textual_image._terminal import get_cell_size  # the extra is pinned; a test holds this
    except ImportError as exc:
        if not asked:
            return None
        error = not_installed("pictures", f"Pictures as {choice} need the package '{exc.name}'")
        error.hint = f"{error.hint}. --pictures blocks works without."
        raise error from exc
    size = (get_cell_size().width, get_cell_size().height)
    answer = renderable.TGPImage if choice == "kitty" else renderable.SixelImage
    if not asked and (renderable.Image is not answer or (choice == "kitty" and not _takes_placeholders())):
        return None
    return KittyGraphics(size) if choice == "kitty" else SixelGraphics(size)


def _lacks_size() -> bool:
    """Return whether the terminal reports 0 columns or rows, as one opened by a program may; textual-image divides by them."""
    try:
        return 0 in os.get_terminal_size(1)
    except OSError:
        return False


def _takes_placeholders() -> bool:
    """Ask the terminal for what ``KittyGraphics`` does with an image; kitty has it from 0.28 on, and is silent before."""
    from textual_image._terminal import TerminalError, capture_terminal_response

    stdout = sys.__stdout__
    assert stdout is not None
    pixel = _kitty(f"i={_KITTY_ID},s=1,v=1,f=24,q=2", "AAAA")
    try:
        with capture_terminal_response("\x1b_G", "\x1b\\", timeout=ANSWER_SECONDS) as answer:
            stdout.write(pixel + _kitty(f"a=p,U=1,i={_KITTY_ID},c=1,r=1"))
            stdout.flush()
    except (TerminalError, TimeoutError):
        return False
    finally:
        stdout.write(_kitty(f"a=d,d=I,i={_KITTY_ID},q=2"))
        stdout.flush()
    return bool(answer.sequence.endswith(";OK\x1b\\"))


_DEFINED = re.compile(r"(#\d+);2;\d+;\d+;\d+")


class SixelGraphics:
    """Sixels as textual-image encodes them, but for one thing: it takes a colour that it defines to be chosen by that.

    xterm and foot go on in the colour before until ``#n`` alone chooses the new one: whole bands came in wrong colours.
    """

    name = "sixel"

    def __init__(self, cell: tuple[int, int]) -> None:
        self.cell = cell

    def encode(self, image: Image, columns: int, rows: int) -> Drawing:
        from rich.console import Console
        from textual_image.renderable import SixelImage

        console = Console(file=io.StringIO(), width=columns, height=rows)
        options = console.options.update(width=columns, height=rows)
        texts = (segment.text for segment in console.render(SixelImage(image, columns, rows), options))
        sixels = next(text for text in texts if text.startswith("\x1bP"))
        return Drawing(_DEFINED.sub(r"\g<0>\1", sixels))


class KittyGraphics:
    """An image sent once under an id, and cells that say which part of it they show: so it moves and is covered like text.

    textual-image writes to the terminal while it renders, past Textual's own output; only its placeholders are used here.
    """

    name = "kitty"

    def __init__(self, cell: tuple[int, int]) -> None:
        self.cell = cell

    def encode(self, image: Image, columns: int, rows: int) -> Drawing:
        return Drawing(
            _kitty_image(image) + _kitty(f"a=p,U=1,i={_KITTY_ID},c={columns},r={rows},q=2"),
            _placeholders(image, columns, rows),
            Style(color=Color.from_rgb(_KITTY_ID >> 16 & 255, _KITTY_ID >> 8 & 255, _KITTY_ID & 255)),
        )


def _placeholders(image: Image, columns: int, rows: int) -> tuple[str, ...]:
    from textual_image.renderable import TGPImage

    renderable = TGPImage(image)
    renderable.terminal_image_id = _KITTY_ID
    lines = renderable._render_diacritics(columns, rows)  # noqa: SLF001  # the extra is pinned; a test holds this
    return tuple(line.text.rstrip("\n") for line in lines)


def _kitty_image(image: Image) -> str:
    png = io.BytesIO()
    image.save(png, "PNG", compress_level=1)
    data = b64encode(png.getvalue()).decode("ascii")
    chunks = [data[at : at + _KITTY_CHUNK] for at in range(0, len(data), _KITTY_CHUNK)]
    last = len(chunks) - 1
    heads = [f"i={_KITTY_ID},f=100,q=2,m={int(index < last)}" for index in range(len(chunks))]
    return "".join(_kitty(head, chunk) for head, chunk in zip(heads, chunks, strict=True))


def _kitty(keys: str, data: str = "") -> str:
    return f"\x1b_G{keys}{';' + data if data else ''}\x1b\\"


# -- taking one


async def take(engine: PictureEngine, device_id: str, clock: WallClock) -> Picture:
    """The screen now. What goes wrong on the device or in the file is the picture's ``problem``, in words."""
    at = clock.now()
    try:
        png = await engine.picture(device_id=device_id or None)
    except EngineError as exc:
        return Picture(device_id, at, problem=exc.message)
    return await asyncio.to_thread(read_picture, png, device_id, at)


def read_picture(png: bytes, device_id: str, at: float) -> Picture:
    """Decode and scale down; slow, for a worker thread. The file is hostile: bounds hold before it is decoded."""
    size, problem = _measure(png)
    if problem:
        return Picture(device_id, at, size, problem=problem)
    try:
        image = _decode(png, size)
    except _DAMAGE:
        return Picture(device_id, at, size, problem="the device sent a damaged picture")
    if _is_black(image):
        return Picture(device_id, at, size, problem="secure window or screen off, no picture")
    return Picture(device_id, at, size, image)


_DAMAGE = (OSError, SyntaxError, ValueError, EOFError, OverflowError, IndexError, KeyError, struct.error, zlib.error)
"""What pillow raises for damaged PNG files."""


def _measure(png: bytes) -> tuple[tuple[int, int], str]:
    """The size that the header claims, and why the picture is refused."""
    if len(png) > MAX_BYTES:
        return (0, 0), f"the picture has more than {MAX_BYTES // 2**20} MB"
    if len(png) < len(_PNG_HEAD) + 8 or not png.startswith(_PNG_HEAD):
        return (0, 0), "the device sent no PNG picture"
    width, height = struct.unpack_from(">II", png, len(_PNG_HEAD))
    if not width or not height:
        return (width, height), "the picture is empty"
    if max(width, height) > MAX_SIDE or width * height > MAX_PIXELS:
        return (width, height), f"the picture is too large ({width:,} by {height:,} pixels)"
    return (width, height), ""


def _decode(png: bytes, size: tuple[int, int]) -> Image:
    """Raise one of ``_DAMAGE`` also for a file whose later header claims another size."""
    from PIL import Image
    from PIL.PngImagePlugin import PngImageFile

    with PngImageFile(io.BytesIO(png)) as file:  # Image.open would judge the size by itself, on stderr
        if file.size != size:
            raise ValueError("two sizes")
        image = file.convert("RGB")
    image.thumbnail((KEPT_SIDE, KEPT_SIDE), Image.Resampling.BOX)
    return image


def _is_black(image: Image) -> bool:
    """Whether nothing but the system bars is drawn: so Android gives windows that forbid pictures, and a screen that is off."""
    bar = round(image.height * _BAR_SHARE)
    return image.crop((0, bar, image.width, image.height - bar)).getbbox() is None
