"""Typed texts: the end of a run of text events, and the field, which the events do not identify. Pure."""

from __future__ import annotations

import re

from clawperator.engine.contracts.limits import MAX_MATCHER_VALUE_LENGTH, utf16_length
from clawperator.engine.contracts.values import NOT_BLANK
from clawperator.engine.hierarchy.nodes import UiNode, UiTree
from clawperator.engine.hierarchy.traits import is_editable
from clawperator.engine.recordings.records import Click, Scroll, TextChange
from clawperator.engine.recordings.screens import Screens
from clawperator.engine.recordings.targets import fits

_MASKED = re.compile(r"[*\u2022\u25cf\u2b24\u2217]+")


def end_of_typing(screens: Screens, position: int) -> int:
    """Return the position of the last event of the run of text events that begins at ``position``: of one field, as far as they say so."""
    events = screens.events
    first = events[position]
    package, field = getattr(first, "packageName", ""), getattr(first, "resourceId", None)
    last = position
    for at in range(position + 1, len(events)):
        event = events[at]
        if isinstance(event, TextChange) and event.packageName == package and event.resourceId == field:
            last = at
        elif not isinstance(event, Scroll):
            break
    return last


def text_at(screens: Screens, position: int) -> str:
    """Return the text of an event; empty for other events."""
    event = screens.events[position] if position < len(screens.events) else None
    return (event.text or "") if isinstance(event, TextChange) else ""


def is_typed_next(screens: Screens, position: int) -> bool:
    """Return whether the event at ``position`` is followed by a text that a step can type."""
    following = position + 1
    if following >= len(screens.events) or not isinstance(screens.events[following], TextChange):
        return False
    return not why_untypable(text_at(screens, end_of_typing(screens, following)))


def why_untypable(text: str) -> str:
    """Return what happened to a field that ``enter_text`` cannot repeat; empty if it can."""
    if not re.search(NOT_BLANK, text):
        return "emptied"
    if utf16_length(text) > MAX_MATCHER_VALUE_LENGTH:
        return "filled with a text that exceeds the limit"
    return "" if fits(text) else "filled with an invalid character"


def is_masked(text: str) -> bool:
    """Return whether Android replaced the typed text by dots."""
    return _MASKED.fullmatch(text) is not None


def field_of(screens: Screens, first: int, last: int) -> tuple[UiTree, UiNode] | None:
    """Return the field of the texts from ``first`` to ``last``; ``None`` if it is ambiguous.

    It is the field that was clicked before, that shows the text afterwards, that has the focus, or the only one.
    """
    if first and isinstance(screens.events[first - 1], Click):
        clicked = screens.clicked(first - 1)
        if clicked is not None and is_editable(clicked[1]):
            return clicked
    before, after = screens.before(first), screens.after(last)
    if after is not None:
        text = text_at(screens, last)
        showing = [node for node in after.on_screen if is_editable(node) and node.text == text]
        if len(showing) == 1:
            return after, showing[0]
    for tree in filter(None, (before, after)):
        fields = [node for node in tree.on_screen if is_editable(node) and node.enabled]
        focused = [node for node in fields if node.focused]
        for found in (focused, fields):
            if len(found) == 1:
                return tree, found[0]
    return None
