"""The virtual devices of this host as the console knows them. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from clawperator.widgets.models.job import Job

if TYPE_CHECKING:
    from clawperator.engine.emulators.avds import Avd
    from clawperator.engine.emulators.running import RunningEmulator


@dataclass(frozen=True, slots=True, kw_only=True)
class EmulatorsState:
    """``known``: the list was read. ``problem`` with ``code`` and ``hint`` says why it is incomplete.

    ``abis`` are those of a supported device. ``job`` is the running or last job.
    """

    EMPTY: ClassVar[EmulatorsState]

    avds: tuple[Avd, ...] = ()
    running: tuple[RunningEmulator, ...] = ()
    known: bool = False
    problem: str = ""
    code: str = ""
    hint: str = ""
    abis: tuple[str, ...] = ()
    job: Job | None = None

    def avd(self, name: str) -> Avd | None:
        return next((avd for avd in self.avds if avd.name == name), None)

    def run_of(self, name: str) -> RunningEmulator | None:
        """Return the running instance of an AVD, or ``None``."""
        return next((run for run in self.running if run.avd_name == name), None)

    def name_of(self, serial: str) -> str:
        """Return the AVD behind a serial; empty without one."""
        return next((run.avd_name for run in self.running if run.serial == serial), "")

    @property
    def booting(self) -> bool:
        """Return whether one of them is still booting: adb does not report the end of it."""
        return any(not run.booted for run in self.running)

    def state_of(self, avd: Avd) -> str:
        """Return ``running``, ``booting``, ``starting``, ``stopping`` or ``stopped``."""
        job = self.job if self.job is not None and self.job.running and self.job.subject == avd.name else None
        run = self.run_of(avd.name)
        if job is not None and job.kind == "stop":
            return "stopping"
        if run is not None:
            return "running" if run.booted else "booting"
        if job is not None and job.kind in ("start", "provision"):
            begun = {stage.name for stage in job.stages if stage.at}
            if begun & {"start", "wait_adb", "wait_boot"}:
                return "starting"
        return "stopped"


EmulatorsState.EMPTY = EmulatorsState()
