"""The values of the history: writers make them, readers get them. Times are host time in seconds since the epoch, ``nan`` if unknown.

Named tuples load fast for commands that run once.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from clawperator.engine.errors import ErrorCode

if TYPE_CHECKING:
    from clawperator.engine.executions.outcome import OutcomeStep

HOST_KINDS = ("sent", "dispatched", "omitted", "result", "gave up")
"""Kinds of the host's lines; all others are the Operator's (``logcat/progress.py``)."""

RunStatus = Literal["running", "success", "failed", "refused", "interrupted"]
StepStatus = Literal["success", "failed", "not_run", "unknown"]
AuditEvent = Literal["execute", "allowed", "result", "refused", "compile"]


class StepRecord(NamedTuple):
    """One action of a plan, ``position`` (``index`` in JSON) from 0. ``status`` is ``unknown`` if neither log nor envelope shows it.

    ``retries`` counts attempts after the first. In ``data`` of the envelope, ``tree`` (a digest) replaces the text of a tree.
    """

    position: int
    id: str
    type: str = ""
    status: StepStatus = "unknown"
    code: str = ""
    started_at: float = math.nan
    ended_at: float = math.nan
    retries: int = 0
    data: Mapping[str, Any] = {}


class LineRecord(NamedTuple):
    """One live line: the Operator's (``kind`` and ``fields`` as in ``logcat/progress.py``), or the host's (``HOST_KINDS``)."""

    at: float
    kind: str
    text: str
    fields: Mapping[str, str] = {}


class TreeRecord(NamedTuple):
    """A UI tree in the log. ``digest`` is the sha256 of its text in hex; equal trees are stored once.

    ``step_id`` is empty without a running step; ``complete`` is false if its end is missing. ``text`` is for the writer only.
    """

    step_id: str
    at: float
    digest: str
    characters: int
    complete: bool = True
    text: str = ""


class RunSummary(NamedTuple):
    """One run in a list. ``number`` is unique in one history file, and 0 before it is written.

    ``origin``: ``made`` by a process of this user (``pid`` and ``face`` are that process's), or ``seen`` in a device's log.
    ``status`` is the plan's: steps of a success may have failed (``failed_steps``); ``refused``: never sent; ``interrupted``:
    its end is unknown. Durations are in milliseconds. ``outcome`` (``executions/outcome.py``) is ``None`` without a dispatch
    and for runs of old versions. ``action`` is what it did, or what failed (``executions/headline.py``). ``phone`` is the same for
    all serials of one phone until it is restarted (``adb/phones.py``), and empty if it is not known.
    """

    execution_id: str
    command_id: str
    task_id: str = ""
    source: str = ""
    mode: str = ""
    device_id: str = ""
    backend: str = ""
    face: str = ""
    origin: Literal["made", "seen"] = "made"
    pid: int = 0
    package: str = ""
    status: RunStatus = "running"
    code: str = ""
    started_at: float = math.nan
    ended_at: float = math.nan
    duration_ms: float = math.nan
    action_count: int = 0
    failed_steps: int = 0
    timeout_ms: int = 0
    outcome: Mapping[str, Any] | None = None
    action: str = ""
    phone: str = ""
    number: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data in camel case; unknown values are ``null``. A code adds ``hint`` and ``retryable``."""
        error = (self.outcome or {}).get("error") or {}
        own = {
            name: error[name]
            for name in ("hint", "retryable")
            if self.code and error.get("code") == self.code and name in error
        }
        return {"number": self.number} | _camel_dict(self._asdict()) | advice(self.code) | own


class LateRecord(NamedTuple):
    """A result that arrived at ``at``, ``after_ms`` after the end of the run, whose outcome it does not change."""

    at: float
    after_ms: float
    envelope: Mapping[str, Any]
    raw: tuple[str, ...] = ()
    steps: tuple[StepRecord, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data in camel case."""
        return _camel_dict(self._asdict()) | {"raw": list(self.raw), "steps": _steps(self.steps)}


class RunRecord(NamedTuple):
    """One complete run.

    ``message`` says why it failed. ``payload`` is normalised, or as given if it was refused. ``envelope`` is the caller's, with
    digests for trees (see ``StepRecord``); ``raw`` the JSON texts as the device wrote them. ``phases`` are milliseconds by
    phase name. ``late`` is a result that arrived after the end.
    """

    summary: RunSummary
    message: str = ""
    payload: Mapping[str, Any] | None = None
    envelope: Mapping[str, Any] | None = None
    raw: tuple[str, ...] = ()
    steps: tuple[StepRecord, ...] = ()
    lines: tuple[LineRecord, ...] = ()
    trees: tuple[TreeRecord, ...] = ()
    phases: Mapping[str, float] = {}
    warnings: tuple[Mapping[str, Any], ...] = ()
    late: LateRecord | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data in camel case."""
        answer = self.summary.to_dict()
        if self.message:
            answer["message"] = self.message
        if self.late is not None:
            answer["lateResult"] = self.late.to_dict()
        return answer | {
            "payload": self.payload,
            "envelope": self.envelope,
            "raw": list(self.raw),
            "steps": _steps(self.steps),
            "lines": [_camel_dict(line._asdict()) for line in self.lines],
            "trees": [_camel_dict(tree._asdict(), "text") for tree in self.trees],
            "phases": dict(self.phases),
            "warnings": [dict(warning) for warning in self.warnings],
        }


class AuditRecord(NamedTuple):
    """One entry of the audit. Events: ``execute`` when admitted, ``result`` at the end, ``refused`` instead of both.

    ``allowed``: an ``operation`` that is not an execution was permitted (a skill's script, a virtual device, the Operator's
    setup, a file that the caller names); its end is a ``result``, too. A refused HTTP request has its method and path.
    ``compile``: ``artifact`` of ``skill_id`` was compiled, or failed (``code``); executions compiled on this computer name
    their skill and recipe. ``peer`` is the network address of the request; ``profile`` the policy profile; ``denied`` what
    it refused, such as ``package com.example``; ``rule`` what decided: ``capability click``, ``read_only``, ``token``,
    ``origin`` … ``times`` counts equal refusals. No field was read from a screen.
    """

    at: float
    event: AuditEvent
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
    number: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data in camel case; unknown values are ``null``. ``verdict`` is ``refused`` or ``allowed``.

        A code adds ``hint`` and ``retryable``.
        """
        answer = {"number": self.number} | _camel_dict(self._asdict())
        verdict = "refused" if self.event == "refused" else "allowed"
        return answer | {"actionTypes": list(self.action_types), "verdict": verdict} | advice(self.code)


def step_records(
    steps: Iterable[OutcomeStep], data: Mapping[Any, Mapping[str, Any]] | None = None
) -> tuple[StepRecord, ...]:
    """Return the steps of an outcome, with their ``data`` by step id; ``done`` is called ``success`` in the history."""
    return tuple(
        StepRecord(
            step.index,
            step.id,
            step.type,
            "success" if step.status == "done" else step.status,
            step.code,
            step.started_at,
            step.ended_at,
            step.retries,
            (data or {}).get(step.id, {}),
        )
        for step in steps
    )


def _steps(steps: Iterable[StepRecord]) -> list[dict[str, Any]]:
    return [{"index": step.position} | _camel_dict(step._asdict(), "position") for step in steps]


def advice(code: str) -> dict[str, Any]:
    """Return ``hint`` and ``retryable`` of a known error code; nothing for a success or a code of the device."""
    known = ErrorCode.known(code)
    return {} if known is None else {"hint": known.hint, "retryable": known.retryable}


def _camel_dict(values: Mapping[str, Any], left_out: str = "") -> dict[str, Any]:
    return {_camel(name): _known(value) for name, value in values.items() if name != left_out}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
