"""What a verified snapshot adds to its tree, for each thing that a simulated device hides."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from clawperator.engine import Engine, EngineError, RunOptions
from clawperator.engine.adb.displays import parse_displays, state_size, window_facts
from clawperator.engine.executions import build, shell_input
from clawperator.engine.hierarchy.blind import blind_spots, facts_of_step
from clawperator.engine.hierarchy.tree import parse
from tests.engine.executions.test_then import phones
from tests.support import table, varied

SHOP = {"package": "com.example.shop"}


async def found(engine: Engine) -> tuple[list[str], dict[str, Any]]:
    taken = await engine.snapshot(options=RunOptions(verify=True))
    data = taken.envelope["stepResults"][0]["data"]
    return [spot.line for spot in blind_spots(parse(data["text"]), facts_of_step(data))], data["verified"]


@varied(
    ("what", "expected"),
    [
        ("secure_window", ["secure_window (certain)"]),
        ("accessibility_data_sensitive", ["accessibility_data_sensitive e0 (possible)", "canvas e0 (possible)"]),
        ("webview_empty", ["webview_empty e6 (likely)"]),
        ("canvas", ["canvas e6 (likely)"]),
        ("other_window", ["other_window (certain)"]),
        ("dialog", ["other_window e0 (likely)"]),
        ("split_screen", ["other_window e0 (likely)"]),
        ("other_display", ["other_display (certain)"]),
        ("stale_cache", ["stale_cache (likely)"]),
        ("", []),
    ],
    always=3,
)
async def test_what_a_verified_snapshot_finds(tmp_path: Path, what: str, expected: list[str]) -> None:
    faults = [{"kind": "unseen", "what": what}] if what else []
    async with phones(tmp_path, start=SHOP, faults=faults) as (engine, (world,)):
        if what == "stale_cache":
            assert (await found(engine))[0] == []
            await engine.execute(build.open_app("com.android.settings"))
        lines, verified = await found(engine)
        assert lines == expected
        assert verified["sdk"] == world.sdk
        picture = Image.open(io.BytesIO(await engine.picture()))
        assert (picture.convert("L").getextrema() == (0, 0)) is (what == "secure_window")
        assert "verified" not in (await engine.snapshot()).envelope["stepResults"][0]["data"]


@table(
    ("text", "facts"),
    [
        ("", {}),
        ("/system/bin/sh: grep: not found\n", {}),
        ("  mCurrentFocus=null\n", {}),
        ("  mCurrentFocus=Window{6d u0 NotificationShade}\n", {"focus": ""}),
        ("  mShowRequested=true mInputShown=true\n", {"keyboard": True}),
        (
            (
                "  mCurrentFocus=Window{b4 a.b/a.b.C paused=false}\n  Window #2 Window{b4 a.b/a.b.C paused=false}:\n"
                "    mAttrs=WM.LayoutParams{(0,0)(fillxfill) sim=#20 ty=1 fl=#812100 fmt=-1}\n"
            ),
            {"focus": "a.b", "secure": True},
        ),
        (
            (
                "  mCurrentFocus=Window{b4 u10 a.b/.C}\n  Window #1 Window{b4 u10 a.b/.C}:\n    mAttrs={(0,0) ty=BASE\n"
                "      fl=LAYOUT_IN_SCREEN INSECURE_X\n  Window #2 Window{b5 u0 StatusBar}:\n      fl=SECURE\n"
            ),
            {"focus": "a.b", "secure": False},
        ),
        (  # a dialog, and the activity behind it
            (
                "  mCurrentFocus=Window{b5 u0 a.b/a.b.C}\n  Window #2 Window{b5 u0 a.b/a.b.C}:\n      fl=DIM_BEHIND\n"
                "  Window #1 Window{b4 u0 a.b/a.b.C}:\n      fl=SECURE\n"
            ),
            {"focus": "a.b", "secure": False},
        ),
        (  # an input method without a view, where a keyboard is plugged in
            "  mShowRequested=true mShowForced=false mInputShown=true\n  mIsInputViewShown=false mStatusIcon=0\n",
            {"keyboard": False},
        ),
        (  # Android 9 and before
            (
                "  Window #2 Window{b4 u0 a.b/a.b.C}:\n    mAttrs=WM.LayoutParams{(0,0)(fillxfill) ty=1 fl=#812100 fmt=-1}\n"
                "  mCurrentFocus=Window{b4 u0 a.b/a.b.C}\n"
            ),
            {"focus": "a.b", "secure": True},
        ),
    ],
)
def test_windows_of_android_versions(text: str, facts: dict[str, object]) -> None:
    assert window_facts(text) == facts


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("displayId=0, orientation=0, logicalFrame=Rect(0, 0 - 1080, 1920\n", (1080, 1920)),
        ("displayId=0, uniqueId='null', orientation=1, logicalFrame=Rect(0, 0 - 1920, 720\n", (1920, 720)),
        (
            "displayId=0, uniqueId='local:0', physicalPort=0, orientation=3, logicalFrame=Rect(0, 0 - 2400, 1080\n",
            (2400, 1080),
        ),
        ("cur=1080x2220\n", (1080, 2220)),
        ("", None),
    ],
)
def test_the_display_of_android_versions(text: str, size: tuple[int, int] | None) -> None:
    assert state_size(text) == size


def test_displays() -> None:
    text = (
        '  Display 0:\n    mDisplayId=0\n    mBaseDisplayInfo=DisplayInfo{"Built-in Screen", displayId 0", FLAG_SECURE, real 1080 x 2400, '
        'rotation 0, state ON, type INTERNAL, uniqueId "local:461", density 420 (400.0 x 400.0) dpi}\n'
        '    mOverrideDisplayInfo=DisplayInfo{"Built-in Screen", displayId 0", real 2400 x 1080, rotation 1, state ON, '
        'uniqueId "local:461", density 420}\n'
        '  Display 7:\n    mDisplayId=7\n    mBaseDisplayInfo=DisplayInfo{"Overlay #1", real 720 x 480, state OFF, uniqueId "overlay:1"}\n'
    )
    first, second = parse_displays(text)
    assert (first.id, first.width, first.rotation, first.on, first.physical) == (0, 2400, 1, True, "461")
    assert (second.id, second.name, second.density, second.on, second.physical) == (7, "Overlay #1", None, False, "")
    android_10 = 'mDisplayId=0\nmBaseDisplayInfo=DisplayInfo{"Built-in Screen, displayId 0", uniqueId "local:461", real 1080 x 2280, state ON}'
    assert [display.name for display in parse_displays(android_10)] == ["Built-in Screen"]
    assert parse_displays("mDisplayId=x\nDisplayInfo{") == []


@pytest.mark.parametrize(("fold", "size"), [("open", (2076, 2152)), ("folded", (1080, 2424))])
def test_displays_of_a_foldable(fold: str, size: tuple[int, int]) -> None:
    data = Path(__file__).parents[2] / "data" / "field" / "22-foldable-screenshot"
    (on,) = (display for display in parse_displays((data / f"dumpsys-display-{fold}.txt").read_text()) if display.on)
    assert (on.width, on.height) == size


async def test_a_picture_of_a_foldable_shows_the_display_that_is_on(tmp_path: Path) -> None:
    async with phones(tmp_path, start=SHOP, faults=[{"kind": "foldable"}]) as (engine, (world,)):
        assert Image.open(io.BytesIO(await engine.picture())).size == world.ui.display


async def test_pictures_and_input_of_another_display(tmp_path: Path) -> None:
    faults = [{"kind": "unseen", "what": "other_display"}]
    async with phones(tmp_path, start=SHOP, faults=faults) as (engine, (world,)):
        path = tmp_path / "second.png"
        await engine.screenshot(path=str(path), options=RunOptions(display=2))
        assert Image.open(io.BytesIO(path.read_bytes())).size == (1_920, 1_080)
        before = world.ui.window().xml
        tapped = await engine.execute(shell_input.gesture("tap", (1_500, 300), display=2))
        assert tapped.to_dict()["result"] == {"sent": "input -d 2 tap 1500 300", "point": [1_500, 300]}
        assert world.ui.window().xml == before
        pressed = await engine.execute(shell_input.key("BACK", display=2))
        assert pressed.to_dict()["result"] == {"sent": "input -d 2 keyevent KEYCODE_BACK"}
        assert world.ui.package == SHOP["package"]
        with pytest.raises(EngineError, match="outside the screen of 1920x1080"):
            await engine.execute(shell_input.gesture("tap", (500, 1_500), display=2))
        for composition in (shell_input.text("tea", display=3), shell_input.gesture("tap", (1, 1), display=3)):
            with pytest.raises(EngineError, match="has no display 3; its displays: 0, 2"):
                await engine.execute(composition)
        lost = await engine.screenshot(path=str(tmp_path / "third.png"), options=RunOptions(display=3))
        assert "has no display 3" in lost.envelope["stepResults"][0]["data"]["capture_error"]
        info = await engine.device_admin().info()
        assert [(each["id"], each["on"]) for each in info["displays"]] == [(0, True), (2, True)]
        assert info["fold"] is None


def test_a_selector_is_of_the_main_display() -> None:
    with pytest.raises(EngineError, match="Display 2 has no tree"):
        shell_input.gesture("tap", matcher={"textEquals": "Pay"}, display=2)


async def test_an_unchanged_tree_after_an_action_is_compared_with_the_focused_window(tmp_path: Path) -> None:
    faults = [{"kind": "unseen", "what": "stale_cache"}]
    async with phones(tmp_path, start=SHOP, faults=faults) as (engine, _):
        opened = await engine.execute(build.open_app("com.android.settings"), options=RunOptions(then="diff"))
        then = opened.to_dict()["then"]
        assert (then["changed"], [spot["kind"] for spot in then["blind"]]) == (False, ["stale_cache"])
        assert "com.android.settings" in then["blind"][0]["seen"]
