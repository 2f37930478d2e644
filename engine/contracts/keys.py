"""Android's key codes (``android.view.KeyEvent``): the names that are sent, and what a key can do. Pure."""

from __future__ import annotations

_WORDS = """
HOME=3 BACK=4 CALL=5 ENDCALL=6 STAR=17 POUND=18 DPAD_UP=19 DPAD_DOWN=20 DPAD_LEFT=21 DPAD_RIGHT=22 DPAD_CENTER=23
VOLUME_UP=24 VOLUME_DOWN=25 POWER=26 CAMERA=27 CLEAR=28 COMMA=55 PERIOD=56 ALT_LEFT=57 ALT_RIGHT=58 SHIFT_LEFT=59
SHIFT_RIGHT=60 TAB=61 SPACE=62 ENTER=66 DEL=67 GRAVE=68 MINUS=69 EQUALS=70 LEFT_BRACKET=71 RIGHT_BRACKET=72
BACKSLASH=73 SEMICOLON=74 APOSTROPHE=75 SLASH=76 AT=77 HEADSETHOOK=79 FOCUS=80 PLUS=81 MENU=82 NOTIFICATION=83
SEARCH=84 MEDIA_PLAY_PAUSE=85 MEDIA_STOP=86 MEDIA_NEXT=87 MEDIA_PREVIOUS=88 MEDIA_REWIND=89 MEDIA_FAST_FORWARD=90
MUTE=91 PAGE_UP=92 PAGE_DOWN=93 BUTTON_A=96 BUTTON_B=97 BUTTON_X=99 BUTTON_Y=100 BUTTON_START=108 BUTTON_SELECT=109
ESCAPE=111 FORWARD_DEL=112 CTRL_LEFT=113 CTRL_RIGHT=114 CAPS_LOCK=115 META_LEFT=117 META_RIGHT=118 SYSRQ=120
MOVE_HOME=122 MOVE_END=123 INSERT=124 MEDIA_PLAY=126 MEDIA_PAUSE=127 NUMPAD_ENTER=160 VOLUME_MUTE=164 ZOOM_IN=168
ZOOM_OUT=169 SETTINGS=176 APP_SWITCH=187 LANGUAGE_SWITCH=204 ASSIST=219 BRIGHTNESS_DOWN=220 BRIGHTNESS_UP=221 SLEEP=223
WAKEUP=224 NAVIGATE_PREVIOUS=260 NAVIGATE_NEXT=261 SOFT_SLEEP=276 CUT=277 COPY=278 PASTE=279 ALL_APPS=284 SCREENSHOT=318
"""
KEY_CODES = {
    **{str(digit): 7 + digit for digit in range(10)},
    **{chr(65 + letter): 29 + letter for letter in range(26)},
    **{f"F{number}": 130 + number for number in range(1, 13)},
    **{f"NUMPAD_{digit}": 144 + digit for digit in range(10)},
    **{name: int(code) for name, _, code in (word.partition("=") for word in _WORDS.split())},
}
"""Names of key codes without ``KEYCODE_`` that are sent → the code; other keys go by their code."""
LAST_KEY = 400


def _codes(text: str) -> frozenset[int]:
    ends = [word.partition("-") for word in text.split()]
    return frozenset(code for first, _, last in ends for code in range(int(first), int(last or first) + 1))


_TYPE = _codes("7-18 28-56 61 62 67-77 81 94 95 112 144-159 161-163 277-279")
"""Keys that change the text of a field: characters, Tab (in a field of several lines), deleting, the clipboard."""
_CONFIRM = _codes("5 6 23 27 62 66 79 84 96-110 160 188-203 262")
"""Keys that activate what has the focus. Android treats game buttons without a meaning of their own as the centre of the pad;
Space presses a button and types into a field; Enter in a field of several lines breaks the line."""
_NAVIGATE = _codes("3 4 19-22 61 64 65 82-84 92 93 96-111 117 118 122 123 125 176 187-203 207-210 219 260-263 284")
"""Keys that move the focus, scroll, go back, or bring another app to the front."""
_SYSTEM = _codes("24-26 57-60 63 78 80 85-91 113-116 119-121 124 126-143 164 168 169 204 220 221 223 224 276 318")
"""Keys for sound, light, power and media, and keys that do nothing alone: modifiers, function keys."""


def key_code(key: str) -> int:
    """Return the code of ``key``: a number, or a name with or without ``KEYCODE_``; 0 for an unknown name.

    As for Android's own tools, 4 is a number (the key Back) and KEYCODE_4 the key of the digit.
    """
    word = key.strip().upper()
    if word.isascii() and word.isdigit():
        return int(word) if len(word) < 5 else 0
    return KEY_CODES.get(word.removeprefix("KEYCODE_"), 0)


def key_effects(code: int) -> set[str]:
    """Return which of the capabilities ``click``, ``navigate`` and ``type_text`` a key needs; an unknown key needs all."""
    effects = {"click": _CONFIRM, "navigate": _NAVIGATE, "type_text": _TYPE}
    found = {name for name, codes in effects.items() if code in codes}
    return found if found or code in _SYSTEM else set(effects)
