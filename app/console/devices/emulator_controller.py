"""Keeps the list of virtual devices current and runs jobs on them. It knows no widget.

Polling starts when the list is first shown. The folder of the AVD files is watched; changes of adb's device list and
requests query the running emulators; while one boots it is polled, because adb does not report the end of a boot. One
job runs at a time, through changes of mode, until the console ends.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import aclosing, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from clawperator.app.console.console_engine import ConsoleEngine, EmulatorManager
from clawperator.app.console.devices import emulator_jobs
from clawperator.app.console.devices.emulator_jobs import STAGES, WORK
from clawperator.app.console.file_watch import avd_signs, changes
from clawperator.app.console.job_runner import JobRunner, Start
from clawperator.app.console.messages import NoticeUpdate, Update, ValueUpdate
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.widgets.format.jobs import job_words, stage_word
from clawperator.widgets.models.emulators import EmulatorsState
from clawperator.widgets.models.job import Job
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
from clawperator.widgets.text.times import WallClock, duration

if TYPE_CHECKING:
    from clawperator.engine.emulators.provision import ProvisionPlan

BOOT_LOOK_SECONDS = 2.0
"""Interval of polls while an emulator boots."""


class EmulatorController:
    """``post`` takes updates, ``start`` runs jobs."""

    def __init__(
        self,
        engine: ConsoleEngine,
        post: Callable[[Update], object],
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
        self._jobs = JobRunner(
            "virtual device", start, clock, self._show_job, lambda notice: post(NoticeUpdate(notice))
        )

    @property
    def job(self) -> Job | None:
        """The job that runs, or ended last."""
        return self._jobs.job

    @property
    def busy(self) -> bool:
        return self._jobs.busy

    # -- looking

    def begin(self) -> None:
        """Keep the list current from now on."""
        if not self._looking:
            self._looking = self._start("virtual devices", self._watch())

    def devices_changed(self) -> None:
        """Query the running emulators again."""
        self._wanted.set()

    def look_again(self) -> None:
        """Query the files and the running emulators again."""
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
        seen = await asyncio.to_thread(avd_signs, home)  # before the first query, so that later changes are detected
        async with asyncio.TaskGroup() as group:
            group.create_task(self._watch_files(home, seen))
            while True:
                self._wanted.clear()
                files, self._files_changed = self._files_changed, False
                await self._look(manager, files=files)
                with suppress(TimeoutError):
                    async with asyncio.timeout(BOOT_LOOK_SECONDS if self._machines.booting else None):
                        await self._wanted.wait()

    async def _watch_files(self, home: Path, seen: object) -> None:
        try:
            async with aclosing(changes(lambda: [str(home)], lambda: avd_signs(home), seen=seen)) as changed:
                async for _ in changed:
                    self.look_again()
        except OSError as exc:
            words = f"Changes of virtual devices are no longer detected: {exc}. Press r to refresh"
            self._post(NoticeUpdate(Notice(Status.WARN, words)))

    async def _look(self, manager: EmulatorManager, *, files: bool) -> None:
        """Query once; a part that fails leaves the other part."""
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
            self._post(ValueUpdate("machines", machines))

    # -- work

    async def plan(self) -> ProvisionPlan:
        """Return what provisioning would do now. Raises ``EngineError``."""
        return await self._engine.emulators.plan()

    def provision(self, name: str = "", subject: str = "") -> bool:
        """Start provisioning; return false while another job runs. ``subject`` is the name that the plan gave."""
        return self._begin("provision", name, subject or name)

    def begin_job(self, kind: str, name: str) -> bool:
        """Start, stop, create or delete a virtual device; return false while another job runs."""
        return self._begin(kind, name, name)

    def cancel(self) -> bool:
        """Cancel the running job; return whether there is one. Its cleanup can take a moment."""
        return self._jobs.cancel()

    def _begin(self, kind: str, name: str, subject: str) -> bool:
        job = Job.begun(kind, subject, STAGES[kind], self._clock.now())
        begun = self._jobs.begin(
            job,
            _capital(job_words(job)),
            lambda on_progress: WORK[kind](self._engine.emulators, name, on_progress),
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
        """Describe what a cancelled job has left behind, as queried now."""
        stage = job.current
        words = "Cancelled"
        if stage is not None:
            words += f" in {stage_word(stage.name)} after {duration(job.seconds(self._clock.now()))}"
        left = [part async for part in emulator_jobs.remains(job, self._engine.emulators)]
        return f"{words}. " + (f"Left behind: {'; '.join(left)}." if left else "Nothing was left behind.")


# -- words


def _sentence(problem: EngineError | None) -> str:
    """Return why the list is incomplete, in one sentence with its code."""
    if problem is None:
        return ""
    if problem.code is ErrorCode.ANDROID_SDK_TOOL_MISSING:
        missing = problem.details.get("missingTools")
        tools = ", ".join(map(str, missing)) if isinstance(missing, list) and missing else "emulator"
        return f"No virtual devices: the Android SDK's {tools} was not found ({problem.code.value})."
    return f"{problem.message.rstrip('.')} ({problem.code.value})."


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
