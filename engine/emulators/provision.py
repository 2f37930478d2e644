"""From nothing to a usable emulator: reuse what runs, else start what is there, else create (emulators.md#provisioning)."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from clawperator.engine.emulators import progress
from clawperator.engine.emulators.avds import Avd, Recipe
from clawperator.engine.emulators.running import RunningEmulator, waiting
from clawperator.engine.emulators.sdk import tool_missing
from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from clawperator.engine.emulators.lifecycle import Lifecycle
    from clawperator.engine.emulators.progress import Telling


@dataclass(frozen=True, slots=True)
class ProvisionPlan:
    """What provisioning would do now. ``name`` is the AVD, ``serial`` the one of a running emulator, else ''.

    ``words`` is one sentence for people.
    """

    kind: Literal["reuse", "start", "create"]
    name: str
    words: str
    serial: str = ""

    def to_dict(self) -> dict[str, str]:
        return {"kind": self.kind, "name": self.name, "serial": self.serial, "words": self.words}


@dataclass(frozen=True, slots=True)
class Provisioned:
    """A booted emulator, and what it took to get it."""

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
    """The supported one of the desired name, else the first supported one in adb's order."""
    supported = [emulator for emulator in running if emulator.supported]
    named = [emulator for emulator in supported if emulator.avd_name == desired]
    return next(iter([*named, *supported]), None)


def choose_configured(avds: Sequence[Avd], desired: str) -> Avd | None:
    """The supported one of the desired name, else the alphabetically first supported one."""
    supported = sorted((avd for avd in avds if avd.supported), key=lambda avd: (avd.name != desired, avd.name))
    return next(iter(supported), None)


def refuse_unsupported(desired: Avd) -> None:
    """An AVD that stands in the place of the one to be created is never overwritten.

    Raises ``EngineError`` (EMULATOR_UNSUPPORTED).
    """
    if desired.exists and not desired.supported:
        reasons = list(desired.unsupported_reasons)
        raise EngineError(
            ErrorCode.EMULATOR_UNSUPPORTED,
            f"AVD {desired.name} exists but is not supported: {', '.join(reasons)}",
            details={"name": desired.name, "unsupportedReasons": reasons},
        )


class Provisioning:
    """One wish for an emulator; ``recipe`` says what would be created."""

    def __init__(self, lifecycle: Lifecycle, names: Callable[[], Awaitable[Sequence[str]]], recipe: Recipe) -> None:
        self._lifecycle = lifecycle
        self._sdk, self._scanner, self._limits = lifecycle.sdk, lifecycle.scanner, lifecycle.limits
        self._names = names
        self._recipe = recipe

    async def plan(self) -> ProvisionPlan:
        """What would be done now; nothing is changed and nothing is waited for.

        Raises ``EngineError`` EMULATOR_UNSUPPORTED, ANDROID_SDK_TOOL_MISSING, and what listing raises.
        """
        name = self._recipe.name
        running, booting, avds = await asyncio.gather(self._scanner.running(), self._booting(), self._configured())
        if emulator := choose_running(running, name):
            words = f"reuse running {emulator.avd_name} ({emulator.serial})"
            return ProvisionPlan("reuse", emulator.avd_name, words, emulator.serial)
        unless = f", unless {' or '.join(booting)}, which is still booting, can be used" if booting else ""
        if avd := choose_configured(avds, name):
            return ProvisionPlan("start", avd.name, f"start stopped {avd.name}{unless}")
        refuse_unsupported(self._lifecycle.avd(name))
        words = f"create {name}: download the system image {self._recipe.image} where it is not installed, accept its licences"
        return ProvisionPlan("create", name, words + unless)

    async def provision(self, told: Telling) -> Provisioned:
        """Get a usable emulator. Raises ``EngineError``: whatever the stages raise; nothing is deleted or overwritten."""
        began = monotonic()
        done = await self._provision(told)
        how = "created" if done.created else "started" if done.started else "reused"
        told.done(f"{how} {done.avd_name} ({done.serial})", monotonic() - began)
        return done

    async def _provision(self, told: Telling) -> Provisioned:
        name = self._recipe.name
        with told.stage(progress.CHECK_TOOLS, self._limits.tool_help):
            if missing := await self._sdk.missing(timeout=self._limits.tool_help):
                raise tool_missing(missing)
        with told.stage(progress.SCAN_RUNNING) as stage:
            running = await self._settled(stage)
            emulator = choose_running(running, name)
            stage.result = f"reusing {emulator.avd_name}" if emulator else "none that is supported"
        if emulator:
            told.skipped(*progress.STAGES[2:7])
            return await self._reuse(emulator, told)
        with told.stage(progress.SCAN_AVDS, self._limits.list_names) as stage:
            avd = choose_configured(await self._configured(), name)
            if avd is None:
                refuse_unsupported(self._lifecycle.avd(name))
            stage.result = f"starting {avd.name}" if avd else "none that is supported"
        if avd:
            told.skipped(progress.INSTALL_IMAGE, progress.CREATE_AVD)
        else:
            await self._lifecycle.create(self._recipe, told, force=False)
        try:
            up = await self._lifecycle.start(avd.name if avd else name, told)
        except EngineError as error:
            if avd is None or error.code is not ErrorCode.EMULATOR_ALREADY_RUNNING:
                raise
            return await self._join(avd.name, told)
        return Provisioned(up.avd_name, up.serial, created=avd is None, started=True, reused=avd is not None)

    async def _join(self, name: str, told: Telling) -> Provisioned:
        """Somebody else is starting it: wait for that."""
        told.skipped(progress.START)
        serial = await self._lifecycle.registered(name, told)
        return await self._reuse(await self._scanner.emulator(serial), told)

    async def _reuse(self, emulator: RunningEmulator, told: Telling) -> Provisioned:
        """It was running before, so it is left running whatever happens."""
        if emulator.booted:
            told.skipped(progress.WAIT_BOOT)
        else:
            await self._lifecycle.boot(emulator.serial, told)
        await self._lifecycle.enable(emulator.serial, told)
        return Provisioned(emulator.avd_name, emulator.serial, created=False, started=False, reused=True)

    async def _settled(self, stage: progress.Running) -> Sequence[RunningEmulator]:
        """What runs, once those that adb lists as offline have come up or had their time: they may be booting."""
        running = await self._scanner.running()
        if choose_running(running, self._recipe.name) or not await self._booting():
            return running
        try:
            async with asyncio.timeout(self._limits.booting), aclosing(self._scanner.lists()) as lists:
                async for entries in lists:
                    if not waiting(entries):
                        break
                    stage.going_on(f"waiting for {', '.join(waiting(entries))}, which adb lists as offline")
        except TimeoutError:
            pass
        return await self._scanner.running()

    async def _booting(self) -> list[str]:
        return waiting(await self._scanner.server.devices(timeout=self._limits.device))

    async def _configured(self) -> list[Avd]:
        """What the emulator lists, and the desired one if its files are there all the same."""
        names = list(dict.fromkeys([*await self._names(), self._recipe.name]))
        return [avd for avd in map(self._lifecycle.avd, names) if avd.exists]
