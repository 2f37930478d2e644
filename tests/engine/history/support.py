"""Runs to put into a history."""

from __future__ import annotations

import time
import uuid
from typing import Any

from clawperator.engine.history.compression import digest
from clawperator.engine.history.records import LineRecord, RunRecord, RunSummary, StepRecord, TreeRecord


def a_row(command_id: str = "cmd", **changes: Any) -> RunSummary:
    """A finished run of a moment ago; keyword arguments are fields."""
    now = time.time()
    row = RunSummary(
        execution_id=str(uuid.uuid4()),
        command_id=command_id,
        task_id="task",
        source="openclaw",
        mode="direct",
        device_id="emulator-5554",
        backend="operator",
        face="cli",
        pid=1,
        package="com.clawperator.operator",
        status="success",
        started_at=now - 1.0,
        ended_at=now,
        duration_ms=1000.0,
        action_count=1,
        timeout_ms=5_000,
    )
    return row._replace(**changes)


def a_tree(step_id: str = "snap", text: str = "<hierarchy/>", at: float = 1.0) -> TreeRecord:
    return TreeRecord(step_id, at, digest(text), len(text), text=text)


def a_run(command_id: str = "cmd", **changes: Any) -> RunRecord:
    """A finished run; fields of the run by their names, everything else goes into its summary."""
    whole = {name: changes.pop(name) for name in RunRecord._fields if name in changes}
    row = a_row(command_id, **changes)
    step = StepRecord(0, "a", "click", "success", "", row.started_at, row.ended_at)
    envelope = {
        "commandId": command_id,
        "taskId": "task",
        "status": "success",
        "stepResults": [{"id": "a", "actionType": "click", "success": True, "data": {"seen": "yes"}}],
        "error": None,
    }
    run = RunRecord(
        row,
        payload={"commandId": command_id, "actions": [{"id": "a", "type": "click"}]},
        envelope=envelope,
        raw=('{"status":"success"}',),
        steps=(step,),
        lines=(LineRecord(row.started_at, "step-start", "[UiActionEngine] step_start id=a type=m$c"),),
        phases={"run": 12.0},
    )
    return run._replace(**whole)
