"""The semantic roles of UI nodes (wire.md#roles)."""

from __future__ import annotations

ROLE_NAMES = (
    "container",
    "row",
    "column",
    "toolbar",
    "tabbar",
    "list",
    "grid",
    "listitem",
    "pager",
    "tab",
    "card",
    "button",
    "textfield",
    "switch",
    "checkbox",
    "radio",
    "toggle",
    "icon",
    "image",
    "chip",
    "menu",
    "menuitem",
    "text",
    "label",
    "title",
    "unknown",
)
"""Every role of a matcher; ``card``, ``menu`` and ``menuitem`` are never inferred."""
