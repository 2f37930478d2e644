"""The steps of the draft as a list, and the payload they come to. Values in; what keys do is the screen's."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from clawperator.widgets.folded import FoldedText
from clawperator.widgets.format.draft import StepView, advice_rows, problem_rows, step_row
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.stream import json_rows
from clawperator.widgets.row_list import ListRow, RowList


class DraftSteps(RowList):
    """One row per step; the value of a row is the step's place in the draft."""

    EMPTY = "No steps yet.\n\ni in the tree adds one."

    def show(self, views: Sequence[StepView]) -> None:
        self.show_rows(
            ListRow(self._draw(index, view), value=index, role="fail" if view.problem else "")
            for index, view in enumerate(views)
        )

    def _draw(self, index: int, view: StepView) -> Any:
        return lambda width: step_row(index + 1, view, width, self.symbols)


class DraftPayload(FoldedText):
    """Problems first, then the JSON."""

    EMPTY = "The payload of the draft appears here."

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self._payload: Mapping[str, Any] | None = None
        self._problems: Sequence[tuple[str, str]] = ()
        self._advice: Sequence[str] = ()

    def show(
        self,
        payload: Mapping[str, Any] | None,
        *,
        problems: Sequence[tuple[str, str]] = (),
        advice: Sequence[str] = (),
        from_top: bool = False,
    ) -> None:
        """``problems`` are path and message; ``advice`` are sentences. The same content again keeps the place."""
        new = (payload, problems, advice)
        if from_top or new != (self._payload, self._problems, self._advice):
            self._payload, self._problems, self._advice = new
            self.fold(from_top=from_top)

    def folded(self, width: int) -> Iterable[Row]:
        return self._rows_for(width) if self._payload is not None and width >= 10 else ()

    def _rows_for(self, width: int) -> Iterator[Row]:
        yield from problem_rows(self._problems, width, self.symbols)
        yield from advice_rows(self._advice, width, self.symbols)
        if self._problems or self._advice:
            yield Row(Line(width))
        yield from json_rows(self._payload, width)
