"""Dialogs that are redrawn while they are open."""

from __future__ import annotations

from textual import on
from textual.app import ComposeResult

from clawperator.app.console.screens.menu import Dialog
from clawperator.app.console.session import Facet
from clawperator.widgets.key_bar import KeyBar, KeyHint, key_sign

TICK_SECONDS = 1.0
_SIGNS = {"enter": "⏎", "escape": "esc", "ctrl+o": "^o", "slash": "/"}


class AskingDialog(Dialog):
    """A dialog with the keys ⏎ and esc; both can be clicked. Answers ``None`` for esc."""

    DEFAULT_CSS = """
    AskingDialog Label { width: 1fr; }
    """
    GO = "ok"
    MORE_KEYS: tuple[tuple[str, str], ...] = ()
    """Further keys of the key bar, with their labels."""

    def __init__(self, title: str) -> None:
        super().__init__()
        self.TITLE_TEXT = title

    def compose_dialog(self) -> ComposeResult:
        yield from self.compose_question()
        yield KeyBar()

    def compose_question(self) -> ComposeResult:
        raise NotImplementedError

    def on_mount(self) -> None:
        self.show_keys(("enter", self.GO), *self.MORE_KEYS, ("escape", "back"))

    def show_keys(self, *keys_shown: tuple[str, str], dimmed: str = "") -> None:
        """Show these keys with their labels; ``dimmed`` is an unavailable one."""
        self.query_one(KeyBar).show(
            [
                KeyHint(key, key, key_sign(_SIGNS.get(key, key), key, self.symbols), label, key != dimmed)
                for key, label in keys_shown
            ]
        )

    def action_go(self) -> None:
        """Answer on ⏎."""
        self.dismiss(True)

    @on(KeyBar.Pressed)
    def _clicked(self, message: KeyBar.Pressed) -> None:
        message.stop()
        if message.key == "enter":
            self.action_go()
        elif message.key == "escape":
            self.action_close()
        else:
            # From the app: a key that this dialog sends would not bubble beyond it to the bindings.
            self.app.call_later(self.app.simulate_key, message.key)


class LiveDialog(AskingDialog):
    """``draw`` is called when something changed, and once a second."""

    def show(self, changed: Facet) -> None:
        """Redraw after a change of the session."""
        if self.is_mounted and self.is_running:
            self.draw(changed)

    def draw(self, changed: Facet) -> None:
        raise NotImplementedError

    def on_mount(self) -> None:
        self.set_interval(TICK_SECONDS, self._tick)
        self.call_after_refresh(self.show, Facet.EVERYTHING)

    def _tick(self) -> None:
        self.show(Facet.NOTHING)
