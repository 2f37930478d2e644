"""Mode 2: executions as they happen, whoever dispatched them, with one of them in full."""

from __future__ import annotations

import json
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.containers import Container

from clawperator.app.console.copyable import Copyable
from clawperator.app.console.screens.two_pane import TwoPaneScreen
from clawperator.app.console.session import Facet
from clawperator.widgets.envelope_log import EnvelopeLog
from clawperator.widgets.execution_detail import ExecutionDetail
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.times import duration, rate
from clawperator.widgets.info_line import FindLine, InfoLine
from clawperator.widgets.pane import Pane


class StreamScreen(TwoPaneScreen):
    """The stream with its detail below, on wide screens beside it."""

    COPY_SHOWN: ClassVar[tuple[str, ...]] = ("json", "id", "line")
    PLACES: ClassVar[dict[str, str]] = {"stream": "#list", "node": "#detail"}

    def compose_body(self) -> ComposeResult:
        clock = self.console.clock
        with Container(id="panes", classes="-below"):
            yield Pane(
                "stream",
                InfoLine(id="stream-info"),
                FindLine(
                    self._search,
                    placeholder="filter: words  cmd:  src:  status:failed  code:  tag:  !not",
                    back_to="#list",
                    id="filter",
                ),
                EnvelopeLog(id="list", clock=clock),
                id="list-pane",
            )
            yield Pane("execution", ExecutionDetail(id="detail", clock=clock), id="detail-pane")

    def on_mount(self) -> None:
        super().on_mount()
        session = self.session
        self.stream.show(session.log, session.lines, session.operator_lines)

    @property
    def stream(self) -> EnvelopeLog:
        return self.query_one("#list", EnvelopeLog)

    def draw(self, changed: Facet) -> None:
        if changed & (Facet.STREAM | Facet.DEVICES | Facet.WORK):
            self.stream.empty_text = self._empty_words()
            self.stream.news()
            if not self.stream.view.of_lines:  # the line under the cursor is shown when the cursor rests
                self.show_detail()
            self._draw_info()

    def draw_ages(self) -> None:
        self.stream.tick()
        execution = self.stream.execution
        if execution is not None and not execution.over:
            self.show_detail()
        self._draw_info()

    def show_detail(self) -> None:
        self.query_one("#detail", ExecutionDetail).show(self.stream.item)

    def show_place(self) -> None:
        """While following, the place is the end: a number there would repaint the whole frame with every line."""
        if self.stream.following and not self.stream.paused_at:
            self.query_one("#list-pane", Pane).note(Line().add("following"))
        else:
            super().show_place()

    def _empty_words(self) -> str:
        session, stream = self.session, self.stream
        if stream.filter.text and session.log.items and not stream.view.of_lines:
            culprit = stream.filter.culprit(session.log.items)
            reason = f"{culprit} matches nothing." if culprit else "No row matches all of it."
            return f"0 of {len(session.log.items):,} rows: {reason}\n\nesc clears the filter."
        if not session.device_id:
            return "No device, no log.\n\nD chooses a device, 7 shows what adb sees."
        if len(session.lines) and not stream.view.of_lines:
            return f"Nothing from the Operator yet.\n\n{len(session.lines):,} other log lines came in – t shows them."
        return "Nothing from the Operator yet.\n\nIt appears here, whoever dispatches it."

    def _draw_info(self) -> None:
        session, stream = self.session, self.stream
        symbols = self.console.symbols
        info = self.query_one("#stream-info", InfoLine)
        right = Line()
        if session.dropped:
            right.add(f"{session.dropped:,} dropped  ", "warn")
        right.add(f"{session.lines.end:,} lines ", "muted").add(rate(session.lines_per_second), "text").add(" ")
        line = Line(max(10, info.width - right.cells - 1)).add(" ")
        self._follow_words(line)
        if stream.filter.problem:
            line.add(stream.filter.problem, "warn")
        elif stream.filter.text:
            line.add("/ ", "key").device(stream.filter.text, "match", room=30)
        counts = stream.counts
        line.add(f"  {stream.view.value}", "strong").add(f" {counts.shown:,} shown", "muted")
        if counts.total > counts.shown and not stream.paused_at:
            line.add(f" {symbols.dot} {counts.total - counts.shown:,} hidden", "muted")
        info.show(Row(line, right))
        self.show_place()

    def _follow_words(self, line: Line) -> None:
        stream, symbols = self.stream, self.console.symbols
        if stream.paused_at:
            waited = duration(self.session.clock.now() - stream.paused_at)
            line.add(f"PAUSED {waited} {symbols.dot} {stream.counts.behind:,} behind ", "warn")
        elif stream.following:
            line.add(f"FOLLOW {symbols.follow} ", "run")
        else:
            line.add("STILL ", "muted")

    @on(EnvelopeLog.Changed)
    def _changed(self) -> None:
        self.show_detail()
        self._draw_info()

    def action_find(self) -> None:
        """Open the filter line, at once: what is typed next must meet it."""
        self.query_one(FindLine).open()

    def _search(self, text: str) -> None:
        self.stream.search(text)
        self.stream.empty_text = self._empty_words()
        self.stream.refresh()
        self._draw_info()

    def clear_pane(self) -> None:
        self.query_one(FindLine).value = ""

    def copyable(self) -> dict[str, Copyable]:
        things = super().copyable()
        execution = self.stream.execution
        if self.stream.row_count():
            things["line"] = Copyable("the line", self.stream.text_of_row)
        if execution is not None:
            things["id"] = Copyable("the commandId", lambda: execution.command_id)
            if execution.envelope is not None:
                envelope = execution.envelope
                things["json"] = Copyable("the envelope", lambda: json.dumps(envelope, indent=2, ensure_ascii=False))
            if execution.raw:
                things["line"] = Copyable("the raw envelope", lambda: execution.raw)
        return things
