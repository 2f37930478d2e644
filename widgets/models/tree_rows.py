"""Rows of a tree: views, folded chains, filters, removed nodes, folds.

In two steps, because folding must not walk ten thousand nodes: ``Layout`` has a row for every shown node with nothing
folded, built once per tree and view; ``Rows`` leaves out what is folded, by copying slices. A ``VisibleRow`` is made
when it is drawn. Pure.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from enum import Enum
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, overload

from clawperator.engine.hierarchy.traits import is_plain, is_target

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiNode, UiTree


class TreeView(Enum):
    """How much of the tree is shown; ``t`` cycles."""

    COMPACT = "compact"
    ALL = "all"
    TARGETS = "targets"

    @property
    def next(self) -> TreeView:
        views = tuple(TreeView)
        return views[(views.index(self) + 1) % len(views)]


class VisibleRow(NamedTuple):
    """A visible row.

    ``level`` is its drawn depth, ``chain`` the number of containers folded into it, ``guides`` has a bit per level for
    a later sibling there. ``arrow`` is ``open``, ``closed`` or ``""``; ``hidden`` counts the nodes below a closed one.
    A ``ghost`` is a removed node of the older tree.
    """

    node: UiNode
    level: int
    chain: int
    arrow: str
    guides: int
    hidden: int
    ghost: bool = False


class Ghost(NamedTuple):
    """A removed node at its old place, drawn at ``depth`` before the node that is there now."""

    node: UiNode
    depth: int


Ghosts = Mapping[int, Sequence[Ghost]]
"""Removed nodes by the position in the new tree before which they are drawn."""


def _has_own_row(node: UiNode, following: Sequence[UiNode]) -> bool:
    """Return whether Compact draws ``node``: leaves, branches, and labelled single-child containers."""
    inner = node.index + 1
    return node.end == inner or following[inner].end != node.end or not is_plain(node)


def _shows(tree: UiTree, view: TreeView) -> Callable[[UiNode], bool]:
    if view is TreeView.TARGETS:
        return is_target
    if view is TreeView.ALL:
        return lambda _node: True
    nodes = tree.nodes
    return lambda node: _has_own_row(node, nodes)


class Layout:
    """The rows of a tree in one view with nothing folded, in document order.

    For each row ``parents`` has the row above it (-1: none) and ``behind`` the row after its subtree. ``shown`` counts
    rows of existing nodes.
    """

    def __init__(
        self,
        tree: UiTree | None,
        view: TreeView = TreeView.COMPACT,
        *,
        only: Collection[int] | None = None,
        before: UiTree | None = None,
        ghosts: Ghosts | None = None,
    ) -> None:
        """``only`` restricts the positions with rows (``None``: all). ``ghosts`` are nodes of ``before``."""
        self.nodes: list[UiNode] = []
        self.parents: list[int] = []
        self.levels: list[int] = []
        self.behind: list[int] = []
        self._keys: list[int] = []
        self._ghosts: set[int] = set()
        self._chained = view is TreeView.COMPACT and only is None
        if tree is not None:
            self._fill(_entries(tree, view, only, before, ghosts or {}))
        self.shown = len(self.nodes) - len(self._ghosts)

    def _fill(self, entries: Iterator[tuple[UiNode, int, int, bool]]) -> None:
        nodes, parents, levels, keys = self.nodes, self.parents, self.levels, self._keys
        row = 0
        way: list[int] = [-1]  # per depth of the current path: the nearest row there or above
        for node, depth, key, shown in entries:
            parent = way[depth]
            del way[depth + 1 :]
            way.append(row if shown else parent)
            if shown:
                nodes.append(node)
                parents.append(parent)
                levels.append(levels[parent] + 1 if parent >= 0 else 0)
                keys.append(key)
                row += 1
        self._ghosts.update(at for at, key in enumerate(keys) if key & 1)
        sizes = [1] * row
        for at in range(row - 1, 0, -1):
            if parents[at] >= 0:
                sizes[parents[at]] += sizes[at]
        self.behind = [at + size for at, size in enumerate(sizes)]

    def __len__(self) -> int:
        return len(self.nodes)

    def is_ghost(self, row: int) -> bool:
        return row in self._ghosts

    @property
    def ghost_roots(self) -> list[int]:
        """Return the rows of removed nodes whose parent is not removed."""
        return sorted(row for row in self._ghosts if self.parents[row] not in self._ghosts)

    def chain(self, row: int) -> int:
        """Return how many containers between this row and its parent row are folded into it."""
        if not self._chained or row in self._ghosts:
            return 0
        parent = self.parents[row]
        return self.nodes[row].depth - (self.nodes[parent].depth + 1 if parent >= 0 else 0)

    def guides(self, row: int) -> int:
        """Return one bit per level left of ``row``: whether a later sibling follows there."""
        bits, above = 0, self.parents[row]
        while above >= 0:
            after = self.behind[above]
            if after < len(self.nodes) and self.levels[after] == self.levels[above]:
                bits |= 1 << self.levels[above]
            above = self.parents[above]
        return bits

    def row_of(self, node: UiNode) -> int:
        """Return the row for ``node``: its own, else the first one inside it, else its ancestor's, else the one before."""
        row = bisect_left(self._keys, 2 * node.index)
        inside = row
        while inside < len(self.nodes) and self._keys[inside] < 2 * node.end - 1:
            if inside not in self._ghosts:
                return inside
            inside += 1
        above = row - 1
        while above >= 0 and (above in self._ghosts or self.nodes[above].end <= node.index):
            above = self.parents[above]
        return above if above >= 0 else max(0, row - 1)

    @cached_property
    def own_rows(self) -> Mapping[int, int]:
        """Return rows by position of their node."""
        return {key >> 1: row for row, key in enumerate(self._keys) if not key & 1}


