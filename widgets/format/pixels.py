"""A picture in character cells: the upper half block draws two pixels, one above the other. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from rich.color import Color
from rich.segment import Segment
from rich.style import Style

if TYPE_CHECKING:
    from PIL.Image import Image

UPPER_HALF = "▀"
_DARK = (16, 16, 20)
_FONT_PIXELS = 14

Cells = list[list[bytes]]
"""Rows of cells; a cell is six bytes: RGB of its upper pixel, then of its lower one."""


def half_blocks(image: Image, columns: int, rows: int) -> Cells:
    """Return ``image`` (mode RGB) scaled to ``columns`` × ``rows`` cells, each pixel a mean."""
    from PIL.Image import Resampling

    data = image.resize((columns, rows * 2), Resampling.BOX).tobytes()
    stride = columns * 3
    return [
        [data[at : at + 3] + data[at + stride : at + stride + 3] for at in range(start, start + stride, 3)]
        for start in range(0, len(data), 2 * stride)
    ]


def segments(cells: list[bytes]) -> list[Segment]:
    """Return a row of cells as few segments: equal neighbours are joined."""
    drawn, start = [], 0
    for index in range(1, len(cells) + 1):
        if index == len(cells) or cells[index] != cells[start]:
            drawn.append(Segment(UPPER_HALF * (index - start), _style(cells[start])))
            start = index
    return drawn


@lru_cache(maxsize=4096)
def _style(cell: bytes) -> Style:
    return Style(color=Color.from_rgb(*cell[:3]), bgcolor=Color.from_rgb(*cell[3:]))


class Outline(NamedTuple):
    """A rectangle (left, top, right, bottom in pixels), its colour, thickness, and a name at its corner."""

    box: tuple[int, int, int, int]
    colour: tuple[int, int, int]
    thickness: int
    name: str = ""


def outlined(image: Image, size: tuple[int, int], outlines: Sequence[Outline]) -> Image:
    """Return a copy of ``image`` in ``size`` pixels with the outlines, each between two dark lines for contrast."""
    from PIL import ImageDraw, ImageFont
    from PIL.Image import Resampling

    copy = image.resize(size, Resampling.BOX if size[0] < image.width else Resampling.BILINEAR)
    draw = ImageDraw.Draw(copy)
    for (left, top, right, bottom), colour, thickness, name in outlines:
        box = left, top, max(left + 1, right - 1), max(top + 1, bottom - 1)
        draw.rectangle(box, outline=_DARK, width=thickness + 2)
        draw.rectangle(
            (box[0] + 1, box[1] + 1, max(box[0] + 1, box[2] - 1), max(box[1] + 1, box[3] - 1)), None, colour, thickness
        )
        if name:
            font = ImageFont.load_default(_FONT_PIXELS)
            place = (left, top - _FONT_PIXELS - 4 if top > _FONT_PIXELS + 4 else bottom)
            draw.rectangle(draw.textbbox(place, name, font=font), _DARK)
            draw.text(place, name, colour, font)
    return copy
