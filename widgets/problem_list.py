"""Errors and warnings of the draft as a list."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.format.slot import Slot, fixed
from clawperator.widgets.models.status import Status
from clawperator.widgets.row_panes import SlotPane


class DraftProblem(NamedTuple):
    """``path`` is its place, ``words`` the message; a ``warning`` does not prevent running."""

    path: str
    words: str
    warning: bool = False


class ProblemList(SlotPane):
    """All problems, wrapped; ``chosen`` is the selected one."""

    EMPTY = "No problems."

    def __init__(self, *, id: str) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.problems: Sequence[DraftProblem] = ()

    def show(self, problems: Sequence[DraftProblem], empty: str = EMPTY) -> None:
        if (problems, empty) != (self.problems, self.empty_text):
            self.problems, self.empty_text = problems, empty
            self.rearrange()

    @property
    def chosen(self) -> int:
        """Return the index of the selected problem; -1 without one."""
        place, _ = self._anchor()
        return place[1] if isinstance(place, tuple) else -1

    def choose(self, index: int) -> None:
        row = self._index(lambda slot: slot.place == _place(index))
        if row is not None:
            self.move_to(row)

    def slots(self, width: int) -> Iterable[Slot]:
        for index, problem in enumerate(self.problems):
            yield from self._slots_of(index, problem, width)

    def _slots_of(self, index: int, problem: DraftProblem, width: int) -> Iterator[Slot]:
        status = Status.WARN if problem.warning else Status.FAILED
        line = Line(width).add(f" {self.symbols.sign(status)} ", status.role)
        line.device(problem.path or "payload", "strong")
        yield fixed(Row(line))._replace(place=_place(index), role=status.role)
        yield from map(fixed, wrapped(problem.words, width, lead="   "))

    def action_choose(self) -> None:
        if self.row_count():
            self.post_message(self.RowChosen(self, self.cursor))


def _place(index: int) -> Hashable:
    return "problem", index
