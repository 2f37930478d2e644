"""Payloads of the single-action commands (execution.md#ids)."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from clawperator.engine import verbs
from clawperator.engine.contracts.limits import (
    DOCTOR_SOURCE,
    EXPECTED_FORMAT,
    MAX_EXECUTION_TIMEOUT_MS,
    SLOW_SCROLL_MS,
)
from clawperator.engine.verbs.catalogue import VERBS

if TYPE_CHECKING:
    from clawperator.engine.contracts.execution import Action

Matcher = Mapping[str, Any]
"""A matcher as JSON data (execution.md#matcher)."""
Limits = Mapping[str, Any]
"""``container``, ``strict``, ``nth`` and ``within`` of an action; ``None`` where not given."""
NO_LIMITS: Limits = {}
_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"


SPARE_MS = verbs.SPARE_MS


class DefaultLimit(int):
    """A default time limit: where the device is slow, it is extended."""


DEFAULT_TIMEOUT_MS = DefaultLimit(30_000)
TYPED_MS = 60
"""What one character takes that is typed by a key event, on a slow phone."""


def generated_id(name: str, separator: str = "-") -> str:
    """Return ``<name>-<epochMs>-<7 base36>``: unpredictable, so that no other app can forge its result in the log."""
    tail = "".join(_BASE36[byte % 36] for byte in os.urandom(7))
    return f"{name}{separator}{time.time_ns() // 1_000_000}{separator}{tail}"


def completed(payload: object, source: str = "clawperator-execute", name: str = "execute") -> object:
    """Return a plan of actions with the other fields of an execution (execution.md#a-plan-of-actions-only).

    A list, or an object that has ``actions``, gets the fields and step ids that it lacks; anything else is returned
    as it is, for the validation to refuse.
    """
    plan = {"actions": payload} if isinstance(payload, list) else payload
    if not isinstance(plan, Mapping) or "actions" not in plan:
        return payload
    command_id = generated_id(name)
    header = {
        "commandId": command_id,
        "taskId": plan.get("commandId", command_id),
        "source": source,
        "expectedFormat": EXPECTED_FORMAT,
        "timeoutMs": DEFAULT_TIMEOUT_MS,
    }
    return {**header, **plan, "actions": _with_ids(plan["actions"])}


def _with_ids(actions: object) -> object:
    """Number the actions that have no id: ``s1`` is the first one of the plan."""
    if not isinstance(actions, list):
        return actions
    taken = {action["id"] for action in actions if isinstance(action, Mapping) and isinstance(action.get("id"), str)}
    numbered = []
    for number, action in enumerate(actions, 1):
        own = f"s{number}"
        while own in taken:
            own += "x"
        numbered.append({"id": own, **action} if isinstance(action, Mapping) else action)
    return numbered


def single(
    name: str,
    action_type: str,
    params: Mapping[str, Any] | None = None,
    *,
    action_id: str | None = None,
    source: str = "clawperator-action",
    timeout_ms: int = DEFAULT_TIMEOUT_MS,
) -> dict[str, Any]:
    """Return the payload of one action; ``commandId`` and ``taskId`` are the same generated id, ``None`` params are omitted."""
    command_id = generated_id(name)
    action: dict[str, Any] = {"id": action_id or name, "type": action_type}
    given = {key: value for key, value in (params or {}).items() if value is not None}
    if given:
        action["params"] = given
    return _payload(command_id, command_id, source, timeout_ms, action)


def snapshot() -> dict[str, Any]:
    return single("snapshot", "snapshot_ui", action_id="snap", source="clawperator-observe")


def screenshot(path: str | None = None) -> dict[str, Any]:
    return single("screenshot", "take_screenshot", {"path": path}, action_id="snap", source="clawperator-observe")


def action(action_type: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload of one action with its parameters, ``None`` ones omitted; it may take as long as these say."""
    verb = VERBS[action_type]
    longest = sum(params.get(name) or 0 for name in _DURATIONS)
    if verb.limit_ms:
        given = {name: value for name, value in params.items() if value is not None}
        limit_ms = max(verb.limit_ms, _around(longest) if longest else 0)
        step = {"id": "a1", "type": action_type, "params": given}
        task_id = f"cli-action-{action_type.replace('_', '-')}"
        return _payload(generated_id(action_type, "_"), task_id, "clawperator-cli", limit_ms, step)
    name = action_type.replace("_", "-") if verb.exact else verb.command
    return single(name, action_type, params, timeout_ms=time_around(longest))


_DURATIONS = ("durationMs", "holdDurationMs", "moveDurationMs", "waitTimeoutMs", "timeoutMs", "maxDurationMs", "navigationTimeoutMs")  # fmt: skip


def open_app(
    application_id: str, *, skip_navigation_wait: bool | None = None, navigation_timeout_ms: int | None = None
) -> dict[str, Any]:
    """Open an app; with ``navigation_timeout_ms`` the execution has at least as long, and 5,000 ms more."""
    how = {"skipNavigationWait": skip_navigation_wait, "navigationTimeoutMs": navigation_timeout_ms}
    return action("open_app", {"applicationId": application_id, **how})


def open_uri(uri: str) -> dict[str, Any]:
    return action("open_uri", {"uri": uri})


def close_app(application_id: str) -> dict[str, Any]:
    return action("close_app", {"applicationId": application_id})


def press_key(key: str) -> dict[str, Any]:
    return action("press_key", {"key": key})


def click(
    matcher: Matcher | None = None,
    *,
    point: Mapping[str, int] | None = None,
    click_type: str | None = None,
    limits: Limits = NO_LIMITS,
) -> dict[str, Any]:
    """Click a node, or a ``point`` ``{"x", "y"}`` of the screen in pixels."""
    return action("click", {"matcher": matcher, "coordinate": point, "clickType": click_type, **limits})


def read_text(
    matcher: Matcher,
    *,
    validator: str | None = None,
    pattern: str | None = None,
    every: bool = False,
    limits: Limits = NO_LIMITS,
) -> dict[str, Any]:
    """Read ``every`` matching node, or the first one."""
    asked = {"matcher": matcher, "validator": validator, "validatorPattern": pattern}
    return action("read_text", {**asked, "all": every or None, **limits})


def read_value(label: Matcher, *, every: bool = False) -> dict[str, Any]:
    """Read the value beside ``label``."""
    return action("read_key_value_pair", {"labelMatcher": label, "all": every or None})


def enter_text(
    matcher: Matcher, text: str, *, submit: bool = False, clear: bool = False, limits: Limits = NO_LIMITS
) -> dict[str, Any]:
    return action("enter_text", {"matcher": matcher, "text": text, "submit": submit, "clear": clear, **limits})


def wait_for_node(matcher: Matcher, *, wait_ms: float | None = None, limits: Limits = NO_LIMITS) -> dict[str, Any]:
    """Wait for a node; without ``wait_ms`` the device's retry policy is the limit."""
    return action("wait_for_node", {"matcher": matcher, "timeoutMs": wait_ms, **limits})


def wait_for_navigation(wait_ms: float, *, package: str | None = None, node: Matcher | None = None) -> dict[str, Any]:
    """Wait for another app or for a node, whichever comes first."""
    return action("wait_for_navigation", {"expectedPackage": package, "expectedNode": node, "timeoutMs": wait_ms})


def scroll(params: Mapping[str, Any]) -> dict[str, Any]:
    return action("scroll", params)


def scroll_until(params: Mapping[str, Any]) -> dict[str, Any]:
    return action("scroll_until", params)


def scroll_and_click(params: Mapping[str, Any]) -> dict[str, Any]:
    return action("scroll_and_click", params)


def sleep(duration_ms: int) -> dict[str, Any]:
    return action("sleep", {"durationMs": duration_ms})


def time_around(wait_ms: float | None) -> int:
    """Return the ``timeoutMs`` of an execution whose action waits ``wait_ms`` (execution.md#timeouts)."""
    return max(_around(wait_ms or 0), DEFAULT_TIMEOUT_MS)


def _around(wait_ms: float) -> int:
    longest = min(wait_ms, MAX_EXECUTION_TIMEOUT_MS)
    return min(int(longest) + SPARE_MS, MAX_EXECUTION_TIMEOUT_MS)


def has_default_limit(payload: object) -> bool:
    """Return whether the time limit of a payload or a composition is a default."""
    limit = payload.get("timeoutMs") if isinstance(payload, Mapping) else getattr(payload, "timeout_ms", None)
    return isinstance(limit, DefaultLimit)


def slow_limit(actions: Iterable[Action]) -> int:
    """Return the ``timeoutMs`` in place of the default one where a snapshot takes seconds and texts are typed key by key."""
    return min(DEFAULT_TIMEOUT_MS + sum(map(_slow_ms, actions)), MAX_EXECUTION_TIMEOUT_MS)


def _slow_ms(action: Action) -> int:
    """Return how much longer than other actions one may take."""
    params = action.params
    match action.type:
        case "enter_text" | "input_text":
            return len(str(params.get("text", ""))) * TYPED_MS
        case "scroll_until":
            longest: int = params.get("maxDurationMs", params.get("maxScrolls", 20) * SLOW_SCROLL_MS)
            return longest
        case "scroll_and_click":
            swipes: int = params.get("maxSwipes", 10)
            return swipes * SLOW_SCROLL_MS
    return 0


def doctor_ping() -> dict[str, Any]:
    """Return the doctor's handshake, which is dispatched without validation (``doctor_ping`` is internal)."""
    action = {"id": "h1", "type": "doctor_ping"}
    return _payload(generated_id("handshake"), "doctor-handshake", DOCTOR_SOURCE, 5_000, action)


def _payload(command_id: str, task_id: str, source: str, timeout_ms: int, action: dict[str, Any]) -> dict[str, Any]:
    return {
        "commandId": command_id,
        "taskId": task_id,
        "source": source,
        "expectedFormat": EXPECTED_FORMAT,
        "timeoutMs": timeout_ms,
        "actions": [action],
    }
