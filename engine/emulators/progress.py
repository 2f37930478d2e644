"""Stages of a job, told as they begin, go on and end: every stage that begins ends exactly once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from clawperator.engine.errors import EngineError
from clawperator.engine.events.progress import Stage, StageState, Tell

CHECK_TOOLS = "check_tools"
SCAN_RUNNING = "scan_running"
SCAN_AVDS = "scan_avds"
INSTALL_IMAGE = "install_image"
CREATE_AVD = "create_avd"
START = "start"
WAIT_ADB = "wait_adb"
WAIT_BOOT = "wait_boot"
ENABLE_SETTINGS = "enable_settings"
DONE = "done"
STOP = "stop"
"""Of stopping, alone."""
STAGES = (
    CHECK_TOOLS,
    SCAN_RUNNING,
    SCAN_AVDS,
    INSTALL_IMAGE,
    CREATE_AVD,
    START,
    WAIT_ADB,
    WAIT_BOOT,
    ENABLE_SETTINGS,
    DONE,
)
"""Of provisioning, in their order (emulators.md#provisioning)."""
_LONGEST_MESSAGE = 500
_BAR = re.compile(r"^\[[= ]*\] *(\d{1,3}% )?")
_PERCENT = re.compile(r"(\d{1,3})%", re.ASCII)


class Telling:
    """Who tells of the stages of one job."""

    def __init__(self, job: str, tell: Tell) -> None:
        self.job = job
        self._tell = tell

    @contextmanager
    def stage(
        self, name: str, limit: float = 0.0, *, left: Callable[[BaseException], str] | None = None
    ) -> Iterator[Running]:
        """A stage for the time of the block: ``done`` at its end, ``failed`` where it raises; ``limit`` in seconds.

        ``left`` says what becomes of things that a failed stage had begun.
        """
        running = Running(self, name, limit)
        running.told("running")
        try:
            yield running
        except BaseException as error:
            remains = left(error) if left else ""
            running.told("failed", "; ".join(filter(None, (_reason(error), remains))))
            raise
        running.told("done", running.result)

    def skipped(self, *names: str) -> None:
        """These stages are not needed."""
        for name in names:
            self._tell(Stage(self.job, name, "skipped"))

    def done(self, message: str, elapsed: float) -> None:
        """The job has come to its end; ``elapsed`` seconds in all."""
        self.put(Stage(self.job, DONE, "done", elapsed * 1000, message=message))

    def put(self, stage: Stage) -> None:
        self._tell(stage)


class Running:
    """One stage while it runs. ``result`` is what is said when it has ended well."""

    def __init__(self, telling: Telling, name: str, limit: float) -> None:
        self.result = ""
        self._telling = telling
        self._name = name
        self._limit = limit
        self._began = monotonic()

    def told(self, state: StageState, message: str = "", fraction: float | None = None) -> None:
        elapsed, limit = (monotonic() - self._began) * 1000, self._limit * 1000
        message = message[:_LONGEST_MESSAGE]
        self._telling.put(Stage(self._telling.job, self._name, state, elapsed, limit, fraction, message))

    def going_on(self, message: str = "") -> None:
        """It still runs: a new message, or only the time."""
        self.told("running", message)

    def line(self, text: str) -> None:
        """A line of a tool's output; a percentage in it is the stage's progress, and a drawn bar is left out."""
        found = _PERCENT.search(text)
        self.told("running", _BAR.sub("", text), min(int(found[1]), 100) / 100 if found else None)


def _reason(error: BaseException) -> str:
    if isinstance(error, EngineError):
        return error.message
    return "cancelled" if isinstance(error, asyncio.CancelledError) else type(error).__name__
