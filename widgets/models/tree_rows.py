"""Which nodes of a tree are rows, and in what shape: views, folds and folded chains.

A flat list over the pre-order array: a folded node's subtree is skipped by its ``end`` index. Pure; the pane draws it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiNode, UiTree


class View(Enum):
    """How much of the tree is shown; ``t`` goes round."""

    COMPACT = "compact"
    ALL = "all"
    TARGETS = "targets"

    @property
    def next(self) -> View:
        views = tuple(View)
        return views[(views.index(self) + 1) % len(views)]


class TreeRow(NamedTuple):
    """A visible node. ``level`` is its drawn depth, ``chain`` the number of containers folded into it, ``guides`` tells
    for each level left of it (a bit each) whether a later sibling follows there. ``arrow`` is ``open``, ``closed`` or ``""``;
    ``hidden`` counts the nodes below a closed one.
    """

    node: UiNode
    level: int
    chain: int
    arrow: str
    guides: int
    hidden: int


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
    """Whether an action or a selector may want this node."""
    return bool(node.clickable or node.long_clickable or node.scrollable or node.checkable or node.label)


def build_rows(tree: UiTree, view: View, folded: Collection[int]) -> list[TreeRow]:
    """The visible rows in order. ``folded`` holds pre-order positions."""
    if view is View.TARGETS:
        return _target_rows(tree, folded)
    rows: list[TreeRow] = []
    roots = tuple(tree.roots)
    waiting = [(node, 0, 0, index == len(roots) - 1) for index, node in enumerate(roots)][::-1]
    while waiting:
        first, level, guides, last = waiting.pop()
        node, chain = _end_of_chain(first) if view is View.COMPACT else (first, 0)
        children = node.children
        closed = bool(children) and node.index in folded
        arrow = ("closed" if closed else "open") if children else ""
        hidden = node.end - node.index - 1 if closed else 0
        rows.append(TreeRow(node, level, chain, arrow, guides, hidden))
        if children and not closed:
            inner = guides if last else guides | 1 << level
            bottom = len(children) - 1
            waiting.extend(
                (child, level + 1, inner, index == bottom) for index, child in reversed(tuple(enumerate(children)))
            )
    return rows


def _end_of_chain(node: UiNode) -> tuple[UiNode, int]:
    """Follow plain single-child containers down to the node that is drawn instead of them."""
    length = 0
    while len(node.children) == 1 and is_plain(node):
        node = node.children[0]
        length += 1
    return node, length


def _target_rows(tree: UiTree, folded: Collection[int]) -> list[TreeRow]:
    """Targets only, indented by how many targets contain them."""
    rows: list[TreeRow] = []
    open_until: list[int] = []
    skip_until = 0
    following = _next_targets(tree)
    for node in tree.nodes:
        if node.index < skip_until or not is_target(node):
            continue
        while open_until and node.index >= open_until[-1]:
            open_until.pop()
        inner = following[node.index] < node.end
        closed = inner and node.index in folded
        arrow = ("closed" if closed else "open") if inner else ""
        level = len(open_until)
        rows.append(TreeRow(node, level, 0, arrow, 0, node.end - node.index - 1 if closed else 0))
        if closed:
            skip_until = node.end
        elif inner:
            open_until.append(node.end)
    return rows


def _next_targets(tree: UiTree) -> list[int]:
    """For each node the position of the next target behind it in document order."""
    following = [len(tree.nodes)] * len(tree.nodes)
    upcoming = len(tree.nodes)
    for node in reversed(tree.nodes):
        following[node.index] = upcoming
        if is_target(node):
            upcoming = node.index
    return following


def row_of(rows: Sequence[TreeRow], node: UiNode) -> int:
    """The row that shows ``node``: its own, or that of what it is folded into; 0 when there is none."""
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        if rows[middle].node.index < node.index:
            low = middle + 1
        else:
            high = middle
    if low < len(rows) and rows[low].node.index == node.index:
        return low
    if low < len(rows) and rows[low].chain and node.index >= rows[low].node.index - rows[low].chain:
        return low
    return max(0, low - 1)


def crowded(tree: UiTree, *, limit: int = 40) -> set[int]:
    """Nodes that open folded because they have too many children to be read at a glance."""
    return {node.index for node in tree.nodes if len(node.children) > limit}
