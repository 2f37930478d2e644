"""The list of mode 4: the runs that match the filter, read in pages and kept current."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from functools import partial
from typing import TYPE_CHECKING, TypeAlias, cast

from textual import on

from clawperator.app.console.history.reader import PAGE, HistoryReader, Page, words_of
from clawperator.engine.errors import EngineError
from clawperator.engine.filters.grammar import Filter, parse_filter
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.info_line import FindLine, InfoLine
from clawperator.widgets.models.status import Status
from clawperator.widgets.pane import Pane
from clawperator.widgets.run_list import RunList

if TYPE_CHECKING:
    from clawperator.app.console.console import Console

Job: TypeAlias = "Callable[[], Coroutine[None, None, None]]"
Start: TypeAlias = "Callable[[str, Job], object]"

OFF = "History is disabled (history.enabled = false).\n\nRuns are not recorded. Press 2 for the live stream."
OFFLINE = "This console shows saved dumps: it has no history.\n\nPress 1 for the dumps."
EMPTY = "No runs yet.\n\nPress 3 to compose one. Runs of other clients on the device are recorded too."
LOADING = "Reading the history…"


class RunsArea(Pane):
    """``start`` runs a job under a name and cancels the one under it; ``changed`` is called when the shown runs have changed."""

    def __init__(self, past: HistoryReader, start: Start, changed: Callable[[], object]) -> None:
        self.runs = RunList(id="runs")
        self.filter = FindLine(
            self.search,
            placeholder="filter: words  cmd:  src:  status:failed  code:  dev:  age:<2h  !not",
            back_to="#runs",
            id="runs-filter",
        )
        self._info = InfoLine(id="runs-info")
        super().__init__("runs", self._info, self.filter, self.runs, id="runs-pane")
        self._past = past
        self._start = start
        self._changed = changed
        self.page: Page | None = None
        """What is shown; ``None`` until the first answer."""
        self._is_looking = False

    @property
    def console(self) -> Console:
        return cast("Console", self.app)

    # -- reading

    def search(self, text: str) -> None:
        """Filter by ``text``; the rows stay until the answer arrives."""
        if self._past.history is not None:
            self._start("runs", partial(self._search, parse_filter(text)))

    async def _search(self, where: Filter) -> None:
        page = self.page = await self._past.page(where)
        self.runs.empty_text = self._empty_words()
        self.runs.show(page.runs, page.total)
        self.draw()
        self._changed()

    @on(RunList.MoreWanted)
    def _more_wanted(self, message: RunList.MoreWanted) -> None:
        if self.page is not None:
            self._start("more", partial(self._more, self.page.where, message.before))

    async def _more(self, where: Filter, before: int) -> None:
        try:
            runs = await self._past.older(where, before)
        except EngineError as exc:
            self.console.say(Status.FAILED, words_of(exc).replace("\n\n", ". "))
            return
        if self.page is not None and where == self.page.where:
            self.runs.append(runs, complete=len(runs) < PAGE)
            self.draw()

    def look(self) -> None:
        """Check for new runs, one check at a time; called once a second while the list is shown."""
        if self.page is not None and not self._is_looking:
            self._start("look", partial(self._look, self.page))

    async def _look(self, shown: Page) -> None:
        """Update the newest runs; keep the rows when the history is no longer readable."""
        self._is_looking = True
        try:
            page = await self._past.newer(shown, at_least=self.runs.oldest_running + 1)
        finally:
            self._is_looking = False
        if page is None or self.page is None or page.where != self.page.where:
            return
        self.page = page
        self.runs.empty_text = self._empty_words()
        if not page.problem:
            self.runs.renew(page.runs, page.total)
        self.draw()
        self._changed()

    # -- drawing

    def draw(self) -> None:
        """Show the filter, the counts, new runs, marks, and the position."""
        runs, page = self.runs, self.page
        runs.empty_text = self._empty_words()
        right = Line()
        for name, run in zip("AB", [*runs.marked, None], strict=False):
            right.add(f" {name} ", "accent" if run else "faint")
            right.device(run.command_id if run else "–", "text" if run else "faint", room=14)
        line = Line(max(10, self._info.width - (right.cells + 2 if runs.marked else 0))).add(" ")
        if page is not None and page.where.problem:
            line.add(page.where.problem, "warn")
        elif page is not None and page.where.text:
            line.add("/ ", "key").device(page.where.text, "match", room=30)
            line.add(f"  {runs.total:,} of {page.all:,} runs", "muted")
        elif page is not None and (runs.total or not page.problem):
            line.add(f"{runs.total:,} run{'s' * (runs.total != 1)}", "muted")
        if page is not None and page.problem and runs.total:
            line.add("  the history is no longer readable", "fail")
        if runs.unseen:
            line.add(f"  +{runs.unseen:,} new {self.symbols.up}", "run")
        self._info.show(Row(line, right.add(" ") if runs.marked else None))
        self.note(Line().add(f"{runs.place + 1:,} of {runs.total:,}" if runs.total else ""))

    def _empty_words(self) -> str:
        page = self.page
        if self._past.history is None:
            return OFFLINE if self.console.session.offline else OFF
        if page is None:
            return LOADING
        if page.problem:
            return f"The history cannot be read.\n\n{page.problem}"
        if not page.all:
            return EMPTY
        reason = f"{page.unmatched} matches nothing" if page.unmatched else "no run matches all terms"
        return f"0 of {page.all:,} runs: {reason}.\n\nesc clears the filter."

    @on(RunList.Marked)
    def _marked(self) -> None:
        self.draw()

    def clear(self) -> None:
        """Clear the filter; without one the marks."""
        if self.filter.value:
            self.filter.value = ""
        else:
            self.runs.clear_marks()
