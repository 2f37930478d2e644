"""The tree pane: a snapshot as rows, with folds, views, finding, change marks, and a cursor that never jumps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.message import Message
from textual.timer import Timer

from clawperator.engine.hierarchy.diff import NOTHING, Alignment, align
from clawperator.widgets import keys
from clawperator.widgets.format.lines import Row
from clawperator.widgets.format.nodes import RowState, arrow_column, name_of, tree_row
from clawperator.widgets.line_pane import SETTLE_SECONDS, LinePane
from clawperator.widgets.models.find import NO_FIND, Find, parse_find
from clawperator.widgets.models.snapshot import Snapshot
from clawperator.widgets.models.tree_rows import TreeRow, View, build_rows, crowded, row_of

if TYPE_CHECKING:
    from textual.binding import BindingType

    from clawperator.engine.hierarchy.tree import UiNode


class UiTreePane(LinePane):
    """Shows a ``Snapshot``; ``show`` swaps it. Posts ``NodeFocused`` when the cursor has come to rest on a node."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings("tree")]

    EMPTY = "No tree yet. r takes one."

    class NodeFocused(Message):
        """The cursor rests on ``node`` (``None`` in an empty tree)."""

        def __init__(self, node: UiNode | None) -> None:
            super().__init__()
            self.node = node

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, UiTreePane.NodeFocused)

    class Wanted(Message):
        """The pane cannot do this alone: ``snapshot``, ``older`` or ``newer``."""

        def __init__(self, what: str) -> None:
            super().__init__()
            self.what = what

    class Changed(Message):
        """View, folds or hits changed: whoever shows their counts looks again."""

    class CursorLost(Message):
        """The node under the cursor left the screen: ``gone`` and ``now`` name the old and the new one."""

        def __init__(self, gone: str, now: str) -> None:
            super().__init__()
            self.gone = gone
            self.now = now

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.snapshot = Snapshot.EMPTY
        self.view = View.COMPACT
        self.find = NO_FIND
        self.hits: Sequence[int] = ()
        self.rows: list[TreeRow] = []
        self.changes: Alignment = NOTHING
        self._hit_set: frozenset[int] = frozenset()
        self._on_screen: frozenset[int] = frozenset()
        self._folded: set[int] = set()
        self._row_by_node: dict[int, int] = {}
        self._rest: Timer | None = None

    # -- content

    def show(self, snapshot: Snapshot) -> None:
        """Swap the tree; cursor, folds and the cursor's place on screen stay with the nodes they belong to."""
        if snapshot.serial == self.snapshot.serial:
            self.snapshot = snapshot
            return
        old, node, y = self.snapshot, self.node, self.cursor - self.top
        self.snapshot = snapshot
        tree = snapshot.tree
        same_device = bool(old) and old.device_id == snapshot.device_id
        alignment = self._alignment(old) if same_device else NOTHING
        self.changes = alignment if same_device else NOTHING
        self._on_screen = frozenset(item.index for item in tree.on_screen) if tree is not None else frozenset()
        fresh = crowded(tree) if tree is not None else set()
        kept = {alignment.old_to_new[index] for index in self._folded if index in alignment.old_to_new}
        self._folded = kept | (fresh & alignment.added if same_device else fresh)
        self._search()
        self._rebuild()
        if same_device and node is not None:
            self._restore_cursor(node, alignment, y)
        else:
            self._jump(0, 0)
        self.post_message(self.Changed())

    def _alignment(self, old: Snapshot) -> Alignment:
        if old.tree is None or self.snapshot.tree is None:
            return NOTHING
        return self.snapshot.changes if self.snapshot.since == old.serial else align(old.tree, self.snapshot.tree)

    def _restore_cursor(self, node: UiNode, alignment: Alignment, y: int) -> None:
        survivor: UiNode | None = node
        while survivor is not None and survivor.index not in alignment.old_to_new:
            survivor = survivor.parent
        if survivor is None or not self.rows:
            self._jump(0, 0)
            return
        now = self.snapshot.nodes[alignment.old_to_new[survivor.index]]
        self._jump(row_of(self.rows, now), y)
        if survivor is not node:
            self.post_message(self.CursorLost(name_of(node), name_of(now)))

    def _jump(self, row: int, y: int) -> None:
        """Put the cursor on ``row`` with that row at height ``y`` of the pane."""
        self.set_reactive(LinePane.top, max(0, min(row - y, self.last_top)))
        self.set_reactive(LinePane.cursor, max(0, min(row, len(self.rows) - 1)))
        self.reveal(self.cursor)
        self.refresh()
        self._come_to_rest()

    def _rebuild(self) -> None:
        tree = self.snapshot.tree
        self.rows = build_rows(tree, self.view, self._folded) if tree is not None else []
        self._row_by_node = {row.node.index: index for index, row in enumerate(self.rows)}
        self.content_changed()

    def row_count(self) -> int:
        return len(self.rows)

    def row(self, index: int, width: int) -> Row:
        row = self.rows[index]
        position = row.node.index
        found = position in self._hit_set
        current = found and index == self.cursor
        note, role = self._note(row, current=current)
        state = RowState(
            mark=self.changes.mark(position),
            found=2 if current else int(found),
            dimmed=bool(self.find) and not found,
            on_screen=position in self._on_screen,
            note=note,
            note_role=role,
        )
        return tree_row(row, state, width, self.symbols)

    def _note(self, row: TreeRow, *, current: bool) -> tuple[str, str]:
        if current:
            return f"{self.hits.index(row.node.index) + 1} of {len(self.hits)}", "match-current"
        removed = self.changes.removed.get(row.node.index, 0)
        return (f"{self.symbols.removed}{removed}", "removed") if removed else ("", "")

    def marks(self) -> Iterable[tuple[int, str]]:
        positions = self.hits or sorted(self.changes.added | self.changes.changed)
        role = "match" if self.hits else "changed"
        return ((self._row_by_node[index], role) for index in positions if index in self._row_by_node)

    @property
    def node(self) -> UiNode | None:
        """The node under the cursor."""
        return self.rows[self.cursor].node if self.rows else None

    def node_on_screen(self, node: UiNode) -> bool:
        return node.index in self._on_screen

    # -- cursor

    def watch_cursor(self, old: int, new: int) -> None:
        super().watch_cursor(old, new)
        if self.hits:  # the "2 of 3" note moves with the cursor
            self._strips.clear()
        self._come_to_rest()

    def _come_to_rest(self) -> None:
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(SETTLE_SECONDS, self._rested)

    def _rested(self) -> None:
        self.post_message(self.NodeFocused(self.node))

    def reveal_node(self, node: UiNode) -> None:
        """Put the cursor on ``node``, unfolding what hides it."""
        hidden = False
        ancestor = node.parent
        while ancestor is not None:
            if ancestor.index in self._folded:
                self._folded.discard(ancestor.index)
                hidden = True
            ancestor = ancestor.parent
        if hidden:
            self._rebuild()
        self.move_to(row_of(self.rows, node))

    # -- folds

    def action_fold(self) -> None:
        if self.rows and self.rows[self.cursor].arrow:
            self._toggle(self.rows[self.cursor].node)

    def _toggle(self, node: UiNode) -> None:
        y = self.cursor - self.top
        self._folded ^= {node.index}
        self._rebuild()
        self._jump(row_of(self.rows, node), y)
        self.post_message(self.Changed())

    def action_unfold(self) -> None:
        """Unfold a closed node; from an open one go to its first child."""
        if not self.rows:
            return
        row = self.rows[self.cursor]
        if row.arrow == "closed":
            self._toggle(row.node)
        elif row.arrow == "open":
            self.move_to(self.cursor + 1)

    def action_fold_or_parent(self) -> None:
        """Fold an open node; from a closed one or a leaf go to the parent."""
        if self.rows and self.rows[self.cursor].arrow == "open":
            self._toggle(self.rows[self.cursor].node)
        else:
            self.action_parent()

    def action_parent(self) -> None:
        ancestor = self.node.parent if self.node is not None else None
        while ancestor is not None and ancestor.index not in self._row_by_node:
            ancestor = ancestor.parent
        if ancestor is not None:
            self.move_to(self._row_by_node[ancestor.index])

    def action_unfold_subtree(self) -> None:
        node = self.node
        if node is not None:
            y = self.cursor - self.top
            self._folded = {index for index in self._folded if not node.index <= index < node.end}
            self._rebuild()
            self._jump(row_of(self.rows, node), y)

    def action_fold_others(self) -> None:
        """Fold everything but the way to the cursor."""
        node = self.node
        if node is None:
            return
        way = {node.index}
        ancestor = node.parent
        while ancestor is not None:
            way.add(ancestor.index)
            ancestor = ancestor.parent
        y = self.cursor - self.top
        self._folded = {item.index for item in self.snapshot.nodes if item.children and item.index not in way}
        self._rebuild()
        self._jump(row_of(self.rows, node), y)

    def action_sibling(self, step: int) -> None:
        node = self.node
        if node is None:
            return
        siblings = (
            node.parent.children
            if node.parent is not None
            else tuple(self.snapshot.tree.roots)
            if self.snapshot.tree
            else ()
        )
        place = next((index for index, item in enumerate(siblings) if item is node), 0) + step
        if 0 <= place < len(siblings):
            self.move_to(row_of(self.rows, siblings[place]))

    def action_view(self) -> None:
        """Compact → all → targets."""
        node, y = self.node, self.cursor - self.top
        self.view = self.view.next
        self._rebuild()
        if node is not None:
            self._jump(row_of(self.rows, node), y)
        self.post_message(self.Changed())

    # -- finding

    def search(self, text: str) -> Find:
        """Find as typed: hits are marked, the cursor goes to the first one at or behind its place."""
        self.find = parse_find(text)
        self._search()
        self.content_changed()
        node = self.node
        if self.hits and node is not None:
            ahead = next((index for index in self.hits if index >= node.index), self.hits[0])
            self.reveal_node(self.snapshot.nodes[ahead])
        self.post_message(self.Changed())
        return self.find

    def _search(self) -> None:
        self.hits = self.find.positions(self.snapshot.nodes)
        self._hit_set = frozenset(self.hits)

    def action_hit(self, step: int) -> None:
        self._walk(self.hits, step)

    def action_change(self, step: int) -> None:
        changed = self.changes
        positions = {
            index
            for index in changed.added
            if (parent := self.snapshot.nodes[index].parent) is None or parent.index not in changed.added
        }
        self._walk(sorted(positions | changed.changed | changed.moved | set(changed.removed) - {-1}), step)

    def _walk(self, positions: Sequence[int], step: int) -> None:
        """To the next of ``positions``, round the end."""
        node = self.node
        if node is None or not positions:
            return
        if step > 0:
            target = next((index for index in positions if index > node.index), positions[0])
        else:
            target = next((index for index in reversed(positions) if index < node.index), positions[-1])
        self.reveal_node(self.snapshot.nodes[target])

    def clear(self) -> bool:
        """Drop find and marks, in this order; whether there was anything to drop."""
        if self.find.text:
            self.search("")
            return True
        if self.changes:
            self.changes = NOTHING
            self.content_changed()
            return True
        return False

    # -- asking others

    def action_snapshot(self) -> None:
        self.post_message(self.Wanted("snapshot"))

    def action_older(self) -> None:
        self.post_message(self.Wanted("older"))

    def action_newer(self) -> None:
        self.post_message(self.Wanted("newer"))

    def clicked(self, index: int, x: int, *, twice: bool) -> None:
        row = self.rows[index]
        column = arrow_column(row.level, self.body_width)
        self.move_to(index)
        if row.arrow and column >= 0 and column <= x <= column + 1:
            self._toggle(row.node)
        elif twice:
            self.action_choose()
