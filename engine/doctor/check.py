"""The value of one check (doctor.md#verdict)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from clawperator.engine.errors import ErrorCode

ANSWER_SECONDS = 10.0
"""How long a check waits for one answer of the device."""

Status = Literal["pass", "warn", "fail"]

CRITICAL = frozenset(
    {
        "host.python.version",
        "host.adb.presence",
        "host.adb.server",
        "host.java.version",
        "build.android.assemble",
        "device.discovery",
        "build.android.install",
        "build.android.launch",
        "device.capability",
        "readiness.version.compatibility",
        "readiness.handshake",
        "readiness.smoke",
    }
)
"""Ids whose ``fail`` makes the report not ok."""

NEVER_STOPS = frozenset({"device.capability"})
"""Critical ids whose ``fail`` does not end the run."""


@dataclass(frozen=True, slots=True)
class FixStep:
    """A command that can be run (``shell``), or an instruction for the user (``manual``)."""

    kind: Literal["shell", "manual"]
    value: str


class _CheckHead(TypedDict):
    id: str
    status: Status
    summary: str


class CheckDocument(_CheckHead, total=False):
    """A check as JSON data; empty values are absent. ``unknown`` is true or absent."""

    code: str
    unknown: bool
    detail: str
    fix: dict[str, Any]
    deviceGuidance: dict[str, Any]
    evidence: dict[str, Any]
    durationMs: int


@dataclass(frozen=True, slots=True)
class Check:
    """The result of one check. ``duration_ms`` is that of its probe, 0 without one.

    ``unknown``: it could not run, or its answer could not be read; it is neither passed nor does it show a problem.
    Texts may contain output of a device or a tool; they are escaped where they are shown.
    """

    id: str
    status: Status
    summary: str
    code: ErrorCode | None = None
    detail: str = ""
    fix_title: str = ""
    fix: tuple[FixStep, ...] = ()
    guidance_screen: str = ""
    guidance: tuple[str, ...] = ()
    evidence: Mapping[str, Any] | None = None
    duration_ms: float = 0.0
    unknown: bool = False

    @property
    def critical(self) -> bool:
        return self.id in CRITICAL

    @property
    def stops(self) -> bool:
        """Return whether the checks that follow are skipped."""
        return self.status == "fail" and self.critical and self.id not in NEVER_STOPS

    def to_dict(self) -> dict[str, Any]:
        answer: CheckDocument = {"id": self.id, "status": self.status, "summary": self.summary}
        if self.code is not None:  # between status and summary
            answer = {"id": self.id, "status": self.status, "code": self.code.value, "summary": self.summary}
        if self.unknown:
            answer["unknown"] = True
        if self.detail:
            answer["detail"] = self.detail
        if self.fix:
            steps = [{"kind": step.kind, "value": step.value} for step in self.fix]
            answer["fix"] = {"title": self.fix_title, "platform": "any", "steps": steps}
        if self.guidance:
            answer["deviceGuidance"] = {"screen": self.guidance_screen, "steps": list(self.guidance)}
        if self.evidence is not None:
            answer["evidence"] = dict(self.evidence)
        if self.duration_ms > 0:
            answer["durationMs"] = max(round(self.duration_ms), 1)
        return dict(answer)


def manual(*values: str) -> tuple[FixStep, ...]:
    return tuple(FixStep("manual", value) for value in values)


def shell(*values: str) -> tuple[FixStep, ...]:
    return tuple(FixStep("shell", value) for value in values)


def unreadable(check_id: str, what: str, answer: str) -> Check:
    """Return the warning of an advisory check whose answer has an unknown format."""
    return Check(check_id, "warn", f"{what} could not be read", evidence={"output": answer.strip()[:300]}, unknown=True)
