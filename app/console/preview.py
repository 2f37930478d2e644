"""The palette shows a theme while its entry has the cursor, and puts the old one back when it is left."""

from __future__ import annotations

from textual.app import App
from textual.command import Command, CommandPalette

THEME = "Theme: "
"""How the entries begin that choose a theme."""


class ThemePreview:
    """Follows the palette of ``app``; what it changes for looking is undone unless it was chosen."""

    def __init__(self, app: App[int]) -> None:
        self._app = app
        self._before = ""

    def highlighted(self, message: CommandPalette.OptionHighlighted) -> None:
        option = message.highlighted_event.option
        text = str(option.hit.text or "") if isinstance(option, Command) else ""
        if text.startswith(THEME):
            self._before = self._before or self._app.theme
            self._app.theme = text.removeprefix(THEME)
        else:
            self._put_back()

    def closed(self, message: CommandPalette.Closed) -> None:
        if message.option_selected:
            self._before = ""  # what was chosen runs next, and sets the theme if it was one
        else:
            self._put_back()

    def _put_back(self) -> None:
        if self._before:
            self._app.theme, self._before = self._before, ""
