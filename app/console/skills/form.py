"""What a skill is given before it runs, or before one of its artifacts becomes the draft; with what comes of that, as it is typed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.timer import Timer
from textual.widgets import Input, Label
from textual.worker import Worker

from clawperator.app.console.run.dispatch_dialogs import AskingDialog
from clawperator.app.console.skills.run_options import ARGUMENTS, Plan, Way, Wish, arguments_of, command_words, ways_of
from clawperator.engine.errors import EngineError
from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row, sentence
from clawperator.widgets.format.skill_plan import plan_rows
from clawperator.widgets.format.skills import trouble_rows
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.models.skills import BUILTIN, SkillDetails, SkillEntry, SkillIssue, required_first
from clawperator.widgets.skill_form import FormText, InputRow, OneOf, ValueInput, hidden
from clawperator.widgets.text.safe import paragraphs, wrap

if TYPE_CHECKING:
    from clawperator.app.console.skills.controller import Skilling

TYPING_SECONDS = 0.15
"""A plan follows this long after the last key."""
_MOST_ROWS = 14


class SkillForm(AskingDialog, inherit_bindings=False):
    """Answers a ``Wish``, or ``None``. What is wrong is said at its field; nothing that is wrong is answered."""

    BINDINGS: ClassVar[list[Any]] = [
        *keys.bindings("skill_form"),  # no letter closes it: what is typed may come before its field
        *(binding for binding in keys.bindings("screen") if binding.id in ("screen.next_pane", "screen.previous_pane")),
    ]

    AUTO_FOCUS: ClassVar[str | None] = ""  # the field that is to have it may not be there yet

    def __init__(
        self,
        skill: SkillEntry,
        card: SkillDetails | None,
        skilling: Skilling,
        device_id: str,
        symbols: Symbols,
        *,
        for_draft: bool,
        before: Wish | None = None,
    ) -> None:
        self.GO = "to the draft" if for_draft else "run"
        super().__init__(f"{'compile' if for_draft else 'run'} {sentence(skill.id)}", symbols)
        self._skill = skill
        self._skilling = skilling
        self._device_id = device_id
        self._for_draft = for_draft
        self._before = before
        self.ways = ways_of(skill, card, for_draft=for_draft)
        begin = next(
            (index for index, way in enumerate(self.ways) if before is not None and way.name == before.way.name), 0
        )
        self.way: Way | None = self.ways[begin] if self.ways else None
        self._known = card is not None
        self._early = ""
        """What was typed before there was a field."""
        self.plan: Plan | None = None
        self.trouble: SkillIssue | None = None
        self._typing: Timer | None = None
        self._compiling = 0

    # -- the form

    def compose_question(self) -> ComposeResult:
        if len(self.ways) > 1 and self.way is not None:
            yield OneOf([way.name for way in self.ways], self.way.name, id="way")
        elif self.way is not None:
            yield Label(paragraphs(sentence(self.way.name)), markup=False)
        yield VerticalScroll(*self._rows(), id="fields", can_focus=False)
        yield FormText(id="comes", most=_MOST_ROWS)

    def _rows(self) -> Iterator[InputRow]:
        way = self.way
        if way is None or not self._known:
            return
        given = self._before.values if self._before is not None and self._before.way.name == way.name else {}
        for item in required_first(way.fields):
            yield InputRow(item, given.get(item.name, ""))
        if way.script:
            yield InputRow(ARGUMENTS, given.get(ARGUMENTS.name, ""))

    @property
    def rows(self) -> list[InputRow]:
        return list(self.query(InputRow))

    def on_mount(self) -> None:
        super().on_mount()
        if self._known:
            self._focus_first()
            self.call_after_refresh(self._follow)
        else:
            self.run_worker(self._learn(), group="card", exit_on_error=True)

    async def _learn(self) -> None:
        """The skill's files have not been read yet: what they ask for follows."""
        card = await self._skilling.read_card(self._skill)
        name = self.way.name if self.way is not None else ""
        self.ways = ways_of(self._skill, card, for_draft=self._for_draft)
        self.way = next((way for way in self.ways if way.name == name), self.way)
        self._known = True
        await self._ask_anew()
        self._focus_first()
        self._follow()

    async def _ask_anew(self) -> None:
        """The fields of this way in the place of others."""
        fields = self.query_one("#fields", VerticalScroll)
        await fields.remove_children()
        await fields.mount(*self._rows())

    def _focus_first(self) -> None:
        """The first field that must be given and is not; else the first of all."""
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
        """Another way asks for other fields."""
        message.stop()
        if self.query("#way") and self.query_one("#way", OneOf) is self.focused:
            self.way = self.ways[self.query_one("#way", OneOf).index]
            await self._ask_anew()
        self._follow()

    @on(Input.Changed)
    def _changed(self, message: Input.Changed) -> None:
        message.stop()
        row = next((node for node in message.input.ancestors if isinstance(node, InputRow)), None)
        if row is not None:
            row.complain("")
        if self._typing is not None:
            self._typing.stop()
        self._typing = self.set_timer(TYPING_SECONDS, self._follow)

    def on_key(self, event: events.Key) -> None:
        """⏎ is the form's wherever the focus is."""
        if event.key == "enter":
            event.stop()
            event.prevent_default()
            self.action_go()
        elif event.key in ("down", "up"):
            event.stop()
            self.focus_next() if event.key == "down" else self.focus_previous()

    def typed(self, character: str) -> bool:
        field = self.focused
        if isinstance(field, ValueInput):
            field.replace(character, *field.selection)
        elif not self._known:
            self._early += character
        else:
            return False
        return True

    @on(Input.Submitted)
    def _submitted(self, message: Input.Submitted) -> None:
        message.stop()
        self.action_go()

    # -- what comes of it

    def values(self) -> dict[str, str]:
        """What was given, by name."""
        return {row.field.name: row.value for row in self.rows if row.value}

    def _secrets(self) -> list[str]:
        """Longest first: one may be a part of another."""
        found = {row.value for row in self.rows if row.field.personal and row.value}
        return sorted(found, key=len, reverse=True)

    def _follow(self) -> None:
        """Show what the fields come to now: the plan where all is given, else what is missing is not held against anybody yet."""
        self._typing = None
        if self.way is None:
            self._show(
                SkillIssue(
                    "It has no artifact that could be compiled." if self._for_draft else "It has nothing to run."
                )
            )
        elif self.way.script:
            self.plan, self.trouble = None, None
            self._draw()
        else:
            _: Worker[bool] = self.run_worker(self._compile, group="compile", exclusive=True, exit_on_error=True)

    async def _compile(self) -> bool:
        """Compile what is given; whether that worked."""
        way, values = self.way, self.values()
        assert way is not None
        try:
            plan = await self._skilling.compile(self._skill.id, way, values)
        except EngineError as exc:
            self.plan = None
            self._show(self._skilling.trouble_of(exc))
            return False
        self.plan, self.trouble = plan, None
        self._draw()
        return True

    def _show(self, trouble: SkillIssue) -> None:
        self.trouble = trouble
        self._draw()

    def _draw(self) -> None:
        self.query_one("#comes", FormText).show(self._made)

    def _made(self, width: int) -> Iterator[Row]:
        way, symbols = self.way, self._symbols
        yield Row(Line(width))
        unasked = self.trouble is not None and any(row.field.name == self.trouble.field for row in self.rows)
        if self.trouble is not None and not unasked:
            yield from trouble_rows(self.trouble, width, symbols)
        elif self.trouble is not None:
            yield Row(Line(width).add(" Fields with a star are needed.", "faint"))
        if way is not None and (way.script or self.plan is not None):
            yield Row(Line(width).add(" the same as", "faint"))
            shown = command_words(
                self._skill.id,
                way,
                hidden(self.values(), self._secrets()),
                self._device_id,
                for_draft=self._for_draft,
                builtin=self._skilling.shelf.source == BUILTIN,
            )
            for text in wrap(shown, max(10, width - 2), limit=4):
                yield Row(Line(width).add(" ").add(text, "node-text"))
        if self.plan is not None:
            yield Row(Line(width))
            yield from plan_rows(hidden(self.plan.shown, self._secrets()), width, symbols)

    # -- the end of it

    def action_go(self) -> None:
        if self.way is not None and self._known and self.is_current:
            _: Worker[None] = self.run_worker(self._go, group="compile", exclusive=True, exit_on_error=True)

    async def _go(self) -> None:
        """All that is missing is said at once; the focus goes to the first of it."""
        way = self.way
        assert way is not None
        wrong: list[InputRow] = []
        for row in self.rows:
            problem = "This is needed." if row.field.required and not row.value.strip() else self._problem(row)
            row.complain(problem)
            wrong += [row] if problem else []
        if not wrong and not way.script and not await self._compile():
            assert self.trouble is not None
            about = [row for row in self.rows if row.field.name == self.trouble.field]
            for row in about:
                row.complain(self.trouble.message)
            wrong = about
            if not about:
                return
        if wrong:
            self.set_focus(wrong[0].entry)
            wrong[0].scroll_visible(animate=False)
            return
        values = self.values()
        self.dismiss(
            Wish(self._skill.id, way, values, tuple(arguments_of(way, values)), self.plan, tuple(self._secrets()))
        )

    def _problem(self, row: InputRow) -> str:
        if row.field is not ARGUMENTS:
            return ""
        assert self.way is not None
        try:
            arguments_of(self.way, self.values())
        except ValueError as exc:
            return f"{exc}."
        return ""
