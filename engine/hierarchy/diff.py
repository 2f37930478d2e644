"""Which node of a new tree is which node of the old one.

Children are aligned parent by parent: first on (resource id, class, label) by a longest common subsequence, then what is
left between two such pairs by order within the same (resource id, class). That is what keeps the cursor and the folds on the same thing when a
list scrolls, and what the change marks in the gutter are made of.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.nodes import UiNode, UiTree

KINDS = ("added", "removed", "changed", "moved")

_LCS_CELLS = 40_000
"""Above this many comparisons (200 × 200 siblings) equal names are paired in order instead."""
_NAME_LENGTH = 40


@dataclass(frozen=True, slots=True)
class Alignment:
    """``old_to_new`` and ``new_to_old`` map pre-order positions; the rest says what changed, by new position.

    ``removed`` counts old nodes that have no counterpart, under the new position of their nearest surviving ancestor
    (-1: no ancestor survived). Only the root of a removed or added subtree counts as one change for ``[`` and ``]``.
    """

    old_to_new: dict[int, int] = field(default_factory=dict)
    new_to_old: dict[int, int] = field(default_factory=dict)
    added: frozenset[int] = frozenset()
    changed: frozenset[int] = frozenset()
    moved: frozenset[int] = frozenset()
    removed: dict[int, int] = field(default_factory=dict)

    def mark(self, index: int) -> str:
        """``added``, ``changed``, ``moved`` or ``""`` for the node at this position of the new tree."""
        if index in self.added:
            return "added"
        if index in self.changed:
            return "changed"
        return "moved" if index in self.moved else ""

    def __bool__(self) -> bool:
        return bool(self.added or self.changed or self.moved or self.removed)


NOTHING = Alignment()


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one node. An added or removed subtree is one change, told by its root.

    ``kind`` is of ``KINDS``: *changed* for a node whose attributes differ, *moved* for one that only has another place or
    size, and not merely with its parent. ``attributes`` are those that differ, by the dump's names: old and new value,
    ``None`` where the dump has no such attribute.
    """

    kind: str
    old: UiNode | None
    new: UiNode | None
    attributes: Mapping[str, tuple[str | None, str | None]] = field(default_factory=dict)

    @property
    def node(self) -> UiNode:
        """The new one; the old one where it was removed."""
        node = self.new or self.old
        assert node is not None
        return node

    @property
    def name(self) -> str:
        """What a person calls the node: the short class, then the label, the id, or the first label inside it."""
        node = self.node
        short = node.cls.rpartition(".")[2] or node.tag
        if label := node.label or (_first_label(node) if not node.resource_id else ""):
            return f'{short} "{label if len(label) <= _NAME_LENGTH else label[: _NAME_LENGTH - 1] + "…"}"'
        return f"{short} #{node.resource_id.rpartition('/')[2]}" if node.resource_id else short

    def to_dict(self) -> dict[str, Any]:
        """``path`` is that in the new tree (removed: in the old one), ``oldPath`` stands where it was another one,
        ``nodes`` where more than one node came or went.
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
    """Everything that differs between two trees, in document order: a removed node stands where it would be now.

    The ``index`` attribute is no news: it says where a node stands among its siblings, and their changes are told.
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
    if "bounds" in differing and not (_shifted(before, after) or _resized(before, after)):
        del differing["bounds"]
    if not differing:
        return None
    return Change("moved" if [*differing] == ["bounds"] else "changed", before, after, differing)


def align(old: UiTree, new: UiTree) -> Alignment:
    """Pair the nodes of two trees and say what changed between them."""
    pairs: list[tuple[UiNode, UiNode]] = []
    waiting: list[tuple[Sequence[UiNode], Sequence[UiNode]]] = [(tuple(old.roots), tuple(new.roots))]
    while waiting:
        for before, after in _pair_children(*waiting.pop()):
            pairs.append((before, after))
            if before.children or after.children:
                waiting.append((before.children, after.children))
    old_to_new = {before.index: after.index for before, after in pairs}
    new_to_old = {after.index: before.index for before, after in pairs}
    differing = [(before, after) for before, after in pairs if before.attributes != after.attributes]
    return Alignment(
        old_to_new=old_to_new,
        new_to_old=new_to_old,
        added=frozenset(node.index for node in new.nodes if node.index not in new_to_old),
        changed=frozenset(after.index for before, after in differing if _says(before) != _says(after)),
        moved=frozenset(after.index for before, after in differing if _shifted(before, after)),
        removed=_count_removed(old, old_to_new),
    )


