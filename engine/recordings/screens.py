"""The screens before and after each event of a recording, if known. Pure."""

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
"""Number of cached trees: accesses are local, and a long recording does not fit into memory."""
_OTHERS = 12
"""Number of other screens that are compared."""


class Screens:
    """The trees of a recording by the position of their event, parsed on demand."""

    def __init__(self, recording: Recording) -> None:
        self.events: Sequence[WindowChange | Click | Scroll | PressKey | TextChange] = recording.events
        self._trees: OrderedDict[str, UiTree | None] = OrderedDict()
        self.unreadable: set[int] = set()
        """``seq`` of the events with a damaged snapshot, of which the readable part is used."""
        self.classes: set[str] = set()
        """Of all parsed nodes."""

    def of(self, position: int) -> UiTree | None:
        """Return the snapshot of one event; ``None`` if it is missing or unreadable."""
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
        """Return the screen before an event: its own snapshot, else the previous one in the same window."""
        for at in range(position, -1, -1):
            if (tree := self.of(at)) is not None:
                return tree
            if at < position and isinstance(self.events[at], WindowChange):
                return None
        return None

    def after(self, position: int) -> UiTree | None:
        """Return the screen of the next action, which had time to settle, else that of a window change."""
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
        """Yield screens of other windows than the one after ``position``, nearest first."""
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
        """Return the clicked node, in the event's snapshot or in the previous one: the screen may have changed too early."""
        click = self.events[position]
        assert isinstance(click, Click)
        previous = self.before(position - 1) if position else None
        for tree in (self.of(position), previous):
            if tree is not None and (node := locate(tree, click)) is not None:
                return tree, node
        return None


def locate(tree: UiTree, click: Click) -> UiNode | None:
    """Return the node of an event by bounds and names; the text of an event may be that of children."""
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
    """Return how many of the event's text and description equal those of the node."""
    return ((click.text or "") == node.text) + ((click.contentDesc or "") == node.content_desc)
