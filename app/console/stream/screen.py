"""Mode 2: executions of all clients as they happen, with one of them in full."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Container
from textual.worker import Worker

from clawperator.app.console import export
from clawperator.app.console.copyable import Copyable
from clawperator.app.console.execution.dispatcher import ExecutionConsole
from clawperator.app.console.execution.rerun import ToDraft, add_to_draft, of_execution, to_draft
from clawperator.app.console.export import Export
from clawperator.app.console.navigation import ComparisonPlace, Destination, ExecutionPlace
from clawperator.app.console.screens.base import Menu
from clawperator.app.console.screens.file_dialogs import ask_path
from clawperator.app.console.screens.menu import Choice, MenuDialog
from clawperator.app.console.screens.two_pane import TwoPaneScreen
from clawperator.app.console.session import Facet
from clawperator.engine.errors import EngineError
from clawperator.engine.executions import snippets
from clawperator.widgets import keys
from clawperator.widgets.envelope_log import EnvelopeLog
from clawperator.widgets.execution_detail import ExecutionDetail
from clawperator.widgets.format.lines import Line, Row, sentence
from clawperator.widgets.info_line import FindLine, InfoLine
from clawperator.widgets.models.execution import ExecutionState, Mark
from clawperator.widgets.models.item_rows import StreamView
from clawperator.widgets.models.status import Status
from clawperator.widgets.pane import Pane
from clawperator.widgets.text.times import duration, rate


class StreamScreen(TwoPaneScreen):
    """The stream and its detail."""

    COPY_SHOWN: ClassVar[tuple[str, ...]] = ("json", "command", "execution", "id", "line")
    GO: ClassVar[str] = "go_stream"
    PLACES: ClassVar[dict[str, str]] = {"stream": "#list", "detail": "#detail"}

    def compose_body(self) -> ComposeResult:
        with Container(id="panes", classes="-stream"):
            yield Pane(
                "stream",
                InfoLine(id="stream-info"),
                FindLine(
                    self._search,
                    placeholder="words  cmd:  src:  status:failed  code:  tag:  age:<5m  re:/…/  !not",
                    back_to="#list",
                    id="filter",
                ),
                EnvelopeLog(id="list"),
                id="list-pane",
            )
            yield Pane("execution", ExecutionDetail(id="detail"), id="detail-pane")

    def on_mount(self) -> None:
        self.stream.show(self.session.log, self.session.lines)
        self.query_one("#detail", ExecutionDetail).ring = self.session.lines

    @property
    def console(self) -> ExecutionConsole:
        return cast("ExecutionConsole", self.app)

    def arrive(self, place: Destination) -> None:
        if isinstance(place, ExecutionPlace):
            self.to_execution(place.command_id, place.number)

    @property
    def stream(self) -> EnvelopeLog:
        return self.query_one("#list", EnvelopeLog)

    # -- drawing

    def draw(self, changed: Facet) -> None:
        if changed & (Facet.STREAM | Facet.DEVICES | Facet.WORK):
            self.stream.empty_text = self._empty_words()
            self.stream.news()
            if not self.stream.model.view.of_lines:  # lines are shown when the cursor rests
                self.show_detail()
            self._draw_info()
        elif changed & Facet.TREE:
            self.show_detail()  # it may be the tree of a failure

    def draw_ages(self) -> None:
        if self.session.pass_time():
            self.stream.news()
        self.stream.tick()
        execution = self.stream.execution
        if execution is not None and not execution.over:
            self.show_detail()
        self._draw_info()

    def show_detail(self) -> None:
        detail = self.query_one("#detail", ExecutionDetail)
        detail.show(self.stream.item)
        if (execution := self.stream.execution) is not None and execution.status is Status.FAILED:
            trees = self.session.trees_of(execution.device_id)
            detail.show_screen(trees.nearest(execution.ended))
        if self.session.read_only:
            self.refresh_bindings()  # what can be run again depends on the row

    def show_place(self) -> None:
        """Show ``following`` instead of a number, which would repaint the whole frame with every line."""
        if self.stream.following and not self.stream.model.paused_at:
            self.query_one("#list-pane", Pane).note(Line().add("following"))
        else:
            super().show_place()

    def _empty_words(self) -> str:
        session, stream = self.session, self.stream
        if stream.model.where:
            return self._nothing_found()
        if not session.device_id:
            return "No device, no log.\n\nD chooses a device, 7 lists them."
        if stream.model.view is StreamView.LOG:
            return "The device has logged nothing yet."
        if len(session.lines):
            other = len(session.lines) - len(session.lines.operator)
            return f"Nothing from the Operator yet.\n\n{other:,} other log lines arrived – t shows them."
        return "Nothing from the Operator yet.\n\nExecutions of all clients appear here."

    def _nothing_found(self) -> str:
        """Return which term hides everything."""
        model, total = self.stream.model, self.stream.counts.total
        what = "lines" if model.view.of_lines else "rows"
        if model.searched < 1:
            return f"Searching… {model.searched:.0%} of {total:,} lines"
        if stopped := model.where.stopped:
            return f"{sentence(stopped)}.\n\nesc clears the filter."
        term = sentence(model.culprit)
        reason = f"{term} matches nothing." if term else "No row matches all terms."
        way = "= removes it, esc clears the filter." if model.only else "esc clears the filter."
        return f"0 of {total:,} {what}: {reason}\n\n{way}"

    def _draw_info(self) -> None:
        info = self.query_one("#stream-info", InfoLine)
        right = self._arrivals()
        line = Line(max(10, info.width - right.cells - 1)).add(" ")
        self._follow_words(line)
        self._filter_words(line)
        self._count_words(line)
        info.show(Row(line, right))
        self.show_place()

    def _arrivals(self) -> Line:
        session = self.session
        right = Line()
        if session.dropped:
            right.add(f"{session.dropped:,} dropped  ", "warn")
        if not self.narrow:
            right.add(f"{session.lines.end:,} lines ", "muted")
        return right.add(rate(session.lines_per_second), "text").add(" ")

    def _follow_words(self, line: Line) -> None:
        stream, symbols = self.stream, self.console.symbols
        if stream.model.paused_at:
            waited = duration(self.session.clock.now() - stream.model.paused_at)
            line.add(f"PAUSED {waited} {symbols.dot} {stream.counts.behind:,} behind ", "warn")
        elif stream.following:
            line.add(f"FOLLOW {symbols.follow} ", "run")
        else:
            line.add("SCROLLED ", "muted")
            if fresh := stream.counts.fresh:
                line.add(f"+{fresh:,} new {symbols.down} ", "run")

    def _filter_words(self, line: Line) -> None:
        model = self.stream.model
        if model.only:
            line.add("= ", "key").device(model.only, "match", room=24).add(" ")
        if problem := model.filter.problem or model.where.stopped:
            line.device(problem, "warn")
        elif model.filter.text:
            line.add("/ ", "key").device(model.filter.text, "match", room=30)

    def _count_words(self, line: Line) -> None:
        model, counts = self.stream.model, self.stream.counts
        line.add(f"  {model.view.value}", "strong")
        if model.searched < 1:
            line.add(f" searching… {model.searched:.0%}", "warn")
        if model.where and not model.view.of_lines and (term := self._only_bad_news()):
            line.add(" ").device(f"{term} matches none", "warn")
            return
        line.add(f" {counts.shown:,} shown", "muted")
        if model.searched == 1 and counts.total > counts.shown and not model.paused_at:
            line.add(f" {self.console.symbols.dot} {counts.total - counts.shown:,} hidden", "muted")

    def _only_bad_news(self) -> str:
        """Return the term that hides every execution while other rows are left: problems pass filters about executions."""
        rows = self.stream.model.items.rows
        return self.stream.model.culprit if rows and all(isinstance(row.item, Mark) for row in rows) else ""

    @on(EnvelopeLog.Changed)
    def _changed(self) -> None:
        if self.stream.model.where:
            self.stream.empty_text = self._nothing_found()
        if not self.stream.model.view.of_lines:
            self.show_detail()
        self._draw_info()

    # -- finding

    def action_find(self) -> None:
        """Open the filter line at once: the next key belongs to it."""
        self.query_one(FindLine).open()

    def _search(self, text: str) -> None:
        self.stream.search(text)
        self.stream.empty_text = self._empty_words()
        self.stream.refresh()
        self._draw_info()

    def clear_pane(self) -> None:
        self.query_one(FindLine).value = ""
        self.stream.clear()

    # -- exporting

    def menus(self) -> Iterator[Menu]:
        yield from super().menus()
        yield Menu("x", "Export", self._export_choices(), self._export)

    def action_export(self) -> None:
        """Ask what to write to a file."""
        self.app.push_screen(MenuDialog("export", self._export_choices()), self._export)

    def _export_choices(self) -> list[Choice]:
        stream, execution = self.stream, self.stream.execution
        rows = f"{stream.counts.shown:,} rows" if stream.row_count() else ""
        words = {
            "shown": rows,
            "file": rows,
            "ring": f"{len(self.session.lines):,} lines" if len(self.session.lines) else "",
            "execution": execution.command_id if execution is not None else "",
        }
        return [Choice(item, words[item.id], bool(words[item.id])) for item in keys.MENUS["export"]]

    def _export(self, choice: str | None) -> None:
        stream, model, ring = self.stream, self.stream.model, self.session.lines
        if choice == "ring":
            self._write(export.of_ring(ring))
        elif choice == "execution" and stream.execution is not None:
            self._write(export.of_execution(stream.execution, ring))
        elif choice in ("shown", "file"):
            rows = (
                export.of_lines([*model.lines.numbers], ring)
                if model.view.of_lines
                else export.of_items([row.item for row in model.items.rows if row.top], ring)
            )
            self._write(rows) if choice == "shown" else self._ask_where(rows)

    def _ask_where(self, rows: Export) -> None:
        ask_path(
            self.console,
            "export",
            "write",
            f"{rows.name}.jsonl",
            lambda path: self._write(rows, Path(path).expanduser()),
        )

    def _write(self, rows: Export, path: Path | None = None) -> None:
        self.run_worker(self._written(rows, path), name="export", exit_on_error=True)

    async def _written(self, rows: Export, path: Path | None) -> None:
        """Write in a thread; show and copy the path, and offer the file to a browser."""
        console = self.console
        target = path or export.new_path(export.export_folder(), rows.name, self.session.clock.now())
        try:
            count = await asyncio.to_thread(export.write, target, rows, console.guard)
        except EngineError as exc:
            console.say(Status.FAILED, exc.message, exc.code.value)
            return
        except FileExistsError:
            console.say(Status.WARN, f"{sentence(str(target))} exists. Nothing was written")
            return
        except OSError as exc:
            console.say(Status.FAILED, f"{sentence(str(target))} was not written: {exc.strerror or exc}")
            return
        await console.system_clipboard.copy(str(target))
        counted = f"{count:,} row{'s' * (count != 1)}"
        console.say(Status.OK, f"Wrote {counted} to {sentence(str(target))}, and copied the path")
        if self.app.is_web:
            self.app.deliver_text(target)

    # -- again

    def would_send(self, action: str) -> Mapping[str, Any] | None:
        execution = self.stream.execution
        if action != "rerun" or execution is None:
            return None
        return execution.payload or {}

    def action_rerun(self) -> None:
        self._to_draft(partial(to_draft, run=True))

    def action_edit(self) -> None:
        self._to_draft(partial(to_draft, run=False))

    def action_insert(self) -> None:
        self._to_draft(add_to_draft)

    def _to_draft(self, add: ToDraft) -> None:
        execution = self.stream.execution
        if execution is None:
            self.console.say(Status.IDLE, "No execution is selected")
        else:
            _: Worker[None] = self.run_worker(
                partial(self._add, add, execution), group="again", exclusive=True, exit_on_error=True
            )

    async def _add(self, add: ToDraft, execution: ExecutionState) -> None:
        add(self.console, await of_execution(self.console, execution))

    def action_compare(self) -> None:
        """Compare in the history: it has the payloads and trees of both."""
        execution = self.stream.execution
        if execution is None:
            self.console.say(Status.IDLE, "No execution is selected")
        elif place := ComparisonPlace.with_previous(self.session.log, execution):
            self.console.go_to(place)
        else:
            self.console.say(Status.IDLE, "No other run of this task is in the stream. Press 4 for older runs")

    # -- copying

    def copyable(self) -> dict[str, Copyable]:
        things = super().copyable()
        execution = self.stream.execution
        if self.stream.row_count():
            things["line"] = Copyable("the line", self.stream.text_of_row())
        if execution is not None:
            things["id"] = Copyable("the commandId", execution.command_id)
            if execution.envelope is not None:
                envelope = execution.envelope
                things["json"] = Copyable(
                    "the envelope", make=lambda: json.dumps(envelope, indent=2, ensure_ascii=False)
                )
            if execution.payload is not None:
                payload, device = execution.payload, execution.device_id
                things["execution"] = Copyable("the payload", snippets.pretty(payload))
                things["command"] = Copyable("the command", snippets.execution_line(payload, device))
            if execution.raw:
                things["line"] = Copyable("the raw envelope", execution.raw)
        return things

    def to_execution(self, command_id: str, number: int = 0) -> None:
        """Move the cursor to an execution, clearing what hides it."""
        if not self.stream.to_execution(command_id, number):
            self.clear_pane()
            self.stream.set_view(StreamView.EXECUTIONS)
            self.stream.to_execution(command_id, number)
