"""Creating, starting, stopping and deleting one virtual device (emulators.md#limits)."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clawperator.engine.emulators import console, progress
from clawperator.engine.emulators.attempt import Attempt
from clawperator.engine.emulators.avds import Avd, Recipe, checked_name, read_avd
from clawperator.engine.emulators.image import ensure_image
from clawperator.engine.emulators.process import Detached
from clawperator.engine.emulators.running import RunningEmulator, waiting
from clawperator.engine.emulators.sdk import ToolTimeoutError, tool_missing
from clawperator.engine.emulators.words import advice, complaint
from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from clawperator.engine.emulators.limits import Limits
    from clawperator.engine.emulators.progress import Running, Telling
    from clawperator.engine.emulators.running import Scanner
    from clawperator.engine.emulators.sdk import Ran, Sdk

START_FLAGS = ("-no-snapshot-load", "-no-boot-anim")
SETTINGS = ("development_settings_enabled", "adb_enabled")
NO_HARDWARE_PROFILE = b"no\n"
"""The answer to avdmanager's one question."""


@dataclass(frozen=True, slots=True)
class Stopped:
    """An emulator that was told to end. ``gone``: its serial has left adb's list within the time for that."""

    avd_name: str
    serial: str
    gone: bool

    def to_dict(self) -> dict[str, Any]:
        answer: dict[str, Any] = {"ok": True, "avdName": self.avd_name, "stopped": True}
        if not self.gone:
            answer["details"] = {"serial": self.serial, "stillListed": True}
        return answer


