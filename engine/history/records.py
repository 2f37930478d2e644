"""What the history keeps, as frozen values; pure. Moments are host time in seconds since the epoch, ``nan`` where unknown."""

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
    """One action of a plan, ``index`` from 0. ``status`` is ``unknown`` where neither log nor envelope says.

    ``code`` is the reason of a failure; ``retries`` counts the attempts after the first; ``data`` is the envelope's, where a
    text that is kept as a tree is replaced by the ``digest`` of that tree under the key ``tree``.
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
    """One live line: the Operator's own (``kind`` and ``fields`` as in ``logcat/progress.py``), or the host's (``HOST_KINDS``)."""

    at: float
    kind: str
    text: str
    fields: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TreeRecord:
    """A UI tree that went by. ``digest`` (sha256 of its text in hex) finds the text; equal trees are kept once.

    ``step_id`` is empty where no step was open; ``complete`` is false where its end never came.
    """

    step_id: str
    at: float
    digest: str
    characters: int
    complete: bool = True


@dataclass(frozen=True, slots=True)
class RunSummary:
    """One run as a list shows it. ``number`` counts up in one history file and is never given twice.

    ``origin`` is ``made`` for what a process of this user dispatched (``pid`` and ``face`` are that process's), ``seen`` for
    what only went by in a device's log. ``status`` is the plan's: single steps of a success may have failed
    (``failed_steps``); ``refused``: never sent, by rule or because the device was taken; ``interrupted``: nobody waited for
    its end. ``code`` is the error's, empty for a success. Durations are in milliseconds. ``outcome`` is the answer's
    (``executions/outcome.py``), ``None`` where nothing was dispatched and for runs of versions that had none.
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

    def to_dict(self) -> dict[str, Any]:
        """JSON data in the spelling of the wire; what is not known is ``null``. A code brings ``hint`` and ``retryable``."""
        return {_camel(name): _known(value) for name, value in asdict(self).items()} | advice(self.code)


@dataclass(frozen=True, slots=True)
class LateRecord:
    """A result that came, at ``at``, ``after_ms`` after nobody waited for it any more: the run's outcome is not changed by it.

    ``steps`` is what it says of them. In ``envelope`` and ``raw`` as in ``RunRecord``.
    """

    at: float
    after_ms: float
    envelope: Mapping[str, Any]
    raw: tuple[str, ...] = ()
    steps: tuple[StepRecord, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON data in the spelling of the wire."""
        return {
            "at": self.at,
            "afterMs": self.after_ms,
            "envelope": self.envelope,
            "raw": list(self.raw),
            "steps": _dicts(self.steps),
        }


@dataclass(frozen=True, slots=True)
class RunRecord:
    """Everything that is kept of one run.

    ``message`` says why it failed. ``payload`` is the normalised one; what was refused is kept as it was given. ``envelope``
    is the one that the caller got, whole, except that trees are named by their digest (see ``StepRecord``); ``raw`` holds the
    envelope's JSON text as the device wrote it. ``phases`` are milliseconds by phase name. ``late`` is the result that came
    when the caller had been told already that there is none.
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
        """JSON data in the spelling of the wire."""
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
    """Who asked what of which device: ``execute`` when it was admitted, ``result`` at its end, ``refused`` instead of both.

    ``allowed``: an ``operation`` that is no execution was permitted (a skill's script, a virtual device, the Operator's setup,
    a file that the caller names); ``result`` is its end, too. A refused request of the HTTP server names method and path.

    ``compile``: ``artifact`` of ``skill_id`` was made into an execution, or could not be (``code``). Executions that were
    compiled on this computer carry the skill and the recipe, too. ``caller`` is whoever asked and ``peer`` the network address
    of their request, where a face knows; ``profile`` the policy's that decided, and ``denied`` what it refused, such as
    ``package com.example``. ``rule`` is what decided: ``capability click``, ``read_only``, ``token``, ``origin`` … ``times`` is
    how many equal refusals the entry stands for. Nothing here was read from a screen. ``number`` counts up in one history file.
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
        """JSON data in the spelling of the wire; what is not known is ``null``, what does not apply is empty.

        ``verdict`` is ``refused`` or ``allowed``; a code brings ``hint`` and ``retryable``.
        """
        answer = {_camel(name): _known(value) for name, value in asdict(self).items()}
        verdict = "refused" if self.event == "refused" else "allowed"
        return answer | {"actionTypes": list(self.action_types), "verdict": verdict} | advice(self.code)


def _dicts(records: tuple[Any, ...]) -> list[dict[str, Any]]:
    return [{_camel(name): _known(value) for name, value in asdict(record).items()} for record in records]


def advice(code: str) -> dict[str, Any]:
    """``hint`` and ``retryable`` of an error code, as every error has them; nothing for a success or a code of the device's own."""
    known = ErrorCode.known(code)
    return {} if known is None else {"hint": known.hint, "retryable": known.retryable}


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def _known(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
