"""The payload to be sent, and how it differs from the draft as written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from textual.app import ComposeResult

from clawperator.app.console.screens.menu import Dialog
from clawperator.engine.executions.snippets import pretty
from clawperator.widgets.format.changes import diff_row, line_diff
from clawperator.widgets.format.json_lines import coloured_json
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.row_panes import WrappedText


def as_sent_rows(written: object, sent: Mapping[str, Any], width: int, symbols: Symbols = UNICODE) -> Iterator[Row]:
    """Yield the lines of ``sent``, marked as added, and those only in ``written``, marked as removed."""
    for role, text in line_diff(pretty(written), pretty(sent)):
        if role:
            yield diff_row(role, text, width, symbols=symbols)
        else:
            yield Row(coloured_json(Line(width).add("   "), text))


class AsSentDialog(Dialog):
    """Shows the comparison."""

    TITLE_TEXT = "payload to be sent"
    NOTE = "esc closes"

    def __init__(self, written: object, sent: Mapping[str, Any]) -> None:
        super().__init__()
        self._texts = written, sent

    def compose_dialog(self) -> ComposeResult:
        yield WrappedText(lambda width: as_sent_rows(*self._texts, width, self.symbols), id="as-sent")

    def on_mount(self) -> None:
        self.set_focus(self.query_one("#as-sent"))
