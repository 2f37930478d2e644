"""The strip: one line of small news above the key bar. Errors stay until the next news; nothing pops up."""

from __future__ import annotations

from typing import NamedTuple

from textual.strip import Strip

from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.line_widget import LineWidget
from clawperator.widgets.models.status import Status


class Notice(NamedTuple):
    """Small news: its state, one sentence, a code that can be copied, and when."""

    status: Status
    text: str
    code: str = ""
    at: float = 0.0


class NoticeLine(LineWidget):
    """``show`` swaps the notice; an empty one leaves the line blank."""

    DEFAULT_CSS = """
    NoticeLine {
        height: 1;
        width: 1fr;
    }
    """

    def __init__(self) -> None:
        super().__init__(id="notice")
        self._notice: Notice | None = None

    def show(self, notice: Notice | None) -> None:
        if notice != self._notice:
            self._notice = notice
            self.refresh()

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        if self._notice is None or y:
            return Strip.blank(width, self.base_style)
        return self.paint(notice_row(self._notice, width, ascii_only=self.symbols.ascii), width)


def notice_row(notice: Notice, width: int, *, ascii_only: bool) -> Row:
    """Sign, sentence, code."""
    status = notice.status
    right = Line(width // 2).device(notice.code, status.role, after=" ") if notice.code else None
    line = Line(width - (right.cells + 1 if right else 0))
    line.add(f" {status.sign(ascii_only=ascii_only)} ", status.role)
    return Row(line.device(notice.text, "text" if status is not Status.IDLE else "muted"), right)
