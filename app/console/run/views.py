"""The panes of mode 3 and the way from one to the next: what there is no room for is shown when it gets the focus."""

from __future__ import annotations

from typing import Any

from textual import on
from textual.widget import Widget

from clawperator.app.console.screens.base import ConsoleScreen
from clawperator.widgets.tab_line import TabLine

VIEWS = ("list", "json", "problems", "timeline")
"""In the order of tab."""


class RunViews(ConsoleScreen):
    """``view`` is the pane that has or had the focus last; ``before_run`` the one to come back to from the timeline."""

    view = "list"
    before_run = "list"

    def show_tabs(self) -> None:
        """Name the views, where only one of them is shown."""
        raise NotImplementedError

    def on_descendant_focus(self) -> None:
        """Whatever gets the focus is looked at."""
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
        """To the next pane or the one before."""
        self.go_to(f"#{VIEWS[(VIEWS.index(self.view) + step) % len(VIEWS)]}")

    def focus_next(self, selector: Any = "*") -> Widget | None:  # noqa: ARG002  # the screen\'s own
        self.turn(1)
        return self.focused

    def focus_previous(self, selector: Any = "*") -> Widget | None:  # noqa: ARG002  # the screen\'s own
        self.turn(-1)
        return self.focused

    def close_drawers(self) -> bool:
        """Escape leads back to the steps; from the timeline to where the run was begun."""
        if self.view == "list":
            return False
        self.go_to(f"#{self.before_run if self.view == 'timeline' else 'list'}")
        self.before_run = "list"
        return True

    @on(TabLine.Chosen)
    def _tab_chosen(self, message: TabLine.Chosen) -> None:
        self.go_to(f"#{message.tab}")
