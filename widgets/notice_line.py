"""The notice line above the key bar. Errors stay until the next notice; nothing pops up."""

from __future__ import annotations

from typing import NamedTuple

from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.line_widget import OneLineWidget
from clawperator.widgets.models.status import Status


class Notice(NamedTuple):
    """A notice: state, sentence, a code to copy, and time. ``result``: how what the user sent ended."""

    status: Status
    text: str
    code: str = ""
    at: float = 0.0
    result: bool = False


class NoticeLine(OneLineWidget):
    """The current notice, or a blank line."""

    def __init__(self) -> None:
        super().__init__(id="notice")
        self._notice: Notice | None = None

    def show(self, notice: Notice | None) -> None:
        if notice != self._notice:
            self._notice = notice
            self.refresh()

    def line_row(self, width: int) -> Row:
        notice = self._notice
        if notice is None:
            return Row(Line(width))
        status = notice.status
        right = Line(width // 2).device(notice.code, status.role, after=" ") if notice.code else None
        line = Line(width - (right.cells + 1 if right else 0))
        line.add(f" {self.symbols.sign(status)} ", status.role)
        return Row(line.device(notice.text, "text" if status is not Status.IDLE else "muted"), right)
