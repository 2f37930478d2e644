"""Runs in every state they can be in, told by engine events like real ones. NOON is when somebody looks at them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC
from pathlib import Path
from typing import Any

from clawperator.engine.events.bus import EventBus
from clawperator.engine.events.types import (
    EngineEvent,
    EnvelopeSeen,
    ExecutionDispatched,
    ExecutionFinished,
    ExecutionStarted,
    LogGap,
    SnapshotSeen,
)
from clawperator.engine.executions.log_events import LogEventPublisher
from clawperator.engine.logcat.operator_log import OperatorLog
from clawperator.engine.logcat.text import parse_text
from clawperator.widgets.models.execution import ExecutionState
from clawperator.widgets.models.executions import ExecutionLog
from clawperator.widgets.text.times import WallClock
from tests.app.console.support import DEVICE, NOON, agent_run, finished_run, make_envelope, progress

CLOCK = WallClock(lambda: NOON, UTC)
SERIAL = DEVICE.serial
GOLDEN = Path(__file__).parents[1] / "data" / "logcat"

PAYLOAD: dict[str, Any] = {
    "commandId": "cmd-1",
    "taskId": "morning-check",
    "source": "openclaw",
    "expectedFormat": "android-ui-automator",
    "timeoutMs": 30_000,
    "mode": "direct",
    "actions": [
        {"id": "open", "type": "open_app", "params": {"applicationId": "com.android.settings"}},
        {"id": "wait", "type": "wait_for_node", "params": {"matcher": {"textEquals": "Wi‑Fi"}}},
        {"id": "read", "type": "read_text", "params": {"matcher": {"resourceId": "android:id/summary"}}},
        {"id": "snap", "type": "snapshot_ui"},
    ],
}
NOT_FOUND = (
    "Task execution failed: No UI node found matching criteria: NodeMatcher(resourceId=null, role=null, textEquals=Bluetooth, "
    "textContains=null, contentDescEquals=null, contentDescContains=null)"
)


def reported(*events: EngineEvent) -> ExecutionState:
    """The one execution that these events are about."""
    log = ExecutionLog()
    log.apply(events)
    (execution,) = log.executions
    return execution


def started(at: float, command: str = "cmd-1", payload: Mapping[str, Any] = PAYLOAD) -> ExecutionStarted:
    return ExecutionStarted(
        device_id=SERIAL,
        execution_id="e",
        command_id=command,
        task_id="morning-check",
        source="clawperator-console",
        timeout_ms=30_000,
        action_count=len(payload["actions"]),
        payload=payload,
        mode="direct",
        backend="operator",
        at=at,
    )


def dispatched(at: float, command: str = "cmd-1") -> ExecutionDispatched:
    return ExecutionDispatched(device_id=SERIAL, execution_id="e", command_id=command, at=at)


def finished(at: float, result: Mapping[str, Any], **phases: float) -> ExecutionFinished:
    return ExecutionFinished(
        device_id=SERIAL, execution_id="e", command_id="cmd-1", duration_ms=5, result=result, phases=phases, at=at
    )


def error(code: str, message: str) -> dict[str, Any]:
    return {"ok": False, "error": {"code": code, "message": message}}


def seen(at: float, envelope: Mapping[str, Any] | None, command: str = "cmd-1", **more: Any) -> EnvelopeSeen:
    raw = more.pop("raw", f"[Clawperator-Result] {json.dumps(envelope)}")
    return EnvelopeSeen(device_id=SERIAL, command_id=command, envelope=envelope, raw=raw, at=at, **more)


def tree(at: float, step: str, characters: int = 400, *, complete: bool = True) -> SnapshotSeen:
    return SnapshotSeen(
        device_id=SERIAL, command_id="cmd-1", step_id=step, xml="x" * characters, complete=complete, at=at
    )


def retry(at: float, attempt: str) -> EngineEvent:
    return progress("stage-retry", "cmd-1", at=at, id="waitForNode", attempt=attempt, delayMs="1000")


FOUR = [
    ("open", "open_app", True, {}),
    ("wait", "wait_for_node", True, {"label": "Wi‑Fi"}),
    ("read", "read_text", True, {"text": "HomeNet"}),
    ("snap", "snapshot_ui", True, {}),
]
PHASES = {"validate": 1.2, "device": 31.0, "attach": 44.0, "dispatch": 61.0, "run": 6400.0, "finish": 5.3}


def running() -> ExecutionState:
    return reported(*agent_run("cmd-1", NOON - 3))


def success() -> ExecutionState:
    return reported(*finished_run("cmd-1", NOON - 8), finished(NOON - 5.9, {}, **PHASES))


def step_failed() -> ExecutionState:
    """The plan completed, a step did not; the app was closed by the host."""
    steps = [
        ("close", "close_app", False, {"application_id": "a.b", "error": "UNSUPPORTED_RUNTIME_CLOSE", "message": "no"}),
        ("temp", "read_text", True, {"text": "20.7°C"}),
        ("nav", "wait_for_navigation", False, {"error": "NAVIGATION_TIMEOUT", "last_package": "a.b"}),
    ]
    return reported(seen(NOON - 1, make_envelope("cmd-1", steps)))


def plan_failed() -> ExecutionState:
    envelope = make_envelope("cmd-1", [], status="failed", error=NOT_FOUND) | {"errorCode": "NODE_NOT_FOUND"}
    at = NOON - 10
    run = agent_run("cmd-1", at)
    trees = (tree(at + 0.05, ""), tree(at + 4, "wait", 120, complete=False))
    retries = (retry(at + 2.5, "3/5"), retry(at + 3.5, "4/5"))
    return reported(
        started(at), dispatched(at), *run[:1], trees[0], *run[1:], *retries, trees[1], seen(at + 5, envelope)
    )


def timeout() -> ExecutionState:
    at = NOON - 36
    silence = error("RESULT_ENVELOPE_TIMEOUT", "No [Clawperator-Result] envelope within 35000ms")
    run = agent_run("cmd-1", at)
    return reported(started(at - 0.2), dispatched(at - 0.1), *run, retry(NOON - 7, "4/5"), finished(NOON - 1, silence))


def late() -> ExecutionState:
    at = NOON - 50
    silence = error("RESULT_ENVELOPE_TIMEOUT", "No [Clawperator-Result] envelope within 35000ms")
    answer = seen(NOON - 3, make_envelope("cmd-1", FOUR))
    return reported(started(at), dispatched(at), *agent_run("cmd-1", at), finished(at + 35, silence), answer)


def duplicate() -> ExecutionState:
    envelope = make_envelope("cmd-1", FOUR)
    return reported(seen(NOON - 3, envelope), seen(NOON - 2, envelope), seen(NOON - 1, envelope))


def malformed() -> ExecutionState:
    cut = '[Clawperator-Result] {"commandId":"cmd-1","taskId":"' + "x" * 4_000
    return reported(*agent_run("cmd-1", NOON - 8), seen(NOON - 3, None, problem="bad JSON at byte 812", raw=cut))


def refused() -> ExecutionState:
    conflict = error("EXECUTION_CONFLICT_IN_FLIGHT", "Another execution is in flight on this device")
    return reported(started(NOON - 2), finished(NOON - 1.9, conflict, validate=1.0, lock=0.5))


def vanished() -> ExecutionState:
    """Ours: the log ended under it."""
    lost = error("LOGCAT_UNAVAILABLE", "device offline")
    at = NOON - 12
    return reported(started(at), dispatched(at), *agent_run("cmd-1", at), finished(at + 7, lost))


def gone() -> ExecutionState:
    """Another process's: the device is not there any more."""
    log = ExecutionLog()
    log.apply([*agent_run("cmd-1", NOON - 10), LogGap(device_id=SERIAL, reason="device offline", at=NOON - 6)])
    log.present([], NOON - 5)
    (execution,) = log.executions
    return execution


