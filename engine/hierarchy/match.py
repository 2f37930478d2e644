"""Which nodes a matcher finds, by the device's rules (wire.md#tree-used-for-matching and wire.md#matcher): all fields, on screen, first in document order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clawperator.engine.hierarchy.explain import Explanation, TreeExplanation, explain, explain_tree
from clawperator.engine.hierarchy.folding import fold
from clawperator.engine.hierarchy.matcher import FIELDS, Matcher, field_holds, field_value
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
    candidates: Iterable[int] = tree.on_screen_indexes if on_screen_only else range(len(tree.nodes))
    return [tree.nodes[index] for index in _narrow(tree, matcher, candidates)]


def matches(node: UiNode, matcher: Matcher) -> bool:
    """Whether one node satisfies all fields, wherever it is; for a whole tree ``find_all`` is much faster."""
    fields = matcher.fields()
    return bool(fields) and all(field_holds(name, wanted, field_value(node, name)) for name, wanted in fields.items())


def _narrow(tree: UiTree, matcher: Matcher, indexes: Iterable[int]) -> Iterable[int]:
    """Test field by field over the tree's columns; the role last, because it is the slowest."""
    if wanted := matcher.resource_id:
        column = tree.resource_ids
        indexes = [index for index in indexes if column[index] == wanted]
    if wanted := matcher.text_equals:
        column = tree.labels
        indexes = [index for index in indexes if column[index] == wanted]
    if wanted := matcher.content_desc_equals:
        column = tree.descriptions
        indexes = [index for index in indexes if column[index] == wanted]
    if wanted := fold(matcher.text_contains):
        column = tree.folded_labels
        indexes = [index for index in indexes if wanted in column[index]]
    if wanted := fold(matcher.content_desc_contains):
        column = tree.folded_descriptions
        indexes = [index for index in indexes if wanted in column[index]]
    if wanted := fold(matcher.role):
        nodes = tree.nodes
        indexes = [index for index in indexes if nodes[index].role == wanted]
    return indexes
