"""Mode 1: the tree of the device, and the matcher for the node under the cursor."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.timer import Timer
from textual.worker import Worker

from clawperator.app.console.empty_states import device_state, no_device_state
from clawperator.app.console.inspect.picture_actions import PictureActionsScreen
from clawperator.app.console.inspect.tree_area import Crumbs, TreeArea
from clawperator.app.console.navigation import Destination, FixPlace, MatcherPlace, NodePlace, PickPlace
from clawperator.app.console.session import Facet
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiNode
from clawperator.widgets import keys
from clawperator.widgets.device_list import DeviceList
from clawperator.widgets.doctor_panel import DoctorPanel
from clawperator.widgets.envelope_log import EnvelopeLog
from clawperator.widgets.format.bench import candidate_rows
from clawperator.widgets.format.checks import tally_line
from clawperator.widgets.format.devices import DeviceSummary
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.stream import RowLook, When, execution_row
from clawperator.widgets.info_line import InfoLine
from clawperator.widgets.line_pane import SETTLE_SECONDS, LinePane
from clawperator.widgets.matcher_bench import MatcherBench
from clawperator.widgets.models.bench import with_field
from clawperator.widgets.models.status import Status
from clawperator.widgets.node_inspector import NodeInspector
from clawperator.widgets.pane import Pane
from clawperator.widgets.picture import ScreenPane
from clawperator.widgets.text.matcher_text import MatcherText
from clawperator.widgets.text.times import age
from clawperator.widgets.ui_tree import UiTreePane


class InspectScreen(PictureActionsScreen):
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

    def compose_body(self) -> ComposeResult:
        console = self.console
        self._fold_empty_panes(update=False)  # before there are panes to style
        with Horizontal(id="body"):
            with Vertical(id="rail"):
                yield Pane("devices", DeviceList(id="devices"), id="devices-pane")
                yield Pane("doctor", DoctorPanel(id="doctor", summary=True), id="doctor-pane")
            yield TreeArea(self.bench, typed=self._typed, onward=self._to_found, id="tree-pane")
            with Vertical(id="side"):
                yield Pane("node", NodeInspector(id="node"), id="node-pane")
                yield Pane("workbench", MatcherBench(id="bench", bench=self.bench), id="bench-pane")
            screen = ScreenPane(id="screen", graphics=console.graphics, pictures=console.pictures_possible)
            yield Pane("screen", screen, id="screen-pane")
        yield Pane("stream", EnvelopeLog(id="stream"), id="stream-pane")
        yield InfoLine(id="stream-strip")

    def on_mount(self) -> None:
        session = self.session
        self.query_one(EnvelopeLog).show(session.log, session.lines)
        self.console.trees_in_use = self.trees_in_use

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
    def area(self) -> TreeArea:
        return self.query_one(TreeArea)

    @property
    def tree_pane(self) -> UiTreePane:
        return self.area.tree_pane

    @property
    def bench_pane(self) -> MatcherBench:
        return self.query_one("#bench", MatcherBench)

    # -- drawing

    def draw(self, changed: Facet) -> None:
        session = self.session
        if changed & (Facet.DEVICES | Facet.LOCKS):
            self._draw_devices()
        if changed & (Facet.DOCTOR | Facet.DEVICES):
            self.query_one("#doctor", DoctorPanel).show(session.report)
            pane = self.query_one("#doctor-pane", Pane)
            pane.note(self._doctor_note())
            pane.badge(self._verdict_words(pane.size.width - 12))
        if changed & (Facet.DEVICES | Facet.DOCTOR | Facet.STREAM):
            self._fold_empty_panes()
        empty_tree = Facet.NOTHING if session.trees.shown.node_count else Facet.DOCTOR | Facet.LOCKS
        if changed & (Facet.TREE | Facet.DEVICES | Facet.WORK | empty_tree):
            self._draw_tree()
        elif changed & Facet.FOLLOW:
            self.area.draw_info()
        if changed & (Facet.FOLLOW | Facet.DEVICES):
            self.mirror()
        if changed & Facet.PICTURE:
            self.draw_picture()
        if changed & Facet.STREAM:
            self.query_one(EnvelopeLog).news()
            self._draw_stream_notes()

    def redraw(self) -> None:
        super().redraw()
        self.bench_pane.draw()
        self.area.draw_node()
        self._draw_bench()

    def draw_ages(self) -> None:
        self.area.draw_info()
        self.query_one(EnvelopeLog).tick()
        self._draw_stream_notes()
        self.query_one("#doctor-pane", Pane).note(self._doctor_note())
        self.note_picture()

    def _draw_devices(self) -> None:
        session = self.session
        devices = self.query_one("#devices", DeviceList)
        state = no_device_state(session)
        devices.empty_text = "Saved dumps:\nno device." if session.offline else f"{state.reason}." if state else ""
        devices.show(
            session.devices, session.device_id, facts=dict.fromkeys(session.silent, DeviceSummary(silent=True))
        )
        note = Line()
        if session.adb_problem:
            note.add("list unavailable", "warn")
        elif session.devices:
            note.add(f"{len(session.usable)} of {len(session.devices)} usable")
        self.query_one("#devices-pane", Pane).note(note)

    def _fold_empty_panes(self, *, update: bool = True) -> None:
        """Give the tree the columns of a rail that says no more than it does, and the rows of an empty stream."""
        session = self.session
        healthy = not (session.report.problems or session.report.problem)
        calm = session.offline or (healthy and len(session.devices) < 2)
        classes = {"-calm": calm, "-healthy": healthy, "-silent": not session.log.items, "-offline": session.offline}
        self.update_classes(classes, update=update)  # at once: each change styles the whole screen again

    def go_to(self, selector: str) -> None:
        pane = next((node for node in self.query_one(selector).ancestors_with_self if isinstance(node, Pane)), None)
        if pane is not None and not self.narrow and not self.has_class("-zoomed") and not pane.size.height:
            self.open_drawer(pane)
        super().go_to(selector)

    def _doctor_note(self) -> Line:
        report = self.session.report
        line = tally_line(report, self.console.symbols)
        if report.ended:
            line.add(f" {self.console.symbols.dot} {age(self.session.clock.now() - report.ended)}")
        if self.session.report_is_old:
            line.add(" old", "stale")
        return line

    def _verdict_words(self, width: int) -> str:
        report = self.session.report
        if report.running or not report.checks or report.verdict().ready:
            return ""
        summary = report.verdict().summary
        return summary if len(summary) <= width else summary.partition(":")[0]

    def _draw_tree(self) -> None:
        wanted = self.session.trees.shown
        if wanted.packed:
            _: Worker[None] = self.run_worker(
                partial(self._unpack, wanted), group="unpack", exclusive=True, exit_on_error=True
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

    def _draw_bench(self) -> None:
        """Draw what depends on the current matcher: marks in tree and map, the best candidates of small screens."""
        self._mark_matches()
        self.draw_screen()
        width, symbols = self.area.node_line.width, self.console.symbols
        candidates = self.bench.candidates if self.narrow else ()
        for index, line in enumerate(self.query("#best-1, #best-2").results(InfoLine)):
            if index < len(candidates):
                current = candidates[index] is self.bench.candidate
                line.show(next(candidate_rows(candidates[index], index + 1, width, symbols, current=current)))
            else:
                line.show(Row(Line()))
        count = len(self.bench.matches)
        noun = "match" if count == 1 else "matches"
        words = f"typed {symbols.dot} " if self.bench.origin == "typed" else ""
        pane = self.query_one("#bench-pane", Pane)
        pane.note(Line().add(f"{words}{count:,} {noun}" if self.bench.current else ""))

    def _mark_matches(self) -> None:
        """Mark the matches of a typed or an ambiguous matcher."""
        found = self.bench.matches
        if self.bench.origin == "candidate" and [self.bench.node] == [*found]:
            found = ()
        self.tree_pane.show_matches([node.index for node in found], found[0].index if found else -1)

    def _draw_stream_notes(self) -> None:
        session = self.session
        stream = self.query_one(EnvelopeLog)
        self.query_one("#stream-pane", Pane).note(stream_words(stream, self.console.symbols.dot))
        strip = self.query_one("#stream-strip", InfoLine)
        current = session.log.current
        if current is None:
            sign = self.console.symbols.sign(Status.IDLE)
            strip.show(Row(Line(strip.width).add(f" {sign} ", "idle").add("no execution yet", "faint")))
        else:
            look = RowLook(strip.width, session.clock, self.console.symbols)
            strip.show(execution_row(current, When(current.started), look))

    # -- news of the panes

    @on(UiTreePane.NodeFocused)
    def _node_focused(self) -> None:
        self._draw_node()

    @on(Crumbs.NodePicked)
    @on(MatcherBench.NodePicked)
    def _node_picked(self, message: Crumbs.NodePicked | MatcherBench.NodePicked) -> None:
        self.to_node(message.node)

    def to_node(self, node: UiNode) -> None:
        """Move the cursor to a node of the shown tree."""
        self.tree_pane.reveal_node(node)
        self.set_focus(self.tree_pane)

    @on(UiTreePane.CursorLost)
    def _cursor_lost(self, message: UiTreePane.CursorLost) -> None:
        self.console.say(Status.WARN, f"{message.gone} left the screen – now on {message.now}")

    @on(EnvelopeLog.Changed)
    def _stream_changed(self) -> None:
        self._draw_stream_notes()

    @on(LinePane.RowChosen, "#tree")
    def _tree_chosen(self) -> None:
        self.look_now()
        self.go_to("#bench")

    @on(LinePane.RowChosen, "#stream")
    def _execution_chosen(self) -> None:
        self.console.action_mode("stream")

    @on(LinePane.RowChosen, "#doctor")
    def _check_chosen(self) -> None:
        self.console.action_mode("doctor")

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
        self._mark_matches()
        self.area.draw_hint()
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(SETTLE_SECONDS, self._draw_bench)

    _rest: Timer | None = None

    @on(MatcherBench.Changed)
    def _matcher_changed(self) -> None:
        self._draw_bench()

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

    def action_match(self, step: int) -> None:
        self.tree_pane.walk_matches(step)

    def look_now(self) -> None:
        """Update the workbench without waiting for the cursor to rest."""
        if self.tree_pane.node is not self.bench.node or self.tree_pane.snapshot.tree is not self.bench.tree:
            self._draw_node()

    # -- panes, drawers, escape

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
            self.query_one(EnvelopeLog).clear()
        elif self.area.find.value:
            self.area.find.value = ""
        elif self.bench.typed:
            self.bench.clear()
            self.bench_pane.draw()
            self._draw_bench()
        else:
            self.tree_pane.clear()

    def _go(self, choice: str | None) -> None:
        super()._go(choice)
        if choice == "parent":
            self.tree_pane.action_parent()
        elif choice == "match":
            self.tree_pane.next_match()


def stream_words(stream: EnvelopeLog, dot: str) -> Line:
    """Return ``executions · 12 of 40 · FOLLOW``."""
    counts = stream.counts
    line = Line().add(stream.view.value)
    line.add(
        f" {dot} {counts.shown:,} shown"
        + (f", {counts.total - counts.shown:,} hidden" if counts.total > counts.shown and not stream.paused_at else "")
    )
    if stream.paused_at:
        line.add(f" {dot} PAUSED, {counts.behind:,} behind")
    elif stream.following:
        line.add(f" {dot} FOLLOW")
    else:
        line.add(f" {dot} SCROLLED, G follows")
    return line
