"""Mode 4: recorded runs, one of them in full and moment by moment, and two of them compared."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.timer import Timer
from textual.worker import Worker

from clawperator.app.console.copyable import Copyable
from clawperator.app.console.execution.dispatcher import ExecutionConsole
from clawperator.app.console.execution.rerun import ToDraft, add_to_draft, of_record, to_draft
from clawperator.app.console.history.actions import copyable, export, pair_of, tree_place
from clawperator.app.console.history.moments import MomentArea, PartTabs
from clawperator.app.console.history.reader import HistoryReader, Place, unchanged, words_of
from clawperator.app.console.history.runs_area import Job, RunsArea
from clawperator.app.console.navigation import ComparisonPlace, Destination
from clawperator.app.console.screens.base import ConsoleScreen
from clawperator.app.console.session import Facet
from clawperator.engine.errors import EngineError
from clawperator.engine.hierarchy.diff import compare
from clawperator.engine.history.records import RunRecord, RunSummary
from clawperator.widgets import keys
from clawperator.widgets.execution_detail import ExecutionDetail
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.runs import origin_words
from clawperator.widgets.info_line import InfoLine
from clawperator.widgets.line_pane import SETTLE_SECONDS, LinePane
from clawperator.widgets.models.run_replay import Moment, execution_of
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.status import Status
from clawperator.widgets.pane import Pane
from clawperator.widgets.run_compare import RunCompare
from clawperator.widgets.run_detail import RunDetail
from clawperator.widgets.run_list import RunList
from clawperator.widgets.scrubber import Scrubber
from clawperator.widgets.ui_tree import UiTreePane

_PLACES = ("-open", "-compare", "-moments")
"""Classes of the screen for what is open; escape closes the last one first."""


class HistoryScreen(ConsoleScreen):
    """The list; beside it, or over it on small screens, the run under the cursor."""

    BINDINGS: ClassVar[list[Any]] = [*keys.bindings("history")]
    MAIN = "#runs"
    COPY_SHOWN: ClassVar[tuple[str, ...]] = ("json", "execution", "id", "line")
    GO: ClassVar[str] = "go_history"
    PLACES: ClassVar[dict[str, str]] = {"runs": "#runs", "run": "#past-detail", "tree": "#past-tree"}

    def __init__(self) -> None:
        super().__init__()
        self.past = HistoryReader(None, self._nodes_dropped)
        self.record: RunRecord | None = None
        self._compared: tuple[RunRecord, RunRecord] | None = None
        self._rest: Timer | None = None

    def compose_body(self) -> ComposeResult:
        yield PartTabs(id="run-tabs")
        with Horizontal(id="past"):
            yield RunsArea(self.past, self._start, self._show_run)
            with Vertical(id="past-run"):
                yield Pane("run", InfoLine(id="run-info"), RunDetail(id="past-detail"), id="past-detail-pane")
                yield Pane("compare", RunCompare(id="past-compare"), id="past-compare-pane")
            yield MomentArea(id="past-moment")
        yield Pane("moments", Scrubber(id="scrubber"), id="scrubber-pane")

    # -- parts

    @property
    def console(self) -> ExecutionConsole:
        return cast("ExecutionConsole", self.app)

    def arrive(self, place: Destination) -> None:
        if isinstance(place, ComparisonPlace):
            self.compare_commands(place)

    @property
    def area(self) -> RunsArea:
        return self.query_one(RunsArea)

    @property
    def runs(self) -> RunList:
        return self.area.runs

    @property
    def detail(self) -> RunDetail:
        return self.query_one("#past-detail", RunDetail)

    @property
    def compared(self) -> RunCompare:
        return self.query_one("#past-compare", RunCompare)

    @property
    def scrubber(self) -> Scrubber:
        return self.query_one("#scrubber", Scrubber)

    @property
    def moment_area(self) -> MomentArea:
        return self.query_one("#past-moment", MomentArea)

    @property
    def tree_pane(self) -> UiTreePane:
        return self.moment_area.tree_pane

    # -- reading and drawing

    def on_mount(self) -> None:
        self.past.history = self.console.engine.history
        self.area.search("")

    def _start(self, name: str, job: Job) -> None:
        _: Worker[None] = self.run_worker(job, group=name, exclusive=True, exit_on_error=True)

    def _nodes_dropped(self, count: int) -> None:
        self.session.nodes_dropped += count

    def draw(self, changed: Facet) -> None:
        if changed == Facet.EVERYTHING:
            self.area.draw()
            self._draw_run_info()
        if changed & Facet.LOCKS:  # an execution may have ended
            self.area.look()

    def draw_ages(self) -> None:
        self.runs.tick()
        self.area.look()

    def _draw_run_info(self) -> None:
        info, run = self.query_one("#run-info", InfoLine), self.runs.run
        info.show(Row(Line(info.width).add(" ").add(origin_words(run) if run is not None else "", "muted")))

    # -- the run under the cursor

    @on(LinePane.CursorMoved, "#runs")
    def _moved(self) -> None:
        """Show the position at once, the run when the cursor rests."""
        self.area.draw()
        self._draw_run_info()
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(SETTLE_SECONDS, self._show_run)

    def _show_run(self) -> None:
        if not self.alive:  # the history may answer while the console ends
            return
        run = self.runs.run
        self._draw_run_info()
        if run is None:
            self._show_record(None, "")
        elif self.record is None or not unchanged(self.record.summary, run) or self.past.outdated(self.record):
            self._start("run", partial(self._read_run, run))

    async def _read_run(self, run: RunSummary) -> None:
        try:
            record = await self.past.record(run)
        except EngineError as exc:
            self._show_record(None, words_of(exc))
            return
        self._show_record(record, "")
        if record.trees and record.summary.status == "failed":
            with suppress(EngineError):
                tree = await self.past.last_tree(record)
                if self.record is record:
                    self.detail.show_screen(tree)

    def _show_record(self, record: RunRecord | None, problem: str) -> None:
        self.record = record
        self.detail.empty_text = problem or self.detail.EMPTY
        run = self.detail.show_run(record)
        self.moment_area.show_run(run)
        self.scrubber.show(run)
        if self.session.read_only:
            self.refresh_bindings()  # what can be run again depends on the run

    async def run_under_cursor(self) -> RunRecord | None:
        """Return the run under the cursor in full; ``None`` without one. Raises ``EngineError``."""
        run = self.runs.run
        return await self.past.record(run) if run is not None else None

    # -- its moments

    @on(Scrubber.Moved)
    def _moment_changed(self, message: Scrubber.Moved) -> None:
        self._show_moment(message.moment)

    def _show_moment(self, moment: Moment | None) -> None:
        """Show line, step and bar at once, and the tree when it has been read; hidden trees are not read."""
        wanted = self.moment_area.at(moment)
        if self.record is not None and wanted >= 0 and self.moment_area.display:
            self._start("tree", partial(self._read_tree, self.record, wanted))
        else:
            self.workers.cancel_group(self, "tree")

    async def _read_tree(self, record: RunRecord, index: int) -> None:
        tree = await self.past.tree((record, index - 1) if index else None, (record, index))
        self.moment_area.show_tree(tree)
        if tree.counts is not None:
            before, shown = record.trees[index - 1 : index + 1]
            self.detail.show_changes({(before.digest, shown.digest): tree.counts})

    def action_moment(self, count: int) -> None:
        """Move by ``count`` moments; open the moments on a small screen."""
        if self.scrubber.moments:
            self.open_moments()
            if self.scrubber.step(count) and (moment := self.scrubber.moment) is not None:
                self.detail.to_step(moment.step + 1)
        else:
            self.console.say(Status.IDLE, "No run is selected")

    def action_moment_end(self, way: int) -> None:
        self.action_moment(way * len(self.scrubber.moments))

    @on(LinePane.RowChosen, "#past-log")
    def _line_chosen(self, message: LinePane.RowChosen) -> None:
        self.scrubber.to_line(message.index)

    @on(ExecutionDetail.TreeWanted)
    def _tree_wanted(self, message: ExecutionDetail.TreeWanted) -> None:
        message.stop()
        place = tree_place(self.record, message.key)
        moments = self.scrubber.moments
        found = (at for at, moment in enumerate(moments) if moment.what == "tree" and moment.tree == place)
        self.open_moments()
        self.scrubber.to(next(found, self.scrubber.current))

    # -- places: what small screens show one at a time

    @on(LinePane.RowChosen, "#runs")
    def _open_run(self) -> None:
        self._show_run()
        self._show_place("-open")
        self.set_focus(self.detail)

    def open_moments(self) -> None:
        """Show tree and lines where the size of the terminal hides them."""
        if self.moment_area.display:
            return
        away = self.narrow or self.focused_within("#runs-pane")
        self._show_place("-open", *(("-compare",) if self.has_class("-compare") else ()), "-moments")
        if away:
            self.set_focus(self.tree_pane)

    def _show_place(self, *places: str) -> None:
        """``-open``: the run, not the list; ``-moments`` and ``-compare``: that part of it. Wide screens show all."""
        for place in _PLACES:
            self.set_class(place in places, place)
        self.call_after_refresh(self._place_shown)

    def _place_shown(self) -> None:
        """Draw what became visible."""
        if self.moment_area.display:
            self._show_moment(self.scrubber.moment)
        self.query_one(PartTabs).draw(moments=self.has_class("-moments"))
        self._draw_run_info()

    @on(PartTabs.Pressed)
    def action_view(self) -> None:
        """Switch between the whole run and its moments."""
        if self.moment_area.display:
            self._show_place("-open")
            self.set_focus(self.detail)
        else:
            self.open_moments()

    def go_to(self, selector: str) -> None:
        """Focus a pane; switch between list and moments where only one of them fits."""
        if selector == self.PLACES["tree"]:
            self.open_moments()
        elif selector == self.MAIN and not self.narrow and self.has_class("-moments"):
            self._show_place()
        super().go_to(selector)

    def open_drawer(self, pane: Pane | None) -> None:
        part = pane.id if pane is not None else ""
        if part in ("past-tree-pane", "past-log-pane"):
            self._show_place("-open", "-moments")
        else:
            self._show_place(*(("-open",) if part == "past-detail-pane" else ()))

    def close_drawers(self) -> bool:
        """Return to the comparison, the run, or the list."""
        places = [place for place in _PLACES if self.has_class(place)]
        if not places:
            return False
        *left, _ = places
        self._show_place(*left)
        self.set_focus({"-open": self.detail, "-compare": self.compared}[left[-1]] if left else self.runs)
        return True

    def clear_pane(self) -> None:
        """Clear marks in the tree; in the list the filter, then A and B."""
        if self.focused_within("#past-tree-pane"):
            self.tree_pane.clear()
        else:
            self.area.clear()

    def action_find(self) -> None:
        """Open the filter line at once: the next key belongs to it."""
        if self.past.history is not None:
            self._show_place()
            self.area.filter.open()

    # -- two runs

    def action_compare(self) -> None:
        """Compare A and B; without marks, this run with the one it repeats, else with the previous one of its task."""
        self._ask("compare", self._compare)

    async def _compare(self) -> None:
        pair = await pair_of(self.past, self.session.log, self.runs.run, self.runs.marked)
        if pair is None:
            self.console.say(Status.IDLE, "There is no other run of this task. ␣ marks A, then B")
            return
        await self._show_pair(await self.past.record(pair[0]), await self.past.record(pair[1]))

    def compare_commands(self, place: ComparisonPlace) -> None:
        """Compare these two runs."""
        if self.past.history is None:
            self.console.say(Status.IDLE, "History is disabled: there is nothing to compare with")
        else:
            self._start("compare", partial(self._guarded, partial(self._compare_commands, place)))

    async def _compare_commands(self, place: ComparisonPlace) -> None:
        await self._show_pair(await self.past.find(place.a, place.a_at), await self.past.find(place.b, place.b_at))

    async def _show_pair(self, a: RunRecord, b: RunRecord) -> None:
        self._compared = (a, b)
        self.compared.show(execution_of(a), execution_of(b))
        self._show_place("-compare", *(("-open",) if self.has_class("-open") else ()))
        self.set_focus(self.compared)
        self.compared.show_changes(await self.past.differences(self.compared.tree_keys))

    @on(RunCompare.TreesWanted)
    def _trees_wanted(self, message: RunCompare.TreesWanted) -> None:
        """Show the tree of B compared with that of A; where they differ, side by side."""
        if self._compared is None:
            return
        a, b = self._compared
        places = tree_place(a, message.a_key), tree_place(b, message.b_key)
        words = f"B {b.summary.command_id} against A {a.summary.command_id}"

        self.open_moments()
        read = partial(self._read_pair, (a, places[0]), (b, places[1]), words)
        self.call_after_refresh(self._start, "tree", read)

    async def _read_pair(self, a: Place, b: Place, words: str) -> None:
        found = await self.past.tree(a, b)
        self.moment_area.show_pair(found, words)
        if found.counts:
            before = replace(found.before, name=f"A {a[0].summary.command_id}")
            after = replace(found.snapshot, name=f"B {b[0].summary.command_id}")
            await self._show_sides(before, after)

    async def _show_sides(self, before: TreeSnapshot, after: TreeSnapshot) -> None:
        from clawperator.app.console.screens.dialogs import TreeCompareDialog

        if before.tree is None or after.tree is None:
            return
        changes = await asyncio.to_thread(compare, before.tree, after.tree)
        if self.is_current:
            self.app.push_screen(TreeCompareDialog(before, after, changes), self.tree_pane.reveal_change)

    # -- one run

    def would_send(self, action: str) -> Mapping[str, Any] | None:
        run, record = self.runs.run, self.record
        if action != "rerun" or run is None:
            return None
        known = record is not None and record.summary.number == run.number
        return (record.payload if record is not None and known else None) or {}

    def action_rerun(self) -> None:
        self._ask("payload", partial(self._to_draft, partial(to_draft, run=True)))

    def action_edit(self) -> None:
        self._ask("payload", partial(self._to_draft, partial(to_draft, run=False)))

    def action_insert(self) -> None:
        self._ask("payload", partial(self._to_draft, add_to_draft))

    async def _to_draft(self, add: ToDraft) -> None:
        record = await self.run_under_cursor()
        if record is not None:
            add(self.console, of_record(record))

    def action_export(self) -> None:
        self._ask("export", self._export)

    async def _export(self) -> None:
        record = await self.run_under_cursor()
        if record is not None:
            await export(self.console, self.past, record)

    def _ask(self, name: str, job: Job) -> None:
        """Start a job about the selected run; report errors as notices."""
        if self.runs.run is None and not self.runs.marked:
            self.console.say(Status.IDLE, "No run is selected")
        else:
            self._start(name, partial(self._guarded, job))

    async def _guarded(self, job: Job) -> None:
        try:
            await job()
        except EngineError as exc:
            self.console.say(Status.FAILED, exc.message, exc.code.value)

    def copyable(self) -> dict[str, Copyable]:
        things = super().copyable()
        run = self.runs.run  # the record follows the cursor with a delay
        if self.record is not None and run is not None and self.record.summary.number == run.number:
            things |= dict(copyable(self.record))
        if (snapshot := self.tree_pane.snapshot) and self.focused_within("#past-tree-pane"):
            things["snapshot"] = Copyable("the snapshot", snapshot.xml)
        return things
