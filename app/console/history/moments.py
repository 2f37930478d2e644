"""A moment of a past run: the tree that was on screen then, and the line that tells of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual.containers import Vertical
from textual.message import Message

from clawperator.app.console.history.reader import PastTree
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.moments import tree_words
from clawperator.widgets.format.runs import folded
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.format.tree_slots import counts_line
from clawperator.widgets.info_line import InfoLine
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.pane import Pane
from clawperator.widgets.run_log import RunLogPane
from clawperator.widgets.text.times import WallClock
from clawperator.widgets.ui_tree import UiTreePane

if TYPE_CHECKING:
    from clawperator.engine.history.records import RunRecord
    from clawperator.widgets.models.run_diff import TreeCounts
    from clawperator.widgets.models.run_replay import Moment

NO_RUN = "No run selected."
NO_TREES = "No tree of this run was kept:\nit read the screen at no step."
NOT_YET = "The screen had not been read yet.\n\n. goes on in time."


class PartTabs(InfoLine):
    """Which part of an opened run a small screen shows; a click wants the other one."""

    class Pressed(Message):
        """The other part is wanted."""

    def draw(self, *, moments: bool) -> None:
        line = Line(self.width)
        for name, here in (("Run", not moments), ("Moments", moments)):
            line.add(f" {self.symbols.cursor if here else ' '}{name} ", "accent" if here else "muted")
        self.show(
            Row(line, Line().add("t ", "key").add("the other  ", "muted").add("esc ", "key").add("runs ", "muted"))
        )

    def on_click(self) -> None:
        self.post_message(self.Pressed())


class PastTreePane(UiTreePane):
    """A tree of the past: there is no workbench for it."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return False if action == "choose" else super().check_action(action, parameters)


class MomentArea(Vertical):
    """``show_run`` says whose moments, ``at`` which one; ``show_tree`` brings the tree of it, which takes a while to read."""

    def __init__(self, clock: WallClock, *, id: str) -> None:  # noqa: A002  # Textual's own name
        self.tree_pane = PastTreePane(id="past-tree", changed=self._draw_info)
        self.tree_pane.empty_text = NO_RUN
        self.log_pane = RunLogPane(id="past-log", clock=clock)
        self._info = InfoLine(id="past-tree-info")
        super().__init__(
            Pane("tree", self._info, self.tree_pane, id="past-tree-pane"),
            Pane("lines", self.log_pane, id="past-log-pane"),
            id=id,
        )
        self._record: RunRecord | None = None
        self._moment: Moment | None = None
        self._counts: TreeCounts | None = None
        self._pair = ""
        self._shown = -1
        """Which tree of the run is in the pane."""

    @property
    def symbols(self) -> Symbols:
        return getattr(self.app, "symbols", UNICODE)

    def show_run(self, record: RunRecord | None) -> None:
        self._record, self._moment, self._shown = record, None, -1
        self.log_pane.show(record)

    def at(self, moment: Moment | None) -> int:
        """Mark the moment; the tree of the run that is to be read for it, -1 where none is or it is there already."""
        self._moment, self._pair = moment, ""
        self.log_pane.mark(moment.line if moment is not None else -1)
        wanted = moment.tree if moment is not None else -1
        if wanted < 0:
            self._show_none(self._why_none())
        self._draw_info()
        return wanted if wanted != self._shown else -1

    def _why_none(self) -> str:
        if self._record is None:
            return NO_RUN
        return NOT_YET if self._record.trees else NO_TREES

    def show_tree(self, told: PastTree) -> None:
        """The tree of the moment with what changed since the one before it in the run, whichever way one came here."""
        if told.problem:
            self._show_none(folded(told.problem, self.tree_pane.content_size.width))
            return
        pane = self.tree_pane
        if pane.compared is not None:
            pane.compare(None)
        pane.show(
            replace(told.snapshot, coming=True)
        )  # the marks are those against the tree before, not against the one shown
        self._counts = told.counts
        self._shown = self._moment.tree if self._moment is not None and not self._pair else -1
        if told.before:
            pane.compare(told.before)
        self._draw_info()

    def show_pair(self, told: PastTree, words: str) -> None:
        """A tree of run B marked against that of run A, in place of the moment's; ``words`` say whose they are."""
        self._pair = words
        self.show_tree(told)

    def _show_none(self, words: str) -> None:
        self._shown = -1
        self.tree_pane.empty_text = words
        self.tree_pane.compare(None)
        self.tree_pane.show(TreeSnapshot.EMPTY)
        self.tree_pane.refresh()

    def _draw_info(self) -> None:
        """Whose tree it is and how old it was at the moment; what changed."""
        line = Line(self._info.width).add(" ")
        if self._pair:
            line.device(self._pair, "match")
        elif self._record is not None and self._moment is not None:
            line.extend(tree_words(self._record, self._moment))
        snapshot = self.tree_pane.snapshot
        if snapshot:
            line.add(f"  {len(snapshot.nodes):,} nodes", "faint")
            if snapshot.problem:
                line.add("  repaired", "warn")
        compared = self._counts if self.tree_pane.compared is not None else None
        self._info.show(Row(line, counts_line(compared, self.symbols).add(" ") if compared is not None else None))
