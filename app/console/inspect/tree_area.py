"""The tree pane of mode 1: the tree, the find and matcher lines, and facts of the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, cast

from textual import events
from textual.containers import Horizontal
from textual.message import Message
from textual.widget import Widget

from clawperator.app.console.chips import snapshot_words
from clawperator.app.console.empty_states import NO_DEVICE_HERE, start_state
from clawperator.app.console.inspect.follow_controller import follow_words
from clawperator.engine.hierarchy.blind import BlindSpot, blind_spots
from clawperator.widgets import keys
from clawperator.widgets.format.bench import candidate_rows, typed_row
from clawperator.widgets.format.lines import Line, Row, sentence
from clawperator.widgets.format.nodes import breadcrumb, breadcrumb_hit, node_line
from clawperator.widgets.info_line import FindLine, InfoLine
from clawperator.widgets.matcher_line import MatcherLine
from clawperator.widgets.pane import Pane
from clawperator.widgets.text.safe import wrap
from clawperator.widgets.ui_tree import UiTreePane

if TYPE_CHECKING:
    from textual.binding import BindingType

    from clawperator.app.console.screens.base import ConsoleScreen
    from clawperator.engine.hierarchy.nodes import UiNode, UiTree
    from clawperator.widgets.models.bench import Bench
    from clawperator.widgets.models.snapshot import TreeSnapshot
    from clawperator.widgets.text.matcher_text import MatcherText


_FACTS_CELLS = 16
"""At least this many cells are left for the number of nodes, beside the source of the tree and the state of follow mode."""


class TreeFindLine(FindLine):
    """The tree's find line; tab hides other nodes."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings("find")]
    OWN: ClassVar[frozenset[str | None]] = FindLine.OWN | {binding.id for binding in keys.bindings("find")}

    def action_hide(self) -> None:
        self.screen.query_one("#tree", UiTreePane).toggle_hide()


class Crumbs(InfoLine):
    """The path from the root to the node; a click on a step goes there."""

    class NodePicked(Message):
        """The step of ``node`` was clicked."""

        def __init__(self, node: UiNode) -> None:
            super().__init__()
            self.node = node

    def __init__(self) -> None:
        super().__init__(id="crumb")
        self._node: UiNode | None = None

    def show_node(self, node: UiNode | None) -> None:
        self._node = node
        self.show(Row(breadcrumb(node, self.width, self.symbols)))

    def on_click(self, event: events.Click) -> None:
        found = breadcrumb_hit(self._node, self.width, event.x, self.symbols)
        if found is not None:
            event.stop()
            self.post_message(self.NodePicked(found))


