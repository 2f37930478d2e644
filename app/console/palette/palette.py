"""The command palette of the console: its commands, its search, its dialog."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from clawperator.app.console.palette.theme_preview import ThemePreview

if TYPE_CHECKING:
    from clawperator.app.console.palette.commands import CommandsConsole, PaletteCommands
    from clawperator.app.console.palette.search import PaletteSearch
    from clawperator.app.console.screens.menu import PaletteEntry


class Palette:
    """Imported with the app; everything else of the palette, when it is opened first. ``more`` commands end the list."""

    def __init__(self, console: CommandsConsole, more: Callable[[], Iterable[PaletteEntry]]) -> None:
        self._console = console
        self._more = more
        self.preview = ThemePreview(console)

    @cached_property
    def commands(self) -> PaletteCommands:
        from clawperator.app.console.palette.commands import PaletteCommands

        return PaletteCommands(self._console)

    def search(self) -> PaletteSearch:
        """Return the commands that the palette offers on the top screen."""
        from clawperator.app.console.palette.search import PaletteSearch

        return PaletteSearch(self._console, self._console.screen, (self.commands.entries, self._more))

    def action_command_palette(self) -> None:
        from clawperator.app.console.palette.dialog import PaletteDialog

        search = self.search()

        def chosen(entry: PaletteEntry | None) -> None:
            self.preview.closed(chosen=entry is not None)
            if entry is not None:
                search.run(entry)

        self._console.push_screen(PaletteDialog(search, self.preview), chosen)
