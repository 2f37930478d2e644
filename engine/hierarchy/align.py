"""Pair the nodes of two trees.

Children are aligned parent by parent: first on (resource id, class, label) by a longest common subsequence, then those
left between two such pairs by order within the same (resource id, class). This keeps the cursor and the folds on the same
node when a list scrolls, and gives the change marks in the gutter.

It works on positions and columns, not on nodes: a follower aligns thousands of nodes several times a second.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.nodes import UiNode, UiTree

_LCS_CELLS = 40_000
"""Above this many comparisons (200 × 200 siblings) equal names are paired in order instead."""
_TELLING_DEPTH = 2
"""The first label within this depth identifies a row of a list."""

_LABEL_WITHIN = 200
"""Nodes searched for a label; bounds the time in a tree without labels."""
_COMPARED = ("text", "content-desc", "checked", "enabled", "selected", "focused", "clickable")
_ALL_COMPARED: Callable[[dict[str, str]], tuple[str, ...]] = itemgetter(*_COMPARED)

Pairs: TypeAlias = list[tuple[int, int]]
"""Old and new position."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """``old_to_new`` and ``new_to_old`` map pre-order positions; the rest are the changes, by new position.

    Only what is or was on screen counts as ``moved``.
    ``removed`` counts old nodes without a counterpart, under the new position of their nearest surviving ancestor
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

_SIDES: WeakKeyDictionary[UiTree, _Side] = WeakKeyDictionary()


def align(old: UiTree, new: UiTree) -> Alignment:
    """Pair the nodes of two trees and list the changes."""
    before, after = _side_of(old), _side_of(new)
    pairs: Pairs = []
    waiting = [(before.roots, after.roots)]
    while waiting:
        for a, b in _pair_siblings(before, after, *waiting.pop()):
            pairs.append((a, b))
            if before.ends[a] > a + 1 and after.ends[b] > b + 1:
                waiting.append((before.children(a), after.children(b)))
    old_to_new = dict(pairs)
    new_to_old = {b: a for a, b in pairs}
    old_values, new_values = before.values, after.values
    was, now = old.visible, new.visible
    return Alignment(
        old_to_new=old_to_new,
        new_to_old=new_to_old,
        added=frozenset(range(len(new.nodes))).difference(new_to_old),
        changed=frozenset(b for a, b in pairs if old_values[a] != new_values[b]),
        moved=frozenset(b for a, b in pairs if (was[a] or now[b]) and shifted(old.nodes[a], new.nodes[b])),
        removed=_count_removed(old, old_to_new),
    )


class Heirs:
    """Find the counterpart of one old node in the new tree, without aligning the whole trees.

    Ancestors are aligned level by level, with the same result as ``align``.
    """

    def __init__(self, old: UiTree, new: UiTree) -> None:
        self._old, self._new = old, new
        self._before = _SIDES.get(old) or _Asked(old)
        self._after = _SIDES.get(new) or _Asked(new)
        self._pairs: dict[int, dict[int, int]] = {}

    def of(self, node: UiNode) -> UiNode | None:
        """``None`` when it or one of its ancestors was removed."""
        heir: UiNode | None = None
        for step in reversed([node, *node.ancestors]):
            found = self._level(step.parent, heir).get(step.index)
            if found is None:
                return None
            heir = self._new.nodes[found]
        return heir

    def _level(self, parent: UiNode | None, heir: UiNode | None) -> dict[int, int]:
        """The pairs below ``parent``, whose counterpart is ``heir``; without them, the roots'."""
        key = parent.index if parent is not None else -1
        if key not in self._pairs:
            old = parent.children if parent is not None else self._old.roots
            new = heir.children if heir is not None else self._new.roots
            places = [item.index for item in old], [item.index for item in new]
            self._pairs[key] = dict(_pair_siblings(self._before, self._after, *places))
        return self._pairs[key]


class _Asked:
    """One tree, each of whose names is computed when it is asked for."""

    def __init__(self, tree: UiTree) -> None:
        self._nodes = tree.nodes

    def kind(self, position: int) -> Hashable:
        node = self._nodes[position]
        return node.resource_id, node.cls

    def name(self, position: int) -> Hashable:
        node = self._nodes[position]
        return self.kind(position), node.label or label_inside(node)


def label_inside(node: UiNode) -> str:
    """The label that identifies a row of a list: the first inside, if it is no deeper than ``_TELLING_DEPTH``."""
    for inner in islice(node.descendants, _LABEL_WITHIN):
        if label := inner.label:
            return label if inner.depth - node.depth <= _TELLING_DEPTH else ""
    return ""


def _side_of(tree: UiTree) -> _Side:
    """Cached per tree: the new tree of one alignment is the old one of the next."""
    side = _SIDES.get(tree)
    if side is None:
        side = _SIDES[tree] = _Side(tree)
    return side


