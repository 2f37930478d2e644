"""Mode 3: the draft. Its steps, what they come to, and the way to a file or to the device."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.containers import Container

from clawperator.app.console.copyable import Copyable
from clawperator.app.console.draft import DraftKeeper, Problem, read_text, save_as
from clawperator.app.console.screens.dispatch import PathForm, QuestionDialog
from clawperator.app.console.screens.two_pane import TwoPaneScreen
from clawperator.app.console.session import Facet
from clawperator.engine.contracts.limits import MAX_EXECUTION_ACTIONS, MAX_PAYLOAD_BYTES
from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError
from clawperator.engine.executions import spelling
from clawperator.engine.executions.validate import Validated
from clawperator.engine.hierarchy.match import find_all
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiTree
from clawperator.widgets import keys
from clawperator.widgets.draft_steps import DraftPayload, DraftSteps
from clawperator.widgets.format.draft import StepView, matcher_of
from clawperator.widgets.format.lines import Line, Row, sentence
from clawperator.widgets.format.status import Status
from clawperator.widgets.info_line import InfoLine
from clawperator.widgets.models.executions import Execution, Step
from clawperator.widgets.pane import Pane


class RunScreen(TwoPaneScreen):
    """The steps of the draft, and beside them the payload with its problems."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("run")]
    COPY_SHOWN: ClassVar[tuple[str, ...]] = ("matcher", "json", "command", "step", "execution", "python")
    PLACES: ClassVar[dict[str, str]] = {"node": "#detail"}

    _normalised = False
    _path = ""
    _saved = 0
    """The generation of the draft that file ``_path`` holds."""

    def compose_body(self) -> ComposeResult:
        with Container(id="panes", classes="-beside"):
            yield Pane("steps", DraftSteps(id="list"), id="list-pane")
            yield Pane("payload", DraftPayload(id="detail"), id="detail-pane")
        yield InfoLine(id="summary")

    @property
    def keeper(self) -> DraftKeeper:
        return self.console.drafts

    @property
    def steps(self) -> DraftSteps:
        return self.query_one("#list", DraftSteps)

    # -- drawing

    def draw(self, changed: Facet) -> None:
        if changed == Facet.STREAM and not self.keeper.ran:
            return
        validated, problems = self.keeper.draft.check()
        self.steps.show(self._views(problems))
        self._show_payload(validated, problems)
        self._draw_summary(validated, problems)
        self.show_place()

    def show_detail(self) -> None:
        """The payload is that of all steps: it stays where it is when the cursor moves."""

    def _views(self, problems: Sequence[Problem]) -> list[StepView]:
        first = {problem.step: problem.message for problem in reversed(problems)}
        execution = self._last_run()
        results = {step.id: step for step in execution.steps} if execution is not None else {}
        return [
            _view(step, first.get(index, ""), matches, results.get(str(step.get("id"))))
            for index, (step, matches) in enumerate(zip(self.keeper.draft.steps, self._counts(), strict=True))
        ]

    def _counts(self) -> Sequence[int]:
        """How many nodes of the tree shown each step finds: counted once per tree and draft, fifty steps cost some time."""
        snapshot, draft = self.session.trees.shown, self.keeper.draft
        of = (snapshot.serial, id(draft), draft.generation)
        if self._counted[0] != of:
            self._counted = of, [_matches(snapshot.tree, matcher_of(step)) for step in draft.steps]
        return self._counted[1]

    _counted: tuple[object, Sequence[int]] = (None, ())

    def _last_run(self) -> Execution | None:
        """How the draft as it is now was last run."""
        return self.session.log.find(self.keeper.ran) if self.keeper.ran else None

    def _show_payload(self, validated: Validated | None, problems: Sequence[Problem]) -> None:
        normalised = self._normalised and validated is not None
        detail = self.query_one("#detail", DraftPayload)
        if not len(self.keeper.draft):
            detail.show(None)
        elif normalised and validated is not None:
            detail.show(validated.payload, advice=_advice(validated))
        else:
            detail.show(
                self.keeper.draft.payload(),
                problems=[(problem.path, problem.message) for problem in problems],
                advice=_advice(validated),
            )
        words = "as it would be sent" if normalised else "as written"
        self.query_one("#detail-pane", Pane).note(Line().add(words))

    def _draw_summary(self, validated: Validated | None, problems: Sequence[Problem]) -> None:
        draft, symbols = self.keeper.draft, self.console.symbols
        summary = self.query_one("#summary", InfoLine)
        status, words = Status.IDLE, "an empty draft"
        if problems and len(draft):
            status = Status.FAILED
            words = f"{len(problems)} problem{'s' * (len(problems) != 1)}: {problems[0].message}"
        elif validated is not None:
            status, words = Status.OK, "can be run"
        right = Line()
        if validated is not None:
            size = len(validated.wire.encode())
            budget = validated.execution.timeout_ms / 1000
            right.add(f"{size:,} of {MAX_PAYLOAD_BYTES:,} bytes {symbols.dot} {budget:g} s {symbols.dot} ", "muted")
        right.add(f"{len(draft)}/{MAX_EXECUTION_ACTIONS} ", "muted")
        line = Line(max(10, summary.width - right.cells - 1)).add(" ")
        line.add(f"{status.sign(ascii_only=symbols.ascii)} ", status.role)
        if self._path:
            changed = "*" if self._saved != draft.generation else ""
            line.device(Path(self._path).name, "strong", room=24).add(f"{changed}  ", "warn")
        summary.show(Row(line.device(words, "muted" if status is not Status.FAILED else "fail"), right))

    # -- changing

    def action_delete_step(self) -> None:
        if len(self.keeper.draft):
            self.keeper.draft.delete(self.steps.cursor)
            self.keeper.touch()

    def action_move_step(self, by: int) -> None:
        place = self.keeper.draft.move(self.steps.cursor, by)
        if place != self.steps.cursor:
            self.keeper.touch()
            self.steps.move_to(place)

    def action_undo(self) -> None:
        if self.keeper.draft.undo():
            self.keeper.touch()
        else:
            self.console.say(Status.IDLE, "Nothing to undo")

    def action_problem(self, step: int) -> None:
        self.steps.to_problem(step)

    def action_payload(self) -> None:
        """Between the draft as written and as it would be sent; the latter exists only without problems."""
        _, problems = self.keeper.draft.check()
        if problems:
            self.console.say(Status.FAILED, f"{problems[0].path or 'payload'}: {problems[0].message}")
            return
        self._normalised = not self._normalised
        self.draw(Facet.EVERYTHING)

    # -- running

    def action_run_draft(self) -> None:
        draft = self.keeper.draft
        if not len(draft):
            self.console.say(Status.IDLE, "No steps yet. i in the tree adds one")
            return
        count = len(draft)
        self.console.actor.run(draft.payload(), f"draft, {count} step{'s' * (count != 1)}", sent=self.keeper.sent)

    def action_stop_waiting(self) -> None:
        self.console.actor.stop_waiting()

    # -- files

    def action_save_draft(self) -> None:
        if not len(self.keeper.draft):
            self.console.say(Status.IDLE, "No steps yet: nothing to save")
            return
        form = PathForm("save the draft", "save", self._path or "draft.json", self.console.symbols)
        self.app.push_screen(form, self._save_to)

    def _save_to(self, answer: Mapping[str, Any] | None) -> None:
        if answer is not None:
            self.run_worker(self._save(answer["path"]), exit_on_error=True)

    async def _save(self, path: str, *, overwrite: bool = False) -> None:
        generation = self.keeper.draft.generation
        try:
            where = await asyncio.to_thread(save_as, Path(path), self.keeper.text(), overwrite=overwrite)
        except FileExistsError:
            words = f"{sentence(path)} exists. Its content would be gone."
            question = QuestionDialog("replace a file", words, "replace", self.console.symbols)
            self.app.push_screen(question, partial(self._save_over, path))
        except (OSError, ValueError, RuntimeError) as exc:
            self.console.say(Status.FAILED, f"The draft was not saved: {_reason(exc)}")
        else:
            self._path, self._saved = path, generation
            line = spelling.file_line(str(where), self.session.device_id)
            self.console.say(Status.OK, f"Saved. {line} runs it")
            self.draw(Facet.EVERYTHING)

    def _save_over(self, path: str, yes: bool | None) -> None:
        if yes:
            self.run_worker(self._save(path, overwrite=True), exit_on_error=True)

    def action_open_draft(self) -> None:
        form = PathForm("open a payload as the draft", "open", self._path, self.console.symbols)
        self.app.push_screen(form, self._open_from)

    def _open_from(self, answer: Mapping[str, Any] | None) -> None:
        if answer is not None:
            self.run_worker(self._open(answer["path"]), exit_on_error=True)

    async def _open(self, path: str) -> None:
        try:
            text = await asyncio.to_thread(read_text, Path(path))
            self.keeper.draft.open(parse_json(text))
        except EngineError as exc:
            self.console.say(Status.FAILED, f"{path} is no payload: {exc.message}", exc.code.value)
        except (OSError, ValueError, RuntimeError) as exc:
            self.console.say(Status.FAILED, f"{path} was not opened: {_reason(exc)}")
        else:
            self._path, self._saved = path, self.keeper.draft.generation
            self.keeper.touch()
            self.console.say(Status.OK, f"{len(self.keeper.draft)} steps of {path}. u brings the former draft back")

    # -- copying

    def copyable(self) -> dict[str, Copyable]:
        things = super().copyable()
        draft = self.keeper.draft
        if not len(draft):
            return things
        step = draft.steps[self.steps.cursor]
        validated, _ = draft.check()
        things["step"] = Copyable("the action step", lambda: spelling.compact(step))
        matcher = matcher_of(step)
        if matcher is not None:
            things["matcher"] = Copyable("the matcher", lambda: spelling.compact(matcher))
        things["json"] = Copyable("the payload", lambda: spelling.pretty(draft.payload()))
        things["execution"] = Copyable("the payload", lambda: spelling.compact(draft.payload()))
        if validated is not None:
            device, payload = self.session.device_id, validated.payload
            things["command"] = Copyable("the command line", lambda: self._command_line(payload))
            things["python"] = Copyable("the Python program", lambda: spelling.python(payload, device))
        return things

    def _command_line(self, payload: Mapping[str, Any]) -> str:
        """With the file's name while it holds this very draft, else with all of the payload."""
        device = self.session.device_id
        if self._path and self._saved == self.keeper.draft.generation:
            return spelling.file_line(str(Path(self._path).expanduser().absolute()), device)
        return spelling.execution_line(payload, device)


def _view(step: Mapping[str, Any], problem: str, matches: int, result: Step | None) -> StepView:
    if result is None:
        return StepView(step, problem, matches)
    return StepView(step, problem, matches, result.status, result.ended - result.started, result.code)


def _matches(tree: UiTree | None, fields: Mapping[str, Any] | None) -> int:
    """How many nodes on screen a step's matcher finds; -1 where that cannot be said."""
    if tree is None or fields is None or not all(isinstance(value, str) for value in fields.values()):
        return -1
    try:
        return len(find_all(tree, Matcher.from_fields(fields)))
    except ValueError:
        return -1


def _advice(validated: Validated | None) -> list[str]:
    return [warning.message for warning in validated.warnings] if validated is not None else []


def _reason(exc: Exception) -> str:
    return getattr(exc, "strerror", None) or str(exc) or type(exc).__name__
