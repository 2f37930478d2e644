"""Comparison of two trees for the tree pane: reversed marks, removed nodes, and changed attributes."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from clawperator.engine.hierarchy.align import NOTHING, Alignment, align
from clawperator.widgets.models.tree_rows import Ghost

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiNode, UiTree
    from clawperator.widgets.models.snapshot import TreeSnapshot

_PLACE = frozenset({"bounds", "index", "x", "y", "width", "height"})
"""Attributes of the position: a change of these is a move."""


def changes_between(old: TreeSnapshot, new: TreeSnapshot) -> Alignment:
    """Return how ``old`` became ``new``; a known alignment of the two is reused."""
    if old.tree is None or new.tree is None:
        return NOTHING
    if new.since == old.serial:
        return new.changes
    if old.since == new.serial:
        return turned_round(old.changes, older=new.tree, newer=old.tree)
    return align(old.tree, new.tree)


def turned_round(changes: Alignment, *, older: UiTree, newer: UiTree) -> Alignment:
    """Return ``changes`` from ``older`` to ``newer`` reversed: what was added is removed."""
    back = changes.new_to_old
    removed: Counter[int] = Counter()
    for position in changes.added:
        parent = newer.nodes[position].parent
        if parent is None or parent.index in back:
            removed[-1 if parent is None else back[parent.index]] += 1
    return Alignment(
        old_to_new=back,
        new_to_old=changes.old_to_new,
        added=frozenset(range(len(older.nodes))) - changes.old_to_new.keys(),
        changed=frozenset(back[position] for position in changes.changed),
        moved=frozenset(back[position] for position in changes.moved),
        removed=dict(removed),
    )


def ghosts_of(old: UiTree, new: UiTree, changes: Alignment) -> dict[int, list[Ghost]]:
    """Return the removed nodes at their old place, by the position in ``new`` before which they are drawn. That place
    is after the nearest earlier sibling that still exists, else at the start of their parent.
    """
    found: dict[int, list[Ghost]] = defaultdict(list)
    # Where the places of several parents coincide the deepest one ends first: a parent stands before its children.
    for position in sorted(changes.removed, reverse=True):
        holder = new.nodes[position] if position >= 0 else None
        siblings = old.nodes[changes.new_to_old[position]].children if holder is not None else old.roots
        depth = holder.depth + 1 if holder is not None else 0
        place = position + 1
        for node in siblings:
            kept = changes.old_to_new.get(node.index)
            if kept is not None:
                place = new.nodes[kept].end
            else:
                subtree = old.nodes[node.index : node.end]
                found[place] += [Ghost(item, depth + item.depth - node.depth) for item in subtree]
    return dict(found)


def changed_attributes(before: UiNode, after: UiNode) -> frozenset[str]:
    """Return the names of the attributes that changed, except the position."""
    old, new = before.attributes, after.attributes
    return frozenset(name for name in old.keys() | new.keys() if old.get(name) != new.get(name)) - _PLACE