class _Side:
    """One tree as columns by position."""

    def __init__(self, tree: UiTree) -> None:
        nodes = tree.nodes
        self.roots = [root.index for root in tree.roots]
        self.ends = [node.end for node in nodes]
        attributes = [node.attributes for node in nodes]
        self._kinds = [
            (of.get("resource-id", ""), of.get("class") or node.cls) for of, node in zip(attributes, nodes, strict=True)
        ]
        self.values = [_values(of) for of in attributes]
        self._labels = tree.labels
        self._depths = [node.depth for node in nodes]

    def children(self, position: int) -> list[int]:
        found, ends, stop = [], self.ends, self.ends[position]
        child = position + 1
        while child < stop:
            found.append(child)
            child = ends[child]
        return found

    def kind(self, position: int) -> Hashable:
        return self._kinds[position]

    @cached_property
    def name(self) -> Callable[[int], Hashable]:
        """Kind and label of a node, or the first label inside it."""
        labels, ends, depths = self._labels, self.ends, self._depths
        names: list[Hashable] = [None] * len(ends)
        following = -1
        for position in range(len(ends) - 1, -1, -1):
            label = labels[position]
            near = 0 <= following < ends[position] and depths[following] - depths[position] <= _TELLING_DEPTH
            names[position] = (self._kinds[position], label or (labels[following] if near else ""))
            if label:
                following = position
        return names.__getitem__


def _values(attributes: dict[str, str]) -> Hashable:
    """The attributes of a node that count as a change, its position aside."""
    try:
        return _ALL_COMPARED(attributes)
    except KeyError:  # a reduced dump: a missing attribute counts like an empty one
        return tuple(attributes.get(name, "") for name in _COMPARED)


def _pair_siblings(before: _Side | _Asked, after: _Side | _Asked, old: Sequence[int], new: Sequence[int]) -> Pairs:
    pairs = _by_name([*map(before.name, old)], [*map(after.name, new)], old, new)
    if len(pairs) == len(old) or len(pairs) == len(new):
        return pairs
    left: dict[Hashable, deque[int]] = defaultdict(deque)
    for gap, a in _unpaired(old, [a for a, _ in pairs]):
        left[gap, before.kind(a)].append(a)
    # Pair only between the same neighbours: a row that scrolled out above is not the one that appeared below.
    for gap, b in _unpaired(new, [b for _, b in pairs]):
        if queue := left.get((gap, after.kind(b))):
            pairs.append((queue.popleft(), b))
    return pairs


def _unpaired(positions: Sequence[int], paired: Sequence[int]) -> Iterator[tuple[int, int]]:
    """The positions without a pair, each after the number of the pair before it (-1: none)."""
    numbers = {position: number for number, position in enumerate(paired)}
    gap = -1
    for position in positions:
        if position in numbers:
            gap = numbers[position]
        else:
            yield gap, position


def _by_name(
    names_old: Sequence[Hashable], names_new: Sequence[Hashable], old: Sequence[int], new: Sequence[int]
) -> Pairs:
    if names_old == names_new:
        return list(zip(old, new, strict=True))
    start, end = common_ends(names_old, names_new)
    rest_old, rest_new = names_old[start : len(old) - end], names_new[start : len(new) - end]
    small = len(rest_old) * len(rest_new) <= _LCS_CELLS
    matched = common_subsequence(rest_old, rest_new) if small else _in_order(rest_old, rest_new)
    return [
        *zip(old[:start], new[:start], strict=True),
        *((old[start + i], new[start + j]) for i, j in matched),
        *zip(old[len(old) - end :], new[len(new) - end :], strict=True),
    ]


def common_ends(old: Sequence[Hashable], new: Sequence[Hashable]) -> tuple[int, int]:
    """The length of the longest common beginning, and that of the common end behind it."""
    start, shorter = 0, min(len(old), len(new))
    while start < shorter and old[start] == new[start]:
        start += 1
    end = 0
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return start, end


def common_subsequence(old: Sequence[Hashable], new: Sequence[Hashable]) -> Pairs:
    """The positions of a longest common subsequence; as many comparisons as the product of the lengths."""
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


def _in_order(old: Sequence[Hashable], new: Sequence[Hashable]) -> Pairs:
    places: dict[Hashable, deque[int]] = defaultdict(deque)
    for i, name in enumerate(old):
        places[name].append(i)
    return [(places[name].popleft(), j) for j, name in enumerate(new) if places.get(name)]


def shifted(before: UiNode, after: UiNode) -> bool:
    """Whether a node moved independently of its parent, whose shift is not reported again for each descendant."""
    if before.attributes.get("bounds") == after.attributes.get("bounds") or before.bounds == after.bounds:
        return False
    if before.parent is None or after.parent is None:
        return True
    dx, dy = after.parent.bounds.left - before.parent.bounds.left, after.parent.bounds.top - before.parent.bounds.top
    return (after.bounds.left - before.bounds.left, after.bounds.top - before.bounds.top) != (dx, dy)


def _count_removed(old: UiTree, old_to_new: dict[int, int]) -> dict[int, int]:
    removed: dict[int, int] = defaultdict(int)
    for position in range(len(old.nodes)):
        if position in old_to_new:
            continue
        parent = old.nodes[position].parent
        if parent is None or parent.index in old_to_new:  # otherwise it is inside a subtree that is counted already
            removed[old_to_new[parent.index] if parent is not None else -1] += 1
    return dict(removed)
