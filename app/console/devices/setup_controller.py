"""Sets up the Operator app: status, APK files, install, permissions, verification. It knows no widget.

One setup runs at a time, through changes of mode, until the console ends.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from clawperator.app.console.console_engine import ConsoleEngine
from clawperator.app.console.job_runner import JobRunner, Start
from clawperator.app.console.messages import NoticeUpdate, Update, ValueUpdate
from clawperator.engine.errors import EngineError
from clawperator.engine.progress import OnProgress, Stage
from clawperator.widgets.models.job import Job
from clawperator.widgets.models.setup import ApkFile, SetupState
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.times import WallClock

if TYPE_CHECKING:
    from clawperator.engine.operator.apk import ApkFacts
    from clawperator.engine.operator.local_apks import ApkProblem
    from clawperator.engine.operator.reports import OperatorStatus

STAGES = ("install", "permissions", "verify")
_BEFORE = "check"


class SetupController:
    """``start`` runs jobs (``Bridge.start``); ``afterwards`` is called with the serial at the end.

    ``downloads`` searches for APK files and blocks; ``read`` reads one.
    """

    def __init__(
        self,
        engine: ConsoleEngine,
        post: Callable[[Update], object],
        clock: WallClock,
        start: Start,
        afterwards: Callable[[str], object],
    ) -> None:
        self._engine = engine
        self._post = post
        self._clock = clock
        self._start = start
        self._afterwards = afterwards
        self._setup = SetupState.EMPTY
        self._jobs = JobRunner(
            "operator setup", start, clock, self._show_job, lambda notice: post(NoticeUpdate(notice))
        )
        self.downloads: Callable[[], tuple[str, list[ApkFile]]] = found_in_downloads
        self.read: Callable[[str], ApkFile] = read_file

    @property
    def job(self) -> Job | None:
        """The job that runs, or ended last."""
        return self._setup.job

    @property
    def busy(self) -> bool:
        return self._jobs.busy

    # -- looking

    def look(self, serial: str) -> None:
        """Query what is installed on ``serial`` and which files there are; ignored while a setup runs."""
        if self.busy:
            return
        if serial != self._setup.serial:
            self._show(replace(self._setup, serial=serial, status=None, problem="", code="", job=None))
        self._start(f"operator app of {serial}", self._ask(serial))
        self._start("apk files", self._find())

    async def _ask(self, serial: str) -> None:
        status: OperatorStatus | None = None
        problem = code = ""
        try:
            status = await self._engine.operator_app(device_id=serial).status()
        except EngineError as exc:
            problem, code = exc.message, exc.code.value
        if serial == self._setup.serial:
            self._show(replace(self._setup, status=status, problem=problem, code=code))

    async def _find(self) -> None:
        folder, files = await asyncio.to_thread(self.downloads)
        known = {file.path for file in files}
        named = [file for file in self._setup.files or () if file.path not in known and _elsewhere(file.path, folder)]
        self._show(replace(self._setup, folder=folder, files=(*files, *named)))

    async def name_file(self, path: str) -> ApkFile:
        """Read a file that the user named and add it to the list; its ``problem`` says why it is not an APK."""
        path = os.path.abspath(os.path.expanduser(path))  # noqa: ASYNC240  # asks no disk
        try:
            file = await asyncio.to_thread(self.read, path)
        except EngineError as exc:
            file = ApkFile(path=path, problem=_reason(exc))
        if file.problem:
            return file
        others = tuple(known for known in self._setup.files or () if known.path != file.path)
        self._show(replace(self._setup, files=(*others, file)))
        return file

    def _show(self, setup: SetupState) -> None:
        if setup != self._setup:
            self._setup = setup
            self._post(ValueUpdate("setup", setup))

    # -- work

    def install(self, path: str) -> bool:
        """Install, grant permissions, verify; return false while another setup runs."""
        setup = self._setup
        if self.busy or not setup.serial:
            return False
        return self._jobs.begin(
            Job.begun("setup", setup.serial, STAGES, self._clock.now()),
            "Operator setup",
            lambda on_progress: self._attempt(setup.serial, path, on_progress),
            left=_left_behind,
            then=lambda: self._look_afterwards(setup.serial),
        )

    def cancel(self) -> bool:
        """Cancel the running setup; return whether there is one."""
        return self._jobs.cancel()

    async def _attempt(self, serial: str, path: str, on_progress: OnProgress) -> str:
        report = await self._engine.operator_app(device_id=serial).setup(
            path, on_progress=lambda stage: on_progress(_as_shown(stage))
        )
        version = f" {report.version_name}" if report.version_name else ""
        return f"{report.package}{version} is installed on {serial}, its permissions are granted, and it was verified"

    async def _look_afterwards(self, serial: str) -> None:
        await self._ask(serial)
        self._afterwards(serial)

    def _show_job(self, job: Job) -> None:
        self._show(replace(self._setup, job=job))


def _as_shown(stage: Stage) -> Stage:
    """Count the check of the file as the beginning of the installation."""
    if stage.name != _BEFORE:
        return stage
    return replace(stage, name=STAGES[0], state="running" if stage.state == "done" else stage.state, fraction=None)


async def _left_behind(job: Job) -> str:
    """Describe what a cancelled setup has done; nothing is undone."""
    done = [stage.name for stage in job.stages if stage.status is Status.OK]
    if "permissions" in done:
        return "Cancelled while verifying. The app is installed and its permissions are granted."
    if "install" in done:
        return "Cancelled. The app is installed; some of its permissions may be missing. Press o to run setup again."
    return "Cancelled. Checking whether the app was installed."


def _elsewhere(path: str, folder: str) -> bool:
    """Return whether a named file is outside the folder: one inside that is not listed was deleted."""
    return os.path.dirname(path) != folder


def found_in_downloads() -> tuple[str, list[ApkFile]]:
    """Return the folder and its APK files, newest first. Blocks."""
    from clawperator.engine.operator import local_apks

    return local_apks.folder(os.environ), [file_of(found) for found in local_apks.found_apks(os.environ)]


def read_file(path: str) -> ApkFile:
    """Read one APK. Raises ``EngineError``."""
    from clawperator.engine.operator.apk import read_apk

    return file_of(read_apk(path))


def file_of(found: ApkFacts | ApkProblem) -> ApkFile:
    """Convert what the engine found: an APK, or a file with the reason why it is not the Operator's."""
    from clawperator.engine.contracts.operator_identity import OPERATOR_PACKAGES
    from clawperator.engine.operator.local_apks import ApkProblem

    if isinstance(found, ApkProblem):
        return ApkFile(path=found.path, problem=str(found.error.details.get("reason") or found.error.message))
    wrong = "" if found.package in OPERATOR_PACKAGES else f"it is {found.package}, not the Operator app"
    return ApkFile(
        path=found.path,
        package=found.package,
        version=found.version_name,
        version_code=found.version_code,
        size=found.size,
        min_sdk=found.min_sdk,
        problem=wrong,
    )


def _reason(error: EngineError) -> str:
    return f"{error.message.rstrip('.')} ({error.code.value})"
