"""The panes of mode 3, and switching between them: a hidden pane is shown when it gets the focus."""

from __future__ import annotations

from typing import Any, cast

from textual import on
from textual.widget import Widget

from clawperator.app.console.execution.dispatcher import ExecutionConsole
from clawperator.app.console.screens.base import ConsoleScreen
from clawperator.widgets.tab_line import TabLine

VIEWS = ("list", "json", "problems", "timeline")
"""In the order of tab."""


class RunViews(ConsoleScreen):
    """``view`` is the pane that has or had the focus last; ``before_run`` the one to return to from the last run."""

    view = "list"
    before_run = "list"

    @property
    def console(self) -> ExecutionConsole:
        return cast("ExecutionConsole", self.app)

    def show_tabs(self) -> None:
        """Draw the names of the views, where only one is shown."""
        raise NotImplementedError

    def on_descendant_focus(self) -> None:
        """Show the focused view."""
        here = self.focused.id if self.focused is not None else None
        if here in VIEWS:
            self._show_view(str(here))

    def _show_view(self, view: str) -> None:
        self.view = view
        box = self.query_one("#run")
        for each in VIEWS:
            box.set_class(each == view, f"-at-{each}")
        if view in ("list", "json"):
            box.set_class(view == "json", "-json")
        self.show_tabs()

    def go_to(self, selector: str) -> None:
        self._show_view(selector.removeprefix("#"))
        super().go_to(selector)

    def turn(self, step: int) -> None:
        """Go to the next or previous pane."""
        self.go_to(f"#{VIEWS[(VIEWS.index(self.view) + step) % len(VIEWS)]}")

    def focus_next(self, selector: Any = "*") -> Widget | None:  # noqa: ARG002  # the screen\'s own
        self.turn(1)
        return self.focused

    def focus_previous(self, selector: Any = "*") -> Widget | None:  # noqa: ARG002  # the screen\'s own
        self.turn(-1)
        return self.focused

    def close_drawers(self) -> bool:
        """Return to the steps; from the last run to the pane that started the run."""
        if self.view == "list":
            return False
        self.go_to(f"#{self.before_run if self.view == 'timeline' else 'list'}")
        self.before_run = "list"
        return True

    @on(TabLine.Chosen)
    def _tab_chosen(self, message: TabLine.Chosen) -> None:
        self.go_to(f"#{message.tab}")
