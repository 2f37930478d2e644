"""Provisioning: reuse a running emulator, else start an AVD, else create one (emulators.md#provisioning)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from clawperator.engine.emulators import stages
from clawperator.engine.emulators.avds import Avd, Recipe
from clawperator.engine.emulators.running import RunningEmulator, waiting
from clawperator.engine.emulators.sdk import tool_missing
from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from clawperator.engine.emulators.lifecycle import Lifecycle
    from clawperator.engine.progress import JobProgress, StageProgress


@dataclass(frozen=True, slots=True)
class ProvisionPlan:
    """What provisioning would do now: ``serial`` is that of a running emulator, else ''; ``summary`` is human-readable."""

    kind: Literal["reuse", "start", "create"]
    name: str
    summary: str
    serial: str = ""

    def to_dict(self) -> dict[str, str]:
        return {"kind": self.kind, "name": self.name, "serial": self.serial, "words": self.summary}


@dataclass(frozen=True, slots=True)
class Provisioned:
    """A booted emulator, and how it was provisioned."""

    avd_name: str
    serial: str
    created: bool
    started: bool
    reused: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "type": "emulator",
            "avdName": self.avd_name,
            "serial": self.serial,
            "booted": True,
            "created": self.created,
            "started": self.started,
            "reused": self.reused,
        }


# -- deciding


def choose_running(running: Sequence[RunningEmulator], desired: str) -> RunningEmulator | None:
    """Return the supported emulator of the desired name, else the first supported one in adb's order."""
    supported = [emulator for emulator in running if emulator.supported]
    named = [emulator for emulator in supported if emulator.avd_name == desired]
    return next(iter([*named, *supported]), None)


def choose_configured(avds: Sequence[Avd], desired: str) -> Avd | None:
    """Return the supported AVD of the desired name, else the alphabetically first supported one."""
    supported = sorted((avd for avd in avds if avd.supported), key=lambda avd: (avd.name != desired, avd.name))
    return next(iter(supported), None)


def refuse_unsupported(desired: Avd) -> None:
    """Raise ``EngineError`` (EMULATOR_UNSUPPORTED) for an unsupported AVD of the desired name: it is never overwritten."""
    if desired.exists and not desired.supported:
        reasons = list(desired.unsupported_reasons)
        raise EngineError(
            ErrorCode.EMULATOR_UNSUPPORTED,
            f"AVD {desired.name} exists but is not supported: {', '.join(reasons)}",
            details={"name": desired.name, "unsupportedReasons": reasons},
        )


class Provisioning:
    """One request for an emulator; ``recipe`` is the AVD that would be created."""

    def __init__(self, lifecycle: Lifecycle, names: Callable[[], Awaitable[Sequence[str]]], recipe: Recipe) -> None:
        self._lifecycle = lifecycle
        self._sdk, self._scanner, self._limits = lifecycle.sdk, lifecycle.scanner, lifecycle.limits
        self._names = names
        self._recipe = recipe

    async def plan(self) -> ProvisionPlan:
        """Return what ``provision`` would do now; changes nothing and does not wait.

        Raises ``EngineError`` EMULATOR_UNSUPPORTED, ANDROID_SDK_TOOL_MISSING, and what listing raises.
        """
        name = self._recipe.name
        running, booting, avds = await asyncio.gather(self._scanner.running(), self._booting(), self._configured())
        if emulator := choose_running(running, name):
            summary = f"reuse running {emulator.avd_name} ({emulator.serial})"
            return ProvisionPlan("reuse", emulator.avd_name, summary, emulator.serial)
        unless = f", unless {' or '.join(booting)} (still booting) can be used" if booting else ""
        if avd := choose_configured(avds, name):
            return ProvisionPlan("start", avd.name, f"start stopped {avd.name}{unless}")
        refuse_unsupported(self._lifecycle.avd(name))
        summary = (
            f"create {name}: download the system image {self._recipe.image} unless it is installed, accept its licenses"
        )
        return ProvisionPlan("create", name, summary + unless)

    async def provision(self, progress: JobProgress) -> Provisioned:
        """Return a usable emulator; deletes and overwrites nothing. Raises what the stages raise."""
        began = monotonic()
        done = await self._provision(progress)
        how = "created" if done.created else "started" if done.started else "reused"
        progress.done(f"{how} {done.avd_name} ({done.serial})", monotonic() - began)
        return done

    async def _provision(self, progress: JobProgress) -> Provisioned:
        name = self._recipe.name
        with progress.stage(stages.CHECK_TOOLS, self._limits.tool_help):
            if missing := await self._sdk.missing(timeout=self._limits.tool_help):
                raise tool_missing(missing)
        with progress.stage(stages.SCAN_RUNNING) as stage:
            running = await self._settled(stage)
            emulator = choose_running(running, name)
            stage.result = f"reusing {emulator.avd_name}" if emulator else "no supported emulator is running"
        if emulator:
            progress.skipped(*stages.STAGES[2:7])
            return await self._reuse(emulator, progress)
        with progress.stage(stages.SCAN_AVDS, self._limits.list_names) as stage:
            avd = choose_configured(await self._configured(), name)
            if avd is None:
                refuse_unsupported(self._lifecycle.avd(name))
            stage.result = f"starting {avd.name}" if avd else "no supported AVD"
        if avd:
            progress.skipped(stages.INSTALL_IMAGE, stages.CREATE_AVD)
        else:
            await self._lifecycle.create(self._recipe, progress, force=False)
        try:
            up = await self._lifecycle.start(avd.name if avd else name, progress)
        except EngineError as error:
            if avd is None or error.code is not ErrorCode.EMULATOR_ALREADY_RUNNING:
                raise
            return await self._join(avd.name, progress)
        return Provisioned(up.avd_name, up.serial, created=avd is None, started=True, reused=avd is not None)

    async def _join(self, name: str, progress: JobProgress) -> Provisioned:
        """Wait for an emulator that another process is starting."""
        progress.skipped(stages.START)
        serial = await self._lifecycle.registered(name, progress)
        return await self._reuse(await self._scanner.emulator(serial), progress)

    async def _reuse(self, emulator: RunningEmulator, progress: JobProgress) -> Provisioned:
        """Prepare an emulator that was already running; it keeps running in any case."""
        if emulator.booted:
            progress.skipped(stages.WAIT_BOOT)
        else:
            await self._lifecycle.boot(emulator.serial, progress)
        await self._lifecycle.enable(emulator.serial, progress)
        return Provisioned(emulator.avd_name, emulator.serial, created=False, started=False, reused=True)

    async def _settled(self, stage: StageProgress) -> Sequence[RunningEmulator]:
        """Return the running emulators, after waiting for those that adb lists as offline: they may be booting."""
        running = await self._scanner.running()
        if choose_running(running, self._recipe.name) or not await self._booting():
            return running
        try:
            async with asyncio.timeout(self._limits.booting), aclosing(self._scanner.lists()) as lists:
                async for entries in lists:
                    if not waiting(entries):
                        break
                    stage.update(f"waiting for {', '.join(waiting(entries))}, which adb lists as offline")
        except TimeoutError:
            pass
        return await self._scanner.running()

    async def _booting(self) -> list[str]:
        return waiting(await self._scanner.server.devices(timeout=self._limits.device))

    async def _configured(self) -> list[Avd]:
        """Return the AVDs that the emulator lists, and the desired one if its files exist."""
        names = list(dict.fromkeys([*await self._names(), self._recipe.name]))
        return [avd for avd in map(self._lifecycle.avd, names) if avd.exists]