def _entries(
    tree: UiTree, view: TreeView, only: Collection[int] | None, before: UiTree | None, ghosts: Ghosts
) -> Iterator[tuple[UiNode, int, int, bool]]:
    """Yield every node with its depth, a sort key, and whether it has a row. The key is twice the position; that of a
    removed node is one less than that of the node after it.
    """
    shows = _shows(tree, view)
    for node in tree.nodes:
        position = node.index
        if ghosts and position in ghosts:
            yield from _ghost_entries(before, view, ghosts[position], position)
        yield node, node.depth, 2 * position, (only is None or position in only) and shows(node)
    end = len(tree.nodes)
    if end in ghosts:
        yield from _ghost_entries(before, view, ghosts[end], end)


def _ghost_entries(
    before: UiTree | None, view: TreeView, run: Sequence[Ghost], position: int
) -> Iterator[tuple[UiNode, int, int, bool]]:
    if before is not None:
        shows = _shows(before, view)
        yield from ((ghost.node, ghost.depth, 2 * position - 1, shows(ghost.node)) for ghost in run)


class Rows(Sequence[VisibleRow]):
    """The rows of a layout that no fold hides. ``folded`` holds pre-order positions."""

    def __init__(self, layout: Layout, folded: Collection[int] = ()) -> None:
        self.layout = layout
        self._order: list[int] = []
        self._closed: set[int] = set()
        start = 0
        for row in sorted(layout.own_rows[position] for position in folded if position in layout.own_rows):
            if row >= start and layout.behind[row] > row + 1:
                self._order.extend(range(start, row + 1))
                self._closed.add(row)
                start = layout.behind[row]
        self._order.extend(range(start, len(layout)))

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> VisibleRow: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[VisibleRow]: ...
    def __getitem__(self, index: int | slice) -> VisibleRow | Sequence[VisibleRow]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        layout, row = self.layout, self._order[index]
        node, ghost = layout.nodes[row], layout.is_ghost(row)
        closed = row in self._closed
        arrow = "" if ghost or layout.behind[row] == row + 1 else "closed" if closed else "open"
        hidden = node.end - node.index - 1 if closed else 0
        return VisibleRow(node, layout.levels[row], layout.chain(row), arrow, layout.guides(row), hidden, ghost)

    def key(self, index: int) -> tuple[int, bool]:
        """Return a key of the row's drawing, valid while the layout stays."""
        row = self._order[index]
        return row, row in self._closed

    def row(self, index: int) -> int:
        """Return the layout row at ``index``."""
        return self._order[index]

    def place(self, row: int) -> int:
        """Return the index of a layout row, or of the fold that hides it."""
        return row if len(self._order) == len(self.layout) else max(0, bisect_right(self._order, row) - 1)

    def of(self, node: UiNode) -> int:
        """Return the index of the row that shows ``node``; 0 without rows."""
        return self.place(self.layout.row_of(node))
