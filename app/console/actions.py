"""Parts of a screen or of the app: objects that hold what belongs together, with actions of their own."""

from __future__ import annotations

from textual.dom import DOMNode


def offer_actions(owner: DOMNode, *parts: object) -> None:
    """Make the ``action_…`` methods of ``parts`` actions of ``owner``, where keys and menus look for them."""
    for part in parts:
        for name in dir(type(part)):
            if name.startswith("action_"):
                setattr(owner, name, getattr(part, name))
