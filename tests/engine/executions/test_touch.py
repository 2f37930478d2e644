"""Which window takes a touch, in the words of each Android, and where a finger reaches a node."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.errors import EngineError
from clawperator.engine.executions.touch import focus_elsewhere, foreign_at, swipe_path, tap_point, window_at
from clawperator.engine.executions.touch_windows import TouchWindow, as_turned, touch_windows
from clawperator.engine.hierarchy.tree import Bounds, UiTree, parse
from tests.support import table

APP = "com.example.a"
SHOWN = {  # the lines that decide, as these releases print them; the keyboard lies over the lower part
    8: (
        "  FocusedWindow: name='Window{703780b u0 com.example.a/com.example.a.Main}'\n"
        "    0: name='Window{35ab u0 Heads Up}', displayId=0, paused=false, hasFocus=false, hasWallpaper=false, visible=false, "
        "canReceiveKeys=false, flags=0x01800328, type=0x000007de, layer=161000, frame=[0,0][540,900], scale=1.000000, "
        "touchableRegion=[0,0][540,900], inputFeatures=0x00000000, ownerPid=1139, ownerUid=10034, dispatchingTimeout=5000.000ms\n"
        "    1: name='Window{5be1c93 u0 InputMethod}', displayId=0, paused=false, hasFocus=false, hasWallpaper=false, visible=true, "
        "canReceiveKeys=false, flags=0x81800108, type=0x000007db, layer=131000, frame=[0,63][1080,2160], scale=1.000000, "
        "touchableRegion=[0,1400][1080,2160], inputFeatures=0x00000000, ownerPid=1280, ownerUid=10059, dispatchingTimeout=5000.000ms\n"
        "    2: name='Window{703780b u0 com.example.a/com.example.a.Main}', displayId=0, paused=false, hasFocus=true, "
        "hasWallpaper=false, visible=true, canReceiveKeys=true, flags=0x81810120, type=0x00000001, layer=21015, "
        "frame=[0,0][1080,2160], scale=1.000000, touchableRegion=[0,0][1080,2160], inputFeatures=0x00000000, ownerPid=18833, "
        "ownerUid=10101, dispatchingTimeout=5000.000ms\n"
        "Input Dispatcher State at time of last ANR:\n"
        "    0: name='Window{1 u0 old}', displayId=0, visible=true, flags=0x0, frame=[0,0][1080,2160], touchableRegion=[0,0][1080,2160]\n"
    ),
    12: (
        "    displayId=0, name='703780b com.example.a/com.example.a.Main'\n"
        "      0: name='c0ffee1 ScreenDecorOverlay', id=71, displayId=0, portalToDisplayId=-1, paused=false, focusable=false, "
        "hasWallpaper=false, visible=true, alpha=1.00, flags=NOT_FOCUSABLE | NOT_TOUCHABLE | SPLIT_TOUCH, type=2024, "
        "frame=[0,0][1080,2160], globalScale=1.000000, touchableRegion=[0,0][1080,2160], ownerPid=1, ownerUid=10200\n"
        "      1: name='5be1c93 InputMethod', id=99, displayId=0, portalToDisplayId=-1, paused=false, focusable=false, "
        "hasWallpaper=false, visible=true, alpha=1.00, flags=NOT_FOCUSABLE | LAYOUT_IN_SCREEN, type=INPUT_METHOD, "
        "frame=[0,63][1080,2160], globalScale=1.000000, touchableRegion=[0,1400][1080,2160], ownerPid=1280, ownerUid=10059\n"
        "      2: name='703780b com.example.a/com.example.a.Main', id=80, displayId=0, portalToDisplayId=-1, paused=false, "
        "focusable=true, hasWallpaper=false, visible=true, alpha=1.00, flags=NOT_TOUCH_MODAL | LAYOUT_IN_SCREEN, "
        "type=BASE_APPLICATION, frame=[0,0][1080,2160], touchableRegion=[0,0][1080,2160], ownerPid=18833, ownerUid=10101\n"
        "      3: name='1 other', id=1, displayId=2, visible=true, flags=, frame=[0,0][9,9], touchableRegion=[0,0][9,9]\n"
    ),
    14: (
        "    displayId=0, name='703780b com.example.a/com.example.a.Main'\n"
        "      0: name='[Gesture Monitor] swipe-up', id=9, displayId=0, inputConfig=NOT_FOCUSABLE | TRUSTED_OVERLAY | SPY, alpha=1.00, "
        "frame=[0,0][0,0], globalScale=1.000000, touchableRegion=[-7200,-16000][7200,16000], ownerPid=2, ownerUid=10200\n"
        "      1: name='Embedded{com.example.ads}', id=12, displayId=0, inputConfig=0x0, frame=[0,0][100,100], "
        "touchableRegion=[0,0][100,100], ownerPid=3, ownerUid=10300\n"
        "      2: name='5be1c93 InputMethod', id=127, displayId=0, inputConfig=NOT_FOCUSABLE | TRUSTED_OVERLAY, alpha=1.00, "
        "frame=[0,63][1080,2160], globalScale=1.000000, samsungFlags=0x0, applicationInfo.name=, applicationInfo.token=<null>, "
        "touchableRegion=[0,1400][1080,1800]|[0,1800][1080,2160], pTouchableRegion=<empty>, ownerPid=1280, ownerUid=10059\n"
        "      3: name='703780b com.example.a/com.example.a.Main', id=119, displayId=0, inputConfig=0x0, alpha=1.00, "
        "frame=[0,0][1080,2160], touchableRegion=[0,0][1080,2160], ownerPid=18833, ownerUid=10101\n"
    ),
    15: (
        "    displayId=0, name=703780b com.example.a/com.example.a.Main\n"
        "      0: name=5be1c93 InputMethod, id=127, displayId=0, inputConfig=NOT_FOCUSABLE | TRUSTED_OVERLAY, alpha=1, "
        "frame=[0,1400][1080,2160], globalScale=1, applicationInfo.name=, touchableRegion=[0,1400][1080,2160], ownerPid=1280\n"
        "      1: name=703780b com.example.a/com.example.a.Main, id=119, displayId=0, inputConfig=0x0, alpha=1, "
        "frame=[0,0][1080,2160], globalScale=1, touchableRegion=[0,0][1080,2160], ownerPid=3991\n"
    ),
    "windows of Android 10": (
        "  mCurrentFocus=Window{703780b u0 com.example.a/com.example.a.Main}\n"
        "  Window #0 Window{5be1c93 u0 InputMethod}:\n    mDisplayId=0 stackId=0 mSession=Session{8d1e 1234:u0a10121}\n"
        "    mAttrs={(0,0)(fillxfill) gr=BOTTOM CENTER_VERTICAL sim={adjust=pan} ty=INPUT_METHOD fmt=TRANSPARENT\n"
        "      fl=NOT_FOCUSABLE LAYOUT_IN_SCREEN SPLIT_TOUCH\n    mGivenContentInsets=[0,1337][0,0] mGivenVisibleInsets=[0,1337][0,0]\n"
        "    touchable region=SkRegion((0,1400,1080,2160))\n    mHasSurface=true isReadyForDisplay()=true\n"
        "    mFrame=[0,63][1080,2160] last=[0,63][1080,2160]\n    isOnScreen=true\n    isVisible=true\n"
        "  Window #1 Window{703780b u0 com.example.a/com.example.a.Main}:\n    mDisplayId=0 stackId=1 mSession=Session{1 2:u0a10101}\n"
        "    mAttrs={(0,0)(fillxfill) sim={adjust=nothing} ty=BASE_APPLICATION wanim=0x103046a\n      fl=LAYOUT_IN_SCREEN\n"
        "    mHasSurface=true\n    mFrame=[0,0][1080,2160] last=[0,0][1080,2160]\n    isOnScreen=true\n    isVisible=true\n"
    ),
    "windows of Android 8": (
        "  Window #3 Window{5be1c93 u0 InputMethod}:\n    mDisplayId=0 stackId=0\n"
        "    mAttrs=WM.LayoutParams{(0,0)(fillxfill) gr=#50 sim=#20 ty=2011 fl=#1800108 fmt=-3 wanim=0x10301ef}\n"
        "    mGivenContentInsets=[0,1337][0,0] mGivenVisibleInsets=[0,1337][0,0]\n    mFrame=[0,63][1080,2160] last=[0,63][1080,2160]\n"
        "    mHasSurface=true\n    isOnScreen=true\n    isVisible=true\n"
        "  Window #2 Window{703780b u0 com.example.a/com.example.a.Main}:\n    mDisplayId=0 stackId=1\n"
        "    mAttrs=WM.LayoutParams{(0,0)(fillxfill) sim=#110 ty=1 fl=#81810100 wanim=0x10302fb}\n"
        "    mFrame=[0,0][1080,2160] last=[0,0][1080,2160]\n    mHasSurface=true\n    isOnScreen=true\n    isVisible=true\n"
        "  mCurrentFocus=Window{703780b u0 com.example.a/com.example.a.Main}\n"
    ),
}
"""Made after dumps that were published; handles, packages and uids are invented."""


def tree(*nodes: str, package: str = APP) -> UiTree:
    root = f'<node class="android.widget.FrameLayout" package="{package}" bounds="[0,0][1080,2160]">{"".join(nodes)}</node>'
    return parse(f'<hierarchy rotation="0">{root}</hierarchy>')


def box(bounds: str, more: str = "", inner: str = "", kind: str = "android.widget.Button") -> str:
    return f'<node class="{kind}" clickable="true" {more} bounds="{bounds}">{inner}</node>'


@table("release", SHOWN, ids=str)
def test_the_keyboard_and_the_focus_are_known_on_each_android(release: int | str) -> None:
    windows = touch_windows(SHOWN[release])
    assert [window.name for window in windows] == ["InputMethod", "com.example.a/com.example.a.Main"]
    assert [window.focused for window in windows] == [False, True]
    shown = tree(box("[0,100][1080,300]"), box("[0,1500][1080,1600]"), box("[0,1300][1080,1700]"))
    assert foreign_at(windows, shown, 500, 1399) is None
    assert str(foreign_at(windows, shown, 500, 1400)) == "the keyboard"
    assert not focus_elsewhere(windows, shown)
    above, under, half = shown.nodes[1:]
    assert tap_point(shown, above, windows) == (540, 200)
    with pytest.raises(EngineError, match="The keyboard lies over the node") as refused:
        tap_point(shown, under, windows)
    assert refused.value.code == "NODE_NOT_CLICKABLE"
    x, y = tap_point(shown, half, windows)
    assert (0 < x < 1080, 1300 <= y < 1400) == (True, True)


def test_another_window_has_the_keys() -> None:
    windows = touch_windows(
        SHOWN[14]
        .replace("displayId=0, name='703780b com", "displayId=0, name='abcd9 com")
        .replace("      2: name='5be1c93 InputMethod'", "      2: name='abcd9 com.other/com.other.Main'")
    )
    assert focus_elsewhere(windows, tree()) == "the window 'com.other/com.other.Main'"


@given(st.text(alphabet="0123456789[],=|'{}()#x \n:nameWindowtouchableRegionfFoscuE", max_size=300))
def test_any_output_is_read(text: str) -> None:
    for window in touch_windows("touchableRegion=" + text) + touch_windows("Window #1 Window{1 u0 x}:\n" + text):
        assert isinstance(window.takes(1, 1), bool)


@pytest.mark.parametrize(("orientation", "keyboard"), [(1, (0, 0, 2160, 380)), (3, (0, 700, 2160, 1080))])
def test_windows_of_a_display_as_it_was_built_are_turned_with_it(
    orientation: int, keyboard: tuple[int, int, int, int]
) -> None:
    display = f"displayId=0, orientation={orientation}, logicalFrame=Rect(0, 0 - 2160, 1080)"
    built = SHOWN[15].replace("[0,1400][1080,2160]", "[700,0][1080,2160]")
    over, main = as_turned(touch_windows(built), display)
    assert (over.region, main.region) == ((Bounds(*keyboard),), (Bounds(0, 0, 2160, 1080),))
    assert as_turned([over, main], display) == [over, main]
    assert as_turned([over, main], display.replace(f"n={orientation}", "n=0")) == [over, main]


def test_a_name_cannot_pretend_to_be_another_line() -> None:
    line = (
        "0: name='1a2b x, displayId=3, visible=false, frame=[0,0][0,0], touchableRegion=<empty>', displayId=0, visible=true, "
        "flags=0x8, frame=[0,0][9,9], touchableRegion=[0,0][9,9], ownerPid=1, ownerUid=2\n"
    )
    (window,) = touch_windows(line)
    assert (window.takes(5, 5), window.frame) == (True, Bounds(0, 0, 9, 9))


def test_a_button_in_a_row_is_not_the_row() -> None:
    shown = tree(box("[0,0][1000,100]", inner=box("[400,0][600,100]")))
    x, _ = tap_point(shown, shown.nodes[1], ())
    assert not 400 <= x < 600


def test_what_is_drawn_later_takes_the_tap() -> None:
    row, sheet = box("[0,0][1000,100]"), box("[0,0][1080,2160]")
    shown = tree(row, sheet)
    with pytest.raises(EngineError, match=r"Another node .* lies over the node"):
        tap_point(shown, shown.nodes[1], ())
    shown = tree(sheet, row)
    assert tap_point(shown, shown.nodes[2], ()) == (500, 50)


def test_drawing_order_decides_where_the_dump_has_it() -> None:
    shown = tree(box("[0,0][1080,2160]", 'drawing-order="2"'), box("[0,0][1000,100]", 'drawing-order="1"'))
    with pytest.raises(EngineError, match="Another node"):
        tap_point(shown, shown.nodes[2], ())
    assert tap_point(shown, shown.nodes[1], ()) == (540, 1080)


def test_a_label_beside_what_reacts_to_it_is_tapped() -> None:
    label = '<node class="android.widget.TextView" text="Go" bounds="[10,10][90,90]"/>'
    shown = tree(
        f'<node class="android.widget.FrameLayout" bounds="[0,0][100,100]">{label}{box("[0,0][100,100]")}</node>'
    )
    assert tap_point(shown, shown.nodes[2], ()) == (50, 50)


RECTS = st.tuples(*(st.integers(0, 2160) for _ in range(4))).map(
    lambda r: Bounds(min(r[0], r[2]), min(r[1], r[3]), max(r[0], r[2]) + 1, max(r[1], r[3]) + 1)
)


@given(st.lists(RECTS, max_size=6), st.lists(RECTS, min_size=1, max_size=8))
def test_a_tap_hits_its_node_or_is_refused(over: list[Bounds], boxes: list[Bounds]) -> None:
    main = TouchWindow("1", f"{APP}/{APP}.Main", Bounds(0, 0, 1080, 2160), (Bounds(0, 0, 1080, 2160),), focused=True)
    windows = [*(TouchWindow(str(at + 5), "Toast", one, (one,)) for at, one in enumerate(over)), main]
    shown = tree(*(box(str(one)) for one in boxes))
    for node in shown.nodes[1:]:
        with suppress(EngineError):
            x, y = tap_point(shown, node, windows)
            assert window_at(windows, x, y) is main
            assert [one for one in shown.nodes[1:] if one.bounds.contains(x, y)][-1] is node


@given(st.lists(RECTS, max_size=4), RECTS, st.sampled_from([(0, 0.8, 0, 0.2), (0.8, 0, 0.2, 0)]))
def test_a_swipe_starts_where_nothing_lies_over_its_list(
    over: list[Bounds], area: Bounds, way: tuple[float, float, float, float]
) -> None:
    main = TouchWindow("1", f"{APP}/{APP}.Main", Bounds(0, 0, 1080, 2160), (Bounds(0, 0, 1080, 2160),), focused=True)
    windows = [*(TouchWindow(str(at + 5), "Toast", one, (one,)) for at, one in enumerate(over)), main]
    shown = tree(box(str(area), 'scrollable="true"'))
    node = shown.nodes[1]
    b, (x, y) = node.bounds, node.bounds.center
    whole = tuple(round(b.top + b.height * part) if at % 2 else x for at, part in enumerate(way))
    if way[0]:
        whole = tuple(y if at % 2 else round(b.left + b.width * part) for at, part in enumerate(way))
    with suppress(EngineError):
        x1, y1, *_ = swipe_path(shown, node, windows, whole)  # type: ignore[arg-type]
        assert b.left <= x1 <= b.right
        assert b.top <= y1 <= b.bottom
        assert foreign_at(windows, shown, x1, y1) is None
