"""The payload to be sent, and how it differs from the draft as written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from typing import Any

from textual.app import ComposeResult

from clawperator.app.console.screens.live_dialog import DialogText
from clawperator.app.console.screens.menu import Dialog
from clawperator.engine.executions.snippets import pretty
from clawperator.widgets.format.json_lines import coloured_json
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.symbols import UNICODE, Symbols


def as_sent_rows(written: object, sent: Mapping[str, Any], width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Yield the lines of ``sent``, marked as added, and those only in ``written``, marked as removed."""
    old, new = pretty(written).splitlines(), pretty(sent).splitlines()
    matcher = SequenceMatcher(None, old, new, autojunk=False)
    for kind, start, end, new_start, new_end in matcher.get_opcodes():
        if kind == "equal":
            for text in new[new_start:new_end]:
                yield Row(coloured_json(Line(width).add("   "), text))
            continue
        for text in old[start:end]:
            yield Row(Line(width).add(f" {symbols.removed} ", "removed").device(text, "removed"))
        for text in new[new_start:new_end]:
            yield Row(Line(width).add(f" {symbols.added} ", "added").device(text, "added"))


class AsSentDialog(Dialog):
    """Shows the comparison."""

    TITLE_TEXT = "payload to be sent"
    NOTE = "esc closes"

    def __init__(self, written: object, sent: Mapping[str, Any]) -> None:
        super().__init__()
        self._texts = written, sent

    def compose_dialog(self) -> ComposeResult:
        yield DialogText(lambda width: as_sent_rows(*self._texts, width, self.symbols), id="as-sent")

    def on_mount(self) -> None:
        self.set_focus(self.query_one("#as-sent"))
