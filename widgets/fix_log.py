"""The output of fixes, newest last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clawperator.widgets.format.fix_lines import fix_log_rows
from clawperator.widgets.format.lines import Row
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.fix_run import FixRun
from clawperator.widgets.row_panes import WrappedText


class FixLog(WrappedText):
    """The fixes of the session. While a fix runs, the view follows its newest line."""

    EMPTY = "No fix ran yet.\nPress F on a check to see its commands."

    _fixes: Sequence[FixRun] = ()

    def show(self, fixes: Sequence[FixRun]) -> None:
        if fixes is not self._fixes:
            self._fixes = fixes
            self._to_the_end()

    def tick(self) -> None:
        """Update the time of a running fix; called every second."""
        if self._fixes and not self._fixes[-1].over:
            self.fold()

    def folded(self, width: int) -> Iterable[Row]:
        return fix_log_rows(self._fixes, width, self.clock, self.symbols) if width >= 10 else ()

    def on_resize(self) -> None:
        self._to_the_end()

    def _to_the_end(self) -> None:
        self.fold()
        self.set_reactive(LinePane.cursor, max(0, self.row_count() - 1))  # stays visible when the size changes
        self.action_bottom()
