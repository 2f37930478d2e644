"""What fixes ran in this session, and what they said."""

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
    """One step of a check: ``preview`` are the commands behind it, ``output`` is what came of them, as text from outside.

    ``began`` and ``ended`` are moments, 0 while they have not come.
    """

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

    def told(self, stage: Stage) -> FixRun:
        """With the newest word of a stage; each stage is one line."""
        others = [known for known in self.stages if known.name != stage.name]
        place = next((index for index, known in enumerate(self.stages) if known.name == stage.name), len(others))
        return replace(self, stages=tuple([*others[:place], stage, *others[place:]][-STAGES_KEPT:]))
