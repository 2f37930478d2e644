"""Mode 1: the tree of the device, and the matcher for the node under the cursor."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.timer import Timer
from textual.worker import Worker

from clawperator.app.console.actions import offer_actions
from clawperator.app.console.copyable import Copyable
from clawperator.app.console.empty_states import device_state, no_device_state
from clawperator.app.console.inspect.matcher_actions import MatcherActions
from clawperator.app.console.inspect.picture_area import PictureArea
from clawperator.app.console.inspect.rail import Rail
from clawperator.app.console.inspect.stream_area import StreamArea, StreamStrip
from clawperator.app.console.inspect.tree_actions import InspectConsole, TreeActions, has_device
from clawperator.app.console.inspect.tree_area import Crumbs, TreeArea
from clawperator.app.console.navigation import Destination, FixPlace, MatcherPlace, NodePlace, PickPlace
from clawperator.app.console.screens.base import ConsoleScreen, Menu
from clawperator.app.console.session import Facet
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiNode
from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line
from clawperator.widgets.line_pane import SETTLE_SECONDS, LinePane
from clawperator.widgets.matcher_bench import MatcherBench
from clawperator.widgets.models.bench import Bench, with_field
from clawperator.widgets.models.status import Status
from clawperator.widgets.node_inspector import NodeInspector
from clawperator.widgets.pane import Pane
from clawperator.widgets.picture import ScreenPane
from clawperator.widgets.text.matcher_text import MatcherText
from clawperator.widgets.ui_tree import UiTreePane


class InspectScreen(ConsoleScreen):
    """The start screen."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("inspect")]
    MAIN = "#tree"
    DEFAULT_CLASSES = "-calm -healthy -silent"
    COPY_SHOWN: ClassVar[tuple[str, ...]] = (
        "matcher", "json", "command", "step", "execution", "python", "pytest", "recipe", "ui_selector",
        "xpath", "label", "id", "path", "bounds", "node", "snapshot"
    )  # fmt: skip
    PLACES: ClassVar[dict[str, str]] = {
        "devices": "#devices",
        "doctor": "#doctor",
        "tree": "#tree",
        "node": "#node",
        "bench": "#bench",
        "stream": "#stream",
        "parent": "#tree",
        "match": "#tree",
    }

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench()
        self.bench_pane = MatcherBench(id="bench", bench=self.bench)
        self.area = TreeArea(self.bench, typed=self._typed, onward=self._to_found)
        self.tree_pane = self.area.tree_pane
        self.tree_actions = TreeActions(self, self.area)
        self.matcher_actions = MatcherActions(self, self.tree_actions, self.bench_pane, self.look_now)
        offer_actions(self, self.tree_actions, self.matcher_actions)

    def compose_body(self) -> ComposeResult:
        console = self.console
        self._fold_empty_panes(update=False)  # before there are panes to style
        with Horizontal(id="body"):
            yield Rail()
            yield self.area
            with Vertical(id="side"):
                yield Pane("node", NodeInspector(id="node"), id="node-pane")
                yield Pane("workbench", self.bench_pane, id="bench-pane")
            view = ScreenPane(id="screen", graphics=console.graphics, pictures=console.pictures_possible)
            yield PictureArea(view, self.tree_pane, self.matcher_actions)
        yield StreamArea()
        yield StreamStrip(id="stream-strip")

    def on_mount(self) -> None:
        self.query_one(StreamArea).stream.show(self.session.log, self.session.lines)
        self.console.trees_in_use = self.area.trees_in_use

    def arrive(self, place: Destination) -> None:
        match place:
            case NodePlace(node):
                self.to_node(node)
            case MatcherPlace(matcher):
                self.to_matcher(matcher)
            case PickPlace() if (pick := self.console.drafts.pick) is not None:
                self.go_to("#tree")
                self.refresh_bindings()
                self.console.say(Status.WAITING, f"Choose the node for {pick.words}: p uses its selector, 3 goes back")

    @property
    def console(self) -> InspectConsole:
        return cast("InspectConsole", self.app)

    @property
    def picture_area(self) -> PictureArea:
        return self.query_one(PictureArea)

    def on_screen_suspend(self) -> None:
        """Keep the shown tree and stop the mirror while a dialog or another mode covers them."""
        self.tree_pane.hold(True)
        if self.alive:
            self.picture_area.stop_mirror()

    def on_screen_resume(self) -> None:
        self.tree_pane.hold(False)

    def renew_picture(self) -> None:
        if self.alive:
            self.picture_area.renew()

    # -- drawing

    def draw(self, changed: Facet) -> None:
        session = self.session
        if changed & (Facet.DEVICES | Facet.LOCKS):
            self.query_one(Rail).draw_devices(session)
        if changed & (Facet.DOCTOR | Facet.DEVICES):
            self.query_one(Rail).draw_doctor(session)
        if changed & (Facet.DEVICES | Facet.DOCTOR | Facet.STREAM):
            self._fold_empty_panes()
        empty_tree = Facet.NOTHING if session.trees.shown.node_count else Facet.DOCTOR | Facet.LOCKS
        if changed & (Facet.TREE | Facet.DEVICES | Facet.WORK | empty_tree):
            self._draw_tree()
        elif changed & Facet.FOLLOW:
            self.area.draw_info()
        if changed & (Facet.FOLLOW | Facet.DEVICES):
            self.picture_area.mirror()
        if changed & Facet.PICTURE:
            self.picture_area.show_picture()
        if changed & Facet.STREAM:
            self.query_one(StreamArea).draw()
            self.query_one(StreamStrip).draw(session)

    def redraw(self) -> None:
        super().redraw()
        self.bench_pane.draw()
        self.area.draw_node()
        self._draw_bench()

    def draw_ages(self) -> None:
        self.area.draw_info()
        self.query_one(StreamArea).draw_ages()
        self.query_one(StreamStrip).draw(self.session)
        self.query_one(Rail).draw_ages(self.session)
        self.picture_area.draw_ages()

    def _fold_empty_panes(self, *, update: bool = True) -> None:
        """Give the tree the columns of a rail that says no more than it does, and the rows of an empty stream."""
        session = self.session
        healthy = not (session.report.problems or session.report.problem)
        calm = session.offline or (len(session.devices) < 2 and (healthy or not session.device_id))
        classes = {"-calm": calm, "-healthy": healthy, "-silent": not session.log.items, "-offline": session.offline}
        self.update_classes(classes, update=update)  # at once: each change styles the whole screen again

    def go_to(self, selector: str) -> None:
        pane = next((node for node in self.query_one(selector).ancestors_with_self if isinstance(node, Pane)), None)
        if pane is not None and not self.narrow and not self.has_class("-zoomed") and not pane.size.height:
            self.open_drawer(pane)
        super().go_to(selector)

    def _draw_tree(self) -> None:
        wanted = self.session.trees.shown
        if wanted.packed:
            _: Worker[None] = self.run_worker(
                partial(self.tree_actions.unpack, wanted), group="unpack", exclusive=True, exit_on_error=True
            )
            return
        before = self.tree_pane.snapshot.serial
        self.area.draw()
        shown = self.tree_pane.snapshot
        if shown.serial != before and shown and shown.problem:
            self.console.say(Status.WARN, f"{shown.name or 'This tree'}: {shown.problem}")
        self.console.bridge.searching = bool(self.tree_pane.model.find)
        newest = self.session.trees.newest
        if not self.tree_pane.snapshot:
            self._draw_node()
        elif self.tree_pane.node is self.bench.node:
            self._draw_inspector()  # its changes may be known now
        if newest and not self.tree_pane.waiting:  # follow mode waits until the tree is shown
            self.call_after_refresh(self.console.bridge.painted, newest.serial)

    @on(UiTreePane.NodeFocused)
    def _draw_node(self) -> None:
        """Draw everything that depends on the node under the cursor."""
        tree, snapshot = self.tree_pane, self.tree_pane.snapshot
        node = tree.node
        self.bench_pane.show(snapshot.tree, node, self.session.trees.recent())
        self._draw_inspector()
        self.area.draw_node()
        self._draw_bench()

    def _draw_inspector(self) -> None:
        """Draw the attributes of the node, with the old values of a changed one."""
        tree = self.tree_pane
        node = tree.node
        seen = node is None or tree.node_on_screen(node)
        inspector = self.query_one("#node", NodeInspector)
        inspector.show_node(node, on_screen=seen, density=self.session.density, before=tree.model.before(node))

    @on(MatcherBench.Changed)
    def _draw_bench(self) -> None:
        """Draw what depends on the current matcher."""
        self.area.draw_matcher()
        self.picture_area.draw()
        count = len(self.bench.matches)
        noun = "match" if count == 1 else "matches"
        words = f"typed {self.console.symbols.dot} " if self.bench.origin == "typed" else ""
        pane = self.query_one("#bench-pane", Pane)
        pane.note(Line().add(f"{words}{count:,} {noun}" if self.bench.current else ""))

    # -- news of the panes

    @on(Crumbs.NodePicked)
    @on(MatcherBench.NodePicked)
    def _node_picked(self, message: Crumbs.NodePicked | MatcherBench.NodePicked) -> None:
        self.to_node(message.node)

    def to_node(self, node: UiNode) -> None:
        """Move the cursor to a node of the shown tree, and show it there."""
        self.tree_pane.reveal_node(node)
        self.go_to("#tree")

    @on(UiTreePane.CursorLost)
    def _cursor_lost(self, message: UiTreePane.CursorLost) -> None:
        self.console.say(Status.WARN, f"{message.gone} left the screen – now on {message.now}")

    @on(LinePane.RowChosen, "#tree")
    def _tree_chosen(self) -> None:
        self.look_now()
        self.go_to("#bench")

    @on(LinePane.RowChosen, "#stream")
    @on(LinePane.RowChosen, "#doctor")
    def _summary_chosen(self, message: LinePane.RowChosen) -> None:
        """Open the mode that the pane summarises, which has its name."""
        self.console.action_mode(message.pane.id or "")

    @on(NodeInspector.ValueWanted)
    def _value_wanted(self, message: NodeInspector.ValueWanted) -> None:
        self.run_worker(self.console.copy(message.value, message.name), exit_on_error=True)

    # -- finding, filters

    def action_find(self) -> None:
        """Open the find line at once: the next key belongs to it. The stream is filtered in its own mode."""
        if self.focused_within("#stream"):
            self.console.action_mode("stream")
        else:
            self.area.find.open()

    # -- the matcher

    def action_matcher(self) -> None:
        """Open the matcher line at once: the next key belongs to it."""
        self.look_now()
        self.area.matcher.open()
        self.area.draw_hint()

    def to_matcher(self, matcher: Matcher) -> None:
        """Open the matcher line with this matcher, as if typed."""
        self.look_now()
        self.bench_pane.type(matcher)
        self.go_to("#tree")
        self.action_matcher()
        self._draw_bench()

    def _typed(self, _read: MatcherText) -> None:
        """Update count and marks at each key, the rest when typing pauses."""
        self.bench_pane.type(self.bench.typed)
        self.area.mark_matches()
        self.area.draw_hint()
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(SETTLE_SECONDS, self._draw_bench)

    _rest: Timer | None = None

    @on(MatcherBench.FieldWanted)
    def _field_wanted(self, message: MatcherBench.FieldWanted) -> None:
        self.area.matcher.open_field(message.field, message.value)
        self.area.draw_hint()

    @on(NodeInspector.FieldUsed)
    def _field_used(self, message: NodeInspector.FieldUsed) -> None:
        """Add a value of the node to the matcher."""
        self.bench_pane.type(with_field(self.bench.typed, message.field, message.value))
        self._draw_bench()

    def _to_found(self) -> None:
        self.go_to("#bench")
        self.bench_pane.to_found()

    def action_fix(self) -> None:
        """Open Doctor with the fix for the verdict; without one, say what to do."""
        verdict = self.session.verdict
        if verdict is not None and not verdict.ready:
            self.console.go_to(FixPlace())
        elif (state := device_state(self.session) or no_device_state(self.session)) is not None:
            self.console.say(state.status, ". ".join((state.reason, *state.steps[:1])))
        elif verdict is None:
            self.console.say(Status.IDLE, "The checks have not finished. 6 shows them")
        else:
            self.console.say(Status.OK, f"{verdict.summary}. 6 shows all checks")

    def look_now(self) -> None:
        """Update the workbench without waiting for the cursor to rest."""
        if self.tree_pane.node is not self.bench.node or self.tree_pane.snapshot.tree is not self.bench.tree:
            self._draw_node()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "pick_selector":
            return self.console.drafts.pick is not None
        return super().check_action(action, parameters)

    def menus(self) -> Iterator[Menu]:
        yield from self.matcher_actions.menus()
        yield from self.tree_actions.menus()
        yield from super().menus()

    def copyable(self) -> dict[str, Copyable]:
        return super().copyable() | self.matcher_actions.copyable()

    # -- panes, drawers, escape

    def action_picture(self) -> None:
        """Switch map → picture → off; from off or hidden to the map."""
        area = self.picture_area
        if not area.display:
            area.view.set_mode("map")
            self.set_class(True, "-screen")
            self.set_class(False, "-no-screen")
            if self.narrow:
                self.open_drawer(area)
        elif area.view.cycle() == "off":
            self.set_class(False, "-screen")
            self.set_class(True, "-no-screen")
            area.remove_class("-drawer")
        elif area.view.mode == "picture" and has_device(self.console):
            self.console.bridge.take_picture()
        area.mirror()
        area.draw()

    def action_bench(self) -> None:
        """Show or hide the workbench; on small screens it is a drawer."""
        self.look_now()
        if not self.narrow:
            self.toggle_class("-no-bench")
        elif self.query_one("#bench-pane").has_class("-drawer"):
            self.close_drawers()
        else:
            self.go_to("#bench")

    def open_drawer(self, pane: Pane | None) -> None:
        self.close_drawers()
        if pane is None or pane.id == "tree-pane":
            return
        if pane.id in ("devices-pane", "doctor-pane"):
            self.query_one("#rail").add_class("-drawer")
            return
        pane.add_class("-drawer")
        if pane.parent is not None and pane.parent.id == "side":
            self.query_one("#side").add_class("-drawer")

    def close_drawers(self) -> bool:
        drawers = list(self.query(".-drawer"))
        for drawer in drawers:
            drawer.remove_class("-drawer")
        if drawers:
            self.set_focus(self.tree_pane)
        return bool(drawers)

    def clear_pane(self) -> None:
        """Clear find, then the typed matcher, then filters, comparison and marks."""
        if self.focused_within("#stream"):
            self.query_one(StreamArea).stream.clear()
        elif self.area.find.value:
            self.area.find.value = ""
        elif self.bench.typed:
            self.bench_pane.clear()
        else:
            self.tree_pane.clear()

    def _go(self, choice: str | None) -> None:
        super()._go(choice)
        if choice == "parent":
            self.tree_pane.action_parent()
        elif choice == "match":
            self.tree_pane.next_match()
