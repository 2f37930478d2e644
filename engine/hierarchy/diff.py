"""The differences between two trees: one change per node, in document order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from clawperator.engine.hierarchy.align import align, label_inside, shifted

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.nodes import UiNode, UiTree

KINDS = ("added", "removed", "changed", "moved")

_NAME_LENGTH = 40


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one node. An added or removed subtree is one change of its root.

    ``kind`` is of ``KINDS``: *changed* for a node whose attributes differ, *moved* for one with only another position or
    size, independently of its parent. ``attributes`` are those that differ, by the dump's names: old and new value,
    ``None`` where the dump has no such attribute.
    """

    kind: str
    old: UiNode | None
    new: UiNode | None
    attributes: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)

    @property
    def node(self) -> UiNode:
        """The new node; the old one where it was removed."""
        node = self.new or self.old
        assert node is not None
        return node

    @property
    def name(self) -> str:
        """A name for people: the short class, then the label, the id, or the first label inside it."""
        node = self.node
        short = node.cls.rpartition(".")[2] or node.tag
        if label := node.label or (label_inside(node) if not node.resource_id else ""):
            return f'{short} "{label if len(label) <= _NAME_LENGTH else label[: _NAME_LENGTH - 1] + "…"}"'
        return f"{short} #{node.resource_id.rpartition('/')[2]}" if node.resource_id else short

    def to_dict(self) -> dict[str, Any]:
        """``path`` is that in the new tree (removed: in the old one). ``oldPath`` is included where it differs, ``nodes`` where
        more than one node was added or removed.
        """
        answer: dict[str, Any] = {"kind": self.kind, "path": self.node.path}
        if self.old is not None and self.new is not None and (path := self.old.path) != answer["path"]:
            answer["oldPath"] = path
        answer["name"] = self.name
        if self.attributes:
            answer["attributes"] = {name: list(values) for name, values in self.attributes.items()}
        if (self.old is None or self.new is None) and (size := self.node.end - self.node.index) > 1:
            answer["nodes"] = size
        return answer


def compare(old: UiTree, new: UiTree) -> list[Change]:
    """All differences between two trees, in document order; a removed node is listed at its former position.

    The ``index`` attribute is ignored: it is the position among siblings, whose changes are listed themselves.
    """
    alignment = align(old, new)
    changes: list[tuple[int, Change]] = []
    for node in new.nodes:
        at = alignment.new_to_old.get(node.index)
        if at is not None:
            if change := _difference(old.nodes[at], node):
                changes.append((node.index, change))
        elif node.parent is None or node.parent.index in alignment.new_to_old:
            changes.append((node.index, Change("added", None, node)))
    place = -1
    for node in old.nodes:
        if node.index in alignment.old_to_new:
            place = alignment.old_to_new[node.index]
        elif node.parent is None or node.parent.index in alignment.old_to_new:
            changes.append((place, Change("removed", node, None)))
    return [change for _, change in sorted(changes, key=lambda item: (item[0], item[1].new is None))]


def _difference(before: UiNode, after: UiNode) -> Change | None:
    if before.attributes == after.attributes:
        return None
    names = dict.fromkeys([*after.attributes, *before.attributes])
    differing = {name: (before.attributes.get(name), after.attributes.get(name)) for name in names}
    differing = {name: pair for name, pair in differing.items() if name != "index" and pair[0] != pair[1]}
    if "bounds" in differing and not (shifted(before, after) or _resized(before, after)):
        del differing["bounds"]
    if not differing:
        return None
    return Change("moved" if [*differing] == ["bounds"] else "changed", before, after, differing)


def _resized(before: UiNode, after: UiNode) -> bool:
    """Whether a node's size changed independently of its parent's."""
    growth = _growth(before, after)
    if growth == (0, 0) or before.parent is None or after.parent is None:
        return growth != (0, 0)
    return growth != _growth(before.parent, after.parent)


def _growth(before: UiNode, after: UiNode) -> tuple[int, int]:
    return after.bounds.width - before.bounds.width, after.bounds.height - before.bounds.height
