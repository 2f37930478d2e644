"""An app that holds one pane, for tests of panes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from textual.app import App, ComposeResult
from textual.pilot import Pilot

from clawperator.themes.claw import DARK
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.text.times import WallClock
from tests.app.console.support import drained


class Holder(App[None]):
    CSS_PATH = "../../themes/console.tcss"

    def __init__(self, pane: LinePane, symbols: Symbols = UNICODE, clock: WallClock | None = None) -> None:
        super().__init__()
        self.pane = pane
        self.symbols = symbols
        self.clock = clock or WallClock()
        self.reported: list[str] = []
        self.register_theme(DARK)
        self.theme = "claw-dark"

    def compose(self) -> ComposeResult:
        yield self.pane

    def on_line_pane_cursor_moved(self, message: LinePane.CursorMoved) -> None:
        self.reported.append(f"moved {message.index}")

    def on_line_pane_row_chosen(self, message: LinePane.RowChosen) -> None:
        self.reported.append(f"chosen {message.index}")


@asynccontextmanager
async def held(
    pane: LinePane, *, size: tuple[int, int] = (40, 10), **more: Any
) -> AsyncIterator[tuple[Holder, Pilot[None]]]:
    app = Holder(pane, **more)
    async with app.run_test(size=size) as pilot:
        pane.focus()
        await drained(pilot)
        yield app, pilot


def lines(app: App[None]) -> list[str]:
    return ["".join(segment.text for segment in line) for line in app.screen._compositor.render_strips()]
