"""Shows a theme while its palette entry has the cursor, and restores the old one afterwards."""

from __future__ import annotations

from typing import Protocol

THEME = "Theme: "
"""Prefix of the entries that choose a theme."""


class _Themed(Protocol):
    theme: str


class ThemePreview:
    """Restores the theme of ``app`` unless one was chosen."""

    def __init__(self, app: _Themed) -> None:
        self._app = app
        self._before = ""

    def highlighted(self, name: str) -> None:
        """Preview the entry ``name``; empty: none."""
        if name.startswith(THEME):
            self._before = self._before or self._app.theme
            self._app.theme = name.removeprefix(THEME)
        else:
            self._put_back()

    def closed(self, *, chosen: bool) -> None:
        """End the preview; ``chosen`` keeps what the entry sets."""
        if chosen:
            self._before = ""  # the chosen entry runs next and may set the theme
        else:
            self._put_back()

    def _put_back(self) -> None:
        if self._before:
            self._app.theme, self._before = self._before, ""
