"""Fixes that ran in this session."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from clawperator.engine.progress import Stage
from clawperator.widgets.models.status import Status

FixState = Literal["waiting", "running", "ok", "failed", "stopped"]

_STATUS = {
    "waiting": Status.WAITING,
    "running": Status.RUNNING,
    "ok": Status.OK,
    "failed": Status.FAILED,
    "stopped": Status.SKIPPED,
}
STAGES_KEPT = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class FixRun:
    """One step of a fix: ``preview`` are its commands, ``output`` is untrusted text; times are 0 while unknown."""

    check_id: str
    step: str
    preview: tuple[str, ...] = ()
    device_id: str = ""
    state: FixState = "waiting"
    stages: tuple[Stage, ...] = ()
    output: str = ""
    began: float = 0.0
    ended: float = 0.0

    @property
    def status(self) -> Status:
        return _STATUS[self.state]

    @property
    def over(self) -> bool:
        return self.state in ("ok", "failed", "stopped")

    def with_stage(self, stage: Stage) -> FixRun:
        """Return the fix with the newest state of a stage; each stage is one line."""
        others = [known for known in self.stages if known.name != stage.name]
        place = next((index for index, known in enumerate(self.stages) if known.name == stage.name), len(others))
        return replace(self, stages=tuple([*others[:place], stage, *others[place:]][-STAGES_KEPT:]))
