"""The console's stylesheet."""

from __future__ import annotations

from functools import lru_cache, partial

from textual._styles_cache import StylesCache
from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

_SOURCES = 256

# Textual keeps the last 1,024 pairs of colours per widget, and with them the painted lines of widgets that are long gone.
_colours = partial(StylesCache.get_inner_outer.__wrapped__, StylesCache)
setattr(StylesCache, "get_inner_outer", staticmethod(lru_cache(1024)(_colours)))  # noqa: B010  # not a method any more


@lru_cache(8)
def _rules_of(_variables: frozenset[tuple[str, str]]) -> LRUCache[tuple[object, ...], list[RuleSet]]:
    """Return what was parsed so far for those variables of a theme."""
    return LRUCache(_SOURCES)


class KeptStylesheet(Stylesheet):
    """Parses a source once per process for the variables of a theme.

    Textual parses every source again whenever a screen is shown for the first time, also where no variable has changed.
    """

    def __init__(self, *, variables: dict[str, str]) -> None:
        super().__init__(variables=variables)
        self._parse_cache = _rules_of(frozenset(variables.items()))

    def set_variables(self, variables: dict[str, str]) -> None:
        if variables != self._variables:
            self._parse_cache = LRUCache(1)  # Textual clears the one that it finds
            super().set_variables(variables)
            self._parse_cache = _rules_of(frozenset(variables.items()))

    def reparse(self) -> None:
        self.parse()
