"""Open the matcher of a failed step in mode 1, on the tree that the device had then."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple, cast

from clawperator.app.console.navigation import MatcherPlace
from clawperator.app.console.session import Facet, Session
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.models.execution import ExecutionState, StepState
from clawperator.widgets.models.failed_matcher import unfound
from clawperator.widgets.models.snapshot import TreeSnapshot, unpack
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from textual.widget import Widget

    from clawperator.app.console.console import Console
    from clawperator.widgets.execution_detail import ExecutionDetail

ACTION = "explain_failure"


class Explanation(NamedTuple):
    """What can be shown; ``reason`` says why nothing can. ``before``: the tree is from before the failure."""

    fields: Mapping[str, str]
    tree: TreeSnapshot = TreeSnapshot.EMPTY
    before: bool = False
    reason: str = ""


def explained(session: Session, focused: Widget | None) -> Explanation:
    """Return what can be shown of the execution with the focus."""
    execution = getattr(focused, "item", None) if hasattr(focused, "unfound_step") else None
    if not isinstance(execution, ExecutionState):
        return Explanation({}, reason="No execution is selected")
    step = cast("ExecutionDetail", focused).unfound_step
    fields = unfound(execution, step)
    if not fields:
        known = step is None or execution.payload is not None
        words = "No step failed because a node was not found" if step is None else "This step has no selector"
        return Explanation({}, reason=words if known else "The payload of this run is unknown, and so is its selector")
    if execution.device_id != session.device_id:
        return Explanation(fields, reason=f"It ran on {sentence(execution.device_id)}. D chooses that device")
    trees = [tree for tree in session.trees if tree.readable]
    if not trees:
        return Explanation(fields, reason="There is no tree. Press r in Inspect to take one")
    until = _failed_at(execution, step)
    before = next((tree for tree in trees if tree.at <= until), None)
    return Explanation(fields, before or trees[0], before is not None)


def _failed_at(execution: ExecutionState, step: StepState | None) -> float:
    ends = (step.ended if step is not None else math.nan, execution.ended)
    return next((end for end in ends if not math.isnan(end)), math.inf)


async def show(console: Console, wanted: Explanation) -> None:
    """Switch to mode 1 with the matcher in its line, on that tree."""
    trees = console.session.trees
    if wanted.tree.packed:
        trees.put(await asyncio.to_thread(unpack, wanted.tree))
    places = (back for back, tree in enumerate(trees) if tree.serial == wanted.tree.serial)
    trees.back = next(places, trees.back)
    console.go_to(MatcherPlace(Matcher.from_fields(wanted.fields)))
    console.show(Facet.TREE)
    at = console.clock.time_of_day(wanted.tree.at, tenths=False)
    words = (
        f"Tree of {at}, taken before the failure"
        if wanted.before
        else f"No tree from before the failure: this one is from {at}"
    )
    console.say(Status.IDLE, words)
