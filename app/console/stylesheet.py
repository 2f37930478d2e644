"""The console's stylesheet."""

from __future__ import annotations

from textual.css.stylesheet import Stylesheet


class KeptStylesheet(Stylesheet):
    """Parses a source once for the variables of a theme.

    Textual parses every source again whenever a screen is shown for the first time, also where no variable has changed.
    """

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables != self._variables:
            super().set_variables(variables)

    def reparse(self) -> None:
        self.parse()
