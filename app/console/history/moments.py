"""One moment of a recorded run: the tree on screen at that time, and its log line."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual.containers import Vertical
from textual.message import Message

from clawperator.app.console.history.reader import RunTree
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.moments import tree_words
from clawperator.widgets.format.runs import folded
from clawperator.widgets.format.tree_slots import counts_line
from clawperator.widgets.info_line import InfoLine
from clawperator.widgets.line_widget import AppValues
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.pane import Pane
from clawperator.widgets.run_log import RunLogPane
from clawperator.widgets.ui_tree import UiTreePane

if TYPE_CHECKING:
    from clawperator.widgets.models.execution import ExecutionState
    from clawperator.widgets.models.run_diff import TreeCounts
    from clawperator.widgets.models.run_replay import Moment

NO_RUN = "No run is selected."
NO_TREES = "This run has no trees:\nno step read the screen."
NOT_YET = "No tree at this moment yet.\n\n. moves forward in time."


class PartTabs(InfoLine):
    """Names the part of a run that a small screen shows; a click switches."""

    class Pressed(Message):
        """Show the other part."""

    def draw(self, *, moments: bool) -> None:
        line = Line(self.width)
        for name, here in (("Run", not moments), ("Moments", moments)):
            line.add(f" {self.symbols.cursor if here else ' '}{name} ", "accent" if here else "muted")
        self.show(Row(line, Line().add("t ", "key").add("switch  ", "muted").add("esc ", "key").add("runs ", "muted")))

    def on_click(self) -> None:
        self.post_message(self.Pressed())


class RunTreePane(UiTreePane):
    """A recorded tree, without a workbench."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return False if action == "choose" else super().check_action(action, parameters)


class MomentArea(AppValues, Vertical):
    """Call ``show_run``, then ``at``, then ``show_tree`` with the tree, which takes time to read."""

    def __init__(self, *, id: str) -> None:  # noqa: A002  # Textual's own name
        self.tree_pane = RunTreePane(id="past-tree", changed=self._draw_info)
        self.tree_pane.empty_text = NO_RUN
        self.log_pane = RunLogPane(id="past-log")
        self._info = InfoLine(id="past-tree-info")
        super().__init__(
            Pane("tree", self._info, self.tree_pane, id="past-tree-pane"),
            Pane("lines", self.log_pane, id="past-log-pane"),
            id=id,
        )
        self._run: ExecutionState | None = None
        self._moment: Moment | None = None
        self._counts: TreeCounts | None = None
        self._pair = ""
        self._shown = -1
        """The index of the shown tree."""

    def show_run(self, run: ExecutionState | None) -> None:
        self._run, self._moment, self._shown = run, None, -1
        self.log_pane.show(run)

    def at(self, moment: Moment | None) -> int:
        """Mark the moment; return the index of the tree to read, -1 where none is needed."""
        self._moment, self._pair = moment, ""
        self.log_pane.mark(moment.line if moment is not None else -1)
        wanted = moment.tree if moment is not None else -1
        if wanted < 0:
            self._show_none(self._why_none())
        self._draw_info()
        return wanted if wanted != self._shown else -1

    def _why_none(self) -> str:
        if self._run is None:
            return NO_RUN
        return NOT_YET if self._run.trees else NO_TREES

    def show_tree(self, found: RunTree) -> None:
        """Show the tree of the moment with the changes since the previous tree of the run."""
        if found.problem:
            self._show_none(folded(found.problem, self.tree_pane.content_size.width))
            return
        pane = self.tree_pane
        if pane.model.compared is not None:
            pane.compare(None)
        pane.show(replace(found.snapshot, coming=True))  # its marks refer to the previous tree, not to the one shown
        self._counts = found.counts
        self._shown = self._moment.tree if self._moment is not None and not self._pair else -1
        if found.before:
            pane.compare(found.before)
        self._draw_info()

    def show_pair(self, found: RunTree, words: str) -> None:
        """Show a tree of run B compared with one of run A; ``words`` name them."""
        self._pair = words
        self.show_tree(found)

    def _show_none(self, words: str) -> None:
        self._shown = -1
        self.tree_pane.empty_text = words
        self.tree_pane.compare(None)
        self.tree_pane.show(TreeSnapshot.EMPTY)
        self.tree_pane.refresh()

    def _draw_info(self) -> None:
        """Show the tree's origin, its age at the moment, and the number of changes."""
        line = Line(self._info.width).add(" ")
        if self._pair:
            line.device(self._pair, "match")
        elif self._run is not None and self._moment is not None:
            line.extend(tree_words(self._run, self._moment))
        snapshot = self.tree_pane.snapshot
        if snapshot:
            line.add(f"  {len(snapshot.nodes):,} nodes", "faint")
            if snapshot.problem:
                line.add("  repaired", "warn")
        compared = self._counts if self.tree_pane.model.compared is not None else None
        self._info.show(Row(line, counts_line(compared, self.symbols).add(" ") if compared is not None else None))
