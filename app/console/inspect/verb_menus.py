"""The menus behind ``a`` and ``i``: what can be done with the node."""

from __future__ import annotations

from clawperator.app.console.execution.subject import Subject
from clawperator.app.console.screens.menu import Choice
from clawperator.engine.executions.steps import VERBS
from clawperator.widgets import keys
from clawperator.widgets.keys import MenuItem


def verb_choices(menu: str, subject: Subject) -> list[Choice]:
    """Return the entries of menu ``act`` or ``insert`` for the subject."""
    return [_choice(item, subject) for item in keys.MENUS[menu]]


def _choice(item: MenuItem, subject: Subject) -> Choice:
    verb = VERBS.get(item.id)
    if verb is None or not verb.of_node:
        return Choice(item, item.tooltip, True)
    if not subject.matcher:
        return Choice(item, "no selector matches this node", False)
    return Choice(item, subject.node_name or item.tooltip, True)
