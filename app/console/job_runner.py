"""Long work of the console: begun, told as it goes, cancelled, and what came of it. It knows no widget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

from clawperator.engine.errors import EngineError
from clawperator.engine.progress import Stage, Tell
from clawperator.widgets.models.job import Job
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
from clawperator.widgets.text.times import WallClock

Start = Callable[[str, Awaitable[None]], bool]
"""Run work beside everything else unless some of that name runs (``Bridge.start``)."""


class JobRunner:
    """One job at a time under ``name``. ``show`` hears of each change of it, ``say`` what came of it.

    It survives changes of mode. Cancelled by the user it says what is left; cancelled with the console it only ends.
    """

    def __init__(
        self, name: str, start: Start, clock: WallClock, show: Callable[[Job], object], say: Callable[[Notice], object]
    ) -> None:
        self._name = name
        self._start = start
        self._clock = clock
        self._show = show
        self._say = say
        self._work: asyncio.Task[str] | None = None
        self.job: Job | None = None
        """The one that runs, or ended last."""

    @property
    def busy(self) -> bool:
        return self.job is not None and self.job.running

    def begin(
        self,
        job: Job,
        title: str,
        work: Callable[[Tell], Awaitable[str]],
        *,
        left: Callable[[Job], Awaitable[str]],
        then: Callable[[], Awaitable[None]],
    ) -> bool:
        """Start ``job``; false while another one runs.

        ``work`` answers with what it came to in words. ``left`` says what a cancelled job has left behind, ``then`` follows
        however it ended. ``title`` begins the sentence about a failure.
        """
        if self.busy or not self._start(self._name, self._run(title, work, left, then)):
            return False
        self._change(job)
        return True

    def cancel(self) -> bool:
        """End the job that runs; whether there is one. What it has begun is put away first, which can take a moment."""
        job = self.job
        if job is None or not job.running or self._work is None:
            return False
        if not job.stopping:
            self._change(replace(job, stopping=True))
            self._work.cancel()
        return True

    def heard(self, stage: Stage) -> None:
        """News of a stage; what comes after the end is too late."""
        if self.job is not None and self.job.running:
            self._change(self.job.with_stage(stage, self._clock.now()))

    async def _run(
        self,
        title: str,
        work: Callable[[Tell], Awaitable[str]],
        left: Callable[[Job], Awaitable[str]],
        then: Callable[[], Awaitable[None]],
    ) -> None:
        here = asyncio.current_task()
        self._work = asyncio.create_task(_awaited(work(self.heard)))
        try:
            words = await self._work
        except asyncio.CancelledError:
            if here is not None and here.cancelling():
                raise
            assert self.job is not None
            words = await left(self.job)
            self._over(Status.SKIPPED, words, Notice(Status.WARN, words))
        except EngineError as exc:
            notice = Notice(Status.FAILED, f"{title} failed: {exc.message}", exc.code.value)
            self._over(Status.FAILED, exc.message, notice, code=exc.code.value, hint=exc.hint)
        else:
            self._over(Status.OK, words, Notice(Status.OK, words))
        finally:
            self._work = None
        await then()

    def _over(self, status: Status, words: str, notice: Notice, *, code: str = "", hint: str = "") -> None:
        if self.job is not None:
            self._change(self.job.over(status, words, self._clock.now(), code=code, hint=hint))
            self._say(notice)

    def _change(self, job: Job) -> None:
        self.job = job
        self._show(job)


async def _awaited(work: Awaitable[str]) -> str:
    return await work
