"""The panes of mode 3: the draft as steps and as JSON, its problems, and its last run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from textual import on
from textual.containers import Container

from clawperator.app.console.execution.dispatcher import ExecutionConsole
from clawperator.app.console.execution.draft import DraftKeeper
from clawperator.app.console.execution.draft_model import Problem
from clawperator.app.console.execution.outcome import busy
from clawperator.app.console.navigation import ExecutionPlace
from clawperator.app.console.run.draft_view import (
    complaints,
    marks,
    matches,
    next_keys,
    step_view,
    tabs,
    was_busy,
)
from clawperator.widgets.draft_steps import DraftSteps
from clawperator.widgets.format.lines import Line
from clawperator.widgets.json_area import JsonArea
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.failed_matcher import matcher_of
from clawperator.widgets.models.status import Status
from clawperator.widgets.pane import Pane
from clawperator.widgets.problem_list import ProblemList
from clawperator.widgets.run_timeline import LastRun
from clawperator.widgets.tab_line import TabLine

VIEWS = ("list", "json", "problems", "timeline")
"""In the order of tab."""


class DraftArea(Container):
    """``view`` is the pane that has or had the focus last. A hidden pane is shown when it gets the focus.

    ``tab_line`` has the names of the views, where only one is shown. ``go_to`` focuses a pane, ``onward`` the next one.
    """

    def __init__(self, tab_line: TabLine, *, go_to: Callable[[str], object], onward: Callable[[int], object]) -> None:
        self.steps = DraftSteps(id="list")
        self.editor = JsonArea(self._written, leave=self._to_step, onward=onward, id="json")
        self.problems = ProblemList(id="problems")
        self._timeline = LastRun(id="timeline")
        self._steps_pane = Pane("steps", self.steps, id="list-pane")
        self._json_pane = Pane("JSON", self.editor, id="json-pane")
        others = (
            Pane("problems", self.problems, id="problems-pane"),
            Pane("last run", self._timeline, id="timeline-pane"),
        )
        super().__init__(self._steps_pane, self._json_pane, *others, id="run", classes="-at-list")
        self._tab_line = tab_line
        self.go_to = go_to
        self.view = "list"
        self._counted: tuple[int, dict[str, int]] = (-1, {})

    @property
    def console(self) -> ExecutionConsole:
        return cast("ExecutionConsole", self.app)

    @property
    def keeper(self) -> DraftKeeper:
        return self.console.drafts

    # -- views

    def on_descendant_focus(self) -> None:
        """Show the focused view."""
        here = self.screen.focused.id if self.screen.focused is not None else None
        if here in VIEWS:
            self.show_view(str(here))

    def on_descendant_blur(self) -> None:
        self.keeper.draft.rest()

    def show_view(self, view: str) -> None:
        self.view = view
        for each in VIEWS:
            self.set_class(each == view, f"-at-{each}")
        if view in ("list", "json"):
            self.set_class(view == "json", "-json")
        self._show_tabs()

    def _show_tabs(self) -> None:
        shown = tabs(self.keeper.draft, self.problems.problems, self.last_run, self.console.symbols)
        self._tab_line.show_tabs(shown, self.view)

    # -- drawing

    def draw_draft(self) -> None:
        draft = self.keeper.draft
        validated, problems = draft.check()
        if not self.editor.restless:
            self.editor.show("" if draft.empty else draft.text)
            self.editor.mark(next(iter(marks(draft)), None) if not draft.empty else None)
        words = "No problems." if not draft.empty else "Nothing to check yet.\n\ni adds a step, e writes JSON."
        self.problems.show(() if draft.empty else complaints(validated, problems), words)
        self.draw_steps(problems)
        self._show_place()

    def draw_steps(self, problems: Sequence[Problem]) -> None:
        draft, steps = self.keeper.draft, self.steps
        words = f"The JSON has no steps: {draft.unreadable}.\n\n{self.console.symbols.tab} shows the JSON."
        steps.empty_text = words if draft.unreadable else steps.EMPTY
        first = {problem.step: problem.message for problem in reversed(problems)}
        run = self.last_run if self.keeper.ran else None
        results = {step.id: step for step in run.steps} if run is not None else {}
        steps.show(
            [
                step_view(step, first.get(index, ""), matches, results.get(str(step.get("id"))))
                for index, (step, matches) in enumerate(zip(draft.steps, self._counts(), strict=True))
            ]
        )

    def _counts(self) -> list[int]:
        """Return how many nodes of the shown tree each step finds, cached per tree and matcher."""
        snapshot = self.console.session.trees.shown
        if self._counted[0] != snapshot.serial:
            self._counted = snapshot.serial, {}
        known, found = self._counted[1], []
        for fields in map(matcher_of, self.keeper.draft.steps):
            key = repr(fields)
            if key not in known:
                known[key] = matches(snapshot.tree, fields)
            found.append(known[key])
        return found

    @on(LinePane.CursorMoved, "#list")
    @on(JsonArea.CursorMoved)
    def _show_place(self) -> None:
        """Show ``3 of 12`` at the steps; line and column at the JSON."""
        count = self.steps.row_count()
        self._steps_pane.note(Line().add(f"{self.steps.cursor + 1:,} of {count:,}" if count else ""))
        row, column = self.editor.cursor_location
        self._json_pane.note(Line().add(f"line {row + 1:,}, column {column + 1:,}"))

    # -- the last run

    def draw_run(self) -> None:
        """Draw the draft's last run, and the tabs, which show its status."""
        execution, session = self.last_run, self.console.session
        words = f"{busy(self._conflict, execution.ended)}." if execution is not None and self._conflict else ""
        self._timeline.show_run(execution, next_keys(execution, free=not session.lock), words)
        if execution is not None and execution.status is Status.FAILED:
            self._timeline.show_screen(session.trees.nearest(execution.ended))
        self._show_tabs()

    @property
    def last_run(self) -> ExecutionState | None:
        keeper = self.keeper
        return self.console.session.log.find(keeper.last_run, after=keeper.last_after) if keeper.last_run else None

    @property
    def _conflict(self) -> Mapping[str, Any]:
        """Return the conflict that refused the last run; empty where there was none."""
        details = self.console.dispatcher.refusal_details
        return details if was_busy(self.last_run) and details.get("commandId", "") in ("", self.keeper.last_run) else {}

    @on(LinePane.RowChosen, "#timeline")
    def _watch_run(self) -> None:
        command = self._conflict.get("inFlightCommandId") or self._conflict.get("settlingAfter") or self.keeper.last_run
        if command:
            self.console.go_to(ExecutionPlace(str(command)))

    # -- JSON

    def _written(self, text: str) -> None:
        """Make the text the draft, after typing."""
        if self.keeper.draft.empty and not text.strip():
            return
        if not self.keeper.write(text):
            self.draw_draft()

    def _to_step(self) -> None:
        """Return to the step that the editor's cursor is in."""
        self.editor.settle()
        here = self.editor.index_of(self.editor.cursor_location)
        spans = self.keeper.draft.reading.values
        for index in range(len(self.keeper.draft)):
            span = spans.get(("actions", index))
            if span is not None and span.start <= here <= span.end:
                self.steps.move_to(index)
        self.go_to("#list")

    @on(JsonArea.CopyWanted)
    async def _copy_selected(self, message: JsonArea.CopyWanted) -> None:
        await self.console.copy(message.text, "the selection")

    # -- problems

    def to_problem(self, step: int) -> None:
        """Go to the next problem in the focused pane."""
        self.editor.settle()
        _, problems = self.keeper.draft.check()
        if self.keeper.draft.empty or not self.problems.problems:
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
        places = sorted({mark.start for mark in marks(self.keeper.draft)})
        ahead = [place for place in places if (place - here) * step > 0]
        self.editor.to_index((ahead or places)[0 if step > 0 else -1])

    @on(LinePane.RowChosen, "#problems")
    def _open_problem(self) -> None:
        """Go to its place in the JSON."""
        if 0 <= self.problems.chosen < len(marks(self.keeper.draft)):
            self._to_mark(self.problems.chosen)

    def _to_mark(self, index: int) -> None:
        self.go_to("#json")
        self.editor.to_index(marks(self.keeper.draft)[index].start)

    def to_first_problem(self, problem: Problem) -> None:
        """Go to the first problem: in the steps, or in the text."""
        self.console.say(Status.FAILED, f"{problem.path or 'payload'}: {problem.message}")
        self.problems.choose(0)
        if self.view != "json" and problem.step >= 0:
            self.steps.move_to(problem.step)
        else:
            self._to_mark(0)
