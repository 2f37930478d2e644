"""What to stop waiting for an execution means now, and what can be chosen. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clawperator.app.console.screens.menu import Choice
from clawperator.engine.contracts.operator_identity import OPERATOR_PACKAGES
from clawperator.engine.executions.device_lock import SETTLE_SECONDS
from clawperator.widgets import keys
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.text.times import WallClock

_NEVER = ("android", "com.android.systemui")
"""Packages that are never stopped: there would be no screen."""


def target_app(payload: Mapping[str, Any], in_front: str) -> str:
    """Return the app that the payload opens last, else the one in front; empty where none may be stopped."""
    opened = [action["params"]["applicationId"] for action in payload["actions"] if action["type"] == "open_app"]
    package = str(opened[-1] if opened else in_front)
    return "" if package in _NEVER or package in OPERATOR_PACKAGES else package


def choices(package: str) -> list[Choice]:
    """Return the choices, to keep waiting first: enter takes that."""
    keep, stop, force = keys.MENUS["stop"]
    words = package or "the target app is unknown"
    return [Choice(keep, keep.tooltip, True), Choice(stop, stop.tooltip, True), Choice(force, words, bool(package))]


def words_before_stopping(
    payload: Mapping[str, Any], execution: ExecutionState | None, since: float, clock: WallClock
) -> str:
    """Describe what stopping means now: possibly nothing was sent yet."""
    command = payload["commandId"]
    if execution is not None and all(line.kind == "sent" for line in execution.lines):
        return f"Nothing was sent to the device yet. If you stop waiting now, {command} is not sent."
    until = clock.time_of_day(since + payload["timeoutMs"] / 1000, tenths=False)
    return (
        f"The execution cannot be cancelled on the device. Clawperator stops waiting; {command} may still act until {until}. "
        f"The lock is held {SETTLE_SECONDS:g} s longer; a later result is still shown, marked as late."
    )
