"""Rows of the key table. Reading them needs no Textual; making bindings of them does."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from textual.binding import Binding


class Key(NamedTuple):
    """One row: keys (Textual's names, separated by commas), action, label in the key bar, tooltip."""

    id: str
    keys: str
    action: str
    label: str
    tooltip: str
    show: bool = False
    display: str | None = None


key = Key
"""Short name for the tables, where columns are distinguished by position."""


class KeyScope(NamedTuple):
    """Keys of one pane, screen or dialog under the heading ``group``, most used first."""

    group: str
    keys: tuple[Key, ...]

    def bindings(self) -> tuple[Binding, ...]:
        from textual.binding import Binding

        group = Binding.Group(self.group)
        return tuple(
            Binding(
                row.keys,
                row.action,
                row.label,
                show=row.show,
                key_display=row.display,
                tooltip=row.tooltip,
                id=row.id,
                group=group,
            )
            for row in self.keys
        )


class MenuItem(NamedTuple):
    """The second key of a prefix menu. ``id`` is what the menu returns."""

    key: str
    id: str
    label: str
    tooltip: str
