from __future__ import annotations

import gc
import random
import threading
import time
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from rich.segment import Segment
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.screen import ModalScreen

from clawperator.engine.hierarchy.nodes import Bounds
from clawperator.engine.hierarchy.serialise import hierarchy_xml
from clawperator.engine.hierarchy.tree import UiTree, parse
from clawperator.themes.claw import THEMES, defaults
from clawperator.widgets.bounds_map import ScreenView
from clawperator.widgets.format.pixels import Outline, half_blocks, outlined, segments
from clawperator.widgets.format.symbols import UNICODE
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.picture import ScreenPane
from clawperator.widgets.picture_view import Drawing, Graphics, Picture, seen_size
from clawperator.widgets.text.times import WallClock
from tests.app.console.support import DEVICE, NOON, settings_screen, view
from tests.support import table

RED, GREEN, BLUE, WHITE = (255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 255)
TREE = parse(settings_screen())


def snapshot(*, at: float = NOON, tree: UiTree | None = TREE, serial: int = 1) -> TreeSnapshot:
    return TreeSnapshot(serial=serial, device_id=DEVICE.serial, at=at, tree=tree)


def painted(size: tuple[int, int] = (108, 234)) -> Image.Image:
    """White, with a red quarter at the upper left."""
    image = Image.new("RGB", size, WHITE)
    image.paste(RED, (0, 0, size[0] // 2, size[1] // 2))
    return image


def picture(**changes: Any) -> Picture:
    values: dict[str, Any] = {"device_id": DEVICE.serial, "at": NOON, "size": (1080, 2340), "image": painted()}
    return Picture(**(values | changes))


# -- pixels


def test_two_pixels_stand_in_one_cell() -> None:
    image = Image.new("RGB", (2, 4))
    for y, row in enumerate(((RED, GREEN), (RED, BLUE), (WHITE, WHITE), (WHITE, WHITE))):
        for x, colour in enumerate(row):
            image.putpixel((x, y), colour)
    cells = half_blocks(image, 2, 2)
    assert cells == [
        [bytes((*RED, *RED)), bytes((*GREEN, *BLUE))],
        [bytes((*WHITE, *WHITE)), bytes((*WHITE, *WHITE))],
    ]
    first, second = segments(cells[0])
    assert (first.text, str(first.style)) == ("▀", "#ff0000 on #ff0000")
    assert (second.text, str(second.style)) == ("▀", "#00ff00 on #0000ff")
    assert [(segment.text, str(segment.style)) for segment in segments(cells[1])] == [("▀▀", "#ffffff on #ffffff")]


def test_outlines_are_drawn_into_a_copy() -> None:
    image = painted()
    drawn = outlined(image, (54, 117), [Outline((10, 10, 40, 60), GREEN, 2, "1")])
    assert drawn.size == (54, 117)
    assert drawn.getpixel((11, 30)) == GREEN
    assert drawn.getpixel((25, 30)) == RED
    assert image.tobytes() == painted().tobytes()


@given(st.tuples(*[st.integers(-50, 200)] * 4), st.integers(1, 6))
def test_any_outline_can_be_drawn(box: tuple[int, int, int, int], thickness: int) -> None:
    left, top, right, bottom = box
    sane = min(left, right), min(top, bottom), max(left, right), max(top, bottom)
    assert outlined(painted(), (44, 96), [Outline(sane, GREEN, thickness, "中文 \u202e name")]).size == (44, 96)


# -- which pixel of the tree a pixel of the picture is


@table(
    ("screen", "size", "seen"),
    [
        ((1080, 2340), (1080, 2340), (1080, 2340)),
        ((1080, 2214), (1080, 2340), (1080, 2340)),  # the navigation bar is not in the tree
        ((2214, 1080), (2340, 1080), (2340, 1080)),  # nor is it at the side
        ((1080, 2340), (540, 1170), (1080, 2340)),  # a display that is scaled for apps
        ((880, 700), (1080, 2340), (1080, 2340)),  # a dialog's window
        ((2340, 1080), (1080, 2340), None),  # turned since
        ((1080, 2340), (1, 1), None),
        ((0, 0), (1080, 2340), None),
    ],
)
def test_pictures_are_laid_over_the_trees_screen(
    screen: tuple[int, int], size: tuple[int, int], seen: tuple[int, int] | None
) -> None:
    assert seen_size(Bounds(0, 0, *screen), size) == seen


# -- the pane


class Host(App[None]):
    """A pane on a screen of its own, which notes the nodes that were clicked."""

    def __init__(self, pane: ScreenPane) -> None:
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        self.theme = "claw-dark"
        self.pane = pane
        self.symbols = UNICODE
        self.clock = WallClock(Now())
        self.picked: list[int] = []

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return defaults(self.current_theme)

    def compose(self) -> ComposeResult:
        yield self.pane

    def on_screen_view_node_picked(self, message: ScreenView.NodePicked) -> None:
        self.picked.append(message.node.index)


class Now:
    at = NOON

    def __call__(self) -> float:
        return self.at


@asynccontextmanager
async def shown(
    *, graphics: Graphics | None = None, size: tuple[int, int] = (44, 48), mode: str = "map"
) -> AsyncIterator[tuple[ScreenPane, Host, Pilot[None]]]:
    pane = ScreenPane(graphics=graphics, mode=mode)
    host = Host(pane)
    async with host.run_test(size=size) as pilot:
        yield pane, host, pilot


def screen_lines(host: Host) -> list[list[Segment]]:
    return [list(strip) for strip in host.screen._compositor.render_strips()]


def text_of(host: Host) -> list[str]:
    return ["".join(segment.text for segment in line if not segment.control) for line in screen_lines(host)]


def node_named(label: str) -> int:
    return next(node.index for node in TREE.nodes if node.label == label)


async def test_the_modes_go_round() -> None:
    async with shown(mode="off") as (pane, _, _):
        assert [pane.cycle() for _ in range(4)] == ["map", "picture", "off", "map"]
        pane.pictures = False
        assert [pane.cycle() for _ in range(2)] == ["off", "map"]


async def test_the_picture_lies_below_the_marks() -> None:
    async with shown() as (pane, host, pilot):
        wifi = TREE.nodes[node_named("Wi‑Fi")]
        row = wifi.parent and wifi.parent.parent
        pane.show(snapshot(), row, [wifi.index], wifi.index)
        pane.set_mode("picture")
        assert pane.words().plain == "map: waiting for the picture"
        pane.show_picture(picture())
        await pilot.pause()
        assert (pane.showing, pane.words().plain) == ("picture", "screenshot 0.0 s old, half blocks")
        lines = text_of(host)
        assert lines[0].strip() == "▀" * 44
        assert any("┏LinearLayout━" in line for line in lines)
        assert any("«" in line and "»" in line for line in lines)
        first = screen_lines(host)[0][0]
        assert (first.text, str(first.style)) == ("▀" * 22, "#ff0000 on #ff0000")


async def test_a_picture_that_cannot_be_of_this_tree_gives_way_to_the_map() -> None:
    cases = {
        "secure window or screen off, no picture": picture(
            image=None, problem="secure window or screen off, no picture"
        ),
        "screencap gave no PNG: Capturing failed.": picture(
            image=None, problem="screencap gave no PNG: Capturing failed."
        ),
        "the picture is of another device": picture(device_id="emulator-5556"),
        "the picture has another shape than the tree": picture(size=(2340, 1080)),
    }
    async with shown() as (pane, _, _):
        pane.show(snapshot(), None)
        for words, unfit in cases.items():
            pane.set_mode("picture")
            pane.show_picture(unfit)
            assert (pane.mode, pane.showing, pane.words().plain) == ("picture", "map", f"map: {words}")
            pane.show(snapshot(serial=2), None)
            assert pane.words().plain == f"map: {words}", "the reason stays while trees come"


async def test_a_newer_tree_takes_the_place_of_the_picture() -> None:
    other = parse(settings_screen())
    async with shown() as (pane, _, _):
        pane.show(snapshot(), None)
        pane.set_mode("picture")
        pane.show_picture(picture())
        pane.show(snapshot(at=NOON + 60), None)
        assert pane.showing == "picture", "it is the same tree still"
        pane.show(snapshot(at=NOON + 1.9, tree=other, serial=2), None)
        assert pane.showing == "picture", "it is hardly newer"
        pane.show(snapshot(at=NOON + 2.1, tree=parse(settings_screen()), serial=3), None)
        assert (pane.mode, pane.showing) == ("map", "map")
        assert pane.words().plain == "map: the picture is older than the tree"
        assert pane.cycle() == "picture", "the same key takes a new one"


async def test_an_old_picture_does_not_keep_the_new_one_out() -> None:
    async with shown() as (pane, _, _):
        pane.show(snapshot(), None)
        pane.set_mode("picture")
        pane.show_picture(picture(at=NOON - 60))
        assert (pane.mode, pane.showing) == ("picture", "map")
        assert pane.words().plain == "map: the picture is older than the tree"
        pane.show_picture(picture())
        assert pane.showing == "picture"


async def test_a_picture_without_a_tree_is_shown_as_it_is() -> None:
    async with shown() as (pane, host, pilot):
        pane.set_mode("picture")
        pane.show_picture(picture())
        await pilot.pause()
        assert text_of(host)[0].strip() == "▀" * 44


async def test_a_problem_is_shown_as_text() -> None:
    async with shown() as (pane, _, _):
        pane.set_mode("picture")
        pane.show_picture(picture(image=None, problem="screencap: \x1b[31mno\u202e"))
        assert "\x1b" not in pane.words().plain
        assert "\u202e" not in pane.words().plain


async def test_a_picture_that_comes_too_late_is_let_go() -> None:
    async with shown() as (pane, _, _):
        pane.set_mode("map")
        pane.show_picture(picture())
        assert (pane.mode, pane.words().plain) == ("map", "map")


@pytest.mark.parametrize("mode", ["map", "picture"])
async def test_a_click_picks_the_smallest_node_and_again_the_next_larger_one(mode: str) -> None:
    async with shown() as (pane, host, pilot):
        pane.show(snapshot(), None)
        pane.set_mode(mode)
        pane.show_picture(picture())
        await pilot.pause()
        view_ = next(view for view in pane.query(ScreenView) if view.display)
        frame = view_.frame()
        assert frame is not None
        wifi = TREE.nodes[node_named("Wi‑Fi")]
        left, top, _, _ = frame.box(wifi.bounds)
        for _ in range(3):
            await pilot.click(view_, offset=(left + 1 + frame.margin, top))
            pane.show(snapshot(), TREE.nodes[host.picked[-1]])
        areas = [TREE.nodes[index].bounds.width * TREE.nodes[index].bounds.height for index in host.picked]
        assert host.picked[0] == wifi.index
        assert areas == sorted(areas)
        assert len(set(host.picked)) == 3


async def test_old_pictures_are_released() -> None:
    seen = []
    async with shown() as (pane, _, pilot):
        pane.show(snapshot(), None)
        pane.set_mode("picture")
        for turn in range(5):
            image = painted()
            seen.append(weakref.ref(image))
            pane.show_picture(picture(image=image, at=NOON + turn))
            await pilot.pause()
            del image
        gc.collect()
        assert [reference() is None for reference in seen] == [True] * 4 + [False]
        pane.set_mode("off")
        await pilot.pause()
        gc.collect()
        assert seen[-1]() is None


# -- the terminal's own graphics


class Slow:
    """Draws when it is let, and notes what for."""

    name = "sixel"
    cell = (10, 20)

    def __init__(self) -> None:
        self.go = threading.Event()
        self.images: list[Image.Image] = []
        self.at_once = self.most = 0

    def encode(self, image: Image.Image, columns: int, rows: int) -> Drawing:
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        assert image.size == (columns * 10, rows * 20)
        self.images.append(image)
        self.go.wait(5)
        self.at_once -= 1
        return Drawing(f"<{len(self.images)}>")


def controls(host: Host) -> str:
    return "".join(segment.text for line in screen_lines(host) for segment in line if segment.control)


async def drawn(host: Host, pilot: Pilot[None]) -> None:
    """Until nothing is left to be drawn, and what was drawn is on screen."""
    await host.workers.wait_for_complete()
    await pilot.pause()


class Dialog(ModalScreen[None]):
    AUTO_FOCUS: ClassVar[str] = ""


async def test_of_a_further_picture_only_the_changed_cells_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    async with shown(mode="picture") as (pane, host, pilot):
        pane.live = True
        pane.show(snapshot(), None)
        pane.show_picture(picture(image=Image.effect_noise((108, 234), 90).convert("RGB")))
        await pilot.pause()
        pane.show_picture(picture())
        await pilot.pause()
        view = pane._view
        whole, drawn = pane.sent, []
        monkeypatch.setattr(view, "refresh", lambda *regions, **_: drawn.extend(regions))
        pane.show_picture(picture(image=painted(), at=NOON + 1))
        assert (pane.sent, drawn) == (0, []), "equal"
        changed = painted()
        changed.paste(BLUE, (60, 150, 72, 162))
        pane.show_picture(picture(image=changed, at=NOON + 2))
        assert 0 < pane.sent < whole / 10
        assert sum(region.area for region in drawn) < 60
        monkeypatch.undo()
        view.refresh(*drawn)
        await pilot.pause()
        live = [[(segment.text, segment.style) for segment in line] for line in screen_lines(host)]
    async with shown(mode="picture") as (pane, host, pilot):
        pane.show(snapshot(), None)
        pane.show_picture(picture(image=changed, at=NOON + 2))
        await pilot.pause()
        assert live == [[(segment.text, segment.style) for segment in line] for line in screen_lines(host)]


async def test_half_blocks_stand_in_until_the_graphics_are_drawn() -> None:
    graphics = Slow()
    async with shown(graphics=graphics) as (pane, host, pilot):
        wifi = TREE.nodes[node_named("Wi‑Fi")]
        pane.show(snapshot(), wifi.parent, [wifi.index])
        pane.set_mode("picture")
        pane.show_picture(picture())
        await pilot.pause()
        assert "▀▀▀" in text_of(host)[0]
        for index in range(4):  # a cursor that moves while one is being drawn
            pane.show(snapshot(), TREE.nodes[index], [wifi.index])
            await pilot.pause()
        graphics.go.set()
        await drawn(host, pilot)
        assert graphics.most == 1
        assert "▀" not in "".join(text_of(host))
        assert pane.words().plain == "screenshot 0.0 s old, sixel"
        assert controls(host) == "\x1b[1;1H<2>\x1b[48;45H"
        host.push_screen(Dialog())
        await pilot.pause()
        assert "<2>" not in controls(host), "graphics would lie above the dialog"
        host.pop_screen()
        await pilot.pause()
        assert "<2>" in controls(host)


async def test_a_live_drawing_stays_until_the_next_one_is_ready() -> None:
    graphics = Slow()
    graphics.go.set()
    async with shown(graphics=graphics, mode="picture") as (pane, host, pilot):
        pane.live = True
        pane.show(snapshot(), None)
        pane.show_picture(picture())
        await drawn(host, pilot)
        first = controls(host)
        graphics.go.clear()
        pane.show_picture(picture(image=Image.new("RGB", (108, 234), BLUE), at=NOON + 1))
        await pilot.pause()
        assert (controls(host), "▀" in "".join(text_of(host))) == (first, False)
        graphics.go.set()
        await drawn(host, pilot)
        assert controls(host) == first.replace("<1>", "<2>")
        assert pane.sent == len("<1>")


async def test_marks_are_drawn_into_the_image() -> None:
    graphics = Slow()
    graphics.go.set()
    async with shown(graphics=graphics) as (pane, host, pilot):
        search = next(node for node in TREE.nodes if node.resource_id.endswith("action_bar"))
        pane.show(snapshot(), None, [search.index])
        pane.set_mode("picture")
        pane.show_picture(picture(image=Image.new("RGB", (540, 1170), WHITE)))
        await drawn(host, pilot)
        (image,) = graphics.images
        left, top, right, bottom = (round(x * image.width / 1080) for x in search.bounds)
        assert image.getpixel((left + 1, (top + bottom) // 2)) != WHITE
        assert image.getpixel((right - 3, (top + bottom) // 2)) != WHITE
        assert image.getpixel(((left + right) // 2, (top + bottom) // 2)) == WHITE


# -- cost


def crowded(count: int) -> UiTree:
    """A screen of ``count`` nodes, all on it."""
    chance = random.Random(4)
    nodes = []
    for index in range(count - 1):
        left, top = chance.randrange(1000), chance.randrange(2300)
        box = f"[{left},{top}][{left + chance.randrange(20, 600)},{top + chance.randrange(20, 300)}]"
        nodes.append(view("Button", box, text=f"node {index}", clickable=index % 3 == 0))
    return parse(hierarchy_xml(view("FrameLayout", "[0,0][1080,2340]", *nodes)))


async def test_a_moved_cursor_does_not_draw_the_tree_again() -> None:
    tree = crowded(5000)
    hits = [node.index for node in tree.nodes[::5]]
    async with shown() as (pane, _, pilot):
        view_ = pane.query(ScreenView).first()
        pane.show(snapshot(tree=tree), tree.nodes[1], hits, hits[0])
        await pilot.pause()

        def paint() -> float:
            start = time.process_time()
            for y in range(view_.size.height):
                view_.render_line(y)
            return time.process_time() - start

        whole = []
        for _ in range(3):
            view_._layers._base = None
            view_._drawn = None
            whole.append(paint())
        moves = []
        for index in range(20, 60):
            start = time.process_time()
            pane.show(snapshot(tree=tree), tree.nodes[index], hits, hits[0])
            moves.append(time.process_time() - start + paint())
        assert sorted(moves)[len(moves) // 2] < min(whole) / 5, (sorted(moves)[len(moves) // 2], min(whole))
