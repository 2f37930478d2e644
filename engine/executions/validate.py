"""Validation of payloads (execution.md#validation). Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from itertools import repeat
from typing import Any, Literal, NamedTuple

from pydantic import ValidationError

from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.contracts.aliases import IMPLIED_PARAMS, canonical, spelled
from clawperator.engine.contracts.execution import Action, Execution
from clawperator.engine.contracts.generation import require_generation
from clawperator.engine.contracts.issues import Issue, Warning_, shown
from clawperator.engine.contracts.limits import (
    DEFAULT_MODE,
    MAX_EXECUTION_TIMEOUT_MS,
    MAX_PAYLOAD_BYTES,
    MIN_EXECUTION_TIMEOUT_MS,
)
from clawperator.engine.contracts.payload import PayloadPlan, PayloadStep
from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.contracts.vocabulary import UnsupportedType, is_number, issues
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.advice import advice

__all__ = ["Profile", "Validated", "Warning_", "parse_json", "require_generation", "validate"]

Profile = Literal["classic", "flat"]

MAX_ISSUES = 100
"""Limit of the issues in one error: an answer must not be larger than a hostile payload."""
_ISSUES_IN_REASON = 5
_TIMEOUT = f"Give whole milliseconds, {MIN_EXECUTION_TIMEOUT_MS} to {MAX_EXECUTION_TIMEOUT_MS}."
_MATCHERS = ("matcher", "target", "container")
_RAW_SHOWN = 512
"""Characters of an id or type in the details."""


class Validated(NamedTuple):
    """``payload`` is the normalised payload, ``wire`` the exact JSON text for the device."""

    execution: Execution
    payload: dict[str, Any]
    wire: str
    warnings: tuple[Warning_, ...]

    def to_answer(self) -> dict[str, Any]:
        """Return the answer to a request that only validates."""
        answer: dict[str, Any] = {"ok": True, "validated": True, "execution": self.payload}
        if self.warnings:
            answer["warnings"] = [warning.to_dict() for warning in self.warnings]
        return answer


def validate(payload: object, *, timeout_ms: object = None, profile: Profile = "classic") -> Validated:
    """Check and normalise a parsed payload; ``timeout_ms`` replaces its own unless ``None``.

    Raises ``EXECUTION_VALIDATION_FAILED`` or ``EXECUTION_ACTION_UNSUPPORTED``, whichever the first issue is, with
    ``details.{path, reason, issues}`` and, where they apply, ``actionId``, ``actionType``, ``invalidKeys``, ``hint``,
    ``supportedTypes``; and ``PAYLOAD_TOO_LARGE``.
    """
    execution = _execution(payload, profile)
    if timeout_ms is not None:
        execution = execution.with_timeout(_override(timeout_ms))
    wire = execution.wire_json()
    size = len(wire.encode())
    if size > MAX_PAYLOAD_BYTES:
        raise EngineError(
            ErrorCode.PAYLOAD_TOO_LARGE,
            f"Payload exceeds {MAX_PAYLOAD_BYTES} bytes (got {size})",
            details={"limit": MAX_PAYLOAD_BYTES, "actual": size},
        )
    return Validated(execution, execution.to_payload(), wire, tuple(advice(execution)))


def strictly(validated: Validated) -> Validated:
    """Return the plan in which each action refuses several matches that does not say whether it does; a compiled one says all it wants."""
    execution = validated.execution
    if execution.mode != DEFAULT_MODE:
        return validated
    actions = tuple(
        replace(action, params={**action.params, "strict": True}) if _may_be_strict(action) else action
        for action in execution.actions
    )
    plan = replace(execution, actions=actions)
    payload = {**validated.payload, "actions": plan.to_payload()["actions"]}
    return Validated(plan, payload, plan.wire_json(), validated.warnings)


def _may_be_strict(action: Action) -> bool:
    spec, params = ACTIONS.get(action.type), action.params
    takes = spec is not None and "strict" in spec.model_fields and "strict" not in params and not params.get("all")
    return takes and any(name in params for name in _MATCHERS)


def _execution(payload: Any, profile: Profile) -> Execution:
    try:
        plan = PayloadPlan.model_validate(payload, context=profile)
    except ValidationError as exc:
        raise _refusal(payload, issues(exc.errors(include_url=False), payload)[:MAX_ISSUES]) from None
    return Execution(
        command_id=plan.commandId,
        task_id=plan.taskId,
        source=plan.source,
        timeout_ms=plan.timeoutMs,
        actions=tuple(map(_action, plan.actions, payload["actions"], repeat(profile))),
        mode=plan.mode,
    )


def _action(step: PayloadStep, given: Mapping[str, Any], profile: Profile) -> Action:
    """Return the action of ``step`` with normalised parameters; those that it does not use stay as ``given``."""
    action_type = canonical(step.type)
    own = step.params.model_dump(exclude_unset=True)
    params = {name: own[name] if name in own else deepcopy(value) for name, value in given.get("params", {}).items()}
    params |= IMPLIED_PARAMS.get(spelled(step.type), {})
    if action_type == "scroll_and_click":
        params = _one_target_name(params, "target" if profile == "classic" else "matcher")
    return Action(step.id, action_type, params)


def _refusal(payload: object, found: Sequence[Issue]) -> EngineError:
    first = found[0]
    reasons = [
        issue.message if not issue.path or f"`{issue.path}`" in issue.message else f"{issue.path}: {issue.message}"
        for issue in found[:_ISSUES_IN_REASON]
    ]
    if len(found) > _ISSUES_IN_REASON:
        reasons.append(f"and {len(found) - _ISSUES_IN_REASON} more")
    details: dict[str, Any] = {
        "path": first.path,
        "reason": "; ".join(reasons),
        "issues": [{"path": issue.path, "message": issue.message} for issue in found],
        **_offender(payload, first.path),
    }
    if first.invalid_keys:
        details["invalidKeys"] = list(first.invalid_keys)
    if first.hint:
        details["hint"] = first.hint
    if _is_action(payload):
        message = "The payload is one action, and a plan has a list of them"
        hint = 'Put it into a list: {"actions": [<the action>]}'
        return EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED, message, hint=hint, details={**details, "path": "actions"}
        )
    hint = first.hint or ("Correct the value at details.path." if first.path else "")
    if isinstance(first, UnsupportedType):
        details["supportedTypes"] = list(ACTIONS)
        return EngineError(ErrorCode.EXECUTION_ACTION_UNSUPPORTED, first.message, hint=first.hint, details=details)
    return EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, first.message, hint=hint, details=details)


def _is_action(payload: object) -> bool:
    return isinstance(payload, Mapping) and "type" in payload and payload.keys().isdisjoint(("actions", "commandId"))


def _offender(payload: object, path: str) -> dict[str, Any]:
    """Return ``actionId`` and ``actionType`` of the action at ``path``, as given."""
    parts = path.split(".")
    if len(parts) < 2 or parts[0] != "actions" or not isinstance(payload, dict):
        return {}
    action = payload["actions"][int(parts[1])]
    if not isinstance(action, dict):
        return {}
    named = {"actionId": action.get("id"), "actionType": action.get("type")}
    return {key: shown(value, _RAW_SHOWN) for key, value in named.items() if isinstance(value, str)}


def _one_target_name(params: dict[str, Any], name: str) -> dict[str, Any]:
    target = params.get("target", params.get("matcher"))
    others = {key: value for key, value in params.items() if key not in ("target", "matcher")}
    return {name: target, **others}


def _override(timeout_ms: object) -> int:
    if not is_number(timeout_ms) or timeout_ms in (math.inf, -math.inf):
        raise EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, "timeoutMs must be a finite number", hint=_TIMEOUT)
    if not MIN_EXECUTION_TIMEOUT_MS <= timeout_ms <= MAX_EXECUTION_TIMEOUT_MS:
        limits = f"{MIN_EXECUTION_TIMEOUT_MS} and {MAX_EXECUTION_TIMEOUT_MS}"
        raise EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, f"timeoutMs must be between {limits}", hint=_TIMEOUT)
    if timeout_ms != int(timeout_ms):
        raise EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, "timeoutMs must be an integer", hint=_TIMEOUT)
    return int(timeout_ms)
