"""The values that are written to the history: named tuples, which load fast for commands that run once.

Readers get ``records`` with the same fields.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from clawperator.engine.executions.outcome import OutcomeStep

HOST_KINDS = ("sent", "dispatched", "omitted", "result", "gave up")
"""Kinds of the host's lines; all others are the Operator's (``logcat/progress.py``)."""


class RunRow(NamedTuple):
    """``RunSummary`` without its number."""

    execution_id: str
    command_id: str
    task_id: str = ""
    source: str = ""
    mode: str = ""
    device_id: str = ""
    backend: str = ""
    face: str = ""
    origin: str = "made"
    pid: int = 0
    package: str = ""
    status: str = "running"
    code: str = ""
    started_at: float = math.nan
    ended_at: float = math.nan
    duration_ms: float = math.nan
    action_count: int = 0
    failed_steps: int = 0
    timeout_ms: int = 0


class StepRow(NamedTuple):
    """``StepRecord`` without its data, which are in the envelope."""

    position: int
    id: str
    type: str = ""
    status: str = "unknown"
    code: str = ""
    started_at: float = math.nan
    ended_at: float = math.nan
    retries: int = 0


def step_rows(steps: Iterable[OutcomeStep]) -> tuple[StepRow, ...]:
    """Return the steps of an outcome; ``done`` is called ``success`` in the history."""
    return tuple(
        StepRow(
            step.index,
            step.id,
            step.type,
            "success" if step.status == "done" else step.status,
            step.code,
            step.started_at,
            step.ended_at,
            step.retries,
        )
        for step in steps
    )


class LineRow(NamedTuple):
    """``LineRecord``. The fields are not stored: the text has them."""

    at: float
    kind: str
    text: str
    fields: Mapping[str, str] = {}


class TreeRow(NamedTuple):
    """``TreeRecord`` with the text."""

    step_id: str
    at: float
    digest: str
    text: str
    complete: bool = True


class AuditRow(NamedTuple):
    """``AuditRecord`` without its number."""

    at: float
    event: str
    execution_id: str
    command_id: str
    task_id: str = ""
    device_id: str = ""
    mode: str = ""
    source: str = ""
    face: str = ""
    action_types: tuple[str, ...] = ()
    code: str = ""
    duration_ms: float = math.nan
    caller: str = ""
    skill_id: str = ""
    recipe_id: str = ""
    artifact: str = ""
    profile: str = ""
    denied: str = ""
    operation: str = ""
    peer: str = ""
    rule: str = ""
    times: int = 1


class Run(NamedTuple):
    """``RunRecord``."""

    row: RunRow
    message: str = ""
    payload: Mapping[str, Any] | None = None
    envelope: Mapping[str, Any] | None = None
    raw: tuple[str, ...] = ()
    steps: tuple[StepRow, ...] = ()
    lines: tuple[LineRow, ...] = ()
    trees: tuple[TreeRow, ...] = ()
    phases: Mapping[str, float] = {}
    warnings: tuple[Mapping[str, Any], ...] = ()
    outcome: Mapping[str, Any] | None = None
