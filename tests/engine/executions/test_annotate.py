"""Boxes with references on a screenshot."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from PIL import Image

from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.annotate import _place, annotate
from clawperator.engine.hierarchy.nodes import Bounds
from clawperator.engine.hierarchy.tree import parse

NODES = "".join(
    f'<node class="a.B" text="{number}" clickable="{clickable}" bounds="{bounds}" />'
    for number, (clickable, bounds) in enumerate(
        (("true", "[100,300][500,600]"), ("false", "[100,700][500,800]"), ("true", "[900,2300][1400,2600]"))
    )
)
TREE = parse(f'<hierarchy><node class="a.F" bounds="[0,0][1080,2400]">{NODES}</node></hierarchy>')


def png(colour: str, size: tuple[int, int] = (1080, 2400)) -> bytes:
    written = io.BytesIO()
    Image.new("RGB", size, colour).save(written, "PNG")
    return written.getvalue()


def test_boxes_are_around_what_can_be_acted_on() -> None:
    drawn = annotate(png("white"), TREE)
    picture = Image.open(io.BytesIO(drawn.png)).convert("RGB")
    assert (drawn.boxes, drawn.black, picture.size) == (2, False, (1080, 2400))
    white = (255, 255, 255)
    assert picture.getpixel((499, 450)) != white
    assert picture.getpixel((300, 599)) != white
    assert picture.getpixel((300, 450)) == white
    assert picture.getpixel((100, 750)) == white, "a text alone has no box"
    assert picture.getpixel((1079, 2350)) != white, "a box beyond the edge is clipped"


def test_what_its_parent_hides_has_no_box() -> None:
    """A list of which one row is half visible, and one hidden by what stands below the list."""
    row = '<node class="a.B" text="{0}" clickable="true" bounds="[0,{0}][500,{1}]"/>'
    rows = row.format(300, 700) + row.format(700, 1_100)
    tree = parse(
        f'<hierarchy><node bounds="[0,0][1080,2400]"><node bounds="[0,100][1080,500]">{rows}</node></node></hierarchy>'
    )
    drawn = annotate(png("white"), tree)
    picture = Image.open(io.BytesIO(drawn.png)).convert("RGB")
    assert (drawn.boxes, drawn.blank) == (1, (1, 1))
    assert picture.getpixel((250, 499)) != picture.getpixel((250, 699)) == (255, 255, 255)


@pytest.mark.parametrize(("colour", "black"), [("black", True), ("#0a0a0a", True), ("#101010", False)])
def test_a_black_picture_is_recognised(colour: str, black: bool) -> None:
    assert annotate(png(colour), TREE).black is black


def test_texts_of_the_tree_are_looked_for_in_the_picture() -> None:
    picture = Image.new("RGB", (1080, 2400), "white")
    picture.putpixel((200, 400), (0, 0, 0))
    written = io.BytesIO()
    picture.save(written, "PNG")
    assert annotate(written.getvalue(), TREE).blank == (2, 3)
    assert annotate(png("white", (80, 80)), TREE).blank == (0, 0), "no text is on that picture"


def test_labels_do_not_cover_each_other() -> None:
    screen, taken = Bounds(0, 0, 1080, 2400), list[Bounds]()
    for _ in range(8):
        taken.append(_place(Bounds(200, 400, 700, 800), 90, 40, taken, screen))
    assert not any(one.intersects(other) for at, one in enumerate(taken) for other in taken[:at])


@pytest.mark.parametrize(
    "made",
    [lambda: b"", lambda: b"\x89PNG\r\n\x1a\n", lambda: png("red")[:-2_000], lambda: png("red", (9_000, 8_000))],
    ids=["empty", "header", "cut", "huge"],
)
def test_no_picture(made: Callable[[], bytes]) -> None:
    with pytest.raises(EngineError) as caught:
        annotate(made(), TREE)
    assert caught.value.code is ErrorCode.UNSUPPORTED_RUNTIME_SCREENSHOT
