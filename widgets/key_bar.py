"""The bottom line: the available keys from the active bindings, most used first and help last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from textual.binding import ActiveBinding
from textual.keys import key_to_character
from textual.message import Message

from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.line_widget import OneLineWidget
from clawperator.widgets.text.safe import cells

_LAST = ("app.help",)


class KeyHint(NamedTuple):
    """One key: binding id, key to press on a click, its spelling, label, and whether it is enabled."""

    id: str
    key: str
    sign: str
    label: str
    enabled: bool


def key_sign(display: str | None, key: str, symbols: Symbols) -> str:
    """Return the first spelling of a key, in ASCII where needed."""
    text = (display or key).split(" ", maxsplit=1)[0] if (display or key) != " " else "space"
    text = text.replace("ctrl+", "^")
    if not symbols.ascii:
        return text
    plain = {"⏎": "enter", "␣": "space", "⇥": "tab", "⇧⇥": "s-tab", "↑": "up", "↓": "down", "←": "left", "→": "right"}
    return plain.get(text, text)


def hints(active: dict[str, ActiveBinding], symbols: Symbols, *, typing: bool = False) -> list[KeyHint]:
    """Return the shown bindings in table order, help last. While ``typing``, keys that write a character are left out."""
    found: dict[str, KeyHint] = {}
    for key, (_, binding, enabled, _) in active.items():
        if typing and _writes(key):
            continue
        if binding.show and binding.id and binding.id not in found:
            display = None if typing and _writes(binding.key_display or "") else binding.key_display
            sign = key_sign(display, keys.sign(key), symbols)
            found[binding.id] = KeyHint(binding.id, key, sign, binding.description, enabled)
    return sorted(found.values(), key=lambda hint: (hint.id in _LAST, keys.rank(hint.id)))


def _writes(key: str) -> bool:
    """Return whether a key writes a character, unlike ``enter`` or ``⏎``."""
    character = key_to_character(key) or keys.sign(key)
    return len(character) == 1 and character.isascii() and character.isprintable()


class KeyBar(OneLineWidget):
    """The key hints; a click posts ``Pressed`` with the key."""

    @dataclass(eq=False)
    class Pressed(Message):
        """A key was clicked; handle it as typed."""

        key: str

    def __init__(self) -> None:
        super().__init__(id="key-bar")
        self._hints: tuple[KeyHint, ...] = ()

    def show(self, hints: Sequence[KeyHint]) -> None:
        if tuple(hints) != self._hints:
            self._hints = tuple(hints)
            self.refresh()

    def line_row(self, width: int) -> Row:
        line = Line(width).add(" ")
        self._hits = []
        for hint in self._fitting(width - 1):
            line.add("  " if self._hits else "")
            start = line.cells
            line.add(hint.sign, "key" if hint.enabled else "faint")
            line.add(f" {hint.label}", "muted" if hint.enabled else "faint")
            self._hits.append((start, line.cells, hint.key))
        return Row(line)

    def _fitting(self, room: int) -> list[KeyHint]:
        """Return as many as fit, always with help."""
        shown = list(self._hints)
        while shown and sum(cells(hint.sign) + len(hint.label) + 3 for hint in shown) > room + 2:
            victim = next((hint for hint in reversed(shown) if hint.id not in _LAST), None)
            if victim is None:
                break
            shown.remove(victim)
        return shown

    def hit(self, what: str) -> None:
        self.post_message(self.Pressed(what))
