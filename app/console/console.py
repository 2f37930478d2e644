"""What screens, dialogs and controllers use of the app. Features extend it with their own controllers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from textual.screen import Screen
from textual.worker import Worker

from clawperator.app.console.clipboard import Clipboard
from clawperator.app.console.console_engine import ConsoleEngine
from clawperator.app.console.navigation import Destination
from clawperator.app.console.session import Facet, Session
from clawperator.engine.guard import Guard
from clawperator.engine.hierarchy.nodes import UiTree
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.header import Chip, ModeTab
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.times import WallClock


class Console(Protocol):
    """The app, as everything below it knows it."""

    clock: WallClock
    session: Session
    engine: ConsoleEngine
    system_clipboard: Clipboard
    trees_in_use: Callable[[], Iterable[UiTree]]
    leaving_cancels: Callable[[], str]
    """Returns what leaving the console cancels, in words."""

    @property
    def symbols(self) -> Symbols:
        """The characters of signs and lines."""

    @property
    def guard(self) -> Guard:
        """The policy for files that the user names."""

    # -- messages

    def say(self, status: Status, text: str, code: str = "") -> None:
        """Show one notice."""

    def show(self, changed: Facet) -> None:
        """Redraw the parts that changed."""

    def why_not(self, action: str) -> str:
        """Return why ``action`` is unavailable; empty when it is available."""

    async def copy(self, text: str, what: str) -> None:
        """Copy ``text`` and show a notice about it."""

    # -- screens

    @property
    def screen(self) -> Screen[Any]:
        """The top screen."""

    def push_screen(self, screen: Screen[Any], callback: Callable[[Any], Any] | None = None) -> object:
        """Open a dialog; ``callback`` gets its answer."""

    def go_to(self, place: Destination) -> None:
        """Switch to the mode of ``place`` and show it there."""

    def action_mode(self, mode: str) -> None:
        """Switch to a mode."""

    def run_worker(
        self,
        work: Any,
        name: str | None = "",
        group: str = "default",
        *,
        exit_on_error: bool = True,
        exclusive: bool = False,
    ) -> Worker[Any]:
        """Run ``work`` as a task of the app."""

    def isolated(self, where: str) -> AbstractContextManager[None]:
        """Report an exception of a pane and go on."""

    # -- header

    def tabs(self) -> Sequence[ModeTab]:
        """The modes, for the header."""

    def chips(self, *, narrow: bool) -> Sequence[Chip]:
        """The chips of the header."""
