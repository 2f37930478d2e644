"""The form of one step: its fields are those of the action type in the contract."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar, cast

from textual import events, on
from textual.app import ComposeResult
from textual.containers import VerticalScroll

from clawperator.app.console.execution.dispatcher import ExecutionConsole
from clawperator.app.console.execution.draft import SelectorPick
from clawperator.app.console.execution.draft_model import Problem
from clawperator.app.console.navigation import PickPlace
from clawperator.app.console.run.draft_view import matches
from clawperator.app.console.screens.forms import FIELD_KEYS, FieldsForm
from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.contracts.aliases import canonical
from clawperator.engine.executions.snippets import compact
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.models.status import Status
from clawperator.widgets.row_panes import WrappedText
from clawperator.widgets.skill_form import InputRow, OneOf, ValueInput
from clawperator.widgets.text.action_fields import action_fields, line_of, value_of
from clawperator.widgets.text.matcher_text import matcher_text
from clawperator.widgets.text.safe import wrap

_MOST_ROWS = 14


def has_form(step: Mapping[str, Any]) -> bool:
    """Return whether a form can show the step: its type is known, and its parameters are an object."""
    kind = step.get("type")
    return isinstance(kind, str) and canonical(kind) in ACTIONS and isinstance(step.get("params", {}), dict)


class StepForm(FieldsForm):
    """Answers the step, or ``None``. ``index`` is its place in the draft, where a ``new`` one is inserted."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("step_form"), *FIELD_KEYS]

    def __init__(self, step: Mapping[str, Any], index: int, *, new: bool) -> None:
        self.GO = "add" if new else "change"
        self._kind = canonical(str(step["type"]))
        super().__init__(f"{self.GO} step {index + 1}: {self._kind}")
        self._step = step
        self._index, self._new = index, new
        self._fields = {field.name: field for field in action_fields(self._kind)}
        if any(field.type == "matcher" for field in self._fields.values()):
            self.MORE_KEYS = (("ctrl+o", "pick in tree"),)
        self._problems: list[str] = []
        """Those of no field."""

    def compose_question(self) -> ComposeResult:
        given = {**self._step.get("params", {}), "id": self._step.get("id")}
        rows = (InputRow(field, line_of(field, given.get(field.name))) for field in self._fields.values())
        yield VerticalScroll(*rows, id="fields", can_focus=False)
        yield WrappedText(id="comes", empty="", most=_MOST_ROWS)

    def on_mount(self) -> None:
        super().on_mount()
        self.set_focus(next((row for row in self.rows if row.field.required and not row.value), self.rows[0]).entry)
        self.call_after_refresh(self.follow)

    @property
    def console(self) -> ExecutionConsole:
        return cast("ExecutionConsole", self.app)

    # -- the step

    def made(self) -> tuple[dict[str, Any], dict[str, str]]:
        """Return the step of the current values, and by field why its selector cannot be read.

        What the step has beyond the fields is kept.
        """
        tree = self.console.session.trees.shown.tree
        values = {row.field.name: row.value for row in self.rows if row.value}
        given, unread = dict[str, Any](), dict[str, str]()
        for field in self._fields.values():
            try:
                if field.name in values:
                    given[field.name] = value_of(field, values[field.name], tree)
            except ValueError as exc:
                unread[field.name] = str(exc)
        others = {key: value for key, value in self._step.get("params", {}).items() if key not in self._fields}
        params = {key: value for key, value in given.items() if key != "id"} | others
        step = {**self._step, "id": given.get("id", ""), "type": self._kind} | ({"params": params} if params else {})
        if not params:
            step.pop("params", None)
        return step, unread

    def follow(self) -> None:
        self._typing = None
        if self.is_mounted:
            self.query_one(WrappedText).show_text(self._shown, object())  # from its top

    def _shown(self, width: int) -> Iterator[Row]:
        """Yield the problems, the meaning of the focused field with its count of nodes, and the step."""
        yield Row(Line(width))
        sign, narrow = self.symbols.sign(Status.FAILED), max(10, width - 4)
        for problem in self._problems:
            yield from (Row(Line(width).add(f" {sign} ", "fail").add(text, "fail")) for text in wrap(problem, narrow))
        step, unread = self.made()
        row = self.row_of(self.focused)
        if row is not None:
            name = row.field.name
            words = unread.get(name) or f"{self._count(row, step)}{self._fields[name].meaning}"
            for text in wrap(f"{name}: {words}", narrow):
                yield Row(Line(width).add(" ").add(text, "fail" if name in unread else "muted"))
        one_of = ACTIONS[self._kind].one_of
        if one_of:
            yield Row(Line(width).add(f" One of these is required: {', '.join(one_of)}", "faint"))
        yield from (Row(Line(width).add(f" {text}", "node-text")) for text in wrap(compact(step), narrow))

    def _count(self, row: InputRow, step: Mapping[str, Any]) -> str:
        """Return how many nodes on screen a selector field finds; empty for others."""
        if row.field.type != "matcher" or not row.value:
            return ""
        count = matches(self.console.session.trees.shown.tree, step["params"][row.field.name])
        return f"{count:,} on screen. " if count >= 0 else ""

    @on(OneOf.Turned)
    def _turned(self, message: OneOf.Turned) -> None:
        message.stop()
        self.follow()

    def on_descendant_focus(self) -> None:
        self.follow()

    # -- answering

    def action_go(self) -> None:
        """Answer a valid step; else mark the fields with what the contract says against them."""
        (step, unread), draft = self.made(), self.console.drafts.draft
        for row in self.rows:
            row.complain(unread.get(row.field.name, ""))
        wrong = [row for row in self.rows if row.field.name in unread]
        self._problems = []
        if not wrong:
            for problem in draft.problems_with(draft.with_step(step, self._index, new=self._new), self._index):
                wrong += self._complain(problem)
        if wrong:
            self.focus_wrong(sorted(wrong, key=self.rows.index))
        if wrong or self._problems:
            self.follow()
        else:
            self.dismiss(step)

    def _complain(self, problem: Problem) -> list[InputRow]:
        """Show a problem at its field, or below the fields; return the row."""
        _, _, name, *more = [*problem.path.split("."), "", "", ""]
        name = more[0] if name == "params" else name
        rows = [row for row in self.rows if row.field.name == name]
        for row in rows:
            row.complain(problem.message.removeprefix(f"`{problem.path}` "))
        self._problems += [] if rows else [problem.message]
        return rows

    # -- a selector from the tree

    def action_pick(self) -> None:
        """Choose the node of the focused selector field, else of the first one, in mode 1."""
        fields = [row for row in self.rows if row.field.type == "matcher"]
        row = self.row_of(self.focused)
        row = row if row in fields else next(iter(fields), None)
        if row is None:
            self._problems = [f"{self._kind} has no selector"]
            self.follow()
            return
        self.set_focus(row.entry)
        self.console.drafts.pick = SelectorPick(f"{row.field.name} of {self._kind}", self._picked)
        self.console.go_to(PickPlace())

    def _picked(self, matcher: Matcher) -> None:
        row = self.row_of(self.focused)
        if row is not None and isinstance(row.entry, ValueInput):
            self.console.drafts.pick = None
            row.entry.value = matcher_text(replace(matcher, container=None))
            row.entry.action_end()
            place = next((each for each in self.rows if each.field.name == "container" and each is not row), None)
            if matcher.container and place is not None and isinstance(place.entry, ValueInput):
                place.entry.value = matcher_text(matcher.container)
            self.console.say(Status.OK, f"Selector of {row.field.name}: {row.value}")

    def on_screen_resume(self, _event: events.ScreenResume) -> None:
        """End the choice in the tree: the user is back without a selector."""
        if self.console.drafts.pick is not None:
            self.console.drafts.pick = None
            self.console.say(Status.IDLE, "No selector was picked")
