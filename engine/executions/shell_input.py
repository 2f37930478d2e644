"""Input through Android's own ``input``, which leaves accessibility services bound (android-facts 10e): compositions of one action.

A selector is resolved by one snapshot of the Operator to the point of its first match that a finger reaches; a point needs no Operator
app. Everything is checked before anything is sent, because ``input`` itself ignores keys and points that do not exist.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clawperator.engine.adb.displays import MAIN_DISPLAY
from clawperator.engine.adb.parse import parse_wm_size
from clawperator.engine.adb.quote import device_script
from clawperator.engine.contracts.execution import Action
from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.engine.contracts.keys import KEY_CODES, LAST_KEY, key_code, key_effects
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.build import NO_LIMITS
from clawperator.engine.executions.composition import Composition, Parts, StepFailedError, by_reference
from clawperator.engine.executions.keys import PIECE, PIECE_SECONDS
from clawperator.engine.executions.matcher_check import checked_fields, checked_matcher
from clawperator.engine.executions.screenshot import find_display
from clawperator.engine.executions.touch import require_on_screen, tap_point
from clawperator.engine.executions.touch_windows import TOUCH_SCRIPT, touch_windows
from clawperator.engine.executions.verbs import absent

if TYPE_CHECKING:
    from clawperator.engine.adb.device import AdbDevice

MAX_DURATION_MS = 20_000
LONG_PRESS_MS = 800
"""Longer than Android's longest setting of the touch and hold delay that is not an accessibility aid (500 ms)."""
SWIPE_MS = 300
DRAG_MS = 1_000
_USUAL_MS = {"long_press": LONG_PRESS_MS, "swipe": SWIPE_MS, "drag": DRAG_MS}
_TRIES = 3
"""How often the node of a gesture is located where the display turns meanwhile."""
_DISPLAY = re.compile(r"\bcur=(\d{1,6})x(\d{1,6})\b", re.ASCII)

Point = tuple[int, int]


def key(name: str, *, display: int = 0) -> Composition:
    """Press a key by the name or number of its key code. Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) for an unknown one."""
    given = name.strip().upper()
    word, code = given.removeprefix("KEYCODE_"), key_code(given)
    if not 0 < code <= LAST_KEY:
        hint = suggestion(word, KEY_CODES) or "Use the name or the number of an Android key code, such as ENTER or 66."
        raise _invalid(f"There is no key {shown(name)}", "key", hint=hint)
    sent = str(code) if given.isdigit() else f"KEYCODE_{word}"
    named = sent if word.isdigit() else word

    async def run(parts: Parts) -> dict[str, Any]:
        where = await _to_display(parts.device, display)
        await parts.shell("key", *where, "keyevent", sent, secret="type_text" in key_effects(code))
        return {"sent": " ".join(("input", *where, "keyevent", sent))}

    return Composition("input", (Action("key", "input_key", {"key": named} | _on(display)),), run)


def text(value: str, *, display: int = 0) -> Composition:
    """Type into the focused field with key events. Raises ``EngineError`` (TEXT_NOT_DELIVERED) for text that ``input`` cannot type."""
    if not value:
        raise _invalid("The text is empty", "text")
    bad = next((sign for sign in value if not " " <= sign <= "~"), "")
    if bad or "%s" in value:
        what = f"the character U+{ord(bad):04X}" if bad else "a literal %s, which it reads as a space"
        message = f"Android's input cannot type {what}; nothing was sent"
        hint = "Use enter_text (`type`) or set_text (`set`), which replace a field's text."
        raise EngineError(ErrorCode.TEXT_NOT_DELIVERED, message, hint=hint, details={"path": "text"})

    async def run(parts: Parts) -> dict[str, Any]:
        where, until = await _to_display(parts.device, display), time.monotonic() + parts.execution.timeout_ms / 1000
        for at in range(0, len(value), PIECE):
            if time.monotonic() > until:
                words = f"The time limit came when {at} of {len(value)} characters were typed; no more will follow"
                raise StepFailedError("text", EngineError(ErrorCode.EXECUTION_TIMEOUT, words))
            piece = value[at : at + PIECE].replace(" ", "%s")
            await parts.shell("text", *where, "text", piece, secret=True, seconds=PIECE_SECONDS)
        return {"sent": " ".join(("input", *where, "text")), "characters": len(value)}

    return Composition("input", (Action("text", "input_text", {"text": value} | _on(display)),), run)


def _on(display: int) -> dict[str, int]:
    return {"display": display} if display else {}


async def _to_display(device: AdbDevice, display: int) -> tuple[str, ...]:
    """Return the words of ``input`` that select a display. Raises ``EngineError`` if the device does not have it."""
    return ("-d", str((await find_display(device, display)).id)) if display else ()


