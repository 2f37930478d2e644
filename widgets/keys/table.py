"""What a row of the key table is. Textual is needed to make bindings of the rows, not to read them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from textual.binding import Binding


class Key(NamedTuple):
    """One row: which keys (Textual's names, several by comma), which action, its word in the key bar, and its sentence."""

    id: str
    keys: str
    action: str
    label: str
    tooltip: str
    show: bool = False
    display: str | None = None


key = Key
"""How the rooms write a row: the columns are told by their place."""


class KeyScope(NamedTuple):
    """The keys of one pane, screen or dialog under the heading ``group``, the most used ones first."""

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
    """The second key of a prefix menu. ``id`` is what the menu answers."""

    key: str
    id: str
    label: str
    tooltip: str
