"""Everything that is wrong with the draft, and what probably is: a list to go through."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from clawperator.widgets.format.lines import Line, Row, wrapped
from clawperator.widgets.format.slot import Slot, fixed
from clawperator.widgets.models.status import Status
from clawperator.widgets.slot_pane import SlotPane


class DraftProblem(NamedTuple):
    """``path`` leads to it, ``words`` say it; ``warning``: it does not stand in the way of running."""

    path: str
    words: str
    warning: bool = False


class ProblemList(SlotPane):
    """One complaint after the other, each folded to the pane; ``chosen`` is the one with the cursor."""

    EMPTY = "No problems."

    def __init__(self, *, id: str) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.complaints: Sequence[DraftProblem] = ()

    def show(self, complaints: Sequence[DraftProblem], empty: str = EMPTY) -> None:
        if (complaints, empty) != (self.complaints, self.empty_text):
            self.complaints, self.empty_text = complaints, empty
            self.rearrange()

    @property
    def chosen(self) -> int:
        """The index of the complaint with the cursor; -1 without any."""
        place, _ = self._anchor()
        return place[1] if isinstance(place, tuple) else -1

    def choose(self, index: int) -> None:
        """Put the cursor on a complaint."""
        row = self._index(lambda slot: slot.place == _place(index))
        if row is not None:
            self.move_to(row)

    def slots(self, width: int) -> Iterable[Slot]:
        for index, complaint in enumerate(self.complaints):
            yield from self._slots_of(index, complaint, width)

    def _slots_of(self, index: int, complaint: DraftProblem, width: int) -> Iterator[Slot]:
        status = Status.WARN if complaint.warning else Status.FAILED
        line = Line(width).add(f" {self.symbols.sign(status)} ", status.role)
        line.device(complaint.path or "payload", "strong")
        yield fixed(Row(line))._replace(place=_place(index), role=status.role)
        yield from map(fixed, wrapped(complaint.words, width, lead="   "))

    def action_choose(self) -> None:
        if self.row_count():
            self.post_message(self.RowChosen(self, self.cursor))


def _place(index: int) -> Hashable:
    return "complaint", index
