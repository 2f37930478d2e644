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
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.failed_matcher import failed_at, unfound
from clawperator.widgets.models.snapshot import TreeSnapshot, unpack
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from textual.widget import Widget

    from clawperator.app.console.console import Console
    from clawperator.widgets.execution_detail import ExecutionDetail

ACTION = "explain_failure"


class Explanation(NamedTuple):
    """What can be shown; ``reason`` says why nothing can. ``at`` is when the step failed; ``nan``: unknown."""

    fields: Mapping[str, str]
    tree: TreeSnapshot = TreeSnapshot.EMPTY
    at: float = math.nan
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
    at = failed_at(execution, step)
    if not (tree := session.trees.nearest(at)).readable:
        return Explanation(fields, reason="There is no tree. Press r in Inspect to take one")
    return Explanation(fields, tree, at)


async def show(console: Console, wanted: Explanation) -> None:
    """Switch to mode 1 with the matcher in its line, on that tree."""
    from clawperator.widgets.format.outcome_block import tree_words  # not needed for the first frame

    trees = console.session.trees
    if wanted.tree.packed:
        trees.put(await asyncio.to_thread(unpack, wanted.tree))
    places = (back for back, tree in enumerate(trees) if tree.serial == wanted.tree.serial)
    trees.back = next(places, trees.back)
    console.go_to(MatcherPlace(Matcher.from_flat(wanted.fields)))
    console.show(Facet.TREE)
    words = tree_words(console.clock, wanted.tree.at, wanted.at - wanted.tree.at)
    console.say(Status.IDLE, f"This is the {words}")
