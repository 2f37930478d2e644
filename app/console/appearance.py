"""The console's themes and characters."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from textual.app import App

from clawperator.app.console.terminal import Look
from clawperator.app.console.textual_internals import CachedStylesheet
from clawperator.app.console.user_themes import UserThemes, apply_theme
from clawperator.themes.claw import THEMES
from clawperator.widgets.format.symbols import ASCII, UNICODE, Symbols
from clawperator.widgets.models.status import Status


class Appearance:
    """How ``app`` looks: its themes with those of the user's ``folder``, line characters or ASCII."""

    def __init__(self, app: App[int], look: Look, folder: str, say: Callable[[Status, str], object]) -> None:
        self._app = app
        self.user_themes = UserThemes(Path(folder), partial(apply_theme, app), say) if folder else None
        for theme in (*THEMES, *(self.user_themes.load() if self.user_themes else ())):
            app.register_theme(theme)
        app.animation_level = "none"
        app.theme = look.theme
        self._variables = app.get_css_variables()
        app.stylesheet = CachedStylesheet(variables=self._variables)
        self.use(ASCII if look.ascii else UNICODE)

    def use(self, symbols: Symbols) -> None:
        """Draw with ``symbols`` from now on."""
        self.symbols = symbols
        self._app.set_class(symbols.ascii, "-ascii")

    def changed(self) -> bool:
        """Return whether the colours are others than at the last call; the first styles are those of the theme."""
        before, self._variables = self._variables, self._app.get_css_variables()
        return self._variables != before
