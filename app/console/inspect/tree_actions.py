"""The keys of mode 1 for trees: take, follow, step through, compare, filter."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Protocol, cast

from clawperator.app.console.console import Console
from clawperator.app.console.empty_states import NO_DEVICE_HERE
from clawperator.app.console.execution.dispatcher import ExecutionConsole
from clawperator.app.console.inspect.mirror import Mirror
from clawperator.app.console.inspect.tree_area import TreeArea
from clawperator.app.console.screens.base import ConsoleScreen, Menu
from clawperator.app.console.screens.menu import Choice, MenuDialog, ask
from clawperator.app.console.session import Facet
from clawperator.engine.hierarchy.blind import BlindSpot
from clawperator.engine.hierarchy.diff import compare
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


def has_device(console: Console) -> bool:
    """Return whether there is a device to act on; show a notice where there is none."""
    session = console.session
    if not session.device_id:
        words = NO_DEVICE_HERE if session.offline else "No device is selected. 7 lists the devices, D chooses one"
        console.say(Status.WARN, words)
    return bool(session.device_id)


class TreeActions:
    """``area`` shows the trees in ``screen``."""

    def __init__(self, screen: ConsoleScreen, area: TreeArea) -> None:
        self._screen = screen
        self.area = area
        self._pane = area.tree_pane

    @property
    def _console(self) -> InspectConsole:
        return cast("InspectConsole", self._screen.app)

    def action_snapshot(self) -> bool:
        """Request a new tree; return whether it comes."""
        self._screen.session.trees.back = 0
        return self._console.take_snapshot()

    def action_follow_screen(self) -> None:
        if has_device(self._console):
            self._console.bridge.toggle_follow()

    def action_older(self) -> None:
        self._step(1, "This is the first saved dump" if self._screen.session.offline else "There is no older tree")

    def action_newer(self) -> None:
        self._step(-1, "This is the last saved dump" if self._screen.session.offline else "This is the newest tree")

    def _step(self, towards_older: int, otherwise: str) -> None:
        if self._screen.session.trees.step(towards_older):
            self._screen.show(Facet.TREE)
        else:
            self._console.say(Status.IDLE, otherwise)

    def action_compare(self) -> None:
        """Choose an older tree to compare with; while comparing, show both sides again."""
        from clawperator.app.console.screens.dialogs import TreesDialog

        if self._pane.model.compared is not None:
            self._screen.run_worker(self._show_sides(), group="sides", exclusive=True, exit_on_error=True)
            return
        shown = self._pane.snapshot
        others = [item for item in self._screen.session.trees if item.readable and item.serial != shown.serial]
        if not shown or not others:
            self._console.say(Status.IDLE, "There is no other tree to compare with")
            return
        ask(
            self._console,
            TreesDialog(others),
            lambda old: self._screen.run_worker(self._compare(old), exit_on_error=True),
        )

    def action_match(self, step: int) -> None:
        self._pane.walk_matches(step)

    def action_blind_spots(self) -> None:
        """List what the shown tree cannot show; a chosen finding leads to its node."""
        from clawperator.app.console.screens.dialogs import BlindSpotsDialog

        spots = self.area.blind_spots()
        if not spots:
            self._console.say(Status.IDLE, "Nothing suggests that this tree is incomplete")
            return

        def chosen(spot: BlindSpot) -> None:
            if spot.node is not None:
                self._pane.reveal_node(spot.node)
                self._screen.show(Facet.TREE)

        ask(self._console, BlindSpotsDialog(spots), chosen)

    async def _compare(self, old: TreeSnapshot) -> None:
        self._pane.compare(await asyncio.to_thread(unpack, old) if old.packed else old)
        self._screen.show(Facet.TREE)
        await self._show_sides()

    async def _show_sides(self) -> None:
        """Show both trees of the comparison side by side; the chosen change is shown in the tree."""
        from clawperator.app.console.screens.dialogs import TreeCompareDialog

        pane = self._pane
        old, new = pane.model.compared, pane.snapshot
        if old is None or old.tree is None or new.tree is None:
            return
        pane.hold(True)  # the dialog is about this tree
        changes = await asyncio.to_thread(compare, old.tree, new.tree)
        if self._screen.is_current:
            self._console.push_screen(TreeCompareDialog(old, new, changes), pane.reveal_change)
        else:
            pane.hold(False)

    async def unpack(self, snapshot: TreeSnapshot) -> None:
        """Unpack a tree that the user went back to, and show it."""
        self._screen.session.trees.put(await asyncio.to_thread(unpack, snapshot))
        self._screen.show(Facet.TREE)

    def action_filter_menu(self) -> None:
        """Open the menu of filters; a node must pass all that are on."""
        self._console.push_screen(MenuDialog("show only", self._filter_choices()), self._filter)

    def menus(self) -> Iterator[Menu]:
        yield Menu("\\", "Show only", self._filter_choices(), self._filter)

    def _filter_choices(self) -> list[Choice]:
        chosen = self._pane.model.filters
        sign = self._console.symbols.sign(Status.OK)
        return [
            Choice(
                item, f"{sign} {item.tooltip}" if item.id in chosen else item.tooltip, item.id != "none" or bool(chosen)
            )
            for item in keys.MENUS["filter"]
        ]

    def _filter(self, choice: str | None) -> None:
        if choice == "none":
            self._pane.set_filters(frozenset())
        elif choice is not None:
            self._pane.set_filters(self._pane.model.filters ^ {choice})