@by_reference
def gesture(
    kind: str,
    at: Point | None = None,
    *,
    matcher: Mapping[str, Any] | None = None,
    to: Point | None = None,
    duration_ms: int | None = None,
    display: int = 0,
    argument: str = "at",
    limits: Mapping[str, Any] = NO_LIMITS,
) -> Composition:
    """``tap``, ``long_press``, ``swipe`` or ``drag`` at a point or a node within ``limits``; the last two end at ``to``.

    Points outside the screen as it is turned are refused, and nothing is sent. Errors call the point ``argument``.
    """
    if (at is None) == (matcher is None):
        raise _invalid(f"{kind} takes a selector OR a point", argument)
    if (to is None) == (kind in ("swipe", "drag")):
        raise _invalid(f"{kind} needs an end point" if to is None else f"{kind} takes no end point", "to")
    if display and matcher is not None:
        raise _invalid(f"Display {display} has no tree: give a point instead of a selector", "display")
    if matcher is None and any(value is not None for value in limits.values()):
        raise _invalid("A point takes neither strict, container, nth nor within", argument)
    wanted = None if matcher is None else checked_matcher(matcher)
    limits = {
        name: checked_fields(value, name) if name in ("container", "within") and value is not None else value
        for name, value in limits.items()
    }
    held = _USUAL_MS.get(kind) if duration_ms is None else duration_ms

    async def run(parts: Parts) -> dict[str, Any]:
        if held is not None and held > parts.execution.timeout_ms:
            reason = f"A gesture of {held} ms does not fit the time limit of {parts.execution.timeout_ms} ms; nothing was sent"
            raise _invalid(reason, "durationMs", hint="Pass a longer --timeout, or a shorter gesture.")
        for _ in range(_TRIES):
            if at is None:
                start, screen = await _start_at_node(parts, kind, matcher or {}, limits)
            else:
                start, screen = at, await screen_size(parts.device, display)
            for name, point in ((argument, start), ("to", to)):
                require_on_screen(name, point, screen)
            if at is None:
                parts.admit(Action(kind, act.type, {**act.params, "at": start}))
            words = [*(["-d", str(display)] if display else []), *_gesture_words(kind, start, to, str(held))]
            if await parts.shell(kind, *words, at_node=at is None):
                return {"sent": f"input {' '.join(words)}", "point": list(start)}
        message = "The display turned or was resized between each snapshot and the gesture; nothing was sent"
        raise StepFailedError(kind, EngineError(ErrorCode.GESTURE_FAILED, message))

    given = {"matcher": matcher, "at": at and list(at), "to": to and list(to), "durationMs": duration_ms} | _on(display)
    act = Action(kind, f"input_{kind}", {name: value for name, value in given.items() if value is not None})
    return Composition("input", (act,) if wanted is None else (Action("look", "snapshot_ui"), act), run)


async def _start_at_node(
    parts: Parts, kind: str, matcher: Mapping[str, Any], limits: Mapping[str, Any]
) -> tuple[Point, tuple[int, int]]:
    """Return the point where a finger reaches the node, and the size of its screen."""
    tree = await parts.look("look")
    node = parts.pick(tree, matcher, limits=limits)
    if node is None:
        raise absent(tree, checked_matcher(matcher))
    windows = touch_windows((await parts.device.script(device_script(TOUCH_SCRIPT))).text)
    try:
        start = tap_point(tree, node, windows, long=kind == "long_press")
    except EngineError as exc:
        raise StepFailedError(kind, exc) from exc
    return start, (tree.screen.width, tree.screen.height)


def _gesture_words(kind: str, start: Point, to: Point | None, hold: str) -> list[str]:
    """Return the words of ``input`` for a gesture; it has no other way to hold than a swipe of no length (android-facts 8c)."""
    name = {"tap": "tap", "drag": "draganddrop"}.get(kind, "swipe")
    points = start if kind == "tap" else (*start, *(to or start))
    return [name, *map(str, points), *([] if kind == "tap" else [hold])]


async def screen_size(device: AdbDevice, display: int = 0) -> tuple[int, int]:
    """Return width and height of the display as it is turned. Raises ``EngineError`` (DEVICE_SHELL_UNAVAILABLE)."""
    if display:
        found = await find_display(device, display)
        return found.width, found.height
    done = await device.script(device_script(f"{MAIN_DISPLAY} | grep -m 1 cur=; wm size"))
    return parse_screen_size(done.text, device.serial)


def parse_screen_size(text: str, serial: str) -> tuple[int, int]:
    """Return width and height from ``dumpsys window displays``, else from ``wm size``, which ignores how the display is turned."""
    if now := _DISPLAY.search(text):
        return int(now[1]), int(now[2])
    if all(size := parse_wm_size(text)):
        return size.width, size.height
    raise EngineError(ErrorCode.DEVICE_SHELL_UNAVAILABLE, f"The size of the screen of {serial} cannot be read")


def _invalid(message: str, path: str, *, hint: str = "Run `clawperator help input`.", **details: Any) -> EngineError:
    return EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, message, hint=hint, details={"path": path, **details})
