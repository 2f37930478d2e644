"""Runs long jobs: progress, cancellation, result. It knows no widget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import replace
from typing import Any

from clawperator.engine.errors import EngineError
from clawperator.engine.progress import OnProgress, Stage
from clawperator.widgets.models.job import Job
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
from clawperator.widgets.text.times import WallClock

Start = Callable[[str, Awaitable[None]], bool]
"""Run a job unless one of that name runs (``Bridge.start``)."""


class JobRunner:
    """One job at a time under ``name``. ``show`` gets each change of it, ``say`` its result.

    It survives changes of mode. Cancelled by the user it reports what is left; cancelled with the console it only ends.
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
        """The job that runs, or ended last."""

    @property
    def busy(self) -> bool:
        return self.job is not None and self.job.running

    def begin(
        self,
        job: Job,
        title: str,
        work: Callable[[OnProgress], Coroutine[Any, Any, str]],
        *,
        left: Callable[[Job], Awaitable[str]],
        then: Callable[[], Awaitable[None]],
        lead: str = "",
    ) -> bool:
        """Start ``job``; return false while another one runs.

        ``work`` returns the result in words. ``left`` describes what a cancelled job has left behind, ``then`` follows
        in any case. ``title`` begins the notice about a failure, ``lead`` the others.
        """
        if self.busy or not self._start(self._name, self._run(title, work, left, then, lead)):
            return False
        self._change(job)
        return True

    def cancel(self) -> bool:
        """Cancel the running job; return whether there is one. Its cleanup can take a moment."""
        job = self.job
        if job is None or not job.running or self._work is None:
            return False
        if not job.stopping:
            self.note(stopping=True)
            self._work.cancel()
        return True

    def heard(self, stage: Stage) -> None:
        """Take the progress of a stage; ignored after the end."""
        if self.job is not None and self.job.running:
            self._change(self.job.with_stage(stage, self._clock.now()))

    def note(self, **changes: Any) -> None:
        """Change the running job; ignored after the end."""
        if self.job is not None and self.job.running:
            self._change(replace(self.job, **changes))

    async def _run(
        self,
        title: str,
        work: Callable[[OnProgress], Coroutine[Any, Any, str]],
        left: Callable[[Job], Awaitable[str]],
        then: Callable[[], Awaitable[None]],
        lead: str,
    ) -> None:
        here = asyncio.current_task()
        self._work = asyncio.create_task(work(self.heard))
        try:
            words = await self._work
        except asyncio.CancelledError:
            if here is not None and here.cancelling():
                raise
            assert self.job is not None
            words = await left(self.job)
            self._over(Status.SKIPPED, words, Notice(Status.WARN, f"{lead}{words}"))
        except EngineError as exc:
            notice = Notice(Status.FAILED, f"{title} failed: {exc.message}", exc.code.value)
            self._over(Status.FAILED, exc.message, notice, code=exc.code.value, hint=exc.hint)
        else:
            self._over(Status.OK, words, Notice(Status.OK, f"{lead}{words}"))
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
