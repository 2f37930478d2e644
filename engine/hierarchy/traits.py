"""Properties of a node for users, in the words of all views: its kind, texts, actions and state, and the target of a click."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple

from clawperator.engine.hierarchy.nodes import UiNode, is_blank

CLICK_ANCESTORS = 7
"""How many ancestors the device tries for an action (wire.md#actions-and-how-they-fail)."""
_TEXT_ROLES = ("button", "text")


def is_plain(node: UiNode) -> bool:
    """Whether a container has no label, no id of the app's own, and no action."""
    identifier = node.resource_id
    return not (is_target(node) or node.focused or (identifier and not identifier.startswith("android:")))


def is_target(node: UiNode) -> bool:
    """Whether this node can be acted on or read."""
    return bool(
        node.clickable
        or node.label
        or node.scrollable
        or node.long_clickable
        or node.checkable
        or is_editable(node)
    )  # fmt: skip


def is_editable(node: UiNode) -> bool:
    """Whether text can be typed into it, inferred from its class: a dump has no such flag."""
    return "EditText" in node.cls or "AutoCompleteTextView" in node.cls


def is_hint(node: UiNode) -> bool:
    """Whether the text of a node is its hint, which an empty field shows; dumps before Android 14 do not say."""
    return bool(node.text) and node.text == node.attributes.get("hint")


def same_text(shown: str, typed: str) -> bool:
    """Whether a field shows what was typed: apps and keyboards compose characters, and protect spaces."""
    return shown == typed or _composed(shown) == _composed(typed)


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text).replace("\u00a0", " ")


def abilities(node: UiNode) -> list[str]:
    """The actions of a node itself."""
    can = (
        ("click", node.clickable),
        ("longClick", node.long_clickable),
        ("scroll", node.scrollable),
        ("check", node.checkable),
        ("edit", is_editable(node)),
    )
    return [word for word, holds in can if holds]


def states(node: UiNode) -> dict[str, bool]:
    """The state of a node: whether a checkable one is checked, and what is unusual."""
    found = (
        ("checked", node.checked, node.checkable or node.checked),
        ("selected", True, node.selected),
        ("focused", True, node.focused),
        ("enabled", False, not node.enabled),
        ("password", True, node.password),
        ("sensitive", True, node.sensitive),
    )
    return {word: value for word, value, holds in found if holds}


def texts(node: UiNode) -> dict[str, str]:
    """The texts of a node: ``text``, ``desc`` where it differs, and ``hint`` if the dump tells it from the text."""
    hint = node.attributes.get("hint", "")
    text = "" if is_blank(node.text) or is_hint(node) else node.text
    desc = "" if is_blank(node.content_desc) or node.content_desc == text else node.content_desc
    found = (("text", text), ("hint", "" if is_blank(hint) else hint), ("desc", desc))
    return {word: value for word, value in found if value}


def kind(node: UiNode) -> str:
    """What a node is: its role; ``label`` for a text without actions of its own, which the device may take for a button."""
    if node.role in _TEXT_ROLES and node.role_approximate and not abilities(node):
        return "label"
    return node.role if node.role != "unknown" else node.cls.rpartition(".")[2] or node.tag


class Landing(NamedTuple):
    """Where a click on ``found`` goes: to the node ``on``, ``steps`` above it, or to its centre when that is None.

    ``disabled`` is the clickable node that would have received it, were it enabled (wire.md#actions-and-how-they-fail).
    """

    found: UiNode
    on: UiNode | None
    steps: int = 0
    disabled: UiNode | None = None


def landing(found: UiNode) -> Landing:
    """The target of a click: the first clickable one of a node and seven ancestors, if enabled (wire.md#actions-and-how-they-fail)."""
    for steps, node in enumerate(action_targets(found)):
        if node.clickable:
            return Landing(found, node, steps) if node.enabled else Landing(found, None, steps, node)
    return Landing(found, None)


def action_targets(node: UiNode) -> Iterator[UiNode]:
    """The nodes that the device tries for an action: the node and up to seven ancestors, nearest first."""
    return chain((node,), islice(node.ancestors, CLICK_ANCESTORS))


def summary(node: UiNode) -> dict[str, Any]:
    """One node with the values that a matcher compares and the target of a click.

    ``clickTarget`` is the path of the ancestor that receives a click; ``clickPoint`` where it becomes a tap instead.
    """
    answer: dict[str, Any] = {"path": node.path, "class": node.cls, "role": node.role}
    texts = (("resourceId", node.resource_id), ("text", node.text), ("contentDesc", node.content_desc))
    answer |= {key: value for key, value in texts if value}
    answer["bounds"] = list(node.bounds)
    answer["clickable"] = node.clickable
    taker = landing(node).on
    if taker is None:
        answer["clickPoint"] = list(node.bounds.center)
    elif taker is not node:
        answer["clickTarget"] = taker.path
    return answer | states(node)


def scrolls_sideways(node: UiNode) -> bool:
    """Return whether a scrollable node scrolls to the sides: by its class, or because its children stand in one row."""
    if any(name in node.cls for name in ("Horizontal", "ViewPager")):
        return True
    boxes = sorted((child.bounds.left, child.bounds.right) for child in node.children if not child.bounds.empty)
    return len(boxes) > 1 and all(before[1] <= after[0] for before, after in pairwise(boxes))