class Lifecycle:
    """The four things that are done to an AVD. ``home`` is the folder of the AVD files."""

    def __init__(self, sdk: Sdk, scanner: Scanner, home: str, supported_abis: tuple[str, ...], limits: Limits) -> None:
        self.sdk = sdk
        self.scanner = scanner
        self._home = home
        self._abis = supported_abis
        self.limits = limits

    def avd(self, name: str, *, running: bool = False) -> Avd:
        return read_avd(self._home, name, self._abis, running)

    # -- create and delete

    async def create(self, recipe: Recipe, told: Telling, *, force: bool) -> Avd:
        """Make the AVD, its system image first. One of that name is overwritten only with ``force``, and never while it runs.

        Raises ``EngineError`` ANDROID_AVD_CREATE_FAILED, ANDROID_SYSTEM_IMAGE_INSTALL_FAILED, ANDROID_SDK_TOOL_MISSING,
        EMULATOR_ALREADY_RUNNING.
        """
        if self.avd(recipe.name).exists:
            if not force:
                message = f"AVD {recipe.name} already exists"
                raise _not_created(recipe, message, "Choose another name, or overwrite it with --force.")
            await self._refuse_running(recipe.name)
        await ensure_image(self.sdk, recipe.image, self.limits, told)
        with told.stage(progress.CREATE_AVD, self.limits.create, left=_unfinished_avd) as stage:
            done = await self._manage(create_arguments(recipe), recipe, stage)
            if not done.ok:
                raise _not_created(recipe, complaint("avdmanager", done), advice(done))
            made = self.avd(recipe.name)
            if not made.exists:
                message = f"avdmanager reported success, but there is no AVD {recipe.name} in {self._home}"
                raise _not_created(recipe, message, "Point ANDROID_AVD_HOME at the folder that avdmanager uses.")
            stage.result = f"created {recipe.name}"
        return made

    async def _manage(self, arguments: list[str], recipe: Recipe, stage: Running) -> Ran:
        try:
            return await self.sdk.run(
                "avdmanager",
                arguments,
                timeout=self.limits.create,
                stdin=NO_HARDWARE_PROFILE,
                tell=stage.line,
            )
        except ToolTimeoutError as exc:
            raise _not_created(recipe, str(exc)) from exc

    async def delete(self, name: str) -> None:
        """Delete the AVD.

        Raises ``EngineError`` EMULATOR_ALREADY_RUNNING, EMULATOR_NOT_FOUND, EMULATOR_DELETE_FAILED, ANDROID_SDK_TOOL_MISSING.
        """
        await self._refuse_running(checked_name(name))
        if not self.avd(name).exists:
            raise not_found(name)
        details = {"name": name}
        try:
            done = await self.sdk.run("avdmanager", delete_arguments(name), timeout=self.limits.delete)
        except ToolTimeoutError as exc:
            raise EngineError(ErrorCode.EMULATOR_DELETE_FAILED, str(exc), details=details) from exc
        if not done.ok:
            message = complaint("avdmanager", done)
            raise EngineError(ErrorCode.EMULATOR_DELETE_FAILED, message, hint=advice(done), details=details)
        if self.avd(name).exists:
            message = f"avdmanager reported success, but AVD {name} is still in {self._home}"
            raise EngineError(ErrorCode.EMULATOR_DELETE_FAILED, message, details=details)

    # -- start and stop

    async def start(self, name: str, told: Telling, *, log: str = "") -> RunningEmulator:
        """Start the AVD and return when it has booted; its process is stopped again where that does not come about.

        Raises ``EngineError`` EMULATOR_NOT_FOUND, EMULATOR_ALREADY_RUNNING, EMULATOR_START_FAILED, EMULATOR_BOOT_TIMEOUT,
        ANDROID_SDK_TOOL_MISSING.
        """
        if not self.avd(checked_name(name)).exists:
            raise not_found(name)
        await self._refuse_running(name)
        with told.stage(progress.START) as stage:
            attempt = Attempt(name, self._spawn(name, log))
            stage.result = f"process {attempt.process.pid}"
        try:
            serial = await self.registered(name, told, attempt)
            await self.boot(serial, told, attempt)
            attempt.up = True
            await self.enable(serial, told, attempt)
        except BaseException as error:
            if not attempt.is_ended_by(error):
                raise
            lived = attempt.process.exit_code is None
            await attempt.process.end(patience=self.limits.end)
            if lived and isinstance(error, EngineError):
                raise _with_news(error, "the emulator that was started has been stopped") from error
            raise
        return RunningEmulator(name, serial, True, self.avd(name).unsupported_reasons)

    def _spawn(self, name: str, log: str) -> Detached:
        try:
            return Detached.start([self.sdk.path("emulator"), *start_arguments(name)], self.sdk.env, log)
        except (OSError, ValueError) as exc:
            raise tool_missing(("emulator",)) from exc

    async def registered(self, name: str, told: Telling, attempt: Attempt | None = None) -> str:
        """The serial of the emulator, once adb lists it as a device that takes commands.

        Raises ``EngineError`` (EMULATOR_START_FAILED).
        """
        with told.stage(progress.WAIT_ADB, self.limits.register, left=attempt.fate if attempt else None) as stage:
            looking = self._in_adb(name, stage)
            stage.result = await (attempt.alive(looking) if attempt else looking)
        return stage.result

    async def _in_adb(self, name: str, stage: Running) -> str:
        offline: list[str] = []
        try:
            async with asyncio.timeout(self.limits.register), aclosing(self.scanner.lists()) as lists:
                async for entries in lists:
                    offline = waiting(entries)
                    stage.going_on(f"adb lists {', '.join(offline)} as offline" if offline else "")
                    if serial := await self.scanner.find(entries, name):
                        return serial
        except TimeoutError as exc:
            seen = f" (adb lists {', '.join(offline)} as offline)" if offline else ""
            raise EngineError(
                ErrorCode.EMULATOR_START_FAILED,
                f"{name} did not appear in adb within {self.limits.register:g} s{seen}",
                hint="Compare `adb devices` with `clawperator emulator status`, restart the adb server, and start again.",
                details={"name": name, "timeoutMs": round(self.limits.register * 1000)},
            ) from exc
        raise AssertionError("adb's lists do not end")

    async def boot(self, serial: str, told: Telling, attempt: Attempt | None = None) -> None:
        """Return when it has booted. Raises ``EngineError`` EMULATOR_BOOT_TIMEOUT; EMULATOR_START_FAILED if it ends instead."""
        with told.stage(progress.WAIT_BOOT, self.limits.boot, left=attempt.fate if attempt else None) as stage:
            polling = self._until_booted(serial, stage)
            try:
                async with asyncio.timeout(self.limits.boot):
                    await (attempt.alive(polling) if attempt else polling)
            except TimeoutError as exc:
                message = f"{serial} did not finish booting within {self.limits.boot:g} s"
                details = {"serial": serial, "timeoutMs": round(self.limits.boot * 1000)}
                raise EngineError(ErrorCode.EMULATOR_BOOT_TIMEOUT, message, details=details) from exc

    async def _until_booted(self, serial: str, stage: Running) -> None:
        while not await self.scanner.booted(serial):
            stage.going_on()
            await asyncio.sleep(self.limits.poll)

    async def enable(self, serial: str, told: Telling, attempt: Attempt | None = None) -> None:
        """Switch on what debugging needs. Raises ``EngineError`` EMULATOR_START_FAILED; the emulator runs on then."""
        device = self.scanner.server.device(serial)
        with told.stage(progress.ENABLE_SETTINGS, left=attempt.fate if attempt else None):
            for name in SETTINGS:
                trouble = ""
                try:
                    done = await device.shell(["settings", "put", "global", name, "1"], timeout=self.limits.device)
                    trouble = "" if done.ok else done.error_text or f"exit code {done.exit_code}"
                except EngineError as exc:
                    trouble = exc.message
                if trouble:
                    raise EngineError(
                        ErrorCode.EMULATOR_START_FAILED,
                        f"{serial} has booted, but {name} could not be set: {trouble}",
                        hint="It is running; stop it and start it again.",
                        details={"serial": serial, "stderr": trouble},
                    )

    async def stop(self, name: str, told: Telling) -> Stopped:
        """End the emulator of the AVD and wait for its serial to leave adb's list.

        Raises ``EngineError`` EMULATOR_NOT_RUNNING, EMULATOR_STOP_FAILED.
        """
        found = await self.scanner.named(checked_name(name))
        if found is None:
            raise EngineError(ErrorCode.EMULATOR_NOT_RUNNING, f"AVD {name} is not running", details={"name": name})
        serial = found[0]
        with told.stage(progress.STOP, self.limits.vanish) as stage:
            try:
                await console.ask(serial, "kill", self.sdk.env, timeout=self.limits.device)
            except EngineError as exc:
                details = {"name": name, "serial": serial}
                raise EngineError(ErrorCode.EMULATOR_STOP_FAILED, exc.message, details=details) from exc
            gone = await self._vanished(serial)
            stage.result = serial if gone else f"adb still lists {serial}"
        return Stopped(name, serial, gone)

    async def _vanished(self, serial: str) -> bool:
        try:
            async with asyncio.timeout(self.limits.vanish), aclosing(self.scanner.lists()) as lists:
                async for entries in lists:
                    if all(entry.serial != serial for entry in entries):
                        return True
        except TimeoutError:
            pass
        return False

    async def _refuse_running(self, name: str) -> None:
        found = await self.scanner.named(name)
        if found is None:
            return
        serial, is_ready = found
        message = f"AVD {name} is running as {serial}" if is_ready else f"AVD {name} is booting as {serial}"
        raise EngineError(ErrorCode.EMULATOR_ALREADY_RUNNING, message, details={"name": name, "serial": serial})


# -- command lines


def create_arguments(recipe: Recipe) -> list[str]:
    package = ["--package", recipe.image, "--device", recipe.profile]
    return ["create", "avd", "--force", "--name", recipe.name, *package]


def start_arguments(name: str) -> list[str]:
    return [f"@{name}", *START_FLAGS]


def delete_arguments(name: str) -> list[str]:
    return ["delete", "avd", "--name", name]


# -- errors


def not_found(name: str) -> EngineError:
    return EngineError(ErrorCode.EMULATOR_NOT_FOUND, f"AVD {name} not found")


def _not_created(recipe: Recipe, message: str, hint: str | None = None) -> EngineError:
    return EngineError(ErrorCode.ANDROID_AVD_CREATE_FAILED, message, hint=hint, details=recipe.details())


def _unfinished_avd(error: BaseException) -> str:
    """The tool was cut off: what it had written by then stays."""
    return "what it had written stays" if isinstance(error, asyncio.CancelledError) else ""


def _with_news(error: EngineError, news: str) -> EngineError:
    return EngineError(
        error.code, f"{error.message}; {news}", hint=error.hint, details=error.details, extra=error.extra
    )
