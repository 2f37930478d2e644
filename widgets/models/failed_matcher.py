"""Steps that failed because nothing matched: which matcher it was that found nothing. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clawperator.engine.hierarchy.matcher import FIELDS
from clawperator.widgets.models.execution import ExecutionState, StepState, fields_in_words
from clawperator.widgets.models.status import Status

MATCHERS = ("matcher", "target", "labelMatcher", "expectedNode")
"""Parameters that name the node of an action."""

CODES = frozenset({"NODE_NOT_FOUND", "CONTAINER_NOT_FOUND"})


def matcher_of(step: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The fields that find the node of a step; ``None`` for one without, or with something else in their place."""
    params = step.get("params")
    if not isinstance(params, Mapping):
        return None
    found = next((params[name] for name in MATCHERS if name in params), None)
    return found if isinstance(found, Mapping) and found else None


def unfound_step(execution: ExecutionState, place: int = -1) -> StepState | None:
    """The step at ``place`` if nothing was found for it, else the first such step; ``None`` without one."""
    steps = execution.steps
    chosen = steps[place : place + 1] if place >= 0 else []
    return next((step for step in (*chosen, *steps) if code_of(execution, step) in CODES), None)


def code_of(execution: ExecutionState, step: StepState) -> str:
    """Why a step failed; where it gave no code, the plan ended with that of the step."""
    return (step.code or execution.code) if step.status is Status.FAILED else ""


def unfound(execution: ExecutionState, step: StepState | None) -> Mapping[str, str]:
    """The fields of the matcher that found nothing; empty where it is not known.

    The payload has it; of a plan that ended with the failure, the device's own words name it too.
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
