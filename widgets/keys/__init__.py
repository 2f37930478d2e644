"""Every key of the console, declared once: id, keys, action, label, group and the sentence that explains it.

Bindings, key bar, help, palette and the settings' keymap are made from these tables; nobody writes a key anywhere else.
Lower case looks or moves, upper case changes more than the view (but for vim's G, N, J, K). Within a scope the most used
keys come first: that is their order in the key bar.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from clawperator.widgets.keys import detail, devices, dialogs, doctor, history, inspect, run, shell, skills, stream
from clawperator.widgets.keys.menus import MENUS
from clawperator.widgets.keys.table import Key, KeyScope, MenuItem

if TYPE_CHECKING:
    from textual.binding import Binding

__all__ = ["ACTING", "MENUS", "MenuItem", "bindings", "rank", "rows", "scopes", "sign"]

_ROOMS = (stream, detail, run, history, skills, doctor, devices, inspect, shell, dialogs)
"""Panes before what works everywhere: the order of key bar and help."""

_TABLE: dict[str, KeyScope] = {name: scope for room in _ROOMS for name, scope in room.SCOPES.items()}

ACTING = frozenset(
    {"act_menu", "fix", "full_run", "rerun", "run_draft", "try_again"}
    | {"run_skill"}
    | {"create_avd", "delete_avd", "operator_setup", "provision", "start_stop"}
)
"""Actions that send something to the device which may change it: they rest in a read-only console."""

_KEY_SIGNS = {"exclamation_mark": "!", "question_mark": "?", "slash": "/", "backslash": "\\"}


@cache
def bindings(scope: str) -> tuple[Binding, ...]:
    """The bindings of one scope, in table order."""
    return _TABLE[scope].bindings()


def scopes() -> Iterator[tuple[str, tuple[Binding, ...]]]:
    """All scopes with their bindings."""
    yield from ((name, bindings(name)) for name in _TABLE)


def rows() -> Iterator[tuple[str, tuple[Key, ...]]]:
    """All scopes with their rows: without Textual."""
    yield from ((name, scope.keys) for name, scope in _TABLE.items())


def rank(binding_id: str | None) -> int:
    """The place of a binding in key bar and help: the foremost ones, then in table order."""
    return _RANKS.get(binding_id or "", len(_RANKS))


def sign(key: str) -> str:
    """How a key is written on screen."""
    return _KEY_SIGNS.get(key, key)


_FOREMOST = ("tree.bench", "inspect.find", "inspect.matcher", "screen.copy")
"""The keys of mode 1 that everybody needs; in the table's own order a small screen would cut some of them off."""


def _in_order() -> Iterator[str]:
    for name, scope in _TABLE.items():
        if name == "inspect":
            yield from _FOREMOST
        yield from (row.id for row in scope.keys if row.id not in _FOREMOST)


_RANKS = {binding_id: index for index, binding_id in enumerate(_in_order())}
