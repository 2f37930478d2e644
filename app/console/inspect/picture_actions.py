"""The screen pane of mode 1: map, picture or live mirror, and acting on its nodes with the mouse."""

from __future__ import annotations

from textual import on
from textual.geometry import Offset

from clawperator.app.console.execution.subject import Subject
from clawperator.app.console.inspect.tree_actions import TreeActionsScreen
from clawperator.engine.hierarchy.nodes import UiNode
from clawperator.engine.hierarchy.traits import scrolls_sideways
from clawperator.widgets.bounds_map import ScreenView
from clawperator.widgets.matcher_bench import MatcherBench
from clawperator.widgets.models.status import Status
from clawperator.widgets.pane import Pane
from clawperator.widgets.picture import FRESH_SECONDS, ScreenPane

_PATIENCE_SECONDS = 5.0
"""For a tap to wait for a tree and a picture of the same moment."""


class PictureActionsScreen(TreeActionsScreen):
    """Subclasses have the screen pane. Only nodes are tapped and scrolled; a drag elsewhere is a swipe between two points."""

    _awaited_tap: tuple[Offset, float] | None = None
    """A place that was tapped before tree and picture were of the same moment, and when."""

    @property
    def screen_pane(self) -> ScreenPane:
        return self.query_one("#screen", ScreenPane)

    # -- picture and mirror

    def action_picture(self) -> None:
        """Switch map → picture → off; from off or hidden to the map."""
        pane = self.query_one("#screen-pane", Pane)
        if not pane.display:
            self.screen_pane.set_mode("map")
            self.set_class(True, "-screen")
            self.set_class(False, "-no-screen")
            if self.narrow:
                self.open_drawer(pane)
        elif self.screen_pane.cycle() == "off":
            self.set_class(False, "-screen")
            self.set_class(True, "-no-screen")
            pane.remove_class("-drawer")
        elif self.screen_pane.mode == "picture" and self.has_device():
            self.console.bridge.take_picture()
        self.mirror()
        self.draw_screen()

    def renew_picture(self) -> None:
        if self.alive and self.screen_pane.mode == "picture" and self.query_one("#screen-pane").display:
            self.console.bridge.take_picture()

    def mirror(self) -> None:
        """Make the picture live while follow mode is on and the picture is shown."""
        session, pane = self.session, self.screen_pane
        live = session.follow is not None and pane.mode == "picture" and self.query_one("#screen-pane").display
        pane.live = live and self.is_active
        self.console.bridge.mirror.start(session.device_id if pane.live else "")

    def on_screen_suspend(self) -> None:
        """Stop the mirror while another mode or a dialog covers it."""
        if self.alive:
            self.screen_pane.live = False
        self.console.bridge.mirror.start("")

    def draw_picture(self) -> None:
        """Show the newest screenshot; the next one of the mirror follows when it is painted."""
        pane = self.screen_pane
        if self.session.picture is not None:
            pane.show_picture(self.session.picture)
            self.draw_screen()
        self.call_after_refresh(lambda: self.console.bridge.mirror.painted(pane.sent))

    def draw_screen(self) -> None:
        """Draw tree, marks and the words of the screen pane."""
        tree, model = self.tree_pane, self.tree_pane.model
        hits = model.hits or model.matches
        first = model.matches[0] if model.matches and not model.hits else -1
        self.screen_pane.show(tree.snapshot, tree.node, hits, first)
        self.note_picture()
        if self._awaited_tap is not None and self.screen_pane.apart <= FRESH_SECONDS:
            (place, at), self._awaited_tap = self._awaited_tap, None
            if self.session.clock.now() - at < _PATIENCE_SECONDS:
                self._tap_at(place)

    def note_picture(self) -> None:
        """Draw what the screen pane shows and its age; a drawer has no lower edge."""
        pane, words = self.query_one("#screen-pane", Pane), self.screen_pane.words()
        pane.note(words)
        pane.badge(words.plain if self.narrow and self.screen_pane.mode == "picture" else "")

    # -- acting on nodes

    @on(ScreenView.NodePicked)
    def _picked(self, message: ScreenView.NodePicked) -> None:
        self.tree_pane.reveal_node(message.node)

    @on(ScreenView.TapWanted)
    def _tap_wanted(self, message: ScreenView.TapWanted) -> None:
        if message.place is None:
            self._ask("tap", self.tree_pane.node)
        elif self.screen_pane.apart > FRESH_SECONDS and self.has_device():
            self._awaited_tap = message.place, self.session.clock.now()
            self.console.say(Status.WAITING, "The picture and the tree are of different moments: reading both again")
            self.console.take_snapshot()
            self.console.bridge.take_picture()
        else:
            self._tap_at(message.place)

    def _tap_at(self, place: Offset) -> None:
        nodes = self.screen_pane.nodes_at(place)
        self._ask("tap", nodes[0] if nodes else None)

    @on(ScreenView.SwipeWanted)
    def _swipe_wanted(self, message: ScreenView.SwipeWanted) -> None:
        """Scroll the container that scrolls along the drag, if a selector finds it; send every other drag as it is."""
        nodes = self.screen_pane.nodes_at(message.place)
        across, down = (end - start for start, end in zip(message.start, message.end, strict=True))
        sideways = abs(across) > abs(down)
        around = [nodes[0], *nodes[0].ancestors] if nodes else []
        container = next((node for node in around if node.scrollable and scrolls_sideways(node) == sideways), None)
        if container is not None and self.has_device() and (subject := self._subject_at(container)).container:
            verbs = ("scroll_right", "scroll_left") if sideways else ("scroll_down", "scroll_up")
            self.console.dispatcher.act(verbs[(across if sideways else down) > 0], subject)
            return
        pictured = self.screen_pane.apart > FRESH_SECONDS
        doubts = ["The picture and the tree are of different moments"] if pictured else []
        self.console.dispatcher.swipe(message.start, message.end, doubts)

    def _ask(self, verb: str, node: UiNode | None) -> None:
        """Ask whether to run ``verb`` with the best selector of ``node``."""
        if node is not None and self.has_device():
            self.console.dispatcher.act(verb, self._subject_at(node))

    def _subject_at(self, node: UiNode) -> Subject:
        """Move the cursor to ``node``; return its best selector."""
        self.tree_pane.reveal_node(node)
        self.bench.clear()
        subject = self.subject()
        self.query_one("#bench", MatcherBench).draw()
        return subject
