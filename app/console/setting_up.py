"""The Operator app's setup for the console: what is installed and what could be, then install, permissions, verify. It knows no widget.

One setup at a time; it runs beside everything else, survives the dialog and changes of mode, and ends with the console.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from clawperator.app.console.messages import News, NoticeNews, SetupNews
from clawperator.engine.errors import EngineError
from clawperator.engine.progress import Stage, Tell, untold
from clawperator.widgets.format.status import Status
from clawperator.widgets.format.times import Clock
from clawperator.widgets.models.job import Job
from clawperator.widgets.models.setup import ApkFile, AppState, InstalledApp, Setup
from clawperator.widgets.notice_line import Notice

if TYPE_CHECKING:
    from clawperator.engine.operator.apk import ApkFacts
    from clawperator.engine.operator.downloads import ApkProblem
    from clawperator.engine.operator.reports import OperatorStatus, SetupReport

STAGES = ("install", "permissions", "verify")
_BEFORE = "check"
"""What comes before the device is touched is told as the beginning of the installation."""


class Operator(Protocol):
    """The part of ``engine.operator.app.OperatorApp`` that the console uses."""

    async def status(self) -> OperatorStatus: ...
    async def setup(self, apk: str = "", *, tell: Tell = untold) -> SetupReport: ...


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
        clock: Clock,
        start: Callable[[str, Awaitable[None]], bool],
        afterwards: Callable[[str], object],
    ) -> None:
        self._engine = engine
        self._post = post
        self._clock = clock
        self._start = start
        self._afterwards = afterwards
        self._setup = Setup.EMPTY
        self._work: asyncio.Task[str] | None = None
        self.downloads: Callable[[], tuple[str, list[ApkFile]]] = found_in_downloads
        self.read: Callable[[str], ApkFile] = read_file

    @property
    def job(self) -> Job | None:
        """The one that runs, or ended last."""
        return self._setup.job

    @property
    def busy(self) -> bool:
        return self.job is not None and self.job.running

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

    def _show(self, setup: Setup) -> None:
        if setup != self._setup:
            self._setup = setup
            self._post(SetupNews(setup))

    # -- work

    def install(self, path: str) -> bool:
        """Install, grant, verify; false while another setup runs."""
        setup = self._setup
        if self.busy or not setup.serial:
            return False
        job = Job.begun("setup", setup.serial, STAGES, self._clock.now())
        if not self._start("operator setup", self._run(setup.serial, path)):
            return False
        self._show(replace(setup, job=job))
        return True

    def cancel(self) -> bool:
        """End the setup that runs; whether there is one."""
        job = self.job
        if job is None or not job.running or self._work is None:
            return False
        if not job.stopping:
            self._show(replace(self._setup, job=replace(job, stopping=True)))
            self._work.cancel()
        return True

    async def _run(self, serial: str, path: str) -> None:
        here = asyncio.current_task()
        self._work = asyncio.create_task(self._attempt(serial, path))
        try:
            words = await self._work
        except asyncio.CancelledError:
            if here is not None and here.cancelling():
                raise
            self._over(Status.SKIPPED, self._left_behind())
        except EngineError as exc:
            self._over(Status.FAILED, exc.message, code=exc.code.value, hint=exc.hint)
        else:
            self._over(Status.OK, words)
        finally:
            self._work = None
        await self._ask(serial)
        self._afterwards(serial)

    async def _attempt(self, serial: str, path: str) -> str:
        report = await self._engine.operator_app(device_id=serial).setup(path, tell=self._heard)
        version = f" {report.version_name}" if report.version_name else ""
        return f"{report.package}{version} is installed on {serial}, has its permissions and was verified"

    def _heard(self, stage: Stage) -> None:
        job = self.job
        if job is None or not job.running:
            return
        if stage.name == _BEFORE:
            state = "running" if stage.state == "done" else stage.state
            stage = replace(stage, name=STAGES[0], state=state, fraction=None)
        self._show(replace(self._setup, job=job.told(stage, self._clock.now())))

    def _left_behind(self) -> str:
        """What a cancelled setup has done already: nothing of it is taken back."""
        job = self.job
        done = [stage.name for stage in job.stages if stage.status is Status.OK] if job is not None else []
        if "permissions" in done:
            return "Cancelled while verifying. The app is installed and has its permissions."
        if "install" in done:
            return "Cancelled. The app is installed; some of its permissions may be missing. o does it again."
        return "Cancelled. Whether the app was installed is asked now."

    def _over(self, status: Status, words: str, *, code: str = "", hint: str = "") -> None:
        job = self.job
        if job is None:
            return
        self._show(replace(self._setup, job=job.over(status, words, self._clock.now(), code=code, hint=hint)))
        said = Status.WARN if status is Status.SKIPPED else status
        text = words if status is not Status.FAILED else f"Operator setup failed: {words}"
        self._post(NoticeNews(Notice(said, text, code)))


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
    from clawperator.engine.operator import downloads

    return downloads.folder(os.environ), [file_of(found) for found in downloads.found_apks(os.environ)]


def read_file(path: str) -> ApkFile:
    """One file. Raises ``EngineError`` as ``engine.operator.apk.read_apk``."""
    from clawperator.engine.operator.apk import read_apk

    return file_of(read_apk(path))


def file_of(found: ApkFacts | ApkProblem) -> ApkFile:
    """What the engine found: an APK, or a file that is none of the Operator's with the reason."""
    from clawperator.engine.operator.downloads import ApkProblem
    from clawperator.engine.operator.identity import OPERATOR_PACKAGES

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
