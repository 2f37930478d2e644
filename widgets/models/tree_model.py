"""The tree pane without a terminal: snapshot, folds, search, filters, matches, comparison.

Positions are pre-order positions in the snapshot's tree; *places* are rows of the layout, folded or not, removed nodes
included.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from clawperator.engine.hierarchy.align import NOTHING, Alignment, Heirs
from clawperator.widgets.models.comparison import changed_attributes, changes_between, ghosts_of
from clawperator.widgets.models.find import FLAGS, NO_FIND, Find, parse_find
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.tree_rows import Layout, Rows, TreeView, VisibleRow

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiNode, UiTree

Stops = Literal["hits", "matches", "changes"]
"""What can be walked."""

Heir: TypeAlias = Callable[["UiNode"], "UiNode | None"]
"""Maps a node of the previous tree to the current one."""


def _no_heir(_node: UiNode) -> None:
    return None


class RowState(NamedTuple):
    """State of a tree row beyond its node.

    ``mark`` is the kind of a change, ``differing`` the changed attributes, ``removed`` the subtrees that are gone from
    below it; ``found``: 0 no hit, 1 a hit, 2 the current hit; ``match``: 0 no match, 1 a match, 2 the first one, which
    the device takes; ``position`` counts the hit or match under the cursor, such as ``2 of 3``.
    """

    mark: str = ""
    differing: frozenset[str] = frozenset()
    found: int = 0
    match: int = 0
    dimmed: bool = False
    on_screen: bool = True
    position: str = ""
    removed: int = 0


class TreeModel:
    """See the module. Every visible change rebuilds ``rows``."""

    def __init__(self) -> None:
        self.snapshot = TreeSnapshot.EMPTY
        self.view = TreeView.COMPACT
        self.find: Find = NO_FIND
        self.hide_others = False
        self.filters: frozenset[str] = frozenset()
        self.hits: Sequence[int] = ()
        self.alike = 0
        """Hits that match only because characters look alike."""
        self.matches: Sequence[int] = ()
        self.first_match = -1
        self.changes: Alignment = NOTHING
        self.compared: TreeSnapshot | None = None
        self.rows = Rows(Layout(None))
        self._before: UiTree | None = None
        self._match_set: frozenset[int] = frozenset()
        # Folds of the tree, and those of the few rows that filters leave: old folds must not hide what was just found.
        self._folds: dict[bool, set[int]] = {False: set(), True: set()}
        self._places: dict[Stops, list[int]] = {}

    @property
    def marked_since(self) -> Sequence[UiTree]:
        """Return the previous tree while its changes are marked."""
        return () if self._before is None else (self._before,)

    @property
    def tree(self) -> UiTree | None:
        return self.snapshot.tree

    # -- content

    def take(self, snapshot: TreeSnapshot) -> Heir:
        """Replace the tree; return the mapping of the old nodes (none, if it was of another device)."""
        old, self.snapshot = self.snapshot, snapshot
        same = bool(old) and old.device_id == snapshot.device_id
        heir = self._heirs(old) if same else _no_heir
        self._take_folds(old, heir, same=same)
        self.show_matches((), -1)
        self.forget_changes()
        if same and not snapshot.coming:
            self._mark_changes(old)
        if self.compared is not None:
            self._compare(self.compared if same else None)
        self._look()
        self.lay_out()
        return heir

    def _heirs(self, old: TreeSnapshot) -> Heir:
        before, after = old.tree, self.tree
        if before is None or after is None:
            return _no_heir
        if self.snapshot.coming:
            return Heirs(before, after).of
        positions = changes_between(old, self.snapshot).old_to_new
        return lambda node: after.nodes[positions[node.index]] if node.index in positions else None

    def _take_folds(self, old: TreeSnapshot, heir: Heir, *, same: bool) -> None:
        """Keep folds."""
        for folds in self._folds.values():
            heirs = [heir(old.nodes[at]) for at in folds] if same else []
            folds.clear()
            folds.update(node.index for node in heirs if node is not None)

    def learn_changes(self, snapshot: TreeSnapshot, old: TreeSnapshot) -> None:
        """Take the changes of the shown tree: ``snapshot`` is the same with them, ``old`` the previous one."""
        self.snapshot = snapshot
        if self.compared is None:
            self._mark_changes(old)

    def _mark_changes(self, old: TreeSnapshot) -> None:
        """Mark changes within the same app; in another app everything is new."""
        if old.tree is not None and self.tree is not None and old.tree.package == self.tree.package:
            self.changes, self._before = changes_between(old, self.snapshot), old.tree
            self._places.clear()

    def compare(self, old: TreeSnapshot | None) -> None:
        """Mark the changes since ``old`` and show removed nodes; ``None`` ends the comparison."""
        self._compare(old)
        self.lay_out()

    def _compare(self, old: TreeSnapshot | None) -> None:
        if old is not None and old.tree is not None and self.tree is not None:
            self.compared, self._before = old, old.tree
            self.changes = changes_between(old, self.snapshot)
        else:
            self.compared = None
            self.forget_changes()

    def forget_changes(self) -> None:
        self.changes, self._before = NOTHING, None
        self._places.clear()

    # -- layout

    @property
    def hiding(self) -> bool:
        """Return whether rows that are no hits are left out."""
        return self.hide_others and bool(self.find)

    @property
    def filtered(self) -> bool:
        """Return whether filters or the search leave rows out."""
        return self.hiding or bool(self.filters)

    @property
    def hidden(self) -> int:
        """Return how many nodes are left out, folds and chains not counted."""
        if not self.filtered and self.view is not TreeView.TARGETS:
            return 0
        return len(self.snapshot.nodes) - self.rows.layout.shown

    @property
    def folded(self) -> set[int]:
        """Return the folded positions of the current rows."""
        return self._folds[self.filtered]

    def set_filters(self, names: frozenset[str]) -> None:
        self.filters = names
        self._folds[True].clear()
        self.lay_out()

    def toggle_hide(self) -> None:
        self.hide_others = not self.hide_others
        self._folds[True].clear()
        self.lay_out()

    def lay_out(self) -> None:
        """Rebuild the rows after a change of tree, view, filters or comparison."""
        tree, before = self.tree, self._before
        self._places.clear()
        if self.filtered or self.compared is None or tree is None or before is None:
            view = TreeView.ALL if self.hiding else self.view
            layout = Layout(tree, view, only=self._passing())
        else:
            layout = Layout(tree, self.view, before=before, ghosts=ghosts_of(before, tree, self.changes))
        self.rows = Rows(layout, self.folded)

    def _passing(self) -> frozenset[int] | None:
        if not self.filtered or self.tree is None:
            return None
        found: Sequence[int] = self.hits if self.hiding else range(len(self.snapshot.nodes))
        for name in sorted(self.filters):
            found = FLAGS[name](self.tree, found)
        return frozenset(found)

    # -- folds

    def fold(self, positions: Iterable[int]) -> None:
        self._folds[self.filtered] = set(positions)
        self.rows = Rows(self.rows.layout, self.folded)

    def unfold_to(self, place: int) -> bool:
        """Unfold what hides the layout's row ``place``; return whether anything did."""
        layout = self.rows.layout
        above = {layout.nodes[row].index for row in self.above(place)}
        if above.isdisjoint(self.folded):
            return False
        self.fold(self.folded - above)
        return True

    def all_but_way(self, place: int) -> set[int]:
        """Return the positions to fold so that only the path to ``place`` is open."""
        layout = self.rows.layout
        way = {place, *self.above(place)}
        return {
            node.index
            for row, node in enumerate(layout.nodes)
            if layout.behind[row] > row + 1 and row not in way and not layout.is_ghost(row)
        }

    def above(self, place: int) -> Iterator[int]:
        """Yield the layout rows above ``place`` up to the root, nearest first."""
        parents = self.rows.layout.parents
        row = parents[place]
        while row >= 0:
            yield row
            row = parents[row]

    def sibling(self, place: int, step: int) -> int:
        """Return the place of the next (1) or previous (-1) sibling; itself without one."""
        layout = self.rows.layout
        if step > 0:
            after = layout.behind[place]
            return after if after < len(layout) and layout.levels[after] == layout.levels[place] else place
        row = place - 1
        while row >= 0 and layout.levels[row] > layout.levels[place]:
            row = layout.parents[row]
        return row if row >= 0 and layout.levels[row] == layout.levels[place] else place

    # -- search

    def search(self, text: str) -> Find:
        """Parse the search line and find its hits."""
        hid, self.find = self.hiding, parse_find(text)
        if not self.find.text:
            self.hide_others = False
        self._look()
        if hid or self.hiding:
            self._folds[True].clear()
            self.lay_out()
        return self.find

    def _look(self) -> None:
        self.hits, self.alike = self.find.hits(self.tree) if self.tree is not None else ((), 0)
        self._places.pop("hits", None)

    def show_matches(self, positions: Sequence[int], first: int) -> None:
        """Set the workbench's matches, ascending; ``first`` is the one that the device takes (-1: none)."""
        self.matches, self.first_match = positions, first
        self._match_set = frozenset(positions)
        self._places.pop("matches", None)

    # -- state of a row

    def real_node(self, place: int) -> UiNode | None:
        """Return the node of this row; of a removed one the existing node before it."""
        layout = self.rows.layout
        while place >= 0 and layout.is_ghost(place):
            place -= 1
        return layout.nodes[place] if place >= 0 else None

    def hit(self, row: VisibleRow) -> int:
        """Return the index of the hit on this row or in its folded chain; -1 for none."""
        if not self.hits or row.ghost:
            return -1
        position = row.node.index
        number = bisect_left(self.hits, position - row.chain)
        return number if number < len(self.hits) and self.hits[number] <= position else -1

    def match(self, row: VisibleRow) -> int:
        """Return 0: no match; 1: a match; 2: the one that the device takes."""
        if not self._match_set or row.ghost:
            return 0
        shown = range(row.node.index - row.chain, row.node.index + 1)
        if self.first_match in shown:
            return 2
        return int(not self._match_set.isdisjoint(shown))

    def differing(self, row: VisibleRow) -> frozenset[str]:
        """Return the changed attributes of this row's node."""
        position = row.node.index
        if row.ghost or self._before is None or position not in self.changes.changed:
            return frozenset()
        return changed_attributes(self._before.nodes[self.changes.new_to_old[position]], row.node)

    def before(self, node: UiNode | None) -> UiNode | None:
        """Return the node of the tree before, or of the compared one, if it changed or moved."""
        changes = self.changes
        if node is None or self._before is None or node.index not in changes.changed | changes.moved:
            return None
        return self._before.nodes[changes.new_to_old[node.index]]

    def removed_from(self, row: VisibleRow) -> int:
        """Return how many subtrees were removed below this row's node, unless they have rows."""
        listed = self.compared is not None and not self.filtered and row.arrow != "closed"
        return 0 if row.ghost or listed else self.changes.removed.get(row.node.index, 0)

    def state(self, row: VisibleRow, *, at_cursor: bool) -> RowState:
        hit, match, tree = self.hit(row), self.match(row), self.tree
        return RowState(
            mark="" if row.ghost else self.changes.mark(row.node.index),
            differing=self.differing(row),
            found=2 if at_cursor and hit >= 0 else int(hit >= 0),
            match=match,
            dimmed=bool(self.find) and hit < 0 and not match,
            on_screen=row.ghost or (tree is not None and tree.is_on_screen(row.node)),
            position=self._position(row, hit, match) if at_cursor else "",
            removed=self.removed_from(row),
        )

    def _position(self, row: VisibleRow, hit: int, match: int) -> str:
        if hit >= 0:
            return f"{hit + 1} of {len(self.hits)}"
        if match and not self.find:
            return f"match {bisect_left(self.matches, row.node.index - row.chain) + 1} of {len(self.matches)}"
        return ""

    # -- walking

    def next_stop(self, stops: Stops, place: int, step: int) -> int:
        """Return the place of the next hit, match or change, wrapping around; -1 without one."""
        places = self.places(stops)
        if not places:
            return -1
        if step > 0:
            return places[bisect_right(places, place) % len(places)]
        return places[bisect_left(places, place) - 1]

    def places(self, stops: Stops) -> list[int]:
        """Return the places of all of them, ascending."""
        found = self._places.get(stops)
        if found is None:
            if stops == "changes":
                rows = self._changed_rows()
            else:
                rows = self._rows_of(self.hits if stops == "hits" else self.matches)
            found = self._places[stops] = sorted(rows)
        return found

    def _rows_of(self, positions: Iterable[int]) -> set[int]:
        nodes, layout = self.snapshot.nodes, self.rows.layout
        if not len(layout):
            return set()
        own = layout.own_rows
        return {own[at] if at in own else layout.row_of(nodes[at]) for at in positions}

    def _changed_rows(self) -> set[int]:
        """Return the rows of changes. An added or removed subtree is one change."""
        changes, nodes = self.changes, self.snapshot.nodes
        roots = {
            at for at in changes.added if (parent := nodes[at].parent) is None or parent.index not in changes.added
        }
        ghosts = self.rows.layout.ghost_roots

        reduced = set() if ghosts else changes.removed.keys() - {-1}
        return self._rows_of(roots | changes.changed | changes.moved | reduced) | set(ghosts)
