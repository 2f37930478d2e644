"""What the screen looked like around each event, as far as the recording shows it. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from itertools import islice

from clawperator.engine.errors import EngineError
from clawperator.engine.hierarchy.nodes import UiNode, UiTree
from clawperator.engine.hierarchy.selectors import node_at
from clawperator.engine.hierarchy.traits import is_editable, landing
from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.recordings.records import Click, PressKey, Recording, Scroll, TextChange, WindowChange

_KEPT = 48
"""So many trees are held at a time: what is asked for lies near by, and a long session has more than memory should."""
_OTHERS = 12
"""So many other screens tell what is found everywhere; more would only take longer."""


class Screens:
    """The trees of a recording, by the position of the event that has them; a dump is read when it is asked for."""

    def __init__(self, recording: Recording) -> None:
        self.events: Sequence[WindowChange | Click | Scroll | PressKey | TextChange] = recording.events
        self._trees: OrderedDict[str, UiTree | None] = OrderedDict()
        self.unreadable: set[int] = set()
        """``seq`` of the events whose snapshot is damaged; what is left of it is used all the same."""
        self.classes: set[str] = set()
        """Of all nodes that were looked at."""

    def of(self, position: int) -> UiTree | None:
        """The snapshot of one event; ``None`` where it has none or it cannot be read."""
        snapshot = self.events[position].snapshot
        if not snapshot:
            return None
        if snapshot in self._trees:
            self._trees.move_to_end(snapshot)
            return self._trees[snapshot]
        tree = self._trees[snapshot] = self._read(snapshot, self.events[position].seq)
        if len(self._trees) > _KEPT:
            self._trees.popitem(last=False)
        return tree

    def _read(self, snapshot: str, seq: int) -> UiTree | None:
        try:
            tree = parse(snapshot, recover=True)
        except EngineError:
            self.unreadable.add(seq)
            return None
        if not tree.complete:
            self.unreadable.add(seq)
        self.classes.update(node.cls for node in tree.nodes)
        return tree if tree.nodes else None

    def before(self, position: int) -> UiTree | None:
        """The screen just before an event: its own snapshot, else the last one before it in the same window."""
        for at in range(position, -1, -1):
            if (tree := self.of(at)) is not None:
                return tree
            if at < position and isinstance(self.events[at], WindowChange):
                return None
        return None

    def after(self, position: int) -> UiTree | None:
        """The screen as the next act found it, which had time to settle; else as a window change showed it."""
        shown: UiTree | None = None
        for at in range(position + 1, len(self.events)):
            event = self.events[at]
            if isinstance(event, WindowChange):
                shown = self.of(at) or shown
            elif isinstance(event, Click | PressKey):
                return self.of(at) or shown
            elif shown is not None:
                return shown
        return shown

    def elsewhere(self, position: int) -> Iterator[UiTree]:
        """Some screens of other windows than the one that the event at ``position`` led to, nearest first."""
        events, count = self.events, len(self.events)
        shown = position
        while shown + 1 < count and isinstance(events[shown + 1], WindowChange):
            shown += 1
        while shown == position and shown > 0 and not isinstance(events[shown], WindowChange):
            shown = position = shown - 1
        end = max(shown, position) + 1
        while end < count and not isinstance(events[end], WindowChange):
            end += 1
        others = (self.of(at) for at in (*range(shown - 1, -1, -1), *range(end, count)))
        return islice((tree for tree in others if tree is not None), _OTHERS)

    def clicked(self, position: int) -> tuple[UiTree, UiNode] | None:
        """What the click at ``position`` was on: in its own snapshot, or in the one before where the screen had changed
        by the time the snapshot was taken.
        """
        click = self.events[position]
        assert isinstance(click, Click)
        previous = self.before(position - 1) if position else None
        for tree in (self.of(position), previous):
            if tree is not None and (node := locate(tree, click)) is not None:
                return tree, node
        return None


def locate(tree: UiTree, click: Click) -> UiNode | None:
    """The node that an event describes: by its place and its names; the text of an event may be that of its children."""
    wanted, bounds = click.resourceId or "", click.bounds.bounds
    there = [node for node in tree.on_screen if node.bounds == bounds]
    same = [node for node in there if node.resource_id == wanted] or (there if not wanted else [])
    if same:
        return max(same, key=lambda node: (_named_so(node, click), node.clickable or is_editable(node), node.index))
    named = [node for node in tree.on_screen if wanted and node.resource_id == wanted and _named_so(node, click) > 1]
    if len(named) == 1:
        return named[0]
    if wanted or bounds.empty:
        return None
    below = node_at(tree, *bounds.center)
    return landing(below).on if below is not None else None


def _named_so(node: UiNode, click: Click) -> int:
    """How many of the event's names are the node's: text and description; an absent one is that of a node without."""
    return ((click.text or "") == node.text) + ((click.contentDesc or "") == node.content_desc)
