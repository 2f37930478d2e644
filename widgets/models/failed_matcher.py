"""Failed steps without a match: the matcher that matched nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clawperator.engine.hierarchy.matcher import FIELDS
from clawperator.widgets.models.execution import ExecutionState, StepState, fields_in_words
from clawperator.widgets.models.status import Status

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
    """Return the fields of the matcher without a match; empty where unknown. They come from the payload, else from the
    Operator's message.
    """
    code = code_of(execution, step) if step is not None else execution.code
    fields = _of_action(_action(execution, step), code) if step is not None else {}
    fields = fields or (fields_in_words(execution.message) if execution.code in CODES else {})
    return {name: fields[name] for name in FIELDS if name in fields}


def _action(execution: ExecutionState, step: StepState | None) -> Mapping[str, Any]:
    actions = execution.payload.get("actions") if execution.payload is not None and step is not None else None
    found = [action for action in actions if isinstance(action, Mapping)] if isinstance(actions, list | tuple) else []
    return next((action for action in found if step is not None and action.get("id") == step.id), {})


def _of_action(action: Mapping[str, Any], code: str) -> Mapping[str, str]:
    params = action.get("params")
    container = params.get("container") if isinstance(params, Mapping) else None
    fields = container if code == "CONTAINER_NOT_FOUND" else matcher_of(action)
    if not isinstance(fields, Mapping):
        return {}
    return {str(name): value for name, value in fields.items() if isinstance(value, str) and value}
