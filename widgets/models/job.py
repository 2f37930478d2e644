"""Long jobs as the console keeps them: stages, tool output, outcome. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.engine.progress import Stage

OUTPUT_KEPT = 200
"""Lines of tool output kept per stage; older ones are counted."""
LINE_KEPT = 2_000
"""Characters kept of one line."""
_STATUS = {"running": Status.RUNNING, "done": Status.OK, "failed": Status.FAILED, "skipped": Status.SKIPPED}


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSeen:
    """One stage. ``at`` is when it was last updated; times as in ``engine.events.progress.Stage``."""

    name: str
    status: Status = Status.WAITING
    elapsed_ms: float = 0.0
    limit_ms: float = 0.0
    fraction: float | None = None
    output: tuple[str, ...] = ()
    dropped: int = 0
    at: float = 0.0

    def elapsed(self, now: float) -> float:
        """Return the seconds that it took so far."""
        since = max(0.0, now - self.at) if self.status is Status.RUNNING and self.at else 0.0
        return self.elapsed_ms / 1000 + since

    def share(self, now: float) -> float | None:
        """Return its progress between 0 and 1: measured, else by its limit; ``None`` where neither is known."""
        if self.fraction is not None:
            return min(1.0, max(0.0, self.fraction))
        return min(1.0, self.elapsed(now) * 1000 / self.limit_ms) if self.limit_ms > 0 else None

    def with_stage(self, stage: Stage, now: float) -> Self:
        """Return the stage after an update; a repeated output is kept once."""
        lines = [line[:LINE_KEPT] for line in stage.message[: LINE_KEPT * 20].splitlines() if line.strip()]
        output = self.output
        if lines and tuple(lines) != output[-len(lines) :]:
            output = (*output, *lines)
        return replace(
            self,
            status=_STATUS.get(stage.state, Status.UNKNOWN),
            elapsed_ms=max(0.0, stage.elapsed_ms),
            limit_ms=max(0.0, stage.limit_ms),
            fraction=stage.fraction,
            output=output[-OUTPUT_KEPT:],
            dropped=self.dropped + max(0, len(output) - OUTPUT_KEPT),
            at=now,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job: ``kind`` is what it does (``provision``, ``start``, ``setup`` …), ``subject`` a virtual device or a
    serial.

    ``status`` is RUNNING until it ``ended``, then OK, FAILED or SKIPPED (cancelled). ``words`` are the outcome,
    ``code`` and ``hint`` belong to a failure. ``stopping``: it was cancelled and has not ended yet.
    """

    kind: str
    subject: str
    stages: tuple[StageSeen, ...] = ()
    since: float = 0.0
    ended: float = 0.0
    status: Status = Status.RUNNING
    words: str = ""
    code: str = ""
    hint: str = ""
    stopping: bool = False

    @classmethod
    def begun(cls, kind: str, subject: str, stages: Iterable[str], now: float) -> Self:
        """Create a job with all its stages waiting."""
        return cls(kind=kind, subject=subject, stages=tuple(StageSeen(name=name) for name in stages), since=now)

    @property
    def running(self) -> bool:
        return not self.ended

    @property
    def current(self) -> StageSeen | None:
        """Return the running stage; of an ended job, the one that it ended in."""
        begun = [stage for stage in self.stages if stage.status not in (Status.WAITING, Status.SKIPPED)]
        return begun[-1] if begun else None

    def seconds(self, now: float) -> float:
        return max(0.0, (self.ended or now) - self.since)

    def with_stage(self, stage: Stage, now: float) -> Self:
        """Return the job after an update: waiting stages before this one were skipped. An unknown one is appended."""
        stages = list(self.stages)
        place = next((index for index, seen in enumerate(stages) if seen.name == stage.name), len(stages))
        if place == len(stages):
            stages.append(StageSeen(name=stage.name[:40]))
        for index, seen in enumerate(stages[:place]):
            if seen.status is Status.WAITING:
                stages[index] = replace(seen, status=Status.SKIPPED)
        stages[place] = stages[place].with_stage(stage, now)
        return replace(self, stages=tuple(stages))

    def over(self, status: Status, words: str, now: float, *, code: str = "", hint: str = "") -> Self:
        """End the job: a running stage ends with it; waiting ones are skipped on success."""
        stages = tuple(_closed(stage, status, now) for stage in self.stages)
        return replace(self, stages=stages, ended=now, status=status, words=words, code=code, hint=hint, stopping=False)


def _closed(stage: StageSeen, status: Status, now: float) -> StageSeen:
    if stage.status is Status.RUNNING:
        return replace(
            stage,
            status=Status.WARN if status is Status.SKIPPED else status,
            elapsed_ms=stage.elapsed(now) * 1000,
            at=now,
        )
    if stage.status is Status.FAILED and status is Status.SKIPPED:
        return replace(stage, status=Status.WARN)
    if stage.status is Status.WAITING and status is Status.OK:
        return replace(stage, status=Status.SKIPPED)
    return stage


def done_in(job: Job, names: Sequence[str]) -> set[str]:
    """Return which of these stages are done."""
    return {stage.name for stage in job.stages if stage.name in names and stage.status is Status.OK}
