"""The tree pane: folds, views, search, filters, change marks, and a stable cursor."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from textual.message import Message
from textual.timer import Timer

from clawperator.widgets import keys
from clawperator.widgets.format.lines import Row
from clawperator.widgets.format.nodes import arrow_column, tree_row
from clawperator.widgets.format.start_state import StartRow, StartState, start_rows
from clawperator.widgets.key_bar import KeyBar
from clawperator.widgets.line_pane import SETTLE_SECONDS, LinePane
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.tree_model import Heir, Stops, TreeModel
from clawperator.widgets.text.node_names import name_of
from clawperator.widgets.text.safe import shorten

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.diff import Change
    from clawperator.engine.hierarchy.nodes import UiNode, UiTree
    from clawperator.widgets.models.find import Find
    from clawperator.widgets.models.tree_rows import Rows, VisibleRow


_STOP_ROLES: tuple[tuple[Stops, str], ...] = (("hits", "match"), ("matches", "match"), ("changes", "changed"))


class UiTreePane(LinePane):
    """Shows a ``TreeSnapshot``. Posts ``NodeFocused`` when the cursor rests on a node.

    ``changed`` is called, not posted, when view, folds, hits, filters or waiting trees changed, so that counts are
    drawn in the same frame.
    """

    BINDINGS = keys.binding_list("tree")

    EMPTY = "No tree yet. Press r to take a snapshot."

    @dataclass(eq=False)
    class NodeFocused(Message):
        """The cursor rests on ``node`` (``None`` in an empty tree and on a removed node)."""

        node: UiNode | None

        def can_replace(self, message: Message) -> bool:
            return isinstance(message, UiTreePane.NodeFocused)

    @dataclass(eq=False)
    class CursorLost(Message):
        """The node under the cursor left the screen: ``gone`` and ``now`` name the old and the new one."""

        gone: str
        now: str

    def __init__(self, *, changed: Callable[[], object] | None = None, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self._changed = changed or _no_listener
        self.start_state: StartState | None = None
        """Why there is no tree; shown instead of ``empty_text``."""
        self.model = TreeModel()
        self._former = TreeSnapshot.EMPTY
        self._rest: Timer | None = None
        self._held = False
        self._newest: TreeSnapshot | None = None
        self.waiting = 0
        """How many newer trees arrived while the pane was held."""
        self._home: UiNode | None = None
        """Where the cursor goes when there are rows again."""
        self._find_from = self._find_led_to = -1
        """Where a find began and where its last key led: each key looks on from the beginning, not from the last hit."""

    # -- state

    @property
    def snapshot(self) -> TreeSnapshot:
        return self.model.snapshot

    @property
    def rows(self) -> Rows:
        return self.model.rows

    @property
    def trees_marked(self) -> Sequence[UiTree]:
        """Return the older trees of the change marks."""
        former = self._former.tree
        return (*self.model.marked_since, *(() if former is None else (former,)))

    @property
    def node(self) -> UiNode | None:
        """Return the node under the cursor; ``None`` on a removed one."""
        row = self._cursor_row
        return None if row is None or row.ghost else row.node

    @property
    def ghost(self) -> UiNode | None:
        """Return the removed node under the cursor."""
        row = self._cursor_row
        return row.node if row is not None and row.ghost else None

    @property
    def _cursor_row(self) -> VisibleRow | None:
        return self.rows[self.cursor] if 0 <= self.cursor < len(self.rows) else None

    @property
    def _place(self) -> int:
        return self.rows.row(self.cursor) if len(self.rows) else -1

    def node_on_screen(self, node: UiNode) -> bool:
        tree = self.snapshot.tree
        return tree is not None and tree.is_on_screen(node)

    # -- content

    def show(self, snapshot: TreeSnapshot) -> None:
        """Replace the tree, or let it wait while the pane is held; cursor, folds and place stay with their nodes."""
        if snapshot.serial == self.snapshot.serial:
            self._take_again(snapshot)
        elif self._held and self.snapshot:
            self._wait(snapshot)
        else:
            self._swap(snapshot)

    def _take_again(self, snapshot: TreeSnapshot) -> None:
        """Update the same tree: newer, or with its changes."""
        if self.snapshot.coming and not snapshot.coming:
            self.model.learn_changes(snapshot, self._former)
            self._former = TreeSnapshot.EMPTY
            self.marks_changed()
            self._changed()
            if self._rest is None:
                self._rested()
        else:
            self.model.snapshot = snapshot

    def hold(self, on: bool) -> None:
        """Keep showing this tree during a decision about it; then show the newest one."""
        self._held = on
        newest = self._newest
        if not on and newest is not None:
            self._newest, self.waiting = None, 0
            self._swap(newest)

    def _wait(self, snapshot: TreeSnapshot) -> None:
        if self._newest is None or self._newest.serial != snapshot.serial:
            self.waiting += 1
            self._changed()
        self._newest = snapshot

    def _swap(self, snapshot: TreeSnapshot) -> None:
        node, y = self._here
        looked_away = bool(self.view_height) and not 0 <= y < self.view_height
        top = self.model.real_node(self.rows.row(self.top)) if looked_away else None
        self._former = self.snapshot if snapshot.coming else TreeSnapshot.EMPTY
        heir = self.model.take(snapshot)
        self._find_from = self._find_led_to = -1
        self.content_changed()
        now = _survivor(node, heir)
        if now is None:
            self._settle(None, 0)
        else:
            self._settle(now, y)
            if looked_away and (still := _survivor(top, heir)) is not None:
                self.scroll_rows(self.rows.of(still) - self.top)
        if node is not None and now is not None and now is not heir(node):
            self.post_message(self.CursorLost(name_of(node), name_of(self.node or now)))
        self._changed()

    @property
    def _here(self) -> tuple[UiNode | None, int]:
        """Return the node of the cursor and the screen row."""
        node = self.model.real_node(self._place) if len(self.rows) else self._home
        return node, self.cursor - self.top

    def _settle(self, node: UiNode | None, y: int) -> None:
        """Put the cursor on the row of ``node`` at screen row ``y``."""
        self._home = node
        row = self.rows.of(node) if node is not None and len(self.rows) else 0
        self.set_reactive(LinePane.top, max(0, min(row - y, self.last_top)))
        self.set_reactive(LinePane.cursor, max(0, min(row, len(self.rows) - 1)))
        self.reveal(self.cursor)
        self.refresh()
        self._come_to_rest()

    # -- drawing

    def row_count(self) -> int:
        return len(self.rows)

    def row_key(self, index: int) -> Hashable:
        return self.rows.key(index)

    def row(self, index: int, width: int) -> Row:
        row = self.rows[index]
        state = self.model.state(row, at_cursor=index == self.cursor)
        return tree_row(row, state, width, self.symbols)

    def marks(self) -> Iterator[tuple[int, str]]:
        model, rows = self.model, self.rows
        if model.first_match >= 0 and len(rows):
            yield rows.of(self.snapshot.nodes[model.first_match]), "match-current"
        for name, role in _STOP_ROLES:
            for place in model.places(name):
                yield rows.place(place), role

    def empty_words(self) -> str:
        return _no_match(self.model) if self.snapshot and self.model.filtered else self.empty_text

    def empty_rows(self, width: int) -> list[Row]:
        start = self._start_rows(width)
        return [entry.row for entry in start] if start else super().empty_rows(width)

    def empty_clicked(self, row: int) -> None:
        start = self._start_rows(self.content_size.width)
        if 0 <= row < len(start) and start[row].key:
            self.post_message(KeyBar.Pressed(start[row].key))

    def _start_rows(self, width: int) -> list[StartRow]:
        filtered = self.snapshot and self.model.filtered
        return start_rows(self.start_state, width, self.symbols) if self.start_state and not filtered else []

    # -- cursor

    def watch_cursor(self, old: int, new: int) -> None:
        super().watch_cursor(old, new)
        self._come_to_rest()

    def _come_to_rest(self) -> None:
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(SETTLE_SECONDS, self._rested)

    def _rested(self) -> None:
        """Notify dependent panes, once the changes of the tree are known."""
        self._rest = None
        if not self.snapshot.coming:
            self.post_message(self.NodeFocused(self.node))

    def action_move(self, rows: int) -> None:
        """Move the cursor; over an edge of the page, scroll a quarter of it: each shift of the tree sends 2.5 KB to a terminal of 200×60."""
        top, quarter = self.top, self.view_height // 4
        super().action_move(rows)
        if self.top != top:
            self.top = max(0, min(self.top + (quarter if self.top > top else -quarter), self.last_top))

    def reveal_node(self, node: UiNode) -> None:
        """Put the cursor on ``node``, unfolding its ancestors; if filtered out, on the nearest row."""
        if len(self.rows):
            self._go(self.rows.layout.row_of(node))

    def _go(self, place: int) -> None:
        if self.model.unfold_to(place):
            self.content_changed(keep_strips=True)
        self.move_to(self.rows.place(place))

    def action_parent(self) -> None:
        above = next(self.model.above(self._place), None) if len(self.rows) else None
        if above is not None:
            self.move_to(self.rows.place(above))

    def action_sibling(self, step: int) -> None:
        if len(self.rows):
            self.move_to(self.rows.place(self.model.sibling(self._place, step)))

    # -- folds

    def action_fold(self) -> None:
        row = self._cursor_row
        if row is not None and row.arrow:
            self._toggle(row.node)

    def _toggle(self, node: UiNode) -> None:
        self._fold(self.model.folded ^ {node.index})

    def _fold(self, positions: Iterable[int]) -> None:
        node, y = self._here
        self.model.fold(positions)
        self.content_changed(keep_strips=True)
        self._settle(node, y)
        self._changed()

    def action_unfold(self) -> None:
        """Unfold a closed node, else go to the first child."""
        row = self._cursor_row
        if row is not None and row.arrow == "closed":
            self._toggle(row.node)
        elif row is not None and row.arrow == "open":
            self.move_to(self.cursor + 1)

    def action_fold_or_parent(self) -> None:
        """Fold an open node, else go to the parent."""
        row = self._cursor_row
        if row is not None and row.arrow == "open":
            self._toggle(row.node)
        else:
            self.action_parent()

    def action_unfold_subtree(self) -> None:
        node = self.node
        if node is not None:
            self._fold(at for at in self.model.folded if not node.index <= at < node.end)

    def action_fold_others(self) -> None:
        if len(self.rows):
            self._fold(self.model.all_but_way(self._place))

    def action_view(self) -> None:
        """Cycle compact, all, targets."""
        self.model.view = self.model.view.next
        self._relaid(self.model.lay_out)

    def _relaid(self, lay_out: Callable[[], object]) -> None:
        """Change the layout and keep the place."""
        node, y = self._here
        lay_out()
        self.content_changed()
        self._settle(node, y)
        self._changed()

    # -- search, filters, matches

    def search(self, text: str) -> Find:
        """Search as typed; the cursor goes to the first hit at or after the start of the search."""
        node, y = self._here
        if node is not None and node.index != self._find_led_to:
            self._find_from = node.index
        find = self.model.search(text)
        self.content_changed()
        self._settle(node, y)
        if self.model.hits:
            ahead = bisect_left(self.model.hits, self._find_from) % len(self.model.hits)
            self.reveal_node(self.snapshot.nodes[self.model.hits[ahead]])
        node, _ = self._here
        self._find_led_to = node.index if node is not None and text else -1
        self._changed()
        return find

    def toggle_hide(self) -> None:
        """Hide or show the rows without a hit."""
        self._relaid(self.model.toggle_hide)

    def set_filters(self, names: frozenset[str]) -> None:
        """Leave out nodes without all of these properties (``find.FILTERS``)."""
        if names != self.model.filters:
            self._relaid(partial(self.model.set_filters, names))

    def show_matches(self, positions: Sequence[int], first: int = -1) -> None:
        """Mark the workbench's matches (ascending); ``first`` is the one that the device takes."""
        model = self.model
        if (tuple(positions), first) != (tuple(model.matches), model.first_match):
            model.show_matches(positions, first)
            self.marks_changed()

    def next_match(self) -> None:
        """Go to the first match; from a match to the next one."""
        model, row = self.model, self._cursor_row
        if row is None or not model.matches:
            return
        if model.match(row):
            self._go(model.next_stop("matches", self._place, 1))
        else:
            first = model.first_match if model.first_match >= 0 else model.matches[0]
            self.reveal_node(self.snapshot.nodes[first])

    def walk_matches(self, step: int) -> None:
        """Go to the next (1) or previous (-1) match, wrapping around."""
        self._walk("matches", step)

    def action_hit(self, step: int) -> None:
        self._walk("hits" if self.model.find else "matches", step)

    def action_change(self, step: int) -> None:
        self._walk("changes", step)

    def _walk(self, stops: Stops, step: int) -> None:
        place = self.model.next_stop(stops, self._place, step)
        if place >= 0:
            self._go(place)

    def compare(self, old: TreeSnapshot | None) -> None:
        """Mark changes since ``old``, also of newer trees, and show removed nodes; ``None`` ends the comparison."""
        self._relaid(partial(self.model.compare, old))

    def reveal_change(self, change: Change | None) -> None:
        """Go to the node of ``change``; a removed one has a row unless a filter hides it."""
        if change is not None and change.new is not None:
            self.reveal_node(change.new)
        elif change is not None:
            nodes = self.rows.layout.nodes
            self._go(next((place for place, node in enumerate(nodes) if node is change.old), self._place))

    def clear(self) -> bool:
        """Clear search, filters, comparison, marks: one per call; return whether there was one."""
        if self.model.find.text:
            self.search("")
        elif self.model.filters:
            self.set_filters(frozenset())
        elif self.model.compared is not None:
            self.compare(None)
        elif self.model.changes:
            self.model.forget_changes()
            self.marks_changed()
            self._changed()
        else:
            return False
        return True

    def clicked(self, index: int, x: int, *, twice: bool) -> None:
        row = self.rows[index]
        column = arrow_column(row.level, self.body_width)
        self.move_to(index)
        if row.arrow and column >= 0 and column <= x <= column + 1:
            self._toggle(row.node)
        elif twice:
            self.action_choose()


def _no_listener() -> None:
    """For a pane without counts beside it."""


def _survivor(node: UiNode | None, heir: Heir) -> UiNode | None:
    """Return the node or its nearest ancestor that still exists."""
    while node is not None:
        if (now := heir(node)) is not None:
            return now
        node = node.parent
    return None


def _no_match(model: TreeModel) -> str:
    """Return the text of a tree whose filters and search leave no row."""
    asked = [f"@{name}" for name in sorted(model.filters)]
    if model.hiding:
        asked.append(shorten(model.find.text, 40))
    return f"0 of {len(model.snapshot.nodes):,} nodes match\n{' '.join(asked)}\n\nPress esc to clear."
