"""Parse the displays and windows of a device: ``dumpsys display``, ``dumpsys window`` and ``dumpsys input_method``. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

DISPLAY_SCRIPT = "dumpsys display | grep -E 'mDisplayId=|DisplayInfo=DisplayInfo'"
MAIN_DISPLAY = "dumpsys window displays | sed '/Display: mDisplayId=[1-9]/,/Display: mDisplayId=0/d'"
"""Prints what the window manager reports of the main display: it lists displays in any order, each with a focus of its own."""
FRONT_SCRIPT = (
    f"{MAIN_DISPLAY} | grep -E 'mCurrentFocus=|mFocusedApp=' || "
    "dumpsys window windows | grep -E 'mCurrentFocus=|mFocusedApp='"
)
"""Prints the focused window and app, which Android 9 and before list with the windows, later ones with the displays."""
WINDOW_SCRIPT = (
    f"{MAIN_DISPLAY} | grep -E 'mCurrentFocus='; dumpsys window windows | grep -E 'Window #|mAttrs=|fl=|mCurrentFocus='; "
    "dumpsys input_method | grep -E 'mInputShown=|mIsInputViewShown='"
)
STATE_SCRIPT = (
    "dumpsys display | grep -oE 'displayId=0, [^}]*orientation=[0-9]+, logicalFrame=Rect.[0-9, -]+' || "
    f"{MAIN_DISPLAY} | grep -oE 'cur=[0-9]+x[0-9]+'"
)
"""Prints the size and the rotation of the main display. The window manager's dump also has the rotation that the sensor expects,
which changes in the hand without a turn."""
GUARD = f'[ "$({STATE_SCRIPT})" = {{seen}} ] || exit 113; '
"""Put before a script, ends it where the display is not as in ``seen``, the output of ``STATE_SCRIPT``."""
DISPLAY_CHANGED = 113
"""The exit code of a script that ``GUARD`` has ended."""
_MOST = 32
_STATE_SIZE = re.compile(
    r"logicalFrame=Rect\(\d{1,6}, \d{1,6} - (\d{1,6}), (\d{1,6})|cur=(\d{1,6})x(\d{1,6})", re.ASCII
)
_ID = re.compile(r"^\s*mDisplayId=(\d{1,9})\b", re.ASCII)
_INFO = re.compile(r'm(Base|Override)DisplayInfo=DisplayInfo\{"([^"]{0,200}?)(?:, displayId \d{1,9})?"(.*)', re.ASCII)
_REAL = re.compile(r"\breal (\d{1,6}) x (\d{1,6})\b", re.ASCII)
_ROTATION = re.compile(r"\brotation ([0-3])\b", re.ASCII)
_DENSITY = re.compile(r"\bdensity (\d{1,5})\b", re.ASCII)
_STATE = re.compile(r"\bstate ([A-Z_]{2,20})\b", re.ASCII)
_PHYSICAL = re.compile(r'\buniqueId "local:(\d{1,20})"', re.ASCII)
_PACKAGE = re.compile(r"[ {]([A-Za-z][\w.]*)/[\w.$]+", re.ASCII)
_FOCUS = re.compile(r"mCurrentFocus=Window\{(\S+) (?:u\d+ )?([^\s}]+)", re.ASCII)
_WINDOW = re.compile(r"Window #\d+ Window\{(\S+) ", re.ASCII)
_FLAGS = re.compile(r"(?:^|\s)fl=(#[0-9a-fA-F]{1,8}|[A-Z_ ]+)", re.ASCII)
_SECURE = 0x2000
"""WindowManager.LayoutParams.FLAG_SECURE."""


class Display(NamedTuple):
    """A logical display; ``physical`` is the number that ``screencap -d`` takes, empty for virtual displays."""

    id: int
    name: str
    width: int
    height: int
    density: int | None
    rotation: int
    on: bool
    physical: str

    def to_dict(self) -> dict[str, object]:
        return {**self._asdict(), "rotation": self.rotation * 90}


def state_size(text: str) -> tuple[int, int] | None:
    """Return width and height in the output of ``STATE_SCRIPT``, ``None`` if it has none."""
    found = _STATE_SIZE.search(text)
    if found is None:
        return None
    width, height = (int(number) for number in found.groups() if number is not None)
    return width, height


def front_package(text: str) -> str:
    """Return the package of the focused window, else of the focused app, in the output of ``FRONT_SCRIPT``; empty without one."""
    return next((match[1] for line in text.splitlines() if (match := _PACKAGE.search(line))), "")


def parse_displays(text: str) -> list[Display]:
    """Return the logical displays in ``dumpsys display``, with what apps see (the override) where it is there."""
    found: dict[int, tuple[bool, Display]] = {}
    current = -1
    for line in text.splitlines():
        if (number := _ID.match(line)) is not None:
            current = int(number[1])
        info = _INFO.search(line)
        if info is None or current < 0 or (current not in found and len(found) == _MOST):
            continue
        override, rest = info[1] == "Override", info[3]
        size = _REAL.search(rest)
        if size is None or (current in found and not override):
            continue
        density, rotation, state, physical = (p.search(rest) for p in (_DENSITY, _ROTATION, _STATE, _PHYSICAL))
        found[current] = (
            override,
            Display(
                current,
                info[2],
                int(size[1]),
                int(size[2]),
                int(density[1]) if density else None,
                int(rotation[1]) if rotation else 0,
                state is not None and state[1] not in ("OFF", "UNKNOWN"),
                physical[1] if physical else "",
            ),
        )
    return [display for _, display in found.values()]


def window_facts(text: str) -> dict[str, str | bool]:
    """Return the facts in the output of ``WINDOW_SCRIPT``, only those that it contains.

    ``focus``: the package of the focused window, empty for one of the system's; ``secure``: it forbids pictures; ``keyboard``: it is
    shown.
    """
    facts: dict[str, str | bool] = {}
    if "mInputShown=" in text:  # with a keyboard plugged in, an input method is shown without a view
        facts["keyboard"] = "mInputShown=true" in text and "mIsInputViewShown=false" not in text
    focus, title = next((match.groups() for match in map(_FOCUS.search, text.splitlines()) if match), ("", ""))
    if focus:
        facts["focus"] = title.partition("/")[0] if "/" in title else ""
    window = ""
    for line in text.splitlines():
        if (begin := _WINDOW.search(line)) is not None:
            window = begin[1]
        elif focus and window == focus and (flags := _FLAGS.search(line)) is not None:
            value = flags[1]
            secure = bool(int(value[1:], 16) & _SECURE) if value.startswith("#") else "SECURE" in value.split()
            facts["secure"] = secure or bool(facts.get("secure"))
    return facts
