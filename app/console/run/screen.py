"""Mode 3: the draft as steps and as JSON, its problems, and its run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container

from clawperator.app.console.copyable import Copyable
from clawperator.app.console.execution.draft_model import Problem
from clawperator.app.console.execution.outcome import busy
from clawperator.app.console.navigation import ComparisonPlace, Destination, DraftPlace, ExecutionPlace
from clawperator.app.console.run.as_sent import AsSentDialog
from clawperator.app.console.run.draft_files import DraftFilesScreen
from clawperator.app.console.run.parts import (
    complaints,
    marks,
    matches,
    next_keys,
    step_view,
    summary_row,
    tabs,
    values_seen,
    was_busy,
)
from clawperator.app.console.run.step_changes import StepChanges
from clawperator.app.console.session import Facet
from clawperator.engine.executions import snippets
from clawperator.engine.recordings.recipe_draft import step_block
from clawperator.widgets import keys
from clawperator.widgets.draft_steps import DraftSteps
from clawperator.widgets.format.lines import Line
from clawperator.widgets.info_line import InfoLine
from clawperator.widgets.json_area import JsonArea
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.failed_matcher import matcher_of
from clawperator.widgets.models.status import Status
from clawperator.widgets.pane import Pane
from clawperator.widgets.problem_list import ProblemList
from clawperator.widgets.run_timeline import LastRun
from clawperator.widgets.tab_line import TabLine


class RunScreen(StepChanges, DraftFilesScreen):
    """Steps, JSON, problems and the last run; one of them on small screens."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("run")]
    MAIN = "#list"
    COPY_SHOWN: ClassVar[tuple[str, ...]] = ("matcher", "json", "command", "step", "execution", "python")
    PLACES: ClassVar[dict[str, str]] = {
        "steps": "#list",
        "json": "#json",
        "problems": "#problems",
        "timeline": "#timeline",
    }

    def compose_body(self) -> ComposeResult:
        yield TabLine(id="views")
        with Container(id="run", classes="-at-list"):
            yield Pane("steps", DraftSteps(id="list"), id="list-pane")
            editor = JsonArea(self._written, leave=self._to_step, onward=self.turn, seen=self._seen, id="json")
            yield Pane("JSON", editor, id="json-pane")
            yield Pane("problems", ProblemList(id="problems"), id="problems-pane")
            yield Pane("last run", LastRun(id="timeline"), id="timeline-pane")
        yield InfoLine(id="summary")

    def arrive(self, place: Destination) -> None:
        if isinstance(place, DraftPlace) and place.run:
            self.action_run_draft()

    # -- drawing

    def draw(self, changed: Facet) -> None:
        if changed & ~(Facet.STREAM | Facet.NOTICE | Facet.WORK | Facet.LOCKS):
            self._draw_draft()
        elif changed & Facet.STREAM and self.keeper.ran:
            self._draw_steps(self.keeper.draft.check()[1])
        if changed & (Facet.WORK | Facet.STREAM) or (changed & Facet.DRAFT and self.session.read_only):
            self.refresh_bindings()
        self._draw_run()
        self.show_tabs()
        if self.keeper.conflict:
            self.ask_which_draft()

    def draw_ages(self) -> None:
        self._draw_run()
        self.show_tabs()

    def _draw_draft(self) -> None:
        draft = self.keeper.draft
        validated, problems = draft.check()
        if not self.editor.restless:
            self.editor.show("" if draft.empty else draft.text)
            self.editor.mark(() if draft.empty else marks(draft))
        words = "No problems." if not draft.empty else "Nothing to check yet.\n\ni adds a step, e writes JSON."
        self.problems.show(() if draft.empty else complaints(validated, problems), words)
        self._draw_steps(problems)
        self._draw_summary()
        self._show_place()

    def _draw_steps(self, problems: Sequence[Problem]) -> None:
        draft, steps = self.keeper.draft, self.steps
        steps.empty_text = steps.EMPTY
        if draft.unreadable:
            steps.empty_text = (
                f"The JSON has no steps: {draft.unreadable}.\n\n{self.console.symbols.tab} shows the JSON."
            )
        first = {problem.step: problem.message for problem in reversed(problems)}
        run = self.session.log.find(self.keeper.ran) if self.keeper.ran else None
        results = {step.id: step for step in run.steps} if run is not None else {}
        steps.show(
            [
                step_view(step, first.get(index, ""), matches, results.get(str(step.get("id"))))
                for index, (step, matches) in enumerate(zip(draft.steps, self._counts(), strict=True))
            ]
        )

    def _counts(self) -> list[int]:
        """Return how many nodes of the shown tree each step finds, cached per tree and matcher."""
        snapshot = self.session.trees.shown
        if self._counted[0] != snapshot.serial:
            self._counted = snapshot.serial, {}
        known, found = self._counted[1], []
        for fields in map(matcher_of, self.keeper.draft.steps):
            key = repr(fields)
            if key not in known:
                known[key] = matches(snapshot.tree, fields)
            found.append(known[key])
        return found

    _counted: tuple[int, dict[str, int]] = (-1, {})

    def _draw_run(self) -> None:
        """Draw the draft's last run."""
        execution = self._last_run()
        free = not self.session.lock
        words = f"{busy(self._conflict, execution.ended)}." if execution is not None and self._conflict else ""
        pane = self.query_one("#timeline", LastRun)
        pane.show_run(execution, next_keys(execution, free=free), words)
        if execution is not None and execution.status is Status.FAILED:
            pane.show_screen(self.session.trees.until(execution.ended, execution.command_id))

    @property
    def _conflict(self) -> Mapping[str, Any]:
        """Return the conflict that refused the last run; empty where there was none."""
        details = self.console.dispatcher.refusal_details
        return (
            details if was_busy(self._last_run()) and details.get("commandId", "") in ("", self.keeper.last_run) else {}
        )

    def _last_run(self) -> ExecutionState | None:
        return self.session.log.find(self.keeper.last_run) if self.keeper.last_run else None

    def show_tabs(self) -> None:
        shown = tabs(self.keeper.draft, self.problems.problems, self._last_run(), self.console.symbols)
        self.query_one("#views", TabLine).show_tabs(shown, self.view)

    def _draw_summary(self) -> None:
        draft, summary = self.keeper.draft, self.query_one("#summary", InfoLine)
        unsaved = bool(self.path) and self.saved != draft.generation
        name = Path(self.path).name or self.keeper.name
        summary.show(summary_row(draft, f"{name}{'*' if unsaved else ''}", summary.width, self.console.symbols))

    def _show_place(self) -> None:
        """Show ``3 of 12`` at the steps; line and column at the JSON."""
        count = self.steps.row_count()
        self.query_one("#list-pane", Pane).note(Line().add(f"{self.steps.cursor + 1:,} of {count:,}" if count else ""))
        row, column = self.editor.cursor_location
        self.query_one("#json-pane", Pane).note(Line().add(f"line {row + 1:,}, column {column + 1:,}"))

    @on(LinePane.CursorMoved, "#list")
    @on(JsonArea.CursorMoved)
    def _moved(self) -> None:
        self._show_place()

    # -- writing

    def settle(self) -> None:
        self.editor.settle()

    def _written(self, text: str) -> None:
        """Make the text the draft, after typing."""
        draft = self.keeper.draft
        if draft.empty and not text.strip():
            return
        if not self.keeper.write(text):
            self._draw_draft()

    def on_descendant_blur(self) -> None:
        self.keeper.draft.rest()

    def action_edit_text(self) -> None:
        """Open the JSON at the step with the cursor."""
        span = self.keeper.draft.reading.values.get(("actions", self.steps.cursor))
        self.go_to("#json")
        if span is not None:
            self.editor.to_index(span.start)

    def _to_step(self) -> None:
        """Return to the step that the editor's cursor is in."""
        self.settle()
        place = self.editor.index_of(self.editor.cursor_location)
        spans = self.keeper.draft.reading.values
        for index in range(len(self.keeper.draft)):
            span = spans.get(("actions", index))
            if span is not None and span.start <= place <= span.end:
                self.steps.move_to(index)
        self.go_to("#list")

    def _seen(self, field: str, typed: str, others: Mapping[str, str]) -> Iterable[tuple[str, int]]:
        return values_seen(self.session.trees.shown.tree, field, typed, others)

    @on(JsonArea.CopyWanted)
    async def _copy_selected(self, message: JsonArea.CopyWanted) -> None:
        await self.console.copy(message.text, "the selection")

    # -- running

    def action_payload(self) -> None:
        """Show the payload to be sent, compared with the draft."""
        self.settle()
        validated, problems = self.keeper.draft.check()
        if self.keeper.draft.empty:
            self.console.say(Status.IDLE, "No steps yet: nothing would be sent")
        elif validated is None:
            self.to_first_problem(problems[0])
        else:
            self.app.push_screen(AsSentDialog(self.keeper.draft.payload(), validated.payload))

    def action_run_draft(self) -> None:
        self.settle()
        draft = self.keeper.draft
        if draft.empty:
            self.console.say(Status.IDLE, "No steps yet. i adds one")
            return
        _, problems = draft.check()
        if problems:
            self.to_first_problem(problems[0])
            return
        count = len(draft)
        self.console.dispatcher.run(draft.payload(), f"draft, {count} step{'s' * (count != 1)}", sent=self._sent)

    def _sent(self, command_id: str) -> None:
        """Show the run; escape returns."""
        if self.keeper.run_of:
            self.session.log.reruns[command_id] = self.keeper.run_of
        self.before_run = self.view if self.view in ("list", "json") else "list"
        self.keeper.sent(command_id)
        self.go_to("#timeline")

    def action_compare(self) -> None:
        """Compare the last run with the one it repeats, else with the previous one of its task."""
        run = self._last_run()
        before = self.session.log.before(run) if run is not None else ""
        if run is None or not before:
            self.console.say(Status.IDLE, "There is nothing to compare: no run of this draft repeats another")
        else:
            self.console.go_to(ComparisonPlace(before, run.command_id))

    def action_try_again(self) -> None:
        """Run the draft again after a conflict, once the device is free."""
        if not was_busy(self._last_run()):
            self.console.say(Status.IDLE, "No execution was refused. R runs the draft")
        elif self.session.lock:
            lock = self.session.lock
            words = busy({**lock, "inFlightCommandId": lock.get("commandId")}, self.session.clock.now())
            self.console.say(Status.WAITING, words)
        else:
            self.action_run_draft()

    def would_send(self, action: str) -> Mapping[str, Any] | None:
        validated = self.keeper.draft.check()[0] if action in ("run_draft", "try_again") else None
        return validated.payload if validated is not None else None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Hide two keys while they have nothing to do."""
        if action == "stop_waiting":
            return self.console.dispatcher.waiting
        if action == "try_again":
            return was_busy(self._last_run())
        return super().check_action(action, parameters)

    def action_stop_waiting(self) -> None:
        self.console.dispatcher.stop_waiting()

    @on(LinePane.RowChosen, "#timeline")
    def _watch_run(self) -> None:
        command = self._conflict.get("inFlightCommandId") or self._conflict.get("settlingAfter") or self.keeper.last_run
        if command:
            self.console.go_to(ExecutionPlace(str(command)))

    # -- copying

    def copyable(self) -> dict[str, Copyable]:
        things = super().copyable()
        draft = self.keeper.draft
        if not len(draft):
            return things
        step = draft.steps[self.steps.cursor]
        validated, _ = draft.check()
        things["step"] = Copyable("the action step", snippets.compact(step))
        matcher = matcher_of(step)
        if matcher is not None:
            things["matcher"] = Copyable("the matcher", snippets.compact(matcher))
        things["json"] = Copyable("the payload", snippets.pretty(draft.payload()))
        things["execution"] = Copyable("the payload", snippets.compact(draft.payload()))
        things["recipe"] = Copyable.if_possible("the recipe step", lambda: step_block(step))
        if validated is not None:
            device, payload = self.session.device_id, validated.payload
            things["command"] = Copyable("the command line", self._command_line(payload))
            things["python"] = Copyable("the Python program", snippets.python(payload, device))
            things["pytest"] = Copyable("the test", snippets.pytest(payload, device))
        return things

    def _command_line(self, payload: Mapping[str, Any]) -> str:
        """Return a command with the file's name while it holds this draft, else with the payload."""
        device = self.session.device_id
        if self.path and self.saved == self.keeper.draft.generation:
            return snippets.file_line(str(Path(self.path).expanduser().absolute()), device)
        return snippets.execution_line(payload, device)
