"""Virtual devices for the console: what there is and runs, kept current, and the work on them. It knows no widget.

Looking begins when somebody first wants to see them. The folder of the AVD files is watched; adb's news and wishes ask what
runs; while one boots, it is asked again now and then, because adb tells nobody when it has. One job at a time: it runs
beside everything else, survives changes of mode, and ends with the console.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from clawperator.app.console.devices import emulator_jobs
from clawperator.app.console.devices.avd_watch import signs_of, watch
from clawperator.app.console.devices.emulator_jobs import STAGES, Manager
from clawperator.app.console.job_runner import JobRunner, Start
from clawperator.app.console.messages import EmulatorsNews, News, NoticeNews
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.progress import Tell
from clawperator.widgets.format.jobs import job_words, stage_word
from clawperator.widgets.models.emulators import EmulatorsState
from clawperator.widgets.models.job import Job
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
from clawperator.widgets.text.times import WallClock, duration

if TYPE_CHECKING:
    from clawperator.engine.emulators.provision import ProvisionPlan

BOOT_LOOK_SECONDS = 2.0
"""While an emulator boots, so often it is asked whether it has."""


class HasEmulators(Protocol):
    """The part of the engine that has them."""

    @property
    def emulators(self) -> Manager: ...


class Emulating:
    """``post`` tells the news, ``start`` runs what takes its time."""

    def __init__(
        self,
        engine: HasEmulators,
        post: Callable[[News], object],
        clock: WallClock,
        start: Start,
    ) -> None:
        self._engine = engine
        self._post = post
        self._clock = clock
        self._start = start
        self._machines = EmulatorsState.EMPTY
        self._looking = False
        self._wanted = asyncio.Event()
        self._files_changed = True
        self._jobs = JobRunner("virtual device", start, clock, self._show_job, lambda notice: post(NoticeNews(notice)))

    @property
    def job(self) -> Job | None:
        """The one that runs, or ended last."""
        return self._jobs.job

    @property
    def busy(self) -> bool:
        return self._jobs.busy

    # -- looking

    def begin(self) -> None:
        """Somebody looks: keep the list current from now on."""
        if not self._looking:
            self._looking = self._start("virtual devices", self._watch())

    def devices_changed(self) -> None:
        """The list of adb is another: what runs is asked anew."""
        self._wanted.set()

    def look_again(self) -> None:
        """Files and what runs, both."""
        self.begin()
        self._files_changed = True
        self._wanted.set()

    async def _watch(self) -> None:
        try:
            manager = self._engine.emulators
        except EngineError as exc:
            self._show(replace(self._machines, known=True, problem=exc.message, code=exc.code.value, hint=exc.hint))
            return
        home = Path(manager.home)
        seen = await asyncio.to_thread(signs_of, home)  # before the first look: what changes after it is noticed
        async with asyncio.TaskGroup() as group:
            group.create_task(watch(home, self.look_again, self._files_unwatched, seen=seen))
            while True:
                self._wanted.clear()
                files, self._files_changed = self._files_changed, False
                await self._look(manager, files=files)
                with suppress(TimeoutError):
                    async with asyncio.timeout(BOOT_LOOK_SECONDS if self._machines.booting else None):
                        await self._wanted.wait()

    def _files_unwatched(self, reason: str) -> None:
        words = f"Changes of virtual devices are not noticed any more: {reason}. r looks again"
        self._post(NoticeNews(Notice(Status.WARN, words)))

    async def _look(self, manager: Manager, *, files: bool) -> None:
        """One look. What cannot be asked leaves what else could be."""
        before, problem = self._machines, None
        avds, running = before.avds, before.running
        if files or before.problem:
            try:
                avds = await manager.avds()
            except EngineError as exc:
                avds, problem = (), exc
        try:
            running = await manager.status()
        except EngineError as exc:
            running, problem = (), problem or exc
        code = problem.code.value if problem is not None else ""
        hint = problem.hint if problem is not None else ""
        self._show(
            replace(
                self._machines,
                avds=avds,
                running=running,
                abis=tuple(manager.supported_abis),
                known=True,
                problem=_sentence(problem),
                code=code,
                hint=hint,
            )
        )

    def _show(self, machines: EmulatorsState) -> None:
        if machines != self._machines:
            self._machines = machines
            self._post(EmulatorsNews(machines))

    # -- work

    async def plan(self) -> ProvisionPlan:
        """What provisioning would do now. Raises ``EngineError``."""
        return await self._engine.emulators.plan()

    def provision(self, name: str = "", subject: str = "") -> bool:
        """Get a running virtual device; false while other work is going on. ``subject`` is what the plan said it will be."""
        return self._begin(
            "provision", subject or name, lambda manager, tell: emulator_jobs.provision(manager, name, tell)
        )

    def start_avd(self, name: str) -> bool:
        return self._begin("start", name, lambda manager, tell: emulator_jobs.start(manager, name, tell))

    def stop_avd(self, name: str) -> bool:
        return self._begin("stop", name, lambda manager, tell: emulator_jobs.stop(manager, name, tell))

    def create(self, name: str) -> bool:
        return self._begin("create", name, lambda manager, tell: emulator_jobs.create(manager, name, tell))

    def delete(self, name: str) -> bool:
        return self._begin("delete", name, lambda manager, tell: emulator_jobs.delete(manager, name, tell))

    def cancel(self) -> bool:
        """End the job that runs; whether there is one. What it has begun is put away first, which can take a moment."""
        return self._jobs.cancel()

    def _begin(self, kind: str, subject: str, work: Callable[[Manager, Tell], Awaitable[str]]) -> bool:
        job = Job.begun(kind, subject, STAGES[kind], self._clock.now())
        begun = self._jobs.begin(
            job,
            _capital(job_words(job)),
            lambda tell: work(self._engine.emulators, tell),
            left=self._left_behind,
            then=self._afterwards,
        )
        if begun:
            self.begin()
        return begun

    async def _afterwards(self) -> None:
        self.look_again()

    def _show_job(self, job: Job) -> None:
        self._show(replace(self._machines, job=job))

    async def _left_behind(self, job: Job) -> str:
        """What a cancelled job has left, as it is now: not what it meant to leave."""
        stage = job.current
        words = "Cancelled"
        if stage is not None:
            words += f" in {stage_word(stage.name)} after {duration(job.seconds(self._clock.now()))}"
        left = [part async for part in emulator_jobs.remains(job, self._engine.emulators)]
        return f"{words}. " + (f"Left behind: {'; '.join(left)}." if left else "Nothing was left behind.")


# -- words


def _sentence(problem: EngineError | None) -> str:
    """Why the list is not whole, in one sentence with its code."""
    if problem is None:
        return ""
    if problem.code is ErrorCode.ANDROID_SDK_TOOL_MISSING:
        missing = problem.details.get("missingTools")
        tools = ", ".join(map(str, missing)) if isinstance(missing, list) and missing else "emulator"
        return f"No virtual devices here: the Android SDK's {tools} was not found ({problem.code.value})."
    return f"{problem.message.rstrip('.')} ({problem.code.value})."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
