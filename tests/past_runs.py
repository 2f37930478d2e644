"""Invented past runs, for tests of the history screen and of what it is made of."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from clawperator.engine.history.compression import digest
from clawperator.engine.history.records import LineRecord, RunRecord, RunStatus, RunSummary, StepRecord, TreeRecord
from clawperator.engine.history.store import History

NOON = 1_700_000_940.0
DEVICE = "emulator-5554"


def a_summary(number: int = 1, *, at: float = NOON, status: RunStatus = "success", **more: Any) -> RunSummary:
    """A run of two seconds that went well, unless told otherwise."""
    over = status != "running"
    reported: dict[str, Any] = {
        "number": number,
        "execution_id": f"exec-{number}",
        "command_id": f"cmd-{number}",
        "task_id": "morning-check",
        "source": "openclaw",
        "mode": "direct",
        "device_id": DEVICE,
        "backend": "operator",
        "face": "cli",
        "pid": 4312,
        "package": "com.clawperator.operator",
        "status": status,
        "code": "" if status in ("success", "running") else "NODE_NOT_FOUND",
        "started_at": at,
        "ended_at": at + 2.1 if over else math.nan,
        "duration_ms": 2_100.0 if over else math.nan,
        "action_count": 3,
        "timeout_ms": 30_000,
    }
    return RunSummary(**(reported | more))


def a_run(
    number: int = 1, *, trees: Sequence[str] = (), at: float = NOON, **more: Any
) -> tuple[RunRecord, dict[str, str]]:
    """A run of three steps, the second one with a retry, and the texts of its trees by digest.

    The first tree was read at the beginning of the first step, the others one after the other during the third.
    """
    summary = a_summary(number, at=at, **more)
    command = {"commandId": summary.command_id, "taskId": summary.task_id}
    lines = (
        LineRecord(at, "sent", "from cli, 3 action(s)"),
        LineRecord(at + 0.05, "dispatched", "dispatched; the device may act from now on"),
        _line(at + 0.1, "start", **command, source=summary.source, timeoutMs="30000", actionCount="3"),
        _line(at + 0.2, "step-start", id="open", type="open_app"),
        _line(at + 0.8, "step-success", id="open", type="open_app", data="{}"),
        _line(at + 0.8, "step-start", id="wait", type="wait_for_node"),
        _line(at + 0.9, "stage-start", **command, id="waitForNode(text=Wi‑Fi)"),
        _line(at + 1.2, "stage-retry", **command, id="waitForNode(text=Wi‑Fi)", attempt="2/5", delayMs="500"),
        _line(at + 1.6, "step-success", id="wait", type="wait_for_node", data="{}"),
        _line(at + 1.6, "step-start", id="snap", type="snapshot_ui"),
        _line(at + 2.0, "step-success", id="snap", type="snapshot_ui", data="{}"),
        LineRecord(at + 2.1, "result", summary.status),
    )
    steps = (
        StepRecord(0, "open", "open_app", "success", "", at + 0.2, at + 0.8),
        StepRecord(1, "wait", "wait_for_node", "success", "", at + 0.8, at + 1.6, retries=1),
        StepRecord(2, "snap", "snapshot_ui", "success", "", at + 1.6, at + 2.0),
    )
    texts = {digest(xml): xml for xml in trees}
    seen = [("open", at + 0.3), *(("snap", at + 1.7 + place / 10) for place in range(len(trees)))]
    reported = tuple(
        TreeRecord(step, when, digest(xml), len(xml)) for xml, (step, when) in zip(trees, seen, strict=False)
    )
    record = RunRecord(
        summary,
        payload=a_payload(summary),
        envelope=an_envelope(summary, steps) if summary.status in ("success", "failed") else None,
        raw=('{"commandId":"…"}',) if summary.status in ("success", "failed") else (),
        steps=steps,
        lines=lines if summary.status != "running" else lines[:5],
        trees=reported,
        phases={"validate": 1.2, "lock": 0.4, "dispatch": 40.0, "run": 2_000.0, "parse": 2.0},
    )
    return record, texts


def _line(at: float, kind: str, **fields: str) -> LineRecord:
    said = " ".join(f"{name}={value}" for name, value in fields.items())
    start = f"[UiActionEngine] {kind.replace('-', '_')}" if kind.startswith("step") else f"[Clawperator-Command] {kind}"
    return LineRecord(at, kind, f"{start} {said}", fields)


def a_payload(summary: RunSummary) -> dict[str, Any]:
    return {
        "commandId": summary.command_id,
        "taskId": summary.task_id,
        "source": summary.source,
        "expectedFormat": "android-ui-automator",
        "timeoutMs": summary.timeout_ms,
        "actions": [
            {"id": "open", "type": "open_app", "params": {"applicationId": "com.android.settings"}},
            {"id": "wait", "type": "wait_for_node", "params": {"matcher": {"textEquals": "Wi‑Fi"}}},
            {"id": "snap", "type": "snapshot_ui"},
        ],
    }


def an_envelope(summary: RunSummary, steps: Iterable[StepRecord]) -> dict[str, Any]:
    return {
        "commandId": summary.command_id,
        "taskId": summary.task_id,
        "status": "success" if summary.status == "success" else "failed",
        "stepResults": [
            {"id": step.id, "actionType": step.type, "success": step.status == "success", "data": dict(step.data)}
            for step in steps
        ],
        "error": None if summary.status == "success" else "No UI node found matching criteria",
        "errorCode": summary.code or None,
    }


def failed(run: tuple[RunRecord, dict[str, str]]) -> tuple[RunRecord, dict[str, str]]:
    """The same, but its second step failed and the third never ran."""
    record, texts = run
    summary = record.summary._replace(status="failed", code="NODE_NOT_FOUND", failed_steps=1)
    opened, waited, snap = record.steps
    steps = (
        opened,
        waited._replace(status="failed", code="NODE_NOT_FOUND"),
        snap._replace(status="unknown", started_at=math.nan, ended_at=math.nan),
    )
    envelope = an_envelope(summary, steps[:2])
    at, reason = summary.started_at, str(envelope["error"])
    lines = (
        *(line for line in record.lines if line.at < at + 1.5),
        _line(at + 1.6, "stage-failure", id="waitForNode(text=Wi‑Fi)", reason=reason),
        LineRecord(at + 2.1, "result", "failed"),
    )
    return record._replace(summary=summary, steps=steps, lines=lines, envelope=envelope, message=reason), texts


def put(history: History, run: tuple[RunRecord, dict[str, str]]) -> int:
    """Write a run as those do that make it; its number there."""
    record, texts = run
    trees = tuple(tree._replace(text=texts[tree.digest]) for tree in record.trees)
    return history.put(record._replace(trees=trees))


def a_history(path: Path, count: int, *, every: float = 60.0, now: float = NOON) -> History:
    """A real store with ``count`` runs, one each ``every`` seconds up to ``now``; each seventh failed."""
    history = History.open(str(path))
    for number in range(1, count + 1):
        run = a_run(number, at=now - (count - number) * every)
        put(history, failed(run) if number % 7 == 0 else run)
    return history
