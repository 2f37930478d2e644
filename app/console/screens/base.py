"""Base of all modes: header, body, notices, key bar; panes, zoom, drawers; the copy and go menus."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, cast

from textual import on
from textual.app import ComposeResult
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea
from textual.worker import Worker

from clawperator.app.console.console import Console
from clawperator.app.console.copyable import Copyable
from clawperator.app.console.navigation import Destination
from clawperator.app.console.screens.menu import Choice, MenuDialog, RefocusingScreen
from clawperator.app.console.screens.pane_splits import PaneSplits
from clawperator.app.console.session import Facet, Session
from clawperator.widgets import keys
from clawperator.widgets.header import HeaderLine
from clawperator.widgets.key_bar import KeyBar, hints
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice, NoticeLine
from clawperator.widgets.pane import Pane

MIN_WIDTH, MIN_HEIGHT = 60, 16
_COPY_SECONDS = 0.3
"""A copy that takes longer says that it is being made."""


class Menu(NamedTuple):
    """A prefix key, its menu's name, the current entries, and what choosing one does."""

    prefix: str
    name: str
    choices: Sequence[Choice]
    choose: Callable[[str | None], object]


class ConsoleScreen(RefocusingScreen, inherit_bindings=False):
    """One mode. Subclasses give ``compose_body``, ``draw``, ``copyable`` and ``PLACES``."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("screen")]
    AUTO_FOCUS: ClassVar[str | None] = ""  # ``MAIN`` may not be composed yet

    def __init__(self) -> None:
        super().__init__()
        self.shares = PaneSplits(self)
        self._copying: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        yield HeaderLine()
        yield from self.compose_body()
        yield NoticeLine()
        yield KeyBar()
        yield Static("", id="too-small", markup=False)

    def compose_body(self) -> ComposeResult:
        raise NotImplementedError

    @property
    def console(self) -> Console:
        return cast("Console", self.app)

    @property
    def session(self) -> Session:
        return self.console.session

    def on_mount(self) -> None:
        self.bindings_updated_signal.subscribe(self, lambda _: self.call_after_refresh(self._show_keys))
        if self.MAIN:
            self.set_focus(self.query_one(self.MAIN))

    def on_screen_resume(self) -> None:
        self.redraw()

    def redraw(self) -> None:
        """Draw everything again."""
        self.show(Facet.EVERYTHING)
        self._show_keys()

    def on_resize(self) -> None:
        self._say_too_small()
        self.call_after_refresh(self.shares.apply)
        self.call_after_refresh(self.show, Facet.EVERYTHING)

    def _say_too_small(self) -> None:
        width, height = self.size
        if width < MIN_WIDTH or height < MIN_HEIGHT:
            words = f"{width}×{height} is too small – needs {MIN_WIDTH}×{MIN_HEIGHT}"
            cancels = self.console.leaving_cancels()
            self.query_one("#too-small", Static).update(f"{words}\n\nq leaves. {cancels}" if cancels else words)

    @property
    def narrow(self) -> bool:
        return self.size.width < 100

    # -- drawing

    def show(self, changed: Facet) -> None:
        """Draw the parts that changed. Called for the current mode only."""
        if not self.alive:
            return
        if changed != Facet.STREAM:  # the log rate is shown once a second
            self.show_header()
        if changed & (Facet.NOTICE | Facet.WORK):
            self._show_notice()
        with self.console.isolated(f"{type(self).__name__}.draw"):
            self.draw(changed)

    def draw(self, changed: Facet) -> None:
        """Draw the body's panes."""
        raise NotImplementedError

    @property
    def alive(self) -> bool:
        """Whether there is something to draw on: updates arrive while the screen is composed, and while it is removed."""
        return self.is_mounted and self.is_running and self.app.is_running and bool(self.query(HeaderLine))

    def tick(self) -> None:
        """Draw ages again, once a second."""
        if not self.alive:
            return
        self._say_too_small()
        self.show_header()
        self._show_notice()
        with self.console.isolated(f"{type(self).__name__}.draw_ages"):
            self.draw_ages()

    def draw_ages(self) -> None:
        """Draw what changes with time."""

    def show_header(self) -> None:
        self.query_one(HeaderLine).show(self.console.tabs(), self.console.chips(narrow=self.narrow))

    def _show_notice(self) -> None:
        session = self.session
        notice = session.last_notice
        if session.work:
            waited = session.clock.now() - session.work_since
            notice = Notice(Status.RUNNING, f"{session.work} {waited:.1f} s" if waited >= 0.3 else session.work)
        self.query_one(NoticeLine).show(notice)

    def _show_keys(self) -> None:
        if self.is_current or self.is_active:
            typing = isinstance(self.focused, (Input, TextArea))
            self.query_one(KeyBar).show(hints(self.active_bindings, self.console.symbols, typing=typing))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Dim unavailable keys; pressed, they show the reason (``ConsoleApp.on_key``)."""
        return None if self.console.why_not(action) else super().check_action(action, parameters)

    def would_send(self, action: str) -> Mapping[str, Any] | None:  # noqa: ARG002  # the modes know their own
        """Return what an acting key would send; empty where that is not known yet, ``None`` where it sends nothing."""
        return None

    # -- navigation

    def arrive(self, place: Destination) -> None:
        """Show a place of this mode."""

    def renew_picture(self) -> None:
        """Take a new picture of the device's screen where one is shown."""

    # -- panes

    def focused_pane(self) -> Pane | None:
        """Return the focused pane."""
        return (
            next((node for node in self.focused.ancestors_with_self if isinstance(node, Pane)), None)
            if self.focused
            else None
        )

    def go_to(self, selector: str) -> None:
        """Focus a pane's widget; open its drawer or leave the zoom where it is hidden."""
        target = self.query_one(selector)
        pane = next((node for node in target.ancestors_with_self if isinstance(node, Pane)), None)
        if self.has_class("-zoomed"):
            self._unzoom()
        if self.narrow:
            self.open_drawer(pane)
        self.set_focus(target)

    def open_drawer(self, pane: Pane | None) -> None:
        """Show a pane that small screens hide; nothing in modes without drawers."""

    def close_drawers(self) -> bool:
        """Hide open drawers; return whether there were any."""
        return False

    def action_zoom(self) -> None:
        if self.has_class("-zoomed"):
            self._unzoom()
            return
        pane = self.focused_pane()
        if pane is None:
            return
        for node in pane.ancestors_with_self:
            if node is self:
                break
            node.add_class("-zoom")
        self.add_class("-zoomed")

    def _unzoom(self) -> None:
        self.remove_class("-zoomed")
        for node in self.query(".-zoom"):
            node.remove_class("-zoom")

    def action_share(self, steps: int) -> None:
        """Enlarge or shrink the focused pane, where it has a neighbour."""
        pane = self.focused_pane()
        if pane is None or self.has_class("-zoomed") or not self.shares.change(pane, steps):
            self.console.say(Status.IDLE, "This pane uses the full width. z restores its neighbours")

    @on(Pane.BorderTaken)
    def _border_taken(self, message: Pane.BorderTaken) -> None:
        self.shares.take(message.edge)

    @on(Pane.BorderDragged)
    def _border_dragged(self, message: Pane.BorderDragged) -> None:
        self.shares.drag(message.cells)

    def action_escape(self) -> None:
        """Cancel a copy that is being made, else leave the zoom, else close a drawer, else clear the focused pane."""
        if self._stop_copying():
            return
        if self.has_class("-zoomed"):
            self._unzoom()
        elif not self.close_drawers():
            self.clear_pane()

    def clear_pane(self) -> None:
        """Clear find, filter or marks of the focused pane."""

    # -- menus

    def menus(self) -> Iterator[Menu]:
        """Yield the prefix menus with their current entries."""
        yield Menu("y", "Copy", self._copy_choices(), self._copy)
        yield Menu("g", "Go to", self._go_choices(), self._go)

    def action_copy_menu(self) -> None:
        self.app.push_screen(MenuDialog("copy", self._copy_choices()), self._copy)

    def _copy_choices(self) -> list[Choice]:
        things = self.copyable()
        return [
            Choice(item, thing.refused or thing.text or thing.what, not thing.refused)
            if thing
            else Choice(item, "", False)
            for item in keys.MENUS["copy"]
            for thing in [things.get(item.id)]
            if item.id in things or item.id in self.COPY_SHOWN
        ]

    @on(LinePane.MenuWanted)
    def _menu_wanted(self) -> None:
        self.action_copy_menu()

    COPY_SHOWN: ClassVar[tuple[str, ...]] = ()
    """Entries of the copy menu that are shown even when there is nothing to copy."""

    def copyable(self) -> dict[str, Copyable]:
        """Return what can be copied now, by the ids of the menu's entries."""
        problem = self.session.last_problem
        if problem is None:
            return {}
        return {"notice": Copyable("the notice", f"{problem.code}: {problem.text}")}

    def _copy(self, choice: str | None) -> None:
        thing = self.copyable().get(choice or "")
        if thing is not None:
            self._copying = self.run_worker(self._copy_made(thing), group="copy", exclusive=True, exit_on_error=True)

    async def _copy_made(self, thing: Copyable) -> None:
        text = thing.text
        if thing.make is not None:
            making = asyncio.create_task(asyncio.to_thread(thing.make))
            if not (await asyncio.wait({making}, timeout=_COPY_SECONDS))[0]:
                self.console.say(Status.RUNNING, f"Copying {thing.what}… esc cancels")
            text = await making
        await self.console.copy(text, thing.what)

    def _stop_copying(self) -> bool:
        """Cancel the copy that is being made; return whether there is one."""
        if self._copying is None or not self._copying.is_running:
            return False
        self._copying.cancel()
        self.console.say(Status.SKIPPED, "The copy was cancelled. The clipboard is unchanged")
        return True

    GO: ClassVar[str] = "go"
    """The menu behind ``g``."""
    PLACES: ClassVar[Mapping[str, str]] = {}
    """Its targets in this mode: entry id → selector."""

    def action_go_menu(self) -> None:
        self.app.push_screen(MenuDialog("go to", self._go_choices()), self._go)

    def _go_choices(self) -> list[Choice]:
        known = {*self.PLACES, "top"}
        return [Choice(item, item.tooltip, True) for item in keys.MENUS[self.GO] if item.id in known]

    def _go(self, choice: str | None) -> None:
        if choice == "top" and isinstance(self.focused, LinePane):
            self.focused.action_top()
        elif choice is not None and choice in self.PLACES:
            self.go_to(self.PLACES[choice])

    def focused_within(self, selector: str) -> bool:
        """Return whether the focus is in a widget."""
        widget: Widget = self.query_one(selector)
        return self.focused is not None and widget in self.focused.ancestors_with_self
