"""What a node is good for, in few words: for views and answers that tell a node in a line."""

from __future__ import annotations

from typing import Any

from clawperator.engine.hierarchy.nodes import UiNode

_CLICK_ANCESTORS = 7


def is_plain(node: UiNode) -> bool:
    """Whether a container says nothing by itself: no label, no id of the app's own, nothing to act on."""
    return not (
        node.label
        or node.clickable
        or node.long_clickable
        or node.scrollable
        or node.checkable
        or node.focused
        or (node.resource_id and not node.resource_id.startswith("android:"))
    )


def is_target(node: UiNode) -> bool:
    """Whether an action or a selector may want this node: it can be acted on or read."""
    return bool(node.label or abilities(node))


def abilities(node: UiNode) -> list[str]:
    """What can be done with a node itself."""
    can = (
        ("click", node.clickable),
        ("longClick", node.long_clickable),
        ("scroll", node.scrollable),
        ("check", node.checkable),
        ("edit", node.role == "textfield"),
    )
    return [word for word, holds in can if holds]


def states(node: UiNode) -> list[str]:
    """What is unusual about a node now."""
    found = (
        ("checked", node.checked),
        ("selected", node.selected),
        ("focused", node.focused),
        ("disabled", not node.enabled),
        ("password", node.password),
    )
    return [word for word, holds in found if holds]


def click_target(node: UiNode) -> UiNode | None:
    """Which node takes a click on this one: itself or the nearest clickable of seven ancestors. ``None``: the device taps
    the centre of its bounds instead (wire §7.4).
    """
    taker: UiNode | None = node
    for _ in range(_CLICK_ANCESTORS + 1):
        if taker is None or taker.clickable:
            return taker if taker is not None and taker.enabled else None
        taker = taker.parent
    return None


def summary(node: UiNode) -> dict[str, Any]:
    """One node with what a matcher compares and where a click on it lands.

    ``clickTarget`` is the path of the ancestor that takes a click; ``clickPoint`` where it becomes a tap instead.
    """
    answer: dict[str, Any] = {"path": node.path, "class": node.cls, "role": node.role}
    texts = (("resourceId", node.resource_id), ("text", node.text), ("contentDesc", node.content_desc))
    answer |= {key: value for key, value in texts if value}
    answer["bounds"] = list(node.bounds)
    answer["clickable"] = node.clickable
    taker = click_target(node)
    if taker is None:
        answer["clickPoint"] = list(node.bounds.center)
    elif taker is not node:
        answer["clickTarget"] = taker.path
    return answer | dict.fromkeys(states(node), True)
