"""Keys that no binding took: why a dimmed one is dimmed, and characters that came before their field was focused."""

from __future__ import annotations

from textual import events

from clawperator.app.console.console import Console
from clawperator.app.console.screens.menu import Dialog
from clawperator.widgets.info_line import FindLine
from clawperator.widgets.models.status import Status


def take(console: Console, event: events.Key) -> None:
    """Say why the key is dimmed, or pass a character on.

    A character that was sent to a pane before ``/`` or ``e`` opened a field, or another key a dialog, belongs there.
    """
    from clawperator.widgets.json_area import JsonArea

    screen = console.screen
    dimmed = screen.active_bindings.get(event.key)
    if dimmed is not None and not dimmed.enabled and (reason := console.why_not(dimmed.binding.action)):
        event.stop()
        console.say(Status.IDLE, reason)
    elif isinstance(screen, Dialog):
        Dialog.on_key(screen, event)
    elif (
        event.is_printable and event.character is not None and isinstance(field := screen.focused, FindLine | JsonArea)
    ):
        event.stop()
        event.prevent_default()
        insert = field.insert if isinstance(field, JsonArea) else field.insert_text_at_cursor
        insert(event.character)
