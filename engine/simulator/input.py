"""Touches, keys and typed text."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping

from clawperator.engine.simulator.clock import DeviceClock
from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.profile import ADB_KEYBOARD
from clawperator.engine.simulator.ui import Ui

KEYS = {
    3: "HOME",
    4: "BACK",
    26: "POWER",
    61: "TAB",
    66: "ENTER",
    67: "DEL",
    111: "ESCAPE",
    187: "APP_SWITCH",
    223: "SLEEP",
    224: "WAKEUP",
}
_DRAG_PIXELS = 16
_LONG_PRESS_MS = 400
_NO_KEY = "java.lang.NullPointerException: Attempt to get length of null array\n\tat com.android.commands.input.Input.sendText"


class InputManager:
    """Input events for the window in front. ``on_back`` is called before each Back takes effect."""

    def __init__(self, ui: Ui, clock: DeviceClock, on_back: Callable[[], None]) -> None:
        self._ui, self._clock, self._on_back = ui, clock, on_back

    def tap(self, x: int, y: int) -> None:
        self._ui.tap(x, y)

    async def swipe(self, x1: int, y1: int, x2: int, y2: int, duration_ms: int = 300) -> None:
        """A drag; one that stays in place is a tap, or from 400 ms on a long press."""
        await self._clock.sleep(duration_ms / 1000)
        if abs(x2 - x1) + abs(y2 - y1) > _DRAG_PIXELS:
            self._ui.swipe(x1, y1, x2, y2)
        else:
            (self._ui.hold if duration_ms >= _LONG_PRESS_MS else self._ui.tap)(x1, y1)

    def key(self, key: int | str) -> None:
        """A key event by number or by name (``4``, ``BACK``, ``KEYCODE_BACK``); other keys do nothing."""
        word = str(key).upper().removeprefix("KEYCODE_")
        name = KEYS.get(int(word), "") if word.isdigit() and len(word) < 6 else word
        ui = self._ui
        acts: Mapping[str, Callable[[], object]] = {
            "BACK": self._back,
            "HOME": ui.go_home,
            "APP_SWITCH": ui.recents,
            "ENTER": ui.enter,
            "NUMPAD_ENTER": ui.enter,
            "SEARCH": ui.enter,
            "DEL": ui.delete,
            "ESCAPE": ui.escape,
            "POWER": lambda: setattr(ui, "awake", not ui.awake),
            "SLEEP": lambda: setattr(ui, "awake", False),
            "WAKEUP": lambda: setattr(ui, "awake", True),
        }
        if name in acts:
            acts[name]()

    def global_action(self, name: str) -> None:
        """An accessibility global action: ``back``, ``home`` or ``recents``."""
        {"back": self._back, "home": self._ui.go_home, "recents": self._ui.recents}[name]()

    def _back(self) -> None:
        self._on_back()
        self._ui.escape()

    def by_keyboard(self, action: str, extras: Mapping[str, str]) -> bool:
        """Type what a broadcast for ADBKeyBoard says, if that keyboard is chosen and shown; false for other broadcasts."""
        if action not in ("ADB_CLEAR_TEXT", "ADB_INPUT_B64"):
            return False
        node = self._ui.focused_field()
        if (
            self._ui.setting("secure", "default_input_method") == ADB_KEYBOARD
            and node is not None
            and self._ui.keyboard_shown
        ):
            if action == "ADB_CLEAR_TEXT":
                self._ui.set_text(node, "")
            else:
                self._ui.type_text(b64decode(extras.get("msg", "")).decode(errors="replace"))
        return True

    def type_text(self, text: str) -> None:
        """``input text``: ``%s`` is a space; a character without a key types nothing at all (android-facts 8a)."""
        if not text.isascii() or not text.isprintable():
            raise CommandError(_NO_KEY)
        self._ui.type_text(text.replace("%s", " "))
