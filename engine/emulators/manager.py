"""The virtual devices of this computer: the one object that the front ends use."""

from __future__ import annotations

import asyncio
import os
from contextlib import AbstractContextManager, nullcontext, suppress
from copy import copy
from typing import Self

from clawperator.engine.adb.server import AdbServer
from clawperator.engine.config.policy import OBSERVE
from clawperator.engine.config.settings import Settings
from clawperator.engine.emulators.avds import (
    DEFAULT_NAME,
    DOCUMENTED_ABI,
    Avd,
    avd_home,
    checked_name,
    is_name,
    machine_abi,
    recipe,
)
from clawperator.engine.emulators.lifecycle import Lifecycle, Stopped
from clawperator.engine.emulators.limits import Limits
from clawperator.engine.emulators.provision import Provisioned, Provisioning, ProvisionPlan
from clawperator.engine.emulators.running import RunningEmulator, Scanner
from clawperator.engine.emulators.sdk import Sdk, ToolTimeoutError
from clawperator.engine.emulators.tool_errors import failure_hint, failure_message
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.guard import Guard
from clawperator.engine.progress import JobProgress, OnProgress, unreported

_LISTING = "Run `emulator -list-avds` to see its output."

_LOG_LINES = ("INFO", "WARNING", "HAX")


