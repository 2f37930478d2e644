"""The payload as it would be sent, and how it differs from the draft as it is written."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from textual.app import ComposeResult

from clawperator.app.console.screens.menu import Dialog
from clawperator.engine.executions.snippets import pretty
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.text.json_text import roles
from clawperator.widgets.wrapped_text import WrappedText


def as_sent_rows(written: object, sent: Mapping[str, Any], width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """The lines of ``sent``; those that ``written`` has not are marked as added, and its own as removed."""
    old, new = pretty(written).splitlines(), pretty(sent).splitlines()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            for text in new[new_start:new_end]:
                yield Row(_coloured(Line(width).add("   "), text))
            continue
        for text in old[start:end]:
            yield Row(Line(width).add(f" {symbols.removed} ", "removed").device(text, "removed"))
        for text in new[new_start:new_end]:
            yield Row(Line(width).add(f" {symbols.added} ", "added").device(text, "added"))


def _coloured(line: Line, text: str) -> Line:
    place = 0
    for start, end, role in roles(text):
        line.add(text[place:start]).device(text[start:end], role)
        place = end
    return line


class AsSentText(WrappedText):
    """The rows of one comparison."""

    def __init__(self, written: object, sent: Mapping[str, Any], *, id: str) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self._written = written
        self._sent = sent

    def folded(self, width: int) -> Iterable[Row]:
        return as_sent_rows(self._written, self._sent, width, self.symbols) if width >= 10 else ()

    def on_mount(self) -> None:
        self.call_after_refresh(self.fold)


class AsSentDialog(Dialog):
    """Nothing to answer."""

    TITLE_TEXT = "as it would be sent"
    NOTE = "esc closes"

    def __init__(self, written: object, sent: Mapping[str, Any]) -> None:
        super().__init__()
        self._texts = written, sent

    def compose_dialog(self) -> ComposeResult:
        yield AsSentText(*self._texts, id="as-sent")

    def on_mount(self) -> None:
        self.set_focus(self.query_one("#as-sent"))
