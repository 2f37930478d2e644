"""The prefix menus: a small dialog that names the second keys and waits without a time limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input, Label

from clawperator.app.console.textual_internals import FilteringScreen, bind_key
from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.slot import Slot
from clawperator.widgets.keys import MenuItem
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.line_widget import AppValues
from clawperator.widgets.row_panes import RowList
from clawperator.widgets.text.safe import paragraphs

if TYPE_CHECKING:
    from clawperator.app.console.console import Console


class Choice(NamedTuple):
    """One entry: the item of the key table, a description, and whether it is available."""

    item: MenuItem
    words: str
    enabled: bool


class PaletteEntry(NamedTuple):
    """One command of the palette: its name, the sentence below it, and what it does. ``reason``: why it is unavailable."""

    name: str
    help: str
    run: Callable[[], Any]
    reason: str = ""


class RefocusingScreen(Screen[Any], inherit_bindings=False):
    """Focuses the widget again that lost the focus while a smaller terminal hid it, else the main one."""

    MAIN = ""
    """Selector of the widget with the initial focus."""
    _had_focus: Widget | None = None

    def on_resize(self) -> None:
        self._had_focus = self.focused or self._had_focus
        self.call_after_refresh(self._refocus)

    def _refocus(self) -> None:
        if self.focused is None and self.app.app_focus:
            main = self.query(self.MAIN).first() if self.MAIN else None
            shown = self.focus_chain
            widget = next((widget for widget in (self._had_focus, main) if widget in shown), None)
            self.set_focus(widget, from_app_focus=True)  # a field does not select its text again


class Dialog(AppValues, RefocusingScreen, FilteringScreen, inherit_bindings=False):
    """A framed box over the mode; the keys below it are inactive.

    It answers once: later keys of a burst must neither close what is below it (``dismiss`` removes whatever screen is
    on top) nor look for removed widgets.
    """

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("dialog")]
    TITLE_TEXT = ""
    NOTE = ""
    TYPES = False
    """Whether it starts in a field, which it passes to ``type_in`` when mounted."""
    field: Input
    _answered = False
    _early = ""

    def compose(self) -> ComposeResult:
        with Vertical(id="dialog") as box:
            box.border_title = Content(self.TITLE_TEXT)
            if self.NOTE:
                box.border_subtitle = Content(self.NOTE)
            yield from self.compose_dialog()

    def compose_dialog(self) -> ComposeResult:
        raise NotImplementedError

    def action_close(self) -> None:
        self.dismiss(None)

    def dismiss(self, result: Any = None) -> AwaitComplete:
        if self._answered or not self.is_current:
            return AwaitComplete()
        self._answered = True
        return super().dismiss(result)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return False if self._answered else super().check_action(action, parameters)

    def accepts(self, message: Message) -> bool:
        return not (self._answered and message.bubble)

    def on_key(self, event: events.Key) -> None:
        """Pass a character on to the field that was not focused in time."""
        if event.is_printable and event.character and not self._answered and self.typed(event.character):
            event.stop()
            event.prevent_default()

    def typed(self, character: str) -> bool:
        """Take a character that was typed before this opened; return whether a field took it."""
        if not self.TYPES:
            return False
        if self.focused is None:
            self._early += character
        elif self.focused is self.field:
            self.field.replace(character, *self.field.selection)
        else:
            return False
        return True

    def type_in(self, field: Input) -> None:
        """Focus ``field`` and insert the characters typed before."""
        self.field = field
        if self._early:
            field.select_on_focus = False
            field.value = self._early
            field.action_end()
        self.set_focus(field)


def ask(console: Console, dialog: Dialog, then: Callable[[Any], object]) -> None:
    """Open a dialog; ``then`` gets its answer unless it was closed without one."""
    console.push_screen(dialog, lambda answer: None if answer is None or answer is False else then(answer))


class MenuList(RowList, can_focus=False):
    """The entries. The dialog has the keys: every letter is a second key."""

    @property
    def looks_focused(self) -> bool:
        return True

    def clicked(self, index: int, x: int, *, twice: bool) -> None:  # noqa: ARG002  # the pane's own signature
        """Choose by one click."""
        super().clicked(index, x, twice=not self.rows[index].quiet)


class MenuDialog(Dialog, inherit_bindings=False):
    """Answers with the id of the chosen entry, or ``None``."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("menu")]

    def __init__(self, title: str, choices: Sequence[Choice]) -> None:
        super().__init__()
        self.TITLE_TEXT = title
        self._choices = choices
        # Bindings, not a handler: the app looks them up when the key arrives there, so that the second key of a burst
        # finds them although the first one has only just opened this.
        for choice in choices:
            if choice.enabled:
                bind_key(self, choice.item.key, f"pick('{choice.item.id}')", choice.item.label)

    def compose_dialog(self) -> ComposeResult:
        yield MenuList(id="menu")

    def on_mount(self) -> None:
        menu = self.query_one("#menu", MenuList)
        menu.empty_text = "No entry is available now."
        menu.show_rows(Slot(_draw(choice), place=choice.item.id, quiet=not choice.enabled) for choice in self._choices)

    def action_pick(self, choice: str) -> None:
        self.dismiss(choice)

    def action_move(self, rows: int) -> None:
        self.query_one("#menu", MenuList).action_move(rows)

    def action_choose(self) -> None:
        value = self.query_one("#menu", MenuList).value
        if value is not None:
            self.dismiss(value)

    @on(LinePane.RowChosen)
    def _chosen(self, message: LinePane.RowChosen) -> None:
        message.stop()
        self.action_choose()


class ChoiceDialog(MenuDialog):
    """A question with more than two answers, the harmless one first."""

    def __init__(self, title: str, words: str, choices: Sequence[Choice]) -> None:
        super().__init__(title, choices)
        self._words = words

    def compose_dialog(self) -> ComposeResult:
        yield Label(paragraphs(self._words), markup=False)
        yield Label("")
        yield from super().compose_dialog()


def _draw(choice: Choice) -> Any:
    def draw(width: int) -> Row:
        item, words, enabled = choice
        line = Line(width).add("  ").add(keys.sign(item.key), "key" if enabled else "faint").add("  ")
        line.add(f"{item.label:<22}", "text" if enabled else "faint").add(" ")
        return Row(line.device(words or "unavailable", "muted" if enabled else "faint"))

    return draw
