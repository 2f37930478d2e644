"""The prefix menus: a small dialog that names the second key. It waits; there is no time limit and no lost key."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.await_complete import AwaitComplete
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input

from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.keys import MenuItem
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.row_list import ListRow, RowList


class Choice(NamedTuple):
    """One entry: the item of the key table, a few words beside it, and whether it can be chosen now."""

    item: MenuItem
    words: str
    enabled: bool


class Dialog(ModalScreen[Any], inherit_bindings=False):
    """A framed box over the mode. The keys below it do not work while it is open.

    It answers once: keys of a burst that come after the answer must neither close what is below it (``dismiss`` takes away
    whatever screen is on top) nor look for widgets that are gone.
    """

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("dialog")]
    TITLE_TEXT = ""
    NOTE = ""
    TYPES = False
    """Whether it begins in a field, which it gives to ``type_in`` when it is mounted."""
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

    async def _on_message(self, message: Message) -> None:
        if not (self._answered and message.bubble):
            await super()._on_message(message)

    def on_key(self, event: events.Key) -> None:
        """A key that the focused widget left, or that came before there was one: a letter may belong to the field."""
        if event.is_printable and event.character and not self._answered and self.typed(event.character):
            event.stop()
            event.prevent_default()

    def typed(self, character: str) -> bool:
        """Take a letter that was on its way when this opened, if there is a field for it; whether it was taken."""
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
        """Give ``field`` the focus, and the letters that came before it could have it."""
        self.field = field
        if self._early:
            field.select_on_focus = False
            field.value = self._early
            field.action_end()
        self.set_focus(field)


class MenuList(RowList, can_focus=False):
    """The entries. The dialog has the keys: every letter is a second key, none of them moves the cursor."""

    @property
    def looks_focused(self) -> bool:
        return True

    def clicked(self, index: int, x: int, *, twice: bool) -> None:  # noqa: ARG002  # the pane's own signature
        """One click chooses: a menu is no place to look around in."""
        super().clicked(index, x, twice=not self.rows[index].quiet)


class MenuDialog(Dialog, inherit_bindings=False):
    """Answers with the id of the chosen entry, or ``None``."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("menu")]

    def __init__(self, title: str, choices: Sequence[Choice], symbols: Symbols) -> None:
        super().__init__()
        self.TITLE_TEXT = title
        self._choices = choices
        self._symbols = symbols
        # Bindings, not a handler: the app looks them up when the key arrives there, so that the second key of a burst
        # finds them although the first one has only just opened this.
        for choice in choices:
            if choice.enabled:
                self._bindings.bind(choice.item.key, f"pick('{choice.item.id}')", choice.item.label, show=False)

    def compose_dialog(self) -> ComposeResult:
        yield MenuList(id="menu")

    def on_mount(self) -> None:
        menu = self.query_one("#menu", MenuList)
        menu.empty_text = "Nothing here can be chosen now."
        menu.show_rows(
            ListRow(_draw(choice), value=choice.item.id, quiet=not choice.enabled) for choice in self._choices
        )

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


def _draw(choice: Choice) -> Any:
    def draw(width: int) -> Row:
        item, words, enabled = choice
        line = Line(width).add("  ").add(keys.sign(item.key), "key" if enabled else "faint").add("  ")
        line.add(f"{item.label:<22}", "text" if enabled else "faint").add(" ")
        return Row(line.device(words or "nothing here", "muted" if enabled else "faint"))

    return draw
