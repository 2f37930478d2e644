"""The snapshots of an execution, with the steps between them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from clawperator.widgets.format.lines import Line, Row, column
from clawperator.widgets.format.slot import Sheet, Slot, plain
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.run_diff import TreeCounts
from clawperator.widgets.text.times import WallClock, time_ago

if TYPE_CHECKING:
    from clawperator.widgets.models.execution import ExecutionState, StepState, TreeMark

Known = Mapping[tuple[str, str], TreeCounts]
"""Known differences between two trees, by their keys."""


def tree_slots(execution: ExecutionState, sheet: Sheet, known: Known) -> Iterator[Slot]:
    """Yield one row per tree, newest last; between two of them the steps that ran, and what changed."""
    if not execution.trees:
        yield plain("No snapshots in this run. A snapshot_ui step takes one.", "muted")
        return
    for entry in tree_sequence(execution):
        if isinstance(entry, TreeTaken):
            draw = partial(seen_row, entry, clock=sheet.clock, symbols=sheet.symbols)
            yield Slot(draw, TreePlace(entry.mark.key, entry.mark.at))
        else:
            yield Slot(partial(between_row, entry, known=known, symbols=sheet.symbols))


class TreePlace(NamedTuple):
    """The place of a tree's row."""

    key: str
    at: float


def seen_row(seen: TreeTaken, width: int, clock: WallClock, symbols: Symbols = UNICODE) -> Row:
    """Return a tree: time, step, size, completeness."""
    mark = seen.mark
    line = (
        Line(width)
        .add(f" {symbols.match_first} ", "accent")
        .add(clock.time_of_day(mark.at, tenths=width >= 60), "muted")
        .add("  ")
    )
    line.add(column(seen.of, 18 if width < 100 else 36), "strong").add("  ")
    line.add(f"{mark.characters:,} characters", "muted")
    if not mark.complete:
        line.add("  incomplete", "warn")
    return Row(line, Line().add(f"{time_ago(clock.now() - mark.at)} {symbols.enter} ", "faint"))


def between_row(between: StepsBetween, width: int, known: Known, symbols: Symbols = UNICODE) -> Row:
    """Return the steps between two trees, and the known changes."""
    right = None
    counts = known.get((between.before, between.after)) if between.before and between.after else None
    if counts is not None:
        right = counts_line(counts, symbols).add(" ")
    line = Line(width).add(f" {symbols.guide} ", "guide")
    for index, words in enumerate(between.steps):
        line.add(f" {symbols.dot} " if index else "", "faint").device(words, "muted")
    return Row(line, right)


def counts_line(counts: TreeCounts, symbols: Symbols = UNICODE) -> Line:
    """Return ``+3 −1 ~4 ⇕2`` or ``no change``."""
    line = Line()
    if not counts:
        return line.add("no change", "faint")
    for sign, number, role in (
        (symbols.added, counts.added, "added"),
        (symbols.removed, counts.removed, "removed"),
        (symbols.changed, counts.changed, "changed"),
        (symbols.moved, counts.moved, "moved"),
    ):
        if number:
            line.add(" " if line.cells else "").add(f"{sign}{number:,}", role)
    return line


@dataclass(frozen=True, slots=True)
class TreeTaken:
    """A tree; ``of`` is the step that took it, in words."""

    mark: TreeMark
    of: str


@dataclass(frozen=True, slots=True)
class StepsBetween:
    """The steps between two trees, in words; ``before`` and ``after`` are keys, empty at the ends."""

    steps: tuple[str, ...]
    before: str = ""
    after: str = ""


def tree_sequence(execution: ExecutionState) -> list[TreeTaken | StepsBetween]:
    """Return trees and the steps between them; steps without a time are placed by number."""
    marks = sorted(execution.trees, key=lambda mark: mark.at)
    taken_by = {mark.step_id for mark in marks}
    rest = [(number, step) for number, step in enumerate(execution.steps, 1) if step.id not in taken_by]
    entries: list[TreeTaken | StepsBetween] = []
    before = ""
    for mark in marks:
        number = _number_of(execution, mark)
        ran = [item for item in rest if _ran_before(item, mark, number)]
        rest = [item for item in rest if item not in ran]
        if ran or before:
            entries.append(StepsBetween(tuple(_words(ran)), before, mark.key))
        entries.append(TreeTaken(mark, _taken_by(execution, mark, number)))
        before = mark.key
    if rest:
        entries.append(StepsBetween(tuple(_words(rest)), before))
    return entries


def _number_of(execution: ExecutionState, mark: TreeMark) -> int:
    return next((number for number, step in enumerate(execution.steps, 1) if step.id == mark.step_id), 0)


def _ran_before(item: tuple[int, StepState], mark: TreeMark, number: int) -> bool:
    place, step = item
    if number:
        return place < number
    return not math.isnan(step.started) and step.started <= mark.at


def _taken_by(execution: ExecutionState, mark: TreeMark, number: int) -> str:
    if number:
        return f"step {number}  {mark.step_id}"
    if mark.step_id:
        return f"step {mark.step_id}"
    later = (number for number, step in enumerate(execution.steps, 1) if step.started > mark.at)
    following = next(later, 0)
    return f"before step {following}" if following else "outside any step"


def _words(items: list[tuple[int, StepState]]) -> Iterator[str]:
    return (f"{number} {step.type or step.id}" for number, step in items)
