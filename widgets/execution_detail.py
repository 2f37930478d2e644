"""One execution in full: its steps on a time line, its envelope as JSON, its raw text."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from enum import Enum
from typing import TYPE_CHECKING, ClassVar

from clawperator.widgets import keys
from clawperator.widgets.folded import FoldedText
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.stream import data_rows, entry_rows, headline, json_rows, live_row, raw_rows, step_row
from clawperator.widgets.format.times import Clock
from clawperator.widgets.models.executions import Execution, Item, Mark

if TYPE_CHECKING:
    from textual.binding import BindingType

    from clawperator.engine.logcat.entries import LogEntry


class Tab(Enum):
    """What is shown of an execution; ``h`` and ``l`` go round."""

    STEPS = "Steps"
    ENVELOPE = "Envelope"
    RAW = "Raw"


class ExecutionDetail(FoldedText):
    """``show`` swaps the execution; it is drawn again when its generation changed."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.bindings("detail")]

    EMPTY = "Choose an execution."

    def __init__(self, *, id: str | None = None, clock: Clock | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.clock = clock or Clock()
        self.tab = Tab.STEPS
        self.item: Item | LogEntry | None = None
        self._look: Hashable = None

    def show(self, item: Item | LogEntry | None) -> None:
        """Draw an execution, a mark or a log line; the same one again keeps the place."""
        other = item is not self.item
        look = _look_of(item)
        if not other and look == self._look:
            return
        self.item, self._look = item, look
        self.fold(from_top=other)

    def action_tab(self, step: int) -> None:
        tabs = tuple(Tab)
        self.tab = tabs[(tabs.index(self.tab) + step) % len(tabs)]
        self.fold(from_top=True)

    def folded(self, width: int) -> Iterable[Row]:
        if self.item is None or width < 10:
            return ()
        if isinstance(self.item, Mark):
            return self._mark(self.item, width)
        if isinstance(self.item, Execution):
            return self._execution(self.item, width)
        return entry_rows(self.item, width, self.clock)

    def _mark(self, mark: Mark, width: int) -> Iterator[Row]:
        yield Row(Line(width).add(f" {mark.kind} ", "warn").device(mark.text, "text"))
        if mark.raw:
            yield Row(Line(width))
            yield from raw_rows(mark.raw, 0, width)

    def _execution(self, execution: Execution, width: int) -> Iterator[Row]:
        yield from headline(execution, width, self.clock, self.symbols)
        yield self._tabs(width)
        if self.tab is Tab.STEPS:
            yield from self._steps(execution, width)
        elif self.tab is Tab.ENVELOPE:
            yield from self._envelope(execution, width)
        else:
            yield from self._raw(execution, width)

    def _tabs(self, width: int) -> Row:
        line = Line(width).add(" ")
        for tab in Tab:
            if tab is self.tab:
                line.add(f"{self.symbols.cursor}{tab.value} ", "accent")
            else:
                line.add(f" {tab.value} ", "muted")
        return Row(line.add(self.symbols.rule * max(0, width - line.cells - 1), "guide"))

    def _steps(self, execution: Execution, width: int) -> Iterator[Row]:
        end = self.clock.now() if math.isnan(execution.ended) else execution.ended
        span = (execution.started, end)
        if not execution.steps:
            words = "No step has been reported." if execution.over else "No step yet."
            yield Row(Line(width).add(f" {words}", "muted"))
        for index, step in enumerate(execution.steps, 1):
            yield step_row(step, index, span, width, self.symbols)
            yield from data_rows(step, width)
        if execution.lines:
            yield Row(Line(width))
            yield Row(Line(width).add(" as it happened", "faint"))
            for live in execution.lines:
                yield live_row(live, width, self.clock, self.symbols)

    def _envelope(self, execution: Execution, width: int) -> Iterator[Row]:
        if execution.envelope is None:
            words = execution.problem or ("no envelope came" if execution.over else "no envelope yet")
            yield Row(Line(width).add(" ").device(words, "muted"))
        else:
            yield from json_rows(execution.envelope, width)

    def _raw(self, execution: Execution, width: int) -> Iterator[Row]:
        if not execution.raw:
            yield Row(Line(width).add(" Nothing raw has been seen.", "muted"))
            return
        if execution.parts > 1:
            yield Row(Line(width).add(f" joined from {execution.parts} log entries", "faint"))
        yield from raw_rows(execution.raw, execution.raw_hidden, width)


def _look_of(item: Item | LogEntry | None) -> Hashable:
    """What tells whether an execution has changed since it was drawn; one that runs changes with the time."""
    if not isinstance(item, Execution):
        return None
    return (
        len(item.lines),
        item.lines[-1].at if item.lines else 0,
        item.status,
        item.duplicates,
        object() if not item.over else None,
    )
