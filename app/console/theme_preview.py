"""The palette shows a theme while its entry has the cursor, and puts the old one back when it is left."""

from __future__ import annotations

from textual.app import App

THEME = "Theme: "
"""How the entries begin that choose a theme."""


class ThemePreview:
    """Follows the palette of ``app``; what it changes for looking is undone unless it was chosen."""

    def __init__(self, app: App[int]) -> None:
        self._app = app
        self._before = ""

    def highlighted(self, name: str) -> None:
        """The entry ``name`` has the cursor; empty: none has."""
        if name.startswith(THEME):
            self._before = self._before or self._app.theme
            self._app.theme = name.removeprefix(THEME)
        else:
            self._put_back()

    def closed(self, *, chosen: bool) -> None:
        """The palette has closed, with an entry ``chosen`` or without."""
        if chosen:
            self._before = ""  # what was chosen runs next, and sets the theme if it was one
        else:
            self._put_back()

    def _put_back(self) -> None:
        if self._before:
            self._app.theme, self._before = self._before, ""
