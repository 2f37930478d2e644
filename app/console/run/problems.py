"""Navigation through the problems of the draft: steps, text, list of problems."""

from __future__ import annotations

from textual import on

from clawperator.app.console.execution.draft_model import Problem
from clawperator.app.console.run.parts import marks
from clawperator.app.console.run.views import RunViews
from clawperator.widgets.draft_steps import DraftSteps
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.status import Status
from clawperator.widgets.payload_editor import PayloadEditor
from clawperator.widgets.problem_list import ProblemList


class RunProblems(RunViews):
    """Subclasses give ``settle``, which takes typed text."""

    def settle(self) -> None:
        raise NotImplementedError

    @property
    def steps(self) -> DraftSteps:
        return self.query_one("#list", DraftSteps)

    @property
    def editor(self) -> PayloadEditor:
        return self.query_one("#json", PayloadEditor)

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
