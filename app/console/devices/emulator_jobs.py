"""Jobs on virtual devices, and the result text of each."""

from __future__ import annotations

from collections.abc import AsyncIterator

from clawperator.app.console.console_engine import EmulatorManager
from clawperator.engine.emulators.stages import STAGES as PROVISIONING
from clawperator.engine.errors import EngineError
from clawperator.engine.progress import OnProgress, Stage
from clawperator.widgets.models.job import Job, done_in
from clawperator.widgets.models.status import Status

STAGES = {
    "provision": PROVISIONING,
    "create": ("install_image", "create_avd"),
    "start": ("start", "wait_adb", "wait_boot", "enable_settings"),
    "stop": ("stop",),
    "delete": ("delete",),
}


async def provision(manager: EmulatorManager, name: str, on_progress: OnProgress) -> str:
    """Reuse, start or create a virtual device."""
    done = await manager.provision(name, on_progress=on_progress)
    how = "was created and started" if done.created else "was started" if done.started else "was running already"
    return f"{done.serial} is ready: {done.avd_name} {how}"


async def start(manager: EmulatorManager, name: str, on_progress: OnProgress) -> str:
    run = await manager.start(name, on_progress=on_progress)
    return f"{name} runs as {run.serial}"


async def stop(manager: EmulatorManager, name: str, on_progress: OnProgress) -> str:
    stopped = await manager.stop(name, on_progress=on_progress)
    return f"{name} was stopped" if stopped.gone else f"{name} was asked to stop, but adb still lists {stopped.serial}"


async def create(manager: EmulatorManager, name: str, on_progress: OnProgress) -> str:
    avd = await manager.create(name, on_progress=on_progress)
    return f"{avd.name} was created. Press S to start it"


async def delete(manager: EmulatorManager, name: str, on_progress: OnProgress) -> str:
    on_progress(Stage("delete", "delete", "running"))
    await manager.delete(name)
    on_progress(Stage("delete", "delete", "done"))
    return f"{name} was deleted"


WORK = {"provision": provision, "start": start, "stop": stop, "create": create, "delete": delete}


async def remains(job: Job, manager: EmulatorManager) -> AsyncIterator[str]:
    """Yield what a cancelled job has left behind."""
    begun = {stage.name for stage in job.stages if stage.at and stage.status is not Status.SKIPPED}
    done = done_in(job, ("install_image", "create_avd"))
    if "install_image" in done:
        yield "the system image, installed"
    elif "install_image" in begun:
        yield "a partial download of the system image, in the SDK's folder"
    name = job.subject
    try:
        if "create_avd" in begun and any(avd.name == name for avd in await manager.avds()):
            yield f"the virtual device {name}; P continues with it"
        run = next((run for run in await manager.status() if run.avd_name == name), None)
        if run is not None and job.kind in ("provision", "start", "stop"):
            yield f"{name} still runs as {run.serial}; S stops it"
    except EngineError as exc:
        yield f"the running emulators are unknown ({exc.code.value})"
