"""The palette's dialog: a field, and the matching commands.

Textual's own palette searches in the background: ⏎ in a burst of keys chose from a list of other letters, and later
keys met a closed dialog.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from clawperator.app.console.screens.menu import Dialog
from clawperator.widgets import keys

if TYPE_CHECKING:
    from clawperator.app.console.palette.search import PaletteSearch, SearchHit
    from clawperator.app.console.palette.theme_preview import ThemePreview


class CommandList(OptionList, can_focus=False):
    """The results; the field keeps the keys."""


class PaletteDialog(Dialog):
    """Answers with the chosen entry, or ``None``."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("palette")]
    TITLE_TEXT = "commands"
    NOTE = "⏎ run · esc"
    TYPES = True

    def __init__(self, commands: PaletteSearch, preview: ThemePreview) -> None:
        super().__init__()
        self._commands = commands
        self._preview = preview
        self.field = Input(placeholder="Search for commands…", id="words", compact=True, select_on_focus=False)
        self._words = ""
        self._found: list[SearchHit] = commands.find("")

    def compose_dialog(self) -> ComposeResult:
        yield self.field
        yield CommandList(id="found")

    def on_mount(self) -> None:
        self.type_in(self.field)
        self._search(self.field.value)
        self._show()

    @on(Input.Changed)
    def _changed(self, message: Input.Changed) -> None:
        message.stop()
        self._search(message.value)

    def _search(self, text: str) -> None:
        if (words := text.strip()) != self._words:
            self._words = words
            self._found = self._commands.find(words)
            if self.focused:
                self._show()

    def _show(self) -> None:
        listed = self.query_one(CommandList)
        listed.clear_options()
        if self._found:
            listed.add_options([Option(_prompt(found)) for found in self._found])
            listed.highlighted = 0
        else:
            listed.add_option(Option("No matches found", disabled=True))
            self._preview.highlighted("")

    @on(OptionList.OptionHighlighted)
    def _moved(self, message: OptionList.OptionHighlighted) -> None:
        message.stop()
        if message.option_list.highlighted == message.option_index < len(self._found):
            self._preview.highlighted(self._found[message.option_index].entry.name)

    def action_list(self, movement: str) -> None:
        """Move the cursor of the list by its own action ``movement``."""
        getattr(self.query_one(CommandList), f"action_{movement}")()

    @on(Input.Submitted)
    def action_choose(self) -> None:
        """Choose the entry with the cursor from the results for the current text."""
        self._search(self.field.value or self._early)
        index = self.query_one(CommandList).highlighted if self.focused else 0
        if index is not None and index < len(self._found):
            self.dismiss(self._found[index].entry)

    @on(OptionList.OptionSelected)
    def _clicked(self, message: OptionList.OptionSelected) -> None:
        message.stop()
        self.dismiss(self._found[message.option_index].entry)


def _prompt(found: SearchHit) -> Content:
    entry = found.entry
    more = f"unavailable: {entry.reason}" if entry.reason else entry.help
    return Content.assemble(found.shown, "\n", (more, "not bold")) if more else found.shown
