"""Every role of a span, and the theme variables of its style.

A table instead of a stylesheet: thirty component classes on each of twenty panes would be six hundred styles to compute
before the first frame.
"""

from __future__ import annotations

from typing import NamedTuple


class RoleStyle(NamedTuple):
    """Names of theme variables; an empty name leaves that part unchanged."""

    colour: str = ""
    style: str = ""
    background: str = ""


ROLES: dict[str, RoleStyle] = {
    "text": RoleStyle("foreground"),
    "strong": RoleStyle("node-text", "strong-style"),
    "muted": RoleStyle("text-quiet"),
    "faint": RoleStyle("text-faint", "faint-style"),
    "accent": RoleStyle("frame-focus"),
    "key": RoleStyle("key", "strong-style"),
    "ok": RoleStyle("state-ok"),
    "warn": RoleStyle("state-warn"),
    "fail": RoleStyle("state-fail"),
    "run": RoleStyle("state-run"),
    "idle": RoleStyle("state-idle"),
    "node-class": RoleStyle("node-class"),
    "node-id": RoleStyle("node-id"),
    "node-text": RoleStyle("node-text"),
    "node-desc": RoleStyle("node-desc"),
    "flag": RoleStyle("text-quiet"),
    "guide": RoleStyle("guide", "faint-style"),
    "match": RoleStyle("match", "match-style"),
    "match-current": RoleStyle("match-current", "match-style"),
    "added": RoleStyle("diff-added", "strong-style"),
    "changed": RoleStyle("diff-changed", "strong-style"),
    "removed": RoleStyle("diff-removed", "strong-style"),
    "moved": RoleStyle("diff-moved", "strong-style"),
    "stale": RoleStyle("stale"),
    "here": RoleStyle("cursor-foreground", "cursor-style", "cursor-background"),
}
"""A test checks the formatters and the themes against this table."""

CURSOR = RoleStyle("cursor-foreground", "cursor-style", "cursor-background")
CURSOR_BLURRED = RoleStyle(style="cursor-blurred-style", background="cursor-blurred-background")
"""Overlays of the cursor row, in the focused pane and in the others."""
