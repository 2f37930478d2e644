"""Progress of jobs: their stages, reported as they begin, continue and end. Each stage that begins ends exactly once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal

from clawperator.engine.errors import EngineError

DONE = "done"
"""The name of the stage that ends a job."""
_LONGEST_MESSAGE = 500
_BAR = re.compile(r"^\[[= ]*\] *(\d{1,3}% )?")
_PERCENT = re.compile(r"(\d{1,3})%", re.ASCII)
StageState = Literal["running", "done", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Stage:
    """The state of one stage of a job, reported repeatedly while it runs and exactly once at its end.

    ``elapsed_ms`` counts from the beginning of this stage, ``limit_ms`` is what it may take (0: no limit). ``fraction`` is
    between 0 and 1 where progress can be measured, else ``None``. ``message`` is for people: what is being done, a line of
    a tool's output, or why it failed; it may hold text of a device or of a tool and is escaped where it is shown.
    """

    job: str
    name: str
    state: StageState
    elapsed_ms: float = 0.0
    limit_ms: float = 0.0
    fraction: float | None = None
    message: str = ""

    def to_dict(self) -> dict[str, Any]:
        """One line of ``--json-progress``."""
        line: dict[str, Any] = {
            "event": "progress",
            "job": self.job,
            "stage": self.name,
            "state": self.state,
            "elapsedMs": round(self.elapsed_ms),
        }
        if self.limit_ms:
            line["limitMs"] = round(self.limit_ms)
        if self.fraction is not None:
            line["fraction"] = round(self.fraction, 4)
        if self.message:
            line["message"] = self.message
        return line


OnProgress = Callable[[Stage], object]
"""A progress callback. Called in the event loop; must not block."""


def unreported(_: object) -> None:
    """Ignore progress: for callers that want only the result."""


class JobProgress:
    """Reports the stages of one job to ``on_progress``."""

    def __init__(self, job: str, on_progress: OnProgress) -> None:
        self.job = job
        self.on_progress = on_progress

    @contextmanager
    def stage(
        self, name: str, limit: float = 0.0, message: str = "", *, left: Callable[[BaseException], str] | None = None
    ) -> Iterator[StageProgress]:
        """Report the block as a stage: ``done`` at its end, ``failed`` if it raises; ``limit`` is in seconds.

        ``left`` returns what remains of the work of a stage that failed.
        """
        stage = StageProgress(self, name, limit)
        stage.report("running", message)
        try:
            yield stage
        except BaseException as error:
            stage.report("failed", "; ".join(filter(None, (_reason(error), left(error) if left else ""))))
            raise
        stage.report("done", stage.result)

    def skipped(self, *names: str) -> None:
        for name in names:
            self.on_progress(Stage(self.job, name, "skipped"))

    def done(self, message: str, elapsed: float) -> None:
        """Report the end of the job, ``elapsed`` seconds after its start."""
        self.on_progress(Stage(self.job, DONE, "done", elapsed * 1000, message=message))


class StageProgress:
    """One running stage. ``result`` is its message when it succeeds."""

    def __init__(self, job: JobProgress, name: str, limit: float) -> None:
        self.result = ""
        self._job = job
        self._name = name
        self._limit = limit
        self._began = monotonic()

    def report(self, state: StageState, message: str = "", fraction: float | None = None) -> None:
        elapsed, limit = (monotonic() - self._began) * 1000, self._limit * 1000
        self._job.on_progress(
            Stage(self._job.job, self._name, state, elapsed, limit, fraction, message[:_LONGEST_MESSAGE])
        )

    def update(self, message: str = "", fraction: float | None = None) -> None:
        """Report that the stage is still running."""
        self.report("running", message, fraction)

    def line(self, text: str) -> None:
        """Report a line of a tool's output: a percentage becomes the fraction, a progress bar is removed."""
        found = _PERCENT.search(text)
        self.report("running", _BAR.sub("", text), min(int(found[1]), 100) / 100 if found else None)


def _reason(error: BaseException) -> str:
    if isinstance(error, EngineError):
        return error.message
    return "cancelled" if isinstance(error, asyncio.CancelledError) else type(error).__name__
