"""The stages of a job, reported as they begin, continue and end: each one that begins ends exactly once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from clawperator.engine.errors import EngineError
from clawperator.engine.events.progress import Stage, StageState, Tell

DONE = "done"
"""The name of the stage that ends a job."""
_LONGEST_MESSAGE = 500
_BAR = re.compile(r"^\[[= ]*\] *(\d{1,3}% )?")
_PERCENT = re.compile(r"(\d{1,3})%", re.ASCII)


class JobProgress:
    """Reports the stages of one job to ``tell``."""

    def __init__(self, job: str, tell: Tell) -> None:
        self.job = job
        self.tell = tell

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
            self.tell(Stage(self.job, name, "skipped"))

    def done(self, message: str, elapsed: float) -> None:
        """Report the end of the job, ``elapsed`` seconds after its start."""
        self.tell(Stage(self.job, DONE, "done", elapsed * 1000, message=message))


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
        self._job.tell(Stage(self._job.job, self._name, state, elapsed, limit, fraction, message[:_LONGEST_MESSAGE]))

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