def _pair_children(old: Sequence[UiNode], new: Sequence[UiNode]) -> list[tuple[UiNode, UiNode]]:
    pairs = _by_name(old, new)
    if len(pairs) == len(old) or len(pairs) == len(new):
        return pairs
    left: dict[Hashable, deque[UiNode]] = defaultdict(deque)
    for gap, node in _unpaired(old, [before for before, _ in pairs]):
        left[gap, _kind(node)].append(node)
    # Only between the same neighbours: a row that scrolled out above is not the one that came in below.
    for gap, node in _unpaired(new, [after for _, after in pairs]):
        if queue := left.get((gap, _kind(node))):
            pairs.append((queue.popleft(), node))
    return pairs


def _unpaired(nodes: Sequence[UiNode], paired: Sequence[UiNode]) -> Iterator[tuple[int, UiNode]]:
    """The nodes without a pair, each with the number of the pair before it (-1: none)."""
    numbers = {node.index: number for number, node in enumerate(paired)}
    gap = -1
    for node in nodes:
        if node.index in numbers:
            gap = numbers[node.index]
        else:
            yield gap, node


def _name(node: UiNode) -> tuple[str, str, str]:
    return node.resource_id, node.cls, node.label or _first_label(node)


def _first_label(node: UiNode) -> str:
    """A row of a list is told apart by what it contains: the first label within its first few descendants."""
    for child in node.children[:4]:
        if child.label:
            return child.label
        for grandchild in child.children[:4]:
            if grandchild.label:
                return grandchild.label
    return ""


def _kind(node: UiNode) -> tuple[str, str]:
    return node.resource_id, node.cls


def _says(node: UiNode) -> tuple[object, ...]:
    """What counts as a change: everything the node says about itself but its place."""
    return node.text, node.content_desc, node.checked, node.enabled, node.selected, node.focused, node.clickable


def _shifted(before: UiNode, after: UiNode) -> bool:
    """Whether a node moved by itself: its parent's shift is not reported again for each descendant."""
    if before.bounds == after.bounds:
        return False
    if before.parent is None or after.parent is None:
        return True
    dx, dy = after.parent.bounds.left - before.parent.bounds.left, after.parent.bounds.top - before.parent.bounds.top
    return (after.bounds.left - before.bounds.left, after.bounds.top - before.bounds.top) != (dx, dy)


def _resized(before: UiNode, after: UiNode) -> bool:
    """Whether a node grew or shrank by itself, not just as much as its parent."""
    growth = _growth(before, after)
    if growth == (0, 0) or before.parent is None or after.parent is None:
        return growth != (0, 0)
    return growth != _growth(before.parent, after.parent)


def _growth(before: UiNode, after: UiNode) -> tuple[int, int]:
    return after.bounds.width - before.bounds.width, after.bounds.height - before.bounds.height


def _by_name(old: Sequence[UiNode], new: Sequence[UiNode]) -> list[tuple[UiNode, UiNode]]:
    names_old, names_new = [_name(node) for node in old], [_name(node) for node in new]
    if names_old == names_new:
        return list(zip(old, new, strict=True))
    start = 0
    while start < min(len(old), len(new)) and names_old[start] == names_new[start]:
        start += 1
    pairs = [(old[i], new[i]) for i in range(start)]
    rest_old, rest_new = names_old[start:], names_new[start:]
    matched = (
        _subsequence(rest_old, rest_new)
        if len(rest_old) * len(rest_new) <= _LCS_CELLS
        else _in_order(rest_old, rest_new)
    )
    return pairs + [(old[start + i], new[start + j]) for i, j in matched]


def _subsequence(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    """Positions of a longest common subsequence."""
    width = len(new) + 1
    lengths = [[0] * width for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        row, below = lengths[i], lengths[i + 1]
        for j in range(len(new) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if old[i] == new[j] else max(below[j], row[j + 1])
    pairs, i, j = [], 0, 0
    while i < len(old) and j < len(new):
        if old[i] == new[j]:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif lengths[i + 1][j] >= lengths[i][j + 1]:
            i += 1
        else:
            j += 1
    return pairs


def _in_order(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]]:
    places: dict[Hashable, deque[int]] = defaultdict(deque)
    for i, item in enumerate(old):
        places[item].append(i)
    return [(places[item].popleft(), j) for j, item in enumerate(new) if places.get(item)]


def _count_removed(old: UiTree, old_to_new: dict[int, int]) -> dict[int, int]:
    removed: dict[int, int] = defaultdict(int)
    for node in old.nodes:
        if node.index in old_to_new or (node.parent is not None and node.parent.index not in old_to_new):
            continue  # still there, or inside a subtree that is counted already
        removed[old_to_new[node.parent.index] if node.parent is not None else -1] += 1
    return dict(removed)
