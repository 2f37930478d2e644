"""Which nodes a matcher finds, by the device's rules (wire.md#tree-used-for-matching and wire.md#matcher): all fields, on screen, first in document order."""

from __future__ import annotations

from collections.abc import Sequence

from clawperator.engine.hierarchy.explain import Explanation, TreeExplanation, explain, explain_tree
from clawperator.engine.hierarchy.matcher import FIELDS, Matcher, field_holds, field_value, found_indexes
from clawperator.engine.hierarchy.nodes import UiNode, UiTree

__all__ = [
    "FIELDS",
    "Explanation",
    "Matcher",
    "TreeExplanation",
    "explain",
    "explain_tree",
    "find_all",
    "find_first",
    "matches",
]


def find_first(tree: UiTree, matcher: Matcher) -> UiNode | None:
    """The node the device takes, or None."""
    return next(iter(find_all(tree, matcher)), None)


def find_all(tree: UiTree, matcher: Matcher, on_screen_only: bool = True) -> Sequence[UiNode]:
    """Every match in document order; without ``on_screen_only`` also those that the device would ignore."""
    if not matcher:
        return ()
    return [tree.nodes[index] for index in found_indexes(tree, matcher, on_screen_only=on_screen_only)]


def matches(node: UiNode, matcher: Matcher) -> bool:
    """Whether one node satisfies all fields, wherever it is and whatever is around it; for a whole tree ``find_all`` is much faster."""
    fields = matcher.fields()
    return bool(fields) and all(field_holds(name, wanted, field_value(node, name)) for name, wanted in fields.items())
