"""Parse which window of a device takes a touch or a key: ``dumpsys input``, else ``dumpsys window windows``. Pure.

The list of the input dispatcher is what decides. Its lines differ by release: flags as a number up to Android 11, as words in 12, and
``inputConfig`` from 13 on; names with the handle in ``Window{…}`` up to 10, in quotes up to 14.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from clawperator.engine.adb.displays import MAIN_DISPLAY, state_size
from clawperator.engine.hierarchy.nodes import Bounds

_WINDOW_LINES = "Window #|mDisplayId=|mAttrs=|^ +fl=|mFrame=|Frames: |mGivenContentInsets=|touchable region=|mHasSurface=|isOnScreen=|isVisible="
TOUCH_SCRIPT = (
    "dumpsys input | grep -E 'touchableRegion=|^ +displayId=[0-9]+, name=|FocusedWindow: |at time of last ANR' || "
    f"{{ dumpsys window windows | grep -E '{_WINDOW_LINES}|mCurrentFocus='; {MAIN_DISPLAY} | grep mCurrentFocus=; }}"
)
"""Prints the windows of all displays, top first, and the focus; nothing on a device that shows neither."""
_ANR = "at time of last ANR"
_MOST = 500
"""Windows that are read."""
_SYSTEM_UI = "com.android.systemui"
_NAMES = (
    ("InputMethod", "", "the keyboard"),
    ("NotificationShade", _SYSTEM_UI, "the notification shade"),
    ("StatusBar", _SYSTEM_UI, "the status bar"),
    ("NavigationBar", _SYSTEM_UI, "the navigation bar"),
    ("VolumeDialog", _SYSTEM_UI, "the volume dialog"),
    ("PipInputConsumer", _SYSTEM_UI, "a picture-in-picture window"),
    ("pip_input_consumer", _SYSTEM_UI, "a picture-in-picture window"),
    ("DockedStackDivider", _SYSTEM_UI, "the divider of the split screen"),
    ("Toast", "", "a toast"),
)
"""Windows of the system: how their name begins, their package, and what they are."""
_INPUT = re.compile(r"\s*\d{1,4}: name='?(.*), displayId=(-?\d{1,9}), (.*)", re.ASCII)
_NO_FOCUS = ("null", "<null>")
_ORIENTATION = re.compile(r"\borientation=([0-3])\b", re.ASCII)
_ID = re.compile(r", id=\d{1,10}$", re.ASCII)
_FOCUS = re.compile(r"(?:\s+displayId=0, name=|\s*FocusedWindow: name=|.*mCurrentFocus=)'?(.*?)'?\s*", re.ASCII)
_NAME = re.compile(r"(?:Window\{)?([0-9a-f]{4,16}) (?:u\d{1,4} )?(.*?)(?: EXITING)?\}?'?", re.ASCII)
_RECT = re.compile(r"\[(-?\d{1,6}),(-?\d{1,6})\]\[(-?\d{1,6}),(-?\d{1,6})\]", re.ASCII)
_SK_RECT = re.compile(r"\((-?\d{1,6}),(-?\d{1,6}),(-?\d{1,6}),(-?\d{1,6})\)", re.ASCII)
_REGION = re.compile(r"(?<![A-Za-z])touchableRegion=([^,]*(?:,[^,=]*)*)", re.ASCII)
_FRAME = re.compile(r"\bm?[fF]rame=(\[-?\d{1,6},-?\d{1,6}\]\[-?\d{1,6},-?\d{1,6}\])", re.ASCII)
_OWNER = re.compile(r"\bownerUid=(\d{1,10})", re.ASCII)
_FLAGS = re.compile(r"\bflags=(0x[0-9a-fA-F]{1,8}|[A-Z_ |]*)", re.ASCII)
_FL = re.compile(r"\bfl=(#[0-9a-fA-F]{1,8}|[A-Z_ ]*)", re.ASCII)
_CONFIG = re.compile(r"\binputConfig=([A-Z_ |]*)", re.ASCII)
_COMPONENT = re.compile(r"(android|[A-Za-z]\w*(?:\.\w+)+)/[\w.$]+", re.ASCII)
_BASE = re.compile(r"\bty=(?:BASE_APPLICATION|1)\b", re.ASCII)
_NOT_FOCUSABLE, _NOT_TOUCHABLE, _NOT_TOUCH_MODAL = 0x8, 0x10, 0x20
"""Flags of WindowManager.LayoutParams."""
_PASSES = frozenset({"NOT_VISIBLE", "NOT_TOUCHABLE", "SPY"})


class TouchWindow(NamedTuple):
    """A window that takes touches, in its ``region``, or ``everywhere`` if nothing else may be touched while it is there.

    ``handle`` is its number, ``owner`` the uid of its app, empty if unknown; ``focused``: it gets the keys.
    """

    handle: str
    name: str
    frame: Bounds
    region: tuple[Bounds, ...]
    everywhere: bool = False
    owner: str = ""
    focused: bool = False

    @property
    def package(self) -> str:
        """The package of its app, empty if its name does not say it."""
        if (component := _COMPONENT.fullmatch(self.name)) is not None:
            return component[1]
        return next((package for name, package, _ in _NAMES if self.name.startswith(name)), "")

    @property
    def is_keyboard(self) -> bool:
        return self.name == "InputMethod"

    def __str__(self) -> str:
        """What it is, for messages."""
        named = next((words for name, _, words in _NAMES if self.name.startswith(name)), "")
        return named or f"the window {self.name[:100]!r}"

    def takes(self, x: int, y: int) -> bool:
        return self.everywhere or any(box.contains(x, y) for box in self.region)


def touch_windows(text: str) -> list[TouchWindow]:
    """Return the windows of the main display that take touches, top first, from the output of ``TOUCH_SCRIPT``."""
    lines = text.partition(_ANR)[0].splitlines()
    focus = next(
        (_named(found[1])[0] for line in lines if (found := _FOCUS.fullmatch(line)) and found[1] not in _NO_FOCUS), ""
    )
    read = _of_dispatcher(lines) if "touchableRegion=" in text else _of_window_manager(lines)
    windows = [window for window, _ in zip(read, range(_MOST), strict=False)]
    return [window._replace(focused=True) if window.handle == focus else window for window in windows]


def as_turned(windows: Sequence[TouchWindow], display: str) -> list[TouchWindow]:
    """Return the windows in the coordinates of the display as it is turned, by ``display``, the output of ``displays.STATE_SCRIPT``.

    From Android 12 on the dispatcher's list has those of the display as it was built; whether it does is seen by its largest window.
    """
    size, turned = state_size(display), _ORIENTATION.search(display)
    if size is None or turned is None or turned[1] not in ("1", "3"):
        return list(windows)
    width, height = size
    boxes = {box for window in windows for box in (window.frame, *window.region)}
    if Bounds(0, 0, width, height) in boxes or Bounds(0, 0, height, width) not in boxes:
        return list(windows)

    def turn(box: Bounds) -> Bounds:
        if turned[1] == "1":  # its right edge as it was built is the top now
            return Bounds(box.top, height - box.right, box.bottom, height - box.left)
        return Bounds(width - box.bottom, box.left, width - box.top, box.right)

    return [one._replace(frame=turn(one.frame), region=tuple(map(turn, one.region))) for one in windows]


def _named(text: str) -> tuple[str, str]:
    """Return handle and title of a window from any of its names."""
    found = _NAME.fullmatch(text)
    return (found[1], found[2]) if found is not None else ("", text)


def _of_dispatcher(lines: Sequence[str]) -> Iterator[TouchWindow]:
    for line in lines:
        match = _INPUT.fullmatch(line)
        if match is None or match[2] != "0":
            continue
        handle, name = _named(_ID.sub("", match[1]).removesuffix("'"))
        rest = match[3]
        region, frame, owner = (pattern.search(rest) for pattern in (_REGION, _FRAME, _OWNER))
        flags = _bits(_FLAGS.search(rest))
        config = {word.strip() for word in found[1].split("|")} if (found := _CONFIG.search(rest)) else set()
        # a window inside of another belongs to its tree; a gesture monitor sees touches and leaves them to others
        inside = name.startswith("Embedded{") or "[Gesture Monitor]" in name
        boxes = tuple(_boxes(_RECT, region[1] if region else ""))
        if inside or not boxes or config & _PASSES or "visible=false" in rest or flags & _NOT_TOUCHABLE:
            continue
        yield TouchWindow(
            handle,
            name,
            next(_boxes(_RECT, frame[1] if frame else ""), Bounds(0, 0, 0, 0)),
            boxes,
            everywhere=bool(_FLAGS.search(rest)) and not flags & (_NOT_FOCUSABLE | _NOT_TOUCH_MODAL),
            owner=owner[1] if owner else "",
            focused="hasFocus=true" in rest,
        )


def _of_window_manager(lines: Sequence[str]) -> Iterator[TouchWindow]:
    """Windows by their frames, the keyboard by what it leaves to others: for devices that hide the dispatcher's list."""
    parts: list[list[str]] = []
    for line in lines:
        if "Window #" in line:
            parts.append([])
        if parts:
            parts[-1].append(line)
    for head, *rest in parts:
        text = "\n".join(rest)
        handle, name = _named(head.partition("Window{")[2].rstrip().removesuffix(":"))
        if any(sign in text for sign in ("isVisible=false", "isOnScreen=false", "mHasSurface=false")):
            continue
        flags = _bits(_FL.search(text))
        frame = next((box for found in _FRAME.finditer(text) for box in _boxes(_RECT, found[1])), None)
        other = re.search(r"mDisplayId=[1-9]", text) is not None
        if frame is None or frame.empty or flags & _NOT_TOUCHABLE or other:
            continue
        region = tuple(_boxes(_SK_RECT, text.partition("touchable region=")[2].partition("\n")[0]))
        if (
            not region
            and name == "InputMethod"
            and (given := re.search(r"mGivenContentInsets=\[\d{1,6},(\d{1,6})\]", text))
        ):
            region = (Bounds(frame.left, frame.top + int(given[1]), frame.right, frame.bottom),)
        modal = not flags & (_NOT_FOCUSABLE | _NOT_TOUCH_MODAL) and _BASE.search(text) is None
        yield TouchWindow(handle, name, frame, region or (frame,), everywhere=modal)


def _boxes(pattern: re.Pattern[str], text: str) -> Iterator[Bounds]:
    for found in pattern.finditer(text):
        left, top, right, bottom = (int(number) for number in found.groups())
        yield Bounds(left, top, right, bottom)


def _bits(found: re.Match[str] | None) -> int:
    """Return the flags that decide who is touched, which a device prints as a number or as words."""
    if found is None:
        return 0
    if found[1][:1] == "#" or found[1].startswith("0x"):
        return int(found[1].removeprefix("0x").removeprefix("#"), 16)
    words = found[1].replace("|", " ").split()
    known = {"NOT_FOCUSABLE": _NOT_FOCUSABLE, "NOT_TOUCHABLE": _NOT_TOUCHABLE, "NOT_TOUCH_MODAL": _NOT_TOUCH_MODAL}
    return sum(known.get(word, 0) for word in set(words))
