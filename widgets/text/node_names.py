"""Short names of UI nodes, safe to draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clawperator.widgets.text.safe import shorten

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiNode


def short_class(name: str) -> str:
    """Return ``TextView`` for ``android.widget.TextView``."""
    return name.replace("$", ".").rpartition(".")[2] or "?"


def short_id(resource_id: str) -> str:
    """Return ``title`` for ``com.android.settings:id/title``; other values unchanged."""
    return resource_id.partition(":id/")[2] or resource_id


def name_of(node: UiNode, width: int = 40) -> str:
    """Return a node's name in a sentence, such as ``TextView "Wi-Fi"`` or ``TextView #title``; safe to draw."""
    name = shorten(short_class(node.cls), width)
    if node.label:
        return f'{name} "{shorten(node.label, width)}"'
    return f"{name} #{shorten(short_id(node.resource_id), width)}" if node.resource_id else name
