"""Parts of a skill's form: a choice, a field with its problem, and the resulting plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.message import Message
from textual.reactive import Reactive
from textual.strip import Strip
from textual.widgets import Input, Label

from clawperator.engine.skills.describe import SkillInput
from clawperator.widgets.format.lines import Line, Row, sentence
from clawperator.widgets.line_widget import LineWidget
from clawperator.widgets.text.action_fields import ActionField
from clawperator.widgets.text.safe import paragraphs, pictured

NAME_CELLS = 27
NOT_GIVEN = "–"
"""How an empty choice is shown."""


class OneOf(LineWidget, can_focus=True):
    """A choice of a few words: space and arrows change it, a click selects. ⏎ belongs to the form."""

    DEFAULT_CSS = """
    OneOf { height: 1; width: 1fr; }
    """

    class Turned(Message):
        """Another word was selected."""

    def __init__(self, words: Sequence[str], value: str = "", *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.words = tuple(words)
        self.index = self.words.index(value) if value in self.words else 0
        self._hits: list[tuple[int, int, int]] = []

    @property
    def value(self) -> str:
        return self.words[self.index] if self.words else ""

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        if y:
            return Strip.blank(width, self.base_style)
        line = Line(width).add(self.symbols.cursor if self.has_focus else " ", "accent")
        self._hits = []
        first = self._first_shown(width)
        if first:
            line.add(f"{self.symbols.left} ", "faint")
        for place in range(first, len(self.words)):
            start, chosen = line.cells, place == self.index
            role = "key" if chosen and self.has_focus else "strong" if chosen else "muted"
            line.add(
                "(x) " if chosen and self.symbols.ascii else "● " if chosen else "( ) " if self.symbols.ascii else "○ ",
                role,
            )
            line.device(self.words[place] or NOT_GIVEN, role, room=max(6, width - 8))
            self._hits.append((start, line.cells, place))
            line.add("   ")
        return self.paint(Row(line), width)

    def _first_shown(self, width: int) -> int:
        """Return the first word to show, so that the selected one is visible."""
        first = 0
        while first < self.index and sum(len(word) + 5 for word in self.words[first : self.index + 1]) > width - 4:
            first += 1
        return first

    def on_key(self, event: events.Key) -> None:
        step = {"space": 1, "right": 1, "l": 1, "left": -1, "h": -1}.get(event.key, 0)
        if step and self.words:
            event.stop()
            event.prevent_default()
            self._select((self.index + step) % len(self.words))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.focus()
        place = next((place for start, end, place in self._hits if start <= event.x < end), self.index)
        self._select(place)

    def _select(self, place: int) -> None:
        if place != self.index:
            self.index = place
            self.post_message(self.Turned())
        self.refresh()

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()


class ValueInput(Input):
    """A field of one line; a personal value shows dots, others are escaped."""

    virtual_size = Reactive(Size(0, 0), layout=False)

    DEFAULT_CSS = """
    ValueInput { height: 1; width: 1fr; }
    """

    def __init__(self, value: str, *, personal: bool, placeholder: str) -> None:
        super().__init__(value, password=personal, placeholder=placeholder, compact=True, select_on_focus=False)

    def on_key(self, event: events.Key) -> None:
        """Move to the next field at once: later keys of a burst belong to that one."""
        here = self.screen.focused
        if here is not self and here is not None:
            event.stop()
            event.prevent_default()
            here.post_message(events.Key(event.key, event.character))
        elif event.key in ("tab", "shift+tab"):
            event.stop()
            event.prevent_default()
            self.screen.focus_next() if event.key == "tab" else self.screen.focus_previous()

    @property
    def _value(self) -> Text:
        """Escape what Input draws."""
        if self.password:
            return super()._value
        return Text(pictured(self.value), no_wrap=True, overflow="ignore", end="")


class InputRow(Vertical):
    """A named input; ``complain`` shows its problem below."""

    DEFAULT_CSS = """
    InputRow { height: auto; width: 1fr; }
    InputRow Horizontal { height: 1; width: 1fr; }
    InputRow .name { width: 28; height: 1; }
    InputRow .problem { height: auto; width: 1fr; padding-left: 28; display: none; }
    InputRow.-wrong .problem { display: block; }
    """

    def __init__(self, field: SkillInput | ActionField, value: str = "") -> None:
        super().__init__()
        self.field = field
        begin, words = value or field.default, choices_of(field)
        help_words = (sentence(field.help) or field.type)[:60]
        self.entry: OneOf | ValueInput = (
            OneOf(words, begin) if words else ValueInput(begin, personal=field.personal, placeholder=help_words)
        )
        """The widget that takes the focus."""

    def compose(self) -> ComposeResult:
        star = "*" if self.field.required else ""
        with Horizontal():
            yield Label(
                f"{paragraphs(sentence(self.field.name)[: NAME_CELLS - 2])}{star}", classes="name", markup=False
            )
            yield self.entry
        yield Label("", classes="problem", markup=False)

    @property
    def value(self) -> str:
        return self.entry.value

    def on_one_of_turned(self) -> None:
        self.complain("")

    def complain(self, words: str) -> None:
        """Show a problem; an empty one removes it."""
        self.set_class(bool(words), "-wrong")
        self.query_one(".problem", Label).update(paragraphs(words))


def choices_of(field: SkillInput | ActionField) -> tuple[str, ...]:
    """Return the allowed values; without a default an empty choice is first."""
    values = field.values or (("true", "false") if field.type == "boolean" else ())
    return ("", *values) if values and not field.default else values


def hidden(value: Any, secrets: Sequence[str]) -> Any:
    """Return ``value`` with personal texts masked, for display only."""
    if not secrets:
        return value
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, "•••")
        return value
    if isinstance(value, Mapping):
        return {key: hidden(inner, secrets) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [hidden(inner, secrets) for inner in value]
    return value
