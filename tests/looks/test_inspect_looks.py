"""Mode 1 beyond the plain tree: the workbench, comparing, filters, acting, pictures, saved dumps."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageDraw

from clawperator.app.console.execution.dispatch_dialogs import DispatchDialog
from clawperator.app.console.inspect.screen import InspectScreen
from clawperator.app.console.screens.dialogs import TreeCompareDialog
from clawperator.engine.follow.follower import FollowState
from clawperator.widgets.picture import ScreenPane
from tests.app.console.support import CHECKS_OK, ROWS, FakeEngine, hostile_screen, make_app, settings_screen, until
from tests.looks.poses import AT_SIZES, PINNED, TWO_SIZES, Before, Compare, Typed, at_rest, before, plain_engine, press

pytestmark = PINNED
BLUETOOTH = "Bluetooth"
DUMPS = Path(__file__).parents[1] / "data" / "hierarchies"


@AT_SIZES
def test_workbench(snap_compare: Compare, size: tuple[int, int]) -> None:
    run = before("enter", "space", on=BLUETOOTH)
    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=run)


@TWO_SIZES
def test_matcher_ambiguous(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=before("m", Typed("text~Wi")))


@AT_SIZES
def test_matcher_why_not(snap_compare: Compare, size: tuple[int, int]) -> None:
    run = before("m", Typed("text=Wi-Fi"), "tab", on="Wi‑Fi")
    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=run)


@TWO_SIZES
def test_matcher_problem(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=before("m", Typed("txt=OK")))


@TWO_SIZES
def test_not_addressable(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=before(*"jjjjj", "enter"))


@TWO_SIZES
def test_compared_with_an_older_tree(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = plain_engine()
    assert snap_compare(make_app(engine), terminal_size=size, run_before=comparing(engine, "escape"))


@TWO_SIZES
def test_both_sides_of_a_comparison(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = plain_engine()
    assert snap_compare(make_app(engine), terminal_size=size, run_before=comparing(engine, "right_square_bracket"))


def comparing(engine: FakeEngine, *keys: str) -> Before:
    """Compare with the tree before it, then press ``keys``."""

    async def compare(pilot: Any) -> None:
        await before()(pilot)
        engine.screen = settings_screen((("Network & internet", "Flight mode", False), *ROWS[2:6]))
        await pilot.press("r")
        await until(pilot, lambda: len(pilot.app.session.trees) == 2)
        await before("c", "enter")(pilot)
        await until(pilot, lambda: isinstance(pilot.app.screen, TreeCompareDialog))
        await press(pilot, *keys)

    return compare


@TWO_SIZES
def test_filtered(snap_compare: Compare, size: tuple[int, int]) -> None:
    run = before("backslash", "c", "slash", *"wi", "tab", "enter")
    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=run)


@pytest.mark.ci
@pytest.mark.parametrize("key", ["a", "i", "backslash", "g"])
def test_menus(snap_compare: Compare, key: str) -> None:
    assert snap_compare(make_app(plain_engine()), terminal_size=(80, 24), run_before=before(key, on=BLUETOOTH))


@TWO_SIZES
def test_what_would_be_sent(snap_compare: Compare, size: tuple[int, int]) -> None:
    async def ask(pilot: Any) -> None:
        await before("m", Typed("text~Wi"), "enter", "a", "t")(pilot)
        await until(pilot, lambda: isinstance(pilot.app.screen, DispatchDialog))
        await at_rest(pilot)

    assert snap_compare(make_app(plain_engine()), terminal_size=size, run_before=ask)


@pytest.mark.ci
def test_text_to_enter(snap_compare: Compare) -> None:
    run = before("a", "e", Typed("tea"), on=BLUETOOTH)
    assert snap_compare(make_app(plain_engine()), terminal_size=(80, 24), run_before=run)


@pytest.mark.ci
def test_following_while_an_agent_works(snap_compare: Compare) -> None:
    engine = plain_engine()

    async def follow(pilot: Any) -> None:
        await before("f")(pilot)
        await until(pilot, lambda: engine.follows)
        engine.follows[0].on_state(FollowState("busy", command_id="cmd-124"))
        await until(pilot, lambda: pilot.app.session.follow.phase == "busy")
        await at_rest(pilot)

    assert snap_compare(make_app(engine), terminal_size=(120, 36), run_before=follow)


def photo() -> bytes:
    """A screen as a phone would photograph it, in a few flat colours."""
    image = Image.new("RGB", (270, 585), (18, 22, 30))
    pen = ImageDraw.Draw(image)
    pen.rounded_rectangle((10, 35, 260, 72), 10, fill=(48, 58, 78))
    for row in range(10):
        top = 80 + 45 * row
        pen.ellipse((12, top + 10, 36, top + 34), fill=(60 + 18 * row, 130, 210 - 12 * row))
        pen.rectangle((54, top + 10, 180, top + 18), fill=(210, 214, 222))
        pen.rectangle((54, top + 24, 140, top + 30), fill=(120, 126, 140))
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


@AT_SIZES
def test_picture(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = FakeEngine(screen=settings_screen(), checks=CHECKS_OK, photo=photo())

    async def take(pilot: Any) -> None:
        await before(on=BLUETOOTH)(pilot)
        view = pilot.app.screen.query_one(ScreenPane)
        while view.mode != "picture":
            await pilot.press("s")
        await until(pilot, lambda: view.showing == "picture")
        await at_rest(pilot)

    assert snap_compare(make_app(engine), terminal_size=size, run_before=take)


@pytest.mark.ci
@pytest.mark.parametrize("keys", [(), ("full_stop",)], ids=["unreadable", "repaired"])
def test_saved_dump(snap_compare: Compare, keys: Sequence[str]) -> None:
    files = [DUMPS / "malformed" / name for name in ("derived-empty-file.xml", "derived-two-dumps-in-one-file.xml")]
    app = make_app(FakeEngine(present=()), files=[str(path) for path in files])

    async def look(pilot: Any) -> None:
        await until(pilot, lambda: len(app.session.trees) == 2 and not app.session.work)
        for key in keys:
            await pilot.press(key)
        await at_rest(pilot)

    assert snap_compare(app, terminal_size=(120, 36), run_before=look)


@TWO_SIZES
def test_hostile_node_in_the_workbench(snap_compare: Compare, size: tuple[int, int]) -> None:
    engine = FakeEngine(screen=hostile_screen(), checks=CHECKS_OK)
    assert snap_compare(make_app(engine), terminal_size=size, run_before=before("j", "enter"))


@pytest.mark.ci
@pytest.mark.parametrize("look", ["claw-light", "claw-mono", "ascii"])
def test_workbench_in_other_looks(snap_compare: Compare, look: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mono = look == "claw-mono"
    if mono:
        monkeypatch.setenv("NO_COLOR", "1")
    theme = look if look != "ascii" else "claw-dark"
    app = make_app(plain_engine(), theme=theme, no_colour=mono, ascii_only=look == "ascii")

    async def pose(pilot: Any) -> None:
        await before("m", Typed("text~Wi"), "enter")(pilot)
        assert isinstance(pilot.app.screen, InspectScreen)

    assert snap_compare(app, terminal_size=(120, 36), run_before=pose)
