"""The trees of an execution in order, and the steps between them. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clawperator.widgets.models.execution import ExecutionState, StepState, TreeMark


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
