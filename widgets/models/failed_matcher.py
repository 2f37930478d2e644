"""Failed steps without a match: the matcher that matched nothing. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from clawperator.engine.hierarchy.explain import explain_tree, is_near
from clawperator.engine.hierarchy.matcher import FIELDS, RELATIONS, Matcher
from clawperator.engine.hierarchy.queries import miss
from clawperator.engine.logcat.stages import fields_in_words
from clawperator.widgets.models.execution import ExecutionState, StepState
from clawperator.widgets.models.execution_queries import near_words
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.matcher_text import matcher_text

MATCHERS = ("matcher", "target", "labelMatcher", "expectedNode")
"""Parameters with the matcher of an action's node."""

CODES = frozenset({"NODE_NOT_FOUND", "CONTAINER_NOT_FOUND"})


def matcher_of(step: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the matcher fields of a step; ``None`` without valid ones."""
    params = step.get("params")
    if not isinstance(params, Mapping):
        return None
    found = next((params[name] for name in MATCHERS if name in params), None)
    return found if isinstance(found, Mapping) and found else None


def unfound_step(execution: ExecutionState, place: int = -1) -> StepState | None:
    """Return the step at ``place`` if it had no match, else the first such step."""
    steps = execution.steps
    chosen = steps[place : place + 1] if place >= 0 else []
    return next((step for step in (*chosen, *steps) if code_of(execution, step) in CODES), None)


def code_of(execution: ExecutionState, step: StepState) -> str:
    """Return why a step failed; without a code of its own, that of the plan."""
    return (step.code or execution.code) if step.status is Status.FAILED else ""


def unfound(execution: ExecutionState, step: StepState | None) -> Mapping[str, str]:
    """Return the fields (``Matcher.flat``) of the matcher without a match, by the payload, else by the Operator's message."""
    code = code_of(execution, step) if step is not None else execution.code
    fields = _of_action(_action(execution, step), code) if step is not None else {}
    fields = fields or (fields_in_words(execution.message) if execution.code in CODES else {})
    return {name: value for name, value in fields.items() if name.rpartition(".")[2] in FIELDS}


class FailureCard(NamedTuple):
    """Why a step found no node: its selector and the nearest nodes, of the tree that was read ``age`` seconds before it
    failed (negative: afterwards; ``nan``: unknown). ``matches`` are the nodes that it does match on that tree.
    """

    selector: str
    near: tuple[str, ...] = ()
    matches: int = 0
    age: float = math.nan
    at: float = math.nan
    """When the tree was read; ``nan`` while it is not at hand."""


_MOST_NODES = 20_000
"""A larger tree would hold up the keys; ``m`` explains the selector there."""


def failure_card(execution: ExecutionState, screen: TreeSnapshot = TreeSnapshot.EMPTY) -> FailureCard | None:
    """Return why a step of a run found no node, by the engine's answer, else by the tree ``screen``."""
    step = unfound_step(execution)
    fields = unfound(execution, step)
    if not fields or not execution.over:
        return None
    try:
        matcher = Matcher.from_flat(fields)
    except ValueError:
        return None
    details = (execution.outcome.get("error") or {}).get("details") or {}
    nearest, at = details.get("nearest"), screen.at if screen else math.nan
    if nearest is not None:
        age = (details.get("tree") or {}).get("ageMs")
        age = math.nan if age is None else age / 1000
        return FailureCard(matcher_text(matcher), tuple(near_words(nearest)), details.get("matches", 0), age, at)
    if screen.tree is None or len(screen.nodes) > _MOST_NODES:
        return FailureCard(matcher_text(matcher))
    explanation = explain_tree(screen.tree, matcher)
    near = tuple(near_words(miss(each) for each in explanation.nearest if is_near(each)))
    return FailureCard(matcher_text(matcher), near, explanation.matches, failed_at(execution, step) - at, at)


def failed_at(execution: ExecutionState, step: StepState | None) -> float:
    """Return when a step failed, else when the run ended."""
    return step.ended if step is not None and not math.isnan(step.ended) else execution.ended


def _action(execution: ExecutionState, step: StepState | None) -> Mapping[str, Any]:
    actions = execution.payload.get("actions") if execution.payload is not None and step is not None else None
    found = [action for action in actions if isinstance(action, Mapping)] if isinstance(actions, list | tuple) else []
    return next((action for action in found if step is not None and action.get("id") == step.id), {})


def _of_action(action: Mapping[str, Any], code: str) -> Mapping[str, str]:
    params = action.get("params")
    container = params.get("container") if isinstance(params, Mapping) else None
    if code == "CONTAINER_NOT_FOUND":
        return _flat(container)
    fields = _flat(matcher_of(action))
    return fields | _flat(container, "container.") if fields else {}


def _flat(fields: object, place: str = "") -> dict[str, str]:
    """Return the texts of a matcher of a payload, as ``Matcher.flat``."""
    found: dict[str, str] = {}
    for name, value in fields.items() if isinstance(fields, Mapping) else ():
        if name in RELATIONS and place.count(".") < 2:
            found |= _flat(value, f"{place}{name}.")
        elif name in FIELDS and isinstance(value, str) and value:
            found[f"{place}{name}"] = value
    return found
