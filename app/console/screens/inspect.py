"""Mode 1: what is on the device now. Devices, doctor, the tree, the node under the cursor, the stream."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from clawperator.app.console.chips import count_words, snapshot_words
from clawperator.app.console.screens.base import ConsoleScreen, Copyable
from clawperator.app.console.session import Facet
from clawperator.engine.hierarchy.serialise import node_xml
from clawperator.widgets.bounds_map import BoundsMap
from clawperator.widgets.device_list import DeviceList
from clawperator.widgets.doctor_panel import DoctorPanel
from clawperator.widgets.envelope_log import EnvelopeLog
from clawperator.widgets.format.checks import tally_line
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.nodes import bounds_text, breadcrumb, node_line
from clawperator.widgets.format.status import Status
from clawperator.widgets.format.stream import execution_row
from clawperator.widgets.format.times import age
from clawperator.widgets.info_line import FindLine, InfoLine
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.node_inspector import NodeInspector
from clawperator.widgets.pane import Pane
from clawperator.widgets.ui_tree import UiTreePane


class InspectScreen(ConsoleScreen):
    """The start screen."""

    MAIN = "#tree"
    COPY_SHOWN: ClassVar[tuple[str, ...]] = ("label", "id", "path", "bounds", "node", "snapshot")
    PLACES: ClassVar[dict[str, str]] = {
        "devices": "#devices",
        "doctor": "#doctor",
        "tree": "#tree",
        "node": "#node",
        "stream": "#stream",
        "parent": "#tree",
    }

    def compose_body(self) -> ComposeResult:
        with Horizontal(id="body"):
            with Vertical(id="rail"):
                yield Pane("devices", DeviceList(id="devices"), id="devices-pane")
                yield Pane("doctor", DoctorPanel(id="doctor", summary=True), id="doctor-pane")
            yield Pane(
                "tree",
                InfoLine(id="tree-info"),
                FindLine(
                    self._search, placeholder='find: words  #id  @click  "exact text"', back_to="#tree", id="find"
                ),
                UiTreePane(id="tree"),
                InfoLine(id="crumb"),
                InfoLine(id="node-line"),
                id="tree-pane",
            )
            yield Pane("node", NodeInspector(id="node"), id="node-pane")
            yield Pane("screen", BoundsMap(id="map"), id="screen-pane")
        yield Pane("stream", EnvelopeLog(id="stream", clock=self.console.clock), id="stream-pane")
        yield InfoLine(id="stream-strip")

    def on_mount(self) -> None:
        super().on_mount()
        session = self.session
        self.query_one(EnvelopeLog).show(session.log, session.lines, session.operator_lines)

    @property
    def tree_pane(self) -> UiTreePane:
        return self.query_one("#tree", UiTreePane)

    # -- drawing

    def draw(self, changed: Facet) -> None:
        session = self.session
        if changed & (Facet.DEVICES | Facet.LOCKS):
            self._draw_devices()
        if changed & Facet.DOCTOR:
            self.query_one("#doctor", DoctorPanel).show(session.report)
            self.query_one("#doctor-pane", Pane).note(self._doctor_note())
        if changed & (Facet.TREE | Facet.DEVICES | Facet.WORK):
            self._draw_tree()
        if changed & Facet.STREAM:
            self.query_one(EnvelopeLog).news()
            self._draw_stream_notes()

    def draw_ages(self) -> None:
        self._draw_tree_info()
        self.query_one(EnvelopeLog).tick()
        self._draw_stream_notes()
        self.query_one("#doctor-pane", Pane).note(self._doctor_note())

    def _draw_devices(self) -> None:
        session = self.session
        devices = self.query_one("#devices", DeviceList)
        devices.empty_text = no_device_words(session.adb_problem, known=session.devices_known)
        devices.show(session.devices, session.device_id)
        self.query_one("#devices-pane", Pane).note(
            Line().add(f"{len(session.usable)} of {len(session.devices)} usable")
        )

    def _doctor_note(self) -> Line:
        report = self.session.report
        line = tally_line(report.checks, self.console.symbols) if report.checks else Line()
        if report.ended:
            line.add(f" {self.console.symbols.dot} {age(self.session.clock.now() - report.ended)}")
        return line

    def _draw_tree(self) -> None:
        session = self.session
        tree = self.tree_pane
        tree.empty_text = self._empty_tree_words()
        tree.show(session.trees.shown)
        if not session.trees.shown:
            tree.refresh()
            self._draw_node()
        self._draw_tree_info()

    def _empty_tree_words(self) -> str:
        session = self.session
        if session.work:
            return session.work
        if session.device_id:
            return "No tree yet.\n\nr reads the screen."
        if session.usable:
            count = count_words(len(session.usable), "usable device")
            return f"{count}.\n\nD chooses one; it stays the target\nuntil you change it."
        return no_device_words(session.adb_problem, known=session.devices_known)

    def _draw_tree_info(self) -> None:
        info = self.query_one("#tree-info", InfoLine)
        tree = self.tree_pane
        snapshot = self.session.trees.shown
        right = snapshot_words(self.session, self.console.symbols).add(" ")
        line = Line(max(10, info.width - right.cells - 1)).add(" ")
        if not snapshot:
            info.show(Row(line.add("")))
            return
        if tree.find.problem:
            line.add(tree.find.problem, "warn")
        elif tree.find.text:
            line.add("/ ", "key").device(tree.find.text, "match", room=24)
            line.add(f"  {len(tree.hits)}/{len(snapshot.nodes):,} nodes", "text" if tree.hits else "warn")
        else:
            package = snapshot.tree.package if snapshot.tree is not None else ""
            line.device(package or "no package", "strong", room=34).add(f"  {len(snapshot.nodes):,} nodes", "muted")
        if self.narrow:
            line.add(f" {self.console.symbols.dot} {tree.view.value}", "faint")
        info.show(Row(line, right))

    def _draw_node(self) -> None:
        tree = self.tree_pane
        node = tree.node
        symbols = self.console.symbols
        self.query_one("#node", NodeInspector).show_node(node, on_screen=node is None or tree.node_on_screen(node))
        crumb, facts = self.query_one("#crumb", InfoLine), self.query_one("#node-line", InfoLine)
        crumb.show(Row(breadcrumb(node, crumb.width, symbols)))
        facts.show(node_line(node, facts.width, symbols))
        self.query_one("#tree-pane", Pane).note(self._place_words())
        self.query_one(BoundsMap).show(tree.snapshot, node, tree.hits)

    def _place_words(self) -> Line:
        tree, dot = self.tree_pane, self.console.symbols.dot
        return Line().add(f"{tree.view.value} {dot} {tree.cursor + 1} of {len(tree.rows)}" if tree.rows else "")

    def _draw_stream_notes(self) -> None:
        session = self.session
        stream = self.query_one(EnvelopeLog)
        self.query_one("#stream-pane", Pane).note(stream_words(stream, self.console.symbols.dot))
        strip = self.query_one("#stream-strip", InfoLine)
        current = session.log.current
        if current is None:
            strip.show(
                Row(
                    Line(strip.width)
                    .add(f" {Status.IDLE.sign(ascii_only=self.console.symbols.ascii)} ", "idle")
                    .add("nothing has run yet", "faint")
                )
            )
        else:
            strip.show(execution_row(current, strip.width, session.clock, self.console.symbols))

    # -- news of the panes

    @on(UiTreePane.NodeFocused)
    def _node_focused(self) -> None:
        self._draw_node()

    @on(UiTreePane.Changed)
    def _tree_changed(self) -> None:
        self._draw_tree_info()

    @on(BoundsMap.NodePicked)
    def _node_picked(self, message: BoundsMap.NodePicked) -> None:
        self.tree_pane.reveal_node(message.node)
        self.set_focus(self.tree_pane)

    @on(UiTreePane.CursorLost)
    def _cursor_lost(self, message: UiTreePane.CursorLost) -> None:
        self.console.say(Status.WARN, f"{message.gone} left the screen – now on {message.now}")

    @on(EnvelopeLog.Changed)
    def _stream_changed(self) -> None:
        self._draw_stream_notes()

    @on(UiTreePane.Wanted)
    def _wanted(self, message: UiTreePane.Wanted) -> None:
        trees = self.session.trees
        if message.what == "snapshot":
            trees.back = 0
            self.console.take_snapshot()
        elif trees.step(1 if message.what == "older" else -1):
            self.show(Facet.TREE)
        else:
            self.console.say(
                Status.IDLE, "There is no older tree" if message.what == "older" else "This is the newest tree"
            )

    def action_find(self) -> None:
        """Open the find line, at once: what is typed next must meet it. The stream is filtered in its own mode."""
        if self.focused_within("#stream"):
            self.console.action_mode("stream")
        else:
            self.query_one(FindLine).open()

    @on(LinePane.RowChosen, "#tree")
    def _tree_chosen(self) -> None:
        if self.narrow:
            self.go_to("#node")
        else:
            self.set_focus(self.query_one("#node"))

    @on(LinePane.RowChosen, "#stream")
    def _execution_chosen(self) -> None:
        self.console.action_mode("stream")

    @on(LinePane.RowChosen, "#doctor")
    def _check_chosen(self) -> None:
        self.console.action_mode("doctor")

    @on(NodeInspector.ValueWanted)
    def _value_wanted(self, message: NodeInspector.ValueWanted) -> None:
        self.run_worker(self.console.copy(message.value, message.name), exit_on_error=True)

    def _search(self, text: str) -> None:
        self.tree_pane.search(text)

    # -- drawers, escape, menus

    def open_drawer(self, pane: Pane | None) -> None:
        self.close_drawers()
        if pane is None or pane.id == "tree-pane":
            return
        drawer = self.query_one("#rail") if pane.id in ("devices-pane", "doctor-pane") else pane
        drawer.add_class("-drawer")

    def close_drawers(self) -> bool:
        drawers = list(self.query(".-drawer"))
        for drawer in drawers:
            drawer.remove_class("-drawer")
        if drawers:
            self.set_focus(self.tree_pane)
        return bool(drawers)

    def clear_pane(self) -> None:
        if self.focused_within("#stream"):
            self.query_one(EnvelopeLog).clear()
            return
        field = self.query_one(FindLine)
        if field.value:
            field.value = ""
        else:
            self.tree_pane.clear()

    def _go(self, choice: str | None) -> None:
        super()._go(choice)
        if choice == "parent":
            self.tree_pane.action_parent()

    def copyable(self) -> dict[str, Copyable]:
        things = super().copyable()
        node, snapshot = self.tree_pane.node, self.session.trees.shown
        if snapshot:
            things["snapshot"] = Copyable("the snapshot", lambda: snapshot.xml)
        if node is not None:
            if node.label:
                things["label"] = Copyable("the label", lambda: node.label)
            if node.resource_id:
                things["id"] = Copyable("the resource id", lambda: node.resource_id)
            things["path"] = Copyable("the path", lambda: node.path)
            things["bounds"] = Copyable("the bounds", lambda: bounds_text(node))
            things["node"] = Copyable("the node", lambda: node_xml(node))
        return things


def no_device_words(problem: str, *, known: bool) -> str:
    """What an empty device list means, and what to do."""
    if problem:
        return f"adb does not answer:\n{problem}\n\n6 shows the details."
    if not known:
        return "Asking adb for devices…"
    return "No device yet.\n\nPlug in a phone with USB debugging,\nor start an emulator."


def stream_words(stream: EnvelopeLog, dot: str) -> Line:
    """``executions · 12 of 40 · following``."""
    counts = stream.counts
    line = Line().add(stream.view.value)
    line.add(
        f" {dot} {counts.shown:,} shown"
        + (f", {counts.total - counts.shown:,} hidden" if counts.total > counts.shown and not stream.paused_at else "")
    )
    if stream.paused_at:
        line.add(f" {dot} PAUSED, {counts.behind:,} behind")
    elif stream.following:
        line.add(f" {dot} following")
    else:
        line.add(f" {dot} still – G follows")
    return line
