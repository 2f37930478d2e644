"""A question with more than two answers, the harmless one first."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.widgets import Label

from clawperator.app.console.screens.menu import Choice, MenuDialog
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.text.safe import paragraphs


class ChoiceDialog(MenuDialog):
    """Answers the id of the chosen entry, or ``None``."""

    def __init__(self, title: str, words: str, choices: Sequence[Choice], symbols: Symbols) -> None:
        super().__init__(title, choices, symbols)
        self._words = words

    def compose_dialog(self) -> ComposeResult:
        yield Label(paragraphs(self._words), markup=False)
        yield Label("")
        yield from super().compose_dialog()