class EmulatorManager:
    """The AVDs of this computer and the running emulators. ``home`` is the folder of the AVD files.

    All methods raise ``EngineError``: INVALID_NAME, READ_ONLY and CAPABILITY_DENIED for changes that are not allowed, and the
    codes that each method names. A cancelled call ends every process that it started.
    """

    def __init__(
        self, server: AdbServer, settings: Settings, limits: Limits | None = None, guard: Guard | None = None
    ) -> None:
        env = settings.environment or dict(os.environ)
        self.home = avd_home(env)
        own = machine_abi()
        self.supported_abis = tuple(settings.emulator_supported_abis) or (own,)
        self.abi_note = ""
        """Why the default ABI is not the documented one; empty if it is, or if the settings choose."""
        if own != DOCUMENTED_ABI and not settings.emulator_supported_abis:
            self.abi_note = f"{DOCUMENTED_ABI} images do not run on this computer: using its own ABI, {own}"
        self.limits = limits or Limits(install_image=settings.emulator_image_seconds)
        self._guard = guard or Guard(settings)
        self._sdk = Sdk(env, settings.adb_path, self.home)
        self._scanner = Scanner(server, env, self.home, self.supported_abis, self.limits)
        self._lifecycle = Lifecycle(
            self._sdk, self._scanner, self.home, self.supported_abis, self.limits, logs=settings.log_dir
        )
        self._provisioning = asyncio.Lock()

    def under(self, guard: Guard) -> Self:
        """Return a copy for the caller of ``guard``."""
        bound = copy(self)
        bound._guard = guard  # noqa: SLF001 -- the same class
        return bound

    # -- reading

    async def avds(self) -> tuple[Avd, ...]:
        """Return every AVD in the order of ``emulator -list-avds``. Raises ``EngineError`` ANDROID_SDK_TOOL_MISSING, UNKNOWN."""
        self._reading()
        names, running = await asyncio.gather(self._names(), self._running_names())
        return tuple(self._lifecycle.avd(name, running=name in running) for name in names)

    async def inspect(self, name: str) -> Avd:
        """Return one AVD as its files describe it; ``exists`` is false for an unknown name."""
        self._reading()
        checked_name(name)
        return self._lifecycle.avd(name, running=name in await self._running_names())

    async def status(self) -> tuple[RunningEmulator, ...]:
        """Return every emulator that takes commands, in adb's order. Raises the errors of the adb server."""
        self._reading()
        return await self._scanner.running()

    async def plan(self, name: str = "") -> ProvisionPlan:
        """Return what ``provision`` would do now. Raises ``EngineError`` EMULATOR_UNSUPPORTED, ANDROID_SDK_TOOL_MISSING."""
        self._reading()
        return await self._request(name).plan()

    # -- changing

    async def create(
        self,
        name: str = "",
        *,
        force: bool = False,
        on_progress: OnProgress = unreported,
        api_level: int | None = None,
        device_profile: str | None = None,
        abi: str | None = None,
        play_store: bool | None = None,
    ) -> Avd:
        """Create an AVD and install its system image; '' is the default name, ``None`` the supported value.

        Raises ``EngineError`` ANDROID_AVD_CREATE_FAILED (also for an existing AVD without ``force``),
        ANDROID_SYSTEM_IMAGE_INSTALL_FAILED, ANDROID_SDK_TOOL_MISSING, EXECUTION_VALIDATION_FAILED.
        """
        wanted = recipe(
            name or DEFAULT_NAME,
            self.supported_abis,
            api_level=api_level,
            device_profile=device_profile,
            abi=abi,
            play_store=play_store,
        )
        with self._acting("create", wanted.name):
            return await self._lifecycle.create(wanted, JobProgress("create", on_progress), force=force)

    async def start(self, name: str, *, on_progress: OnProgress = unreported, log: str = "") -> RunningEmulator:
        """Start an AVD and wait until it has booted; the emulator's output is appended to the file ``log``.

        Without it, the output of the last start is in the log folder.

        Raises ``EngineError`` EMULATOR_NOT_FOUND, EMULATOR_ALREADY_RUNNING, EMULATOR_START_FAILED, EMULATOR_BOOT_TIMEOUT,
        ANDROID_SDK_TOOL_MISSING.
        """
        with self._acting("start", name), self._guard.writing(log) if log else nullcontext():
            return await self._lifecycle.start(name, JobProgress("start", on_progress), log=log)

    async def stop(self, name: str, *, on_progress: OnProgress = unreported) -> Stopped:
        """Stop a running AVD. Raises ``EngineError`` EMULATOR_NOT_RUNNING, EMULATOR_STOP_FAILED."""
        with self._acting("stop", name):
            return await self._lifecycle.stop(name, JobProgress("stop", on_progress))

    async def delete(self, name: str) -> None:
        """Delete an AVD that is not running.

        Raises ``EngineError`` EMULATOR_ALREADY_RUNNING, EMULATOR_NOT_FOUND, EMULATOR_DELETE_FAILED, ANDROID_SDK_TOOL_MISSING.
        """
        with self._acting("delete", name):
            await self._lifecycle.delete(name)

    async def provision(self, name: str = "", *, on_progress: OnProgress = unreported) -> Provisioned:
        """Return a supported, booted emulator: reuse, else start, else create the AVD ``name`` ('' is the default name).

        Raises ``EngineError`` EMULATOR_UNSUPPORTED, and what ``create`` and ``start`` raise.
        """
        request = self._request(name)
        with self._acting("provision", name or DEFAULT_NAME):
            async with self._provisioning:  # a second request at the same time reuses the emulator of the first
                return await request.provision(JobProgress("provision", on_progress))

    def _request(self, name: str) -> Provisioning:
        wanted = recipe(name or DEFAULT_NAME, self.supported_abis)
        return Provisioning(self._lifecycle, self._names, wanted)

    async def _names(self) -> list[str]:
        try:
            done = await self._sdk.run("emulator", ["-list-avds"], timeout=self.limits.list_names)
        except ToolTimeoutError as exc:
            raise EngineError(ErrorCode.UNKNOWN, str(exc), hint=_LISTING) from exc
        if not done.ok:
            raise EngineError(ErrorCode.UNKNOWN, failure_message("emulator", done), hint=failure_hint(done) or _LISTING)
        return listed_names(done.stdout)

    async def _running_names(self) -> set[str]:
        """Return the names of running AVDs; none without adb, so that AVD files can still be read."""
        with suppress(EngineError):
            return {emulator.avd_name for emulator in await self._scanner.running()}
        return set()

    def _reading(self) -> None:
        self._guard.permit(OBSERVE, "list virtual devices")

    def _acting(self, verb: str, name: str) -> AbstractContextManager[None]:
        return self._guard.acting("manage_emulators", f"{verb} the virtual device {name}")


def listed_names(text: str) -> list[str]:
    """Return the names that ``emulator -list-avds`` prints, without its log lines (emulators.md#limits)."""
    lines = (line.strip() for line in text.splitlines())
    return list(dict.fromkeys(line for line in lines if is_name(line) and not line.startswith(_LOG_LINES)))
