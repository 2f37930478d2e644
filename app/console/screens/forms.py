"""Dialogs that are answered with ⏎ or esc: questions and one-line forms."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual import events, on
from textual.app import ComposeResult
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget
from textual.widgets import Input, Label

from clawperator.app.console.screens.live_dialog import AskingDialog
from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.line_widget import LineWidget
from clawperator.widgets.skill_form import InputRow, ValueInput
from clawperator.widgets.text.safe import paragraphs

TYPING_SECONDS = 0.15
"""Delay of what a form shows after the last key."""
FIELD_KEYS = tuple(key for key in keys.bindings("screen") if key.id in ("screen.next_pane", "screen.previous_pane"))
"""The keys that go to the next or previous field."""


class QuestionDialog(AskingDialog):
    """A sentence and what ⏎ does. Answers true, or ``None``."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("dispatch")]

    def __init__(self, title: str, words: str, go: str) -> None:
        super().__init__(title)
        self.GO = go
        self._words = words

    def compose_question(self) -> ComposeResult:
        yield Label(paragraphs(self._words), markup=False)
        yield Label("")


class Form(AskingDialog):
    """One field. Answers its text without blanks around it, or ``None``; ``problem`` says why a text is invalid."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("dialog"), *FIELD_KEYS]
    TYPES = True

    def __init__(
        self, title: str, prompt: str, problem: Callable[[str], str], *, go: str = "continue", value: str = ""
    ) -> None:
        super().__init__(title)
        self.GO = go
        self.problem = problem
        self._prompt, self._value = prompt, value

    def compose_question(self) -> ComposeResult:
        yield Label(self._prompt, markup=False)
        yield Input(self._value, id="answer", compact=True)
        yield from self.compose_more()
        yield Label("", id="problem", markup=False)

    def compose_more(self) -> ComposeResult:
        """Yield what follows the field."""
        yield from ()

    def on_mount(self) -> None:
        self.type_in(self.query_one("#answer", Input))

    def action_go(self) -> None:
        text = self.query_one("#answer", Input).value
        problem = self.problem(text)
        if problem:
            self.query_one("#problem", Label).update(paragraphs(problem))
        else:
            self.dismiss(self.answer(text))

    @on(Input.Submitted)
    def _submitted(self, message: Input.Submitted) -> None:
        message.stop()
        self.action_go()

    def answer(self, text: str) -> Any:
        return text.strip()


def not_blank(words: str) -> Callable[[str], str]:
    """Return the check of a field that must not be blank; ``words`` are its problem."""
    return lambda text: "" if text.strip() else words


class Switch(LineWidget, can_focus=True):
    """A checkbox of a form: space or a click toggles it, ⏎ submits the form."""

    DEFAULT_CSS = """
    Switch { height: 1; width: 1fr; }
    """

    def __init__(self, label: str, *, id: str) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self._label = label
        self.value = False

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        if y:
            return Strip.blank(width, self.base_style)
        line = Line(width).add(self.symbols.cursor if self.has_focus else " ", "accent")
        line.add("[x] " if self.value else "[ ] ", "key" if self.has_focus else "text")
        return self.paint(Row(line.add(self._label, "text")), width)

    def on_key(self, event: events.Key) -> None:
        if event.key in ("enter", "space"):
            event.stop()
            event.prevent_default()
            if event.key == "space":
                self.toggle()
            elif isinstance(self.screen, Form):
                self.screen.action_go()

    def on_click(self) -> None:
        self.toggle()

    def toggle(self) -> None:
        self.value = not self.value
        self.refresh()


class FieldsForm(AskingDialog, inherit_bindings=False):
    """Named fields, of which some may be invalid. Subclasses give the rows, ``follow`` and ``action_go``."""

    AUTO_FOCUS: ClassVar[str | None] = ""  # the field may not exist yet
    _typing: Timer | None = None

    @property
    def rows(self) -> list[InputRow]:
        return list(self.query(InputRow))

    def row_of(self, entry: Widget | None) -> InputRow | None:
        """Return the row of a widget."""
        return next((row for row in self.rows if row.entry is entry), None)

    def follow(self) -> None:
        """Show what the values come to; called when typing pauses, and when a choice has changed."""
        raise NotImplementedError

    @on(Input.Changed)
    def _field_changed(self, message: Input.Changed) -> None:
        message.stop()
        if (row := self.row_of(message.input)) is not None:
            row.complain("")
        if self._typing is not None:
            self._typing.stop()
        self._typing = self.set_timer(TYPING_SECONDS, self.follow)

    @on(Input.Submitted)
    def _field_submitted(self, message: Input.Submitted) -> None:
        message.stop()
        self.action_go()

    def on_key(self, event: events.Key) -> None:
        """Submit on ⏎ from any field."""
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
        return isinstance(field, ValueInput)

    def focus_wrong(self, wrong: Sequence[InputRow]) -> None:
        """Focus the first of these rows."""
        self.set_focus(wrong[0].entry)
        wrong[0].scroll_visible(animate=False)
