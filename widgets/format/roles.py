"""Every role that a span can name, and which variables of the theme give it its look.

A table and no stylesheet: thirty component classes on each of twenty panes would be six hundred styles to work out before
the first frame, and again for every pane that a screen adds.
"""

from __future__ import annotations

from typing import NamedTuple


class Look(NamedTuple):
    """Names of theme variables; an empty name leaves that part as it is below."""

    colour: str = ""
    style: str = ""
    background: str = ""


ROLES: dict[str, Look] = {
    "text": Look("foreground"),
    "strong": Look("node-text", "strong-style"),
    "muted": Look("text-quiet"),
    "faint": Look("text-faint", "faint-style"),
    "accent": Look("frame-focus"),
    "key": Look("key", "strong-style"),
    "ok": Look("state-ok"),
    "warn": Look("state-warn"),
    "fail": Look("state-fail"),
    "run": Look("state-run"),
    "idle": Look("state-idle"),
    "node-class": Look("node-class"),
    "node-id": Look("node-id"),
    "node-text": Look("node-text"),
    "node-desc": Look("node-desc"),
    "flag": Look("text-quiet"),
    "guide": Look("guide", "faint-style"),
    "match": Look("match", "match-style"),
    "match-current": Look("match-current", "match-style"),
    "added": Look("diff-added", "strong-style"),
    "changed": Look("diff-changed", "strong-style"),
    "removed": Look("diff-removed", "strong-style"),
    "moved": Look("diff-moved", "strong-style"),
    "stale": Look("stale"),
    "here": Look("frame-focus", "cursor-style", "cursor-background"),
}
"""A test holds the formatters and the themes to this list."""

CURSOR = Look(style="cursor-style", background="cursor-background")
CURSOR_BLURRED = Look(style="cursor-blurred-style", background="cursor-blurred-background")
"""What is laid over the row of the cursor, in the pane that has the keys and in the others."""
