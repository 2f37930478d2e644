"""The actions of mode 1 on trees: take, step through, compare, filter."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Protocol, cast

from clawperator.app.console.execution.dispatcher import ExecutionConsole
from clawperator.app.console.inspect.matcher_actions import MatcherActionsScreen
from clawperator.app.console.inspect.mirror import Mirror
from clawperator.app.console.inspect.tree_area import TreeArea
from clawperator.app.console.screens.base import Menu
from clawperator.app.console.screens.menu import Choice, MenuDialog, ask
from clawperator.app.console.session import Facet
from clawperator.engine.hierarchy.blind import BlindSpot
from clawperator.engine.hierarchy.diff import compare
from clawperator.engine.hierarchy.nodes import UiTree
from clawperator.widgets import keys
from clawperator.widgets.models.snapshot import TreeSnapshot, unpack
from clawperator.widgets.models.status import Status
from clawperator.widgets.picture_view import Graphics


class TreeSource(Protocol):
    """Where trees and pictures of the device come from."""

    searching: bool
    """Whether new trees are prepared for the text search."""
    mirror: Mirror

    def painted(self, serial: int) -> None: ...
    def toggle_follow(self) -> None: ...
    def take_picture(self) -> bool: ...


class InspectConsole(ExecutionConsole, Protocol):
    """A console that shows trees."""

    graphics: Graphics | None
    pictures_possible: bool

    @property
    def bridge(self) -> TreeSource: ...
    def take_snapshot(self) -> bool: ...


class TreeActionsScreen(MatcherActionsScreen):
    """Subclasses have the tree pane."""

    @property
    def area(self) -> TreeArea:
        raise NotImplementedError

    @property
    def console(self) -> InspectConsole:
        return cast("InspectConsole", self.app)

    # -- trees

    def action_snapshot(self) -> bool:
        self.session.trees.back = 0
        return self.console.take_snapshot()

    def action_follow_screen(self) -> None:
        if self.has_device():
            self.console.bridge.toggle_follow()

    def action_older(self) -> None:
        self._step(1, "This is the first saved dump" if self.session.offline else "There is no older tree")

    def action_newer(self) -> None:
        self._step(-1, "This is the last saved dump" if self.session.offline else "This is the newest tree")

    def _step(self, towards_older: int, otherwise: str) -> None:
        if self.session.trees.step(towards_older):
            self.show(Facet.TREE)
        else:
            self.console.say(Status.IDLE, otherwise)

    def action_compare(self) -> None:
        """Choose an older tree to compare with; while comparing, show both sides again."""
        from clawperator.app.console.screens.dialogs import TreesDialog

        if self.tree_pane.model.compared is not None:
            self.run_worker(self._show_sides(), group="sides", exclusive=True, exit_on_error=True)
            return
        shown = self.tree_pane.snapshot
        others = [item for item in self.session.trees if item.readable and item.serial != shown.serial]
        if not shown or not others:
            self.console.say(Status.IDLE, "There is no other tree to compare with")
            return
        ask(self.console, TreesDialog(others), lambda old: self.run_worker(self._compare(old), exit_on_error=True))

    def action_blind_spots(self) -> None:
        """List what the shown tree cannot show; a chosen finding leads to its node."""
        from clawperator.app.console.screens.dialogs import BlindSpotsDialog

        spots = self.area.blind_spots()
        if not spots:
            self.console.say(Status.IDLE, "Nothing suggests that this tree is incomplete")
            return

        def chosen(spot: BlindSpot) -> None:
            if spot.node is not None:
                self.tree_pane.reveal_node(spot.node)
                self.show(Facet.TREE)

        ask(self.console, BlindSpotsDialog(spots), chosen)

    def trees_in_use(self) -> Iterator[UiTree]:
        """Yield the trees that panes of this mode use."""
        if not self.alive:
            return
        pane = self.tree_pane
        for tree in (pane.snapshot.tree, pane.model.compared.tree if pane.model.compared else None, self.bench.tree):
            if tree is not None:
                yield tree
        yield from pane.trees_marked
        yield from self.bench.recent

    async def _compare(self, old: TreeSnapshot) -> None:
        self.tree_pane.compare(await asyncio.to_thread(unpack, old) if old.packed else old)
        self.show(Facet.TREE)
        await self._show_sides()

    async def _show_sides(self) -> None:
        """Show both trees of the comparison side by side; the chosen change is shown in the tree."""
        from clawperator.app.console.screens.dialogs import TreeCompareDialog

        pane = self.tree_pane
        old, new = pane.model.compared, pane.snapshot
        if old is None or old.tree is None or new.tree is None:
            return
        pane.hold(True)  # the dialog is about this tree
        changes = await asyncio.to_thread(compare, old.tree, new.tree)
        if self.is_current:
            self.app.push_screen(TreeCompareDialog(old, new, changes), pane.reveal_change)
        else:
            pane.hold(False)

    async def _unpack(self, snapshot: TreeSnapshot) -> None:
        """Unpack a tree that the user went back to."""
        self.session.trees.put(await asyncio.to_thread(unpack, snapshot))
        self.show(Facet.TREE)

    def on_screen_suspend(self) -> None:
        """Keep the shown tree while a dialog is open: a newer one waits."""
        self.tree_pane.hold(True)

    def on_screen_resume(self) -> None:
        self.tree_pane.hold(False)

    def action_filter_menu(self) -> None:
        """Open the menu of filters; a node must pass all that are on."""
        self.app.push_screen(MenuDialog("show only", self._filter_choices()), self._filter)

    def own_menus(self) -> Iterator[Menu]:
        yield Menu("\\", "Show only", self._filter_choices(), self._filter)

    def _filter_choices(self) -> list[Choice]:
        chosen = self.tree_pane.model.filters
        sign = self.console.symbols.sign(Status.OK)
        return [
            Choice(
                item, f"{sign} {item.tooltip}" if item.id in chosen else item.tooltip, item.id != "none" or bool(chosen)
            )
            for item in keys.MENUS["filter"]
        ]

    def _filter(self, choice: str | None) -> None:
        if choice == "none":
            self.tree_pane.set_filters(frozenset())
        elif choice is not None:
            self.tree_pane.set_filters(self.tree_pane.model.filters ^ {choice})
