"""Every key of the console, declared once: id, keys, action, label, group and tooltip.

Bindings, key bar, help, palette and the settings' keymap are made from these tables. Lower case moves or shows, upper
case changes more than the view (except vim's G, N, J, K). The order within a scope is the order in the key bar: most
used first.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from clawperator.widgets.keys.menus import MENUS
from clawperator.widgets.keys.scopes import SCOPES
from clawperator.widgets.keys.table import Key, MenuItem

if TYPE_CHECKING:
    from textual.binding import Binding, BindingType

__all__ = ["ACTING", "MENUS", "MenuItem", "binding_list", "bindings", "rank", "rows", "scopes", "sign"]

ACTING = frozenset(
    {"act_menu", "fix", "full_run", "record", "rerun", "run_draft", "try_again"}
    | {"run_skill"}
    | {"create_avd", "delete_avd", "operator_setup", "pair", "provision", "start_stop"}
)
"""Actions that may change the device: disabled in a read-only console."""

_KEY_SIGNS = {"exclamation_mark": "!", "question_mark": "?", "slash": "/", "backslash": "\\"}


@cache
def bindings(scope: str) -> tuple[Binding, ...]:
    """Return the bindings of one scope, in table order."""
    return SCOPES[scope].bindings()


def binding_list(scope: str) -> list[BindingType]:
    """Return the bindings of one scope as the ``BINDINGS`` of a class."""
    return [*bindings(scope)]


def scopes() -> Iterator[tuple[str, tuple[Binding, ...]]]:
    """Yield all scopes with their bindings."""
    yield from ((name, bindings(name)) for name in SCOPES)


def rows() -> Iterator[tuple[str, tuple[Key, ...]]]:
    """Yield all scopes with their rows, without importing Textual."""
    yield from ((name, scope.keys) for name, scope in SCOPES.items())


def rank(binding_id: str | None) -> int:
    """Return the position of a binding in key bar and help."""
    return _RANKS.get(binding_id or "", len(_RANKS))


def sign(key: str) -> str:
    """Return how a key is written on screen."""
    return _KEY_SIGNS.get(key, key)


_FOREMOST = ("inspect.pick", "tree.bench", "inspect.find", "inspect.matcher", "screen.copy")
"""The main keys of mode 1 come first; in table order a small screen would cut some of them off."""


def _in_order() -> Iterator[str]:
    for name, scope in SCOPES.items():
        if name == "inspect":
            yield from _FOREMOST
        yield from (row.id for row in scope.keys if row.id not in _FOREMOST)


_RANKS = {binding_id: index for index, binding_id in enumerate(_in_order())}
