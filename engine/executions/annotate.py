"""Screenshots with the references of a tree drawn on them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy.nodes import NO_BOUNDS, Bounds, UiNode, UiTree
from clawperator.engine.hierarchy.traits import abilities

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageDraw import ImageDraw

_MAX_PIXELS = 16_000_000
"""Twice a 4K screen; a decoded pixel takes four bytes."""
_BLACK = 10
"""The brightest channel value of a picture that counts as black."""
_SAME = 6
"""The largest difference of a channel within one colour."""
_SMALLEST = 8
"""Pixels of a side of a text that is compared with the picture; smaller ones may be cut off."""
_MOST_TEXTS = 64
_EDGE = 0.08
"""Share of the height at the top and bottom where system bars are."""
_COLOURS = ("#d81b60", "#1565c0", "#2e7d32", "#6a1b9a", "#b84300", "#00695c")
"""Dark enough for white text on them (contrast of at least 4.5:1)."""


class Annotated(NamedTuple):
    """A PNG with ``boxes`` numbered boxes; ``black``: nothing but black was in the picture between the system bars.

    ``blank``: how many of how many texts of the tree have one colour there.
    """

    png: bytes
    boxes: int
    black: bool
    blank: tuple[int, int]


def annotate(png: bytes, tree: UiTree) -> Annotated:
    """Draw a box with its reference around each node on screen that can be acted on.

    Raises ``EngineError`` (UNSUPPORTED_RUNTIME_SCREENSHOT) for a picture that cannot be read.
    """
    from PIL import ImageDraw
    from PIL.PngImagePlugin import PngImageFile

    try:
        with PngImageFile(io.BytesIO(png)) as file:
            require_small(file.width, file.height)
            picture = file.convert("RGB")
    except (OSError, SyntaxError, ValueError) as exc:
        message = f"The device's picture cannot be read: {exc}"
        raise EngineError(ErrorCode.UNSUPPORTED_RUNTIME_SCREENSHOT, message) from exc
    middle = picture.crop((0, int(picture.height * _EDGE), picture.width, int(picture.height * (1 - _EDGE))))
    channels: Sequence[tuple[int, int]] = middle.getextrema()  # type: ignore[assignment] # one pair for each of R, G, B
    black = max(high for _, high in channels) <= _BLACK
    screen = Bounds(0, 0, picture.width, picture.height)
    visible = tree.visible_bounds
    boxes = [visible[node.index].clip(screen) for node in tree.on_screen if node.text and node.end == node.index + 1]
    boxes = [box for box in boxes if min(box.width, box.height) >= _SMALLEST][:_MOST_TEXTS]
    blank = sum(_is_blank(picture.crop(box)) for box in boxes)
    nodes = [node for node in tree.on_screen if abilities(node) and node.bounds is not NO_BOUNDS]
    drawn = [(node, box) for node in nodes if not (box := visible[node.index].clip(screen)).empty]
    _draw(ImageDraw.Draw(picture), drawn, screen)
    written = io.BytesIO()
    picture.save(written, "PNG", compress_level=1)
    return Annotated(written.getvalue(), len(drawn), black, (blank, len(boxes)))


def _is_blank(part: Image) -> bool:
    """Return whether a part of a picture has one colour."""
    channels: Sequence[tuple[int, int]] = part.getextrema()  # type: ignore[assignment] # one pair for each of R, G, B
    return all(high - low <= _SAME for low, high in channels)


def require_small(width: int, height: int) -> None:
    """Raise ``EngineError`` (UNSUPPORTED_RUNTIME_SCREENSHOT) for a picture that would take too much memory."""
    if width * height > _MAX_PIXELS:
        message = f"The device's picture is too large: {width} by {height} pixels"
        raise EngineError(ErrorCode.UNSUPPORTED_RUNTIME_SCREENSHOT, message)


def _draw(draw: ImageDraw, nodes: Sequence[tuple[UiNode, Bounds]], screen: Bounds) -> None:
    """Draw the visible part of each node: boxes first, largest first, then the labels, so that no line crosses a label."""
    from PIL import ImageFont

    line = max(2, min(screen.width, screen.height) // 270)
    font = ImageFont.load_default(max(14, min(screen.width, screen.height) // 32))
    ordered = sorted(nodes, key=lambda each: -each[1].width * each[1].height)
    for node, box in ordered:
        draw.rectangle((box.left, box.top, box.right - 1, box.bottom - 1), outline=_colour(node), width=line)
    labels: list[Bounds] = []
    for node, box in reversed(ordered):  # small nodes have the least choice
        text = f"e{node.index}"
        _, top, right, bottom = draw.textbbox((0, 0), text, font=font)
        label = _place(box, int(right) + 4 * line, int(bottom - top) + 4 * line, labels, screen)
        labels.append(label)
        draw.rectangle((label.left, label.top, label.right - 1, label.bottom - 1), fill=_colour(node))
        draw.text((label.left + 2 * line, label.top + 2 * line - top), text, fill="#ffffff", font=font)


def _colour(node: UiNode) -> str:
    return _COLOURS[node.index % len(_COLOURS)]


def _place(box: Bounds, width: int, height: int, taken: Sequence[Bounds], screen: Bounds) -> Bounds:
    """Return the first free place for a label: a corner of the box, then beside it; else the top left corner."""
    corners = [
        (box.left, box.top),
        (box.right - width, box.top),
        (box.left, box.bottom - height),
        (box.right - width, box.bottom - height),
        (box.left, box.top - height),
        (box.left, box.bottom),
        (box.left - width, box.top),
        (box.right, box.top),
    ]
    places = []
    for x, y in corners:
        left, top = min(max(x, 0), max(0, screen.width - width)), min(max(y, 0), max(0, screen.height - height))
        places.append(Bounds(left, top, left + width, top + height))
    return next((place for place in places if not any(place.intersects(other) for other in taken)), places[0])
