"""One-step executions: what the single-action commands of every face send (execution contract §11)."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import Any

_BASE36 = "0123456789abcdefghijklmnopqrstuvwxyz"
DEFAULT_TIMEOUT_MS = 30_000
DOCTOR_SOURCE = "clawperator-doctor"
"""The ``source`` of the doctor's handshake, by which logs tell it from an execution."""


def generated_id(name: str, separator: str = "-") -> str:
    """``<name>-<epochMs>-<7 base36>``: unpredictable, so that no other app can forge its result in the log."""
    tail = "".join(_BASE36[byte % 36] for byte in os.urandom(7))
    return f"{name}{separator}{time.time_ns() // 1_000_000}{separator}{tail}"


def single(
    name: str,
    action_type: str,
    params: Mapping[str, Any] | None = None,
    *,
    action_id: str | None = None,
    source: str = "clawperator-action",
    timeout_ms: int = DEFAULT_TIMEOUT_MS,
) -> dict[str, Any]:
    """The payload of one action; ``commandId`` and ``taskId`` are the same generated id. ``None`` params are left out."""
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


def open_app(application_id: str) -> dict[str, Any]:
    return _cli("open_app", "cli-action-open-app", 15_000, "open_app", {"applicationId": application_id})


def open_uri(uri: str) -> dict[str, Any]:
    return _cli("open_uri", "cli-action-open-uri", 15_000, "open_uri", {"uri": uri})


def press_key(key: str) -> dict[str, Any]:
    return _cli("press_key", "cli-action-press-key", 10_000, "press_key", {"key": key})


def doctor_ping() -> dict[str, Any]:
    """The doctor's handshake: the one payload that is dispatched without validation (``doctor_ping`` is internal)."""
    action = {"id": "h1", "type": "doctor_ping"}
    return _payload(generated_id("handshake"), "doctor-handshake", DOCTOR_SOURCE, 5_000, action)


def _cli(name: str, task_id: str, timeout_ms: int, action_type: str, params: dict[str, Any]) -> dict[str, Any]:
    action = {"id": "a1", "type": action_type, "params": params}
    return _payload(generated_id(name, "_"), task_id, "clawperator-cli", timeout_ms, action)


def _payload(command_id: str, task_id: str, source: str, timeout_ms: int, action: dict[str, Any]) -> dict[str, Any]:
    return {
        "commandId": command_id,
        "taskId": task_id,
        "source": source,
        "expectedFormat": "android-ui-automator",
        "timeoutMs": timeout_ms,
        "actions": [action],
    }
