"""The confirmation of an execution, and the one-line forms for values that no node supplies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from textual.app import ComposeResult

from clawperator.app.console.screens.forms import AskingDialog, Form, Switch
from clawperator.app.console.screens.live_dialog import DialogText
from clawperator.widgets import keys
from clawperator.widgets.format.lines import Line, Row, sentence
from clawperator.widgets.format.stream import json_rows
from clawperator.widgets.format.symbols import Symbols
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.safe import wrap

_LINES_OF_COMMAND = 200


class Dispatch(NamedTuple):
    """What a confirmation shows: ``payload`` is normalised and exactly what is sent; ``doubts`` come first."""

    what: str
    device_id: str
    command: str
    payload: Mapping[str, Any]
    doubts: Sequence[str] = ()


def dispatch_rows(shown: Dispatch, width: int, symbols: Symbols) -> Iterator[Row]:
    """Yield the text of a confirmation for ``width`` cells."""
    sign = symbols.sign(Status.WARN)
    for doubt in shown.doubts:
        for index, text in enumerate(wrap(doubt, max(10, width - len(sign) - 3))):
            yield Row(Line(width).add(f" {sign} " if not index else " " * (len(sign) + 2), "warn").add(text, "warn"))
    if shown.doubts:
        yield Row(Line(width))
    yield Row(Line(width).add(" on ", "faint").device(shown.device_id, "strong"))
    yield Row(Line(width))
    yield Row(Line(width).add(" equivalent command", "faint"))
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
        yield DialogText(lambda width: dispatch_rows(self._shown, width, self._symbols), id="dispatch")

    def on_mount(self) -> None:
        super().on_mount()
        self.set_focus(self.query_one("#dispatch"))


class TextForm(Form):
    """Asks for the text of a field and whether to submit it."""

    GO = "continue"

    def __init__(self, node_name: str, longest: int, symbols: Symbols) -> None:
        super().__init__("enter text", symbols)
        self._longest = longest
        self.PROMPT = f"The text of {sentence(node_name) or 'the field'} will be replaced by:"

    def compose_more(self) -> ComposeResult:
        yield Switch("submit: click the field again afterwards", id="submit")

    def problem(self, text: str) -> str:
        if not text.strip():
            return "The text must not be blank."
        length = len(text.encode("utf-16-le", "surrogatepass")) // 2
        return f"{length} characters are too many: at most {self._longest}." if length > self._longest else ""

    def answer(self, text: str) -> dict[str, Any]:
        return {"text": text, "submit": self.query_one("#submit", Switch).value}


class AppForm(Form):
    """Asks which app to open; offers the current one."""

    GO = "continue"
    PROMPT = "Package of the app to open:"

    def __init__(self, package: str, symbols: Symbols) -> None:
        super().__init__("open app", symbols)
        self.VALUE = package

    def problem(self, text: str) -> str:
        return "" if text.strip() else "Enter a package, such as com.android.settings."

    def answer(self, text: str) -> dict[str, Any]:
        return {"application_id": text.strip()}


class UriForm(Form):
    """Asks for a URI to open."""

    GO = "continue"
    PROMPT = "URI to open:"

    def __init__(self, symbols: Symbols) -> None:
        super().__init__("open URI", symbols)

    def problem(self, text: str) -> str:
        return "" if text.strip() else "Enter a URI, such as https://example.org or geo:0,0."

    def answer(self, text: str) -> dict[str, Any]:
        return {"uri": text.strip()}


class SleepForm(Form):
    """Asks for a duration."""

    GO = "continue"
    PROMPT = "Milliseconds to wait (0 to 120000):"
    VALUE = "1000"

    def __init__(self, symbols: Symbols) -> None:
        super().__init__("sleep", symbols)

    def problem(self, text: str) -> str:
        digits = text.strip()
        good = digits.isascii() and digits.isdigit() and len(digits) <= 6 and int(digits) <= 120_000
        return "" if good else "Enter whole milliseconds, 0 to 120000."

    def answer(self, text: str) -> dict[str, Any]:
        return {"duration_ms": int(text)}