class TreeArea(Pane):
    """``typed`` is called at each key of the matcher line; ``onward`` when tab leaves it."""

    def __init__(self, bench: Bench, *, typed: Callable[[MatcherText], object], onward: Callable[[], object]) -> None:
        self.bench = bench
        self._blind: tuple[int, Sequence[BlindSpot]] = (0, ())
        self.tree_pane = UiTreePane(id="tree", changed=self.draw_info)
        self.info = InfoLine(id="tree-info")
        self.find = TreeFindLine(
            self.tree_pane.search,
            placeholder='find: words  #id  @click @text  "exact text"  clickable:true bounds:x,y  !not',
            back_to="#tree",
            id="find",
        )
        self.matcher = MatcherLine(bench, typed, back_to="#tree", id="matcher", onward=onward)
        self.hint = InfoLine(id="matcher-hint")
        self.crumbs = Crumbs()
        self.node_line = InfoLine(id="node-line")
        self._best = [InfoLine(id="best-1"), InfoLine(id="best-2")]
        parts: list[Widget] = [
            Horizontal(self.find, self.info, id="find-row"),
            self.matcher,
            self.hint,
            self.tree_pane,
            self.crumbs,
            self.node_line,
            *self._best,
        ]
        super().__init__("tree", *parts, id="tree-pane")

    @property
    def screen(self) -> ConsoleScreen:
        return cast("ConsoleScreen", super().screen)

    def trees_in_use(self) -> Iterator[UiTree]:
        """Yield the trees that this mode shows or compares with."""
        compared = self.tree_pane.model.compared
        for tree in (self.tree_pane.snapshot.tree, compared.tree if compared else None, self.bench.tree):
            if tree is not None:
                yield tree
        yield from self.tree_pane.trees_marked
        yield from self.bench.recent

    def on_descendant_focus(self) -> None:
        self.call_after_refresh(self.draw_info)

    def on_descendant_blur(self) -> None:
        """Hide the hint and release the tree when the matcher line loses the focus."""
        self.call_after_refresh(self.draw_info)
        if not self.matcher.is_open and self.hint.display:
            self.hint.display = False
            self.tree_pane.hold(False)

    # -- drawing

    def draw(self) -> None:
        """Show the newest tree, or the older one that was selected; while the pane is held it waits."""
        trees = self.screen.session.trees
        # The changes of an older tree are not computed any more: the pane does that.
        shown = replace(trees.shown, coming=False) if trees.back else trees.shown
        session = self.screen.session
        self.tree_pane.empty_text = self._empty_words(shown)
        nothing_else = not (session.work or session.offline or shown.problem)
        self.tree_pane.start_state = start_state(session) if nothing_else else None
        self.tree_pane.show(shown)
        if not shown:
            self.tree_pane.refresh()
        self.draw_info()

    def _empty_words(self, shown: TreeSnapshot) -> str:
        session = self.screen.session
        if session.work:
            return session.work
        if shown.problem:
            words = wrap(shown.problem, max(20, self.content_size.width - 4))
            return "\n".join([sentence(shown.name), "", *words])
        if session.offline:
            named = f"{sentence(shown.name)} has no nodes." if shown.name else "No saved dump is open."
            return f"{named}\n\n{NO_DEVICE_HERE}."
        return "No tree yet.\n\nPress r to read the screen."

    def draw_info(self) -> None:
        """Show counts, source and age of the tree."""
        session, symbols, info = self.screen.session, self.symbols, self.info
        right = Line() if self.find.is_open else snapshot_words(session, symbols)
        if self.tree_pane.waiting:
            right.add(f" {symbols.dot} {self.tree_pane.waiting} newer", "warn")
        follow = follow_words(session.device_id, session.follow)
        if follow.cells and not self.find.is_open:
            fits = right.cells + follow.cells + _FACTS_CELLS <= info.width
            right = right.add(f" {symbols.dot} ", "faint").extend(follow) if fits else follow
        right.add(" ")
        line = Line(max(10, info.width - right.cells - 1)).add(" ")
        if session.trees.shown:
            self._facts(line)
        info.show(Row(line, right))
        self.note(self._place_words())
        self.badge(self._origin())

    def _origin(self) -> str:
        """Return the backend of the tree."""
        snapshot = self.tree_pane.snapshot
        if not snapshot or self.screen.session.offline:
            return ""
        return self.screen.session.backend

    def _facts(self, line: Line) -> None:
        tree, model, dot = self.tree_pane, self.tree_pane.model, self.symbols.dot
        total = len(tree.snapshot.nodes)
        if model.find.problem:
            line.add(model.find.problem, "warn")
        elif model.find.text:
            if not self.find.is_open:  # which shows it
                line.add("/ ", "key").device(model.find.text, "match", room=24).add("  ")
            line.add(f"{len(model.hits)}/{total:,} nodes", "text" if model.hits else "warn")
            if model.alike:
                line.add(f" {dot} {model.alike} look-alike{'s' * (model.alike != 1)}", "warn")
        else:
            package = tree.snapshot.tree.package if tree.snapshot.tree is not None else ""
            line.add(f"{total:,} node{'s' * (total != 1)}  ", "muted").device(
                package or "no package", "strong", room=34
            )
        if model.filters:
            line.add(f" {dot} only {' '.join(sorted(model.filters))}", "match")
        if model.hidden:
            line.add(f" {dot} {model.hidden:,} hidden", "warn" if model.filters or model.hide_others else "faint")
        if model.compared is not None:
            line.add(f" {dot} ", "faint").device(self._side(model.compared), "removed", before="− ")
            line.add(" ").device(self._side(tree.snapshot), "added", before="+ ")
        if self.screen.session.trees.shown.tree is not None and (turned := tree.snapshot.tree) and turned.rotation:
            line.add(f" {dot} rotated {turned.rotation * 90}°", "faint")
        if spots := self.blind_spots():
            line.add(f" {dot} {len(spots)} blind", "faint")
        if self.screen.narrow:
            line.add(f" {dot} {model.view.value}", "faint")

    def blind_spots(self) -> Sequence[BlindSpot]:
        """Return what the shown tree cannot show; computed once for each tree."""
        snapshot = self.tree_pane.snapshot
        serial, spots = self._blind
        if serial != snapshot.serial or snapshot.tree is None:
            spots = blind_spots(snapshot.tree) if snapshot.tree is not None else []
            self._blind = snapshot.serial, spots
        return spots

    def _side(self, snapshot: TreeSnapshot) -> str:
        """Return the name of a tree in a comparison."""
        return snapshot.name or self.clock.time_of_day(snapshot.at, tenths=False)

    def _place_words(self) -> Line:
        tree, dot = self.tree_pane, self.symbols.dot
        return Line().add(
            f"{tree.model.view.value} {dot} {tree.cursor + 1} of {len(tree.rows)}" if len(tree.rows) else ""
        )

    def draw_node(self) -> None:
        """Show breadcrumb and facts of the node under the cursor."""
        node = self.tree_pane.node
        self.crumbs.show_node(node)
        self.node_line.show(node_line(node, self.node_line.width, self.symbols))
        self.note(self._place_words())

    def draw_matcher(self) -> None:
        """Mark the matches of the current matcher; on small screens show it, if typed, and the best candidates."""
        self.mark_matches()
        rows = self._best_rows() if self.screen.narrow else iter(())
        for line in self._best:
            line.show(next(rows, Row(Line())))

    def _best_rows(self) -> Iterator[Row]:
        bench, width, symbols = self.bench, self.node_line.width, self.symbols
        if bench.typed:
            yield typed_row(bench.typed, len(bench.matches), width, symbols)
        for rank, candidate in enumerate(bench.candidates, 1):
            yield next(candidate_rows(candidate, rank, width, symbols, current=candidate is bench.candidate))

    def mark_matches(self) -> None:
        """Mark the matches of a typed or an ambiguous matcher."""
        found = self.bench.matches
        if self.bench.origin == "candidate" and [self.bench.node] == [*found]:
            found = ()
        self.tree_pane.show_matches([node.index for node in found], found[0].index if found else -1)

    def draw_hint(self) -> None:
        """Show the hint of the matcher line; while it is open the tree stays."""
        if self.matcher.is_open:
            self.tree_pane.hold(True)
            self.hint.display = True
            self.hint.show(Row(self.matcher.hint(self.hint.width)))
