"""What fixes said, the newest last and in sight."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from clawperator.widgets.format.fix_lines import fix_log_rows
from clawperator.widgets.format.lines import Row
from clawperator.widgets.line_pane import LinePane
from clawperator.widgets.models.fix_run import FixRun
from clawperator.widgets.text.times import WallClock
from clawperator.widgets.wrapped_text import WrappedText


class FixLog(WrappedText):
    """``show`` gives it the fixes of the session. While a fix is at work, the view stays with its newest line."""

    EMPTY = "No fix was run yet.\nF on a check shows what it would run."

    def __init__(self, clock: WallClock, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self._clock = clock
        self._fixes: Sequence[FixRun] = ()

    def show(self, fixes: Sequence[FixRun]) -> None:
        if fixes is not self._fixes:
            self._fixes = fixes
            self._to_the_end()

    def tick(self) -> None:
        """A second has passed: what runs has taken longer."""
        if self._fixes and not self._fixes[-1].over:
            self.fold()

    def folded(self, width: int) -> Iterable[Row]:
        return fix_log_rows(self._fixes, width, self._clock, self.symbols) if width >= 10 else ()

    def on_resize(self) -> None:
        super().on_resize()
        self._to_the_end()

    def _to_the_end(self) -> None:
        self.fold()
        self.set_reactive(LinePane.cursor, max(0, self.row_count() - 1))  # what is kept in sight when the size changes
        self.action_bottom()
