"""The values that readers of the history get. Times are host time in seconds since the epoch, ``nan`` if unknown. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from clawperator.engine.errors import ErrorCode
from clawperator.engine.history.rows import HOST_KINDS

__all__ = [
    "HOST_KINDS",
    "AuditEvent",
    "AuditRecord",
    "LateRecord",
    "LineRecord",
    "RunRecord",
    "RunStatus",
    "RunSummary",
    "StepRecord",
    "StepStatus",
    "TreeRecord",
]

RunStatus = Literal["running", "success", "failed", "refused", "interrupted"]
StepStatus = Literal["success", "failed", "not_run", "unknown"]
AuditEvent = Literal["execute", "allowed", "result", "refused", "compile"]


@dataclass(frozen=True, slots=True)
class StepRecord:
    """One action of a plan, ``index`` from 0. ``status`` is ``unknown`` if neither log nor envelope shows it.

    ``retries`` counts attempts after the first. In ``data`` of the envelope, ``tree`` (a digest) replaces the text of a tree.
    """

    index: int
    id: str
    type: str
    status: StepStatus = "unknown"
    code: str = ""
    started_at: float = math.nan
    ended_at: float = math.nan
    retries: int = 0
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LineRecord:
    """One live line: the Operator's (``kind`` and ``fields`` as in ``logcat/progress.py``), or the host's (``HOST_KINDS``)."""

    at: float
    kind: str
    text: str
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TreeRecord:
    """A UI tree in the log. ``digest`` is the sha256 of its text in hex; equal trees are stored once.

    ``step_id`` is empty without a running step; ``complete`` is false if its end is missing.
    """

    step_id: str
    at: float
    digest: str
    characters: int
    complete: bool = True


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run in a list. ``number`` is unique in one history file.

    ``origin``: ``made`` by a process of this user (``pid`` and ``face`` are that process's), or ``seen`` in a device's log.
    ``status`` is the plan's: steps of a success may have failed (``failed_steps``); ``refused``: never sent; ``interrupted``:
    its end is unknown. Durations are in milliseconds. ``outcome`` (``executions/outcome.py``) is ``None`` without a dispatch
    and for runs of old versions. ``action`` is what it did, or what failed (``executions/headline.py``).
    """

    number: int
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

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data in camel case; unknown values are ``null``. A code adds ``hint`` and ``retryable``."""
        return {_camel(name): _known(value) for name, value in asdict(self).items()} | advice(self.code)


@dataclass(frozen=True, slots=True)
class LateRecord:
    """A result that arrived at ``at``, ``after_ms`` after the end of the run, whose outcome it does not change."""

    at: float
    after_ms: float
    envelope: Mapping[str, Any]
    raw: tuple[str, ...] = ()
    steps: tuple[StepRecord, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data in camel case."""
        return {
            "at": self.at,
            "afterMs": self.after_ms,
            "envelope": self.envelope,
            "raw": list(self.raw),
            "steps": _dicts(self.steps),
        }


@dataclass(frozen=True, slots=True)
class RunRecord:
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
    phases: Mapping[str, float] = field(default_factory=dict)
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
            "steps": _dicts(self.steps),
            "lines": _dicts(self.lines),
            "trees": _dicts(self.trees),
            "phases": dict(self.phases),
            "warnings": [dict(warning) for warning in self.warnings],
        }


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One entry of the audit. Events: ``execute`` when admitted, ``result`` at the end, ``refused`` instead of both.

    ``allowed``: an ``operation`` that is not an execution was permitted (a skill's script, a virtual device, the Operator's
    setup, a file that the caller names); its end is a ``result``, too. A refused HTTP request has its method and path.
    ``compile``: ``artifact`` of ``skill_id`` was compiled, or failed (``code``); executions compiled on this computer name
    their skill and recipe. ``peer`` is the network address of the request; ``profile`` the policy profile; ``denied`` what
    it refused, such as ``package com.example``; ``rule`` what decided: ``capability click``, ``read_only``, ``token``,
    ``origin`` … ``times`` counts equal refusals. No field was read from a screen.
    """

    number: int
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

    def to_dict(self) -> dict[str, Any]:
        """Return JSON data in camel case; unknown values are ``null``. ``verdict`` is ``refused`` or ``allowed``.

        A code adds ``hint`` and ``retryable``.
        """
        answer = {_camel(name): _known(value) for name, value in asdict(self).items()}
        verdict = "refused" if self.event == "refused" else "allowed"
        return answer | {"actionTypes": list(self.action_types), "verdict": verdict} | advice(self.code)


def _dicts(records: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [{_camel(name): _known(value) for name, value in asdict(record).items()} for record in records]


def advice(code: str) -> dict[str, Any]:
    """Return ``hint`` and ``retryable`` of a known error code; nothing for a success or a code of the device."""
    known = ErrorCode.known(code)
    return {} if known is None else {"hint": known.hint, "retryable": known.retryable}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
