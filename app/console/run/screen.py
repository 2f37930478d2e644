"""Mode 3: the draft as steps and as JSON, its problems, and its run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.widget import Widget

from clawperator.app.console.actions import offer_actions
from clawperator.app.console.copyable import Copyable
from clawperator.app.console.execution.dispatcher import ExecutionConsole
from clawperator.app.console.execution.draft import DraftKeeper
from clawperator.app.console.execution.outcome import busy
from clawperator.app.console.navigation import ComparisonPlace, Destination, DraftPlace
from clawperator.app.console.run.as_sent import AsSentDialog
from clawperator.app.console.run.draft_area import VIEWS, DraftArea
from clawperator.app.console.run.draft_files import DraftFiles
from clawperator.app.console.run.draft_view import summary_row, was_busy
from clawperator.app.console.run.step_changes import StepChanges
from clawperator.app.console.screens.base import ConsoleScreen, Menu
from clawperator.app.console.session import Facet
from clawperator.engine.executions import snippets
from clawperator.engine.recordings.recipe_draft import step_block
from clawperator.widgets import keys
from clawperator.widgets.info_line import InfoLine
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.failed_matcher import matcher_of
from clawperator.widgets.models.status import Status
from clawperator.widgets.tab_line import TabLine


class RunScreen(ConsoleScreen):
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

    def __init__(self) -> None:
        super().__init__()
        self._tab_line = TabLine(id="views")
        self.area = DraftArea(self._tab_line, go_to=self.go_to, onward=self.turn)
        self.files = DraftFiles(self.area)
        self._changes = StepChanges(self.area)
        self._before_run = "list"
        """The view to return to from the last run."""
        offer_actions(self, self.files, self._changes)

    @property
    def console(self) -> ExecutionConsole:
        return cast("ExecutionConsole", self.app)

    @property
    def keeper(self) -> DraftKeeper:
        return self.console.drafts

    def compose_body(self) -> ComposeResult:
        yield self._tab_line
        yield self.area
        yield InfoLine(id="summary")

    def arrive(self, place: Destination) -> None:
        if isinstance(place, DraftPlace) and place.run:
            self.action_run_draft()

    # -- drawing

    def draw(self, changed: Facet) -> None:
        if changed & ~(Facet.STREAM | Facet.NOTICE | Facet.WORK | Facet.LOCKS):
            self.area.draw_draft()
            self._draw_summary()
        elif changed & Facet.STREAM and self.keeper.ran:
            self.area.draw_steps(self.keeper.draft.check()[1])
        if changed & (Facet.WORK | Facet.STREAM) or (changed & Facet.DRAFT and self.session.read_only):
            self.refresh_bindings()
        self.area.draw_run()

    def draw_ages(self) -> None:
        self.area.draw_run()

    def _draw_summary(self) -> None:
        draft, files, summary = self.keeper.draft, self.files, self.query_one("#summary", InfoLine)
        unsaved = bool(files.path) and files.saved != draft.generation
        name = Path(files.path).name or self.keeper.name
        summary.show(summary_row(draft, f"{name}{'*' if unsaved else ''}", summary.width, self.console.symbols))

    # -- panes

    def go_to(self, selector: str) -> None:
        self.area.show_view(selector.removeprefix("#"))
        super().go_to(selector)

    def turn(self, step: int) -> None:
        """Go to the next or previous pane."""
        self.go_to(f"#{VIEWS[(VIEWS.index(self.area.view) + step) % len(VIEWS)]}")

    def focus_next(self, selector: Any = "*") -> Widget | None:  # noqa: ARG002  # the screen's own
        self.turn(1)
        return self.focused

    def focus_previous(self, selector: Any = "*") -> Widget | None:  # noqa: ARG002  # the screen's own
        self.turn(-1)
        return self.focused

    def close_drawers(self) -> bool:
        """Return to the steps; from the last run to the pane that started the run."""
        if self.area.view == "list":
            return False
        self.go_to(f"#{self._before_run if self.area.view == 'timeline' else 'list'}")
        self._before_run = "list"
        return True

    @on(TabLine.Chosen)
    def _tab_chosen(self, message: TabLine.Chosen) -> None:
        self.go_to(f"#{message.tab}")

    def action_problem(self, step: int) -> None:
        self.area.to_problem(step)

    # -- steps

    def menus(self) -> Iterator[Menu]:
        yield self._changes.menu()
        yield from super().menus()

    @on(LinePane.RowChosen, "#list")
    def _step_chosen(self) -> None:
        self._changes.change()

    # -- running

    def action_payload(self) -> None:
        """Show the payload to be sent, compared with the draft."""
        self.area.editor.settle()
        validated, problems = self.keeper.draft.check()
        if self.keeper.draft.empty:
            self.console.say(Status.IDLE, "No steps yet: nothing would be sent")
        elif validated is None:
            self.area.to_first_problem(problems[0])
        else:
            self.app.push_screen(AsSentDialog(self.keeper.draft.payload(), validated.payload))

    def action_run_draft(self) -> None:
        self.area.editor.settle()
        draft = self.keeper.draft
        if draft.empty:
            self.console.say(Status.IDLE, "No steps yet. i adds one")
            return
        _, problems = draft.check()
        if problems:
            self.area.to_first_problem(problems[0])
            return
        count = len(draft)
        self.console.dispatcher.run(draft.payload(), f"draft, {count} step{'s' * (count != 1)}", sent=self._sent)

    def _sent(self, command_id: str) -> None:
        """Show the run; escape returns."""
        if self.keeper.run_of:
            self.session.log.reruns[command_id] = self.keeper.run_of
        self._before_run = self.area.view if self.area.view in ("list", "json") else "list"
        self.keeper.sent(command_id, self.session.log.last_number)
        self.go_to("#timeline")

    def action_compare(self) -> None:
        """Compare the last run with the one it repeats, else with the previous one of its task."""
        run = self.area.last_run
        place = ComparisonPlace.with_previous(self.session.log, run) if run is not None else None
        if place is None:
            self.console.say(Status.IDLE, "There is nothing to compare: no run of this draft repeats another")
        else:
            self.console.go_to(place)

    def action_try_again(self) -> None:
        """Run the draft again after a conflict, once the device is free."""
        if not was_busy(self.area.last_run):
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
            return was_busy(self.area.last_run)
        return super().check_action(action, parameters)

    def action_stop_waiting(self) -> None:
        self.console.dispatcher.stop_waiting()

    # -- copying

    def copyable(self) -> dict[str, Copyable]:
        things = super().copyable()
        draft = self.keeper.draft
        if not len(draft):
            return things
        step = draft.steps[self.area.steps.cursor]
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
        if self.files.path and self.files.saved == self.keeper.draft.generation:
            return snippets.file_line(str(Path(self.files.path).expanduser().absolute()), device)
        return snippets.execution_line(payload, device)
