"""The Operator app's setup for the console: what is installed and what could be, then install, permissions, verify. It knows no widget.

One setup at a time; it runs beside everything else, survives the dialog and changes of mode, and ends with the console.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from clawperator.app.console.job_runner import JobRunner, Start
from clawperator.app.console.messages import News, NoticeNews, SetupNews
from clawperator.engine.errors import EngineError
from clawperator.engine.progress import Stage, Tell, unreported
from clawperator.widgets.models.job import Job
from clawperator.widgets.models.setup import ApkFile, AppState, InstalledApp, SetupState
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.times import WallClock

if TYPE_CHECKING:
    from clawperator.engine.operator.apk import ApkFacts
    from clawperator.engine.operator.local_apks import ApkProblem
    from clawperator.engine.operator.reports import OperatorStatus, SetupReport

STAGES = ("install", "permissions", "verify")
_BEFORE = "check"


class Operator(Protocol):
    """The part of ``engine.operator.app.OperatorApp`` that the console uses."""

    async def status(self) -> OperatorStatus: ...
    async def setup(self, apk: str = "", *, tell: Tell = unreported) -> SetupReport: ...


class HasOperator(Protocol):
    """The part of the engine that has it."""

    def operator_app(self, *, device_id: str | None = None) -> Operator: ...


class SettingUp:
    """``start`` runs a job beside everything else (``Bridge.start``); ``afterwards`` is called with the serial at its end.

    ``downloads`` looks for APK files and blocks meanwhile; ``read`` reads one of them.
    """

    def __init__(
        self,
        engine: HasOperator,
        post: Callable[[News], object],
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
        self._jobs = JobRunner("operator setup", start, clock, self._show_job, lambda notice: post(NoticeNews(notice)))
        self.downloads: Callable[[], tuple[str, list[ApkFile]]] = found_in_downloads
        self.read: Callable[[str], ApkFile] = read_file

    @property
    def job(self) -> Job | None:
        """The one that runs, or ended last."""
        return self._setup.job

    @property
    def busy(self) -> bool:
        return self._jobs.busy

    # -- looking

    def look(self, serial: str) -> None:
        """What is installed on ``serial``, and which files there are; while a setup runs, it stays with that."""
        if self.busy:
            return
        if serial != self._setup.serial:
            self._show(replace(self._setup, serial=serial, status=None, problem="", code="", job=None))
        self._start(f"operator app of {serial}", self._ask(serial))
        self._start("apk files", self._find())

    async def _ask(self, serial: str) -> None:
        status: AppState | None = None
        problem = code = ""
        try:
            status = state_of(await self._engine.operator_app(device_id=serial).status())
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
        """Read a file that somebody named and keep it in the list; its ``problem`` says why it is no APK."""
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
            self._post(SetupNews(setup))

    # -- work

    def install(self, path: str) -> bool:
        """Install, grant, verify; false while another setup runs."""
        setup = self._setup
        if self.busy or not setup.serial:
            return False
        return self._jobs.begin(
            Job.begun("setup", setup.serial, STAGES, self._clock.now()),
            "Operator setup",
            lambda tell: self._attempt(setup.serial, path, tell),
            left=_left_behind,
            then=lambda: self._look_afterwards(setup.serial),
        )

    def cancel(self) -> bool:
        """End the setup that runs; whether there is one."""
        return self._jobs.cancel()

    async def _attempt(self, serial: str, path: str, tell: Tell) -> str:
        report = await self._engine.operator_app(device_id=serial).setup(
            path, tell=lambda stage: tell(_as_shown(stage))
        )
        version = f" {report.version_name}" if report.version_name else ""
        return f"{report.package}{version} is installed on {serial}, has its permissions and was verified"

    async def _look_afterwards(self, serial: str) -> None:
        await self._ask(serial)
        self._afterwards(serial)

    def _show_job(self, job: Job) -> None:
        self._show(replace(self._setup, job=job))


def _as_shown(stage: Stage) -> Stage:
    """The look at the file, before the device is touched, is the beginning of the installation."""
    if stage.name != _BEFORE:
        return stage
    return replace(stage, name=STAGES[0], state="running" if stage.state == "done" else stage.state, fraction=None)


async def _left_behind(job: Job) -> str:
    """What a cancelled setup has done already: nothing of it is taken back."""
    done = [stage.name for stage in job.stages if stage.status is Status.OK]
    if "permissions" in done:
        return "Cancelled while verifying. The app is installed and has its permissions."
    if "install" in done:
        return "Cancelled. The app is installed; some of its permissions may be missing. o does it again."
    return "Cancelled. Whether the app was installed is asked now."


def _elsewhere(path: str, folder: str) -> bool:
    """Whether a named file is outside of the folder: one inside that is not listed any more is gone."""
    return os.path.dirname(path) != folder


def state_of(status: OperatorStatus) -> AppState:
    """The engine's report as much of it as is shown."""
    return AppState(
        installed=tuple(
            InstalledApp(package=one.package, version=one.version_name, version_code=one.version_code)
            for one in status.installed
        ),
        fits=status.compatibility.compatible,
        enabled=status.enabled,
        running=status.bound,
        notifications=status.notifications,
        listener=status.listener,
    )


def found_in_downloads() -> tuple[str, list[ApkFile]]:
    """The folder and its APK files, newest first. Blocks for as long as the disk takes."""
    from clawperator.engine.operator import local_apks

    return local_apks.folder(os.environ), [file_of(found) for found in local_apks.found_apks(os.environ)]


def read_file(path: str) -> ApkFile:
    """One file. Raises ``EngineError`` as ``engine.operator.apk.read_apk``."""
    from clawperator.engine.operator.apk import read_apk

    return file_of(read_apk(path))


def file_of(found: ApkFacts | ApkProblem) -> ApkFile:
    """What the engine found: an APK, or a file that is none of the Operator's with the reason."""
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
        abis=found.abis,
        problem=wrong,
    )


def _reason(error: EngineError) -> str:
    return f"{error.message.rstrip('.')} ({error.code.value})"
