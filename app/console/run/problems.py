"""The panes of mode 3: switching between them, and the way through the problems of the draft."""

from __future__ import annotations

from typing import Any, cast

from textual import on
from textual.widget import Widget

from clawperator.app.console.execution.dispatcher import ExecutionConsole
from clawperator.app.console.execution.draft_model import Problem
from clawperator.app.console.run.parts import marks
from clawperator.app.console.screens.base import ConsoleScreen
from clawperator.widgets.draft_steps import DraftSteps
from clawperator.widgets.json_area import JsonArea
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.status import Status
from clawperator.widgets.problem_list import ProblemList
from clawperator.widgets.tab_line import TabLine

VIEWS = ("list", "json", "problems", "timeline")
"""In the order of tab."""


class RunPanes(ConsoleScreen):
    """``view`` is the pane that has or had the focus last; ``before_run`` the one to return to from the last run.

    A hidden pane is shown when it gets the focus. Subclasses give ``settle``, which takes typed text.
    """

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

    # -- problems

    def settle(self) -> None:
        raise NotImplementedError

    @property
    def steps(self) -> DraftSteps:
        return self.query_one("#list", DraftSteps)

    @property
    def editor(self) -> JsonArea:
        return self.query_one("#json", JsonArea)

    @property
    def problems(self) -> ProblemList:
        return self.query_one("#problems", ProblemList)

    def action_problem(self, step: int) -> None:
        """Go to the next problem in the focused pane."""
        self.settle()
        _, problems = self.console.drafts.draft.check()
        if self.console.drafts.draft.empty or not self.problems.problems:
            self.console.say(Status.IDLE, "No problems")
        elif self.view == "json":
            self._next_mark(step)
        elif self.view == "list" and any(problem.step >= 0 for problem in problems):
            self.steps.to_problem(step)
        else:
            self.problems.action_attention(step)
            self.go_to("#problems")

    def _next_mark(self, step: int) -> None:
        here = self.editor.index_of(self.editor.cursor_location)
        places = sorted({mark.start for mark in marks(self.console.drafts.draft)})
        ahead = [place for place in places if (place - here) * step > 0]
        self.editor.to_index((ahead or places)[0 if step > 0 else -1])

    @on(LinePane.RowChosen, "#problems")
    def _open_problem(self) -> None:
        """Go to its place in the JSON."""
        found = marks(self.console.drafts.draft)
        if 0 <= self.problems.chosen < len(found):
            self.go_to("#json")
            self.editor.to_index(found[self.problems.chosen].start)

    def to_first_problem(self, problem: Problem) -> None:
        """Go to the first problem: in the steps, or in the text."""
        self.console.say(Status.FAILED, f"{problem.path or 'payload'}: {problem.message}")
        self.problems.choose(0)
        if self.view != "json" and problem.step >= 0:
            self.steps.move_to(problem.step)
        else:
            self.go_to("#json")
            self.editor.to_index(marks(self.console.drafts.draft)[0].start)
