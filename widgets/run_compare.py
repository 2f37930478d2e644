"""Two runs, A and B, and their differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

from textual.message import Message

from clawperator.widgets import keys
from clawperator.widgets.format.changes import change_slots
from clawperator.widgets.format.compare_lines import (
    differing,
    facts,
    phase_row,
    phase_words,
    run_row,
    section_row,
    step_row,
    step_words,
    tree_row,
    tree_words,
)
from clawperator.widgets.format.lines import Line, Row
from clawperator.widgets.format.slot import BLANK, Sheet, Slot, plain
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.run_diff import (
    StepPair,
    TreeCounts,
    TreePair,
    ValueChange,
    phase_pairs,
    step_pairs,
    tree_pairs,
    value_changes,
)
from clawperator.widgets.row_panes import FoldState, SlotPane


class TreesPlace(NamedTuple):
    """Place of a row about two trees: their keys."""

    a: str
    b: str


class RunCompare(SlotPane):
    """Compares two runs; the differences are computed once."""

    BINDINGS = keys.binding_list("compare")
    HEAD_ROWS: ClassVar[int] = 2

    EMPTY = "Mark two runs, A and B, to compare them."

    @dataclass(eq=False)
    class TreesWanted(Message):
        """Enter on the trees of a step: their ``TreeMark.key`` in both runs."""

        a_key: str
        b_key: str

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  # Textual's own name
        super().__init__(id=id)
        self.a: ExecutionState | None = None
        self.b: ExecutionState | None = None
        self._steps: list[StepPair] = []
        self._trees: list[TreePair] = []
        self._payload: list[ValueChange] | None = None
        self._envelope: list[ValueChange] | None = None
        self._counts: dict[tuple[str, str], TreeCounts] = {}

    def show(self, a: ExecutionState | None, b: ExecutionState | None) -> None:
        """Compare ``a`` with ``b``; the same two keep the place."""
        same = a is self.a and b is self.b
        self.a, self.b = a, b
        if a is not None and b is not None:
            self._steps, self._trees = step_pairs(a, b), tree_pairs(a, b)
            self._payload = _differences(a.payload, b.payload)
            self._envelope = _differences(a.envelope, b.envelope)
        if same:
            self.rearrange()
        else:
            self.visit(FoldState())
        self.refresh()

    def show_changes(self, counts: Mapping[tuple[str, str], TreeCounts]) -> None:
        """Take differences of trees, by the keys of A's and B's."""
        self._counts.update(counts)
        self.rearrange()

    @property
    def tree_keys(self) -> list[tuple[str, str]]:
        """Return the keys of all comparable trees."""
        return [(pair.a.key, pair.b.key) for pair in self._trees if pair.a is not None and pair.b is not None]

    def head(self, y: int, width: int) -> Row:
        run = self.b if y else self.a
        if run is None or self.a is None or self.b is None:
            return Row(Line(width))
        return run_row("B" if y else "A", run, width, self.clock, self.symbols)

    # -- rows

    def slots(self, width: int) -> Iterable[Slot]:
        if self.a is None or self.b is None:
            return ()
        return self._all(self.a, self.b, self.sheet(width))

    def _all(self, a: ExecutionState, b: ExecutionState, sheet: Sheet) -> Iterator[Slot]:
        different = value_changes(facts(a), facts(b))
        for change in different:
            yield from change_slots(("fact",), change, sheet, indent=3)
        if different:
            yield BLANK
        steps, trees = self._step_slots(sheet), self._tree_slots(sheet)
        yield from _section("steps", step_words(self._steps), sheet, steps, differs=bool(differing(self._steps)))
        yield from _section("trees", tree_words(self._trees), sheet, trees)
        yield from _values("payload", self._payload, "The payload of one run is unknown.", sheet, by_itself=True)
        yield from _values("envelope", self._envelope, "One run has no envelope.", sheet, by_itself=False)
        phases = _phase_slots(a, b, sheet)
        yield from _section("phases", phase_words(a, b, sheet.symbols), sheet, phases, by_itself=False)

    def _step_slots(self, sheet: Sheet) -> Iterator[Slot]:
        if not self._steps:
            yield plain("No step was reported in either run.", "muted", indent=3)
        for number, pair in enumerate(self._steps, 1):
            draw = partial(step_row, number, pair, symbols=sheet.symbols)
            yield Slot(draw, ("step", number), role="changed" if pair.differs else "")
            for change in pair.data:
                for slot in change_slots(("datum", number), change, sheet, indent=8):
                    yield slot._replace(role="")  # they are marked at their step

    def _tree_slots(self, sheet: Sheet) -> Iterator[Slot]:
        if not self._trees:
            yield plain("Neither run has a snapshot.", "muted", indent=3)
        for pair in self._trees:
            place = TreesPlace(pair.a.key, pair.b.key) if pair.a is not None and pair.b is not None else None
            counts = self._counts.get(place) if place is not None else None
            yield Slot(partial(tree_row, pair, counts, symbols=sheet.symbols), place)

    # -- keys

    def action_choose(self) -> None:
        place = self.slot.place if self.slot is not None else None
        if isinstance(place, TreesPlace):
            self.post_message(self.TreesWanted(*place))
        else:
            self.action_fold()


def _section(
    title: str, words: str, sheet: Sheet, inside: Iterator[Slot], *, differs: bool = False, by_itself: bool = True
) -> Iterator[Slot]:
    """Yield a heading and, while open, its content."""
    place = ("part", title)
    opened = sheet.is_open(place, by_itself)
    yield Slot(partial(section_row, title, words, opened=opened, differs=differs, symbols=sheet.symbols), place, opened)
    if opened:
        yield from inside


def _values(
    title: str, changes: list[ValueChange] | None, unknown: str, sheet: Sheet, *, by_itself: bool
) -> Iterator[Slot]:
    if changes is None:
        yield from _section(title, "not comparable", sheet, iter([plain(unknown, "muted", indent=3)]))
        return
    real = sum(1 for change in changes if not change.expected)
    words = f"{real:,} difference{'s' * (real != 1)}" if real else "no differences"
    slots = (slot for change in changes for slot in change_slots((title,), change, sheet, indent=3))
    yield from _section(title, words, sheet, slots, differs=bool(real), by_itself=by_itself)


def _phase_slots(a: ExecutionState, b: ExecutionState, sheet: Sheet) -> Iterator[Slot]:
    pairs = phase_pairs(a.phases, b.phases)
    if not pairs:
        yield plain("Phases are unknown for both runs.", "muted", indent=3)
    for pair in pairs:
        yield Slot(partial(phase_row, pair, symbols=sheet.symbols), ("phase", pair.name))


def _differences(a: Any, b: Any) -> list[ValueChange] | None:
    """Return ``None`` where one value is missing."""
    return None if a is None or b is None else value_changes(a, b)
