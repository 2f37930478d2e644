"""Screenshots for the screen pane: the graphics of this terminal, and taking one.

Graphics protocols come from ``textual-image``, an optional extra. It queries the terminal on import, so
``open_graphics`` imports it, before the app starts.
"""

from __future__ import annotations

import asyncio
import hashlib
import importlib.util
import io
import os
import re
import struct
import sys
import zlib
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.color import Color
from rich.style import Style

from clawperator.app.console.console_engine import ConsoleEngine
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
"""Twice a 4K screen; decoding takes four bytes per pixel."""
KEPT_SIDE = 1_280
"""The longer side of a kept screenshot: finer than any pane, 2 MB for a phone's screen."""

ANSWER_SECONDS = 0.3
"""Time limit of the terminal's answer about placeholders; after that half blocks are used."""

_BAR_SHARE = 0.08
_UNSEEN = "secure window or screen off, no picture"
_VIDEO_BLACK = 8
"""The brightest value of a colour that lossy compression makes of black."""
_PNG_HEAD = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"
_KITTY_CHUNK = 4096
_KITTY_ID = (os.getpid() & 0xFFFFFF) or 1
"""One image per console: sending it again replaces it in the terminal's memory. Its bits are a cell's colour."""


# -- what the terminal can do


def choose_graphics(env: Mapping[str, str], wanted: str, *, look: Look = PLAIN) -> str:
    """Return ``kitty``, ``sixel``, ``halfblock`` or ``none`` for a value of ``--pictures``, by the environment alone.

    Without colours or glyphs there is no picture. ``auto`` uses graphics only in terminals known to have them, with the
    extra installed, and without tmux, screen or a browser in between.
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
    """Return the protocol; only kitty and ghostty have placeholders, which let an image scroll and be covered like
    text.
    """
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
    """Return what draws for ``choice``; ``None`` for half blocks. Call it before the app starts, on the terminal.

    ``asked``: the user named the protocol. Then it is used whatever the terminal answers, and a missing extra raises
    EngineError (HOST_DEPENDENCY_MISSING).
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
    """Ask the terminal for what ``KittyGraphics`` needs; kitty has it from 0.28 on and does not answer before."""
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
    """Sixels of textual-image, with each defined colour also selected.

    xterm and foot keep the previous colour until ``#n`` alone selects the new one.
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
    """An image sent once under an id, and cells that refer to parts of it: it scrolls and is covered like text.

    textual-image writes to the terminal while rendering, bypassing Textual; only its placeholders are used here.
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


async def take(engine: ConsoleEngine, device_id: str, clock: WallClock, last: Picture | None = None) -> Picture:
    """Take a screenshot; failures of the device or the file are its ``problem``. Equal to ``last``, it has its image."""
    at = clock.now()
    try:
        png = await engine.picture(device_id=device_id or None)
    except EngineError as exc:
        return Picture(device_id, at, problem=exc.message)
    digest = hashlib.blake2b(png).digest()
    if last is not None and last.digest == digest:
        return replace(last, at=at)
    return replace(await asyncio.to_thread(read_picture, png, device_id, at), digest=digest)


def read_picture(png: bytes, device_id: str, at: float) -> Picture:
    """Decode and scale down; slow: call it in a worker thread. The file is untrusted: bounds are checked before
    decoding.
    """
    size, problem = _measure(png)
    if problem:
        return Picture(device_id, at, size, problem=problem)
    try:
        image = _decode(png, size)
    except _DAMAGE:
        return Picture(device_id, at, size, problem="the device sent a damaged picture")
    if _is_black(image):
        return Picture(device_id, at, size, problem=_UNSEEN)
    return Picture(device_id, at, size, image)


_DAMAGE = (OSError, SyntaxError, ValueError, EOFError, OverflowError, IndexError, KeyError, struct.error, zlib.error)
"""What pillow raises for damaged PNG files."""


def _measure(png: bytes) -> tuple[tuple[int, int], str]:
    """Return the size in the header, and why the picture is refused."""
    if len(png) > MAX_BYTES:
        return (0, 0), f"the picture has more than {MAX_BYTES // 2**20} MB"
    if len(png) < len(_PNG_HEAD) + 8 or not png.startswith(_PNG_HEAD):
        return (0, 0), "the device did not send a PNG picture"
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

    with PngImageFile(io.BytesIO(png)) as file:  # Image.open would warn about the size on stderr
        if file.size != size:
            raise ValueError("two sizes")
        image = file.convert("RGB")
    image.thumbnail((KEPT_SIDE, KEPT_SIDE), Image.Resampling.BOX)
    return image


def _is_black(image: Image) -> bool:
    """Return whether only the system bars are drawn: Android's answer for secure windows and a screen that is off."""
    bar = round(image.height * _BAR_SHARE)
    extrema: Any = image.crop((0, bar, image.width, image.height - bar)).getextrema()
    return not any(brightest for _, brightest in extrema)
