"""Warnings about a valid execution that will probably not do what its author meant (execution.md#warnings)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.contracts.execution import Action, Execution
from clawperator.engine.contracts.issues import Warning_, joined
from clawperator.engine.contracts.matcher import FIELDS, RELATIONS, NodeMatcher
from clawperator.engine.contracts.roles import ROLE_NAMES


def advice(execution: Execution) -> Iterator[Warning_]:
    """Warnings in payload order, then those about the plan as a whole."""
    for index, action in enumerate(execution.actions):
        path = joined("actions", index, "params")
        yield from _unused(action, path)
        for name, matcher in _matchers(action):
            yield from _matcher_advice(matcher, joined(path, name))
    yield from _late_closes(execution)
    yield from _screenshots(execution)
    yield from _sleeps(execution)


def _unused(action: Action, path: str) -> Iterator[Warning_]:
    for name in action.params:
        if name not in ACTIONS[action.type].model_fields:
            yield Warning_(
                "PARAM_UNUSED", joined(path, name), f"{action.type} does not use params.{name}; it is not sent"
            )


def _matchers(action: Action) -> Iterator[tuple[str, Mapping[str, str]]]:
    fields = ACTIONS[action.type].model_fields
    for name, value in action.params.items():
        if name in fields and fields[name].annotation is NodeMatcher:
            yield name, value


def _matcher_advice(matcher: Mapping[str, Any], path: str) -> Iterator[Warning_]:
    role = matcher.get("role", "")
    if role and role.lower() not in ROLE_NAMES:
        looks_like = " It looks like a class name." if "." in role else ""
        yield Warning_("ROLE_UNKNOWN", joined(path, "role"), f"No node ever has the role '{role}'.{looks_like}")
    for relation in RELATIONS:
        if relation in matcher:
            yield from _matcher_advice(matcher[relation], joined(path, relation))
    for field in FIELDS:
        if "%" in matcher.get(field, ""):
            yield Warning_(
                "MATCHER_PERCENT",
                joined(path, field),
                "The Operator may crash instead of reporting that a matcher with % found nothing",
            )


def _late_closes(execution: Execution) -> Iterator[Warning_]:
    first_other = next((i for i, action in enumerate(execution.actions) if action.type != "close_app"), 0)
    for index, action in enumerate(execution.actions):
        if action.type == "close_app" and index > first_other:
            message = "Apps are closed before the whole plan runs, not at this point of it"
            yield Warning_("CLOSE_APP_NOT_FIRST", joined("actions", index), message)


def _screenshots(execution: Execution) -> Iterator[Warning_]:
    at = [index for index, action in enumerate(execution.actions) if action.type == "take_screenshot"]
    if len(at) > 1:
        message = "All screenshots are taken after the plan and show the same screen"
        yield Warning_("SCREENSHOTS_SEVERAL", joined("actions", at[1]), message)
    if at and any(action.type != "take_screenshot" for action in execution.actions[at[0] :]):
        message = "The screenshot is taken after the plan and shows what later actions did"
        yield Warning_("SCREENSHOT_NOT_LAST", joined("actions", at[0]), message)


def _sleeps(execution: Execution) -> Iterator[Warning_]:
    asleep = sum(action.params["durationMs"] for action in execution.actions if action.type == "sleep")
    if asleep >= execution.timeout_ms:
        message = f"The plan sleeps for {asleep} ms and has {execution.timeout_ms} ms in all"
        yield Warning_("SLEEP_EXCEEDS_TIMEOUT", "timeoutMs", message)
