"""Two runs side by side, line by line."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from clawperator.widgets.format.lines import Line, Row, column
from clawperator.widgets.format.outcome_block import word_of
from clawperator.widgets.format.symbols import UNICODE, Symbols
from clawperator.widgets.format.tree_slots import counts_line
from clawperator.widgets.format.waterfall import milliseconds
from clawperator.widgets.models.execution import ExecutionState, StepState
from clawperator.widgets.models.run_diff import PhasePair, StepPair, TreeCounts, TreePair
from clawperator.widgets.text.times import WallClock, precise

_TIME = 8
_NOTABLE = 0.25
"""A duration that differs by this share is highlighted."""
_LEAST_NOTABLE = 0.2
"""Seconds: a smaller difference is noise."""
_UNSEEN = 0.0005
"""Seconds: a smaller difference is not shown."""


def run_row(letter: str, run: ExecutionState, width: int, clock: WallClock, symbols: Symbols = UNICODE) -> Row:
    """Return one of the two runs: letter, state, command, time."""
    line = Line(width).add(f" {letter} ", "key")
    line.add(f"{symbols.sign(run.status)} ", run.status.role)
    line.device(run.command_id, "strong", room=max(12, width - 44)).add("  ")
    line.add(word_of(run), run.status.role)
    if run.code:
        line.add("  ").device(run.code, "muted")
    took = precise(run.elapsed(clock.now())) if run.over else ""
    return Row(line, Line().add(f"{clock.time_of_day(run.started, tenths=False)}  {took} ", "muted"))


def section_row(title: str, words: str, width: int, *, opened: bool, differs: bool, symbols: Symbols = UNICODE) -> Row:
    """Return the heading of a section with its summary."""
    line = Line(width).add(f" {symbols.open if opened else symbols.closed} ", "muted").add(title, "strong")
    return Row(
        line.add(f"  {words} ", "changed" if differs else "faint").add(
            symbols.rule * max(0, width - line.cells - 1), "guide"
        )
    )


def step_row(number: int, pair: StepPair, width: int, symbols: Symbols = UNICODE) -> Row:
    """Return a step of both runs: state and duration of each, and the difference."""
    line = Line(width).add("   ").add(f"{number:>2} ", "faint")
    line.add(column(pair.type or "?", 19 if width >= 70 else 14), "strong" if pair.differs else "text").add(" ")
    if width >= 76:
        line.add(column(pair.id, 12 if width < 110 else 24), "muted").add(" ")
    _side(line, pair.a, symbols)
    line.add(f" {symbols.arrow} ", "faint")
    _side(line, pair.b, symbols)
    return Row(line, _delta(*pair.seconds, symbols))


def _side(line: Line, step: StepState | None, symbols: Symbols) -> None:
    if step is None:
        line.add(f"{'absent':>{_TIME + 2}}", "faint")
        return
    line.add(f"{symbols.sign(step.status)} ", step.status.role)
    line.add(f"{precise(step.ended - step.started) or 'not timed':>{_TIME}}"[-_TIME - 1 :], "muted")


def _delta(a: float, b: float, symbols: Symbols) -> Line | None:
    """Return ``+1.2 s`` where B took longer."""
    seconds = b - a
    if math.isnan(seconds) or abs(seconds) < _UNSEEN:
        return None
    sign = "+" if seconds >= 0 else symbols.removed
    notable = abs(seconds) >= _LEAST_NOTABLE and abs(seconds) >= _NOTABLE * max(a, b)
    return Line().add(f"{sign}{milliseconds(abs(seconds) * 1000)} ", "changed" if notable else "faint")


def phase_row(pair: PhasePair, width: int, symbols: Symbols = UNICODE) -> Row:
    line = Line(width).add("   ").add(column(pair.name, 10), "text").add(" ")
    for index, length in enumerate((pair.a, pair.b)):
        line.add(f" {symbols.arrow} " if index else "", "faint")
        line.add(f"{'absent' if math.isnan(length) else milliseconds(length):>10}", "muted")
    return Row(line, _delta(pair.a / 1000, pair.b / 1000, symbols))


def tree_row(pair: TreePair, counts: TreeCounts | None, width: int, symbols: Symbols = UNICODE) -> Row:
    """Return the trees of one step in both runs, with the known differences."""
    line = Line(width).add(f"   {symbols.match_first} ", "accent")
    line.add("step " if pair.step_id else "", "muted").device(pair.step_id or "outside any step", "text", room=30).add(
        "  "
    )
    if pair.a is None or pair.b is None:
        return Row(line.add(f"only in {'B' if pair.a is None else 'A'}", "warn"))
    if pair.a.key == pair.b.key:
        return Row(line.add("identical", "faint"), Line().add(f"{symbols.enter} ", "faint"))
    if counts is not None:
        return Row(line.extend(counts_line(counts, symbols)), Line().add(f"{symbols.enter} ", "faint"))
    sizes = f"{pair.a.characters:,} {symbols.arrow} {pair.b.characters:,} characters"
    return Row(line.add(sizes, "muted"), Line().add(f"{symbols.enter} ", "faint"))


def tree_words(pairs: Sequence[TreePair]) -> str:
    """Return how many trees can be compared."""
    alone = {"A": sum(1 for pair in pairs if pair.b is None), "B": sum(1 for pair in pairs if pair.a is None)}
    words = [
        f"{len(pairs) - sum(alone.values())} in both",
        *(f"{count} only in {run}" for run, count in alone.items() if count),
    ]
    return ", ".join(words) if pairs else "none"


def phase_words(a: ExecutionState, b: ExecutionState, symbols: Symbols = UNICODE) -> str:
    """Return the total of all phases of each run."""
    if not a.phases and not b.phases:
        return "unknown"
    sums = (milliseconds(sum(run.phases.values())) if run.phases else "unknown" for run in (a, b))
    return f" {symbols.arrow} ".join(sums)


def step_words(pairs: Sequence[StepPair]) -> str:
    """Return how many steps differ."""
    count = differing(pairs)
    if count:
        return f"{count} of {len(pairs)} differ" if len(pairs) > 1 else "1 differs"
    return f"{len(pairs)} equal" if pairs else "none"


def differing(pairs: Iterable[StepPair]) -> int:
    return sum(1 for pair in pairs if pair.differs)


def facts(run: ExecutionState) -> Mapping[str, str]:
    """Return the facts of a run that its row does not show."""
    return {"source": run.source, "device": run.device_id, "backend": run.backend, "mode": run.mode}
