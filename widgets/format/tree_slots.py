"""The snapshots of an execution, with the steps between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from clawperator.widgets.format.lines import Line, Row, column
from clawperator.widgets.format.slot import Sheet, Slot, plain
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.models.run_diff import TreeCounts
from clawperator.widgets.models.tree_sequence import StepsBetween, TreeTaken, tree_sequence
from clawperator.widgets.text.times import WallClock, time_ago

if TYPE_CHECKING:
    from clawperator.widgets.models.execution import ExecutionState

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