def no_steps() -> ExecutionState:
    return reported(started(NOON - 1))


def fifty() -> ExecutionState:
    """As many steps as a plan may have, two of which failed."""
    at = NOON - 50
    steps = [
        (
            f"s{number}",
            "click",
            number not in (17, 33),
            {"error": "NODE_NOT_FOUND"} if number in (17, 33) else {"n": "1"},
        )
        for number in range(50)
    ]
    lines: list[EngineEvent] = [
        progress("start", "cmd-1", at=at, taskId="t", source="s", timeoutMs="60000", actionCount="50")
    ]
    for number in range(50):
        begin = at + number * 0.9
        lines.append(progress("step-start", at=begin, id=f"s{number}"))
        lines.append(progress("step-success", at=begin + 0.8, id=f"s{number}"))
    return reported(*lines, seen(NOON - 4, make_envelope("cmd-1", steps)))


STATES = {
    state.__name__: state
    for state in (
        running, success, step_failed, plan_failed, timeout, late, duplicate, malformed, refused, vanished, gone, no_steps, fifty,
    )
}  # fmt: skip


def captured(name: str) -> list[ExecutionState]:
    """The executions in a captured log of the Operator."""
    entries = parse_text((GOLDEN / f"operator-{name}.txt").read_bytes())
    watcher = OperatorLog()
    signals = watcher.feed(entries) + watcher.finish()
    log, news = ExecutionLog(), LogEventPublisher(EventBus(), SERIAL)
    log.apply(event for signal in signals if (event := news.event(signal)) is not None)
    return list(log.executions)
