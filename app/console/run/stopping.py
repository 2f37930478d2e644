"""To stop waiting for an execution: what it means in this moment, and what can be chosen. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clawperator.app.console.screens.menu import Choice
from clawperator.engine.contracts.operator_identity import RELEASE_PACKAGE
from clawperator.engine.executions.device_lock import SETTLE_SECONDS
from clawperator.widgets import keys
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.text.times import WallClock

_NEVER = ("android", "com.android.systemui")
"""Without these there is no screen to stop waiting in front of."""


def target_app(payload: Mapping[str, Any], in_front: str) -> str:
    """The app that a plan works in: the last one that it opens, else the one in front; empty where none may be stopped."""
    opened = [action["params"]["applicationId"] for action in payload["actions"] if action["type"] == "open_app"]
    package = str(opened[-1] if opened else in_front)
    return "" if package in _NEVER or package.startswith(RELEASE_PACKAGE) else package


def choices(package: str) -> list[Choice]:
    """Keep waiting first: that is what enter takes."""
    keep, stop, force = keys.MENUS["stop"]
    words = package or "no app is known that the plan works in"
    return [Choice(keep, keep.tooltip, True), Choice(stop, stop.tooltip, True), Choice(force, words, bool(package))]


def words_before_stopping(
    payload: Mapping[str, Any], execution: ExecutionState | None, since: float, clock: WallClock
) -> str:
    """What stopping means now: it can be too early for anything to have been sent."""
    command = payload["commandId"]
    if execution is not None and all(line.kind == "sent" for line in execution.lines):
        return f"Nothing has gone out to the device yet. If you stop waiting now, {command} is not sent."
    until = clock.time_of_day(since + payload["timeoutMs"] / 1000, tenths=False)
    return (
        f"The device cannot be stopped. Clawperator stops waiting; {command} may still act until {until}. "
        f"The lock stays {SETTLE_SECONDS:g} s longer; a result that comes later is still shown, marked as late."
    )
