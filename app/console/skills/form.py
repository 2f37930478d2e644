"""The form before a skill runs or becomes the draft, with what its current values come to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Label
from textual.worker import Worker

from clawperator.app.console.screens.forms import FIELD_KEYS, FieldsForm
from clawperator.engine.errors import EngineError
from clawperator.engine.skills.compiled import Compiled
from clawperator.engine.skills.describe import SkillDetails, SkillEntry, SkillIssue
from clawperator.engine.skills.run_options import (
    ARGUMENTS,
    RunOption,
    SkillRequest,
    arguments_of,
    command_words,
    run_options,
    value_problem,
)
from clawperator.widgets import keys
from clawperator.widgets.format.draft import plan_rows
from clawperator.widgets.format.lines import Line, Row, sentence
from clawperator.widgets.format.skills import trouble_rows
from clawperator.widgets.models.skills import BUILTIN, required_first
from clawperator.widgets.row_panes import WrappedText
from clawperator.widgets.skill_form import InputRow, OneOf, ValueInput, hidden
from clawperator.widgets.text.safe import paragraphs, wrap

if TYPE_CHECKING:
    from clawperator.app.console.skills.controller import SkillsController

_MOST_ROWS = 14
DEFAULT_REF = "main"


class SkillForm(FieldsForm):
    """Answers a ``SkillRequest``, or ``None``. Invalid values are marked at their fields."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("skill_form"), *FIELD_KEYS]
    """Without letters: they may be typed before the field exists."""

    def __init__(
        self,
        skill: SkillEntry,
        card: SkillDetails | None,
        controller: SkillsController,
        device_id: str,
        *,
        for_draft: bool,
        before: SkillRequest | None = None,
    ) -> None:
        self.GO = "to the draft" if for_draft else "run"
        super().__init__(f"{'compile' if for_draft else 'run'} {sentence(skill.id)}")
        self._skill = skill
        self._controller = controller
        self._device_id = device_id
        self._for_draft = for_draft
        self._before = before
        self.options = run_options(skill, card, for_draft=for_draft)
        begin = next(
            (
                index
                for index, option in enumerate(self.options)
                if before is not None and option.name == before.option.name
            ),
            0,
        )
        self.option: RunOption | None = self.options[begin] if self.options else None
        self._known = card is not None
        self._early = ""
        """What was typed before there was a field."""
        self.plan: Compiled | None = None
        self.trouble: SkillIssue | None = None

    # -- the form

    def compose_question(self) -> ComposeResult:
        if len(self.options) > 1 and self.option is not None:
            yield OneOf([option.name for option in self.options], self.option.name, id="way")
        elif self.option is not None:
            yield Label(paragraphs(sentence(self.option.name)), markup=False)
        yield VerticalScroll(*self._rows(), id="fields", can_focus=False)
        yield WrappedText(id="comes", empty="", most=_MOST_ROWS)

    def _rows(self) -> Iterator[InputRow]:
        option = self.option
        if option is None or not self._known:
            return
        given = self._before.values if self._before is not None and self._before.option.name == option.name else {}
        for item in required_first(option.fields):
            yield InputRow(item, given.get(item.name, ""))
        if option.script:
            yield InputRow(ARGUMENTS, given.get(ARGUMENTS.name, ""))

    def on_mount(self) -> None:
        if self._known:
            self._focus_first()
            self.call_after_refresh(self.follow)
        else:
            self.run_worker(self._learn(), group="card", exit_on_error=True)

    async def _learn(self) -> None:
        """Read the skill's files for their inputs."""
        card = await self._controller.read_card(self._skill)
        name = self.option.name if self.option is not None else ""
        self.options = run_options(self._skill, card, for_draft=self._for_draft)
        self.option = next((option for option in self.options if option.name == name), self.option)
        self._known = True
        if self.is_mounted and self.is_current:  # it was not closed meanwhile
            await self._ask_again()
            self._focus_first()
            self.follow()

    async def _ask_again(self) -> None:
        """Show the fields of the selected option."""
        fields = self.query_one("#fields", VerticalScroll)
        await fields.remove_children()
        await fields.mount(*self._rows())

    def _focus_first(self) -> None:
        """Focus the first empty required field, else the first field."""
        rows = self.rows
        empty = next((row for row in rows if row.field.required and not row.value), None)
        target = empty or (rows[0] if rows else None)
        if target is not None:
            self.set_focus(target.entry)
            if isinstance(target.entry, ValueInput):
                target.entry.insert_text_at_cursor(self._early)
            self._early = ""
        elif self.query("#way"):
            self.set_focus(self.query_one("#way"))

    @on(OneOf.Turned)
    async def _turned(self, message: OneOf.Turned) -> None:
        """Show the fields of another option."""
        message.stop()
        if self.query("#way") and self.query_one("#way", OneOf) is self.focused:
            self.option = self.options[self.query_one("#way", OneOf).index]
            await self._ask_again()
        self.follow()

    def typed(self, character: str) -> bool:
        if super().typed(character):
            return True
        self._early += "" if self._known else character
        return not self._known

    # -- result

    def values(self) -> dict[str, str]:
        """Return the values by name."""
        return {row.field.name: row.value for row in self.rows if row.value}

    def _secrets(self) -> list[str]:
        """Return the personal values, longest first: one may be a part of another."""
        found = {row.value for row in self.rows if row.field.personal and row.value}
        return sorted(found, key=len, reverse=True)

    def follow(self) -> None:
        """Show the plan of the current values, or why there is none."""
        self._typing = None
        if self.option is None:
            self._show(
                SkillIssue(
                    "This skill has no artifact to compile." if self._for_draft else "This skill has nothing to run."
                )
            )
        elif self.option.script:
            self.plan, self.trouble = None, None
            self._draw()
        else:
            _: Worker[bool] = self.run_worker(self._compile, group="compile", exclusive=True, exit_on_error=True)

    async def _compile(self) -> bool:
        """Compile the values; return whether that worked."""
        option, values = self.option, self.values()
        assert option is not None
        try:
            plan = await self._controller.compile(self._skill.id, option, values)
        except EngineError as exc:
            self.plan = None
            self._show(SkillIssue.of(exc))
            return False
        self.plan, self.trouble = plan, None
        self._draw()
        return True

    def _show(self, trouble: SkillIssue) -> None:
        self.trouble = trouble
        self._draw()

    def _draw(self) -> None:
        for text in self.query("#comes").results(WrappedText):  # none when it was closed meanwhile
            text.show_text(self._made, object())  # from its top

    def _made(self, width: int) -> Iterator[Row]:
        option, symbols = self.option, self.symbols
        yield Row(Line(width))
        unasked = self.trouble is not None and any(row.field.name == self.trouble.field for row in self.rows)
        if self.trouble is not None and not unasked:
            yield from trouble_rows(self.trouble, width, symbols)
        elif self.trouble is not None:
            yield Row(Line(width).add(" Fields with a star are required.", "faint"))
        if option is not None and (option.script or self.plan is not None):
            yield Row(Line(width).add(" equivalent command", "faint"))
            shown = command_words(
                self._skill.id,
                option,
                hidden(self.values(), self._secrets()),
                self._device_id,
                for_draft=self._for_draft,
                builtin=self._controller.skills_state.source == BUILTIN,
            )
            for text in wrap(shown, max(10, width - 2), limit=4):
                yield Row(Line(width).add(" ").add(text, "node-text"))
        if self.plan is not None:
            yield Row(Line(width))
            parts = (self.plan.executions, self.plan.capabilities, self.plan.warnings)
            executions, capabilities, warnings = hidden(parts, self._secrets())
            yield from plan_rows(executions, capabilities, warnings, width, symbols)

    # -- submit

    def action_go(self) -> None:
        if self.option is not None and self._known and self.is_current:
            _: Worker[None] = self.run_worker(self._go, group="compile", exclusive=True, exit_on_error=True)

    async def _go(self) -> None:
        """Mark all missing values, and focus the first."""
        option = self.option
        assert option is not None
        wrong: list[InputRow] = []
        for row in self.rows:
            problem = "Required." if row.field.required and not row.value.strip() else self._problem(row)
            row.complain(problem)
            wrong += [row] if problem else []
        if not wrong and not option.script and not await self._compile():
            assert self.trouble is not None
            about = [row for row in self.rows if row.field.name == self.trouble.field]
            for row in about:
                row.complain(self.trouble.message)
            wrong = about
            if not about:
                return
        if wrong:
            self.focus_wrong(wrong)
            return
        values = self.values()
        self.dismiss(
            SkillRequest(
                self._skill.id, option, values, tuple(arguments_of(option, values)), self.plan, tuple(self._secrets())
            )
        )

    def _problem(self, row: InputRow) -> str:
        assert self.option is not None
        if row.field is not ARGUMENTS:
            problem = value_problem(self.option, row.field, row.value)
            return f"{problem.capitalize()}." if problem else ""
        try:
            arguments_of(self.option, self.values())
        except ValueError as exc:
            return f"{exc}."
        return ""


def ref_problem(text: str) -> str:
    """Return why ``text`` names no version of the repository; empty where it may."""
    from clawperator.engine.skills.sync import checked_ref

    try:
        checked_ref(text.strip())
    except EngineError as exc:
        return exc.hint or exc.message
    return ""
