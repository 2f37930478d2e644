"""The screen pane of mode 1: map, picture or live mirror, and acting on its nodes with the mouse."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual import on
from textual.geometry import Offset

from clawperator.app.console.inspect.tree_actions import has_device
from clawperator.engine.hierarchy.traits import scrolls_sideways
from clawperator.widgets.bounds_map import ScreenView
from clawperator.widgets.models.status import Status
from clawperator.widgets.pane import Pane
from clawperator.widgets.picture import FRESH_SECONDS, ScreenPane

if TYPE_CHECKING:
    from clawperator.app.console.inspect.matcher_actions import MatcherActions
    from clawperator.app.console.inspect.tree_actions import InspectConsole
    from clawperator.app.console.screens.base import ConsoleScreen
    from clawperator.engine.hierarchy.nodes import UiNode
    from clawperator.widgets.ui_tree import UiTreePane

_PATIENCE_SECONDS = 5.0
"""For a tap to wait for a tree and a picture of the same moment."""


class PictureArea(Pane):
    """Draws the tree in ``view``. Only nodes are tapped and scrolled; a drag elsewhere is a swipe between two points."""

    def __init__(self, view: ScreenPane, tree_pane: UiTreePane, matcher_actions: MatcherActions) -> None:
        super().__init__("screen", view, id="screen-pane")
        self.view = view
        self._tree_pane = tree_pane
        self._matcher_actions = matcher_actions
        self._awaited_tap: tuple[Offset, float] | None = None
        """A place that was tapped before tree and picture were of the same moment, and when."""

    @property
    def screen(self) -> ConsoleScreen:
        return cast("ConsoleScreen", super().screen)

    @property
    def console(self) -> InspectConsole:
        return cast("InspectConsole", self.app)

    # -- picture and mirror

    def renew(self) -> None:
        """Take a new picture where one is shown."""
        if self.view.mode == "picture" and self.display:
            self.console.bridge.take_picture()

    def mirror(self) -> None:
        """Make the picture live while follow mode is on and the picture is shown."""
        session = self.console.session
        live = session.follow is not None and self.view.mode == "picture" and self.display
        self._set_live(live=live and self.screen.is_active)

    def stop_mirror(self) -> None:
        self._set_live(live=False)

    def _set_live(self, *, live: bool) -> None:
        self.view.live = live
        self.console.bridge.mirror.start(self.console.session.device_id if live else "")

    def show_picture(self) -> None:
        """Show the newest screenshot; the next one of the mirror follows when it is painted."""
        picture = self.console.session.picture
        if picture is not None:
            self.view.show_picture(picture)
            self.draw()
        self.call_after_refresh(lambda: self.console.bridge.mirror.painted(self.view.sent))

    def draw(self) -> None:
        """Draw tree, marks and the words of the pane."""
        tree, model = self._tree_pane, self._tree_pane.model
        hits = model.hits or model.matches
        first = model.matches[0] if model.matches and not model.hits else -1
        self.view.show(tree.snapshot, tree.node, hits, first)
        self.draw_ages()
        if self._awaited_tap is not None and self.view.apart <= FRESH_SECONDS:
            (place, at), self._awaited_tap = self._awaited_tap, None
            if self.console.clock.now() - at < _PATIENCE_SECONDS:
                self._tap_at(place)

    def draw_ages(self) -> None:
        """Draw what the pane shows and its age; a drawer has no lower edge."""
        words = self.view.words()
        self.note(words)
        self.badge(words.plain if self.screen.narrow and self.view.mode == "picture" else "")

    # -- acting on nodes

    @on(ScreenView.NodePicked)
    def _picked(self, message: ScreenView.NodePicked) -> None:
        self._tree_pane.reveal_node(message.node)

    @on(ScreenView.TapWanted)
    def _tap_wanted(self, message: ScreenView.TapWanted) -> None:
        if message.place is None:
            self._tap(self._tree_pane.node)
        elif self.view.apart > FRESH_SECONDS and has_device(self.console):
            self._awaited_tap = message.place, self.console.clock.now()
            self.console.say(Status.WAITING, "The picture and the tree are of different moments: reading both again")
            self.console.take_snapshot()
            self.console.bridge.take_picture()
        else:
            self._tap_at(message.place)

    def _tap_at(self, place: Offset) -> None:
        nodes = self.view.nodes_at(place)
        self._tap(nodes[0] if nodes else None)

    def _tap(self, node: UiNode | None) -> None:
        """Ask whether to tap ``node`` by its best selector."""
        if node is not None and has_device(self.console):
            self.console.dispatcher.act("tap", self._matcher_actions.subject_at(node))

    @on(ScreenView.SwipeWanted)
    def _swipe_wanted(self, message: ScreenView.SwipeWanted) -> None:
        """Scroll the container that scrolls along the drag, if a selector finds it; send every other drag as it is."""
        nodes = self.view.nodes_at(message.place)
        across, down = (end - start for start, end in zip(message.start, message.end, strict=True))
        sideways = abs(across) > abs(down)
        around = [nodes[0], *nodes[0].ancestors] if nodes else []
        container = next((node for node in around if node.scrollable and scrolls_sideways(node) == sideways), None)
        if container is not None and has_device(self.console):
            subject = self._matcher_actions.subject_at(container)
            if subject.container:
                verbs = ("scroll_right", "scroll_left") if sideways else ("scroll_down", "scroll_up")
                self.console.dispatcher.act(verbs[(across if sideways else down) > 0], subject)
                return
        pictured = self.view.apart > FRESH_SECONDS
        doubts = ["The picture and the tree are of different moments"] if pictured else []
        self.console.dispatcher.swipe(message.start, message.end, doubts)
