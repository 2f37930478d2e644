"""What is done with virtual devices, and what is said about each job at its end: its result, or what a cancelled one has left."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Protocol

from clawperator.engine.emulators.stages import STAGES as PROVISIONING
from clawperator.engine.errors import EngineError
from clawperator.engine.progress import Stage, Tell, unreported
from clawperator.widgets.models.job import Job, done_in
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.engine.emulators.avds import Avd
    from clawperator.engine.emulators.lifecycle import Stopped
    from clawperator.engine.emulators.provision import Provisioned, ProvisionPlan
    from clawperator.engine.emulators.running import RunningEmulator

STAGES = {
    "provision": PROVISIONING,
    "create": ("install_image", "create_avd"),
    "start": ("start", "wait_adb", "wait_boot", "enable_settings"),
    "stop": ("stop",),
    "delete": ("delete",),
}


class Manager(Protocol):
    """The part of ``engine.emulators.manager.EmulatorManager`` that the console uses."""

    home: str
    supported_abis: tuple[str, ...]

    async def avds(self) -> tuple[Avd, ...]: ...
    async def status(self) -> tuple[RunningEmulator, ...]: ...
    async def plan(self, name: str = "") -> ProvisionPlan: ...
    async def create(self, name: str = "", *, tell: Tell = unreported) -> Avd: ...
    async def start(self, name: str, *, tell: Tell = unreported) -> RunningEmulator: ...
    async def stop(self, name: str, *, tell: Tell = unreported) -> Stopped: ...
    async def delete(self, name: str) -> None: ...
    async def provision(self, name: str = "", *, tell: Tell = unreported) -> Provisioned: ...


async def provision(manager: Manager, name: str, tell: Tell) -> str:
    """Reuse, start or create."""
    done = await manager.provision(name, tell=tell)
    how = "was created and started" if done.created else "was started" if done.started else "was running already"
    return f"{done.serial} is ready: {done.avd_name} {how}"


async def start(manager: Manager, name: str, tell: Tell) -> str:
    run = await manager.start(name, tell=tell)
    return f"{name} runs as {run.serial}"


async def stop(manager: Manager, name: str, tell: Tell) -> str:
    stopped = await manager.stop(name, tell=tell)
    return f"{name} was stopped" if stopped.gone else f"{name} was asked to stop, but adb still lists {stopped.serial}"


async def create(manager: Manager, name: str, tell: Tell) -> str:
    avd = await manager.create(name, tell=tell)
    return f"{avd.name} was created. S starts it"


async def delete(manager: Manager, name: str, tell: Tell) -> str:
    tell(Stage("delete", "delete", "running"))
    await manager.delete(name)
    tell(Stage("delete", "delete", "done"))
    return f"{name} was deleted"


async def remains(job: Job, manager: Manager) -> AsyncIterator[str]:
    """What there is of what the job made."""
    begun = {stage.name for stage in job.stages if stage.at and stage.status is not Status.SKIPPED}
    done = done_in(job, ("install_image", "create_avd"))
    if "install_image" in done:
        yield "the system image, installed"
    elif "install_image" in begun:
        yield "what was downloaded of the system image, in the SDK's folder"
    name = job.subject
    try:
        if "create_avd" in begun and any(avd.name == name for avd in await manager.avds()):
            yield f"the virtual device {name}; P goes on with it"
        run = next((run for run in await manager.status() if run.avd_name == name), None)
        if run is not None and job.kind in ("provision", "start", "stop"):
            yield f"{name} still runs as {run.serial}; S stops it"
    except EngineError as exc:
        yield f"what runs could not be asked ({exc.code.value})"
