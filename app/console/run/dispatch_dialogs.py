"""Before something is sent: exactly what it is, and the one-line forms for what no node can say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from textual import events, on
from textual.app import ComposeResult
from textual.geometry import Size
from textual.strip import Strip
from textual.widgets import Input, Label

from clawperator.app.console.screens.menu import Dialog
from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row, sentence
from clawperator.widgets.format.stream import json_rows
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.key_bar import KeyBar, KeyHint, key_sign
from clawperator.widgets.line_widget import LineWidget
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.safe import paragraphs, wrap
from clawperator.widgets.wrapped_text import WrappedText

_LINES_OF_COMMAND = 200


class Dispatch(NamedTuple):
    """What a confirmation shows: ``payload`` is the normalised one, to the letter what goes out; ``doubts`` come first."""

    what: str
    device_id: str
    command: str
    payload: Mapping[str, Any]
    doubts: Sequence[str] = ()


class AskingDialog(Dialog):
    """A dialog that ends with two keys, ⏎ and esc; both can be clicked. Answers ``None`` for esc."""

    DEFAULT_CSS = """
    AskingDialog Label { width: 1fr; }
    """
    GO = "ok"

    def __init__(self, title: str, symbols: Symbols) -> None:
        super().__init__()
        self.TITLE_TEXT = title
        self._symbols = symbols

    def compose_dialog(self) -> ComposeResult:
        yield from self.compose_question()
        yield KeyBar()

    def compose_question(self) -> ComposeResult:
        raise NotImplementedError

    def on_mount(self) -> None:
        pairs = (("enter", "⏎", self.GO), ("escape", "esc", "back"))
        self.query_one(KeyBar).show(
            [KeyHint(key, key, key_sign(sign, key, self._symbols), label, True) for key, sign, label in pairs]
        )

    def action_go(self) -> None:
        """⏎."""
        self.dismiss(True)

    @on(KeyBar.Pressed)
    def _clicked(self, message: KeyBar.Pressed) -> None:
        message.stop()
        if message.key == "enter":
            self.action_go()
        else:
            self.action_close()


class DispatchText(WrappedText):
    """Doubts, device, command line and payload of one dispatch."""

    def __init__(self, shown: Dispatch, *, id: str) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self._shown = shown

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As high as the text, while the keys below it stay on screen."""
        return min(super().get_content_height(container, viewport, width), max(1, viewport.height * 9 // 10 - 4))

    def folded(self, width: int) -> Iterable[Row]:
        return dispatch_rows(self._shown, width, self.symbols) if width >= 10 else ()

    def on_mount(self) -> None:
        self.call_after_refresh(self.fold)


def dispatch_rows(shown: Dispatch, width: int, symbols: Symbols) -> Iterator[Row]:
    """The whole text of a confirmation for ``width`` cells."""
    sign = symbols.sign(Status.WARN)
    for doubt in shown.doubts:
        for index, text in enumerate(wrap(doubt, max(10, width - len(sign) - 3))):
            yield Row(Line(width).add(f" {sign} " if not index else " " * (len(sign) + 2), "warn").add(text, "warn"))
    if shown.doubts:
        yield Row(Line(width))
    yield Row(Line(width).add(" on ", "faint").device(shown.device_id, "strong"))
    yield Row(Line(width))
    yield Row(Line(width).add(" the same as", "faint"))
    for text in wrap(shown.command, max(10, width - 2), limit=_LINES_OF_COMMAND):
        yield Row(Line(width).add(" ").add(text, "node-text"))
    yield Row(Line(width))
    yield Row(Line(width).add(" payload", "faint"))
    yield from json_rows(shown.payload, width)


class DispatchDialog(AskingDialog):
    """Answers true when it is to be sent."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("dispatch")]
    GO = "run"

    def __init__(self, shown: Dispatch, symbols: Symbols) -> None:
        super().__init__(f"run: {sentence(shown.what)}", symbols)
        self._shown = shown

    def compose_question(self) -> ComposeResult:
        yield DispatchText(self._shown, id="dispatch")

    def on_mount(self) -> None:
        super().on_mount()
        self.set_focus(self.query_one("#dispatch"))


class QuestionDialog(AskingDialog):
    """A sentence and what ⏎ does about it. Answers true, or ``None``."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("dispatch")]

    def __init__(self, title: str, words: str, go: str, symbols: Symbols) -> None:
        super().__init__(title, symbols)
        self.GO = go
        self._words = words

    def compose_question(self) -> ComposeResult:
        yield Label(paragraphs(self._words), markup=False)
        yield Label("")


# -- the one-line forms


class Form(AskingDialog):
    """One field. Answers the keyword arguments of a step, or ``None``; refuses what would not be valid, in words."""

    BINDINGS: ClassVar[list[Any]] = [
        *keys.bindings("dialog"),
        *(binding for binding in keys.bindings("screen") if binding.id in ("screen.next_pane", "screen.previous_pane")),
    ]
    PROMPT = ""
    VALUE = ""
    TYPES = True

    def compose_question(self) -> ComposeResult:
        yield Label(self.PROMPT, markup=False)
        yield Input(self.VALUE, id="answer", compact=True)
        yield from self.compose_more()
        yield Label("", id="problem", markup=False)

    def compose_more(self) -> ComposeResult:
        """What stands below the field."""
        yield from ()

    def on_mount(self) -> None:
        super().on_mount()
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

    def problem(self, text: str) -> str:
        """Why ``text`` cannot be taken; empty when it can."""
        raise NotImplementedError

    def answer(self, text: str) -> dict[str, Any]:
        raise NotImplementedError


class Switch(LineWidget, can_focus=True):
    """A yes or no of a form: space or a click changes it, ⏎ is the form's."""

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


class TextForm(Form):
    """The text for a field and whether to submit it."""

    GO = "go on"

    def __init__(self, node_name: str, longest: int, symbols: Symbols) -> None:
        super().__init__("enter text", symbols)
        self._longest = longest
        self.PROMPT = f"The text of {sentence(node_name) or 'the field'} will be replaced by:"

    def compose_more(self) -> ComposeResult:
        yield Switch("then click the field once more (submit)", id="submit")

    def problem(self, text: str) -> str:
        if not text.strip():
            return "The text must not be blank."
        length = len(text.encode("utf-16-le", "surrogatepass")) // 2
        return f"{length} characters are too many: {self._longest} at most." if length > self._longest else ""

    def answer(self, text: str) -> dict[str, Any]:
        return {"text": text, "submit": self.query_one("#submit", Switch).value}


class AppForm(Form):
    """Which app to open; the one in front is offered."""

    GO = "go on"
    PROMPT = "Package of the app to open:"

    def __init__(self, package: str, symbols: Symbols) -> None:
        super().__init__("open app", symbols)
        self.VALUE = package

    def problem(self, text: str) -> str:
        return "" if text.strip() else "Give a package, such as com.android.settings."

    def answer(self, text: str) -> dict[str, Any]:
        return {"application_id": text.strip()}


class UriForm(Form):
    """What to open with the app that is there for it."""

    GO = "go on"
    PROMPT = "URI to open:"

    def __init__(self, symbols: Symbols) -> None:
        super().__init__("open URI", symbols)

    def problem(self, text: str) -> str:
        return "" if text.strip() else "Give a URI, such as https://example.org or geo:0,0."

    def answer(self, text: str) -> dict[str, Any]:
        return {"uri": text.strip()}


class SleepForm(Form):
    """How long to wait."""

    GO = "go on"
    PROMPT = "Milliseconds to wait (0 to 120000):"
    VALUE = "1000"

    def __init__(self, symbols: Symbols) -> None:
        super().__init__("sleep", symbols)

    def problem(self, text: str) -> str:
        digits = text.strip()
        good = digits.isascii() and digits.isdigit() and len(digits) <= 6 and int(digits) <= 120_000
        return "" if good else "Give whole milliseconds, 0 to 120000."

    def answer(self, text: str) -> dict[str, Any]:
        return {"duration_ms": int(text)}


class PathForm(Form):
    """Where a file is."""

    def __init__(self, title: str, go: str, path: str, symbols: Symbols) -> None:
        super().__init__(title, symbols)
        self.PROMPT = "File:"
        self.VALUE = path
        self.GO = go

    def problem(self, text: str) -> str:
        return "" if text.strip() else "Give the name of a file."

    def answer(self, text: str) -> dict[str, Any]:
        return {"path": text.strip()}
